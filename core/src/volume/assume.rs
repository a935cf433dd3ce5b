//! What a placed pod promises to its claims and volumes before the API server knows.
//!
//! Mirrors `AssumePodVolumes`, `RevertAssumedPodVolumes` and `checkBindings` of
//! `plugins/volumebinding/binder.go`. The calls to the API server are the caller's.

use super::{VolumeKind, Volumes};
use crate::capacity::CapacityExceeded;
use crate::cluster::object_table::Key;
use crate::id::PodId;
use crate::intern::{Texts, Word, Writer, release_texts, retain_texts};
use crate::planted::{self, Bug};
use crate::selector::LabelsView;

/// A claim that a pod in flight waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Binding {
    pub(crate) pod: PodId,
    /// Namespace and name.
    pub(crate) claim: [Word; 2],
    /// Name of the volume that the claim gets; 0: one is provisioned.
    pub(crate) volume: Word,
    /// Name of the pod's node.
    pub(crate) node: Word,
}

/// What is to be reserved for one claim of a pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reservation {
    /// Namespace and name of the claim.
    pub(crate) claim: [Word; 2],
    /// Name of the volume that it gets; 0: one is provisioned.
    pub(crate) volume: Word,
}

/// How far the bindings of a pod are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Bound,
    Waits,
    /// They will not come about.
    Failed,
}

impl Volumes {
    /// Refuses if so many further claims could not be waited for.
    pub(crate) fn check_bindings(&self, wanted: usize) -> Result<(), CapacityExceeded> {
        let limit = self.bindings.capacity();
        if wanted > limit.saturating_sub(self.bindings.len()) {
            return Err(CapacityExceeded {
                which: "volume_bindings",
                limit: limit as u64,
            });
        }
        Ok(())
    }

    /// Reserves for a pod. On failure nothing is reserved.
    pub(crate) fn reserve(
        &mut self,
        pod: PodId,
        node: Word,
        reservations: &[Reservation],
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        for reservation in reservations {
            if let Err(full) = self.reserve_one(pod, node, *reservation, writer, texts) {
                writer.clear(texts);
                self.unreserve(pod, texts);
                return Err(full);
            }
        }
        Ok(())
    }

    fn reserve_one(
        &mut self,
        pod: PodId,
        node: Word,
        reservation: Reservation,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        let Reservation { claim, volume } = reservation;
        let [namespace, name] = claim;
        if self.bindings.len() >= self.bindings.capacity() {
            return Err(CapacityExceeded {
                which: "volume_bindings",
                limit: self.bindings.len() as u64,
            });
        }
        if volume == 0 {
            writer.copy(texts, &[node])?;
            let key = [VolumeKind::Claim as Word, namespace, name];
            self.assumed.set_at(key, writer, texts)?;
        } else {
            let uid = self.claim(namespace, name).map_or(0, |claim| claim.uid);
            let wanted = [namespace, name, uid];
            let key = [VolumeKind::Volume as Word, 0, volume];
            let place = self.table.find(key);
            let there = place.and_then(|place| self.claim_of(place, &self.volume_at(place)?));
            if there != Some(wanted) {
                writer.copy(texts, &wanted)?;
                self.assumed.set_at(key, writer, texts)?;
            }
        }
        let binding = Binding {
            pod,
            claim,
            volume,
            node,
        };
        retain_texts(&binding.words(), texts);
        self.bindings.push(binding);
        Ok(())
    }

    /// Takes back what was reserved for a pod, where the object has not changed since.
    pub(crate) fn unreserve(&mut self, pod: PodId, texts: &mut Texts) {
        self.end(pod, texts, |volumes, binding, texts| {
            if !planted::is(Bug::PromiseKept) {
                volumes.assumed.remove(binding.key(), texts);
            }
        });
    }

    /// Forgets that a pod waits for its claims; what was assumed stays until the objects change.
    pub(crate) fn bound(&mut self, pod: PodId, texts: &mut Texts) {
        self.end(pod, texts, |_, _, _| ());
    }

    fn end(&mut self, pod: PodId, texts: &mut Texts, end: impl Fn(&mut Self, Binding, &mut Texts)) {
        let mut at = 0_usize;
        while let Some(binding) = self.bindings.get(at).copied() {
            if binding.pod != pod {
                at = at.saturating_add(1);
                continue;
            }
            self.bindings.remove(at);
            end(self, binding, texts);
            release_texts(&binding.words(), texts);
        }
    }

    /// Claims that a pod waits for, in the order of the calls: volumes first.
    pub(crate) fn bindings_of(&self, pod: PodId) -> impl Iterator<Item = Binding> {
        let bindings = self.bindings.iter().copied();
        bindings.filter(move |binding| binding.pod == pod)
    }

    /// How far the bindings of a pod are on a node of these labels.
    pub(crate) fn progress(&self, pod: PodId, labels: LabelsView<'_>, texts: &Texts) -> Progress {
        for binding in self.bindings_of(pod) {
            match self.progress_of(binding, labels, texts) {
                Progress::Bound => {}
                other => return other,
            }
        }
        Progress::Bound
    }

    fn progress_of(&self, binding: Binding, labels: LabelsView<'_>, texts: &Texts) -> Progress {
        let [namespace, name] = binding.claim;
        let Some(claim) = self.claim(namespace, name) else {
            return Progress::Failed;
        };
        if binding.volume != 0 && self.find_volume(binding.volume).is_none() {
            return Progress::Failed;
        }
        // What was written has not come back yet.
        if self.assumed(binding.key()).is_some() {
            return Progress::Waits;
        }
        let csi_node = self.csi_node(binding.node);
        let is_reachable = |name: Word| {
            self.volume(name).map(|volume| {
                let migrated = volume
                    .plugin
                    .is_some_and(|plugin| csi_node.is_some_and(|node| node.is_migrated(plugin)));
                let fails = migrated && volume.is_untranslatable();
                !fails && volume.is_reachable(labels, migrated, texts)
            })
        };
        if binding.volume == 0 {
            let is_reset = claim.selected_node() != Some(binding.node);
            if is_reset && !planted::is(Bug::SelectionIgnored) {
                return Progress::Failed;
            }
            match is_reachable(claim.volume) {
                Some(true) => {}
                Some(false) => return Progress::Failed,
                // Not there yet, if there is one at all.
                None => return Progress::Waits,
            }
        } else {
            let volume = self.volume(binding.volume);
            let has_claim = volume.and_then(|volume| volume.claim());
            let is_kept = has_claim.is_some_and(|[_, _, uid]| uid != 0 || claim.uid == 0);
            if is_reachable(binding.volume) != Some(true) || !is_kept {
                return Progress::Failed;
            }
        }
        if claim.is_bound() {
            Progress::Bound
        } else {
            Progress::Waits
        }
    }
}

impl Binding {
    pub(super) const fn words(&self) -> [Word; 4] {
        let [namespace, name] = self.claim;
        [namespace, name, self.volume, self.node]
    }

    /// The object whose assumption it is.
    const fn key(&self) -> Key {
        let [namespace, name] = self.claim;
        if self.volume == 0 {
            [VolumeKind::Claim as Word, namespace, name]
        } else {
            [VolumeKind::Volume as Word, 0, self.volume]
        }
    }
}
