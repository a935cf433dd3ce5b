//! Hints on nodes that come and change.

use super::Target;
use crate::class::Section;
use crate::intern::Word;
use crate::kernel::{CPU, EPHEMERAL, MEMORY};
use crate::plugins::{node_affinity, taint_toleration};
use crate::queue::event::{Event, NodeSide};
use crate::selector::{NodeFacts, items};

/// Added schedulable, or no longer cordoned. Mirrors NodeUnschedulable.
pub(super) fn unschedulable(event: &Event<'_>) -> bool {
    let (old, new) = event.nodes();
    new.is_some_and(|new| !new.unschedulable) && old.is_none_or(|old| old.unschedulable)
}

/// Every hard taint is tolerated now, and was not before. Mirrors TaintToleration.
pub(super) fn taints(target: Target<'_>, event: &Event<'_>) -> bool {
    let refused = |node: NodeSide<'_>| taint_toleration::refuses(target.class, node.taints);
    let (old, new) = event.nodes();
    new.is_some_and(|new| !refused(new)) && old.is_none_or(refused)
}

/// Selector, required affinity and added affinity match now, and the pod's did not before.
/// Mirrors NodeAffinity.
pub(super) fn affinity(target: Target<'_>, event: &Event<'_>) -> bool {
    let (old, new) = event.nodes();
    let Some(new) = new else {
        return false;
    };
    target.added_affinity_matches(new)
        && target.affinity_matches(new)
        && old.is_none_or(|old| !target.affinity_matches(old))
}

impl Target<'_> {
    fn added_affinity_matches(&self, node: NodeSide<'_>) -> bool {
        let terms = self.cluster.added_terms(self.class);
        terms.is_none_or(|terms| node_affinity::any_term(terms, facts(node), &self.cluster.texts))
    }

    fn affinity_matches(&self, node: NodeSide<'_>) -> bool {
        !node_affinity::refuses(self.class, facts(node), &self.cluster.texts)
            && (self.pin == 0 || self.pin == node.name)
    }
}

fn facts(node: NodeSide<'_>) -> NodeFacts<'_> {
    NodeFacts {
        name: node.name,
        labels: node.labels,
    }
}

/// The pod fits the empty node, and the node is new or has more of something that it asks for.
/// Mirrors NodeResourcesFit, which asks here without the ignored resources of its args.
pub(super) fn fits(target: Target<'_>, event: &Event<'_>) -> bool {
    let (old, new) = event.nodes();
    let Some(new) = new else {
        return false;
    };
    let asked = target.class.class.amounts.spec;
    let main = [CPU, MEMORY, EPHEMERAL].map(|resource| {
        let amount = asked.get(resource).copied().unwrap_or(0);
        (amount, resource)
    });
    let fits = new.pods() >= 1
        && main
            .iter()
            .all(|(amount, resource)| *amount <= 0 || *amount <= new.main(*resource))
        && target
            .class
            .scalars()
            .all(|scalar| scalar.spec <= 0 || scalar.spec <= new.scalar(scalar.resource.0));
    let Some(old) = old else {
        return fits;
    };
    let grew = new.pods() > old.pods()
        || main
            .iter()
            .any(|(amount, resource)| *amount > 0 && new.main(*resource) > old.main(*resource))
        || target.class.scalars().any(|scalar| {
            let resource = scalar.resource.0;
            scalar.spec > 0 && new.scalar(resource) > old.scalar(resource)
        });
    fits && grew
}

/// A key of a required term came, or changed its value; of anti-affinity also went; any new node
/// for a pod with anti-affinity. Mirrors InterPodAffinity.
pub(super) fn pod_affinity(target: Target<'_>, event: &Event<'_>) -> bool {
    let (old, new) = event.nodes();
    let Some(new) = new else {
        return false;
    };
    let keys =
        |section| items(target.class.section(section)).filter_map(|term| term.first().copied());
    let value =
        |node: Option<NodeSide<'_>>, key: Word| node.and_then(|node| node.labels.value(key));
    let near = keys(Section::Affinity).any(|key| {
        let now = new.labels.value(key);
        now.is_some() && now != value(old, key)
    });
    let apart = keys(Section::AntiAffinity).any(|key| {
        let before = value(old, key);
        old.is_none() || before.is_some() && new.labels.value(key) != before
    });
    near || apart
}

/// The list of declared features is new or differs. Mirrors NodeDeclaredFeatures.
pub(super) fn features(event: &Event<'_>) -> bool {
    let (old, new) = event.nodes();
    let features = |node: Option<NodeSide<'_>>| node.map(|node| node.features);
    features(old) != features(new)
}
