//! Extenders in the loop: where the caller's hooks are asked for them.
//!
//! Mirrors `findNodesThatFitPod`, `evaluateNominatedNode` and `prioritizeNodes` of
//! `pkg/scheduler/schedule_one.go`, and `callExtenders` of `framework/preemption/preemption.go`. Only the
//! loop asks; [`evaluate`](Scheduler::evaluate) and [`schedule`](Scheduler::schedule) do not.

use super::Scheduler;
use super::hooks::Hooks;
use crate::cycle::{self, Found};
use crate::decision::{AttemptError, PostFilter};
use crate::id::{NodeId, PodId};
use crate::preemption::Cost;
use core::mem;

impl Scheduler {
    /// Forgets the last attempt's details.
    pub(super) fn begin_attempt(&mut self) {
        self.scratch.begin(&self.cluster);
        self.extended.clear();
    }

    /// Whether extenders keep the node that is tried before the search. What fails here is left to the
    /// search, as upstream only logs it.
    pub(super) fn extenders_keep(&mut self, pod: PodId, row: u32, hooks: &mut impl Hooks) -> bool {
        if !self.externals.verbs.filter {
            return true;
        }
        let mut nodes = mem::take(&mut self.extended.nodes);
        nodes.fill(&[row]);
        let is_done = hooks.extenders_filter(self, pod, &mut nodes);
        let is_kept = is_done && nodes.nodes() == [NodeId(row)];
        self.extended.nodes = nodes;
        if is_kept || !is_done {
            self.extended.truncate(0);
        }
        is_kept
    }

    /// Searches, lets extenders take nodes out and score what is left, and takes one.
    pub(super) fn search_extended(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        hooks: &mut impl Hooks,
    ) -> Result<Found, AttemptError> {
        let (policy, mut start) = (self.policy, self.start);
        let nothing = Ok(Found::default());
        let Some(outside) = self.outside(pod, hooks) else {
            return nothing;
        };
        let evaluated = self.look(pod, profile, slot, |attempt, scratch| {
            cycle::search(attempt, policy, &mut start, scratch, &outside)
        });
        // The status of a nominated node that an extender refused counts beside its verdict here.
        if !policy.best && !self.extended.refused().is_empty() {
            let all = self.cluster.order.list().len() as u32;
            start = start.saturating_add(1).checked_rem(all).unwrap_or(0);
        }
        self.start = start;
        let evaluated = evaluated.unwrap_or(Ok(0))?;
        let found = self.scratch.list.len() as u32;
        self.filter_extended(pod, hooks)?;
        let feasible = self.scratch.list.len() as u32;
        let row = match feasible {
            0 => None,
            1 => self.scratch.list.first().copied(),
            _ => self.choose_extended(pod, profile, slot, hooks)?,
        };
        let refused = evaluated.saturating_sub(found);
        let found = Found {
            row,
            feasible,
            evaluated: feasible
                .saturating_add(refused)
                .saturating_add(self.extended.refused().len() as u32),
        };
        self.rotate(found);
        Ok(found)
    }

    /// Leaves what the extenders keep of the feasible nodes.
    fn filter_extended(&mut self, pod: PodId, hooks: &mut impl Hooks) -> Result<(), AttemptError> {
        if !self.externals.verbs.filter || self.scratch.list.is_empty() {
            return Ok(());
        }
        let before = self.extended.refused().len();
        let mut nodes = mem::take(&mut self.extended.nodes);
        nodes.fill(&self.scratch.list);
        let is_done = hooks.extenders_filter(self, pod, &mut nodes);
        let given = &mut self.scratch.set;
        given.clear();
        for row in &self.scratch.list {
            given.insert(*row);
        }
        let mut is_right = true;
        let found = self.scratch.list.len();
        self.scratch.list.clear();
        for NodeId(row) in nodes.nodes() {
            is_right &= given.contains(*row);
            given.remove(*row);
            self.scratch.list.push(*row);
        }
        self.extended.nodes = nodes;
        if !is_done {
            self.extended.truncate(before);
            return Err(AttemptError::Extender);
        }
        if !is_right {
            return Err(AttemptError::External);
        }
        self.extended.has_removed = self.scratch.list.len() < found;
        Ok(())
    }

    /// Scores the feasible nodes, lets extenders add to it, and takes one of the best.
    fn choose_extended(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        hooks: &mut impl Hooks,
    ) -> Result<Option<u32>, AttemptError> {
        let Some(mut outside) = self.outside(pod, hooks) else {
            return Ok(None);
        };
        let scored = self.look(pod, profile, slot, |attempt, scratch| {
            cycle::score_all(attempt, scratch, &mut outside)
        });
        scored.unwrap_or(Ok(()))?;
        if self.externals.verbs.prioritize {
            let mut nodes = mem::take(&mut self.extended.nodes);
            let mut totals = mem::take(&mut self.scratch.totals);
            nodes.fill(&self.scratch.list);
            hooks.extenders_score(self, pod, nodes.nodes(), &mut totals);
            self.scratch.totals = totals;
            self.extended.nodes = nodes;
        }
        let (ties, mut random) = (self.policy.ties, self.random);
        let row = self.look(pod, profile, slot, |attempt, scratch| {
            cycle::select(attempt, ties, &mut random, scratch)
        });
        self.random = random;
        Ok(row.flatten())
    }

    /// Lets extenders choose among the candidates of preemption, and takes the best of what they leave.
    pub(super) fn preempt_extended(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        hooks: &mut impl Hooks,
    ) -> PostFilter {
        let mut candidates = mem::take(&mut self.preemption.candidates);
        let is_done = hooks.extenders_preempt(self, pod, &mut candidates);
        let mut best: Option<(Cost, NodeId, u32)> = None;
        for (node, victims, violations) in candidates.iter().filter(|_| is_done) {
            let is_there = |pod: &PodId| self.node_of(*pod) == Some(node);
            if victims.is_empty() || !victims.iter().all(is_there) {
                continue;
            }
            let current = self.preemption.current_mut();
            current.clear();
            current.extend_from_slice(victims);
            let cost = self.run(pod, profile, slot, |run| run.cost(violations));
            if let Some(cost) = cost
                && best.is_none_or(|(least, ..)| cost < least)
            {
                best = Some((cost, node, victims.len() as u32));
                self.preemption.keep();
            }
        }
        self.preemption.candidates = candidates;
        match best {
            _ if !is_done => PostFilter::ExtenderFailed,
            Some((_, node, victims)) => PostFilter::Placed { node, victims },
            None => PostFilter::Vetoed,
        }
    }
}
