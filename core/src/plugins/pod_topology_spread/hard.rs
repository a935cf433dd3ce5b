//! Hard constraints: `DoNotSchedule`. Mirrors `filtering.go`.

use super::{is_included, keep_rows_with_key};
use crate::cluster::live::Constraint;
use crate::cluster::topology::NO_DOMAIN;
use crate::cycle::{Attempt, Refusal, Scratch};
use crate::node_set::lanes;
use crate::table::Table;

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    let cluster = attempt.cluster;
    let hard = || {
        cluster
            .live
            .constraints(attempt.slot)
            .filter(Constraint::is_hard)
    };
    if hard().next().is_none() {
        return;
    }
    // Domains are those of nodes that carry all hard keys, searched or not.
    let mut counted = core::mem::take(&mut scratch.set);
    for (word, block) in counted.words_mut().iter_mut().zip(&cluster.blocks) {
        *word = block.present;
    }
    for constraint in hard() {
        keep_rows_with_key(attempt, &constraint, counted.words_mut());
    }
    for constraint in hard() {
        let column = cluster.topology.column(constraint.key);
        scratch.domains.clear();
        for row in counted.rows() {
            if is_included(attempt, &constraint, row) {
                scratch.domains.add(*column.at(row), 0);
            }
        }
        if let Some(term) = constraint.term {
            for (row, count) in cluster.terms.counts.slots(term.0) {
                if counted.contains(row) && is_included(attempt, &constraint, row) {
                    scratch.domains.add(*column.at(row), i64::from(count));
                }
            }
        }
        let minimum = match scratch.domains.minimum() {
            // Without any domain upstream's minimum stays at its start, unless domains are wanted.
            None if constraint.min_domains == 0 => i64::from(i32::MAX),
            Some(minimum) if scratch.domains.len() >= constraint.min_domains => minimum,
            _ => 0,
        };
        for (block, domains) in column.chunks_exact(64).enumerate() {
            let (mut missing, mut skewed) = (0, 0);
            for lane in lanes(*scratch.alive.words().at(block)) {
                let domain = *domains.at(lane);
                let count = scratch
                    .domains
                    .sum(domain)
                    .saturating_add(constraint.self_match);
                let skew = count.saturating_sub(minimum);
                missing |= u64::from(domain == NO_DOMAIN) << lane;
                skewed |= u64::from(skew > constraint.max_skew) << lane;
            }
            scratch.refuse_word(Refusal::SpreadLabel, block, missing);
            scratch.refuse_word(Refusal::SpreadSkew, block, skewed);
        }
    }
    scratch.set = counted;
}
