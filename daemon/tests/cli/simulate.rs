//! `berth simulate`.

use crate::run::{Run, berth, command, simulate_text};
use std::io::Write;
use std::process::Stdio;

fn simulate(flags: &[&str]) -> Run {
    let mut args = vec!["simulate", "-f", "cluster.yaml", "-f", "workloads.yaml"];
    args.extend(flags);
    berth(&args)
}

#[test]
fn every_form_says_the_same() {
    for form in ["table", "wide", "json", "jsonl", "yaml", "csv", "name"] {
        let run = simulate(&["-o", form]);
        assert_eq!(run.code, 1, "{form}");
        insta::assert_snapshot!(format!("simulate_{form}"), run.stdout);
    }
    insta::assert_snapshot!("simulate_notes", simulate(&[]).stderr);
}

#[test]
fn detail_is_as_asked_for() {
    for detail in ["none", "full"] {
        let run = simulate(&["-o", "jsonl", "--explain", detail]);
        insta::assert_snapshot!(format!("simulate_explain_{detail}"), run.stdout);
    }
}

#[test]
fn a_folder_and_stdin_are_inputs_too() {
    let of_files = simulate(&["-o", "json"]).stdout;
    assert_eq!(
        berth(&["simulate", "-f", ".", "-o", "json"]).stdout,
        of_files
    );

    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let workloads = std::fs::read(format!("{data}/workloads.yaml")).expect("the data is there");
    let mut child = command(&["simulate", "-f", "cluster.yaml", "-f", "-", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(&workloads).expect("the input is taken");
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), of_files);
}

/// A node for one pod, and two pods that want it; the second has priority.
const RIVALS: &str = "
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1}
  status: {allocatable: {cpu: 1, memory: 1Gi, pods: 10}}
- apiVersion: v1
  kind: Pod
  metadata: {name: first}
  spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: prior}
  spec: {priority: 7, containers: [{name: c, resources: {requests: {cpu: 1}}}]}
";

#[test]
fn priority_decides_who_is_placed_but_not_the_order_of_the_answer() {
    let placed = |run: &Run| {
        let lines = run.stdout.lines().skip(1);
        let names = lines.map(|line| line.split(',').take(2).collect::<Vec<_>>().join(" "));
        names.collect::<Vec<_>>()
    };
    let queue = simulate_text("rivals.yaml", RIVALS, &["-o", "csv"]);
    assert_eq!(
        placed(&queue),
        ["default/first unschedulable", "default/prior scheduled"]
    );
    let file = simulate_text("rivals.yaml", RIVALS, &["-o", "csv", "--order", "file"]);
    assert_eq!(
        placed(&file),
        ["default/first scheduled", "default/prior unschedulable"]
    );
}

#[test]
fn everything_placed_ends_with_0() {
    let run = simulate_text("one.yaml", RIVALS.replace("cpu: 1,", "cpu: 2,"), &[]);
    assert_eq!(run.code, 0);
    assert!(
        run.stdout
            .starts_with("2 of 2 pods placed on 1 nodes; 0 pending\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn timing_has_every_stage() {
    let run = simulate(&["-o", "json", "--timing"]);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("stdout is JSON");
    let timing = &document["summary"]["timing"];
    for stage in ["read", "build", "decide"] {
        assert!(timing[stage].is_f64(), "{stage}: {timing}");
    }
    assert_eq!(timing["decisions"], 9);
    assert!(run.stderr.contains("timing: read "), "{}", run.stderr);
    let document = simulate(&["-o", "json"]).stdout;
    assert!(!document.contains("timing"));
}

#[test]
fn a_long_table_is_cut_unless_wide() {
    use std::fmt::Write as _;
    let mut input = String::new();
    for n in 0..100 {
        writeln!(
            input,
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: n{n:02}}}\n\
             status: {{allocatable: {{cpu: 4, pods: 10}}}}\n\
             ---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{n:02}}}\n\
             spec: {{nodeSelector: {{n: {n}a}}, containers: [{{name: c}}]}}"
        )
        .expect("a String takes all");
    }
    let run = simulate_text("many.yaml", &input, &[]);
    assert!(run.stdout.lines().count() < 60, "{}", run.stdout);
    assert!(
        run.stdout
            .contains("... and 70 more nodes; -o wide shows all")
    );
    assert!(run.stdout.contains("and 97 more\n"), "{}", run.stdout);
    let wide = simulate_text("many.yaml", &input, &["-o", "wide"]);
    for n in 0..100 {
        assert!(wide.stdout.contains(&format!("\nn{n:02} ")), "n{n:02}");
        assert!(
            wide.stdout.contains(&format!("\ndefault/p{n:02} ")),
            "p{n:02}"
        );
    }
}

#[test]
fn private_kinds_are_never_echoed() {
    for form in ["table", "wide", "json", "jsonl", "yaml", "csv", "name"] {
        let run = simulate(&["-o", form, "--explain", "full"]);
        for text in [run.stdout, run.stderr] {
            assert!(!text.contains("planted"), "{form}: {text}");
        }
    }
}
