//! A real control plane in a test, work for its scheduler, and a judge of what became of it.
//!
//! - [`control_plane`]: etcd and kube-apiserver of upstream, started for one test; schedulers.
//! - [`process`]: one process, which can be stopped, killed, paused and started again.
//! - [`authority`]: certificates of the test's own.
//! - [`api`]: the API as one of its users, by paths and JSON values.
//! - [`audit`]: what the API server was asked, by whom, and how it answered.
//! - [`load`]: nodes and a mixture of pods, and what is expected of the odd ones.
//! - [`check`]: a recount of the whole cluster by rules of its own; it shares no code with core.
//! - [`settle`]: when schedulers have done all that they can, and that they did it lawfully.
//! - [`port`]: ports that nobody uses.
//! - [`wait`]: waiting for what must come true.

// A helper of tests says what it found by panicking; that is its use, not a case to be warned of.
#![allow(clippy::missing_panics_doc)]
// Errors are the client's: what the API server said, or that it said nothing.
#![allow(clippy::missing_errors_doc)]

pub mod api;
pub mod audit;
pub mod authority;
pub mod check;
pub mod control_plane;
pub mod load;
pub mod port;
pub mod process;
pub mod settle;
pub mod wait;
