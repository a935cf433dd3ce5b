//! The API server's part: what becomes of a decision.
//!
//! The order is kube-scheduler's: the pod's own condition and nomination, the nominations that it
//! takes from others, then its victims one by one.

use super::attempt::{Attempt, Condition, Patch};
use super::{Name, Observer, PodEntry, World};
use crate::failure::Failure;
use berth_core::id::PodId;
use berth_core::object::{Object, PodCondition, PodStatus};
use berth_core::plugins::Plugin;
use berth_core::{BindOutcome, Change, Decision, Nomination, Outcome, Reason, VictimKind};
use std::cmp::Reverse;

/// When the world's clock starts.
const DELETED_AT: &str = "2000-01-01T00:00:00Z";

impl<O: Observer> World<O> {
    /// Does what follows from an attempt, and tells of it.
    pub(super) fn follow(&mut self, decision: &Decision) -> Result<(), Failure> {
        let mut attempt = Attempt {
            ms: self.ms,
            record: self.record(decision),
            reason: decision.reason().map(Reason::as_str),
            plugins: decision.rejectors.iter().map(Plugin::name).collect(),
            patches: Vec::new(),
            number: 0,
        };
        attempt.plugins.sort_unstable();
        let name = self.name(decision.pod);
        if let Some(entry) = self.pods.get_mut(&name) {
            attempt.number = entry.number;
            entry.tried = Some(self.changes);
        }
        if let Outcome::Scheduled(node) = decision.outcome {
            let node = self.scheduler().node(node).name.to_owned();
            let volumes = self.bind_volumes(decision.pod)?;
            if volumes.is_empty() {
                self.bind(decision.pod, &name, &node)?;
            } else {
                attempt.record.volumes = volumes;
                let nominated = self.patch(&name, None, Some(node), "")?;
                attempt.patches.extend(nominated);
                self.intake.wait_for_volumes(decision.pod);
            }
        } else if attempt.reason.is_some() {
            attempt.record.victims.clear();
            self.fail(decision, &name, &mut attempt)?;
        }
        self.observer.attempt(attempt)?;
        Ok(())
    }

    fn fail(
        &mut self,
        decision: &Decision,
        name: &Name,
        attempt: &mut Attempt,
    ) -> Result<(), Failure> {
        let record = &attempt.record;
        let message = record.message.clone().or_else(|| record.error.clone());
        let message = message.unwrap_or_default();
        let displaced: Vec<Name> = self.names(self.scheduler().displaced());
        let victims = self.scheduler().victims().iter();
        let victims = victims.filter(|victim| victim.kind == VictimKind::Evict);
        let victims: Vec<PodId> = victims.map(|victim| victim.pod).collect();
        let victims = self.names(&victims);
        let nomination = match decision.nomination {
            Nomination::Keep => None,
            Nomination::Clear => Some(String::new()),
            Nomination::Node(node) => Some(self.scheduler().node(node).name.to_owned()),
        };
        let condition = Condition {
            type_: "PodScheduled",
            status: "False",
            reason: attempt.reason.unwrap_or_default(),
            message: Some(message.clone()),
        };
        let mut patches = Vec::new();
        patches.extend(self.patch(name, Some(condition), nomination, &message)?);
        for other in &displaced {
            patches.extend(self.patch(other, None, Some(String::new()), &message)?);
        }
        for victim in &victims {
            let profile = &attempt.record.profile;
            let condition = Condition {
                type_: "DisruptionTarget",
                status: "True",
                reason: "PreemptionByScheduler",
                message: Some(format!(
                    "{profile}: preempting to accommodate a higher priority pod"
                )),
            };
            patches.extend(self.patch(victim, Some(condition), None, &message)?);
            self.evict(victim)?;
            let victim = format!("{}/{}", victim.0, victim.1);
            attempt.record.victims.push(victim);
        }
        if !victims.is_empty() {
            self.timeline.preemptions += 1;
        }
        patches.sort_by(|one, two| one.pod.cmp(&two.pod));
        attempt.patches = patches;
        Ok(())
    }

