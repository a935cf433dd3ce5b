//! The turns of Tier B, and the page about them.

use super::stub::Which;
use super::tier::{Workload, workloads};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const NAMES: [&str; 2] = ["kube-scheduler", "`berth run`"];

/// Measures the rows that the arguments name, and writes the page.
pub async fn measure(arguments: &[String], folder: &str) {
    let value = |flag: &str| {
        let at = arguments.iter().position(|own| own == flag)?;
        arguments.get(at + 1)
    };
    let number = |flag: &str, default: usize| match value(flag).map(|text| text.parse()) {
        None => default,
        Some(Ok(number @ 1..)) => number,
        Some(_) => panic!("{flag} takes a number from 1 on"),
    };
    let (rounds, scale) = (number("--rounds", 5), number("--scale", 1));
    let names = arguments.iter().filter(|own| own.starts_with('B'));
    let names: Vec<String> = names.cloned().collect();
    let huge = arguments.iter().any(|own| own == "--huge");
    let both = Which::both(folder);
    let mut page = head(arguments, rounds);
    print!("{page}");
    for workload in workloads(&names, scale, huge) {
        let mut turns = [Vec::new(), Vec::new()];
        for round in 1..=rounds {
            for (which, turns) in both.iter().zip(&mut turns) {
                let turn = workload.turn(which).await;
                eprintln!(
                    "{} round {round} of {rounds}, {which:?}: {turn:.3?}",
                    workload.name
                );
                turns.push(turn);
            }
        }
        let text = table(&workload, &turns);
        print!("{text}");
        page.push_str(&text);
    }
    let page_path = value("--page").map_or_else(default_page, PathBuf::from);
    let shown = page_path.display();
    std::fs::write(&page_path, page).unwrap_or_else(|error| panic!("{shown}: {error}"));
    println!("\nwritten to {shown}");
}

fn default_page() -> PathBuf {
    Path::new("benches/results").join(format!("daemon-stub-{}.md", said("date", &["-u", "+%F"])))
}

fn head(arguments: &[String], rounds: usize) -> String {
    // Where the page goes is of no interest in it.
    let mut asked: Vec<&str> = arguments.iter().map(String::as_str).collect();
    asked.retain(|own| *own != "--bench");
    if let Some(at) = asked.iter().position(|own| *own == "--page") {
        asked.drain(at..asked.len().min(at + 2));
    }
    let commit = said("git", &["describe", "--always", "--dirty"]);
    let rust = said("rustc", &["--version"]);
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    format!(
        "# `cargo bench --bench daemon -- {}`, {}\n\n\
         kube-scheduler 1.37.2 and `berth run` (release profile) at commit {commit}, {rust}, in turns,\n\
         {rounds} of each; medians. {processors} processors, load {load} at the start. Both read and write JSON\n\
         over plain HTTP on loopback, with a rate limit that nobody comes to, and the same server, which is in\n\
         the process that measures.\n",
        asked.join(" "),
        said("date", &["-u", "+%F"]),
    )
}

/// What a program says in one line; empty if it says nothing.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

fn table(workload: &Workload, turns: &[Vec<Vec<f64>>; 2]) -> String {
    let Workload {
        name,
        what,
        columns,
        ..
    } = workload;
    let mut text = format!("\n{name}, {what}:\n\n| |");
    for column in *columns {
        let _ = write!(text, " {} |", column.name);
    }
    text.push_str("\n| --- |");
    text.push_str(&" --- |".repeat(columns.len()));
    let medians = turns.each_ref().map(|turns| {
        let one = |at: usize| {
            let mut values: Vec<f64> = turns.iter().map(|turn| turn[at]).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        (0..columns.len()).map(one).collect::<Vec<f64>>()
    });
    for (who, row) in NAMES.iter().zip(&medians) {
        let _ = write!(text, "\n| {who} |");
        for (value, column) in row.iter().zip(*columns) {
            let _ = write!(text, " {value:.*} |", column.digits);
        }
    }
    text.push_str("\n| ratio |");
    for (at, column) in columns.iter().enumerate() {
        let (kube, berth) = (medians[0][at], medians[1][at]);
        let ratio = if column.less_is_better {
            kube / berth
        } else {
            berth / kube
        };
        let _ = write!(text, " {ratio:.1} |");
    }
    for (who, bound) in [
        (
            "must",
            columns.iter().map(|own| own.must).collect::<Vec<_>>(),
        ),
        ("goal", columns.iter().map(|own| own.goal).collect()),
    ] {
        let _ = write!(text, "\n| {who} | {} |", bound.join(" | "));
    }
    text.push('\n');
    text
}
