//! Hints on volumes, claims and the kinds of storage, and on pods that used them.
//!
//! A claim or an object of storage stands in the event with what of its change matters to any pod.

use super::Target;
use crate::class::Section;
use crate::plugins::volume_restrictions;
use crate::queue::event::{Event, Resource, VolumeSide, action};
use crate::selector::word_of;
use crate::volume::VolumeKind;
use crate::volume::change;
use crate::volume::item::{self, Item};

impl<'a> Target<'a> {
    fn volumes(&self) -> impl Iterator<Item = Item<'a>> {
        item::volumes(self.class.section(Section::Volumes))
    }

    /// Whether the pods name the claim; `any`: also as that of an ephemeral volume.
    fn names(&self, claim: VolumeSide, any: bool) -> bool {
        let mut claims = item::claims(self.class.section(Section::Volumes));
        claims.any(|own| {
            (own.namespace, own.name) == (claim.namespace, claim.name)
                && (any || own.owner.is_none())
        })
    }
}

/// A pod left whose disk or claim the waiting one wants; any new node; a claim of the pod came.
/// Mirrors VolumeRestrictions.
pub(super) fn restrictions(target: Target<'_>, event: &Event<'_>) -> bool {
    match event.resource {
        Resource::AssignedPod => event.pods().0.is_some_and(|old| {
            let old = target.class_of(old);
            old.class.namespace == target.class.class.namespace
                && volume_restrictions::meets(target.class, old)
        }),
        Resource::Volume(_) => event.volume().is_some_and(|own| target.names(own, false)),
        _ => true,
    }
}

/// A node takes more volumes, or has fewer: a pod with volumes left, or one was detached; a claim of
/// the pod came. Mirrors NodeVolumeLimits.
pub(super) fn limits(target: Target<'_>, event: &Event<'_>) -> bool {
    let volume = event.volume();
    match event.resource {
        Resource::AssignedPod => event.pods().0.is_some_and(|old| {
            let volumes = target.class_of(old).section(Section::Volumes);
            let counts = |item| matches!(item, Item::Claim(_) | Item::Disk { .. });
            old.is_placed && item::volumes(volumes).any(counts)
        }),
        Resource::Volume(VolumeKind::Claim) => volume.is_some_and(|own| target.names(own, true)),
        Resource::Volume(VolumeKind::Attachment) => volume.is_some_and(|own| {
            target.volumes().any(|item| match item {
                Item::Claim(claim) => claim.owner.is_none(),
                Item::Disk { plugin, .. } => {
                    word_of(&target.cluster.texts, plugin.driver()) == Some(own.name)
                }
                _ => false,
            })
        }),
        _ => event.action == action::ADD || has(volume, change::GREW),
    }
}

/// Anything that may let claims be bound. Mirrors VolumeBinding.
pub(super) fn binding(target: Target<'_>, event: &Event<'_>) -> bool {
    let Resource::Volume(kind) = event.resource else {
        return true;
    };
    let volume = event.volume();
    let is_new = event.action == action::ADD;
    match kind {
        VolumeKind::Claim => volume.is_some_and(|own| target.names(own, true)),
        VolumeKind::Class => is_new || has(volume, change::TOPOLOGIES),
        VolumeKind::CsiNode => is_new || has(volume, change::MIGRATION),
        VolumeKind::Capacity => is_new || has(volume, change::GREW),
        VolumeKind::CsiDriver => {
            let driver = volume.map(|own| own.name);
            let mut volumes = target.volumes();
            has(volume, change::UNCOUNTED)
                && volumes
                    .any(|item| matches!(item, Item::Csi { driver: own } if Some(own) == driver))
        }
        VolumeKind::Volume | VolumeKind::Attachment => true,
    }
}

/// A class whose volumes wait, a claim of the pod, a volume that is new or elsewhere, a node. Mirrors
/// VolumeZone.
pub(super) fn zone(target: Target<'_>, event: &Event<'_>) -> bool {
    let Resource::Volume(kind) = event.resource else {
        return true;
    };
    let volume = event.volume();
    match kind {
        VolumeKind::Claim => volume.is_some_and(|own| target.names(own, false)),
        VolumeKind::Class => has(volume, change::WAITS),
        _ => event.action == action::ADD || has(volume, change::ZONES),
    }
}

fn has(volume: Option<VolumeSide>, change: u32) -> bool {
    volume.is_some_and(|volume| volume.changes & change != 0)
}
