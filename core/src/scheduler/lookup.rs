//! What is there, and what the last attempt found of it.

use super::{ApplyError, Scheduler};
use crate::class::flag;
use crate::cluster::owner::ObjectKind;
use crate::cluster::{NodeState, PodState};
use crate::decision::{Decision, Outcome};
use crate::id::{ClassId, NodeId, PodId};
use crate::intern::word_text;
use crate::object::{Object, Pod};
use crate::volume::VolumeKind;

impl Scheduler {
    /// Whether the id is that of a pod. It is no more once the pod is removed, until another pod
    /// takes its place.
    pub fn has_pod(&self, pod: PodId) -> bool {
        self.cluster.pod(pod).is_some()
    }

    /// Whether the id is that of a node. It is no more once the node is removed, until another node
    /// takes its place.
    pub fn has_node(&self, node: NodeId) -> bool {
        let row = self.cluster.nodes.get(node.index());
        row.is_some_and(|row| row.state == NodeState::Present)
    }

    /// Whether the pod waits for a node, has a profile and is not being deleted.
    pub fn waits(&self, pod: PodId) -> bool {
        let row = self.cluster.pods.get(pod.index());
        row.is_some_and(|row| {
            let class = || *self.cluster.class(row.class).class;
            row.state == PodState::Pending
                && class().profile.is_some()
                && !class().has(flag::TERMINATING)
        })
    }

    /// `metadata.uid` of a pod; empty if it has none, or for an id that no pod has.
    pub fn pod_uid(&self, pod: PodId) -> &str {
        let uid = self.cluster.pod(pod).and_then(|pod| word_text(pod.uid));
        uid.map_or("", |text| self.cluster.texts.text(text))
    }

    /// Scheduler name of the profile that takes a pod; empty if none does, or for an id that no pod
    /// has.
    pub fn profile_name_of(&self, pod: PodId) -> &str {
        let class = self.cluster.pod(pod).map(|row| row.class);
        let profile = class.and_then(|class| self.cluster.class(class).class.profile);
        let plan = profile.and_then(|profile| self.plans.get(profile.index()));
        plan.map_or("", |plan| &plan.scheduler_name)
    }

    /// (resource name, amount) of what a pod takes on its node, where it is not 0; cpu in milli-cores,
    /// all else in whole units.
    pub fn requests_of(&self, pod: PodId) -> impl Iterator<Item = (&str, i64)> + '_ {
        let row = self.cluster.pod(pod);
        let class = row.map(|row| self.cluster.class(row.class));
        let main = ["cpu", "memory", "ephemeral-storage"];
        let amounts = class.map_or([0; 3], |class| class.class.amounts.status);
        let scalars = class.into_iter().flat_map(move |class| {
            class.scalars().map(|scalar| {
                let name = self.cluster.resources.name(scalar.resource);
                (self.cluster.texts.text(name), scalar.status)
            })
        });
        let all = main.into_iter().zip(amounts).chain(scalars);
        all.filter(|(_, amount)| *amount != 0)
    }

    /// The class of a pod: equal for pods that are equal in all that decides their placement. It may
    /// become another's once no pod is of it, unless it is [held](Self::create_class).
    pub fn class_of(&self, pod: PodId) -> Option<ClassId> {
        self.cluster.pod(pod).map(|row| row.class)
    }

    /// The class that a pod like this one has, held until [`release_class`](Self::release_class) as
    /// often as it was asked for. No pod is added.
    ///
    /// # Errors
    /// A selector that does not parse, or a full table; nothing is changed.
    pub fn create_class(&mut self, pod: &Pod) -> Result<ClassId, ApplyError> {
        self.cluster.intern_class(pod)
    }

    /// Gives back a class that [`create_class`](Self::create_class) gave, once for each time.
    pub fn release_class(&mut self, class: ClassId) {
        self.cluster.release_class(class);
    }

    /// Whether the pod is counted on a node that it is not yet known to be bound to.
    pub fn is_assumed(&self, pod: PodId) -> bool {
        let row = self.cluster.pod(pod);
        row.is_some_and(|row| row.state == PodState::Assumed)
    }

    /// The pods that are counted on a node, the latest first. As in upstream's list of them, one that goes
    /// leaves its place to the latest.
    ///
    /// Mirrors `NodeInfo.Pods` of `pkg/scheduler/framework/types.go`, from its end.
    pub fn pods_on(&self, node: NodeId) -> impl Iterator<Item = PodId> + '_ {
        self.cluster.pods_on(node.index())
    }

    /// Rows of the node table in use: one more than the largest id of a node.
    pub fn node_rows(&self) -> usize {
        self.cluster.nodes.len()
    }

    /// Feasible nodes of the last attempt or evaluation, which must be the one that gave
    /// `decision`, in the order in which they were found, each with its total; the totals are 0
    /// unless the nodes were [scored](Decision::is_scored).
    pub fn feasible(&self, decision: &Decision) -> impl Iterator<Item = (NodeId, i64)> + '_ {
        let is_whole = matches!(
            decision.outcome,
            Outcome::Scheduled(_) | Outcome::Unschedulable
        );
        let list: &[u32] = if is_whole { &self.scratch.list } else { &[] };
        let is_scored = decision.is_scored();
        list.iter().enumerate().map(move |(at, row)| {
            let total = self.scratch.totals.get(at);
            let total = total.copied().filter(|_| is_scored);
            (NodeId(*row), total.unwrap_or(0))
        })
    }

    /// Whether a namespace's object is there.
    pub fn has_namespace(&self, name: &str) -> bool {
        self.cluster.has_object(ObjectKind::Namespace, "", name)
    }

    /// Whether an object of this kind and name is there; of kinds that are not kept, always.
    pub(crate) fn has_object(&self, object: &Object) -> bool {
        let metadata = object.metadata();
        if let Some(kind) = VolumeKind::of(object) {
            return self
                .cluster
                .has_volume(kind, &metadata.namespace, &metadata.name);
        }
        let kind = ObjectKind::of(object);
        kind.is_none_or(|kind| {
            self.cluster
                .has_object(kind, &metadata.namespace, &metadata.name)
        })
    }
}
