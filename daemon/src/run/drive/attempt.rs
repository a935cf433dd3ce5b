//! One attempt, and what follows from it.
//!
//! Mirrors `handleSchedulingFailure` of `pkg/scheduler/schedule_one.go` and the executor of
//! preemption: the order of writes is theirs.

use super::Loop;
use super::guard::guarded;
use crate::run::events::Event;
use crate::run::extender::Asking;
use crate::run::pod_ref::PodRef;
use crate::run::writer::{Eviction, StatusPatch};
use berth_core::id::PodId;
use berth_core::object::PodCondition;
use berth_core::{
    AttemptError, BindOutcome, Decision, Detail, Nomination, Outcome, Reason, VictimKind,
};

impl Loop {
    /// Tries the next pod; `false` if there is none.
    pub(super) fn attempt(&mut self) -> bool {
        let began = std::time::Instant::now();
        while let Err(full) = self.model.scheduler_mut().make_room() {
            if !self.model.intake.grows() || self.model.intake.grow(full).is_err() {
                break;
            }
        }
        let now = self.clock.now();
        let scheduler = self.model.intake.scheduler_mut();
        let mut hooks = Asking::begin(&mut self.watch, &mut self.extenders, &self.model.kept);
        let decision = match guarded(|| scheduler.schedule_one_with(now, &mut hooks)) {
            Ok(Some(decision)) => decision,
            Ok(None) => return false,
            Err(why) => return self.set_aside(&why),
        };
        let profile = self.model.profile_of(decision.pod).to_owned();
        self.metrics.attempt(&decision, &profile, began.elapsed());
        let points = &self.metrics.points;
        points.attempt(&mut self.watch, &decision, &profile);
        self.model.tried(decision.pod, now);
        self.follow(&decision);
        true
    }

    fn follow(&mut self, decision: &Decision) {
        let pod = PodRef::of(&self.model, decision.pod);
        match decision.outcome {
            Outcome::Scheduled(node) => {
                let node = self.model.scheduler().node(node).name.to_owned();
                if let Nomination::Node(_) = decision.nomination {
                    self.patch(&pod, None, Some(node.clone()));
                }
                if !self.begin_volumes(&pod, &node) {
                    self.bind(pod, node);
                }
            }
            Outcome::Unsupported(field) => {
                let note = format!(
                    "the pod uses {field}, which Berth does not support; it is not scheduled"
                );
                self.tell_failure(&pod, note);
            }
            Outcome::Error(AttemptError::Deleting) => {
                self.tell_failure(&pod, format!("skip schedule deleting pod: {}", pod.key()));
            }
            _ => {
                if let Some(reason) = decision.reason() {
                    self.fail(decision, &pod, reason);
                }
            }
        }
    }

    /// Has a pod bound, by an extender if one does that for it.
    pub(super) fn bind(&self, pod: PodRef, node: String) {
        let binder = self.extenders.binder(pod.id, &self.model.kept);
        self.writer.bind(pod, node, binder);
    }

    fn fail(&mut self, decision: &Decision, pod: &PodRef, reason: Reason) {
        let scheduler = self.model.scheduler();
        let record = scheduler.record_with(decision, Detail::None, self.extenders.texts());
        let message = record.message.or(record.error).unwrap_or_default();
        let nominated = match decision.nomination {
            Nomination::Keep => None,
            Nomination::Clear => Some(String::new()),
            Nomination::Node(node) => Some(scheduler.node(node).name.to_owned()),
        };
        let target = nominated.clone().unwrap_or_default();
        let victims: Vec<(PodId, VictimKind)> = scheduler
            .victims()
            .iter()
            .map(|victim| (victim.pod, victim.kind))
            .collect();
        let displaced: Vec<PodId> = scheduler.displaced().to_vec();
        self.tell_failure(pod, message.clone());
        let condition = condition("PodScheduled", "False", reason.as_str(), message);
        self.patch(pod, Some(condition), nominated);
        for other in displaced {
            let other = PodRef::of(&self.model, other);
            self.patch(&other, None, Some(String::new()));
        }
        if !victims.is_empty() {
            self.metrics.victims(victims.len());
        }
        self.evict(pod, &target, &victims);
    }

