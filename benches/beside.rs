//! Berth beside kube-scheduler 1.37.2, both in process, on the workloads of `kube/workloads.yaml`: what an
//! attempt costs from the queue to the assumed pod, and whether upstream agrees with every placement.
//!
//! `cargo bench --bench beside` runs the rows of Tier A in turns and writes a page into
//! `benches/results`; needs Go. Names or rows choose others (`A3`, `SchedulingSecrets`, `every`), and
//! `benches/kube/README.md` lists the flags. Without `--bench`, as `cargo test` runs it, each workload is
//! made small and every decision compared with the naive twin's.

#[path = "beside/berth.rs"]
mod berth;
#[path = "beside/expected.rs"]
mod expected;
#[path = "beside/figures.rs"]
mod figures;
#[path = "beside/kube.rs"]
mod kube;
#[path = "beside/table.rs"]
mod table;
#[path = "beside/workload.rs"]
mod workload;

use berth_core::Fidelity;
use figures::Figures;
use stats_alloc::StatsAlloc;
use std::alloc::System;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use table::{Measured, Row};
use workload::{Workload, Workloads};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = figures::ALLOCATOR;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// What the command line asks for.
struct Asked {
    names: Vec<String>,
    rounds: usize,
    scale: usize,
    limit: usize,
    seconds: f64,
    berth_seconds: f64,
    check_seconds: f64,
    checks_only: bool,
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|own| own == "--script") {
        one_run(&arguments);
        return ExitCode::SUCCESS;
    }
    if !arguments.iter().any(|own| own == "--bench") {
        let compared = expected::every_small_workload_is_decided_as_the_naive_twin_does();
        println!("beside: {compared} decisions as expected");
        return ExitCode::SUCCESS;
    }
    arguments.retain(|own| own != "--bench");
    let asked = Asked::of(arguments);
    let workloads = Workloads::read();
    let Some(program) = kube::program(FOLDER) else {
        return ExitCode::FAILURE;
    };
    let conditions = table::conditions(&asked.told());
    let mut rows = Vec::new();
    for workload in workloads.named(&asked.names) {
        let workload = workload.divided(asked.scale);
        rows.push(measure(&workloads, &workload, &program, &asked));
        println!("{}", table::lines(&rows[rows.len() - 1..]));
        // After each row: a run takes long.
        if let Some(path) = &asked.page {
            let page = format!("{conditions}\n{}", table::lines(&rows));
            std::fs::write(path, page)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
    println!("{conditions}\n{}", table::lines(&rows));
    if rows.iter().all(Row::agrees) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

impl Asked {
    fn of(arguments: Vec<String>) -> Self {
        let mut asked = Self {
            names: Vec::new(),
            rounds: 5,
            scale: 1,
            limit: 2_000,
            seconds: 5.0,
            berth_seconds: 20.0,
            check_seconds: 60.0,
            checks_only: false,
            page: None,
        };
        let mut has_page = true;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let next = arguments.next().and_then(|own| own.parse::<f64>().ok());
                next.unwrap_or_else(|| panic!("{argument} takes a number"))
            };
            match argument.as_str() {
                "--rounds" => asked.rounds = number() as usize,
                "--scale" => asked.scale = number() as usize,
                "--limit" => asked.limit = number() as usize,
                "--seconds" => asked.seconds = number(),
                "--berth-seconds" => asked.berth_seconds = number(),
                "--check-seconds" => asked.check_seconds = number(),
                "--check-only" => asked.checks_only = true,
                "--page" => asked.page = arguments.next().map(PathBuf::from),
                "--no-page" => has_page = false,
                flag if flag.starts_with('-') => panic!("there is no flag {flag}"),
                name => asked.names.push(name.to_owned()),
            }
        }
        let is_whole = asked.names.is_empty() && asked.scale == 1 && !asked.checks_only;
        if has_page && is_whole && asked.page.is_none() {
            let name = format!("benches/results/kube-{}.md", table::today());
            asked.page = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
        }
        asked
    }

    fn told(&self) -> String {
        format!(
            "{} rounds in turns; of kube-scheduler {} attempts or {} s a round and setting at most, \
             of Berth {} s; sizes divided by {}",
            self.rounds, self.limit, self.seconds, self.berth_seconds, self.scale
        )
    }
}

/// All runs of a workload, and the judgement on Berth's placements.
fn measure(workloads: &Workloads, workload: &Workload, program: &Path, asked: &Asked) -> Row {
    // Other runs have theirs.
    let folder = tempfile::tempdir_in(FOLDER).expect("a folder");
    let script = folder.path().join("script.jsonl");
    let file = File::create(&script).expect("the script's file");
    let mut file = BufWriter::new(file);
    workload
        .write(workloads, &mut file)
        .expect("the script is written");
    file.flush().expect("the script is written");
    let rounds = if asked.checks_only { 0 } else { asked.rounds };
    let mut runs = Measured::default();
    for round in 0..rounds {
        eprintln!("{}: round {}", workload.name, round + 1);
        for fidelity in [Fidelity::Best, Fidelity::Exact] {
            runs.berth(
                fidelity,
                berth_run(&script, fidelity, asked.berth_seconds, None),
            );
        }
        for (at, setting) in kube::SETTINGS.into_iter().enumerate() {
            let figures = kube::run(program, &script, setting, asked.limit, asked.seconds);
            runs.kube[at].push(figures);
        }
    }
    let checks = [Fidelity::Best, Fidelity::Exact].map(|fidelity| {
        let answers = folder.path().join("answers.jsonl");
        let figures = berth_run(&script, fidelity, asked.berth_seconds, Some(&answers));
        if rounds == 0 {
            runs.berth(fidelity, figures);
        }
        kube::check(program, &script, &answers, fidelity, asked.check_seconds)
    });
    Row::new(workload, runs, checks)
}

/// Berth in a process of its own, whose memory is its alone.
fn berth_run(script: &Path, fidelity: Fidelity, seconds: f64, answers: Option<&Path>) -> Figures {
    let own = std::env::current_exe().expect("this program's path");
    let mut command = Command::new(own);
    command.arg("--script").arg(script);
    command.arg("--seconds").arg(seconds.to_string());
    if fidelity == Fidelity::Exact {
        command.arg("--exact");
    }
    if let Some(answers) = answers {
        command.arg("--answers").arg(answers);
    }
    kube::figures(&mut command)
}

/// That process.
fn one_run(arguments: &[String]) {
    let after = |flag: &str| {
        let at = arguments.iter().position(|own| own == flag)?;
        arguments.get(at + 1)
    };
    let script = File::open(after("--script").expect("a script")).expect("the script");
    let script = berth::Script::read(BufReader::new(script));
    let exact = arguments.iter().any(|own| own == "--exact");
    let fidelity = if exact {
        Fidelity::Exact
    } else {
        Fidelity::Best
    };
    let seconds = after("--seconds").and_then(|own| own.parse().ok());
    let seconds = seconds.expect("seconds");
    let mut answers = after("--answers")
        .map(|path| BufWriter::new(File::create(path).expect("the answers' file")));
    let figures = berth::run(
        &script,
        fidelity,
        seconds,
        answers.as_mut().map(|own| own as &mut dyn Write),
    );
    if let Some(answers) = &mut answers {
        answers.flush().expect("answers are written");
    }
    println!(
        "{}",
        serde_json::to_string(&figures).expect("figures are JSON")
    );
}
