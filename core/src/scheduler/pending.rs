//! What waits, and where.

use super::Scheduler;
use crate::id::{NodeId, PodId};
use crate::intern::word_text;
use crate::queue::{Place, PluginSet, QueueCounts};

/// A part of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueuePart {
    /// Ready to be tried.
    Active,
    /// Failed not long ago.
    Backoff,
    /// Waits for an event.
    Unschedulable,
    /// Held at PreEnqueue.
    Gated,
    /// Waits at Permit, with its place kept.
    Permit,
    /// Placed, and not yet known to be bound.
    Binding,
}

impl Scheduler {
    /// How many pods each part of the queue holds.
    pub fn queue_counts(&self) -> QueueCounts {
        self.queue.counts()
    }

    /// Part of the queue, the two halves of an event's name, and the number of pods that the event brought
    /// into the part since the scheduler was made. Both are as in upstream's
    /// `scheduler_queue_incoming_pods_total`; what has not happened is left out.
    pub fn queue_incoming(
        &self,
    ) -> impl Iterator<Item = (&'static str, [&'static str; 2], u64)> + '_ {
        self.queue.incoming.counts()
    }

    /// The part that a pod is in; `None` if in none: bound, not ours, or dropped.
    pub fn queue_part(&self, pod: PodId) -> Option<QueuePart> {
        let item = self.queue.item(pod);
        Some(match item.place {
            Place::Active => QueuePart::Active,
            Place::Backoff | Place::Errors => QueuePart::Backoff,
            Place::Waiting if item.gating.is_some() => QueuePart::Gated,
            Place::Waiting => QueuePart::Unschedulable,
            Place::Permit => QueuePart::Permit,
            Place::PreBind | Place::Bind | Place::Unknown => QueuePart::Binding,
            Place::InFlight | Place::Nowhere => return None,
        })
    }

    /// Plugins whose verdict keeps a pod waiting; an event that may lift one of them wakes it.
    pub fn rejected_by(&self, pod: PodId) -> PluginSet {
        let item = self.queue.item(pod);
        item.rejectors.union(item.pending)
    }

    /// How often a pod was tried.
    pub fn attempts(&self, pod: PodId) -> u32 {
        self.queue.item(pod).attempts
    }

    /// The node that a pod is nominated to in memory, if the node is there.
    pub fn nominated_node(&self, pod: PodId) -> Option<NodeId> {
        let row = self.cluster.row_of_word(self.queue.item(pod).nomination)?;
        Some(NodeId(row))
    }

    /// The node that a pod's status names as nominated, whether or not it is there; empty for none.
    pub fn status_nomination(&self, pod: PodId) -> &str {
        let word = self.queue.item(pod).status_nomination;
        word_text(word).map_or("", |text| self.cluster.texts.text(text))
    }

    /// Pods that could be tried now or whose backoff can be cut short: [`schedule_one`] gives one.
    ///
    /// [`schedule_one`]: Self::schedule_one
    pub fn has_ready(&self) -> bool {
        let [active, backoff, _] = self.queue.heaps();
        !active.is_empty() || !backoff.is_empty()
    }

    /// The latest time that the scheduler was told, in nanoseconds since 1970.
    pub const fn now(&self) -> u64 {
        self.queue.now
    }
}
