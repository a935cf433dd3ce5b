//! C's functions, called: what the plugins of the caller answer, and what they were told.
//!
//! The calls are unsafe; whoever registers a function promises what `plugin` says of it.

use crate::class::berth_class_id_t;
use crate::object::{berth_node_id_t, berth_pod_id_t};
use berth_core::id::{ClassId, NodeId, PodId};
use berth_core::{Hooks, Reserve, Scheduler};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Done, or allowed.
pub const BERTH_PLUGIN_OK: i32 = 0;
/// Of Reserve: not now; any event may change that.
pub const BERTH_PLUGIN_REJECTED: i32 = 1;
/// The plugin failed. So is every other number read, too.
pub const BERTH_PLUGIN_FAILED: i32 = 2;

/// Takes the nodes that it refuses out of `kept`, which begins as `feasible`, by clearing their
/// bits: bit n % 64 of word n / 64 is node n. Returns one of BERTH_PLUGIN_.
///
/// Asked once an attempt about all nodes that other filters keep, and about a nominated node or a
/// candidate of preemption alone. The answer may depend on the class and on the node, not on the
/// other nodes.
pub type berth_filter_callback_t = Option<
    unsafe extern "C-unwind" fn(
        context: *mut c_void,
        class_id: berth_class_id_t,
        feasible: *const u64,
        kept: *mut u64,
        words_length: usize,
    ) -> i32,
>;

/// Sets the score, 0 to 100, of each node whose bit is set in `feasible`; scores are 0 at first.
/// Returns one of BERTH_PLUGIN_.
///
/// Asked once an attempt, if more than one node is feasible.
pub type berth_score_callback_t = Option<
    unsafe extern "C-unwind" fn(
        context: *mut c_void,
        class_id: berth_class_id_t,
        feasible: *const u64,
        words_length: usize,
        scores: *mut i64,
        scores_length: usize,
    ) -> i32,
>;

/// Hears that a pod is assumed on a node, and may refuse it. Returns one of BERTH_PLUGIN_.
pub type berth_reserve_callback_t = Option<
    unsafe extern "C-unwind" fn(
        context: *mut c_void,
        pod: berth_pod_id_t,
        node: berth_node_id_t,
    ) -> i32,
>;

/// Hears that a pod is assumed no more and was not bound: its place is forgotten. Also told of the
/// pod that was refused.
pub type berth_unreserve_callback_t = Option<
    unsafe extern "C-unwind" fn(context: *mut c_void, pod: berth_pod_id_t, node: berth_node_id_t),
>;

/// What the caller wants back in its functions; nothing here follows it.
#[derive(Clone, Copy)]
pub struct Context(pub *mut c_void);

// SAFETY: it is only handed back; who registered it promises that its functions may be called from
// any thread that uses the handle.
unsafe impl Send for Context {}

/// A filter of the caller.
pub type Filter = (berth_filter_callback_t, Context);
/// A score of the caller.
pub type Score = (berth_score_callback_t, Context);
/// A reserve of the caller, and its opposite.
pub type Reservation = (
    berth_reserve_callback_t,
    berth_unreserve_callback_t,
    Context,
);

/// A pod was assumed, or its place was forgotten.
#[derive(Clone, Copy)]
struct Told {
    is_reserved: bool,
    pod: PodId,
    node: NodeId,
}

/// The plugins of the caller.
#[derive(Default)]
pub struct Callbacks {
    pub filters: Vec<Filter>,
    pub scores: Vec<Score>,
    pub reserves: Vec<Reservation>,
    /// Assumed pods that the reserves were told of.
    reserved: BTreeMap<PodId, NodeId>,
    /// What was told since each fork, and who was reserved when it began, the oldest first.
    forks: Vec<(BTreeMap<PodId, NodeId>, Vec<Told>)>,
}

/// Calls a function; one that unwinds into Rust has failed. A foreign exception cannot be caught.
fn call(function: impl FnOnce() -> i32) -> i32 {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or(BERTH_PLUGIN_FAILED)
}

impl Hooks for Callbacks {
    fn filter(
        &mut self,
        filter: usize,
        class: ClassId,
        feasible: &[u64],
        kept: &mut [u64],
    ) -> bool {
        let Some((Some(function), Context(context))) = self.filters.get(filter).copied() else {
            return false;
        };
        debug_assert_eq!(feasible.len(), kept.len());
        // SAFETY: both are as long as said; the rest was promised at registration.
        let answer = call(|| unsafe {
            let (feasible, length) = (feasible.as_ptr(), feasible.len());
            function(context, class.0, feasible, kept.as_mut_ptr(), length)
        });
        answer == BERTH_PLUGIN_OK
    }

