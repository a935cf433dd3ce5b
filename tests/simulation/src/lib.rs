//! The whole scheduler under one seed: a model API server, faults, and checkers that share no code
//! with core.
//!
//! 1. [`setup`]: what a seed makes before its first step; [`action`]: its script, one step a number;
//!    [`fault`]: what may go wrong.
//!    [`storage`]: recipes of volumes and claims.
//! 2. `server`: objects with versions and their watches; `client`: what the scheduler knows of them.
//! 3. `simulation`: one step after the other; `expected`: what should be known of each pod.
//! 4. `check`: what must hold after every step, by the numbers of the invariants in its files.
//! 5. [`mod@run`]: a seed from its first step to its last check; [`mod@shrink`]: the least that still
//!    fails.
//!
//! A script is data: a step's draw depends on the seed and the step's number alone, so steps and
//! faults can be left out and the rest stays what it was.

// A helper of tests says what it found by panicking.
#![allow(clippy::missing_panics_doc)]

pub mod action;
mod check;
mod client;
mod expected;
pub mod fault;
mod random;
pub mod run;
mod server;
pub mod setup;
pub mod shrink;
mod simulation;
pub mod storage;
mod violation;

pub use simulation::{Looks, Simulation};
pub use violation::{Check, Violation};
