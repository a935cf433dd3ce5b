//! The built `berth` binary.

use crate::answer::Answer;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command line program, as the test build left it.
pub fn berth() -> Command {
    let test = std::env::current_exe().expect("the test's own path");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("tests run from target/PROFILE/deps");
    let path = profile.join(format!("berth{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.is_file(),
        "{} is not there: run `cargo test --workspace`, or `cargo build -p berth-daemon` first",
        path.display()
    );
    Command::new(path)
}

/// What `berth simulate -o jsonl` said.
#[derive(Debug)]
pub struct Simulation {
    /// One a pod, in the order of the output.
    pub answers: Vec<Answer>,
    /// What went to stderr.
    pub notes: String,
}

/// Runs `berth simulate` without preemption; `flags` name the input among other things.
pub fn simulate(flags: &[&OsStr]) -> Simulation {
    let output = berth()
        .args(["simulate", "-o", "jsonl", "--preemption=false"])
        .args(flags)
        .output()
        .expect("the command runs");
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    let records = std::str::from_utf8(&output.stdout).expect("output is UTF-8");
    let answers: Vec<Answer> = records.lines().map(Answer::from_line).collect();
    let all_placed = answers.iter().all(|answer| answer.node.is_some());
    assert_eq!(
        output.status.code(),
        Some(i32::from(!all_placed)),
        "berth simulate {flags:?}: exit code, with {} records: {notes}",
        answers.len()
    );
    Simulation { answers, notes }
}

/// An empty folder of the test's own; `base` is the test's `CARGO_TARGET_TMPDIR`.
pub fn empty_folder(base: &str, name: &str) -> PathBuf {
    let folder = Path::new(base).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("old folder is removed");
    }
    std::fs::create_dir_all(&folder).expect("folder is made");
    folder
}

/// A program that the machine may lack. Then the test is skipped aloud, and fails in CI.
pub fn tool(name: &str, install: &str) -> Option<Command> {
    tool_that_knows("--version", name, install)
}

/// The same of a program that tells its version by another word.
pub fn tool_that_knows(version: &str, name: &str, install: &str) -> Option<Command> {
    let found = Command::new(name).arg(version).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(Command::new(name));
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{name} is missing; install it: {install}"
    );
    println!("skipped: {name} is missing; install it: {install}");
    None
}
