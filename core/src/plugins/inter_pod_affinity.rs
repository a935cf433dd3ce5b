//! `InterPodAffinity`: pods near or apart from other pods, by topology domain.
//!
//! Mirrors `plugins/interpodaffinity`. Reasons: [`REASON_AFFINITY`], unresolvable,
//! [`REASON_ANTI_AFFINITY`] and [`REASON_EXISTING`]. Nothing here looks at existing pods: what they
//! match and carry is counted per domain when they land.

mod by_count;

pub(crate) use by_count::{Otherwise, Sums};

use super::Plugin;
use crate::cluster::term::{CarriedView, role};
use crate::cluster::topology::NO_DOMAIN;
use crate::cycle::scratch::DomainSums;
use crate::cycle::{Attempt, Column, Refusal, Scratch};
use crate::id::{KeyId, TermId};
use crate::node_set::{NodeSet, lanes};
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
    let live = &attempt.cluster.live;
    live.affinity(attempt.slot).next().is_none()
        && live.anti_affinity(attempt.slot).next().is_none()
        && nobody_keeps_apart(attempt)
}

/// Whether no pod that is there refuses to be near the class.
pub(crate) fn nobody_keeps_apart(attempt: Attempt<'_>) -> bool {
    let terms = &attempt.cluster.terms;
    attempt.cluster.live.felt(attempt.slot).all(|term| {
        let carried = CarriedView::read(terms.words(term));
        let refuses = carried.is_some_and(|carried| carried.role == role::REQUIRED_ANTI_AFFINITY);
        !refuses || terms.counts.is_empty(term.0)
    })
}

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    if scratch.skips_pod_affinity {
        return;
    }
    let mut set = core::mem::take(&mut scratch.set);
    filter_affinity(attempt, &mut set, scratch);
    let cluster = attempt.cluster;
    let live = &cluster.live;
    for (term, key) in live.anti_affinity(attempt.slot) {
        mark(attempt, term, key, &mut set, &mut scratch.domains);
        scratch.refuse(Refusal::PodAntiAffinity, set.words());
    }
    for term in live.felt(attempt.slot) {
        let carried = CarriedView::read(cluster.terms.words(term));
        if carried.is_some_and(|carried| carried.role == role::REQUIRED_ANTI_AFFINITY)
            && let Some(key) = cluster.terms.key(term)
        {
            mark(attempt, term, key, &mut set, &mut scratch.domains);
            scratch.refuse(Refusal::ExistingAntiAffinity, set.words());
        }
    }
    scratch.set = set;
}

/// Required affinity: the node has every key, and a matching pod in each of their domains; where
/// nobody matches anywhere and the pod matches itself, having the keys is enough.
fn filter_affinity(attempt: Attempt<'_>, set: &mut NodeSet, scratch: &mut Scratch) {
    let cluster = attempt.cluster;
    let groups = || cluster.live.affinity(attempt.slot);
    if groups().next().is_none() {
        return;
    }
    let nobody = groups().all(|(term, _)| cluster.terms.counts.is_empty(term.0));
    let keys_suffice = nobody && attempt.live().self_affine;
    for (term, key) in groups() {
        if keys_suffice {
            let keyed = cluster.topology.keyed(key);
            set.words_mut().copy_from_slice(keyed);
        } else {
            mark(attempt, term, key, set, &mut scratch.domains);
        }
        for word in set.words_mut() {
            *word = !*word;
        }
        scratch.refuse(Refusal::PodAffinity, set.words());
    }
}

/// Makes `set` the rows in whose domain under `key` the term counts somebody.
fn mark(
    attempt: Attempt<'_>,
    term: TermId,
    key: KeyId,
    set: &mut NodeSet,
    domains: &mut DomainSums,
) {
    let (terms, topology) = (&attempt.cluster.terms, &attempt.cluster.topology);
    if let Some(rows) = terms.rows(term)
        && topology.is_row_by_row(key)
    {
        set.words_mut().copy_from_slice(rows.set);
        return;
    }
    set.clear();
    domains.clear();
    for (domain, _) in terms.counts.slots(term.0) {
        match topology.rows_of(domain) {
            Some(rows) => {
                for (word, rows) in set.words_mut().iter_mut().zip(rows) {
                    *word |= rows;
                }
            }
            None => domains.add(domain, 1),
        }
    }
    if domains.len() > 0 {
        let column = topology.column(key).chunks_exact(64);
        for (word, own) in set.words_mut().iter_mut().zip(column) {
            for (lane, domain) in own.iter().enumerate() {
                let marked = *domain != NO_DOMAIN && domains.contains(*domain);
                *word |= u64::from(marked) << lane;
            }
        }
    }
}

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Column {
    if !sum_domains(attempt, scratch) {
        return Column::Absent;
    }
    if is_flat(attempt, scratch) {
        return Column::Constant(0);
    }
    write_raw(attempt, scratch);
    normalize(scratch)
}

/// Fills the raw scores of the found rows; `false`: the plugin skips itself.
pub(crate) fn fill_raw(attempt: Attempt<'_>, scratch: &mut Scratch) -> bool {
    let counts_somebody = sum_domains(attempt, scratch);
    if counts_somebody {
        write_raw(attempt, scratch);
    }
    counts_somebody
}

