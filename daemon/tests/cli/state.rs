//! `--save`, and `-f FILE.berth`.

use crate::run::{Run, berth};
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder for states, whose path is cut from what is said.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("written");
        path
    }

    fn run(&self, args: &[&str]) -> Run {
        let run = berth(args);
        let folder = format!("{}/", self.0.path().display());
        Run {
            stderr: run.stderr.replace(&folder, ""),
            ..run
        }
    }

    /// Simulates the data's cluster and saves it under this name.
    fn saved(&self, name: &str, flags: &[&str]) -> (String, Run) {
        let path = self.path(name);
        let mut args = vec![
            "simulate",
            "-f",
            "cluster.yaml",
            "-f",
            "workloads.yaml",
            "--save",
            &path,
        ];
        args.extend(flags);
        let run = self.run(&args);
        (path, run)
    }
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).expect("stdout is JSON")
}

/// Pods that were not placed.
fn left(document: &Value) -> Option<u64> {
    let summary = &document["summary"];
    Some(summary["pods"].as_u64()? - summary["scheduled"].as_u64()?)
}

#[test]
fn a_run_goes_on_from_where_another_ended() {
    let folder = Folder::new();
    for order in ["queue", "file"] {
        let (state, first) = folder.saved("a.berth", &["-o", "json", "--order", order]);
        let again = folder.path("b.berth");
        let second = folder.run(&[
            "simulate", "-f", &state, "-o", "json", "--order", order, "--save", &again,
        ]);
        let (first, second) = (json(&first), json(&second));
        // Nothing has changed since, so nobody else fits.
        assert_eq!(second["nodes"], first["nodes"], "{order}");
        assert_eq!(second["summary"]["scheduled"], 0, "{order}");
        assert_eq!(second["summary"]["pods"].as_u64(), left(&first), "{order}");
        let third = folder.path("c.berth");
        folder.run(&["simulate", "-f", &again, "--order", order, "--save", &third]);
        let bytes = |path: &str| fs::read(path).expect("a state");
        assert_eq!(bytes(&third), bytes(&again), "{order}");
        assert!(!Path::new(&format!("{third}.part")).exists());
    }
}

#[test]
fn what_is_given_beside_a_state_comes_to_it() {
    let folder = Folder::new();
    let (state, _) = folder.saved("a.berth", &[]);
    let more = folder.write(
        "more.yaml",
        "{kind: Node, apiVersion: v1, metadata: {name: large},\n\
         status: {allocatable: {cpu: 64, memory: 64Gi, pods: 100}}}\n\
         ---\n{kind: Pod, apiVersion: v1, metadata: {name: new, namespace: shop},\n\
         spec: {containers: [{name: c}]}}\n",
    );
    let run = folder.run(&["simulate", "-f", &state, "-f", &more, "-o", "csv"]);
    let of = |name: &str| {
        let line = run.stdout.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {}", run.stdout))
            .to_owned()
    };
    // The new node helps those that waited, and the new pod is placed too.
    assert_eq!(of("default/huge,"), "default/huge,scheduled,large,");
    assert!(of("shop/new,").starts_with("shop/new,scheduled,"));
    assert!(
        !run.stdout.contains("shop/web-0"),
        "it has its node: {}",
        run.stdout
    );

    let run = folder.run(&["explain", "shop/web-0", "-f", &state]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("shop/web-0"), "{}", run.stdout);
}

#[test]
fn a_trace_may_start_from_a_state() {
    let folder = Folder::new();
    let (state, first) = folder.saved("a.berth", &["-o", "json"]);
    let trace = folder.write(
        "trace.jsonl",
        "{\"op\": \"delete\", \"kind\": \"Pod\", \"namespace\": \"shop\", \"name\": \"web-0\"}\n\
         {\"op\": \"settle\"}\n",
    );
    let run = folder.run(&["simulate", "-f", &state, "--trace", &trace, "-o", "json"]);
    assert_eq!(run.stderr, "");
    assert_eq!(json(&run)["summary"]["pods"].as_u64(), left(&json(&first)));
}

#[test]
fn what_cannot_be_done_with_a_state_is_said() {
    let folder = Folder::new();
    let (state, _) = folder.saved("a.berth", &[]);
    let bytes = fs::read(&state).expect("a state");
    let cut = folder.path("cut.berth");
    fs::write(&cut, &bytes[..100]).expect("written");
    let other = folder.write("other.berth", "kind: Node");
    let nowhere = folder.path("nowhere/a.berth");
    let size = bytes.len();
    for (args, expected) in [
        (
            vec!["-f", &cut],
            format!(
                "cut.berth: state file of 100 bytes that should have {size}: it was cut or added to"
            ),
        ),
        (
            vec!["-f", &other],
            "other.berth: this is no state file: its first bytes are others".to_owned(),
        ),
        (
            vec!["-f", &state, "-f", &cut],
            "cut.berth: a run starts from one state; leave out the others".to_owned(),
        ),
        (
            vec!["-f", &state, "--save", "a.json"],
            "--save a.json: end the name in .berth, by which -f knows a state file".to_owned(),
        ),
        (
            vec!["-f", &state, "--save", &nowhere],
            "--save nowhere/a.berth: No such file or directory (os error 2)".to_owned(),
        ),
        (
            vec!["-f", &state, "--recreate-victims"],
            "--recreate-victims: a state file does not say what its pods were made from; leave it \
             out, or give the objects"
                .to_owned(),
        ),
    ] {
        let mut all = vec!["simulate"];
        all.extend(args);
        let run = folder.run(&all);
        assert_eq!((run.stderr, run.code), (format!("error: {expected}\n"), 2));
        assert_eq!(run.stdout, "");
    }
}
