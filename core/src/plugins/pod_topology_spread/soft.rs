//! Soft constraints: `ScheduleAnyway`, the built-in defaults among them. Mirrors `scoring.go`.

use super::super::Plugin;
use super::is_included;
use crate::cluster::live::Constraint;
use crate::cluster::topology::NO_DOMAIN;
use crate::cycle::{Attempt, Column, Scratch};
use crate::decision::AttemptError;
use crate::table::{Count, Table};

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Result<Column, AttemptError> {
    let cluster = attempt.cluster;
    let soft = || {
        cluster
            .live
            .constraints(attempt.slot)
            .filter(|constraint| !constraint.is_hard())
    };
    if soft().next().is_none() {
        return Ok(Column::Absent);
    }
    let profile = attempt
        .class
        .class
        .profile
        .and_then(|id| cluster.profiles.get(id.index()));
    let system_defaults = profile.is_some_and(|profile| profile.system_defaults);
    let require_all = !(attempt.live().default_spread && system_defaults);
    let has_all_keys = |row: u32| {
        let lacks = |constraint: Constraint| {
            cluster.topology.domain(constraint.key, row as usize) == NO_DOMAIN
        };
        !require_all || !soft().any(lacks)
    };
    let list = core::mem::take(&mut scratch.list);
    let mut scored = 0u32;
    for row in &list {
        // Ignored nodes are marked below every sum.
        let ignored = !has_all_keys(*row);
        scratch.sums.set(*row, if ignored { IGNORED } else { 0.0 });
        if !ignored {
            scored.count_up();
        }
    }
    for constraint in soft() {
        add_constraint(attempt, &constraint, &list, scored, &has_all_keys, scratch);
    }
    for row in &list {
        let sum = *scratch.sums.at(*row);
        scratch.raw.set(
            *row,
            if sum == IGNORED {
                -1
            } else {
                libm::round(sum) as i64
            },
        );
    }
    scratch.list = list;
    normalize(scratch)
}

const IGNORED: f64 = -1.0;

/// Adds to each node's sum: matching pods in its domain by the weight of the domain count.
fn add_constraint(
    attempt: Attempt<'_>,
    constraint: &Constraint,
    list: &[u32],
    scored: u32,
    has_all_keys: &impl Fn(u32) -> bool,
    scratch: &mut Scratch,
) {
    let cluster = attempt.cluster;
    let column = cluster.topology.column(constraint.key);
    // A node without the label counts for the domain of the empty value.
    let empty = cluster
        .topology
        .find_domain(constraint.key, cluster.known.empty)
        .unwrap_or(NO_DOMAIN);
    let domain = |row: u32| match *column.at(row) {
        NO_DOMAIN => empty,
        domain => domain,
    };
    scratch.domains.clear();
    scratch.row_sums.clear();
    let size = if constraint.is_hostname() {
        scored
    } else {
        for row in list.iter().filter(|row| *scratch.sums.at(**row) != IGNORED) {
            scratch.domains.add(domain(*row), 0);
        }
        scratch.domains.len()
    };
    if let Some(term) = constraint.term {
        for (row, count) in cluster.terms.counts.slots(term.0) {
            if constraint.is_hostname() {
                scratch.row_sums.add(row, i64::from(count));
            } else if has_all_keys(row)
                && scratch.domains.contains(domain(row))
                && is_included(attempt, constraint, row)
            {
                scratch.domains.add(domain(row), i64::from(count));
            }
        }
    }
    let weight = libm::log(f64::from(size.saturating_add(2)));
    for row in list {
        let own_domain = *column.at(*row);
        let Some(sum) = scratch.sums.at_mut(*row) else {
            continue;
        };
        if *sum == IGNORED || own_domain == NO_DOMAIN {
            continue;
        }
        let count = if constraint.is_hostname() {
            scratch.row_sums.sum(*row)
        } else {
            scratch.domains.sum(own_domain)
        };
        *sum += count as f64 * weight + constraint.max_skew.saturating_sub(1) as f64;
    }
}

/// Few pods are good: the sum is mirrored between its extremes; ignored nodes score 0.
fn normalize(scratch: &mut Scratch) -> Result<Column, AttemptError> {
    let list = core::mem::take(&mut scratch.list);
    let raw = core::mem::take(&mut scratch.raw);
    let scored = || list.iter().map(|row| *raw.at(*row)).filter(|raw| *raw >= 0);
    let lowest = scored().min().unwrap_or(0);
    let highest = scored().max().unwrap_or(0);
    let column = scratch.column_mut(Plugin::PodTopologySpread);
    let mut result = Ok(Column::Rows);
    for row in &list {
        let score = match *raw.at(*row) {
            ..0 => 0,
            raw => {
                let mirrored = highest.saturating_add(lowest).saturating_sub(raw);
                mirrored
                    .saturating_mul(100)
                    .checked_div(highest)
                    .unwrap_or(100)
            }
        };
        if !(0..=100).contains(&score) {
            result = Err(AttemptError::InvalidScore {
                plugin: Plugin::PodTopologySpread,
                score,
            });
        }
        column.set(*row, score as u8);
    }
    scratch.list = list;
    scratch.raw = raw;
    result
}
