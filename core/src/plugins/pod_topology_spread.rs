//! `PodTopologySpread`: pods that a selector matches are spread over topology domains.
//!
//! Mirrors `plugins/podtopologyspread`. Hard constraints refuse, soft ones score. Reasons:
//! [`REASON_LABEL`], unresolvable, and [`REASON_SKEW`].

mod by_count;
mod hard;
mod soft;

pub(crate) use by_count::{ByCount, scores};
pub(crate) use hard::filter;
pub(crate) use soft::score;

use crate::cluster::live::{Constraint, Static};
use crate::cycle::Attempt;
use crate::cycle::scratch::DomainSums;
use crate::kernel::word::masked_sum;
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

/// Sums up by domain the pods that the constraint counts on the rows of `counted`, for domains with a
/// row in `seen`; both give the word of a block. Leaves out what pods on other rows add. `false`: that
/// is not known by domain, and nothing was summed up.
fn sum_domains(
    attempt: Attempt<'_>,
    constraint: &Constraint,
    seen: impl Fn(usize) -> u64,
    counted: impl Fn(usize) -> u64,
    domains: &mut DomainSums,
) -> bool {
    let (topology, terms) = (&attempt.cluster.topology, &attempt.cluster.terms);
    let key = constraint.key;
    let mut own = topology.domains_of(key);
    if own.any(|domain| topology.rows_of(domain).is_none()) {
        return false;
    }
    let counts = constraint.term.and_then(|term| terms.rows(term));
    if constraint.term.is_some() && (counts.is_none() || constraint.by_domain.is_none()) {
        return false;
    }
    domains.clear();
    for domain in topology.domains_of(key) {
        let rows = topology.rows_of(domain).unwrap_or_default();
        let mut rows = rows.iter().enumerate();
        if rows.any(|(block, rows)| rows & seen(block) != 0) {
            let sum = constraint
                .by_domain
                .map_or(0, |term| terms.counts.count(term.0, domain));
            domains.add(domain, i64::from(sum));
        }
    }
    let Some(counts) = counts else {
        return true;
    };
    for (block, set) in counts.set.iter().enumerate() {
        let others = set & !counted(block);
        if others != 0
            && let Some(counts) = counts.counts.as_chunks::<64>().0.get(block)
        {
            topology.each_domain(key, block, others, |domain, rows| {
                if domains.contains(domain) {
                    let sum = i64::from(masked_sum(rows, counts));
                    domains.add(domain, sum.saturating_neg());
                }
            });
        }
    }
    true
}
