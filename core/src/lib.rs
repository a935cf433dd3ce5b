//! The rules of kube-scheduler 1.37 as a deterministic library: the same objects, configuration and
//! seed give the same decision, on every machine.
//!
//! Nothing here knows a clock, a file, a network or a thread. A [`Scheduler`] takes all its memory
//! when it is made ([`Capacities::bytes`]) and refuses aloud what does not fit.
//!
//! The flow, stage by stage:
//!
//! 1. [`object`]: Kubernetes objects, reduced to what scheduling reads; decoding, validation,
//!    defaulting, the pods of workloads. [`profile`]: the configuration, resolved.
//! 2. [`Scheduler::apply`]: strings become ids, pods that are equal share a class.
//! 3. [`Scheduler::schedule`]: filter, score, normalize, select; the pod is assumed on its node.
//!    [`Scheduler::evaluate`] asks the same and changes nothing.
//! 4. [`Scheduler::record`]: the [`DecisionRecord`], with reasons, scores and upstream's message.
//!
//! Around this runs the loop of a scheduler, in the time that the caller says:
//! [`Scheduler::schedule_one`] pops a pod, tries it and brings it back if need be, with preemption;
//! [`Scheduler::bound`] says what became of a binding, [`Scheduler::advance`] that time has passed,
//! and [`Scheduler::apply`] wakes the pods that a change may help.
//!
//! [`plugins`] is the table of plugins, [`kernel`] scores 64 nodes at a time.
//!
//! ```
//! use berth_core::object::{Node, Object, Pod, config::KubeSchedulerConfiguration};
//! use berth_core::{Capacities, Change, Detail, Options, Scheduler};
//!
//! let config = KubeSchedulerConfiguration::default();
//! let mut scheduler = Scheduler::new(&config, Options::default(), Capacities::default())?;
//! let node: Node = serde_json::from_str(
//!     r#"{"metadata": {"name": "n1"},
//!         "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}"#,
//! )?;
//! let pod: Pod = serde_json::from_str(
//!     r#"{"metadata": {"name": "web", "namespace": "default"},
//!         "spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": "5"}}}]}}"#,
//! )?;
//! scheduler.apply(Change::Added, &Object::Node(Box::new(node)))?;
//! scheduler.apply(Change::Added, &Object::Pod(Box::new(pod)))?;
//!
//! let id = scheduler.find_pod("default", "web").ok_or("no such pod")?;
//! let decision = scheduler.schedule(id);
//! let record = scheduler.record(&decision, Detail::Reasons);
//! assert_eq!(record.message.as_deref(), Some("0/1 nodes are available: 1 Insufficient cpu."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
// Core does not panic: what the compiler does not prove is written so that it cannot. Tests may.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::panic_in_result_fn,
        clippy::string_slice,
        clippy::todo,
        clippy::unimplemented,
        clippy::unreachable,
        clippy::unwrap_in_result,
        clippy::unwrap_used
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod id;
pub mod kernel;
pub mod node_set;
pub mod plugins;
pub mod quantity;

#[cfg(feature = "objects")]
mod arena;
#[cfg(feature = "objects")]
mod batch;
#[cfg(feature = "objects")]
mod capacity;
#[cfg(feature = "objects")]
mod class;
#[cfg(feature = "objects")]
mod cluster;
#[cfg(feature = "objects")]
mod cycle;
#[cfg(feature = "objects")]
mod decision;
#[cfg(feature = "objects")]
mod fixed_vec;
#[cfg(feature = "objects")]
pub mod intake;
#[cfg(feature = "objects")]
mod intern;
#[cfg(feature = "objects")]
pub mod object;
/// Test-only; see the feature `planted-bugs`.
#[cfg(feature = "objects")]
#[cfg_attr(not(feature = "planted-bugs"), allow(dead_code))]
mod planted;
#[cfg(feature = "objects")]
mod preemption;
#[cfg(feature = "objects")]
pub mod profile;
#[cfg(feature = "objects")]
mod queue;
#[cfg(feature = "objects")]
pub mod requests;
#[cfg(feature = "objects")]
mod scheduler;
#[cfg(feature = "objects")]
mod selector;
#[cfg(feature = "state-file")]
mod state_file;
#[cfg(feature = "objects")]
mod table;
#[cfg(feature = "objects")]
mod toleration;
#[cfg(feature = "objects")]
mod volume;

#[cfg(feature = "alloc")]
pub use node_set::NodeSet;
#[cfg(feature = "planted-bugs")]
pub use planted::{Bug, plant};
pub use quantity::Quantity;
#[cfg(all(feature = "state-file", feature = "testing"))]
pub use state_file::framed as framed_state;
#[cfg(feature = "state-file")]
pub use state_file::{StateError, VERSION as STATE_VERSION};
#[cfg(feature = "objects")]
pub use {
    capacity::{BYTES_MAX, Capacities, CapacityExceeded, TOPOLOGY_KEYS_MAX},
    cycle::extender::ExtenderNodes,
    cycle::external::EXTERNAL_PLUGINS_MAX,
    decision::{
        AttemptError, BoundClaim, Decision, DecisionRecord, Detail, ExtenderTexts, NodeScore,
        Nomination, Outcome, PodResult, PostFilter, Reason,
    },
    preemption::{Candidates, Victim, VictimKind},
    queue::{PluginSet, QueueCounts},
    scheduler::{
        ApplyError, BindOutcome, Change, CreateError, FORKS_MAX, Fidelity, Hooks, NoHooks,
        NodeSearch, NodeView, Options, Permit, QueuePart, Reserve, Scheduler, Ties, VolumeAction,
        VolumesBound,
    },
};
