//! What a live class makes of the room on every node: which nodes its requests do not fit on, and
//! how they score by it. Kept between its pods and repaired where pods came or went.
//!
//! Stage before: the [`Journal`](crate::cluster::journal::Journal) of rows whose room changed. Stage
//! after: NodeResourcesFit and NodeResourcesBalancedAllocation, which judge a row or a block here.

use crate::capacity::Capacities;
use crate::cycle::Attempt;
use crate::plugins::{Plugin, node_resources_balanced_allocation, node_resources_fit};
use alloc::vec;
use alloc::vec::Vec;

/// Repairs up to so many rows for each block that a rebuild would go over.
const REPAIRS_A_BLOCK: u64 = 12;

/// A position that no journal reaches: nothing is known yet.
const NEVER: u64 = u64::MAX;

#[derive(Default)]
pub(crate) struct Room {
    rows: usize,
    /// By slot: position in the journal up to which the slot knows all changes.
    known: Vec<u64>,
    /// By slot, one bit a row: requests do not fit.
    short: Vec<u64>,
    /// By slot and row.
    fit_scores: Vec<u8>,
    balance_scores: Vec<u8>,
}

impl Room {
    pub(super) fn new(capacities: &Capacities, rows: usize) -> Self {
        let slots = capacities.live_classes as usize;
        Self {
            rows,
            known: vec![NEVER; slots],
            short: vec![0; slots * rows / 64],
            fit_scores: vec![0; slots * rows],
            balance_scores: vec![0; slots * rows],
        }
    }

    pub(super) const fn bytes(capacities: &Capacities, rows: u64) -> u64 {
        capacities.live_classes as u64 * (8 + rows / 8 + 2 * rows)
    }

    /// One bit a row on which the class' requests do not fit.
    pub(crate) fn short(&self, slot: usize) -> &[u64] {
        part(&self.short, slot, self.rows / 64)
    }

    /// Scores of NodeResourcesFit by row.
    pub(crate) fn fit_scores(&self, slot: usize) -> &[u8] {
        part(&self.fit_scores, slot, self.rows)
    }

    /// Scores of NodeResourcesBalancedAllocation by row.
    pub(crate) fn balance_scores(&self, slot: usize) -> &[u8] {
        part(&self.balance_scores, slot, self.rows)
    }

    /// A new class has the slot.
    pub(super) fn clear(&mut self, slot: usize) {
        if let Some(known) = self.known.get_mut(slot) {
            *known = NEVER;
        }
    }

    /// The class of slot `from` moves into `to`.
    pub(super) fn relocate(&mut self, from: usize, to: usize) {
        let rows = self.rows;
        self.known.copy_within(from..=from, to);
        let words = rows / 64;
        self.short
            .copy_within(from * words..(from + 1) * words, to * words);
        for scores in [&mut self.fit_scores, &mut self.balance_scores] {
            scores.copy_within(from * rows..(from + 1) * rows, to * rows);
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
        match journal.since(since) {
            Some(rows) if behind <= blocks * REPAIRS_A_BLOCK => {
                for row in rows {
                    self.repair(attempt, row as usize);
                }
            }
            _ => self.rebuild(attempt),
        }
    }

    fn repair(&mut self, attempt: Attempt<'_>, row: usize) {
        let Some(block) = attempt.cluster.blocks.get(row / 64) else {
            return;
        };
        let (rows, slot, lane) = (self.rows, attempt.slot, row % 64);
        let plan = attempt.plan;
        if plan.filters.contains(&Plugin::NodeResourcesFit) {
            let short = node_resources_fit::is_short(attempt, block, row);
            if let Some(word) = self.short.get_mut(slot * rows / 64 + row / 64) {
                *word = *word & !(1 << lane) | u64::from(short) << lane;
            }
        }
        if let Some(score) = self.fit_scores.get_mut(slot * rows + row)
            && plan.scores(Plugin::NodeResourcesFit)
        {
            *score = node_resources_fit::score_of(attempt, block, row);
        }
        if let Some(score) = self.balance_scores.get_mut(slot * rows + row)
            && plan.scores(Plugin::NodeResourcesBalancedAllocation)
        {
            *score = node_resources_balanced_allocation::score_of(attempt, block, row);
        }
    }

    fn rebuild(&mut self, attempt: Attempt<'_>) {
        let (slot, rows, plan) = (attempt.slot, self.rows, attempt.plan);
        let scores = slot * rows..(slot + 1) * rows;
        if plan.filters.contains(&Plugin::NodeResourcesFit)
            && let Some(short) = self.short.get_mut(slot * rows / 64..(slot + 1) * rows / 64)
        {
            node_resources_fit::filter_all(attempt, short);
        }
        if plan.scores(Plugin::NodeResourcesFit)
            && let Some(scores) = self.fit_scores.get_mut(scores.clone())
        {
            node_resources_fit::score_all(attempt, scores);
        }
        if plan.scores(Plugin::NodeResourcesBalancedAllocation)
            && let Some(scores) = self.balance_scores.get_mut(scores)
        {
            node_resources_balanced_allocation::score_all(attempt, scores);
        }
    }
}

fn part<T>(table: &[T], slot: usize, length: usize) -> &[T] {
    table.get(slot * length..(slot + 1) * length).unwrap_or(&[])
}
