//! kube-scheduler's side: the program of `tests/kube` as `kube beside`.

use crate::figures::Figures;
use berth_core::Fidelity;
use berth_test_support::go;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// As it comes; with all nodes scored, as Berth's `Best` does; with GOGC=400 and batching of use.
pub const SETTINGS: [&str; 3] = ["default", "all", "tuned"];

/// What upstream says of Berth's placements.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Attempts in all, and of these judged ones, each so many.
    pub attempts: u64,
    pub judged: u64,
    pub every: u64,
    pub differ: u64,
    /// The first that differ.
    pub differences: Vec<String>,
}

/// The program, built. `None`, said aloud, without Go.
pub fn program(folder: &str) -> Option<PathBuf> {
    go::program("kube", ".", folder)
}

/// Runs the script.
pub fn run(program: &Path, script: &Path, setting: &str, limit: usize, seconds: f64) -> Figures {
    let mut command = Command::new(program);
    command.args(["beside", "-setting", setting]);
    command.arg(format!("-limit={limit}"));
    command.arg(format!("-seconds={seconds}"));
    command.arg("-script").arg(script);
    figures(&mut command)
}

/// Replays Berth's placements.
pub fn check(
    program: &Path,
    script: &Path,
    answers: &Path,
    fidelity: Fidelity,
    seconds: f64,
) -> Check {
    let mut command = Command::new(program);
    command.arg("beside").arg(format!("-seconds={seconds}"));
    if fidelity == Fidelity::Exact {
        command.arg("-exact");
    }
    command
        .arg("-script")
        .arg(script)
        .arg("-check")
        .arg(answers);
    let text = output(&mut command);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What a run prints.
pub fn figures(command: &mut Command) -> Figures {
    let text = output(command);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn output(command: &mut Command) -> String {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", output.status);
    String::from_utf8(output.stdout).expect("it prints text")
}
