//! `PodTopologySpread`: pods that a selector matches are spread over topology domains.
//!
//! Mirrors `plugins/podtopologyspread`. Hard constraints refuse, soft ones score. Reasons:
//! [`REASON_LABEL`], unresolvable, and [`REASON_SKEW`].

mod hard;
mod soft;

pub(crate) use hard::filter;
pub(crate) use soft::score;

use crate::cluster::live::{Constraint, Static};
use crate::cycle::Attempt;
use crate::object::TopologySpreadConstraint;
use crate::table::Table;
use alloc::string::ToString;

/// The node lacks the constraint's key.
pub const REASON_LABEL: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";
/// One more pod would make the domain too full.
pub const REASON_SKEW: &str = "node(s) didn't match pod topology spread constraints";

/// The built-in default constraints.
pub(crate) fn system_defaults() -> [TopologySpreadConstraint; 2] {
    let soft = |key: &str, max_skew| TopologySpreadConstraint {
        max_skew,
        topology_key: key.to_string(),
        when_unsatisfiable: "ScheduleAnyway".to_string(),
        ..TopologySpreadConstraint::default()
    };
    [
        soft("kubernetes.io/hostname", 3),
        soft("topology.kubernetes.io/zone", 5),
    ]
}

/// Rows of a block that the constraint's inclusion policies count.
fn included(attempt: Attempt<'_>, constraint: &Constraint, block: usize) -> u64 {
    let mut word = u64::MAX;
    if constraint.honors_affinity() {
        word &= !attempt.bits(Static::Affinity).at(block);
        if attempt.is_pinned() {
            let own = attempt.pinned_row.filter(|row| *row as usize / 64 == block);
            word &= own.map_or(0, |row| 1 << (row % 64));
        }
    }
    if constraint.honors_taints() {
        word &= !attempt.bits(Static::Taints).at(block);
    }
    word
}
