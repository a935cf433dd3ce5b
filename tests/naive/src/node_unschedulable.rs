//! `NodeUnschedulable`: cordoned nodes. Mirrors `plugins/nodeunschedulable/node_unschedulable.go`.

use crate::taint_toleration::tolerates;
use crate::{NodeState, Refusal, Verdict};
use berth_core::object::{Pod, Taint};

pub fn filter(pod: &Pod, node: &NodeState) -> Verdict {
    let taint = Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    };
    let tolerated = pod
        .spec
        .tolerations
        .iter()
        .any(|toleration| tolerates(toleration, &taint));
    if node.node.spec.unschedulable && !tolerated {
        Err(Refusal::unresolvable("node(s) were unschedulable"))
    } else {
        Ok(())
    }
}
