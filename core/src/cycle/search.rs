//! Which nodes are looked at, in which order, and when to stop.

use super::scratch::lanes;
use super::{Attempt, Policy, Scratch};
use crate::scheduler::NodeSearch;

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
    ((u64::from(nodes) * u64::from(percentage) / 100) as u32).max(WANTED_MIN)
}

/// Fills the list of feasible rows in the order of the walk, and moves the rotation index.
///
/// The walk goes on until one feasible node more than wanted is met, which is dropped; refusals of
/// nodes that it did not reach are taken back.
pub(crate) fn walk(attempt: Attempt<'_>, policy: Policy, start: &mut u32, scratch: &mut Scratch) {
    let order = attempt.cluster.order.list();
    let all = order.len() as u32;
    let searched =
        |scratch: &Scratch, row: u32| scratch.searched[row as usize / 64] & 1 << (row % 64) != 0;
    let length = if scratch.narrowed {
        order.iter().filter(|row| searched(scratch, **row)).count() as u32
    } else {
        all
    };
    let wanted = match policy.search {
        _ if scratch.unprepared.is_some() => 0,
        NodeSearch::All => length,
        // Upstream takes the first node that fits where nothing is scored.
        NodeSearch::Sampled if attempt.plan.scores.is_empty() => 1,
        NodeSearch::Sampled => wanted(length, attempt.plan.percentage),
    };
    let mut reached = length;
    if length > 0 {
        let from = if policy.best {
            // Nodes may have gone since the index was set.
            let begin = (*start % all.max(1)) as usize;
            let before = order.get(..begin).unwrap_or(order).iter();
            let searched = before.filter(|row| !scratch.narrowed || searched(scratch, **row));
            searched.count() as u32 % length
        } else {
            *start % length
        };
        let rows = order.iter().copied();
        if scratch.narrowed {
            // A narrowed list is the order without the other nodes.
            let mut list = core::mem::take(&mut scratch.heap);
            list.clear();
            list.extend(rows.filter(|row| searched(scratch, *row)));
            reached = take(&list, from, wanted, scratch);
            scratch.heap = list;
        } else {
            reached = take(order, from, wanted, scratch);
        }
    }
    if reached < length {
        scratch.forget_unsearched();
    }
    scratch.restore_kept();
    if policy.best {
        return;
    }
    let processed = scratch.list.len() as u32 + scratch.refused_count();
    *start = (*start % all.max(1) + processed) % all.max(1);
}

/// Walks `list` from `from`; returns how many nodes were looked at and kept or refused.
fn take(list: &[u32], from: u32, wanted: u32, scratch: &mut Scratch) -> u32 {
    let (before, after) = list.split_at_checked(from as usize).unwrap_or((list, &[]));
    if wanted as usize >= list.len() {
        for row in after.iter().chain(before) {
            if scratch.alive[*row as usize / 64] & 1 << (row % 64) != 0 {
                scratch.list.push(*row);
            }
        }
        return list.len() as u32;
    }
    scratch.set.fill(0);
    let mut reached = 0;
    for row in after.iter().chain(before) {
        let (word, bit) = (*row as usize / 64, 1 << (row % 64));
        if scratch.alive[word] & bit != 0 {
            if scratch.list.len() == wanted as usize {
                break;
            }
            scratch.list.push(*row);
        }
        scratch.set[word] |= bit;
        reached += 1;
    }
    scratch.searched.copy_from_slice(&scratch.set);
    reached
}

/// Rows of a set, ascending.
pub(crate) fn rows(set: &[u64]) -> impl Iterator<Item = u32> + '_ {
    set.iter()
        .enumerate()
        .flat_map(|(block, word)| lanes(*word).map(move |lane| (block * 64 + lane) as u32))
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
