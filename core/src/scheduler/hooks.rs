//! Rules from outside the core: external plugins, and the stages after the choice.

use super::Scheduler;
use crate::capacity::CapacityExceeded;
use crate::cycle::extender::ExtenderNodes;
use crate::id::{ClassId, NodeId, PodId};
use crate::plugins::{Plugin, Point};
use crate::preemption::Candidates;

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

/// Callbacks of [`Scheduler::schedule_one_with`] and its siblings. Each has a default that does
/// nothing.
///
/// A hook sees the scheduler with the pod assumed, and must not be counted on to run again for the
/// same pod: a binding that fails later is told by the caller's own
/// [`bound`](Scheduler::bound).
pub trait Hooks {
    /// An extension point of the cycle begins, or a plugin of it does; what was told before is over. For
    /// those who measure: the core has no clock.
    fn enters(&mut self, point: Point, plugin: Option<Plugin>) {
        let _ = (point, plugin);
    }

    /// Takes the nodes that a filter refuses out of `kept`, which begins as `feasible`: the nodes
    /// that all filters before it keep, a bit a node (see [`node_set`](crate::node_set)). `filter`
    /// counts from 0 in the order of [`Scheduler::add_filter`].
    ///
    /// Asked once an attempt about all nodes, and about a nominated node or a candidate of
    /// preemption alone; the answer may depend on the class and on the node, not on the other nodes.
    /// `false`, or a node in `kept` that was not feasible, is an error of the attempt.
    fn filter(
        &mut self,
        filter: usize,
        class: ClassId,
        feasible: &[u64],
        kept: &mut [u64],
    ) -> bool {
        let _ = (filter, class, feasible, kept);
        true
    }

    /// Sets the scores, 0 to 100, of the nodes of `feasible`, by node; they are 0 at first and count
    /// with the weight of [`Scheduler::add_score`], in whose order `score` counts from 0.
    ///
    /// Asked once an attempt, if more than one node is feasible. `false`, or another score of a
    /// feasible node, is an error of the attempt.
    fn score(
        &mut self,
        score: usize,
        class: ClassId,
        feasible: &[u64],
        scores: &mut [i64],
    ) -> bool {
        let _ = (score, class, feasible, scores);
        true
    }

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

    /// Lets extenders with a filter verb take nodes out of `nodes`, saying why; asked about the nominated
    /// node alone, then about all that the search found, if there are [`extenders`](crate::Options::extenders)
    /// with one. `false` is the error [`AttemptError::Extender`](crate::AttemptError::Extender).
    ///
    /// Mirrors `findNodesThatPassExtenders` of `pkg/scheduler/schedule_one.go`.
    fn extenders_filter(
        &mut self,
        scheduler: &Scheduler,
        pod: PodId,
        nodes: &mut ExtenderNodes,
    ) -> bool {
        let _ = (scheduler, pod, nodes);
        true
    }

    /// Lets extenders with a prioritize verb add to the totals of the feasible nodes, of which there are
    /// more than one; `totals` has one for each of `nodes`. What fails adds nothing.
    ///
    /// Mirrors the end of `prioritizeNodes` of `pkg/scheduler/schedule_one.go`.
    fn extenders_score(
        &mut self,
        scheduler: &Scheduler,
        pod: PodId,
        nodes: &[NodeId],
        totals: &mut [i64],
    ) {
        let _ = (scheduler, pod, nodes, totals);
    }

    /// Lets extenders with a preempt verb choose among the candidates of a preemption, of which there is
    /// at least one: what is in `candidates` afterwards is left. `false` ends the preemption.
    ///
    /// Mirrors `callExtenders` of `framework/preemption/preemption.go`.
    fn extenders_preempt(
        &mut self,
        scheduler: &Scheduler,
        preemptor: PodId,
        candidates: &mut Candidates,
    ) -> bool {
        let _ = (scheduler, preemptor, candidates);
        true
    }

    /// Whether these pods, in order of importance, may be evicted for `preemptor`; asked of the best
    /// candidate, then of the next until one is allowed; where extenders preempt too, of each, before them.
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

impl Scheduler {
    /// Adds a plugin at Filter, after all others: [`Hooks::filter`] of what is given to later
    /// attempts answers for it. `reason` is what a refused node is told, as in "node(s) had no
    /// licence".
    ///
    /// Pods are not batched from then on, as upstream does not batch where a plugin signs no pod.
    ///
    /// # Errors
    /// `external_plugins` when there are
    /// [`EXTERNAL_PLUGINS_MAX`](crate::EXTERNAL_PLUGINS_MAX); nothing is changed.
    pub fn add_filter(&mut self, name: &str, reason: &str) -> Result<(), CapacityExceeded> {
        self.externals.add_filter(name, reason)
    }

    /// Whether a plugin of this name was added.
    pub fn has_external(&self, name: &str) -> bool {
        let filters = self.externals.filters.iter().map(|(own, _)| own);
        let scores = self.externals.scores.iter().map(|(own, _)| own);
        filters.chain(scores).any(|own| own == name)
    }

    /// Adds a plugin at Score, after all others: [`Hooks::score`] answers for it.
    ///
    /// # Errors
    /// As [`Self::add_filter`].
    pub fn add_score(&mut self, name: &str, weight: u32) -> Result<(), CapacityExceeded> {
        self.externals.add_score(name, weight)
    }
}