    pub(super) fn bind(&mut self, id: PodId, name: &Name, node: &str) -> Result<(), Failure> {
        let (ms, now) = (self.ms, self.now());
        self.scheduler_mut().bound(id, BindOutcome::Bound, now);
        let Some(entry) = self.pods.get_mut(name) else {
            return Ok(());
        };
        let pod = entry.pod_mut();
        node.clone_into(&mut pod.spec.node_name);
        pod.status.nominated_node_name.clear();
        let condition = PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "True".to_owned(),
            ..PodCondition::default()
        };
        set_condition(entry, condition);
        self.timeline.bound(ms.saturating_sub(entry.arrived));
        if let Some(runs) = entry.runs {
            let end = (ms.saturating_add(runs), entry.number, name.clone());
            self.ends.push(Reverse(end));
        }
        self.changes += 1;
        self.tell_pod(name)
    }

    /// Writes to a pod's status; `None` if nothing changes or the pod is gone.
    fn patch(
        &mut self,
        name: &Name,
        condition: Option<Condition>,
        nomination: Option<String>,
        message: &str,
    ) -> Result<Option<Patch>, Failure> {
        let Some(entry) = self.pods.get_mut(name) else {
            return Ok(None);
        };
        let condition = condition.filter(|condition| {
            let condition = PodCondition {
                type_: condition.type_.to_owned(),
                status: condition.status.to_owned(),
                reason: condition.reason.to_owned(),
                message: condition.message.clone().unwrap_or_default(),
            };
            set_condition(entry, condition)
        });
        let condition = condition.map(|condition| Condition {
            message: condition.message.filter(|own| own != message),
            ..condition
        });
        let old = &mut entry.pod_mut().status.nominated_node_name;
        let nomination = nomination.filter(|new| new != old);
        if let Some(node) = &nomination {
            old.clone_from(node);
        }
        if condition.is_none() && nomination.is_none() {
            return Ok(None);
        }
        // Of the conditions the scheduler reads that one alone which victims get.
        let is_read = |own: &Condition| own.type_ == "DisruptionTarget";
        if nomination.is_some() || condition.as_ref().is_some_and(is_read) {
            self.tell_pod(name)?;
        }
        Ok(Some(Patch {
            pod: format!("{}/{}", name.0, name.1),
            condition,
            nominated_node_name: nomination,
        }))
    }

    fn evict(&mut self, name: &Name) -> Result<(), Failure> {
        let Some(entry) = self.pods.get_mut(name) else {
            return Ok(());
        };
        // Of a pod from a state there is no object to mark; it goes at once.
        if self.customs.graceful_deletion && !entry.waits() && !entry.is_saved {
            entry.pod_mut().metadata.deletion_timestamp = Some(DELETED_AT.to_owned());
            self.changes += 1;
            return self.tell_pod(name);
        }
        let entry = self.remove_pod(name)?;
        if let Some(entry) = entry.filter(|_| self.customs.recreate_victims) {
            self.make_again(entry)?;
        }
        Ok(())
    }

    /// A pod in the place of one that is gone, as its controller makes it: the same spec, pending.
    pub(super) fn make_again(&mut self, entry: PodEntry) -> Result<(), Failure> {
        let runs = entry.runs;
        let Object::Pod(mut pod) = entry.object else {
            return Ok(());
        };
        pod.spec.node_name.clear();
        pod.status = PodStatus::default();
        pod.metadata.deletion_timestamp = None;
        let name = &pod.metadata.name;
        pod.metadata.uid = format!("{}-{name}-{}", pod.metadata.namespace, self.arrivals);
        self.arrive(Object::Pod(pod), runs)
    }

    pub(super) fn name(&self, pod: PodId) -> Name {
        let (namespace, name) = self.scheduler().pod_name(pod);
        (namespace.to_owned(), name.to_owned())
    }

    fn names(&self, pods: &[PodId]) -> Vec<Name> {
        pods.iter().map(|pod| self.name(*pod)).collect()
    }

    /// A pod that was not there comes.
    pub(super) fn arrive(&mut self, object: Object, runs: Option<u64>) -> Result<(), Failure> {
        let metadata = object.metadata();
        let name = (metadata.namespace.clone(), metadata.name.clone());
        self.take(Change::Added, &object)?;
        let number = self.arrivals;
        let entry = PodEntry {
            object,
            number,
            arrived: self.ms,
            runs,
            tried: None,
            is_saved: false,
        };
        self.arrivals += 1;
        self.changes += 1;
        self.observer.arrives(number, entry.waits())?;
        self.pods.insert(name, entry);
        Ok(())
    }
}

/// Sets a condition of a pod by its type; whether that changes anything.
fn set_condition(entry: &mut PodEntry, condition: PodCondition) -> bool {
    let conditions = &mut entry.pod_mut().status.conditions;
    let mut there = conditions.iter_mut();
    match there.find(|own| own.type_ == condition.type_) {
        Some(own) if *own == condition => return false,
        Some(own) => *own = condition,
        None => conditions.push(condition),
    }
    true
}
