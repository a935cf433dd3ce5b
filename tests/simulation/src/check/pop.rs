//! Who is tried next: I11.

use crate::expected::Expected;
use crate::server::Key;
use crate::simulation::Simulation;
use crate::violation::{Check, ensure};
use berth_core::QueuePart;
use std::cmp::Reverse;

/// The parts of the queue before a turn.
pub(crate) struct Before {
    active: Vec<Key>,
    /// Those in backoff that some plugin rejected.
    rejected: Vec<Key>,
}

impl Before {
    pub(crate) fn of(simulation: &Simulation) -> Self {
        let engine = &simulation.engine;
        let (mut active, mut rejected) = (Vec::new(), Vec::new());
        for id in engine.pods() {
            match engine.queue_part(id) {
                Some(QueuePart::Active) => active.push(simulation.key(id)),
                Some(QueuePart::Backoff) if !engine.rejected_by(id).is_empty() => {
                    rejected.push(simulation.key(id));
                }
                _ => {}
            }
        }
        Self { active, rejected }
    }
}

/// Checks that the pod was the right one.
pub(crate) fn popped(simulation: &Simulation, before: &Before, key: &Key) -> Check {
    let backoff = simulation.setup.backoff;
    let now = simulation.engine.now();
    let order = |pod: &Expected| (Reverse(pod.priority), pod.timestamp);
    let of = |key: &Key| simulation.pods.get(key);
    let Some(own) = of(key) else {
        return Ok(());
    };
    if before.active.is_empty() {
        let early = before.rejected.contains(key);
        ensure(early, "I11", || {
            format!("{key:?} was tried, which is neither active nor may be tried early: {own:?}")
        })?;
        let place = |pod: &Expected| (pod.expiry(backoff), order(pod));
        let first = before.rejected.iter().filter_map(of).map(place).min();
        return ensure(first == Some(place(own)), "I11", || {
            format!("{key:?} was tried early, before one whose backoff ends first: {own:?}")
        });
    }
    ensure(before.active.contains(key), "I11", || {
        format!("{key:?} was tried, which is not active, while others are: {own:?}")
    })?;
    let first = before.active.iter().filter_map(of).map(order).min();
    ensure(first == Some(order(own)), "I11", || {
        format!("{key:?} was tried before a more important or older one: {own:?}")
    })?;
    let early = own.backs_off(backoff, now) && !own.activated;
    ensure(!early, "I11", || {
        format!("{key:?} was active before the end of its backoff at {now}: {own:?}")
    })
}
