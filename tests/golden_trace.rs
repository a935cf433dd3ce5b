//! The recorded runs of kube-scheduler, replayed through the built command: `berth simulate --trace`
//! makes the same attempts in the same order, with node, counts, rejectors, message, victims and
//! writes to status.

use berth_test_support::command::{berth, empty_folder};
use berth_test_support::read;
use berth_test_support::virtual_time::cut;
use serde_json::{Value, json};
use std::fs;

/// Replays a set; `whole`: attempts and runs in it.
fn replay(set: &str, whole: (usize, usize)) {
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), &format!("trace-{set}"));
    let inputs = read(&format!("golden/{set}.inputs.jsonl"));
    let golden = read(&format!("golden/{set}.golden.jsonl"));
    let parse = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let (mut runs, mut attempts) = (0, 0);
    let mut different = Vec::new();
    for (input, golden) in inputs.lines().map(parse).zip(golden.lines().map(parse)) {
        let file = folder.join(format!("{}.jsonl", input["scenario"]));
        fs::write(&file, trace(input.clone())).expect("the trace is written");
        let output = berth()
            .args([
                "simulate",
                "--attempts",
                "-o",
                "jsonl",
                "--fidelity",
                "exact",
            ])
            .arg("--trace")
            .arg(&file)
            .output()
            .expect("the command runs");
        let notes = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0 | 1)),
            "{set} {}: {notes}",
            input["scenario"]
        );
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let ours: Vec<Value> = text.lines().map(|line| golden_form(&parse(line))).collect();
        let steps = golden["steps"].as_array().expect("steps");
        let theirs = steps.iter().filter_map(|step| step["attempts"].as_array());
        let theirs: Vec<Value> = theirs.flatten().map(without_later).collect();
        runs += 1;
        attempts += ours.len();
        let both = ours.len().max(theirs.len());
        let differs = |at: &usize| ours.get(*at) != theirs.get(*at);
        if let Some(at) = (0..both).find(differs) {
            let scenario = &input["scenario"];
            let text = |list: &[Value]| list.get(at).map_or("none".into(), Value::to_string);
            different.push(format!(
                "{scenario} attempt {at}\n  ours   {}\n  golden {}",
                text(&ours),
                text(&theirs)
            ));
        }
    }
    assert!(
        different.is_empty(),
        "{} of {runs} runs of {set} differ, such as\n{}",
        different.len(),
        different[..different.len().min(4)].join("\n")
    );
    println!("{set}: {attempts} attempts equal in {runs} runs");
    assert_eq!((attempts, runs), whole, "the set {set} is not whole");
}

/// A recorded attempt as the command tells it: at its time, when nobody knows yet when a pod that waits
/// for its volumes will be bound.
fn without_later(attempt: &Value) -> Value {
    let mut attempt = attempt.clone();
    if attempt["volumes"].is_array() {
        attempt
            .as_object_mut()
            .map(|attempt| attempt.remove("boundMs"));
    }
    attempt
}

/// A run as a trace: what it says of itself, then one step a line.
fn trace(mut run: Value) -> String {
    let steps = run["steps"].take();
    run.as_object_mut().map(|run| run.remove("steps"));
    let mut lines = vec![run.to_string()];
    let steps = steps.as_array().expect("a run has steps");
    lines.extend(steps.iter().map(Value::to_string));
    lines.join("\n")
}

/// An attempt's record in the form of the golden ones.
fn golden_form(record: &Value) -> Value {
    let mut attempt = json!({"ms": record["ms"], "pod": record["pod"], "try": record["attempt"]});
    if !record["node"].is_null() {
        for field in ["node", "evaluated", "feasible"] {
            attempt[field] = record[field].clone();
        }
        if record["volumes"].is_null() {
            attempt["boundMs"] = record["ms"].clone();
            return attempt;
        }
        for field in ["volumes", "patches"] {
            attempt[field] = record[field].clone();
        }
        return attempt;
    }
    for (field, own) in [
        ("reason", "reason"),
        ("plugins", "plugins"),
        ("evicted", "victims"),
        ("patches", "patches"),
    ] {
        if !record[own].is_null() {
            attempt[field] = record[own].clone();
        }
    }
    let message = record["message"].as_str().or(record["error"].as_str());
    attempt["message"] = json!(cut(message.unwrap_or_default()));
    attempt
}

/// The same trace gives the same bytes, and ends in the same state.
#[test]
fn a_hundred_traces_replay_to_the_same_hash() {
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "trace-twice");
    let mut replayed = 0;
    for set in [
        "runs-queue",
        "runs-preemption",
        "runs-batching",
        "runs-ties",
    ] {
        for line in read(&format!("golden/{set}.inputs.jsonl")).lines().take(25) {
            let run: Value = serde_json::from_str(line).expect("JSON");
            let file = folder.join("trace.jsonl");
            fs::write(&file, trace(run)).expect("the trace is written");
            let play = || {
                let output = berth()
                    .args(["simulate", "-o", "json", "--trace"])
                    .arg(&file)
                    .output()
                    .expect("the command runs");
                String::from_utf8(output.stdout).expect("UTF-8")
            };
            let first = play();
            assert_eq!(first, play(), "{set}");
            let document: Value = serde_json::from_str(&first).expect("JSON");
            for hash in ["stateHash", "loopHash"] {
                let hash = document["summary"][hash].as_str().expect("a hash");
                assert_eq!(hash.len(), 16, "{hash}");
            }
            replayed += 1;
        }
    }
    assert_eq!(replayed, 100);
}

#[test]
fn ties_fall_as_in_kube_scheduler() {
    replay("runs-ties", (2154, 40));
}

#[test]
fn nodes_are_sampled_as_in_kube_scheduler() {
    replay("runs-sampling", (1126, 14));
}

#[test]
fn pods_queue_as_in_kube_scheduler() {
    replay("runs-queue", (1702, 60));
}

#[test]
fn pods_wake_as_in_kube_scheduler() {
    replay("runs-wakeup", (1281, 70));
}

#[test]
fn volumes_are_bound_as_in_kube_scheduler() {
    replay("runs-volumes", (643, 25));
}

#[test]
fn pods_preempt_as_in_kube_scheduler() {
    replay("runs-preemption", (1245, 82));
}

#[test]
fn pods_are_batched_as_in_kube_scheduler() {
    replay("runs-batching", (1631, 38));
}
