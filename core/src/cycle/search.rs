//! Which nodes are looked at, in which order, and when to stop.

use super::{Attempt, Policy, Scratch};
use crate::node_set;
use crate::scheduler::NodeSearch;
use crate::table::{Count, Table};

/// Fewer nodes than this are all looked at, and as many feasible ones are always wanted.
const WANTED_MIN: u32 = 100;

/// Feasible nodes after which the search stops.
///
/// Mirrors `numFeasibleNodesToFind` in `pkg/scheduler/schedule_one.go`.
fn wanted(nodes: u32, percentage: u32) -> u32 {
    if nodes < WANTED_MIN {
        return nodes;
    }
    let percentage = match percentage {
        0 => (50_u32.saturating_sub(nodes / 125)).max(5),
        given => given,
    };
    let share = u64::from(nodes).saturating_mul(u64::from(percentage)) / 100;
    (share as u32).max(WANTED_MIN)
}

/// Fills the list of feasible rows in the order of the walk, and moves the rotation index; returns
/// how many nodes were looked at.
///
/// The walk goes on until one feasible node more than wanted is met, which is dropped; refusals of
/// nodes that it did not reach are taken back.
pub(super) fn walk(
    attempt: Attempt<'_>,
    policy: Policy,
    start: &mut u32,
    scratch: &mut Scratch,
) -> u32 {
    if policy.best {
        return walk_rows(attempt, policy, *start, scratch);
    }
    let order = attempt.cluster.order.list();
    let all = order.len() as u32;
    // A narrowed list is the order without the other nodes.
    let mut narrow = core::mem::take(&mut scratch.narrow);
    narrow.clear();
    let searched = |row: &u32| scratch.searched.contains(*row);
    let list = if scratch.narrowed {
        narrow.extend(order.iter().copied().filter(searched));
        narrow.as_slice()
    } else {
        order
    };
    let length = list.len() as u32;
    let wanted = wanted_of(attempt, policy, scratch, length);
    let from = start.checked_rem(length).unwrap_or(0) as usize;
    let reached = take(list, from, wanted, scratch);
    scratch.narrow = narrow;
    if reached < length {
        scratch.forget_unsearched();
    }
    // A nominated node is looked at whether or not the walk meets it.
    let processed = reached.saturating_add(u32::from(scratch.restore_kept()));
    let old = start.checked_rem(all).unwrap_or(0);
    *start = old.saturating_add(processed).checked_rem(all).unwrap_or(0);
    processed
}

/// Feasible nodes after which a search among `length` nodes stops.
fn wanted_of(attempt: Attempt<'_>, policy: Policy, scratch: &Scratch, length: u32) -> u32 {
    match policy.search {
        _ if scratch.unprepared.is_some() => 0,
        NodeSearch::All => length,
        // Upstream takes the first node that fits where nothing is scored.
        NodeSearch::Sampled if attempt.plan.scores.is_empty() && !policy.scores_many => 1,
        NodeSearch::Sampled => wanted(length, attempt.plan.percentage),
    }
}

/// The same in the order of rows, from row `start` on and round to it.
fn walk_rows(attempt: Attempt<'_>, policy: Policy, start: u32, scratch: &mut Scratch) -> u32 {
    let length = node_set::count(scratch.searched.words());
    let wanted = wanted_of(attempt, policy, scratch, length);
    scratch.list.clear();
    let mut reached = length;
    if wanted == length {
        let (list, alive) = (&mut scratch.list, scratch.alive.words());
        list.extend(node_set::rows_from(alive, start));
    } else {
        reached = 0;
        scratch.set.clear();
        for row in node_set::rows_from(scratch.searched.words(), start) {
            let passes = scratch.alive.contains(row);
            if passes && scratch.list.len() as u32 >= wanted {
                break;
            }
            if passes {
                scratch.list.push(row);
            }
            scratch.set.insert(row);
            reached.count_up();
        }
        scratch.searched.copy_from(&scratch.set);
        scratch.forget_unsearched();
    }
    // A nominated node is looked at whether or not the walk meets it.
    reached.saturating_add(u32::from(scratch.restore_kept()))
}

/// Walks `list` from `from`; returns how many nodes were looked at and kept or refused.
fn take(list: &[u32], from: usize, wanted: u32, scratch: &mut Scratch) -> u32 {
    let (before, after) = list.split_at_checked(from).unwrap_or((list, &[]));
    let kept = &mut scratch.list;
    // Every row is written behind the kept ones and counted if it is alive: no branch to mispredict.
    kept.resize(list.len(), 0);
    let alive = scratch.alive.words();
    // Neither count comes to exceed the length of the list.
    let (mut count, mut reached) = (0_usize, 0_usize);
    // The set of rows looked at, whose current word stays out of memory.
    scratch.set.clear();
    let looked_at = scratch.set.words_mut();
    let (mut word_at, mut word) = (0, 0u64);
    'walk: for part in [after, before] {
        for row in part {
            let (at, bit) = (*row as usize / 64, row % 64);
            kept.set(count, *row);
            count = count.wrapping_add((alive.at(at) >> bit & 1) as usize);
            if count > wanted as usize {
                count = wanted as usize;
                break 'walk;
            }
            if at != word_at {
                if let Some(seen) = looked_at.at_mut(word_at) {
                    *seen |= word;
                }
                (word_at, word) = (at, 0);
            }
            word |= 1 << bit;
            reached = reached.wrapping_add(1);
        }
    }
    kept.truncate(count);
    if let Some(last) = looked_at.get_mut(word_at) {
        *last |= word;
    }
    if reached < list.len() {
        scratch.searched.copy_from(&scratch.set);
    }
    reached as u32
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn as_many_nodes_are_wanted_as_upstream_wants() {
        let adaptive = [
            (99, 99),
            (100, 100),
            (200, 100),
            (1000, 420),
            (5000, 500),
            (10_000, 500),
        ];
        for (nodes, expected) in adaptive {
            assert_eq!(wanted(nodes, 0), expected, "{nodes} nodes");
        }
        assert_eq!(
            [wanted(1000, 1), wanted(20_000, 1), wanted(500, 100)],
            [100, 200, 500]
        );
    }
}