/// Sums up by domain what terms that are not read by row add; `false`: the plugin skips itself.
fn sum_domains(attempt: Attempt<'_>, scratch: &mut Scratch) -> bool {
    let cluster = attempt.cluster;
    let live = &cluster.live;
    let has_own = live.preferred_terms(attempt.slot).next().is_some();
    if attempt.plan.ignore_preferred_terms_of_existing_pods && !has_own {
        return false;
    }
    scratch.domains.clear();
    scratch.keys.fill(false);
    let mut counts_somebody = false;
    each_weighted(attempt, |term, key, weight| {
        counts_somebody |= !cluster.terms.counts.is_empty(term.0);
        if has_rows(attempt, term, key) {
            return;
        }
        scratch.keys.set(key, true);
        for (domain, count) in cluster.terms.counts.slots(term.0) {
            let sum = weight.saturating_mul(i64::from(count));
            scratch.domains.add(domain, sum);
        }
    });
    counts_somebody
}

/// Whether all found rows have the same sum, as far as that is seen without a look at each of them.
fn is_flat(attempt: Attempt<'_>, scratch: &Scratch) -> bool {
    let topology = &attempt.cluster.topology;
    let mut reads_rows = false;
    each_weighted(attempt, |term, key, _| {
        reads_rows |= has_rows(attempt, term, key);
    });
    let mut keys = (0..scratch.keys.len()).filter(|key| *scratch.keys.at(*key));
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return false;
    };
    let key = KeyId::from_index(key);
    let keyed = topology.keyed(key);
    let (mut sum, mut is_flat) = (None, !reads_rows);
    for (block, word) in scratch.found.words().iter().enumerate() {
        if *word == 0 || !is_flat {
            continue;
        }
        let mut see = |own: i64| is_flat &= *sum.get_or_insert(own) == own;
        topology.each_domain(key, block, *word, |domain, _| {
            see(scratch.domains.sum(domain));
        });
        if word & !keyed.at(block) != 0 {
            see(0);
        }
    }
    is_flat
}

/// Writes the sums of the found rows.
fn write_raw(attempt: Attempt<'_>, scratch: &mut Scratch) {
    let cluster = attempt.cluster;
    scratch.fill_raw(|_, _, raw| raw.fill(0));
    each_weighted(attempt, |term, key, weight| {
        let rows = cluster.terms.rows(term);
        if let Some(rows) = rows.filter(|_| has_rows(attempt, term, key)) {
            let counts = rows.counts.as_chunks::<64>().0;
            scratch.fill_raw(|block, word, raw| {
                if word & *rows.set.at(block) == 0 {
                    return;
                }
                for (raw, count) in raw.iter_mut().zip(counts.get(block).into_iter().flatten()) {
                    *raw = raw.wrapping_add(weight.wrapping_mul(i64::from(*count)));
                }
            });
        }
    });
    let (keys, domains) = (
        core::mem::take(&mut scratch.keys),
        core::mem::take(&mut scratch.domains),
    );
    for key in (0..keys.len()).filter(|key| *keys.at(*key)) {
        let key = KeyId::from_index(key);
        scratch.fill_raw(|block, word, raw| {
            cluster
                .topology
                .each_domain(key, block, word, |domain, rows| {
                    let sum = domains.sum(domain);
                    if sum != 0 {
                        for lane in lanes(rows) {
                            if let Some(raw) = raw.at_mut(lane) {
                                *raw = raw.saturating_add(sum);
                            }
                        }
                    }
                });
        });
    }
    scratch.keys = keys;
    scratch.domains = domains;
}

/// Whether the term is read by row: each domain is one, and it has a column.
fn has_rows(attempt: Attempt<'_>, term: TermId, key: KeyId) -> bool {
    attempt.cluster.topology.is_row_by_row(key) && attempt.cluster.terms.rows(term).is_some()
}

/// The terms that score the pod, with the key and the weight of each.
fn each_weighted(attempt: Attempt<'_>, mut give: impl FnMut(TermId, KeyId, i64)) {
    let (cluster, plan) = (attempt.cluster, attempt.plan);
    for (term, key, weight) in cluster.live.preferred_terms(attempt.slot) {
        give(term, key, weight);
    }
    for term in cluster.live.felt(attempt.slot) {
        let Some(carried) = CarriedView::read(cluster.terms.words(term)) else {
            continue;
        };
        let weight = match carried.role {
            role::REQUIRED_AFFINITY if plan.hard_pod_affinity_weight > 0 => {
                plan.hard_pod_affinity_weight
            }
            role::PREFERRED_AFFINITY => i64::from(carried.weight),
            role::PREFERRED_ANTI_AFFINITY => i64::from(carried.weight).saturating_neg(),
            _ => continue,
        };
        if let Some(key) = cluster.terms.key(term) {
            give(term, key, weight);
        }
    }
}

/// Spreads the sums over 0..=100 between their extremes; all 0 where they are equal.
fn normalize(scratch: &mut Scratch) -> Column {
    let (lowest, highest) = scratch.extremes(false).unwrap_or((0, 0));
    let range = highest.saturating_sub(lowest);
    if range <= 0 {
        return Column::Constant(0);
    }
    scratch.scale(Plugin::InterPodAffinity, (lowest, highest), |raw| {
        spread(raw, lowest, highest)
    })
}

/// The score of a sum between extremes that differ.
fn spread(raw: i64, lowest: i64, highest: i64) -> u8 {
    let [above, range] = [raw, highest].map(|own| own.saturating_sub(lowest) as f64);
    (100.0 * (above / range)) as u8
}
