//! The best total of every block of nodes, for a live class whose verdicts and scores follow from a
//! node and the pods on it alone. The best node of all is found on the way down a tree, without a
//! look at the others.
//!
//! Stage before: [`Room`](super::room::Room), which keeps what a row is to the class and says which
//! rows changed. Stage after: [`best`](crate::cycle::best), which says when this may be asked. Twin:
//! the search over all nodes in `cycle.rs`; the property suites compare the two.

use super::Static;
use crate::capacity::{Capacities, bytes_of, sum};
use crate::cycle::Attempt;
use crate::kernel::{LANES, word};
use crate::table::Table;
use alloc::vec;
use alloc::vec::Vec;

/// Total of a block in which no node passes.
const NO_NODE: i16 = -1;

/// What the verdicts and totals of a class are made of, where they can be kept by block.
#[derive(Clone, Copy)]
pub(crate) struct Recipe<'a> {
    /// Verdicts that node objects decide.
    pub(crate) refusing: &'a [Static],
    /// Whether requests have to fit.
    pub(crate) fits: bool,
    /// Weights of NodeResourcesFit and NodeResourcesBalancedAllocation; 0 for one that does not score.
    pub(crate) weights: [i16; 2],
}

/// What a row is to the class, as [`Room`](super::room::Room) keeps it.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// One bit a row on which requests do not fit.
    pub(crate) short: &'a [u64],
    /// Scores by fit and by balance.
    pub(crate) scores: [&'a [u8]; 2],
}

/// A tree of maxima over blocks for each slot, and which rows pass.
#[derive(Clone, Default)]
pub(crate) struct Peaks {
    blocks: usize,
    /// Leaves of a tree, a power of two.
    leaves: usize,
    /// The root of a slot's tree is at 1, the children of `i` at `2 i` and `2 i + 1`.
    trees: Vec<i16>,
    /// By slot and block.
    passing: Vec<u64>,
    /// By slot: rows that pass.
    feasible: Vec<u32>,
}

impl Peaks {
    pub(super) fn new(capacities: &Capacities, rows: usize) -> Self {
        let slots = capacities.live_classes as usize;
        let blocks = rows / 64;
        let leaves = blocks.next_power_of_two();
        Self {
            blocks,
            leaves,
            trees: vec![NO_NODE; slots.saturating_mul(leaves).saturating_mul(2)],
            passing: vec![0; slots.saturating_mul(blocks)],
            feasible: vec![0; slots],
        }
    }

    pub(super) const fn bytes(capacities: &Capacities, rows: u64) -> u64 {
        let slots = capacities.live_classes as u64;
        let blocks = rows / 64;
        sum(&[
            bytes_of::<[i16; 2]>(slots.saturating_mul(blocks.next_power_of_two())),
            bytes_of::<u64>(slots.saturating_mul(blocks)),
            bytes_of::<u32>(slots),
        ])
    }

    /// The class of slot `from` moves into `to`.
    pub(super) fn relocate(&mut self, from: usize, to: usize) {
        self.trees
            .copy_column(self.leaves.saturating_mul(2), from, to);
        self.passing.copy_column(self.blocks, from, to);
        self.feasible.copy_column(1, from, to);
    }

    /// One bit a row that passes.
    pub(crate) fn passing(&self, slot: usize) -> &[u64] {
        self.passing.column(self.blocks, slot)
    }

    /// The best total of a block's rows that pass; below 0 where none does.
    pub(crate) fn peak(&self, slot: usize, block: usize) -> i16 {
        *self.tree(slot).at(self.leaves.saturating_add(block))
    }

    /// Rows that pass.
    pub(crate) fn feasible(&self, slot: usize) -> u32 {
        *self.feasible.at(slot)
    }

    fn tree(&self, slot: usize) -> &[i16] {
        self.trees.column(self.leaves.saturating_mul(2), slot)
    }

    /// Judges one block anew, after one of its rows changed.
    pub(super) fn repair(
        &mut self,
        attempt: Attempt<'_>,
        recipe: Recipe<'_>,
        rows: Rows<'_>,
        block: usize,
    ) {
        let peak = self.judge(attempt, recipe, rows, block);
        let size = self.leaves.saturating_mul(2);
        let tree = self.trees.column_mut(size, attempt.slot);
        let mut at = self.leaves.saturating_add(block);
        let mut value = peak;
        while at > 0 && *tree.at(at) != value {
            tree.set(at, value);
            value = value.max(*tree.at(at ^ 1));
            at /= 2;
        }
    }

    /// Judges all blocks anew.
    pub(super) fn rebuild(&mut self, attempt: Attempt<'_>, recipe: Recipe<'_>, rows: Rows<'_>) {
        let used = attempt.cluster.nodes.len().div_ceil(64);
        let size = self.leaves.saturating_mul(2);
        self.trees.column_mut(size, attempt.slot).fill(NO_NODE);
        self.passing.column_mut(self.blocks, attempt.slot).fill(0);
        self.feasible.set(attempt.slot, 0);
        for block in 0..used {
            let peak = self.judge(attempt, recipe, rows, block);
            let tree = self.trees.column_mut(size, attempt.slot);
            tree.set(self.leaves.saturating_add(block), peak);
        }
        let tree = self.trees.column_mut(size, attempt.slot);
        for at in (1..self.leaves).rev() {
            let left = at.saturating_mul(2);
            let peak = (*tree.at(left)).max(*tree.at(left | 1));
            tree.set(at, peak);
        }
    }

