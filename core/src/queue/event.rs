//! Events: what happened to an object, and which plugins read it.
//!
//! Mirrors `pkg/scheduler/framework/events.go`, `MatchClusterEvents` in `framework/types.go`, and
//! `EventsToRegister` of each plugin in kube-scheduler 1.37.2.

use super::plugin_set::PluginSet;
use crate::id::{ClassId, PodId};
use crate::intern::{Word, amount};
use crate::kernel::{CPU, EPHEMERAL, MEMORY};
use crate::plugins::Plugin;
use crate::selector::{LabelsView, split_item};

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Resource {
    /// A pod that has a node.
    AssignedPod,
    /// The waiting pod itself.
    TargetPod,
    Node,
    /// Everything; reaches every pod, or the one that it carries.
    Any,
}

/// What happened, as bits.
pub(crate) mod action {
    pub(crate) const ADD: u16 = 1;
    pub(crate) const DELETE: u16 = 1 << 1;
    pub(crate) const NODE_ALLOCATABLE: u16 = 1 << 2;
    pub(crate) const NODE_LABEL: u16 = 1 << 3;
    pub(crate) const NODE_TAINT: u16 = 1 << 4;
    pub(crate) const NODE_DECLARED_FEATURE: u16 = 1 << 7;
    pub(crate) const POD_LABEL: u16 = 1 << 9;
    pub(crate) const POD_SCALE_DOWN: u16 = 1 << 10;
    pub(crate) const POD_SCALE_UP: u16 = 1 << 11;
    pub(crate) const POD_TOLERATION: u16 = 1 << 12;
    pub(crate) const POD_GATES_ELIMINATED: u16 = 1 << 13;
    /// Any update: matched only by those that register for every one.
    pub(crate) const UPDATE: u16 = (1 << 15) - 1 - ADD - DELETE;
    pub(crate) const ALL: u16 = (1 << 15) - 1;
}

/// One row a registration: plugin, resource, actions.
const REGISTERED: [(Plugin, Resource, u16); 22] = {
    use Plugin as P;
    use Resource::{AssignedPod, Node, TargetPod};
    use action as a;
    [
        (P::SchedulingGates, TargetPod, a::POD_GATES_ELIMINATED),
        (P::NodeName, Node, a::ADD),
        (P::NodeUnschedulable, Node, a::ADD | a::NODE_TAINT),
        (P::NodeUnschedulable, TargetPod, a::POD_TOLERATION),
        (P::TaintToleration, Node, a::ADD | a::NODE_TAINT),
        (P::TaintToleration, TargetPod, a::POD_TOLERATION),
        (P::NodeAffinity, Node, a::ADD | a::NODE_LABEL),
        (P::NodePorts, AssignedPod, a::DELETE),
        (P::NodePorts, Node, a::ADD),
        (P::NodeResourcesFit, AssignedPod, a::DELETE),
        (P::NodeResourcesFit, Node, a::ADD | a::NODE_ALLOCATABLE),
        (P::NodeResourcesFit, AssignedPod, a::POD_SCALE_DOWN),
        (P::NodeResourcesFit, TargetPod, a::POD_SCALE_DOWN),
        (
            P::PodTopologySpread,
            AssignedPod,
            a::ADD | a::DELETE | a::POD_LABEL,
        ),
        (
            P::PodTopologySpread,
            TargetPod,
            a::POD_TOLERATION | a::POD_LABEL,
        ),
        (
            P::PodTopologySpread,
            Node,
            a::ADD | a::DELETE | a::NODE_LABEL | a::NODE_TAINT,
        ),
        (
            P::InterPodAffinity,
            AssignedPod,
            a::ADD | a::DELETE | a::POD_LABEL,
        ),
        (P::InterPodAffinity, TargetPod, a::POD_LABEL),
        (P::InterPodAffinity, Node, a::ADD | a::NODE_LABEL),
        (P::DefaultPreemption, AssignedPod, a::DELETE),
        (
            P::NodeDeclaredFeatures,
            Node,
            a::ADD | a::NODE_DECLARED_FEATURE,
        ),
        (P::NodeDeclaredFeatures, TargetPod, a::UPDATE),
    ]
};

