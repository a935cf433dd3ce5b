//! What the scheduler should make of a change that it was told.

use super::Simulation;
use crate::expected::{Expected, Place, as_pod, is_same, key_of};
use crate::fault::Fault;
use crate::server::{Id, Key, id_of};
use crate::violation::{Check, Violation};
use berth_core::object::{Object, Pod};
use berth_core::{ApplyError, Change, PluginSet};

/// Kinds whose every change is an event.
const STORAGE: [&str; 7] = [
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "VolumeAttachment",
];

impl Simulation {
    /// Tells the scheduler a change, and notes what should come of it. What is refused for want of
    /// room is told again later.
    pub(crate) fn apply(&mut self, change: Change, object: &Object) -> Check {
        let id = id_of(object);
        self.say(|_| format!("  {change:?} {object:?}"));
        match self.engine.apply(change, object) {
            Ok(()) => {}
            Err(ApplyError::Capacity(_)) => {
                self.counts.count(Fault::CapacityFull);
                self.client.refused.insert(id);
                self.suspicious = true;
                return Ok(());
            }
            Err(error) => {
                return Err(Violation {
                    what: "apply",
                    found: format!("{change:?} {id:?}: {error}"),
                });
            }
        }
        self.client.refused.remove(&id);
        let is_gone =
            change == Change::Deleted || as_pod(object).is_some_and(|pod| pod.status.is_finished());
        let old = self.client.told.remove(&id);
        let new = (!is_gone).then_some(object);
        if let Some(new) = new {
            self.client.told.insert(id.clone(), new.clone());
        }
        self.note(&id, old.as_ref(), new);
        Ok(())
    }

    fn note(&mut self, id: &Id, old: Option<&Object>, new: Option<&Object>) {
        self.excuse(old, new);
        if id.0 == "Pod" {
            let (before, after) = (old.and_then(as_pod), new.and_then(as_pod));
            match (old, new) {
                (Some(old), Some(new)) if !is_same(old, new) => {
                    self.note_pod(before, None);
                    self.note_pod(None, after);
                }
                _ => self.note_pod(before, after),
            }
            return;
        }
        match (old, new) {
            (_, Some(new)) => {
                let change = if old.is_some() {
                    Change::Modified
                } else {
                    Change::Added
                };
                self.shadow.apply(change, new);
            }
            (Some(old), None) => self.shadow.apply(Change::Deleted, old),
            (None, None) => {}
        }
        if STORAGE.contains(&id.0) {
            self.hear(None);
        }
        if id.0 == "Node" && old.is_some() != new.is_some() {
            self.hear(None);
            let mut pods = self.pods.values();
            if pods.any(|pod| pod.node.as_ref() == Some(&id.2)) {
                self.returned.insert(id.2.clone());
            } else {
                self.returned.remove(&id.2);
            }
        }
    }

    fn note_pod(&mut self, old: Option<&Pod>, new: Option<&Pod>) {
        let Some(key) = old.or(new).map(key_of) else {
            return;
        };
        let Some(new) = new else {
            self.shadow.remove_pod(&key.0, &key.1);
            self.unreserve(&key);
            let gone = self.pods.remove(&key);
            if gone.is_some_and(|pod| pod.is_assumed() || pod.place == Place::Bound) {
                self.hear(None);
            }
            return;
        };
        let now = self.engine.now();
        let is_ours = self.setup.profile(&new.spec.scheduler_name).is_some();
        let mut news = false;
        let before = self.pods.get(&key).map(|pod| (pod.place, pod.node.clone()));
        let pod = self.pods.entry(key.clone()).or_insert_with(|| {
            news = !new.spec.node_name.is_empty();
            Expected::new(new, is_ours, now)
        });
        if let Some(old) = old {
            news = updated(pod, old, new, now);
        }
        pod.priority = new.spec.priority.unwrap_or(0);
        new.status
            .nominated_node_name
            .clone_into(&mut pod.status_nomination);
        let node = pod.node.clone();
        self.shadow.remove_pod(&key.0, &key.1);
        if let Some(node) = node {
            self.shadow.assume(new, &node);
        }
        if let (Some(old), Some((place, node))) = (old, before) {
            self.note_promises(&key, place, node.as_deref(), old, new);
        }
        if news {
            self.hear(Some(&key));
        }
    }

    /// What becomes of promises when their pod is seen on a node, or begins to go.
    fn note_promises(&mut self, key: &Key, place: Place, node: Option<&str>, old: &Pod, new: &Pod) {
        let name = new.spec.node_name.as_str();
        let (begins_to_go, waits) = (
            old.metadata.deletion_timestamp.is_none() && new.metadata.deletion_timestamp.is_some(),
            matches!(place, Place::Permit { .. } | Place::PreBind),
        );
        // Its volumes are not there yet, or it has gone elsewhere: who bound it did so without us.
        let is_foreign = !name.is_empty() && (waits || node != Some(name));
        if is_foreign || name.is_empty() && begins_to_go {
            self.unreserve(key);
        } else if !name.is_empty() {
            self.shadow.end_promises(key);
        }
    }
}

/// The same pod changed; whether others hear that room was taken or freed.
fn updated(pod: &mut Expected, old: &Pod, new: &Pod, now: u64) -> bool {
    let (old_meta, new_meta) = (&old.metadata, &new.metadata);
    let begins_to_go =
        old_meta.deletion_timestamp.is_none() && new_meta.deletion_timestamp.is_some();
    if !new.spec.node_name.is_empty() {
        let news = pod.place != Place::Bound;
        pod.node = Some(new.spec.node_name.clone());
        if news {
            pod.place = Place::Bound;
            pod.nomination.clear();
        }
        return news;
    }
    let status = &new.status.nominated_node_name;
    match pod.place {
        Place::Permit { .. } if begins_to_go => {
            pod.fail(PluginSet::EXTERNAL, now);
            pod.nomination.clear();
            true
        }
        Place::PreBind | Place::Binding if begins_to_go => {
            pod.node = None;
            true
        }
        Place::Dropped => {
            pod.renew(now);
            pod.nomination.clone_from(status);
            false
        }
        Place::Queued => {
            // A nomination whose patch has not come back yet stays in force.
            if !(pod.status_nomination.is_empty() && status.is_empty()) {
                pod.nomination.clone_from(status);
            }
            false
        }
        _ => false,
    }
}
