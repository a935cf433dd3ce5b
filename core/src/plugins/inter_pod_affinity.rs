//! `InterPodAffinity`: pods near or apart from other pods, by topology domain.
//!
//! Mirrors `plugins/interpodaffinity`. Reasons: [`REASON_AFFINITY`], unresolvable,
//! [`REASON_ANTI_AFFINITY`] and [`REASON_EXISTING`]. Nothing here looks at existing pods: what they
//! match and carry is counted per domain when they land.

use super::Plugin;
use crate::cluster::term::{CarriedView, role};
use crate::cluster::topology::NO_DOMAIN;
use crate::cycle::{Attempt, Column, Refusal, Scratch};
use crate::id::KeyId;
use crate::node_set::lanes;
use crate::table::Table;

/// No matching pod in the domains of the required terms.
pub const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";
/// A pod that the required anti-affinity names is in the domain.
pub const REASON_ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
/// A pod in the domain wants to be apart from this one.
pub const REASON_EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// Whether PreFilter skips the plugin: the pod has no required term, and none that an existing pod
/// carries refuses it. Then nominated pods, which come later, do not refuse it either.
pub(crate) fn skips(attempt: Attempt<'_>) -> bool {
    let cluster = attempt.cluster;
    let live = &cluster.live;
    let mut felt = live.felt(attempt.slot).filter(|term| {
        let carried = CarriedView::read(cluster.terms.words(*term));
        carried.is_some_and(|carried| carried.role == role::REQUIRED_ANTI_AFFINITY)
    });
    live.affinity(attempt.slot).next().is_none()
        && live.anti_affinity(attempt.slot).next().is_none()
        && felt.all(|term| cluster.terms.counts.is_empty(term.0))
}

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    if scratch.skips_pod_affinity {
        return;
    }
    filter_affinity(attempt, scratch);
    let cluster = attempt.cluster;
    let live = &cluster.live;

    scratch.domains.clear();
    for (term, _) in live.anti_affinity(attempt.slot) {
        for (domain, _) in cluster.terms.counts.slots(term.0) {
            scratch.domains.add(domain, 1);
        }
    }
    if scratch.domains.len() > 0 {
        for (_, key) in live.anti_affinity(attempt.slot) {
            refuse_marked(attempt, key, Refusal::PodAntiAffinity, scratch);
        }
    }

    scratch.domains.clear();
    scratch.keys.fill(false);
    for term in live.felt(attempt.slot) {
        let carried = CarriedView::read(cluster.terms.words(term));
        if carried.is_some_and(|carried| carried.role == role::REQUIRED_ANTI_AFFINITY) {
            for (domain, _) in cluster.terms.counts.slots(term.0) {
                scratch.domains.add(domain, 1);
            }
            if let Some(key) = cluster.terms.key(term) {
                scratch.keys.set(key, true);
            }
        }
    }
    if scratch.domains.len() > 0 {
        for key in 0..scratch.keys.len() {
            if *scratch.keys.at(key) {
                let key = KeyId::from_index(key);
                refuse_marked(attempt, key, Refusal::ExistingAntiAffinity, scratch);
            }
        }
    }
}

/// Required affinity: the node has every key, and a matching pod in each of their domains; where
/// nobody matches anywhere and the pod matches itself, having the keys is enough.
fn filter_affinity(attempt: Attempt<'_>, scratch: &mut Scratch) {
    let cluster = attempt.cluster;
    let groups = || cluster.live.affinity(attempt.slot);
    if groups().next().is_none() {
        return;
    }
    let nobody = groups().all(|(term, _)| cluster.terms.counts.is_empty(term.0));
    let keys_suffice = nobody && attempt.live().self_affine;
    scratch.domains.clear();
    for (term, _) in groups() {
        for (domain, _) in cluster.terms.counts.slots(term.0) {
            scratch.domains.add(domain, 1);
        }
    }
    for (_, key) in groups() {
        for (block, domains) in cluster.topology.column(key).chunks_exact(64).enumerate() {
            let mut refused = 0;
            for lane in lanes(*scratch.alive.words().at(block)) {
                let domain = *domains.at(lane);
                let matched = keys_suffice || scratch.domains.contains(domain);
                refused |= u64::from(domain == NO_DOMAIN || !matched) << lane;
            }
            scratch.refuse_word(Refusal::PodAffinity, block, refused);
        }
    }
}

