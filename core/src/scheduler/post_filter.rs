//! After an attempt that found no node: may other pods go for this one?
//!
//! Mirrors `Evaluator.Preempt` of `framework/preemption/preemption.go` and the execution of its
//! result in `executor.go`. The eviction itself is the caller's; the pod is held at PreEnqueue as
//! long as its last victim is there and not yet being deleted, as upstream does while its
//! asynchronous preemption runs.

use super::Scheduler;
use super::hooks::Hooks;
use super::turn::{Failure, nomination_of};
use crate::cycle::external::told;
use crate::cycle::{PreFilterRefusal, Refusal, lacks};
use crate::decision::{Decision, PostFilter};
use crate::id::{NodeId, PodId};
use crate::node_set::{self, NodeSet};
use crate::planted::{self, Bug};
use crate::plugins::{Plugin, Point};
use crate::preemption::{Question, Run, Victim, VictimKind};
use crate::queue::Place;
use crate::table::{Count, Table};

impl Scheduler {
    /// Sets the decision's nomination, and the victims.
    pub(super) fn post_filter(&mut self, decision: &mut Decision, hooks: &mut impl Hooks) {
        decision.post_filter = self.run_post_filter(decision, hooks);
        decision.nomination = nomination_of(decision.post_filter);
        if let PostFilter::Placed { node, .. } = decision.post_filter {
            self.list_victims(decision.pod, node);
            self.note_shortage(decision, node);
        }
    }

    /// Keeps why the chosen node was refused, before the places of its victims are taken back.
    fn note_shortage(&mut self, decision: &Decision, node: NodeId) {
        let in_memory = |victim: &Victim| victim.kind == VictimKind::InMemory;
        if !self.preemption.victims.iter().any(in_memory)
            || self.scratch.refusal(node.0) != Some(Refusal::Fit)
            || self.scratch.lacks.iter().any(|(row, _)| *row == node.0)
        {
            return;
        }
        let slot = self
            .row(decision.pod)
            .map(|row| self.cluster.live.slot_of(row.class));
        let found = decision.profile.zip(slot).and_then(|(profile, slot)| {
            let attempt = self.attempt_of(decision.pod, profile.index(), slot as usize);
            attempt.map(|attempt| lacks(attempt, node.0))
        });
        if let Some(lacks) = found {
            self.scratch.note(node.0, Refusal::Fit, lacks);
        }
    }

    fn run_post_filter(&mut self, decision: &Decision, hooks: &mut impl Hooks) -> PostFilter {
        let pod = decision.pod;
        let Some(profile) = decision.profile.map(crate::id::ProfileId::index) else {
            return PostFilter::Absent;
        };
        let Some(plan) = self.plans.get(profile) else {
            return PostFilter::Absent;
        };
        if !self.preempts || plan.post_filters.is_empty() {
            return PostFilter::Absent;
        }
        let refusal = self.scratch.pre_filter_refusal;
        if plan.lacks_device_state(refusal.map(PreFilterRefusal::plugin)) {
            return PostFilter::Unprepared;
        }
        if !plan.post_filters.contains(&Plugin::DefaultPreemption) {
            return PostFilter::Nothing;
        }
        told(hooks, Point::PostFilter)(Plugin::DefaultPreemption);
        let (percentage, absolute) = plan.candidates;
        let class = self.row(pod).map(|row| row.class);
        let Some(Ok(slot)) = class.map(|class| self.cluster.make_live(class)) else {
            return PostFilter::Nothing;
        };
        if let Some(refusal) = self.is_ineligible(pod, profile, slot) {
            return refusal;
        }
        let question = Question {
            made_at: self.cluster.live.slots.at(slot).made_at,
            priority: self.queue.item(pod).priority,
            has_budgets: self.cluster.objects.budgets().next().is_some(),
            by_room: self.preemption.by_room.plain(),
        };
        let work = &mut self.preemption;
        work.known
            .begin(question, &self.cluster.journal, &work.nominees);
        self.list_potential(pod, profile, slot);
        let count = self.preemption.potential.count();
        let share = u64::from(count).saturating_mul(u64::from(percentage)) / 100;
        let wanted = (share as u32).max(absolute).min(count);
        let chosen = self.choose(pod, profile, slot, wanted, hooks);
        if chosen == PostFilter::NoCandidate {
            self.list_known_dry(pod, profile, slot);
        }
        chosen
    }

