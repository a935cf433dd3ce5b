//! Volumes in the loop: their objects coming and going, and what placed pods promise to their claims.
//!
//! Mirrors Reserve, Unreserve and PreBind of `plugins/volumebinding/volume_binding.go`. The calls to
//! the API server are the caller's: it makes those of [`Scheduler::volume_actions`], applies the
//! changes that it hears of, and asks [`Scheduler::volumes_bound`] until they are, or fail.

use super::change::{End, News};
use super::{ApplyError, Change, Scheduler};
use crate::cluster::PodRow;
use crate::decision::AttemptError;
use crate::id::{NodeId, PodId, ProfileId};
use crate::intern::{Word, word_text};
use crate::object::Object;
use crate::planted::{self, Bug};
use crate::plugins::volume_binding;
use crate::queue::Place;
use crate::queue::event::{Resource, VolumeSide, action};
use crate::volume::{Progress, VolumeKind};

/// A call to the API server that a placed pod needs before it is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeAction<'a> {
    /// Sets `spec.claimRef` of the volume to the claim, and the annotation
    /// `pv.kubernetes.io/bound-by-controller: "yes"`; a plain update with the version last seen.
    BindVolume {
        volume: &'a str,
        namespace: &'a str,
        claim: &'a str,
    },
    /// Sets the claim's annotation `volume.kubernetes.io/selected-node` to the node, so that a volume
    /// is provisioned for it there; a plain update with the version last seen.
    SelectNode {
        namespace: &'a str,
        claim: &'a str,
        node: &'a str,
    },
}

/// How far the volumes of a placed pod are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumesBound {
    /// All claims are bound, or none had to be.
    Yes,
    /// Ask again when objects have changed, or a second has passed.
    NotYet,
    /// They will not be: the caller says [`BindOutcome::Failed`](super::BindOutcome::Failed).
    Failed,
    /// The profile's `bindTimeoutSeconds` are over: as failed.
    TimedOut,
}

impl Scheduler {
    pub(super) fn apply_volume(
        &mut self,
        change: Change,
        kind: VolumeKind,
        object: &Object,
    ) -> Result<(), ApplyError> {
        let metadata = object.metadata();
        let (namespace, name) = (metadata.namespace.as_str(), metadata.name.as_str());
        match (change, self.cluster.has_volume(kind, namespace, name)) {
            (Change::Added, true) => return Err(ApplyError::AlreadyExists),
            (Change::Modified | Change::Deleted, false) => return Err(ApplyError::NotFound),
            _ => {}
        }
        self.queue.check_room(VolumeSide::WORDS)?;
        if change == Change::Deleted {
            // The texts are still held for the event.
            self.tell_volume(change, kind, self.volume_side(object, 0));
            return self.cluster.remove_volume(kind, namespace, name);
        }
        let changes = self.cluster.set_volume(kind, object)?;
        self.tell_volume(change, kind, self.volume_side(object, changes));
        Ok(())
    }

    fn volume_side(&self, object: &Object, changes: u32) -> VolumeSide {
        let metadata = object.metadata();
        // An attachment is heard by the driver that made it.
        let name = match object {
            Object::VolumeAttachment(attachment) => &attachment.spec.attacher,
            _ => &metadata.name,
        };
        let texts = &self.cluster.texts;
        let word = |text: &str| crate::selector::word_of(texts, text).unwrap_or(0);
        VolumeSide {
            namespace: word(&metadata.namespace),
            name: word(name),
            changes,
        }
    }

    /// Waiting pods hear of a change.
    pub(super) fn tell_volume(&mut self, change: Change, kind: VolumeKind, side: VolumeSide) {
        if self.queue.ignores_events() {
            return;
        }
        let action = match change {
            Change::Added => action::ADD,
            Change::Modified => action::UPDATE,
            Change::Deleted => action::DELETE,
        };
        let [_, new] = &mut self.sides;
        new.fill_volume(&mut self.cluster.texts, side);
        let resource = Resource::Volume(kind);
        self.tell(News::new(resource, action, End::None, End::Volume));
        let [_, new] = &mut self.sides;
        new.clear(&mut self.cluster.texts);
    }

    /// Counts a pod on the node that was chosen for it, and reserves the volumes that it gets there;
    /// whether any has to be bound. On failure the pod is pending, and nothing is reserved.
    pub(super) fn assume_chosen(&mut self, pod: PodId, node: NodeId) -> Result<bool, AttemptError> {
        let assumed = self.cluster.assume(pod, node.0);
        assumed.map_err(AttemptError::Capacity)?;
        let reserved = self.reserve_volumes(pod, node);
        reserved.inspect_err(|_| self.cluster.forget(pod))
    }

