//! How many pods came into each part of the queue, and by what.
//!
//! Mirrors `recordIncomingEntitiesMetrics` of `backend/queue/scheduling_queue.go`.

use super::event::{Event, Resource, action};
use crate::table::{Count, Table};
use crate::volume::VolumeKind;

/// What brings a pod into a part of the queue, other than a change of an object; by its place in
/// [`CAUSES`].
#[derive(Clone, Copy)]
pub(crate) enum Cause {
    Added,
    AttemptFailed,
    BackoffOver,
    TakenFromBackoff,
    Activated,
    WaitedLongest,
}

const CAUSES: [&str; 6] = [
    "UnscheduledPodAdd",
    "ScheduleAttemptFailure",
    "BackoffComplete",
    "PopFromBackoffQ",
    "ForceActivate",
    "UnschedulableTimeout",
];

/// What changes, and how; together they are upstream's label of the event.
const RESOURCES: [(Resource, &str); 10] = [
    (Resource::AssignedPod, "AssignedPod"),
    (Resource::TargetPod, "TargetPod"),
    (Resource::Node, "Node"),
    (Resource::Volume(VolumeKind::Volume), "PersistentVolume"),
    (Resource::Volume(VolumeKind::Claim), "PersistentVolumeClaim"),
    (
        Resource::Volume(VolumeKind::Class),
        "storage.k8s.io/StorageClass",
    ),
    (
        Resource::Volume(VolumeKind::CsiNode),
        "storage.k8s.io/CSINode",
    ),
    (
        Resource::Volume(VolumeKind::CsiDriver),
        "storage.k8s.io/CSIDriver",
    ),
    (
        Resource::Volume(VolumeKind::Capacity),
        "storage.k8s.io/CSIStorageCapacity",
    ),
    (
        Resource::Volume(VolumeKind::Attachment),
        "storage.k8s.io/VolumeAttachment",
    ),
];

const ACTIONS: [(u16, &str); 12] = [
    (action::ADD, "Add"),
    (action::DELETE, "Delete"),
    (action::NODE_ALLOCATABLE, "UpdateNodeAllocatable"),
    (action::NODE_LABEL, "UpdateNodeLabel"),
    (action::NODE_TAINT, "UpdateNodeTaint"),
    (action::NODE_DECLARED_FEATURE, "UpdateNodeDeclaredFeature"),
    (action::POD_LABEL, "UpdatePodLabel"),
    (action::POD_SCALE_DOWN, "UpdatePodScaleDown"),
    (action::POD_SCALE_UP, "UpdatePodScaleUp"),
    (action::POD_TOLERATION, "UpdatePodToleration"),
    (
        action::POD_GATES_ELIMINATED,
        "UpdatePodSchedulingGatesEliminated",
    ),
    (action::UPDATE, "Update"),
];

/// Labels of the parts.
const PARTS: [&str; 3] = ["active", "backoff", "unschedulable"];

/// Causes and all changes.
const COUNTS: usize = CAUSES.len() + RESOURCES.len() * ACTIONS.len();

/// A part of the queue.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Active,
    Backoff,
    Unschedulable,
}

/// Pods by part and cause.
#[derive(Clone)]
pub(crate) struct Incoming {
    /// What moves pods now, by its place among the counts.
    cause: usize,
    counts: [[u64; COUNTS]; PARTS.len()],
}

impl Incoming {
    pub(crate) const fn new() -> Self {
        Self {
            cause: 0,
            counts: [[0; COUNTS]; PARTS.len()],
        }
    }

    /// What follows is because of this.
    pub(crate) const fn because(&mut self, cause: Cause) {
        self.cause = cause as usize;
    }

    /// What follows is because of a change.
    pub(crate) fn because_of(&mut self, event: &Event<'_>) {
        let resource = RESOURCES.iter().position(|(own, _)| *own == event.resource);
        let action = ACTIONS.iter().position(|(own, _)| *own == event.action);
        // What is about everything comes from an activation.
        let cause = resource.zip(action).map(|(resource, action)| {
            let before = resource.saturating_mul(ACTIONS.len());
            before.saturating_add(action).saturating_add(CAUSES.len())
        });
        self.cause = cause.unwrap_or(Cause::Activated as usize);
    }

    /// A pod comes into a part.
    pub(crate) fn count(&mut self, part: Part) {
        let counts = self.counts.at_mut(part as usize);
        let count = counts.and_then(|counts| counts.at_mut(self.cause));
        count.into_iter().for_each(Count::count_up);
    }

    /// Part, both halves of the cause's label, and pods, of every count above 0.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, [&'static str; 2], u64)> {
        let labels = || {
            let causes = CAUSES.into_iter().map(|cause| ["", cause]);
            let changes = RESOURCES.into_iter().flat_map(|(_, resource)| {
                let actions = ACTIONS.into_iter();
                actions.map(move |(_, action)| [resource, action])
            });
            causes.chain(changes)
        };
        let parts = PARTS.into_iter().zip(&self.counts);
        let all = parts.flat_map(move |(part, counts)| {
            let rows = labels().zip(counts);
            rows.map(move |(label, count)| (part, label, *count))
        });
        all.filter(|(.., count)| *count > 0)
    }
}
