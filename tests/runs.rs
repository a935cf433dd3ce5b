//! Whole runs of kube-scheduler, replayed with exact fidelity through the loop: every attempt in its
//! order with node, counts, rejectors, message, patches and victims, and the queues after each step.

use berth_test_support::run::runs;
use berth_test_support::virtual_time::VirtualTime;
use serde_json::Value;

/// Replays a set; `whole`: scenarios, and attempts that the core made.
fn replay(set: &str, whole: (usize, usize)) {
    let (mut complete, mut attempts) = (0, 0);
    let mut different = Vec::new();
    for run in runs(set) {
        let mut course = VirtualTime::new(&run);
        let steps = run.steps.iter().map(|(step, _)| step).enumerate();
        let mut is_whole = true;
        for ((number, step), golden) in steps.zip(&run.recorded) {
            let recorded = course.take(number, step, golden);
            let golden = course.without_ghosts(golden);
            if let Some(difference) = difference(&recorded, &golden) {
                different.push(format!("{} step {number}: {difference}", run.name));
                is_whole = false;
                break;
            }
        }
        attempts += course.made;
        complete += usize::from(is_whole);
    }
    println!("{set}: {complete} runs whole, {attempts} attempts equal");
    assert!(
        different.is_empty(),
        "{} runs differ, such as\n{}",
        different.len(),
        different[..different.len().min(6)].join("\n")
    );
    assert_eq!((complete, attempts), whole, "the set {set} is not whole");
}

/// The first part of a step's record that differs.
fn difference(ours: &Value, golden: &Value) -> Option<String> {
    if ours == golden {
        return None;
    }
    let list = |value: &Value| value["attempts"].as_array().cloned().unwrap_or_default();
    let (own, other) = (list(ours), list(golden));
    for at in 0..own.len().max(other.len()) {
        let (one, two) = (own.get(at), other.get(at));
        if one != two {
            let text = |value: Option<&Value>| value.map_or("none".into(), Value::to_string);
            return Some(format!(
                "attempt {at}\n  ours   {}\n  golden {}",
                text(one),
                text(two)
            ));
        }
    }
    Some(format!(
        "\n  ours   {} {} {}\n  golden {} {} {}",
        ours["ms"],
        ours["skipped"],
        ours["queues"],
        golden["ms"],
        golden["skipped"],
        golden["queues"]
    ))
}

#[test]
fn ties_fall_as_in_kube_scheduler() {
    replay("runs-ties", (40, 2154));
}

#[test]
fn nodes_are_sampled_as_in_kube_scheduler() {
    replay("runs-sampling", (14, 1126));
}

#[test]
fn pods_queue_as_in_kube_scheduler() {
    replay("runs-queue", (60, 1702));
}

#[test]
fn pods_wake_as_in_kube_scheduler() {
    // The other 268 attempts are at pods with volumes.
    replay("runs-wakeup", (70, 1013));
}

#[test]
fn pods_preempt_as_in_kube_scheduler() {
    replay("runs-preemption", (82, 1245));
}

#[test]
fn pods_are_batched_as_in_kube_scheduler() {
    replay("runs-batching", (38, 1631));
}