/// Plugins that registered for the event; rules outside the core read every one.
pub(crate) fn readers(resource: Resource, action: u16) -> PluginSet {
    let mut readers = PluginSet::EXTERNAL;
    for (plugin, registered, actions) in REGISTERED {
        if registered == resource && actions & action != 0 && action <= actions {
            readers.insert(plugin);
        }
    }
    readers
}

/// A pod in an event. Its class is held as long as the event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PodSide {
    pub(crate) pod: PodId,
    pub(crate) class: ClassId,
    /// It has a node, or is nominated to one.
    pub(crate) is_placed: bool,
}

/// A node in an event: what hints read of it, as words.
#[derive(Clone, Copy)]
pub(crate) struct NodeSide<'a> {
    pub(crate) name: Word,
    pub(crate) unschedulable: bool,
    /// Hash of the ordered list of declared features.
    pub(crate) features: Word,
    /// Cpu (milli), memory, ephemeral storage and pods.
    amounts: &'a [Word],
    /// `[resource, amount]` of every other resource.
    scalars: &'a [Word],
    pub(crate) labels: LabelsView<'a>,
    pub(crate) taints: &'a [Word],
}

/// Words of an amount.
pub(crate) const AMOUNT: usize = 3;

impl<'a> NodeSide<'a> {
    /// Reads what [`super::side::write`] wrote.
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        let [name, unschedulable, features, rest @ ..] = words else {
            return None;
        };
        let (amounts, rest) = rest.split_at_checked(AMOUNT * 4)?;
        let (scalars, rest) = split_item(rest)?;
        let (labels, rest) = split_item(rest)?;
        let (taints, _) = split_item(rest)?;
        Some(Self {
            name: *name,
            unschedulable: *unschedulable != 0,
            features: *features,
            amounts,
            scalars,
            labels: LabelsView(labels),
            taints,
        })
    }

    fn amount_at(&self, place: usize) -> i64 {
        self.amounts
            .chunks_exact(AMOUNT)
            .nth(place)
            .map_or(0, amount)
    }

    /// Allocatable cpu (milli), memory and ephemeral storage (bytes), by their place in columns.
    pub(crate) fn main(&self, resource: usize) -> i64 {
        debug_assert!([CPU, MEMORY, EPHEMERAL].contains(&resource));
        self.amount_at(resource)
    }

    /// Pods that it may hold.
    pub(crate) fn pods(&self) -> i64 {
        self.amount_at(3)
    }

    /// Allocatable amount of another resource.
    pub(crate) fn scalar(&self, resource: u32) -> i64 {
        let mut scalars = self.scalars.chunks_exact(1 + AMOUNT);
        let found = scalars.find(|words| words.first() == Some(&resource));
        found.and_then(|words| words.get(1..)).map_or(0, amount)
    }

    /// Whether anything allocatable differs.
    pub(crate) fn same_amounts(&self, other: &Self) -> bool {
        self.amounts == other.amounts && self.scalars == other.scalars
    }
}

/// One end of a change.
#[derive(Clone, Copy, Default)]
pub(crate) enum Side<'a> {
    #[default]
    None,
    Pod(PodSide),
    Node(NodeSide<'a>),
}

/// What happened, with the object before and after.
#[derive(Clone, Copy)]
pub(crate) struct Event<'a> {
    pub(crate) resource: Resource,
    pub(crate) action: u16,
    pub(crate) old: Side<'a>,
    pub(crate) new: Side<'a>,
}

impl<'a> Event<'a> {
    pub(crate) fn readers(&self) -> PluginSet {
        readers(self.resource, self.action)
    }

    pub(crate) const fn is_wildcard(&self) -> bool {
        matches!(self.resource, Resource::Any)
    }

    /// The pods before and after.
    pub(crate) const fn pods(&self) -> (Option<PodSide>, Option<PodSide>) {
        (pod(self.old), pod(self.new))
    }

    /// The nodes before and after.
    pub(crate) const fn nodes(&self) -> (Option<NodeSide<'a>>, Option<NodeSide<'a>>) {
        (node(self.old), node(self.new))
    }
}

const fn pod(side: Side<'_>) -> Option<PodSide> {
    match side {
        Side::Pod(pod) => Some(pod),
        _ => None,
    }
}

const fn node(side: Side<'_>) -> Option<NodeSide<'_>> {
    match side {
        Side::Node(node) => Some(node),
        _ => None,
    }
}
