//! One node of those with the best total.

use super::{Attempt, Scratch};
use crate::scheduler::Ties;

/// The row to take.
pub(crate) fn select(
    attempt: Attempt<'_>,
    ties: Ties,
    random: &mut SplitMix,
    scratch: &Scratch,
) -> Option<u32> {
    let best = *scratch.totals.iter().max()?;
    let tied = || {
        let places = scratch.totals.iter().enumerate();
        places
            .filter(move |(_, total)| **total == best)
            .map(|(place, _)| place)
    };
    let place = match ties {
        Ties::Heap => tied().reduce(first_on_the_way_down),
        Ties::First => tied().next(),
        Ties::FirstName => tied().min_by_key(|place| {
            let row = scratch.list.get(*place);
            row.map(|row| attempt.cluster.node_name(*row as usize))
        }),
        Ties::Random => {
            let count = tied().count() as u64;
            tied().nth(random.below(count) as usize)
        }
    };
    scratch.list.get(place?).copied()
}

/// Which of two best places comes to the root of the heap that Go's `container/heap` builds.
///
/// A parent stays above children that are not better, and of two equal children the left one rises:
/// so the root is the first of the best in the order parent, left subtree, right subtree. Mirrors
/// `framework/sorted_nodes.go`; [`tests`] builds the heap.
fn first_on_the_way_down(a: usize, b: usize) -> usize {
    // Counted from 1, a place's bits are the way to it from the root: 0 is left, 1 is right.
    let (way_a, way_b) = (a.saturating_add(1), b.saturating_add(1));
    let (depth_a, depth_b) = (way_a.ilog2(), way_b.ilog2());
    let common = depth_a.min(depth_b);
    let to_a = way_a >> depth_a.saturating_sub(common);
    let to_b = way_b >> depth_b.saturating_sub(common);
    // One is above the other, or the ways part.
    let a_first = if to_a == to_b {
        depth_a <= depth_b
    } else {
        to_a < to_b
    };
    if a_first { a } else { b }
}

/// SplitMix64. State files and replays depend on its numbers: it stays as it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, without bias to speak of; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next()).saturating_mul(u128::from(bound));
        (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{SplitMix, first_on_the_way_down};
    use alloc::vec::Vec;

    /// Root of the heap over `totals`, built as `container/heap` does.
    fn heap_root(totals: &[i64]) -> Option<usize> {
        let mut heap: Vec<usize> = (0..totals.len()).collect();
        let better = |a: usize, b: usize| totals[a] > totals[b];
        for root in (0..heap.len() / 2).rev() {
            let mut parent = root;
            loop {
                let left = 2 * parent + 1;
                if left >= heap.len() {
                    break;
                }
                let right = left + 1;
                let child = if right < heap.len() && better(heap[right], heap[left]) {
                    right
                } else {
                    left
                };
                if !better(heap[child], heap[parent]) {
                    break;
                }
                heap.swap(parent, child);
                parent = child;
            }
        }
        heap.first().copied()
    }

    #[test]
    fn the_first_on_the_way_down_is_the_root_of_the_heap() {
        let mut random = SplitMix(1);
        for round in 0..20_000_u64 {
            let totals: Vec<i64> = (0..=round % 70)
                .map(|_| random.below(1 + round % 5) as i64)
                .collect();
            let best = totals.iter().max();
            let tied = (0..totals.len()).filter(|place| totals.get(*place) == best);
            let root = tied.reduce(first_on_the_way_down);
            assert_eq!(root, heap_root(&totals), "{totals:?}");
        }
    }
}
