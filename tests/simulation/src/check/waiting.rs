//! Who waits although there is room: I12 and I25.

use super::decision::{Judged, fits_beside, nominated};
use crate::expected::{Expected, Place, SECOND};
use crate::server::{Key, pod_id};
use crate::simulation::Simulation;
use crate::storage;
use crate::violation::{Check, Violation, ensure};
use berth_core::object::Pod;
use berth_core::{DecisionRecord, Outcome, PluginSet, QueuePart};

/// With everything delivered and answered: no pod waits for an event although it fits. It failed
/// when it did not fit, so something changed since and should have woken it.
pub(crate) fn parked(simulation: &mut Simulation) -> Check {
    let whole = simulation.client.refused.is_empty();
    if !simulation.is_quiet() || !whole {
        return Ok(());
    }
    let mut looks = 0;
    for (key, pod) in &simulation.pods {
        let Some(object) = simulation.told_pod(key) else {
            continue;
        };
        let may_wait = !pod.fits_nowhere
            || pod.excused
            || simulation.is_always_excused(object, pod)
            || pod.rejectors.intersection(PluginSet::EXTERNAL) != PluginSet::EMPTY;
        if may_wait || simulation.part(key) != Some(QueuePart::Unschedulable) {
            continue;
        }
        looks += 1;
        let node = room(simulation, object)?;
        ensure(node.is_none(), "I12", || {
            format!("{key:?} fits on {node:?} and nothing woke it: {pod:?}")
        })?;
    }
    simulation.looks.parked += looks;
    Ok(())
}

/// At the end: every pod that waits is refused by a verdict that a fresh look confirms.
pub(crate) fn lost(simulation: &mut Simulation) -> Check {
    let keys: Vec<Key> = simulation.pods.keys().cloned().collect();
    for key in keys {
        let (Some(pod), Some(object)) = (
            simulation.pods.get(&key).cloned(),
            simulation.told_pod(&key).cloned(),
        ) else {
            continue;
        };
        // What the scheduler had no room to hear it cannot follow.
        let refused = &simulation.client.refused;
        let mut of_volumes = refused
            .iter()
            .filter(|(kind, ..)| ["PersistentVolume", "PersistentVolumeClaim"].contains(kind));
        let has_claims = storage::claims_of(&object).next().is_some();
        let is_unknown =
            refused.contains(&pod_id(&key)) || has_claims && of_volumes.next().is_some();
        if is_unknown || !waits(simulation, &pod, &object) {
            continue;
        }
        let Some(id) = simulation.id(&key) else {
            continue;
        };
        simulation.looks.waiting += 1;
        let Outcome::Scheduled(_) = simulation.engine.evaluate(id).outcome else {
            continue;
        };
        let node = room(simulation, &object)?;
        let part = simulation.part(&key);
        ensure(node.is_none(), "I25", || {
            format!("{key:?} fits on {node:?} and is still {part:?}: {pod:?}")
        })?;
    }
    Ok(())
}

/// Whether the pod should have been placed by now if it fits.
fn waits(simulation: &Simulation, pod: &Expected, object: &Pod) -> bool {
    // Where no plugin holds such a pod, the server does not let it be bound.
    let gated = !object.spec.scheduling_gates.is_empty();
    let lately = simulation.engine.now() - pod.timestamp < 331 * SECOND;
    let excused = pod.excused || simulation.is_always_excused(object, pod);
    pod.place == Place::Queued
        && !gated
        && object.metadata.deletion_timestamp.is_none()
        && !(excused && lately)
}

/// A node that takes the pod beside the pods nominated to it.
fn room(simulation: &Simulation, pod: &Pod) -> Result<Option<String>, Violation> {
    let Some(profile) = simulation.setup.profile(&pod.spec.scheduler_name) else {
        return Ok(None);
    };
    // A pod that the twin cannot judge is in backoff, not parked.
    let Ok(names) = simulation.shadow.fitting(pod, profile, None) else {
        return Ok(None);
    };
    let nominated = nominated(simulation, pod);
    let judged = Judged {
        pod,
        profile,
        record: &DecisionRecord::default(),
        nominated: &nominated,
    };
    for name in names {
        if fits_beside(&simulation.shadow, &judged, &name)? == Some(true) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
