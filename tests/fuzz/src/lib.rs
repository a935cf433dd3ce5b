//! What the fuzz targets do with their bytes: one file a target, each with more to say than "no
//! panic".
//!
//! `fuzz_targets/` calls these functions under libFuzzer; `tests/fuzz_corpora.rs` takes this file in
//! as a module and calls them with the stored inputs, on any toolchain and without libFuzzer.
//!
//! Targets of a text (quantity, node, pod, json, yaml, config, intake, events, calls, extender) read their bytes as
//! one. The others make recipes of them: each byte is a choice, and missing ones are zero.

pub mod affinity;
pub mod calls;
pub mod cluster;
pub mod config;
pub mod events;
pub mod extender;
pub mod intake;
pub mod json;
pub mod node;
pub mod pod;
pub mod quantity;
pub mod selector;
pub mod state;
pub mod times;
pub mod toleration;
pub mod yaml;

mod choices;
mod decoding;
mod same;
mod twin;

#[expect(dead_code, reason = "what upstream rounds is not asked here")]
#[path = "../../quantities/oracle.rs"]
mod oracle;
#[path = "../../properties/side_by_side.rs"]
mod side_by_side;

/// A target: its name, which is that of its corpus, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 16] = [
    ("affinity", affinity::run),
    ("calls", calls::run),
    ("cluster", cluster::run),
    ("config", config::run),
    ("events", events::run),
    ("extender", extender::run),
    ("intake", intake::run),
    ("json", json::run),
    ("node", node::run),
    ("pod", pod::run),
    ("quantity", quantity::run),
    ("selector", selector::run),
    ("state", state::run),
    ("times", times::run),
    ("toleration", toleration::run),
    ("yaml", yaml::run),
];
