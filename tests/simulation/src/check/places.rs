//! Each pod in exactly one place, with the room that it takes: I1, I3, I6, I14, I19, I21, I24.

use crate::expected::{Expected, Place, key_of};
use crate::server::Key;
use crate::simulation::Simulation;
use crate::violation::{Check, ensure};
use berth_core::QueuePart;
use berth_core::id::{NodeId, PodId};
use berth_naive::NodeState;
use std::collections::BTreeSet;

/// Where pods are, against what should be known of them.
pub(crate) fn places(simulation: &Simulation) -> Check {
    let engine = &simulation.engine;
    let mut counts = [0_u32; 4];
    let mut nominated = 0;
    let mut there = 0;
    for id in engine.pods() {
        there += 1;
        let key = simulation.key(id);
        let Some(pod) = simulation.pods.get(&key) else {
            return ensure(false, "I3", || format!("{key:?} should be gone"));
        };
        let part = engine.queue_part(id);
        place(simulation, &key, pod, part)?;
        match part {
            Some(QueuePart::Active) => counts[0] += 1,
            Some(QueuePart::Backoff) => counts[1] += 1,
            Some(QueuePart::Unschedulable) => counts[2] += 1,
            Some(QueuePart::Gated) => counts[3] += 1,
            _ => {}
        }
        nominated += u32::from(!pod.nomination.is_empty());
        room(simulation, &key, pod, id)?;
    }
    let expected = simulation.pods.len();
    ensure(there == expected, "I3", || {
        format!("{there} pods are there, {expected} should be")
    })?;
    ensure(there <= engine.capacities().pods as usize, "I19", || {
        format!("{there} pods")
    })?;
    let own = engine.queue_counts();
    let told = [own.active, own.backoff, own.unschedulable, own.gated];
    ensure(told == counts, "I23", || {
        format!("the queue counts {told:?}, its parts hold {counts:?}")
    })?;
    ensure(own.nominated == nominated, "I14", || {
        format!(
            "{} pods are nominated, {nominated} should be",
            own.nominated
        )
    })
}

fn place(simulation: &Simulation, key: &Key, pod: &Expected, part: Option<QueuePart>) -> Check {
    let fits = match pod.place {
        Place::Queued => matches!(
            part,
            Some(
                QueuePart::Active
                    | QueuePart::Backoff
                    | QueuePart::Unschedulable
                    | QueuePart::Gated
            )
        ),
        Place::Permit { .. } => part == Some(QueuePart::Permit),
        Place::PreBind | Place::Binding => part == Some(QueuePart::Binding),
        Place::Told | Place::Bound | Place::Dropped | Place::Foreign => part.is_none(),
    };
    ensure(fits, "I3", || {
        format!("{key:?} is in {part:?}, but should be {:?}", pod.place)
    })?;
    let backoff = simulation.setup.backoff;
    let now = simulation.engine.now();
    match part {
        Some(QueuePart::Backoff) => ensure(pod.backs_off(backoff, now), "backoff", || {
            format!("the backoff of {key:?} is over: {pod:?}")
        })?,
        Some(QueuePart::Unschedulable) => {
            let waits = now.saturating_sub(pod.timestamp);
            ensure(waits <= 331_000_000_000, "flush", || {
                format!("{key:?} has waited for {waits} ns")
            })?;
        }
        _ => {}
    }
    let Some(object) = simulation.told_pod(key) else {
        return Ok(());
    };
    if part == Some(QueuePart::Active) {
        let gated = !object.spec.scheduling_gates.is_empty() && gates(simulation, object);
        ensure(!gated, "I21", || format!("{key:?} is gated and active"))?;
    }
    held(simulation, key, pod, part)
}

