//! Which nodes get a pod of a `DaemonSet`.
//!
//! Mirrors `nodeShouldRunDaemonPod` in `pkg/controller/daemon/daemon_controller.go` and
//! `AddOrUpdateDaemonPodTolerations` in `pkg/controller/daemon/util/daemonset_util.go`.

use crate::object::{Node, NodeSelectorTerm, PodSpec, Requirement, Taint, Toleration};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Names of the nodes that the template's selector, affinity and tolerations allow, in order.
pub(super) fn eligible_nodes<'a>(template: &PodSpec, nodes: &[&'a Node]) -> Vec<&'a str> {
    let mut tolerating = PodSpec {
        host_network: template.host_network,
        tolerations: template.tolerations.clone(),
        ..PodSpec::default()
    };
    add_tolerations(&mut tolerating);
    let tolerated = |taint: &Taint| {
        let mut tolerations = tolerating.tolerations.iter();
        taint.effect == "PreferNoSchedule" || tolerations.any(|one| tolerates(one, taint))
    };
    let allowed = nodes.iter().filter(|node| {
        (template.node_name.is_empty() || template.node_name == node.metadata.name)
            && is_selected(template, node)
            && node.spec.taints.iter().all(tolerated)
    });
    allowed.map(|node| node.metadata.name.as_str()).collect()
}

/// Adds what the controller makes every pod of a `DaemonSet` tolerate.
pub(super) fn add_tolerations(spec: &mut PodSpec) {
    let network = spec
        .host_network
        .then_some(("network-unavailable", "NoSchedule"));
    let all = [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ];
    for (condition, effect) in all.into_iter().chain(network) {
        let toleration = Toleration {
            key: format!("node.kubernetes.io/{condition}"),
            operator: "Exists".to_owned(),
            value: String::new(),
            effect: effect.to_owned(),
        };
        if !spec.tolerations.contains(&toleration) {
            spec.tolerations.push(toleration);
        }
    }
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    key && effect
        && match toleration.operator.as_str() {
            "" | "Equal" => toleration.value == taint.value,
            "Exists" => true,
            _ => false,
        }
}

fn is_selected(template: &PodSpec, node: &Node) -> bool {
    let mut pairs = template.node_selector.iter().flatten();
    let labelled = pairs.all(|(key, value)| node.metadata.labels.get(key) == Some(value));
    let affinity = template.affinity.as_ref();
    let affinity = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    labelled
        && required.is_none_or(|required| {
            let mut terms = required.node_selector_terms.iter();
            terms.any(|term| is_met(term, node))
        })
}

fn is_met(term: &NodeSelectorTerm, node: &Node) -> bool {
    let says_something = !(term.match_expressions.is_empty() && term.match_fields.is_empty());
    says_something
        && term.match_expressions.iter().all(|expression| {
            let value = node.metadata.labels.get(&expression.key);
            holds(expression, value.map(String::as_str))
        })
        && term
            .match_fields
            .iter()
            .all(|field| holds(field, Some(&node.metadata.name)))
}

fn holds(requirement: &Requirement, value: Option<&str>) -> bool {
    let listed = || {
        requirement
            .values
            .iter()
            .any(|listed| Some(listed.as_str()) == value)
    };
    let integers = || {
        let limit = requirement.values.first()?.parse::<i64>().ok()?;
        Some((value?.parse::<i64>().ok()?, limit))
    };
    match requirement.operator.as_str() {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => integers().is_some_and(|(value, limit)| value > limit),
        "Lt" => integers().is_some_and(|(value, limit)| value < limit),
        _ => false,
    }
}
