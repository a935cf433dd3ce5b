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
        // Pods are bound long after the step of their attempt, so a step is whole at the end only.
        run.steps.iter().for_each(|(step, _)| course.take(step));
        let pairs = course.steps.iter().zip(&run.recorded);
        let mut differences = pairs.enumerate().filter_map(|(number, (ours, golden))| {
            let difference = difference(ours, golden)?;
            Some(format!("{} step {number}: {difference}", run.name))
        });
        let first = differences.next();
        let is_whole = first.is_none();
        different.extend(first);
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
    replay("runs-wakeup", (70, 1281));
}

#[test]
fn volumes_are_bound_as_in_kube_scheduler() {
    replay("runs-volumes", (25, 643));
}

#[test]
fn pods_preempt_as_in_kube_scheduler() {
    replay("runs-preemption", (82, 1245));
}

#[test]
fn pods_are_batched_as_in_kube_scheduler() {
    replay("runs-batching", (38, 1631));
}
