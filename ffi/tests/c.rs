//! C programs against the static library, as an application has it: compiled strictly, and again
//! under the sanitizers.

use berth_test_support::answer::Answer;
use berth_test_support::cluster_list::cluster_list;
use berth_test_support::command::{empty_folder, tool};
use berth_test_support::golden::scenarios;
use berth_test_support::tally::Tally;
use berth_test_support::tests_folder;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const INSTALL: &str = "apt-get install gcc";
/// Libraries that Rust's standard library needs.
const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];
const STRICT: [&str; 6] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g"];
const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The static library that the test build made, beside this test.
fn library() -> PathBuf {
    let test = env::current_exe().expect("the test's own path");
    let path = test.with_file_name("libberth.a");
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

/// The program's binaries: one as it is, one under sanitizers if the compiler has them.
fn compiled(name: &str, source: &str) -> Vec<PathBuf> {
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), name);
    let mut built = Vec::new();
    for (suffix, flags) in [("plain", &[][..]), ("sanitized", &SANITIZERS[..])] {
        let Some(mut compiler) = tool("cc", INSTALL) else {
            return built;
        };
        if !flags.is_empty() && !has_sanitizers(&folder) {
            println!("skipped: cc has no sanitizers; install them: {INSTALL}");
            assert!(env::var_os("CI").is_none(), "cc has no sanitizers");
            continue;
        }
        let program = folder.join(suffix);
        let output = compiler
            .args(STRICT)
            .args(flags)
            .arg("-I")
            .arg(crate_folder().join("../include"))
            .arg(crate_folder().join(source))
            .arg(library())
            .args(SYSTEM)
            .arg("-o")
            .arg(&program)
            .output()
            .expect("cc runs");
        assert!(
            output.status.success(),
            "{source}: {}",
            text(&output.stderr)
        );
        built.push(program);
    }
    built
}

fn has_sanitizers(folder: &Path) -> bool {
    let source = folder.join("probe.c");
    fs::write(&source, "int main(void) { return 0; }\n").expect("the probe is written");
    let program = folder.join("probe");
    let mut cc = Command::new("cc");
    cc.args(SANITIZERS).arg(&source).arg("-o").arg(&program);
    let compiled = cc.output().is_ok_and(|output| output.status.success());
    compiled
        && Command::new(program)
            .status()
            .is_ok_and(|status| status.success())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(program: &Path, arguments: &[&Path], input: &str) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    // Apart, as the program may answer before it has read everything.
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    feeder
        .join()
        .expect("the feeder ends")
        .expect("the input is read");
    output
}

#[test]
fn misuse_is_told_and_harmless() {
    for program in compiled("misuse", "tests/c/misuse.c") {
        let output = run(&program, &[], "");
        let told = text(&output.stderr);
        assert!(
            output.status.success() && told.is_empty(),
            "{}: {told}",
            program.display()
        );
    }
}

#[test]
fn the_example_says_where_a_pod_of_a_real_dump_fits() {
    let dump = tests_folder().join("data/manifests/openshift-dump");
    let [nodes, pods, pending] = ["nodes", "pods-on-these-nodes", "pending-pod"]
        .map(|file| dump.join(format!("{file}.json")));
    for program in compiled("evaluate", "examples/evaluate.c") {
        let pod = Path::new("openshift-ingress/router-default-7bbdcfcf9b-7xdln");
        let output = run(&program, &[pod, &nodes, &pods, &pending], "");
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

        let output = run(&program, &[Path::new("nobody"), &nodes], "");
        assert_eq!(
            text(&output.stderr),
            "find: result 13: there is no pod \"nobody\"\n"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn a_c_program_decides_as_kube_scheduler() {
    let set = "hypershift-13nodes";
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "replay-input");
    for program in compiled("replay", "tests/c/replay.c") {
        let mut tally = Tally::of(set);
        for scenario in scenarios(set) {
            let [list, config] = ["list.json", "config.json"].map(|file| folder.join(file));
            let json = cluster_list(&scenario).json.to_string();
            fs::write(&list, json).expect("the list is written");
            let json = scenario.config.as_ref().map_or_else(
                || {
                    r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}"#
                        .to_owned()
                },
                ToString::to_string,
            );
            fs::write(&config, json).expect("the configuration is written");
            let verdicts = scenario.verdicts.iter();
            let pods: String = verdicts.map(|verdict| verdict.pod.clone() + "\n").collect();
            let output = run(&program, &[&list, &config], &pods);
            assert!(output.status.success(), "{}", text(&output.stderr));
            let records = text(&output.stdout);
            assert_eq!(records.lines().count(), scenario.verdicts.len());
            for (line, verdict) in records.lines().zip(&scenario.verdicts) {
                let differences = Answer::from_line(line).differences(verdict);
                tally.count(&scenario.name, &verdict.pod, &differences);
            }
        }
        tally.finish(142);
    }
}

#[test]
fn the_header_is_cplusplus_too() {
    let Some(mut compiler) = tool("c++", "apt-get install g++") else {
        return;
    };
    let output = compiler
        .args([
            "-std=c++11",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-x",
            "c++",
        ])
        .arg(crate_folder().join("../include/berth.h"))
        .output()
        .expect("c++ runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
}
