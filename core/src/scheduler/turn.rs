//! The loop: one pod is popped, decided on, and assumed or brought back.
//!
//! Mirrors `scheduleOnePod`, `schedulingCycle` and `handleSchedulingFailure` of
//! `pkg/scheduler/schedule_one.go`. Time is what the caller says; nothing happens between calls.

use super::hooks::{Hooks, NoHooks, Permit, Reserve};
use super::{Scheduler, change};
use crate::capacity::CapacityExceeded;
use crate::class::flag;
use crate::cluster::{PodRow, PodState};
use crate::cycle::external::{Outside, told};
use crate::cycle::room::{self, ByRoom, Room};
use crate::cycle::{self, Attempt, Found, Probe, Refusal, Scratch, Verdict, best};
use crate::decision::{AttemptError, Decision, Nomination, Outcome, PostFilter};
use crate::id::{NodeId, PodId};
use crate::planted::{self, Bug};
use crate::plugins::{Plugin, Point, inter_pod_affinity};
use crate::queue::hint::Judge;
use crate::queue::{Place, PluginSet};

/// Why a pod comes back to the queue.
#[derive(Clone, Copy)]
pub(super) struct Failure {
    pub(super) rejectors: PluginSet,
    pub(super) nomination: Nomination,
}

impl Failure {
    /// An error: no rejector, and the nomination is taken back.
    pub(super) const ERROR: Self = Self {
        rejectors: PluginSet::EMPTY,
        nomination: Nomination::Clear,
    };
}

impl Scheduler {
    /// One turn of the loop at `now` (nanoseconds since 1970): timers that are due, then an attempt
    /// at the first pod of the queue; `None` when no pod can be tried now.
    ///
    /// A pod that was placed is assumed; the caller binds it and says [`bound`](Self::bound). One
    /// that was not is back in the queue; the caller writes its condition, its nomination
    /// ([`Decision::nomination`]) and evicts [`victims`](Self::victims), in this order.
    pub fn schedule_one(&mut self, now: u64) -> Option<Decision> {
        self.schedule_one_with(now, &mut NoHooks)
    }

    /// [`schedule_one`](Self::schedule_one) with rules from outside at Reserve, Permit and preemption.
    pub fn schedule_one_with(&mut self, now: u64, hooks: &mut impl Hooks) -> Option<Decision> {
        self.advance(now);
        loop {
            let pod = self.queue.pop()?;
            self.preemption.clear();
            // A pod may come to the queue again after it was assumed.
            if self
                .row(pod)
                .is_some_and(|row| row.state == PodState::Pending)
            {
                return Some(self.turn(pod, hooks));
            }
            self.finish(pod, Place::Nowhere);
        }
    }

    /// Refuses what the next attempt would fail of for want of room, if time does not pass until then.
    /// For callers that can make tables larger.
    ///
    /// # Errors
    /// The table that is full.
    pub fn make_room(&mut self) -> Result<(), CapacityExceeded> {
        let Some(row) = self.queue.peek().and_then(|pod| self.row(pod)) else {
            return Ok(());
        };
        let class = *self.cluster.class(row.class).class;
        if class.profile.is_none() || class.has(flag::TERMINATING) || class.unsupported().is_some()
        {
            return Ok(());
        }
        self.cluster.make_live(row.class)?;
        self.cluster.check_bindings(row.class)?;
        self.cluster.check_place(row.class, Some(0))
    }

    fn turn(&mut self, pod: PodId, hooks: &mut impl Hooks) -> Decision {
        let mut decision = self.decide_queued(pod, hooks);
        decision.attempt = self.queue.item(pod).attempts;
        match decision.outcome {
            Outcome::Scheduled(node) => self.take_place(&mut decision, node, hooks),
            Outcome::Unschedulable | Outcome::Refused(_) => {
                decision.rejectors = self.rejectors();
                self.post_filter(&mut decision, hooks);
                self.fail(
                    pod,
                    Failure {
                        rejectors: decision.rejectors,
                        nomination: decision.nomination,
                    },
                );
                self.preempt_in_memory(pod);
            }
            Outcome::Error(AttemptError::Deleting | AttemptError::NoProfile)
            | Outcome::Gated
            | Outcome::Unsupported(_) => self.finish(pod, Place::Nowhere),
            Outcome::Error(_) => {
                decision.nomination = Nomination::Clear;
                self.fail(pod, Failure::ERROR);
            }
        }
        decision
    }

