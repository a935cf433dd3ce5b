//! `PodTopologySpread`: pods that a selector matches are spread over topology domains.
//!
//! Mirrors `plugins/podtopologyspread`. Hard constraints refuse, soft ones score. Reasons:
//! [`REASON_LABEL`], unresolvable, and [`REASON_SKEW`].

mod hard;
mod soft;

pub(crate) use hard::filter;
pub(crate) use soft::score;

use crate::cluster::live::{Constraint, Static};
use crate::cluster::topology::NO_DOMAIN;
use crate::cycle::Attempt;
use crate::node_set;
use crate::object::TopologySpreadConstraint;
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

/// Clears the bits of rows that lack the constraint's key.
fn keep_rows_with_key(attempt: Attempt<'_>, constraint: &Constraint, set: &mut [u64]) {
    let column = attempt.cluster.topology.column(constraint.key);
    for (word, domains) in set.iter_mut().zip(column.chunks_exact(64)) {
        let mut with_key = 0;
        for (lane, domain) in domains.iter().enumerate() {
            with_key |= u64::from(*domain != NO_DOMAIN) << lane;
        }
        *word &= with_key;
    }
}

/// Whether the constraint's inclusion policies count the row.
fn is_included(attempt: Attempt<'_>, constraint: &Constraint, row: u32) -> bool {
    let refused = |kind| node_set::contains(attempt.bits(kind), row);
    let affine =
        || !refused(Static::Affinity) && (!attempt.is_pinned() || attempt.pinned_row == Some(row));
    (!constraint.honors_affinity() || affine())
        && (!constraint.honors_taints() || !refused(Static::Taints))
}
