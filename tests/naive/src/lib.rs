//! The rules of kube-scheduler 1.37.2 as plain loops: slow, and meant to be obviously right.
//!
//! This is the specification that berth-core's engine is compared with, so it shares nothing with
//! it: no interned strings, no ids, no incremental counts. Every decision walks all nodes and all
//! pods. It follows upstream's Go source file by file:
//!
//! 1. [`Cluster`]: nodes with lists of pods, and what selects pods; node order and image counts;
//! 2. `requests`: what a pod asks for, read in upstream's four ways; `selector`: labels; `storage`:
//!    volumes and their claims;
//! 3. one file a plugin, under upstream's name;
//! 4. [`Cluster::decide`], from pre-filter to the choice.
//!
//! Differences from upstream are Berth's listed ones: sums saturate instead of wrapping, a request
//! beyond `i64` fits nowhere, host ports are counted instead of being a set.
//!
//! Volumes that placed pods promise to their claims are in `reserve`, for who plays the loop.
//!
//! Not here: device claims, nominations, preemption, the queue. Pods that need the first are refused
//! by the engine before any rule is asked.

pub mod bind;
mod cluster;
mod cycle;
mod image_locality;
mod inter_pod_affinity;
mod logarithm;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_balanced_allocation;
mod node_resources_fit;
mod node_unschedulable;
mod node_volume_limits;
mod pod_topology_spread;
mod requests;
mod reserve;
mod select;
mod selector;
mod storage;
mod taint_toleration;
mod volume_binding;
mod volume_restrictions;
mod volume_zone;

pub use cluster::{Cluster, Image, NodeState, Placed};
pub use cycle::{Options, Search};
pub use requests::{Amounts, Requested};
pub use reserve::{Promise, Promises};
pub use storage::Storage;

pub use select::Ties;

/// Why a plugin refuses a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    /// No preemption can help.
    unresolvable: bool,
    reasons: Vec<String>,
}

impl Refusal {
    /// Preemption may help.
    fn unschedulable(reason: &str) -> Self {
        Self {
            unresolvable: false,
            reasons: vec![reason.to_owned()],
        }
    }

    /// Preemption cannot help.
    fn unresolvable(reason: &str) -> Self {
        Self {
            unresolvable: true,
            reasons: vec![reason.to_owned()],
        }
    }
}

/// Verdict of a filter on one node.
type Verdict = Result<(), Refusal>;
