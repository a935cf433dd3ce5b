//! `NodeName`: the node that `spec.nodeName` names, if it does.
//! Mirrors `plugins/nodename/node_name.go`.

use crate::{NodeState, Refusal, Verdict};
use berth_core::object::Pod;
use std::collections::BTreeSet;

/// The only node to be looked at.
pub fn pre_filter(pod: &Pod) -> Option<BTreeSet<String>> {
    let name = &pod.spec.node_name;
    (!name.is_empty()).then(|| BTreeSet::from([name.clone()]))
}

pub fn filter(pod: &Pod, node: &NodeState) -> Verdict {
    if pod.spec.node_name.is_empty() || pod.spec.node_name == node.name() {
        Ok(())
    } else {
        Err(Refusal::unresolvable(
            "node(s) didn't match the requested node name",
        ))
    }
}
