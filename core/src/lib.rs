//! Berth: the rules of kube-scheduler 1.37 as a deterministic library.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod id;
pub mod plugins;
pub mod quantity;

#[cfg(feature = "objects")]
mod capacity;
#[cfg(feature = "objects")]
mod decision;
#[cfg(feature = "objects")]
pub mod object;
#[cfg(feature = "objects")]
mod scheduler;

pub use quantity::Quantity;
#[cfg(feature = "objects")]
pub use {
    capacity::{Capacities, CapacityExceeded},
    decision::{AttemptError, Decision, DecisionRecord, Detail, NodeScore, Outcome, PodResult},
    scheduler::{ApplyError, Change, Fidelity, NodeSearch, NodeView, Options, Scheduler, Ties},
};
