//! Rules from outside the core, at the stages after the choice.

use super::Scheduler;
use crate::id::{NodeId, PodId};

/// What Reserve came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    Done,
    /// Not now; any event may change that.
    Rejected,
    /// An error; the pod is tried again after its backoff.
    Failed,
}

/// What Permit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Allow,
    /// The pod keeps its place until [`Scheduler::allow`] or [`Scheduler::reject`], at most for so
    /// many nanoseconds and never for more than 15 minutes.
    Wait(u64),
    Rejected,
    Failed,
}

/// Callbacks of [`Scheduler::schedule_one_with`]. Each has a default that does nothing.
///
/// A hook sees the scheduler with the pod assumed, and must not be counted on to run again for the
/// same pod: a binding that fails later is told by the caller's own
/// [`bound`](Scheduler::bound).
pub trait Hooks {
    /// Sets something aside for the pod on the node.
    fn reserve(&mut self, scheduler: &Scheduler, pod: PodId, node: NodeId) -> Reserve {
        let _ = (scheduler, pod, node);
        Reserve::Done
    }

    /// Gives back what [`Self::reserve`] set aside; also called if it did not succeed.
    fn unreserve(&mut self, scheduler: &Scheduler, pod: PodId, node: NodeId) {
        let _ = (scheduler, pod, node);
    }

    /// Lets the pod be bound, makes it wait, or refuses it.
    fn permit(&mut self, scheduler: &Scheduler, pod: PodId, node: NodeId) -> Permit {
        let _ = (scheduler, pod, node);
        Permit::Allow
    }

    /// Whether work has to be done before the pod is bound. Then its place can be taken back in
    /// memory until [`Scheduler::pre_bound`].
    fn has_pre_bind(&mut self, scheduler: &Scheduler, pod: PodId, node: NodeId) -> bool {
        let _ = (scheduler, pod, node);
        false
    }

    /// Whether these pods, in order of importance, may be evicted for `preemptor`. The place of
    /// upstream's extenders with a preempt verb: a node whose victims are not allowed is no
    /// candidate.
    fn allows_victims(
        &mut self,
        scheduler: &Scheduler,
        preemptor: PodId,
        node: NodeId,
        victims: &[PodId],
    ) -> bool {
        let _ = (scheduler, preemptor, node, victims);
        true
    }
}

/// No rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