    /// Assumes the pod on its node; Reserve and Permit may still refuse it.
    fn take_place(&mut self, decision: &mut Decision, node: NodeId, hooks: &mut impl Hooks) {
        let pod = decision.pod;
        let has_volumes = match self.assume_chosen(pod, node) {
            Ok(has_volumes) => has_volumes,
            Err(error) => {
                decision.outcome = Outcome::Error(error);
                decision.nomination = Nomination::Clear;
                self.fail(pod, Failure::ERROR);
                return;
            }
        };
        if !planted::is(Bug::StaleNomination) {
            self.queue.nominate(&mut self.cluster.texts, pod, 0);
        }
        hooks.enters(Point::Reserve, None);
        let refused = match hooks.reserve(self, pod, node) {
            Reserve::Done => None,
            Reserve::Rejected => Some(PluginSet::EXTERNAL),
            Reserve::Failed => Some(PluginSet::EMPTY),
        };
        let permit = match refused {
            None => {
                hooks.enters(Point::Permit, None);
                hooks.permit(self, pod, node)
            }
            Some(_) => Permit::Allow,
        };
        let refused = match permit {
            Permit::Rejected => Some(PluginSet::EXTERNAL),
            Permit::Failed => Some(PluginSet::EMPTY),
            Permit::Allow | Permit::Wait(_) => refused,
        };
        if let Some(rejectors) = refused {
            hooks.unreserve(self, pod, node);
            self.cluster.forget(pod);
            decision.outcome = if rejectors.is_empty() {
                Outcome::Error(AttemptError::External)
            } else {
                Outcome::Refused(node)
            };
            decision.rejectors = rejectors;
            decision.nomination = Nomination::Clear;
            self.fail(
                pod,
                Failure {
                    rejectors,
                    nomination: Nomination::Clear,
                },
            );
            return;
        }
        let has_work = hooks.has_pre_bind(self, pod, node) || has_volumes;
        if has_work || matches!(permit, Permit::Wait(_)) {
            // Others are told where the pod is about to be, as it will take a while.
            decision.nomination = Nomination::Node(node);
        }
        if let Some(item) = self.queue.item_mut(pod) {
            item.has_pre_bind = has_work;
        }
        if let Permit::Wait(timeout) = permit {
            let deadline = self.queue.now.saturating_add(timeout.min(PERMIT_LONGEST));
            self.wait_for_permit(pod, deadline);
            return;
        }
        self.begin_binding(pod, has_work);
    }

    /// What the filters, the search and the scores say of a popped pod.
    fn decide_queued(&mut self, pod: PodId, hooks: &mut impl Hooks) -> Decision {
        let class_id = self.row(pod).map(|row| row.class);
        let class = class_id.map(|id| *self.cluster.class(id).class);
        let mut decision = Decision::new(pod, class.and_then(|class| class.profile));
        let Some((class_id, class)) = class_id.zip(class) else {
            return decision;
        };
        let Some(profile) = class.profile else {
            decision.outcome = Outcome::Error(AttemptError::NoProfile);
            return decision;
        };
        if class.has(flag::TERMINATING) {
            decision.outcome = Outcome::Error(AttemptError::Deleting);
            return decision;
        }
        if let Some(field) = class.unsupported() {
            decision.outcome = Outcome::Unsupported(field);
            return decision;
        }
        self.cluster.refresh_snapshot();
        self.begin_attempt();
        let slot = match self.cluster.make_live(class_id) {
            Ok(slot) => slot,
            Err(full) => {
                decision.outcome = Outcome::Error(AttemptError::Capacity(full));
                return decision;
            }
        };
        if let Some(row) = self.row(pod) {
            self.catch_up(&row, profile.index(), slot);
        }
        match self.find(pod, profile.index(), slot, hooks) {
            Ok(found) => {
                decision.feasible = found.feasible;
                decision.evaluated = found.evaluated;
                decision.outcome = match found.row {
                    Some(row) => Outcome::Scheduled(NodeId(row)),
                    None => Outcome::Unschedulable,
                };
            }
            Err(error) => decision.outcome = Outcome::Error(error),
        }
        decision
    }

