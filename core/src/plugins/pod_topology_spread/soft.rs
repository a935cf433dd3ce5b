//! Soft constraints: `ScheduleAnyway`, the built-in defaults among them. Mirrors `scoring.go`.

use super::super::Plugin;
use super::{included, sum_domains};
use crate::cluster::live::Constraint;
use crate::cluster::topology::NO_DOMAIN;
use crate::cycle::{Attempt, Column, Scratch};
use crate::kernel::word::masked_sum;
use crate::node_set::{NodeSet, lanes};
use crate::table::Table;

/// Raw score of a row that is not scored, below every sum.
pub(super) const IGNORED: i64 = -1;

/// The constraints of the class that score.
pub(super) fn constraints(attempt: Attempt<'_>) -> impl Iterator<Item = Constraint> + '_ {
    let own = attempt.cluster.live.constraints(attempt.slot);
    own.filter(|constraint| !constraint.is_hard())
}

/// Whether a node without one of the keys is left out of the score.
fn requires_all(attempt: Attempt<'_>) -> bool {
    let profiles = &attempt.cluster.profiles;
    let profile = attempt.class.class.profile;
    let profile = profile.and_then(|id| profiles.get(id.index()));
    let system_defaults = profile.is_some_and(|profile| profile.system_defaults);
    !(attempt.live().default_spread && system_defaults)
}

/// Makes `keyed` the rows that are scored if they are found; how many of those that were found are.
pub(super) fn find_keyed(attempt: Attempt<'_>, found: &NodeSet, keyed: &mut NodeSet) -> u32 {
    keyed.words_mut().fill(u64::MAX);
    if requires_all(attempt) {
        for constraint in constraints(attempt) {
            let own = attempt.cluster.topology.keyed(constraint.key);
            for (word, own) in keyed.words_mut().iter_mut().zip(own) {
                *word &= own;
            }
        }
    }
    let words = found.words().iter().zip(keyed.words());
    words.fold(0, |sum: u32, (found, keyed)| {
        sum.saturating_add((found & keyed).count_ones())
    })
}

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Column {
    let soft = || constraints(attempt);
    let Some(first) = soft().next() else {
        return Column::Absent;
    };
    let mut keyed = core::mem::take(&mut scratch.keyed);
    let scored = find_keyed(attempt, &scratch.found, &mut keyed);
    let is_alone = soft().nth(1).is_none() && requires_all(attempt) && !first.is_hostname();
    let result = if is_alone {
        count_domains(attempt, &first, keyed.words(), scratch);
        score_domains(&first, keyed.words(), attempt, scratch)
    } else {
        scratch.sums.fill(0.0);
        for constraint in soft() {
            add_constraint(attempt, &constraint, scored, keyed.words(), scratch);
        }
        fill_raw(keyed.words(), scratch);
        normalize(scratch)
    };
    scratch.keyed = keyed;
    result
}

/// Sums up, by domain of the scored rows, the pods that the constraint counts; the number of domains.
///
/// A row without the label counts for the domain of the empty value.
pub(super) fn count_domains(
    attempt: Attempt<'_>,
    constraint: &Constraint,
    keyed: &[u64],
    scratch: &mut Scratch,
) -> u32 {
    let (topology, terms) = (&attempt.cluster.topology, &attempt.cluster.terms);
    let empty = topology
        .find_domain(constraint.key, attempt.cluster.known.empty)
        .unwrap_or(NO_DOMAIN);
    let own = topology.keyed(constraint.key);
    let domains = &mut scratch.domains;
    let words = || scratch.found.words().iter().zip(keyed).zip(own);
    // Where every scored row has the label and none of them the empty value, or every row that counts has the
    // label, no row without it counts for a domain.
    let none_is_empty =
        empty == NO_DOMAIN || keyed.iter().zip(own).all(|(keyed, own)| keyed & !own == 0);
    if none_is_empty && words().all(|((found, keyed), own)| found & keyed & !own == 0) {
        let seen = |block: usize| scratch.found.words().at(block) & keyed.at(block);
        let counted = |block: usize| keyed.at(block) & included(attempt, constraint, block);
        if sum_domains(attempt, constraint, seen, counted, domains) {
            return domains.len();
        }
    }
    domains.clear();
    for (block, (found, keyed)) in scratch.found.words().iter().zip(keyed).enumerate() {
        let word = found & keyed;
        if word == 0 {
            continue;
        }
        topology.each_domain(constraint.key, block, word, |domain, _| {
            domains.add(domain, 0);
        });
        if word & !own.at(block) != 0 {
            domains.add(empty, 0);
        }
    }
    let Some(term) = constraint.term else {
        return domains.len();
    };
    if let Some(rows) = terms.rows(term) {
        let counts = rows.counts.as_chunks::<64>().0;
        for (block, counts) in counts.iter().enumerate() {
            let word = rows.set.at(block) & keyed.at(block);
            if word == 0 {
                continue;
            }
            let word = word & included(attempt, constraint, block);
            topology.each_domain(constraint.key, block, word, |domain, rows| {
                if domains.contains(domain) {
                    domains.add(domain, i64::from(masked_sum(rows, counts)));
                }
            });
            let bare = word & !own.at(block);
            if bare != 0 && domains.contains(empty) {
                domains.add(empty, i64::from(masked_sum(bare, counts)));
            }
        }
    } else {
        for (row, count) in terms.counts.slots(term.0) {
            let (block, bit) = (row as usize / 64, 1_u64 << (row % 64));
            let domain = match topology.domain(constraint.key, row as usize) {
                NO_DOMAIN => empty,
                domain => domain,
            };
            let word = keyed.at(block) & included(attempt, constraint, block);
            if word & bit != 0 && domains.contains(domain) {
                domains.add(domain, i64::from(count));
            }
        }
    }
    domains.len()
}

/// What a constraint adds to a row with so many pods in its domain, by the weight of its domain count.
pub(super) fn addend(constraint: &Constraint, weight: f64, count: i64) -> f64 {
    count as f64 * weight + constraint.max_skew.saturating_sub(1) as f64
}

pub(super) fn weight_of(size: u32) -> f64 {
    libm::log(f64::from(size.saturating_add(2)))
}

/// Scores by domain, where one constraint alone decides and every scored row is in a domain.
fn score_domains(
    constraint: &Constraint,
    keyed: &[u64],
    attempt: Attempt<'_>,
    scratch: &mut Scratch,
) -> Column {
    let weight = weight_of(scratch.domains.len());
    let (mut lowest, mut highest) = (i64::MAX, i64::MIN);
    scratch.domains.each(|sum| {
        // Rounded raw scores take the place of the counts.
        *sum = round(addend(constraint, weight, *sum));
        if *sum >= 0 {
            lowest = lowest.min(*sum);
            highest = highest.max(*sum);
        }
    });
    if highest < 0 {
        (lowest, highest) = (0, 0);
    }
    let domains = core::mem::take(&mut scratch.domains);
    let found = core::mem::take(&mut scratch.found);
    let topology = &attempt.cluster.topology;
    let column = scratch.column_mut(Plugin::PodTopologySpread);
    let blocks = found.words().iter().zip(keyed).enumerate();
    for ((block, (found, keyed)), scores) in blocks.zip(column.as_chunks_mut::<64>().0) {
        if *found == 0 {
            continue;
        }
        scores.fill(0);
        topology.each_domain(constraint.key, block, found & keyed, |domain, rows| {
            let score = mirror(domains.sum(domain), lowest, highest) as u8;
            for (lane, own) in scores.iter_mut().enumerate() {
                *own |= if rows >> lane & 1 == 0 { 0 } else { score };
            }
        });
    }
    scratch.domains = domains;
    scratch.found = found;
    Column::Rows
}

/// Adds to each row's sum.
fn add_constraint(
    attempt: Attempt<'_>,
    constraint: &Constraint,
    scored: u32,
    keyed: &[u64],
    scratch: &mut Scratch,
) {
    let cluster = attempt.cluster;
    let size = if constraint.is_hostname() {
        scratch.row_sums.clear();
        scored
    } else {
        count_domains(attempt, constraint, keyed, scratch)
    };
    let weight = weight_of(size);
    let column = constraint
        .is_hostname()
        .then(|| constraint.term.and_then(|term| cluster.terms.rows(term)))
        .flatten();
    if constraint.is_hostname()
        && column.is_none()
        && let Some(term) = constraint.term
    {
        for (row, count) in cluster.terms.counts.slots(term.0) {
            scratch.row_sums.add(row, i64::from(count));
        }
    }
    let own = cluster.topology.keyed(constraint.key);
    let (domains, row_sums) = (&scratch.domains, &scratch.row_sums);
    let sums = scratch.sums.as_chunks_mut::<64>().0.iter_mut();
    for ((block, found), sums) in scratch.found.words().iter().enumerate().zip(sums) {
        let word = found & keyed.at(block) & own.at(block);
        if word == 0 {
            continue;
        }
        if !constraint.is_hostname() {
            let topology = &cluster.topology;
            topology.each_domain(constraint.key, block, word, |domain, rows| {
                let more = addend(constraint, weight, domains.sum(domain));
                for lane in lanes(rows) {
                    if let Some(sum) = sums.get_mut(lane) {
                        *sum += more;
                    }
                }
            });
            continue;
        }
        let counts = column.and_then(|rows| rows.counts.as_chunks::<64>().0.get(block));
        for lane in lanes(word) {
            let count = match counts {
                Some(counts) => i64::from(*counts.at(lane)),
                None => row_sums.sum((block.saturating_mul(64) | lane) as u32),
            };
            if let Some(sum) = sums.get_mut(lane) {
                *sum += addend(constraint, weight, count);
            }
        }
    }
}

/// Rounds the sums of scored rows.
fn fill_raw(keyed: &[u64], scratch: &mut Scratch) {
    let sums = core::mem::take(&mut scratch.sums);
    let blocks = sums.as_chunks::<64>().0;
    scratch.fill_raw(|block, _, raw| {
        let keyed = keyed.at(block);
        for ((lane, raw), sum) in raw
            .iter_mut()
            .enumerate()
            .zip(blocks.get(block).into_iter().flatten())
        {
            *raw = if keyed >> lane & 1 == 0 {
                IGNORED
            } else {
                round(*sum)
            };
        }
    });
    scratch.sums = sums;
}

/// To the nearest whole number, halves away from zero, as Go's `math.Round`.
pub(super) fn round(sum: f64) -> i64 {
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    if !(0.0..WHOLE).contains(&sum) {
        return libm::round(sum) as i64;
    }
    let whole = sum as i64;
    // Exact, as the two are close.
    let rest = sum - whole as f64;
    whole.saturating_add(i64::from(rest >= 0.5))
}

/// Few pods are good: the sum is mirrored between its extremes, and scaled to 0..=100.
pub(super) fn mirror(raw: i64, lowest: i64, highest: i64) -> i64 {
    if raw < 0 {
        return 0;
    }
    // No other sum occurs.
    let raw = raw.clamp(lowest, highest);
    let mirrored = highest.saturating_add(lowest).saturating_sub(raw);
    mirrored
        .saturating_mul(100)
        .checked_div(highest)
        .unwrap_or(100)
}

/// Ignored rows score 0.
fn normalize(scratch: &mut Scratch) -> Column {
    let (low, high) = scratch.extremes(true).unwrap_or((0, 0));
    let (lowest, highest) = scratch.extremes(false).unwrap_or((0, 0));
    scratch.scale(Plugin::PodTopologySpread, (lowest, highest), |raw| {
        mirror(raw, low, high) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::round;

    #[test]
    fn rounding_is_that_of_libm() {
        let mut random = crate::cycle::SplitMix(1);
        let halves = (0..4000).map(|half| f64::from(half) / 2.0);
        let near = halves.flat_map(|half| [half.next_down(), half, half.next_up()]);
        let drawn = (0..20_000).map(|_| f64::from_bits(random.below(u64::MAX)));
        for sum in near.chain(drawn).filter(|sum| !sum.is_nan()) {
            assert_eq!(round(sum), libm::round(sum) as i64, "{sum}");
        }
    }
}
