//! Hard constraints: `DoNotSchedule`. Mirrors `filtering.go`.

use super::{included, sum_domains};
use crate::cluster::live::Constraint;
use crate::cycle::{Attempt, Refusal, Scratch};
use crate::kernel::word::masked_sum;
use crate::node_set::NodeSet;
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
        let keyed = cluster.topology.keyed(constraint.key);
        for (word, keyed) in counted.words_mut().iter_mut().zip(keyed) {
            *word &= keyed;
        }
    }
    for constraint in hard() {
        count(attempt, &constraint, &counted, scratch);
        refuse(attempt, &constraint, scratch);
    }
    scratch.set = counted;
}

/// Sums up, by domain of the counted rows, the pods that the constraint counts.
fn count(attempt: Attempt<'_>, constraint: &Constraint, counted: &NodeSet, scratch: &mut Scratch) {
    let (topology, terms) = (&attempt.cluster.topology, &attempt.cluster.terms);
    let domains = &mut scratch.domains;
    let own = |block: usize| counted.words().at(block) & included(attempt, constraint, block);
    if sum_domains(attempt, constraint, own, own, domains) {
        return;
    }
    domains.clear();
    let rows = constraint.term.and_then(|term| terms.rows(term));
    let counts = rows.map(|rows| rows.counts.as_chunks::<64>().0);
    for (block, word) in counted.words().iter().enumerate() {
        if *word == 0 {
            continue;
        }
        let word = own(block);
        let counts = counts.and_then(|counts| counts.get(block));
        topology.each_domain(constraint.key, block, word, |domain, rows| {
            let count = counts.map_or(0, |counts| masked_sum(rows, counts));
            domains.add(domain, i64::from(count));
        });
    }
    if let (Some(term), None) = (constraint.term, rows) {
        for (row, count) in terms.counts.slots(term.0) {
            if own(row as usize / 64) >> (row % 64) & 1 != 0 {
                let domain = topology.domain(constraint.key, row as usize);
                domains.add(domain, i64::from(count));
            }
        }
    }
}

/// Refuses rows without the key, and those whose domain would become too full.
fn refuse(attempt: Attempt<'_>, constraint: &Constraint, scratch: &mut Scratch) {
    let topology = &attempt.cluster.topology;
    let minimum = match scratch.domains.minimum() {
        // Without any domain upstream's minimum stays at its start, unless domains are wanted.
        None if constraint.min_domains == 0 => i64::from(i32::MAX),
        Some(minimum) if scratch.domains.len() >= constraint.min_domains => minimum,
        _ => 0,
    };
    let keyed = topology.keyed(constraint.key);
    for (block, keyed) in keyed.iter().enumerate() {
        let word = *scratch.alive.words().at(block);
        if word == 0 {
            continue;
        }
        let mut skewed = 0;
        topology.each_domain(constraint.key, block, word, |domain, rows| {
            let count = scratch.domains.sum(domain);
            let skew = count
                .saturating_add(constraint.self_match)
                .saturating_sub(minimum);
            if skew > constraint.max_skew {
                skewed |= rows;
            }
        });
        if word & !keyed != 0 {
            scratch.refuse_word(Refusal::SpreadLabel, block, !keyed);
        }
        if skewed != 0 {
            scratch.refuse_word(Refusal::SpreadSkew, block, skewed);
        }
    }
}
