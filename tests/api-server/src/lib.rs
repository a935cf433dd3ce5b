//! A Kubernetes API server for tests, which does what the test says: plain HTTP on loopback, objects in
//! memory, and every fault that a client has to live with.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use berth_api_server::{Fault, Refusal, Server};
//! use serde_json::json;
//!
//! let server = Server::start().await;
//! server.put("nodes", json!({"metadata": {"name": "n1"}}));
//! // The next two bindings are done, and nobody is told.
//! server.order("create", "pods/binding", 2, Fault::LoseAnswer);
//! // The list after that must wait.
//! server.order("list", "pods", 1, Fault::Refuse(Refusal::too_many_requests(1)));
//! assert_eq!(server.count("create", "pods/binding"), 0);
//! # });
//! ```
//!
//! It has lists with pages, streaming lists, watches with versions, bookmarks and field selectors,
//! bindings, patches of status, deletions with preconditions, updates that go by a version, and both
//! reviews. Nothing in it is random and nothing goes by a clock, except that a watch ends when its
//! client has asked it to.
//!
//! - [`Server`]: what there is, what was asked, what goes wrong.
//! - [`Fault`]: what becomes of a request.
//! - [`Refusal`]: what it says no with.
//! - [`Call`]: a request that came.
//! - [`KINDS`]: what it has.

// A helper of tests says what it found by panicking; that is its use, not a case to be warned of.
#![allow(clippy::missing_panics_doc)]

mod call;
mod fault;
mod http;
mod kind;
mod merge;
mod query;
mod read;
mod refusal;
mod review;
mod select;
mod server;
mod state;
mod store;
mod stored;
mod watch;
mod write;

pub use call::Call;
pub use fault::{Fault, Order};
pub use kind::{KINDS, Kind};
pub use refusal::Refusal;
pub use server::{Saved, Server};