    /// The nominated node first, then the search. Mirrors `schedulePod`.
    fn find(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        hooks: &mut impl Hooks,
    ) -> Result<Found, AttemptError> {
        if self.cluster.node_count == 0 {
            return Err(AttemptError::NoNodes);
        }
        if self.keeps_best() && !self.queue.has_nominated() {
            let start = self.start;
            let found = self.look(pod, profile, slot, |attempt, scratch| {
                best::find(attempt, start, scratch)
            });
            if let Some(found) = found.flatten() {
                self.rotate(found);
                return Ok(found);
            }
        }
        self.prepare_rooms(pod, profile, slot);
        let nothing = Ok(Found::default());
        let passes = self.look(pod, profile, slot, |attempt, scratch| {
            cycle::pre_filter(attempt, scratch, told(hooks, Point::PreFilter))
        });
        let Some(passes) = passes else {
            return nothing;
        };
        if !passes? {
            return nothing;
        }
        self.preemption
            .scratch
            .volumes
            .copy_from(&self.scratch.volumes);
        let skips = self
            .attempt_of(pod, profile, slot)
            .map(inter_pod_affinity::skips);
        self.preemption.scratch.skips_pod_affinity = skips.unwrap_or(false);
        let hint = self.batch_hint(pod, profile, slot);
        let status = self.queue.item(pod).status_nomination;
        let first = if status == 0 {
            hint
        } else {
            self.cluster.row_of_word(status)
        };
        let mut kept = None;
        hooks.enters(Point::Filter, None);
        if let Some(row) = first.filter(|row| self.cluster.order.is_listed(*row)) {
            match self.probe(pod, profile, slot, |probe| probe.ask(row)) {
                // Where an external plugin refuses it, the search meets it again and says so.
                Some(Ok(None))
                    if self.keeps_outside(pod, row, hooks)?
                        && self.extenders_keep(pod, row, hooks) =>
                {
                    self.scratch.list.push(row);
                    self.batch_store(pod, profile, slot, hint, row);
                    return Ok(Found {
                        row: Some(row),
                        feasible: 1,
                        evaluated: 1,
                    });
                }
                Some(Ok(Some((refusal, lacks)))) => {
                    self.scratch.kept = Some((row, refusal));
                    kept = Some((row, refusal, lacks));
                }
                // Upstream logs an error here and searches.
                _ => {}
            }
        }
        self.look(pod, profile, slot, |attempt, scratch| {
            let runs = |plugin| hooks.enters(Point::Filter, Some(plugin));
            cycle::filter(attempt, None, scratch, runs);
        });
        if let Some((row, refusal, lacks)) = kept
            && self.scratch.refusal(row).is_none_or(|own| own == refusal)
        {
            self.scratch.note(row, refusal, lacks);
        }
        self.count_nominated(pod, profile, slot)?;
        if let Some(mut outside) = self.outside(pod, hooks) {
            outside.filter(&mut self.scratch)?;
        }
        let found = if self.externals.verbs.any {
            self.search_extended(pod, profile, slot, hooks)?
        } else {
            self.search(pod, profile, slot, hooks)?
        };
        if let Some(row) = found.row {
            self.batch_store(pod, profile, slot, hint, row);
        }
        Ok(found)
    }

    /// Overrules the verdicts on nodes that would not pass with their nominated pods.
    fn count_nominated(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
    ) -> Result<(), AttemptError> {
        let ignored = planted::is(Bug::NominationIgnored);
        if ignored || !self.queue.has_nominated() || self.scratch.unprepared.is_some() {
            return Ok(());
        }
        for at in 0..self.preemption.nominees.len() {
            let row = self.preemption.nominees.row(at);
            let Some(row) = row.filter(|row| self.scratch.searched.contains(*row)) else {
                continue;
            };
            let verdict = self.with_nominees(pod, profile, slot, row)?;
            if let Some(Some((refusal, lacks))) = verdict {
                self.scratch.overrule(row, refusal);
                // Of the nominated node, which was asked first, something may be noted already.
                if self
                    .scratch
                    .lacks
                    .first()
                    .is_some_and(|(own, _)| *own == row)
                {
                    self.scratch.lacks.remove(0);
                }
                self.scratch.note(row, refusal, lacks);
            }
        }
        Ok(())
    }

