//! `NodePorts`: host ports. Mirrors `plugins/nodeports/node_ports.go` and the `HostPortInfo` of
//! `kube-scheduler/framework/types.go`.
//!
//! Differs from kube-scheduler: where two pods of a node have the same port, it stays taken until
//! both are gone.

use crate::{NodeState, Refusal, Verdict};
use berth_core::object::{ContainerPort, Pod};

const ANY: &str = "0.0.0.0";

/// The pod's host ports; none means that the plugin has nothing to do.
pub fn pre_filter(pod: &Pod) -> Option<Vec<ContainerPort>> {
    let ports = host_ports(pod);
    (!ports.is_empty()).then_some(ports)
}

pub fn filter(wanted: &[ContainerPort], node: &NodeState) -> Verdict {
    let used: Vec<ContainerPort> = node
        .pods
        .iter()
        .flat_map(|placed| host_ports(&placed.pod))
        .collect();
    if wanted
        .iter()
        .any(|port| used.iter().any(|other| conflict(port, other)))
    {
        Err(Refusal::unschedulable(
            "node(s) didn't have free ports for the requested pod ports",
        ))
    } else {
        Ok(())
    }
}

/// Host ports of containers and sidecars, with defaults filled in.
fn host_ports(pod: &Pod) -> Vec<ContainerPort> {
    let sidecars = pod
        .spec
        .init_containers
        .iter()
        .filter(|container| container.is_sidecar());
    pod.spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port > 0)
        .map(|port| {
            let mut port = port.clone();
            if port.host_ip.is_empty() {
                ANY.clone_into(&mut port.host_ip);
            }
            if port.protocol.is_empty() {
                "TCP".clone_into(&mut port.protocol);
            }
            port
        })
        .collect()
}

fn conflict(one: &ContainerPort, other: &ContainerPort) -> bool {
    one.host_port == other.host_port
        && one.protocol == other.protocol
        && (one.host_ip == ANY || other.host_ip == ANY || one.host_ip == other.host_ip)
}
