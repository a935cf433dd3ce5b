//! `NodeDeclaredFeatures`: features of the kubelet that the pod needs. Mirrors
//! `plugins/nodedeclaredfeatures/nodedeclaredfeatures.go` and the registry in
//! `component-helpers/nodedeclaredfeatures/features`, of which only three are ever inferred.

use crate::{NodeState, Refusal, Verdict};
use berth_core::object::Pod;

/// Features that the pod needs; none means that the plugin has nothing to do.
pub fn pre_filter(pod: &Pod) -> Option<Vec<&'static str>> {
    let spec = &pod.spec;
    let restarts_all = spec
        .containers
        .iter()
        .chain(&spec.init_containers)
        .flat_map(|container| &container.restart_policy_rules)
        .any(|rule| rule.action == "RestartAllContainers");
    let own_users_on_host_network = spec.host_network && spec.host_users == Some(false);
    let bind_options = spec
        .containers
        .iter()
        .chain(&spec.init_containers)
        .chain(&spec.ephemeral_containers)
        .flat_map(|container| &container.volume_mounts)
        .any(|mount| !mount.bind_mount_options.is_empty());

    let needed: Vec<&str> = [
        (restarts_all, "RestartAllContainersOnContainerExits"),
        (
            own_users_on_host_network,
            "UserNamespacesHostNetworkSupport",
        ),
        (bind_options, "VolumeBindMountOptions"),
    ]
    .into_iter()
    .filter_map(|(is_needed, feature)| is_needed.then_some(feature))
    .collect();
    (!needed.is_empty()).then_some(needed)
}

pub fn filter(needed: &[&str], node: &NodeState) -> Verdict {
    let declared = &node.node.status.declared_features;
    if needed
        .iter()
        .all(|feature| declared.iter().any(|known| known == feature))
    {
        Ok(())
    } else {
        Err(Refusal::unresolvable(
            "node(s) didn't match Pod's required features",
        ))
    }
}
