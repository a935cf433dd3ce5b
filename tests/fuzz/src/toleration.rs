//! Taints and tolerations: the engine's words against the twin's texts.

use super::choices::Choices;
use super::twin::Twin;
use berth_core::object::{Object, Taint, Toleration};

const EFFECTS: [&str; 5] = ["", "NoSchedule", "PreferNoSchedule", "NoExecute", "Other"];
const OPERATORS: [&str; 6] = ["", "Equal", "Exists", "Gt", "Lt", "exists"];
/// The keys by which nodes are cordoned stand among them.
const KEYS: [&str; 5] = [
    "",
    "a",
    "example.com/x",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
];

/// Nodes with taints, and a pod with tolerations.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let mut twin = Twin::new();
    for name in ["n1", "n2", "n3"] {
        let mut node = choices.node(name);
        node.spec.unschedulable = choices.byte() > 0xc0;
        node.spec.taints = choices.list(4, |own| Taint {
            key: own.text(&KEYS),
            value: own.value(),
            effect: own.text(&EFFECTS),
        });
        twin.add(&Object::Node(Box::new(node)));
    }
    let mut pod = choices.pod("asking");
    pod.spec.tolerations = choices.list(4, |own| Toleration {
        key: own.text(&KEYS),
        operator: own.text(&OPERATORS),
        value: own.value(),
        effect: own.text(&EFFECTS),
    });
    twin.agree_on(&pod);
}
