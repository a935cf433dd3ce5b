//! Queueing hints, row by row: for each plugin and each event that it reads, one change that wakes a
//! pod which the plugin rejected, and one that lets it sleep.

#[path = "hints/node_rows.rs"]
mod node_rows;
#[path = "hints/pod_rows.rs"]
mod pod_rows;
#[path = "hints/volume_rows.rs"]
mod volume_rows;

use berth_core::plugins::Plugin;
use berth_core::{Change, Options, QueuePart};
use berth_test_support::object::object;
use berth_test_support::replay::Replay;
use serde_json::Value;

/// A change of an object.
pub type News = (Change, &'static str, Value);

/// One row: what is there, who waits and why, and what wakes it or not.
pub struct Row {
    pub about: &'static str,
    /// What rejects the pod, and nothing else.
    pub plugin: Plugin,
    /// In the order in which it is added.
    pub there: Vec<(&'static str, Value)>,
    pub pod: Value,
    pub wakes: News,
    pub sleeps: News,
}

pub fn added(kind: &'static str, json: Value) -> News {
    (Change::Added, kind, json)
}

pub fn modified(kind: &'static str, json: Value) -> News {
    (Change::Modified, kind, json)
}

pub fn deleted(kind: &'static str, json: Value) -> News {
    (Change::Deleted, kind, json)
}

/// Whether the news moves the pod out of the unschedulable part.
fn is_woken(row: &Row, (change, kind, json): &News) -> bool {
    let mut replay = Replay::new(None, Options::default(), 8, 16);
    let scheduler = &mut replay.scheduler;
    scheduler.advance(1_000_000_000);
    for (kind, json) in &row.there {
        replay.add(kind, json);
    }
    let id = replay.add_pod(&row.pod);
    let scheduler = &mut replay.scheduler;
    if scheduler.queue_part(id) != Some(QueuePart::Gated) {
        // Others that wait are tried too, and stay out of the way.
        while let Some(decision) = scheduler.schedule_one(1_000_000_000) {
            if decision.pod == id {
                break;
            }
        }
    }
    let rejectors: Vec<Plugin> = scheduler.rejected_by(id).iter().collect();
    assert_eq!(
        rejectors,
        [row.plugin],
        "{}: who rejects the pod",
        row.about
    );
    replay.apply(*change, &object(kind, json));
    match replay.scheduler.queue_part(id) {
        Some(QueuePart::Active | QueuePart::Backoff) => true,
        Some(QueuePart::Unschedulable | QueuePart::Gated) => false,
        other => panic!("{}: the pod is in {other:?}", row.about),
    }
}

#[test]
fn hints_wake_and_let_sleep_as_upstream() {
    let rows = node_rows::rows().into_iter().chain(pod_rows::rows());
    let rows = rows.chain(volume_rows::rows());
    let mut count = 0;
    let mut wrong = Vec::new();
    for row in rows {
        count += 1;
        if !is_woken(&row, &row.wakes) {
            wrong.push(format!("{:?} {}: does not wake", row.plugin, row.about));
        }
        if is_woken(&row, &row.sleeps) {
            wrong.push(format!("{:?} {}: wakes for nothing", row.plugin, row.about));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 63, "only {count} rows");
}