    /// Mirrors `PodEligibleToPreemptOthers`.
    fn is_ineligible(&self, pod: PodId, profile: usize, slot: usize) -> Option<PostFilter> {
        let item = self.queue.item(pod);
        if item.never_preempts {
            return Some(PostFilter::Never);
        }
        let row = self.cluster.row_of_word(item.status_nomination)?;
        if !self.is_resolvable(row, pod, profile, slot) {
            return None;
        }
        let mut there = self
            .cluster
            .pods_on(row as usize)
            .map(|pod| self.queue.item(pod));
        let is_going = there.any(|other| {
            other.priority < item.priority && other.is_terminating && other.is_preempted
        });
        is_going.then_some(PostFilter::Terminating)
    }

    /// Rows that were refused for a reason that other pods' going may lift, in snapshot order without those
    /// of which it is known that it does not.
    fn list_potential(&mut self, pod: PodId, profile: usize, slot: usize) {
        let work = &mut self.preemption;
        work.rows.clear();
        let mut shortage = core::mem::take(&mut work.shortage);
        let mut potential = core::mem::take(&mut work.potential);
        if let Some(attempt) = self.attempt_of(pod, profile, slot) {
            shortage.fill(attempt, &self.scratch);
        }
        self.mark_resolvable(shortage.never(), &mut potential);
        if !potential.is_empty() {
            let order = self.cluster.order.list().iter().copied();
            let work = &mut self.preemption;
            let dry = work.known.dry();
            let rows = order.filter(|row| potential.contains(*row) && !dry.contains(*row));
            work.rows.extend(rows);
        }
        self.preemption.potential = potential;
        self.preemption.shortage = shortage;
    }

    /// Notes the potential rows of which it is known that they are no candidates.
    fn list_known_dry(&mut self, pod: PodId, profile: usize, slot: usize) {
        let potential = core::mem::take(&mut self.preemption.potential);
        for row in potential.rows() {
            if let Some(reason) = self.preemption.known.reason(row) {
                debug_assert_eq!(
                    self.run(pod, profile, slot, |run| run.find(row)),
                    Some(Ok(Err(reason)))
                );
                self.preemption.dry.push((row, reason));
            }
        }
        self.preemption.potential = potential;
    }

    /// Marks the rows of which [`is_resolvable`](Self::is_resolvable) holds.
    /// Those of which NodeResourcesFit says that they never will take the pod are in `never`.
    fn mark_resolvable(&self, never: &NodeSet, potential: &mut NodeSet) {
        potential.clear();
        let scratch = &self.scratch;
        for refusal in Refusal::ALL {
            let refused = scratch.refused(refusal);
            if refusal.is_of_volumes() {
                for row in node_set::rows(refused) {
                    if !scratch.volume_details(row, refusal).unresolvable {
                        potential.insert(row);
                    }
                }
            } else if !refusal.is_unresolvable() {
                let words = potential.words_mut().iter_mut().zip(refused);
                for ((word, refused), never) in words.zip(never.words()) {
                    let never = if refusal == Refusal::Fit { *never } else { 0 };
                    *word |= refused & !never;
                }
            }
        }
        // What was noted of a row goes before what its words say, and what extenders said before both.
        let noted = scratch.lacks.iter();
        let noted = noted.filter(|(row, _)| scratch.refusal(*row) == Some(Refusal::Fit));
        let noted = noted.map(|(row, lacks)| (*row, lacks.unresolvable));
        let extended = self.extended.refused().iter();
        for (row, for_good) in noted.chain(extended.map(|own| (own.row, own.unresolvable))) {
            if for_good {
                potential.remove(row);
            } else {
                potential.insert(row);
            }
        }
    }