    fn reserve_volumes(&mut self, pod: PodId, node: NodeId) -> Result<bool, AttemptError> {
        if self.scratch.volumes.delayed.is_empty() {
            return Ok(false);
        }
        let profile = self.profile_of(pod);
        let Some(plan) = profile.and_then(|profile| self.plans.get(profile)) else {
            return Ok(false);
        };
        if !plan.reserves_volumes {
            return Ok(false);
        }
        // The slot is not read: what the volumes need was found at PreFilter.
        let listed = profile.and_then(|profile| {
            self.look(pod, profile, 0, |attempt, scratch| {
                volume_binding::list_reservations(attempt, &mut scratch.volumes, node.0)
            })
        });
        listed.unwrap_or(Ok(()))?;
        let cluster = &mut self.cluster;
        let name = cluster.name_of(node.0);
        let reservations = &self.scratch.volumes.reservations;
        let (writer, texts) = (&mut cluster.writer, &mut cluster.texts);
        cluster
            .volumes
            .reserve(pod, name, reservations, writer, texts)
            .map_err(AttemptError::Capacity)?;
        Ok(!reservations.is_empty())
    }

    /// The pod was seen on a node. Who placed it elsewhere, or before its volumes were there, did so
    /// without us: what we promised its claims is taken back.
    pub(super) fn end_promises(&mut self, pod: PodId, old: &PodRow, new: &PodRow, place: Place) {
        let volumes = &mut self.cluster.volumes;
        let is_ours = old.row == new.row && !matches!(place, Place::Permit | Place::PreBind);
        if is_ours {
            volumes.bound(pod, &mut self.cluster.texts);
        } else {
            volumes.unreserve(pod, &mut self.cluster.texts);
        }
    }

    fn profile_of(&self, pod: PodId) -> Option<usize> {
        let row = self.row(pod)?;
        let profile = self.cluster.class(row.class).class.profile;
        profile.map(ProfileId::index)
    }

    /// The pod leaves the cycle for its binding; the time for its volumes begins to run.
    pub(super) fn begin_binding(&mut self, pod: PodId, has_pre_bind: bool) {
        let profile = self.profile_of(pod);
        let plan = profile.and_then(|profile| self.plans.get(profile));
        let timeout = plan.map_or(0, |plan| plan.volume_timeout);
        let now = self.queue.now;
        if let Some(item) = self.queue.item_mut(pod) {
            item.deadline = now.saturating_add(timeout);
        }
        let next = if has_pre_bind {
            Place::PreBind
        } else {
            Place::Bind
        };
        self.finish(pod, next);
    }

    /// The calls that a pod that was just placed needs for its volumes, in their order: first all
    /// volumes, then all claims. The first one that fails ends them, and the binding.
    pub fn volume_actions(&self, pod: PodId) -> impl Iterator<Item = VolumeAction<'_>> {
        let cluster = &self.cluster;
        let text = |word: Word| word_text(word).map_or("", |text| cluster.texts.text(text));
        cluster.volumes.bindings_of(pod).map(move |binding| {
            let [namespace, claim] = binding.claim.map(text);
            if binding.volume == 0 {
                VolumeAction::SelectNode {
                    namespace,
                    claim,
                    node: text(binding.node),
                }
            } else {
                VolumeAction::BindVolume {
                    volume: text(binding.volume),
                    namespace,
                    claim,
                }
            }
        })
    }

    /// How far the volumes of a placed pod are, by the objects that were applied.
    ///
    /// A pod that is not placed any more has none to wait for. Mirrors `checkBindings`.
    pub fn volumes_bound(&self, pod: PodId, now: u64) -> VolumesBound {
        let cluster = &self.cluster;
        let Some(first) = cluster.volumes.bindings_of(pod).next() else {
            return VolumesBound::Yes;
        };
        let Some(row) = cluster.row_of_word(first.node) else {
            return VolumesBound::Failed;
        };
        let labels = cluster.labels_of(row);
        let item = self.queue.item(pod);
        match cluster.volumes.progress(pod, labels, &cluster.texts) {
            Progress::Bound => VolumesBound::Yes,
            Progress::Failed => VolumesBound::Failed,
            Progress::Waits
                if item.place == Place::PreBind
                    && now >= item.deadline
                    && !planted::is(Bug::VolumesForEver) =>
            {
                VolumesBound::TimedOut
            }
            Progress::Waits => VolumesBound::NotYet,
        }
    }
}