    /// Which rows of a block pass, and the best total among them.
    fn judge(
        &mut self,
        attempt: Attempt<'_>,
        recipe: Recipe<'_>,
        rows: Rows<'_>,
        block: usize,
    ) -> i16 {
        let mut word = attempt.cluster.blocks.at(block).present;
        for kind in recipe.refusing {
            word &= !attempt.bits(*kind).at(block);
        }
        if recipe.fits {
            word &= !rows.short.at(block);
        }
        let (blocks, slot) = (self.blocks, attempt.slot);
        if let Some(passing) = self.passing.column_mut(blocks, slot).at_mut(block)
            && let Some(feasible) = self.feasible.at_mut(slot)
        {
            let before = core::mem::replace(passing, word).count_ones();
            *feasible = feasible
                .saturating_add(word.count_ones())
                .saturating_sub(before);
        }
        totals(word, recipe, rows, block).map_or(NO_NODE, |totals| word::peak(&totals))
    }

    /// The first row at or after `start` that has the best total of all, else the first before it.
    pub(crate) fn best(
        &self,
        slot: usize,
        recipe: Recipe<'_>,
        rows: Rows<'_>,
        start: u32,
    ) -> Option<u32> {
        let tree = self.tree(slot);
        let best = *tree.at(1_usize);
        if best == NO_NODE {
            return None;
        }
        let passing = self.passing(slot);
        let in_block = |block: usize, lanes: u64| {
            let word = *passing.get(block)?;
            let lanes = lanes & word::equal(&totals(word, recipe, rows, block)?, best);
            let lane = lanes.trailing_zeros();
            (lane < 64).then(|| (block.saturating_mul(LANES) as u32).saturating_add(lane))
        };
        let (block, lane) = (start as usize / 64, start % 64);
        let from_lane = u64::MAX << lane;
        let holds = |block: usize| tree.get(self.leaves.saturating_add(block)) == Some(&best);
        let begin = holds(block).then(|| in_block(block, from_lane)).flatten();
        begin
            .or_else(|| {
                in_block(
                    self.next_peak(tree, block.saturating_add(1), best)?,
                    u64::MAX,
                )
            })
            .or_else(|| in_block(self.next_peak(tree, 0, best)?, u64::MAX))
    }

    /// The first block from `block` on whose best total is `best`.
    fn next_peak(&self, tree: &[i16], block: usize, best: i16) -> Option<usize> {
        if block >= self.leaves {
            return None;
        }
        let mut at = self.leaves.saturating_add(block);
        // Up until a subtree to the right holds it, then down to its first leaf.
        while *tree.at(at) != best {
            while at & 1 == 1 {
                at /= 2;
            }
            if at == 0 {
                return None;
            }
            at |= 1;
        }
        while at < self.leaves {
            at = at.saturating_mul(2);
            if *tree.at(at) != best {
                at |= 1;
            }
        }
        at.checked_sub(self.leaves)
    }
}

/// Totals of a block's rows, [`NO_NODE`] where one does not pass; `None` where no row does.
pub(crate) fn totals(
    word: u64,
    recipe: Recipe<'_>,
    rows: Rows<'_>,
    block: usize,
) -> Option<[i16; LANES]> {
    if word == 0 {
        return None;
    }
    let [fit, balance] = rows.scores.map(|scores| scores.as_chunks().0.get(block));
    let mut totals = [0; LANES];
    for (scores, weight) in [fit?, balance?].into_iter().zip(recipe.weights) {
        word::add_scores(&mut totals, scores, weight);
    }
    word::mask(&mut totals, word);
    Some(totals)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next leaf with the value, leaf by leaf.
    fn plain(leaves: &[i16], from: usize, best: i16) -> Option<usize> {
        (from..leaves.len()).find(|at| leaves[*at] == best)
    }

    #[test]
    fn the_next_peak_is_the_next_leaf_that_has_the_value() {
        for leaves in [1_usize, 2, 8, 32] {
            for seed in 0..500_u64 {
                let mut random = crate::cycle::SplitMix(seed);
                let values: Vec<i16> = (0..leaves).map(|_| random.below(3) as i16).collect();
                let mut tree = vec![0_i16; 2 * leaves];
                tree[leaves..].copy_from_slice(&values);
                for at in (1..leaves).rev() {
                    tree[at] = tree[2 * at].max(tree[2 * at + 1]);
                }
                let peaks = Peaks {
                    leaves,
                    ..Peaks::default()
                };
                for from in 0..=leaves {
                    let next = peaks.next_peak(&tree, from, tree[1]);
                    assert_eq!(
                        next,
                        plain(&values, from, tree[1]),
                        "{values:?} from {from}"
                    );
                }
            }
        }
    }
}
