//! What the queue knows of one pod.

use super::plugin_set::PluginSet;
use crate::id::ClassId;
use crate::intern::Word;
use crate::planted::{self, Bug};
use crate::plugins::{Plugin, priority_sort};

/// No pod, no group.
pub(super) const NONE: u32 = u32::MAX;

/// Where a pod is. One arrow is one verb of the scheduler or one event.
///
/// ```text
///                        +------------- event, 5 minutes -----------+
///                        v                                          |
/// (added) ---------> Active <---(1 s timer)--- Backoff, Errors      |
///    |  PreEnqueue      |                        ^                  |
///    v                  | schedule_one           | event,           |
/// Waiting (gated) ------+--- (event) ------------+ own update       |
///                       v                        |                  |
///                   InFlight ---(rejected)-------+--------> Waiting +
///                    |     |  (error: Errors)
///      Permit: wait  |     | chosen, assumed, reserved, permitted
///                    v     v
///               Permit -> PreBind -> Bind --(bound: seen with its node)--> Nowhere
///                    \       |        |  \--(outcome unknown)--> Unknown --> either end
///                     +------+--------+---> forgotten, back as a failure
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Place {
    /// In no part of the queue: bound, dropped, or no pod at all.
    #[default]
    Nowhere,
    /// Ready to be tried.
    Active,
    /// Failed with a rejector, and its backoff is not over.
    Backoff,
    /// The same without a rejector: never tried early.
    Errors,
    /// Waits for an event; also gated pods.
    Waiting,
    /// Being decided on.
    InFlight,
    /// Assumed; Permit has not allowed it yet. Its events are still kept.
    Permit,
    /// Assumed and permitted; work before binding is under way and can still be cancelled.
    PreBind,
    /// Its binding is under way.
    Bind,
    /// Its binding may or may not have been written.
    Unknown,
}

/// What the queue knows of one pod.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Item {
    pub(crate) place: Place,
    pub(crate) priority: i32,
    /// Time of the last entry by creation or failure; moves between parts keep it.
    pub(crate) timestamp: u64,
    /// How often it was popped.
    pub(crate) attempts: u32,
    /// Failures with a rejector.
    pub(crate) rejections: u32,
    /// Failures without one since the last with one.
    pub(crate) errors: u32,
    /// When the backoff ends; 0: it has none.
    pub(crate) expiry: u64,
    /// When it first came to the active part; 0: not yet.
    pub(crate) first_active: u64,
    /// When the 5-minute flush last moved it; 0: not since its last failure.
    pub(crate) flushed: u64,
    /// Plugins whose verdict an event may lift.
    pub(crate) rejectors: PluginSet,
    /// Plugins that said `Pending`: their event wakes the pod at once.
    pub(crate) pending: PluginSet,
    /// The plugin that holds the pod at PreEnqueue.
    pub(crate) gating: Option<Plugin>,
    /// Class and pin as of the entry among the waiting ones.
    pub(super) class: ClassId,
    pub(super) pin: Word,
    /// Group among the waiting ones.
    pub(super) group: u32,
    /// Neighbours among the waiting ones of the group, or in flight.
    pub(super) next: u32,
    pub(super) previous: u32,
    /// Place in its heap.
    pub(super) position: u32,
    /// Number of the first event after it was popped.
    pub(super) since: u64,
    /// `status.nominatedNodeName`; 0: none.
    pub(crate) status_nomination: Word,
    /// Name of the node that it is nominated to in memory; 0: none.
    pub(crate) nomination: Word,
    pub(super) nominated_next: u32,
    pub(super) nominated_previous: u32,
    /// `status.startTime`, in nanoseconds since 1970.
    pub(crate) start: Option<i64>,
    /// `spec.preemptionPolicy` is `Never`.
    pub(crate) never_preempts: bool,
    /// Its first condition `DisruptionTarget` says that a scheduler preempts it.
    pub(crate) is_preempted: bool,
    /// It is being deleted.
    pub(crate) is_terminating: bool,
    /// How many pods this row has held.
    pub(super) generation: u32,
    /// The last pod whose eviction it waits for, and that row's generation.
    pub(super) last_victim: (u32, u32),
    /// Work has to be done before its binding.
    pub(crate) has_pre_bind: bool,
    /// When Permit stops waiting for it.
    pub(crate) deadline: u64,
}

impl Item {
    pub(super) const VACANT: Self = Self {
        place: Place::Nowhere,
        priority: 0,
        timestamp: 0,
        attempts: 0,
        rejections: 0,
        errors: 0,
        expiry: 0,
        first_active: 0,
        flushed: 0,
        rejectors: PluginSet::EMPTY,
        pending: PluginSet::EMPTY,
        gating: None,
        class: ClassId(NONE),
        pin: 0,
        group: NONE,
        next: NONE,
        previous: NONE,
        position: 0,
        since: 0,
        status_nomination: 0,
        nomination: 0,
        nominated_next: NONE,
        nominated_previous: NONE,
        start: None,
        never_preempts: false,
        is_preempted: false,
        is_terminating: false,
        generation: 0,
        last_victim: (NONE, 0),
        has_pre_bind: false,
        deadline: 0,
    };

    /// Whether some plugin said no.
    pub(super) const fn is_rejected(&self) -> bool {
        !self.rejectors.is_empty() || !self.pending.is_empty()
    }
}

/// Order of the active part.
pub(super) fn comes_first(a: &Item, b: &Item) -> bool {
    if planted::is(Bug::PriorityIgnored) {
        return a.timestamp < b.timestamp;
    }
    priority_sort::order((a.priority, a.timestamp), (b.priority, b.timestamp)).is_lt()
}

/// Order of the backoff part: by its end, then as the active part.
pub(super) fn ends_first(a: &Item, b: &Item) -> bool {
    if a.expiry == b.expiry {
        comes_first(a, b)
    } else {
        a.expiry < b.expiry
    }
}

/// Order of the error part: by its end alone.
pub(super) const fn error_ends_first(a: &Item, b: &Item) -> bool {
    a.expiry < b.expiry
}
