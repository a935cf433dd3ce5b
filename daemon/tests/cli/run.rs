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

/// What the command shows in a terminal of 80 columns; absent, and said aloud, where the machine has no
/// `script` that makes one.
pub fn in_terminal(args: &[&str]) -> Option<String> {
    let found = Command::new("script").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        let text = "script is missing; install it: apt-get install bsdutils";
        assert!(std::env::var_os("CI").is_none(), "{text}");
        println!("skipped: {text}");
        return None;
    }
    let quoted = args.iter().map(|arg| format!("'{arg}'"));
    let quoted: Vec<_> = quoted.collect();
    let berth = env!("CARGO_BIN_EXE_berth");
    let line = format!("stty rows 24 cols 80; '{berth}' {}", quoted.join(" "));
    let output = Command::new("script")
        .args(["-q", "-c", &line, "/dev/null"])
        .stdin(Stdio::null())
        .output()
        .expect("script starts");
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    Some(text.replace('\r', ""))
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