/// Refuses the rows whose domain under `key` is marked.
fn refuse_marked(attempt: Attempt<'_>, key: KeyId, refusal: Refusal, scratch: &mut Scratch) {
    let column = attempt.cluster.topology.column(key);
    for (block, domains) in column.chunks_exact(64).enumerate() {
        let mut refused = 0;
        for lane in lanes(*scratch.alive.words().at(block)) {
            let domain = *domains.at(lane);
            let marked = domain != NO_DOMAIN && scratch.domains.contains(domain);
            refused |= u64::from(marked) << lane;
        }
        scratch.refuse_word(refusal, block, refused);
    }
}

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Column {
    if fill_raw(attempt, scratch) {
        normalize(scratch)
    } else {
        Column::Absent
    }
}

/// Fills the raw scores of the feasible rows; `false`: the plugin skips itself.
pub(crate) fn fill_raw(attempt: Attempt<'_>, scratch: &mut Scratch) -> bool {
    let cluster = attempt.cluster;
    let live = &cluster.live;
    let has_own = live.preferred_terms(attempt.slot).next().is_some();
    if attempt.plan.ignore_preferred_terms_of_existing_pods && !has_own {
        return false;
    }
    scratch.domains.clear();
    scratch.keys.fill(false);
    for (term, key, weight) in live.preferred_terms(attempt.slot) {
        scratch.keys.set(key, true);
        for (domain, count) in cluster.terms.counts.slots(term.0) {
            scratch
                .domains
                .add(domain, weight.saturating_mul(i64::from(count)));
        }
    }
    for term in live.felt(attempt.slot) {
        let Some(carried) = CarriedView::read(cluster.terms.words(term)) else {
            continue;
        };
        let weight = match carried.role {
            role::REQUIRED_AFFINITY if attempt.plan.hard_pod_affinity_weight > 0 => {
                attempt.plan.hard_pod_affinity_weight
            }
            role::PREFERRED_AFFINITY => i64::from(carried.weight),
            role::PREFERRED_ANTI_AFFINITY => i64::from(carried.weight).saturating_neg(),
            _ => continue,
        };
        if let Some(key) = cluster.terms.key(term) {
            scratch.keys.set(key, true);
        }
        for (domain, count) in cluster.terms.counts.slots(term.0) {
            scratch
                .domains
                .add(domain, weight.saturating_mul(i64::from(count)));
        }
    }
    if scratch.domains.len() == 0 {
        return false;
    }
    let list = core::mem::take(&mut scratch.list);
    for row in &list {
        scratch.raw.set(*row, 0);
    }
    for key in 0..scratch.keys.len() {
        if !scratch.keys.at(key) {
            continue;
        }
        let column = cluster.topology.column(KeyId::from_index(key));
        for row in &list {
            let domain = *column.at(*row);
            if domain != NO_DOMAIN
                && let Some(sum) = scratch.raw.at_mut(*row)
            {
                *sum = sum.saturating_add(scratch.domains.sum(domain));
            }
        }
    }
    scratch.list = list;
    true
}

/// Spreads the sums over 0..=100 between their extremes; all 0 where they are equal.
fn normalize(scratch: &mut Scratch) -> Column {
    let list = core::mem::take(&mut scratch.list);
    let raw = core::mem::take(&mut scratch.raw);
    let sums = || list.iter().map(|row| *raw.at(*row));
    let lowest = sums().min().unwrap_or(0);
    let range = sums().max().unwrap_or(0).saturating_sub(lowest);
    let column = scratch.column_mut(Plugin::InterPodAffinity);
    if range > 0 {
        for row in &list {
            let above = raw.at(*row).saturating_sub(lowest) as f64;
            column.set(*row, (100.0 * (above / range as f64)) as u8);
        }
    }
    scratch.list = list;
    scratch.raw = raw;
    if range > 0 {
        Column::Rows
    } else {
        Column::Constant(0)
    }
}