    /// Finds out where room alone decides on a pod, and which pods are nominated to which rows.
    fn prepare_rooms(&mut self, pod: PodId, profile: usize, slot: usize) {
        let attempt = self.attempt_of(pod, profile, slot);
        self.preemption.by_room = attempt.map_or_else(ByRoom::default, ByRoom::of);
        self.preemption.nominees.fill(&self.cluster, &self.queue);
    }

    /// [`Probe::with_nominated`], in plain sums where room alone decides.
    fn with_nominees(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        row: u32,
    ) -> Result<Option<Verdict>, AttemptError> {
        let work = &self.preemption;
        let attempt = self.attempt_of(pod, profile, slot);
        let room = |attempt| Room::of(attempt, work.by_room, &work.nominees, row);
        if let Some(room) = attempt.and_then(room) {
            let nominees = room::counted(&work.nominees, &self.queue, row, pod);
            let verdict = room.with(&self.cluster, nominees, pod);
            debug_assert!({
                let asked = self.probe(pod, profile, slot, |probe| probe.with_nominated(row));
                // Sums need no room in tables.
                matches!(asked, Some(Err(AttemptError::Capacity(_)))) || asked == Some(Ok(verdict))
            });
            return Ok(verdict);
        }
        let asked = self.probe(pod, profile, slot, |probe| probe.with_nominated(row));
        asked.unwrap_or(Ok(None))
    }

    fn search(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        hooks: &mut impl Hooks,
    ) -> Result<Found, AttemptError> {
        let (policy, mut start, mut random) = (self.policy, self.start, self.random);
        let Some(mut outside) = self.outside(pod, hooks) else {
            return Ok(Found::default());
        };
        let found = self.look(pod, profile, slot, |attempt, scratch| {
            cycle::pick(
                attempt,
                policy,
                &mut start,
                &mut random,
                scratch,
                &mut outside,
            )
        });
        self.start = start;
        self.random = random;
        let found = found.unwrap_or_else(|| Ok(Found::default()))?;
        self.rotate(found);
        Ok(found)
    }