/// Whether the pod's profile holds gated pods.
fn gates(simulation: &Simulation, pod: &berth_core::object::Pod) -> bool {
    use berth_core::plugins::{Plugin, Point};
    let profile = simulation.setup.profile(&pod.spec.scheduler_name);
    profile.is_some_and(|own| {
        own.plugins(Point::PreEnqueue)
            .contains(&Plugin::SchedulingGates)
    })
}

/// A preemptor waits until its last victim is on its way.
fn held(simulation: &Simulation, key: &Key, pod: &Expected, part: Option<QueuePart>) -> Check {
    let Some((victim, uid)) = &pod.held_for else {
        return Ok(());
    };
    let is_there = simulation.expected(victim, uid).is_some();
    let object = simulation.told_pod(victim);
    let is_going = object.is_none_or(|own| own.metadata.deletion_timestamp.is_some());
    let is_held = is_there && !is_going;
    let is_ready = matches!(part, Some(QueuePart::Active | QueuePart::Backoff));
    ensure(!(is_held && is_ready), "held", || {
        format!("{key:?} is {part:?} although its victim {victim:?} is there")
    })
}

fn room(simulation: &Simulation, key: &Key, pod: &Expected, id: PodId) -> Check {
    let engine = &simulation.engine;
    let own = engine.node_of(id).map(|node| engine.node(node).name);
    let known = |name: &&str| engine.find_node(name).is_some();
    let expected = pod.node.as_deref().filter(known);
    ensure(own == expected, "I6", || {
        format!(
            "{key:?} takes room on {own:?}, but should on {expected:?}: {:?}",
            pod.place
        )
    })?;
    let nominated = engine.nominated_node(id).map(|node| engine.node(node).name);
    let expected = Some(pod.nomination.as_str()).filter(known);
    ensure(nominated == expected, "I14", || {
        format!("{key:?} is nominated to {nominated:?}, but should be to {expected:?}")
    })
}

/// Sums of every node against a recount by the naive twin.
pub(crate) fn sums(simulation: &Simulation) -> Check {
    let engine = &simulation.engine;
    let nodes = &simulation.shadow.nodes;
    let count = engine.nodes().count();
    ensure(count == nodes.len(), "I3", || {
        format!("{count} nodes are there, {} should be", nodes.len())
    })?;
    for state in nodes {
        let name = state.name();
        let Some(id) = engine.find_node(name) else {
            return ensure(false, "I3", || format!("node {name} is not there"));
        };
        let view = engine.node(id);
        let pods = state.pods.len();
        ensure(view.pods as usize == pods, "I1", || {
            format!("{name} counts {} pods, {pods} are there", view.pods)
        })?;
        ordered(simulation, state, id)?;
        let mut seen = BTreeSet::new();
        for (resource, requested, allocatable) in view.resources() {
            seen.insert(resource);
            let recount = (state.requested(resource), state.allocatable(resource));
            let own = (requested, i128::from(allocatable));
            ensure(own == recount, "I1", || {
                format!("{resource} of {name}: {own:?} is kept, {recount:?} is the recount")
            })?;
        }
        for placed in &state.pods {
            for (resource, amount) in &placed.requested.exact {
                let missed =
                    *amount != 0 && resource != "pods" && !seen.contains(resource.as_str());
                ensure(!missed, "I1", || {
                    format!("{resource} of {name} is not counted at all")
                })?;
            }
        }
    }
    Ok(())
}

/// The pods of a node are in upstream's order, which decides between equal victims.
fn ordered(simulation: &Simulation, state: &NodeState, node: NodeId) -> Check {
    let name = state.name();
    if simulation.returned.contains(name) {
        return Ok(());
    }
    let pods = simulation.engine.pods_on(node);
    let own: Vec<Key> = pods.map(|pod| simulation.key(pod)).collect();
    let expected: Vec<Key> = state
        .pods
        .iter()
        .rev()
        .map(|own| key_of(&own.pod))
        .collect();
    ensure(own == expected, "I15", || {
        format!("on {name} are {own:?}, but should {expected:?}")
    })
}
