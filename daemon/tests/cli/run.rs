//! Running the command.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run left behind.
pub struct Run {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

/// A command in the folder of the data, whose files are `cluster.yaml` and `workloads.yaml`.
pub fn command<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"))
        .env("COLUMNS", "80")
        .stdin(Stdio::null());
    command
}

/// Runs the command to its end.
pub fn berth<S: AsRef<OsStr>>(args: &[S]) -> Run {
    let output = command(args).output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Run {
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        code: output.status.code().expect("the command was not killed"),
    }
}

/// Runs `berth simulate` over a text in a file of this name.
pub fn simulate_text(name: &str, text: impl AsRef<[u8]>, flags: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a folder for the input");
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("the input is written");
    let file = file.to_str().expect("the path is UTF-8");
    let mut args = vec!["simulate", "-f", file];
    args.extend(flags);
    let mut run = berth(&args);
    let folder = format!("{}/", folder.path().display());
    run.stderr = run.stderr.replace(&folder, "");
    run
}
