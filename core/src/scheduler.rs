//! The one owner. (Interface fixed; body being written.)

use crate::capacity::{Capacities, CapacityExceeded};
use crate::decision::{Decision, DecisionRecord, Detail};
use crate::id::{NodeId, PodId};
use crate::object::Object;
use crate::object::config::KubeSchedulerConfiguration;

/// How faithful to kube-scheduler the search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// Sampling, rotation and ties as kube-scheduler with `parallelism: 1`.
    #[default]
    Exact,
    /// Every node is looked at; ties go to the first node at or after the rotation index.
    Best,
}

/// Which of several best nodes is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    Heap,
    FirstName,
    First,
    Random,
}

/// How many nodes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeSearch {
    All,
    Sampled,
}

/// Choices beside the configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub fidelity: Fidelity,
    /// `None`: the fidelity's own.
    pub ties: Option<Ties>,
    /// `None`: the fidelity's own.
    pub node_search: Option<NodeSearch>,
    pub seed: u64,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Modified,
    Deleted,
}

/// Why an object was not applied; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    Capacity(CapacityExceeded),
    /// An object of this kind and name is there already.
    AlreadyExists,
    /// No object of this kind and name is there.
    NotFound,
    /// The object has no name.
    NoName,
    /// A label selector of the pod does not parse.
    Selector(&'static str),
}

pub struct Scheduler {}

impl Scheduler {
    /// Takes all memory that it will ever need.
    pub fn new(
        _config: &KubeSchedulerConfiguration,
        _options: Options,
        _capacities: Capacities,
    ) -> Result<Self, crate::object::config::ConfigErrors> {
        todo!()
    }
    /// Kinds that no plugin reads (Deployment, PriorityClass, ...) change nothing.
    pub fn apply(&mut self, _change: Change, _object: &Object) -> Result<(), ApplyError> {
        todo!()
    }
    pub fn find_pod(&self, _namespace: &str, _name: &str) -> Option<PodId> {
        todo!()
    }
    pub fn find_node(&self, _name: &str) -> Option<NodeId> {
        todo!()
    }
    /// One attempt: decide, and assume the pod on the chosen node.
    pub fn schedule(&mut self, _pod: PodId) -> Decision {
        todo!()
    }
    /// The same question with nothing changed; a bound pod is judged as if it were not bound.
    pub fn evaluate(&mut self, _pod: PodId) -> Decision {
        todo!()
    }
    /// Details of the last attempt or evaluation.
    pub fn record(&self, _decision: &Decision, _detail: Detail) -> DecisionRecord {
        todo!()
    }
    /// Nodes in the order in which they came.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        core::iter::empty()
    }
    pub fn node(&self, _node: NodeId) -> NodeView<'_> {
        todo!()
    }
    /// Node a pod is bound to or assumed on.
    pub fn node_of(&self, _pod: PodId) -> Option<NodeId> {
        todo!()
    }
    pub fn state_hash(&self) -> u64 {
        todo!()
    }
}

/// A node as the scheduler sees it.
pub struct NodeView<'a> {
    pub name: &'a str,
    /// Pods bound to it or assumed on it.
    pub pods: u32,
    pub pods_allocatable: i64,
    pub unschedulable: bool,
    scheduler: &'a Scheduler,
}

impl<'a> NodeView<'a> {
    /// (resource name, requested, allocatable); cpu in milli-cores, all else in whole units;
    /// cpu, memory, ephemeral-storage first, then by name.
    pub fn resources(&self) -> impl Iterator<Item = (&'a str, i128, i64)> + 'a {
        let _ = self.scheduler;
        core::iter::empty()
    }
}
