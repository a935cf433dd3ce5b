//! C programs that do something: the examples, and the golden decisions.

#[path = "c/compile.rs"]
mod compile;
#[path = "golden/replay.rs"]
mod replay;

use berth_test_support::command::tool;
use berth_test_support::tests_folder;
use compile::{Build, compiled, crate_folder, valgrind};
use replay::{SETS, run, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The example's binaries: as it is, and under the sanitizers.
fn example(name: &str) -> Vec<PathBuf> {
    let source = format!("examples/{name}.c");
    let build = |build| compiled(name, &source, build);
    [Build::Plain, Build::Sanitized]
        .into_iter()
        .filter_map(build)
        .collect()
}

fn dump() -> [PathBuf; 3] {
    let dump = tests_folder().join("data/manifests/openshift-dump");
    ["nodes", "pods-on-these-nodes", "pending-pod"].map(|file| dump.join(format!("{file}.json")))
}

#[test]
fn the_example_says_where_a_pod_of_a_real_dump_fits() {
    let [nodes, pods, pending] = dump();
    for program in example("evaluate") {
        let pod = Path::new("openshift-ingress/router-default-7bbdcfcf9b-7xdln");
        let output = run(
            Command::new(&program).args([pod, &nodes, &pods, &pending]),
            "",
        );
        assert_eq!(
            text(&output.stdout),
            "openshift-ingress/router-default-7bbdcfcf9b-7xdln fits on 1 of the nodes\n\
             master-0.lab.example.invalid: no\n\
             worker-0.lab.example.invalid: yes, the only one\n",
            "{}",
            text(&output.stderr)
        );
        // The sibling that held the ports in the real cluster is not in the dump.
        assert_eq!(output.status.code(), Some(0));

        let output = run(
            Command::new(&program).args([Path::new("nobody"), &nodes]),
            "",
        );
        assert_eq!(
            text(&output.stderr),
            "find: result 13: there is no pod \"nobody\"\n"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}

const COURSE: &str = include_str!("c/scheduler_loop.txt");

#[test]
fn the_example_loop_runs_places_waits_and_evicts() {
    for program in example("scheduler_loop") {
        let output = run(&mut Command::new(&program), "");
        assert_eq!(text(&output.stdout), COURSE, "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0));
        if let Some(mut valgrind) = valgrind()
            && program.to_string_lossy().contains("plain")
        {
            let output = run(valgrind.arg(&program), "");
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
    }
    for word in [
        "urgent-8 waits",
        "has to go",
        "urgent-8 runs",
        "is lost",
        "ran to their end",
    ] {
        assert!(COURSE.contains(word), "the example shows no {word:?}");
    }
}

#[test]
fn the_example_drains_a_node_of_a_real_cluster_and_leaves_no_trace() {
    let nodes = tests_folder().join("data/nodes/hypershift-13nodes.json");
    let [dump_nodes, pods, _] = dump();
    for program in example("drain") {
        let node = Path::new("worker-0.lab.example.invalid");
        let output = run(
            Command::new(&program).args([node, &dump_nodes, &pods, &nodes]),
            "",
        );
        let told = text(&output.stdout);
        assert!(
            told.contains("; the state is as before\n"),
            "{told}{}",
            text(&output.stderr)
        );
        let places = told
            .lines()
            .filter(|line| line.contains(" would go to "))
            .count();
        let summary = told.lines().last().unwrap_or_default();
        assert!(
            places > 0 && summary.starts_with(&format!("{places} would move, ")),
            "{told}"
        );
        let stuck = told
            .lines()
            .filter(|line| line.ends_with("would find no place"))
            .count();
        assert_eq!(output.status.code(), Some(i32::from(stuck > 0)), "{told}");
    }
}

#[test]
fn a_c_program_decides_as_kube_scheduler() {
    let Some(plain) = compiled("replay", "tests/c/replay.c", Build::Plain) else {
        return;
    };
    for (set, compared) in SETS {
        replay::replay(&plain, set, compared);
    }
    let (set, compared) = SETS[0];
    if let Some(sanitized) = compiled("replay", "tests/c/replay.c", Build::Sanitized) {
        replay::replay(&sanitized, set, compared);
    }
}

#[test]
fn the_header_is_cplusplus_too() {
    for standard in ["-std=c++11", "-std=c++20"] {
        let Some(mut compiler) = tool("c++", "apt-get install g++") else {
            return;
        };
        let strict = [
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-x",
            "c++",
        ];
        let output = compiler
            .arg(standard)
            .args(strict)
            .arg(crate_folder().join("../include/berth.h"))
            .output()
            .expect("c++ runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}