    fn score(
        &mut self,
        score: usize,
        class: ClassId,
        feasible: &[u64],
        scores: &mut [i64],
    ) -> bool {
        let Some((Some(function), Context(context))) = self.scores.get(score).copied() else {
            return false;
        };
        // SAFETY: both are as long as said; the rest was promised at registration.
        let answer = call(|| unsafe {
            let (feasible, words) = (feasible.as_ptr(), feasible.len());
            let (scores, length) = (scores.as_mut_ptr(), scores.len());
            function(context, class.0, feasible, words, scores, length)
        });
        answer == BERTH_PLUGIN_OK
    }

    fn reserve(&mut self, _: &Scheduler, pod: PodId, node: NodeId) -> Reserve {
        self.reserve_told(pod, node)
    }

    fn unreserve(&mut self, _: &Scheduler, pod: PodId, node: NodeId) {
        self.unreserve_told(pod, node);
    }
}

impl Callbacks {
    fn note(&mut self, is_reserved: bool, pod: PodId, node: NodeId) {
        if is_reserved {
            self.reserved.insert(pod, node);
        } else {
            self.reserved.remove(&pod);
        }
        if let Some((_, told)) = self.forks.last_mut() {
            told.push(Told {
                is_reserved,
                pod,
                node,
            });
        }
    }

    fn reserve_told(&mut self, pod: PodId, node: NodeId) -> Reserve {
        if self.reserves.is_empty() {
            return Reserve::Done;
        }
        self.note(true, pod, node);
        for (reserve, _, Context(context)) in &self.reserves {
            let Some(function) = reserve else {
                continue;
            };
            // SAFETY: promised at registration.
            match call(|| unsafe { function(*context, pod.0, node.0) }) {
                BERTH_PLUGIN_OK => {}
                BERTH_PLUGIN_REJECTED => return Reserve::Rejected,
                _ => return Reserve::Failed,
            }
        }
        Reserve::Done
    }

    /// The last one first, as upstream.
    fn unreserve_told(&mut self, pod: PodId, node: NodeId) {
        if self.reserves.is_empty() {
            return;
        }
        self.note(false, pod, node);
        for (_, unreserve, Context(context)) in self.reserves.iter().rev() {
            let Some(function) = unreserve else {
                continue;
            };
            // SAFETY: promised at registration.
            call(|| unsafe {
                function(*context, pod.0, node.0);
                BERTH_PLUGIN_OK
            });
        }
    }

    /// Tells of the places that were taken back; those that are bound need no telling any more.
    pub fn tell_forgotten(&mut self, scheduler: &Scheduler) {
        if self.reserved.is_empty() {
            return;
        }
        let forgotten = |(pod, node): &(&PodId, &NodeId)| scheduler.node_of(**pod) != Some(**node);
        let forgotten = self.reserved.iter().filter(forgotten);
        let forgotten: Vec<_> = forgotten.map(|(pod, node)| (*pod, *node)).collect();
        for (pod, node) in forgotten {
            self.unreserve_told(pod, node);
        }
        self.reserved.retain(|pod, _| scheduler.is_assumed(*pod));
    }

    /// A pod is bound: it is not forgotten any more.
    pub fn bound(&mut self, pod: PodId) {
        self.reserved.remove(&pod);
    }

    pub fn fork(&mut self) {
        self.forks.push((self.reserved.clone(), Vec::new()));
    }

    /// Tells the opposite of all that was told since the fork, the last first.
    pub fn rollback(&mut self) {
        let Some((reserved, told)) = self.forks.pop() else {
            return;
        };
        for Told {
            is_reserved,
            pod,
            node,
        } in told.into_iter().rev()
        {
            if is_reserved {
                self.unreserve_told(pod, node);
            } else {
                // It had the place before; a refusal changes nothing.
                let _ = self.reserve_told(pod, node);
            }
        }
        self.reserved = reserved;
    }

    pub fn commit(&mut self) {
        if let Some((_, told)) = self.forks.pop()
            && let Some((_, outer)) = self.forks.last_mut()
        {
            outer.extend(told);
        }
    }
}