    /// Whether the row was refused in the last attempt, and not for good.
    fn is_resolvable(&self, row: u32, pod: PodId, profile: usize, slot: usize) -> bool {
        if let Some(refused) = self.extended.refusal(row) {
            return !refused.unresolvable;
        }
        match self.scratch.refusal(row) {
            None => false,
            Some(Refusal::Fit) => {
                let mut kept = self.scratch.lacks.iter();
                let kept = kept.find(|(own, _)| *own == row).map(|(_, lacks)| *lacks);
                let now = || {
                    self.attempt_of(pod, profile, slot)
                        .map(|own| lacks(own, row))
                };
                kept.or_else(now).is_some_and(|lacks| !lacks.unresolvable)
            }
            Some(refusal) if refusal.is_of_volumes() => {
                !self.scratch.volume_details(row, refusal).unresolvable
            }
            Some(refusal) => !refusal.is_unresolvable(),
        }
    }

    /// Mirrors `DryRunPreemption` and `SelectCandidate`.
    fn choose(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        wanted: u32,
        hooks: &mut impl Hooks,
    ) -> PostFilter {
        let (failed, vetoed) = self.list_candidates(pod, profile, slot, wanted, hooks);
        let chosen = if self.externals.verbs.preempt {
            let any = !self.preemption.candidates.is_empty();
            any.then(|| self.preempt_extended(pod, profile, slot, hooks))
        } else {
            self.take_best(pod, profile, slot, hooks)
        };
        match (chosen, failed) {
            (Some(chosen), _) => chosen,
            (None, _) if vetoed => PostFilter::Vetoed,
            (None, Some(node)) => PostFilter::Failed(node),
            (None, None) => PostFilter::NoCandidate,
        }
    }

    /// Asks rows until there are enough candidates. Returns the last row that could not be asked, and
    /// whether rules from outside refused one, which are asked of each candidate if extenders are.
    fn list_candidates(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        wanted: u32,
        hooks: &mut impl Hooks,
    ) -> (Option<NodeId>, bool) {
        let (mut clean, mut violating) = (0_u32, 0_u32);
        let mut failed = None;
        let mut vetoed = false;
        let asks_extenders = self.externals.verbs.preempt;
        for at in 0..self.preemption.rows.len() {
            let Some(row) = self.preemption.rows.get(at).copied() else {
                break;
            };
            let found = self.run(pod, profile, slot, |run| run.ask_row(row, asks_extenders));
            let Some(found) = found else {
                break;
            };
            let cost = match found {
                Ok(Ok(cost)) => cost,
                Ok(Err(reason)) => {
                    if !self.preemption.known.dry().contains(row) {
                        self.preemption.dry.push((row, reason));
                    }
                    continue;
                }
                Err(_) => {
                    failed = Some(NodeId(row));
                    continue;
                }
            };
            if cost.is_empty() {
                failed = Some(NodeId(row));
                continue;
            }
            let counted = if cost.is_clean() {
                &mut clean
            } else {
                &mut violating
            };
            // Each kind keeps so many candidates.
            if *counted < wanted {
                counted.count_up();
                if !asks_extenders {
                    self.preemption.costs.push((row, cost));
                } else if self.allows(pod, row, hooks) {
                    self.preemption.add_candidate(row, cost);
                } else {
                    vetoed = true;
                }
            }
            let is_first = planted::is(Bug::FirstCandidate) && clean.saturating_add(violating) > 0;
            if is_first || clean > 0 && clean.saturating_add(violating) >= wanted {
                break;
            }
        }
        (failed, vetoed)
    }

    /// Takes the best candidate that rules from outside allow; `None` without any candidate.
    fn take_best(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        hooks: &mut impl Hooks,
    ) -> Option<PostFilter> {
        let mut chosen = None;
        while let Some(row) = self.preemption.pop_cheapest() {
            self.run(pod, profile, slot, |run| run.ask_row(row, true))?
                .ok()?
                .ok()?;
            if self.allows(pod, row, hooks) {
                self.preemption.keep();
                return Some(PostFilter::Placed {
                    node: NodeId(row),
                    victims: self.preemption.best().len() as u32,
                });
            }
            chosen = Some(PostFilter::Vetoed);
        }
        chosen
    }

