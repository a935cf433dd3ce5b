//! Queueing hints: may an event lift what a plugin said of a waiting pod?
//!
//! Mirrors the `QueueingHintFn` of each plugin in kube-scheduler 1.37.2. One function a plugin; a
//! hint reads the class of the waiting pods, which is all that decides, and both ends of the
//! change.

mod node;
mod pod;
mod spread;
mod volume;

use super::event::{Event, Resource, action};
use super::{Item, Place, Rules};
use crate::class::{ClassView, flag};
use crate::cluster::Cluster;
use crate::cycle::plan::Plan;
use crate::id::{ClassId, PodId};
use crate::intern::Word;
use crate::planted::{self, Bug};
use crate::plugins::Plugin;
use crate::volume::VolumeKind;

/// The plugins' answers to the queue, from the cluster as it is.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) plans: &'a [Plan],
}

/// Pods that wait, as hints see them.
#[derive(Clone, Copy)]
struct Target<'a> {
    cluster: &'a Cluster,
    class: ClassView<'a>,
    /// Name of the node that their affinity pins them to; 0: none.
    pin: Word,
}

impl Rules for Judge<'_> {
    fn gate(&self, pod: PodId, item: &Item, is_preempting: bool) -> Option<Plugin> {
        let row = self.cluster.pods.get(pod.index())?;
        let class = self.cluster.class(row.class).class;
        let plan = self.plans.get(class.profile?.index())?;
        let refuses = |plugin: Plugin| match plugin {
            Plugin::SchedulingGates => class.has(flag::GATED),
            Plugin::DefaultPreemption => is_preempting,
            _ => false,
        };
        let held = |plugin: &Plugin| plan.pre_enqueues(*plugin) && refuses(*plugin);
        // The plugin that held the pod last is asked first.
        let order = [Plugin::SchedulingGates, Plugin::DefaultPreemption];
        item.gating
            .filter(|plugin| held(plugin))
            .or_else(|| order.into_iter().find(|plugin| held(plugin)))
    }

    fn hint(&self, plugin: Plugin, class: ClassId, pin: Word, event: &Event<'_>) -> bool {
        let target = Target {
            cluster: self.cluster,
            class: self.cluster.class(class),
            pin,
        };
        let is_node = event.resource == Resource::Node;
        let is_deaf = match plugin {
            Plugin::PodTopologySpread => planted::is(Bug::SpreadUnheard),
            Plugin::InterPodAffinity => planted::is(Bug::AffinityUnheard),
            Plugin::NodePorts => planted::is(Bug::PortUnheard),
            _ => {
                event.resource == Resource::Volume(VolumeKind::Claim)
                    && planted::is(Bug::ClaimUnheard)
            }
        };
        if is_deaf {
            return false;
        }
        match plugin {
            // The event alone is enough.
            Plugin::SchedulingGates | Plugin::NodeName => true,
            Plugin::NodeUnschedulable if is_node => node::unschedulable(event),
            Plugin::NodeUnschedulable => pod::tolerates_unschedulable(target, event),
            Plugin::TaintToleration if is_node => node::taints(target, event),
            Plugin::TaintToleration => !is_node,
            Plugin::NodeAffinity => node::affinity(target, event),
            Plugin::NodePorts => is_node || pod::frees_port(target, event),
            Plugin::NodeResourcesFit if is_node => node::fits(target, event),
            Plugin::NodeResourcesFit => pod::frees_room(target, event),
            Plugin::VolumeRestrictions => volume::restrictions(target, event),
            Plugin::NodeVolumeLimits => volume::limits(target, event),
            Plugin::VolumeBinding => volume::binding(target, event),
            Plugin::VolumeZone => volume::zone(target, event),
            Plugin::PodTopologySpread if is_node => spread::node(target, event),
            Plugin::PodTopologySpread => spread::pod(target, event),
            Plugin::InterPodAffinity if is_node => node::pod_affinity(target, event),
            Plugin::InterPodAffinity => pod::affinity(target, event),
            Plugin::NodeDeclaredFeatures if is_node => node::features(event),
            Plugin::NodeDeclaredFeatures => pod::features(self.cluster, event),
            // The rejectors that preemption is to help decide; it never wakes a pod itself.
            _ => false,
        }
    }
}

/// Whether a pod in this place counts as one that the scheduler is deciding on.
pub(crate) const fn is_binding(place: Place) -> bool {
    matches!(
        place,
        Place::Permit | Place::PreBind | Place::Bind | Place::Unknown
    )
}

/// Whether the event adds an object.
const fn is_add(event: &Event<'_>) -> bool {
    event.action == action::ADD
}
