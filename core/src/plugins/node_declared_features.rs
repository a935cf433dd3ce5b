//! `NodeDeclaredFeatures`: a node must declare the features that the pod's spec needs.
//!
//! Mirrors `plugins/nodedeclaredfeatures` and `component-helpers/nodedeclaredfeatures`. Reason:
//! [`REASON`], unresolvable.

use crate::class::all_containers;
use crate::object::Pod;
use alloc::string::String;

/// Given for a node that lacks one of the features.
pub const REASON: &str = "node(s) didn't match Pod's required features";

/// The registered features that a pod's spec can ask for; their places are bits.
const FEATURES: [&str; 3] = [
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
];

/// Features that the pod needs, as bits.
pub(crate) fn required(pod: &Pod) -> u32 {
    let main = || pod.spec.containers.iter().chain(&pod.spec.init_containers);
    let needs = [
        main()
            .flat_map(|container| &container.restart_policy_rules)
            .any(|rule| rule.action == "RestartAllContainers"),
        pod.spec.host_network && pod.spec.host_users == Some(false),
        all_containers(pod)
            .flat_map(|container| &container.volume_mounts)
            .any(|mount| !mount.bind_mount_options.is_empty()),
    ];
    needs
        .iter()
        .enumerate()
        .map(|(bit, needed)| u32::from(*needed) << bit)
        .sum()
}

/// Features that a node declares, as bits; unknown names count for nothing.
pub(crate) fn declared(names: &[String]) -> u32 {
    FEATURES
        .iter()
        .enumerate()
        .filter(|(_, feature)| names.iter().any(|name| name == *feature))
        .map(|(bit, _)| 1 << bit)
        .sum()
}

/// Hash of a node's list, for which order counts; changes of it wake pods.
pub(crate) fn hash(names: &[String]) -> u32 {
    let hashes = names
        .iter()
        .map(|name| crate::intern::hash_bytes(name.as_bytes()));
    let folded = hashes.fold(names.len() as u64, |sum, hash| sum.rotate_left(5) ^ hash);
    (folded ^ folded >> 32) as u32
}