    /// Whether rules from outside allow the victims on the row asked last, and keep the row.
    fn allows(&mut self, pod: PodId, row: u32, hooks: &mut impl Hooks) -> bool {
        let victims = core::mem::take(self.preemption.current_mut());
        let allowed = hooks.allows_victims(self, pod, NodeId(row), &victims)
            // An external plugin that fails here leaves the node out.
            && self.keeps_outside(pod, row, hooks).unwrap_or(false);
        *self.preemption.current_mut() = victims;
        allowed
    }

    pub(super) fn run<T>(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        ask: impl FnOnce(&mut Run<'_>) -> T,
    ) -> Option<T> {
        let mut run = Run::new(
            &mut self.cluster,
            self.plans.get(profile)?,
            &self.queue,
            &mut self.preemption,
            (pod, slot),
        );
        Some(ask(&mut run))
    }

    /// What is to be done for a chosen node: victims, and nominations that are taken back.
    fn list_victims(&mut self, pod: PodId, node: NodeId) {
        let work = &mut self.preemption;
        work.settle(|victim| {
            let item = self.queue.item(victim);
            if item.is_terminating {
                VictimKind::Terminating
            } else if matches!(item.place, Place::Permit | Place::PreBind) {
                VictimKind::InMemory
            } else {
                VictimKind::Evict
            }
        });
        let mut going = work.victims.iter().rev();
        let last = going.find(|victim| victim.kind != VictimKind::Terminating);
        let last = last.copied();
        let evicted = last.filter(|victim| victim.kind == VictimKind::Evict);
        self.queue
            .set_last_victim(pod, evicted.map(|victim| victim.pod));
        if last.is_none() {
            // Nothing is started then, and no nomination taken back.
            return;
        }
        let name = self.cluster.nodes.get(node.index()).map(|node| node.name);
        let priority = self.queue.item(pod).priority;
        let lower = self.queue.nominated().filter(|(other, on)| {
            let item = self.queue.item(*other);
            Some(*on) == name && item.priority < priority && item.status_nomination != 0
        });
        work.displaced.extend(lower.map(|(other, _)| other));
    }

    /// Takes back the places of victims that are not bound yet.
    pub(super) fn preempt_in_memory(&mut self, pod: PodId) {
        let mut last = None;
        for at in 0..self.preemption.victims.len() {
            let Some(Victim { pod: victim, kind }) = self.preemption.victims.get(at).copied()
            else {
                return;
            };
            if kind != VictimKind::Terminating {
                last = Some(kind);
            }
            if kind == VictimKind::InMemory {
                self.binding_fails(victim, Failure::ERROR, false);
            }
        }
        // No event of a bound pod will wake the preemptor then.
        if last == Some(VictimKind::InMemory) {
            self.activate(pod);
        }
    }

    /// Forgets what earlier attempts found out about nodes: for tests of what is kept of it.
    #[cfg(feature = "testing")]
    pub fn forget_preemptions(&mut self) {
        self.preemption.known.forget();
        self.preemption.shortage.forget();
    }

    /// Pods that go for the one of the last [`schedule_one`](Self::schedule_one), in the order in
    /// which they are evicted; the next one clears them.
    pub fn victims(&self) -> &[Victim] {
        &self.preemption.victims
    }

    /// Pods whose `status.nominatedNodeName` is to be cleared before the victims are evicted: they
    /// are less important and nominated to the same node.
    pub fn displaced(&self) -> &[PodId] {
        &self.preemption.displaced
    }

    /// Says that the evictions for a pod did not all succeed: it is held no longer, and tried again
    /// at once, as nothing else may wake it.
    pub fn preemption_failed(&mut self, pod: PodId) {
        self.queue.set_last_victim(pod, None);
        self.activate(pod);
    }
}
