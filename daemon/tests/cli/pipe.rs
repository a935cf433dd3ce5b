//! Readers that go away.

use crate::run::command;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

#[test]
fn a_closed_pipe_ends_the_command_quietly() {
    let folder = tempfile::tempdir().expect("a folder for the input");
    let file = folder.path().join("input.json");
    // More records than a pipe holds.
    let pods: Vec<_> = (0..3000)
        .map(|n| {
            format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{n}"}},"spec":{{"containers":[{{"name":"c"}}]}}}}"#
            )
        })
        .collect();
    std::fs::write(&file, pods.join("\n")).expect("the input is written");
    let file = file.to_str().expect("the path is UTF-8");
    for form in ["jsonl", "json", "yaml", "csv", "wide"] {
        let args = ["simulate", "-f", "cluster.yaml", "-f", file, "-o", form];
        let mut child = command(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("a line comes");
        assert!(!line.is_empty(), "{form}");
        let mut stderr = String::new();
        let mut pipe = child.stderr.take().expect("stderr is piped");
        pipe.read_to_string(&mut stderr).expect("stderr is read");
        assert_eq!(stderr, "", "{form}");
        let status = child.wait().expect("the command ends");
        assert!(status.success(), "{form}: {status}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("/dev/full is there");
    let output = command(&["simulate", "-f", "cluster.yaml"])
        .stdout(full)
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("writing the result"), "{stderr}");
}
