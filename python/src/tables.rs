//! What is there, column by column.

use crate::error::Failure;
use crate::scheduler::seconds;
use crate::table::{Column, Table};
use crate::world::World;
use berth_core::id::{NodeId, PodId};
use berth_core::{DecisionRecord, PodResult, QueuePart};
use std::collections::BTreeMap;

pub fn nodes(world: &World) -> Result<Table, Failure> {
    let scheduler = world.scheduler();
    let ids: Vec<NodeId> = scheduler.nodes().collect();
    let views = || ids.iter().map(|id| scheduler.node(*id));
    let mut columns = vec![
        text("name", views().map(|node| Some(node.name.to_owned()))),
        int("pods", views().map(|node| i64::from(node.pods))),
        int(
            "pods_allocatable",
            views().map(|node| node.pods_allocatable),
        ),
        column(
            "unschedulable",
            Column::Bool(views().map(|node| node.unschedulable).collect()),
        ),
    ];
    // The main ones first, then the others by name.
    let main = ["cpu", "memory", "ephemeral-storage"];
    let mut resources: BTreeMap<(usize, &str), [Vec<i64>; 2]> = BTreeMap::new();
    for (row, node) in views().enumerate() {
        for (name, requested, allocatable) in node.resources() {
            let place = main.iter().position(|own| *own == name);
            let key = (place.unwrap_or(main.len()), name);
            let both = resources.entry(key).or_insert_with(|| {
                let absent = vec![0; ids.len()];
                [absent.clone(), absent]
            });
            let limit = if requested < 0 { i64::MIN } else { i64::MAX };
            let requested = i64::try_from(requested).unwrap_or(limit);
            for (values, value) in both.iter_mut().zip([requested, allocatable]) {
                if let Some(cell) = values.get_mut(row) {
                    *cell = value;
                }
            }
        }
    }
    for ((_, name), [requested, allocatable]) in resources {
        columns.push(column(&format!("{name}_requested"), Column::Int(requested)));
        let name = format!("{name}_allocatable");
        columns.push(column(&name, Column::Int(allocatable)));
    }
    made(columns)
}

pub fn pods(world: &World) -> Result<Table, Failure> {
    let scheduler = world.scheduler();
    let ids: Vec<PodId> = world.intake.arrived();
    let each = || ids.iter().copied();
    let node_name = |id: NodeId| scheduler.node(id).name.to_owned();
    made(vec![
        text(
            "namespace",
            each().map(|pod| Some(scheduler.pod_name(pod).0.to_owned())),
        ),
        text(
            "name",
            each().map(|pod| Some(scheduler.pod_name(pod).1.to_owned())),
        ),
        text(
            "node",
            each().map(|pod| scheduler.node_of(pod).map(node_name)),
        ),
        text(
            "state",
            each().map(|pod| Some(state(world, pod).to_owned())),
        ),
        int("priority", each().map(|pod| scheduler.priority(pod).into())),
        int("attempts", each().map(|pod| scheduler.attempts(pod).into())),
        text(
            "nominated_node",
            each().map(|pod| scheduler.nominated_node(pod).map(node_name)),
        ),
    ])
}

fn state(world: &World, pod: PodId) -> &'static str {
    let scheduler = world.scheduler();
    match scheduler.queue_part(pod) {
        Some(QueuePart::Active) => "active",
        Some(QueuePart::Backoff) => "backoff",
        Some(QueuePart::Unschedulable) => "unschedulable",
        Some(QueuePart::Gated) => "gated",
        Some(QueuePart::Permit | QueuePart::Binding) => "binding",
        None if scheduler.node_of(pod).is_some() => "bound",
        None => "ignored",
    }
}

pub fn decisions(world: &World) -> Result<Table, Failure> {
    let attempts = &world.attempts;
    let each = || attempts.iter().map(|attempt| &attempt.record);
    let times = attempts.iter().map(|attempt| seconds(attempt.time));
    let count = |number: Option<u32>| i64::from(number.unwrap_or(0));
    made(vec![
        column("seconds", Column::Float(times.collect())),
        text("pod", each().map(|record| Some(record.pod.clone()))),
        int("attempt", each().map(|record| record.attempt.into())),
        text(
            "result",
            each().map(|record| Some(result(record).to_owned())),
        ),
        text("node", each().map(|record| record.node.clone())),
        int("feasible", each().map(|record| count(record.feasible))),
        int("evaluated", each().map(|record| count(record.evaluated))),
        text(
            "nominated_node",
            each().map(|record| record.nominated_node.clone()),
        ),
        int("victims", each().map(|record| record.victims.len() as i64)),
        text("message", each().map(|record| record.message.clone())),
    ])
}

/// The word of a record's result.
pub const fn result(record: &DecisionRecord) -> &'static str {
    match record.result {
        PodResult::Scheduled => "scheduled",
        PodResult::Unschedulable => "unschedulable",
        PodResult::Gated => "gated",
        PodResult::Unsupported => "unsupported",
        PodResult::Error => "error",
    }
}

/// A column with its name.
pub fn column(name: &str, column: Column) -> (String, Column) {
    (name.to_owned(), column)
}

/// A column of texts.
pub fn text(name: &str, values: impl Iterator<Item = Option<String>>) -> (String, Column) {
    column(name, Column::Text(values.collect()))
}

fn int(name: &str, values: impl Iterator<Item = i64>) -> (String, Column) {
    column(name, Column::Int(values.collect()))
}

/// The table of these columns.
pub fn made(columns: Vec<(String, Column)>) -> Result<Table, Failure> {
    // Columns of one length and with names of their own make a table.
    Table::new(columns).map_err(|error| Failure::Table(error.to_string()))
}