    /// External plugins as they are asked about a pod; `None` if there is no such pod.
    pub(super) fn outside<'h>(&self, pod: PodId, hooks: &'h mut impl Hooks) -> Option<Outside<'h>> {
        let class = self.row(pod)?.class;
        let rows = self.cluster.nodes.len();
        Some(Outside::new(hooks, &self.externals, rows, class))
    }

    /// Whether the external plugins keep one node for a pod.
    pub(super) fn keeps_outside(
        &mut self,
        pod: PodId,
        row: u32,
        hooks: &mut impl Hooks,
    ) -> Result<bool, AttemptError> {
        let Some(mut outside) = self.outside(pod, hooks) else {
            return Ok(false);
        };
        outside.keeps(row, &mut self.preemption.scratch)
    }

    /// Runs a stage on a pod; `None` if there is no such pod.
    pub(super) fn look<T>(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        stage: impl FnOnce(Attempt<'_>, &mut Scratch) -> T,
    ) -> Option<T> {
        let row = self.cluster.pods.get(pod.index())?;
        let attempt = Attempt::new(&self.cluster, self.plans.get(profile)?, row, slot);
        Some(stage(attempt, &mut self.scratch))
    }

    /// A pod as the stages see it; `None` if there is no such pod.
    pub(super) fn attempt_of(
        &self,
        pod: PodId,
        profile: usize,
        slot: usize,
    ) -> Option<Attempt<'_>> {
        let row = self.cluster.pods.get(pod.index())?;
        let plan = self.plans.get(profile)?;
        Some(Attempt::new(&self.cluster, plan, row, slot))
    }

    /// Brings what the class' slot keeps of the nodes' room up to date.
    pub(super) fn catch_up(&mut self, pod: &PodRow, profile: usize, slot: usize) {
        // Out of the cluster while it is repaired from it.
        let mut room = core::mem::take(&mut self.cluster.live.room);
        if let Some(plan) = self.plans.get(profile) {
            room.catch_up(Attempt::new(&self.cluster, plan, pod, slot));
        }
        self.cluster.live.room = room;
    }

    /// Asks about single nodes, in a scratch of its own.
    pub(super) fn probe<T>(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        ask: impl FnOnce(&mut Probe<'_>) -> T,
    ) -> Option<T> {
        let mut probe = Probe {
            cluster: &mut self.cluster,
            plan: self.plans.get(profile)?,
            queue: &self.queue,
            scratch: &mut self.preemption.scratch,
            nominees: &self.preemption.nominees,
            pod,
            slot,
        };
        Some(ask(&mut probe))
    }

    /// Plugins that refused a node in the last attempt, or narrowed its search.
    fn rejectors(&self) -> PluginSet {
        let mut rejectors = PluginSet::EMPTY;
        let scratch = &self.scratch;
        for refusal in Refusal::ALL {
            if scratch.refused(refusal).iter().any(|word| *word != 0) {
                rejectors.insert(refusal.plugin());
            }
        }
        if scratch.narrowed {
            rejectors.insert(Plugin::NodeAffinity);
        }
        if let Some(refusal) = scratch.pre_filter_refusal {
            rejectors.insert(refusal.plugin());
        }
        if scratch.external.has_refused || self.extended.has_removed {
            rejectors = rejectors.union(PluginSet::EXTERNAL);
        }
        rejectors
    }

    /// Brings a pod back to the queue, then sets its nomination in memory.
    ///
    /// Mirrors `handleSchedulingFailure`: a pod that has a node by now does not come back.
    pub(super) fn fail(&mut self, pod: PodId, failure: Failure) {
        let Some(row) = self.row(pod) else {
            return;
        };
        if row.state == PodState::Pending {
            let judge = Judge {
                cluster: &self.cluster,
                plans: &self.plans,
            };
            let kind = (row.class, row.pin);
            let pending = PluginSet::EMPTY;
            self.queue
                .fail(&judge, pod, kind, failure.rejectors, pending);
            self.drop_events();
        } else {
            self.finish(pod, Place::Nowhere);
            return;
        }
        let node = match failure.nomination {
            Nomination::Keep => self.queue.item(pod).status_nomination,
            Nomination::Clear => 0,
            Nomination::Node(node) => {
                let node = self.cluster.nodes.get(node.index());
                node.map_or(0, |node| node.name)
            }
        };
        self.queue.nominate(&mut self.cluster.texts, pod, node);
    }

    /// A pod leaves the cycle for this place; its events are not needed any more.
    pub(super) fn finish(&mut self, pod: PodId, place: Place) {
        self.queue.done(pod, place);
        self.drop_events();
    }

    /// Makes a pod that waits or backs off ready to be tried; one at Permit remembers it.
    ///
    /// Mirrors `Activate`.
    pub fn activate(&mut self, pod: PodId) {
        let judge = Judge {
            cluster: &self.cluster,
            plans: &self.plans,
        };
        if !self.queue.activate(&judge, pod)
            && self.queue.item(pod).place == Place::Permit
            && let Some(row) = self.row(pod)
        {
            self.tell_any(change::placed(pod, row.class));
        }
    }
}

/// Longest wait at Permit, in nanoseconds.
const PERMIT_LONGEST: u64 = 15 * 60 * 1_000_000_000;

/// What PostFilter came to, and what that does to the nomination.
///
/// Mirrors the table of `handleSchedulingFailure`'s callers: a result sets it, none leaves it alone.
pub(super) const fn nomination_of(post_filter: PostFilter) -> Nomination {
    match post_filter {
        PostFilter::Absent | PostFilter::NoCandidate => Nomination::Clear,
        PostFilter::Placed { node, .. } => Nomination::Node(node),
        _ => Nomination::Keep,
    }
}