    fn evict(&mut self, preemptor: &PodRef, node: &str, victims: &[(PodId, VictimKind)]) {
        let controller = self.controller(preemptor);
        let mut evictions = Vec::new();
        for (victim, kind) in victims {
            let victim = PodRef::of(&self.model, *victim);
            let in_memory = match kind {
                VictimKind::Terminating => continue,
                VictimKind::InMemory => " (in kube-scheduler memory).",
                VictimKind::Evict => "",
            };
            let event = Event {
                type_: "Normal",
                reason: "Preempted",
                action: "Preempting",
                controller: controller.clone(),
                regarding: victim.reference(),
                related: Some(preemptor.reference()),
                note: format!(
                    "Preempted by pod {} on node {node}{in_memory}",
                    preemptor.uid
                ),
            };
            if *kind == VictimKind::InMemory {
                self.events.tell(event);
                continue;
            }
            let message = format!("{controller}: preempting to accommodate a higher priority pod");
            let condition = condition("DisruptionTarget", "True", "PreemptionByScheduler", message);
            let patch = self.status_patch(&victim, Some(condition), None);
            evictions.push(Eviction {
                victim,
                patch: patch.unwrap_or_default(),
                event,
            });
        }
        if !evictions.is_empty() {
            self.writer.preempt(preemptor.clone(), evictions);
        }
    }

    /// A binding came to nothing: the pod waits again, and is told why.
    pub(super) fn binding_failed(&mut self, pod: &PodRef, outcome: BindOutcome, message: String) {
        let now = self.clock.now();
        if !self.model.scheduler_mut().bound(pod.id, outcome, now) {
            return;
        }
        self.metrics.binding_failed(self.model.profile_of(pod.id));
        self.tell_failure(pod, message.clone());
        let reason = Reason::SchedulerError.as_str();
        let condition = condition("PodScheduled", "False", reason, message);
        self.patch(pod, Some(condition), Some(String::new()));
    }

    fn tell_failure(&self, pod: &PodRef, note: String) {
        self.events.tell(Event {
            type_: "Warning",
            reason: "FailedScheduling",
            action: "Scheduling",
            controller: self.controller(pod),
            regarding: pod.reference(),
            related: None,
            note,
        });
    }

    /// Writes to a pod's status what the API server does not have yet.
    pub(super) fn patch(
        &mut self,
        pod: &PodRef,
        condition: Option<PodCondition>,
        nominated: Option<String>,
    ) {
        if let Some(patch) = self.status_patch(pod, condition, nominated) {
            self.writer.patch(pod.clone(), patch);
        }
    }

    /// `None` if the API server has it all. Mirrors `updatePod`.
    fn status_patch(
        &self,
        pod: &PodRef,
        condition: Option<PodCondition>,
        nominated: Option<String>,
    ) -> Option<StatusPatch> {
        let facts = self.model.facts(pod.id)?;
        let mut there = facts.conditions.iter().flat_map(|all| all.iter());
        let old = condition
            .as_ref()
            .and_then(|new| there.find(|old| old.type_ == new.type_));
        let is_transition = match (&condition, old) {
            (Some(new), Some(old)) => new.status != old.status,
            (condition, _) => condition.is_some(),
        };
        let condition = condition.filter(|new| Some(new) != old);
        let known = self.model.scheduler().status_nomination(pod.id);
        let nominated_node = nominated.filter(|node| node != known);
        if condition.is_none() && nominated_node.is_none() {
            return None;
        }
        Some(StatusPatch {
            condition,
            is_transition,
            generation: facts.generation,
            nominated_node,
        })
    }
}

fn condition(type_: &str, status: &str, reason: &str, message: String) -> PodCondition {
    PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
    }
}
