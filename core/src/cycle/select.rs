//! One node of those with the best total.

use super::{Attempt, Scratch};
use crate::scheduler::Ties;

/// The row to take.
pub(crate) fn select(
    attempt: Attempt<'_>,
    ties: Ties,
    random: &mut SplitMix,
    scratch: &mut Scratch,
) -> Option<u32> {
    let best = scratch
        .list
        .iter()
        .map(|row| scratch.totals[*row as usize])
        .max()?;
    let is_best = |row: &&u32| scratch.totals[**row as usize] == best;
    match ties {
        Ties::Heap => heap_root(scratch),
        Ties::First => scratch.list.iter().find(is_best).copied(),
        Ties::FirstName => {
            let name = |row: &&u32| attempt.cluster.node_name(**row as usize);
            scratch
                .list
                .iter()
                .filter(is_best)
                .min_by_key(name)
                .copied()
        }
        Ties::Random => {
            let count = scratch.list.iter().filter(is_best).count() as u64;
            let place = random.below(count) as usize;
            scratch.list.iter().filter(is_best).nth(place).copied()
        }
    }
}

/// Root of the heap that Go's `container/heap` builds over the list.
///
/// It is the first of the best positions in the order parent, left subtree, right subtree; the
/// heap itself is built, as that order is a consequence. Mirrors `framework/sorted_nodes.go`.
fn heap_root(scratch: &mut Scratch) -> Option<u32> {
    let count = scratch.list.len();
    scratch.heap.clear();
    scratch.heap.extend_from_slice(&scratch.list);
    let heap = &mut scratch.heap;
    let totals = &scratch.totals;
    let better = |a: u32, b: u32| totals[a as usize] > totals[b as usize];
    for root in (0..count / 2).rev() {
        let mut parent = root;
        loop {
            let left = 2 * parent + 1;
            if left >= count {
                break;
            }
            let right = left + 1;
            let child = if right < count && better(heap[right], heap[left]) {
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
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}
