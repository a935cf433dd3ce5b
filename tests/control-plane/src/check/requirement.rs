//! Selectors and tolerations.

use super::object::{Labels, Node, Pod, Requirement, Selector, Taint, Toleration};

/// An absent selector selects nothing, an empty one everything.
pub(super) fn selects(selector: Option<&Selector>, labels: &Labels) -> bool {
    selector.is_some_and(|selector| {
        let mut equal = selector.match_labels.iter();
        equal.all(|(key, value)| labels.get(key) == Some(value))
            && holds_all(&selector.match_expressions, labels)
    })
}

/// nodeSelector and the required node affinity.
pub(super) fn wants(pod: &Pod, node: &Node) -> bool {
    let labels = &node.metadata.labels;
    let mut equal = pod.spec.node_selector.iter();
    let name = Labels::from([("metadata.name".to_owned(), node.metadata.name.clone())]);
    let required = pod.spec.affinity.node_affinity.required.as_ref();
    equal.all(|(key, value)| labels.get(key) == Some(value))
        && required.is_none_or(|selector| {
            selector.node_selector_terms.iter().any(|term| {
                let empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
                !empty
                    && holds_all(&term.match_expressions, labels)
                    && holds_all(&term.match_fields, &name)
            })
        })
}

/// Whether nothing of the node keeps the pod away.
pub(super) fn tolerates(pod: &Pod, node: &Node) -> bool {
    let cordon = node.spec.unschedulable.then(|| Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    });
    let mut taints = node.spec.taints.iter().chain(cordon.as_ref());
    taints.all(|taint| {
        let mut tolerations = pod.spec.tolerations.iter();
        taint.effect == "PreferNoSchedule" || tolerations.any(|one| covers(one, taint))
    })
}

fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let any_key = toleration.key.is_empty() && toleration.operator == "Exists";
    let value = toleration.operator == "Exists" || toleration.value == taint.value;
    effect && (any_key || toleration.key == taint.key && value)
}

fn holds_all(requirements: &[Requirement], labels: &Labels) -> bool {
    requirements
        .iter()
        .all(|requirement| holds(requirement, labels))
}

fn holds(requirement: &Requirement, labels: &Labels) -> bool {
    let value = labels.get(&requirement.key);
    let within = value.is_some_and(|value| requirement.values.contains(value));
    let number = |text: &String| text.parse::<i64>().ok();
    let bound = requirement.values.first().and_then(number);
    let pair = value.and_then(number).zip(bound);
    match requirement.operator.as_str() {
        "In" => within,
        "NotIn" => !within,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => pair.is_some_and(|(value, bound)| value > bound),
        "Lt" => pair.is_some_and(|(value, bound)| value < bound),
        other => panic!("unknown operator {other:?}"),
    }
}
