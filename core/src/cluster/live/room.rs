//! What a live class makes of the room on every node: which nodes its requests do not fit on, and
//! how they score by it. Kept between its pods and repaired where pods came or went.
//!
//! Stage before: the [`Journal`](crate::cluster::journal::Journal) of rows whose room changed. Stage
//! after: NodeResourcesFit and NodeResourcesBalancedAllocation, which judge a row or a block here.

use super::peaks::{Peaks, Rows};
use crate::capacity::{Capacities, bytes_of, sum};
use crate::cycle::{Attempt, best};
use crate::plugins::{Plugin, node_resources_balanced_allocation, node_resources_fit};
use crate::table::Table;
use alloc::vec;
use alloc::vec::Vec;

/// Repairs up to so many rows for each block that a rebuild would go over.
const REPAIRS_A_BLOCK: u64 = 12;

/// A position that no journal reaches: nothing is known yet.
const NEVER: u64 = u64::MAX;

#[derive(Clone, Default)]
pub(crate) struct Room {
    rows: usize,
    /// By slot: position in the journal up to which the slot knows all changes.
    known: Vec<u64>,
    /// By slot, one bit a row: requests do not fit.
    short: Vec<u64>,
    /// By slot and row.
    fit_scores: Vec<u8>,
    balance_scores: Vec<u8>,
    pub(crate) peaks: Peaks,
    /// Whether peaks are kept.
    pub(crate) keeps_peaks: bool,
}

impl Room {
    pub(super) fn new(capacities: &Capacities, rows: usize) -> Self {
        let slots = capacities.live_classes as usize;
        Self {
            rows,
            known: vec![NEVER; slots],
            short: vec![0; slots.saturating_mul(rows / 64)],
            fit_scores: vec![0; slots.saturating_mul(rows)],
            balance_scores: vec![0; slots.saturating_mul(rows)],
            peaks: Peaks::new(capacities, rows),
            keeps_peaks: false,
        }
    }

    pub(super) const fn bytes(capacities: &Capacities, rows: u64) -> u64 {
        let slots = capacities.live_classes as u64;
        sum(&[
            bytes_of::<u64>(slots),
            bytes_of::<u64>(slots.saturating_mul(rows / 64)),
            bytes_of::<[u8; 2]>(slots.saturating_mul(rows)),
            Peaks::bytes(capacities, rows),
        ])
    }

    /// One bit a row on which the class' requests do not fit.
    pub(crate) fn short(&self, slot: usize) -> &[u64] {
        self.short.column(self.rows / 64, slot)
    }

    /// Scores of NodeResourcesFit by row.
    pub(crate) fn fit_scores(&self, slot: usize) -> &[u8] {
        self.fit_scores.column(self.rows, slot)
    }

    /// Scores of NodeResourcesBalancedAllocation by row.
    pub(crate) fn balance_scores(&self, slot: usize) -> &[u8] {
        self.balance_scores.column(self.rows, slot)
    }

    /// A new class has the slot.
    pub(super) fn clear(&mut self, slot: usize) {
        if let Some(known) = self.known.get_mut(slot) {
            *known = NEVER;
        }
    }

    /// The class of slot `from` moves into `to`.
    pub(super) fn relocate(&mut self, from: usize, to: usize) {
        self.known.copy_column(1, from, to);
        self.short.copy_column(self.rows / 64, from, to);
        for scores in [&mut self.fit_scores, &mut self.balance_scores] {
            scores.copy_column(self.rows, from, to);
        }
        self.peaks.relocate(from, to);
    }

    /// What rows are to the slot's class.
    pub(crate) fn of(&self, slot: usize) -> Rows<'_> {
        Rows {
            short: self.short(slot),
            scores: [self.fit_scores(slot), self.balance_scores(slot)],
        }
    }

    /// Takes in every change since the slot's last attempt.
    pub(crate) fn catch_up(&mut self, attempt: Attempt<'_>) {
        let journal = &attempt.cluster.journal;
        let Some(known) = self.known.get_mut(attempt.slot) else {
            return;
        };
        let since = core::mem::replace(known, journal.head());
        let behind = journal.head().wrapping_sub(since);
        let blocks = (attempt.cluster.nodes.len() as u64).div_ceil(64);
        let recipe = self.keeps_peaks.then(|| best::recipe(attempt)).flatten();
        let mut peaks = core::mem::take(&mut self.peaks);
        match journal.since(since) {
            Some(rows) if behind <= blocks.saturating_mul(REPAIRS_A_BLOCK) => {
                for row in rows {
                    self.repair(attempt, row as usize);
                    if let Some(recipe) = recipe {
                        let block = row as usize / 64;
                        peaks.repair(attempt, recipe, self.of(attempt.slot), block);
                    }
                }
            }
            _ => {
                self.rebuild(attempt);
                if let Some(recipe) = recipe {
                    peaks.rebuild(attempt, recipe, self.of(attempt.slot));
                }
            }
        }
        self.peaks = peaks;
    }

    fn repair(&mut self, attempt: Attempt<'_>, row: usize) {
        let Some(block) = attempt.cluster.blocks.get(row / 64) else {
            return;
        };
        let (rows, slot, lane) = (self.rows, attempt.slot, row % 64);
        let plan = attempt.plan;
        if plan.filters.contains(&Plugin::NodeResourcesFit) {
            let short = node_resources_fit::is_short(attempt, block, row);
            if let Some(word) = self.short.column_mut(rows / 64, slot).at_mut(row / 64) {
                *word = *word & !(1 << lane) | u64::from(short) << lane;
            }
        }
        if plan.scores(Plugin::NodeResourcesFit) {
            let score = node_resources_fit::score_of(attempt, block, row);
            self.fit_scores.column_mut(rows, slot).set(row, score);
        }
        if plan.scores(Plugin::NodeResourcesBalancedAllocation) {
            let score = node_resources_balanced_allocation::score_of(attempt, block, row);
            self.balance_scores.column_mut(rows, slot).set(row, score);
        }
    }

    fn rebuild(&mut self, attempt: Attempt<'_>) {
        let (slot, rows, plan) = (attempt.slot, self.rows, attempt.plan);
        if plan.filters.contains(&Plugin::NodeResourcesFit) {
            node_resources_fit::filter_all(attempt, self.short.column_mut(rows / 64, slot));
        }
        if plan.scores(Plugin::NodeResourcesFit) {
            node_resources_fit::score_all(attempt, self.fit_scores.column_mut(rows, slot));
        }
        if plan.scores(Plugin::NodeResourcesBalancedAllocation) {
            let scores = self.balance_scores.column_mut(rows, slot);
            node_resources_balanced_allocation::score_all(attempt, scores);
        }
    }
}
