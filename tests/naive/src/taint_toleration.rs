//! `TaintToleration`: taints that the pod tolerates. Mirrors
//! `plugins/tainttoleration/taint_toleration.go` and `api/core/v1/toleration.go`.

use crate::{NodeState, Refusal, Verdict};
use berth_core::object::{Node, Pod, Taint, Toleration};

pub fn filter(pod: &Pod, node: &NodeState) -> Verdict {
    if has_untolerated_taint(pod, &node.node) {
        Err(Refusal::unresolvable("node(s) had untolerated taint(s)"))
    } else {
        Ok(())
    }
}

/// Number of taints that would rather keep the pod away.
pub fn score(pod: &Pod, node: &NodeState) -> i64 {
    let tolerations: Vec<&Toleration> = pod
        .spec
        .tolerations
        .iter()
        .filter(|toleration| {
            toleration.effect.is_empty() || toleration.effect == "PreferNoSchedule"
        })
        .collect();
    let taints = node.node.spec.taints.iter();
    taints
        .filter(|taint| taint.effect == "PreferNoSchedule")
        .filter(|taint| {
            !tolerations
                .iter()
                .any(|toleration| tolerates(toleration, taint))
        })
        .count() as i64
}

/// The fewer, the better; 100 for all if nobody has any.
pub fn normalize(scores: &mut [i64]) {
    let max = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in scores {
        *score = if max == 0 {
            100
        } else {
            100 - 100 * *score / max
        };
    }
}

/// Whether a taint keeps the pod off the node.
pub fn has_untolerated_taint(pod: &Pod, node: &Node) -> bool {
    node.spec.taints.iter().any(|taint| {
        (taint.effect == "NoSchedule" || taint.effect == "NoExecute")
            && !pod
                .spec
                .tolerations
                .iter()
                .any(|toleration| tolerates(toleration, taint))
    })
}

/// Whether one toleration covers one taint. `Gt` and `Lt` need a feature gate that is off.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == taint.effect;
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    let value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    effect && key && value
}
