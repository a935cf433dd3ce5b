//! Node selectors and label selectors: the engine's words against the twin's texts.

use super::choices::Choices;
use super::twin::Twin;
use berth_core::object::{
    Affinity, NodeAffinity, NodeSelector, Object, PodAffinity, PodAffinityTerm,
    PreferredSchedulingTerm,
};

/// Nodes with labels, pods on them, and a pod with selectors of every kind.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let mut twin = Twin::new();
    for name in ["n1", "n2", "n3"] {
        let mut node = choices.node(name);
        node.metadata
            .labels
            .insert("kubernetes.io/hostname".into(), name.into());
        twin.add(&Object::Node(Box::new(node)));
    }
    for (name, node) in [("p1", "n1"), ("p2", "n2")] {
        let mut pod = choices.pod(name);
        pod.spec.node_name = node.into();
        twin.add(&Object::Pod(Box::new(pod)));
    }
    let mut pod = choices.pod("asking");
    pod.spec.node_selector = choices.maybe(Choices::labels);
    let required = choices.maybe(|own| NodeSelector {
        node_selector_terms: own.list(3, Choices::node_term),
    });
    let preferred = choices.maybe(|own| {
        own.list(3, |own| PreferredSchedulingTerm {
            weight: i32::from(own.byte()),
            preference: own.node_term(),
        })
    });
    let far = choices.maybe(|own| PodAffinity {
        required: own.list(2, |own| PodAffinityTerm {
            label_selector: own.maybe(Choices::label_selector),
            topology_key: "kubernetes.io/hostname".into(),
            ..PodAffinityTerm::default()
        }),
        preferred: Vec::new(),
    });
    pod.spec.affinity = Some(Affinity {
        node_affinity: Some(NodeAffinity {
            required,
            preferred,
        }),
        pod_affinity: None,
        pod_anti_affinity: far,
    });
    twin.agree_on(&pod);
}
