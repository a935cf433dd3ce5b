//! Preferred terms a block of 64 rows at a time, without a column of raw scores: they are summed up in 32
//! bits, once for the extremes and once more in the few blocks whose scores are asked for.
//!
//! Twin: [`super::score`], which writes the raw score of every row.

use super::{each_weighted, has_rows, is_flat, spread, sum_domains};
use crate::cluster::columns::TermRows;
use crate::cycle::{Attempt, Scratch};
use crate::id::KeyId;
use crate::kernel::{LANES, word};
use crate::node_set::lanes;
use crate::table::Table;

/// Terms that are read by row, and keys of those that are not.
const TERMS: usize = 8;
const KEYS: usize = 4;

/// Weights of all terms by row, and the sum of a domain, that are never exceeded: 65,535 pods a row on each
/// and a domain of each key stay within 32 bits.
const WEIGHTS_MAX: u64 = 1 << 13;
const SUM_MAX: u64 = 1 << 28;

/// Why rows are not summed up here.
pub(crate) enum Otherwise {
    /// All found rows score the same, or none does.
    Flat,
    /// There are too many terms, or sums may be too large.
    TooMuch,
}

/// What a row's raw score is the sum of.
pub(crate) struct Sums<'a> {
    attempt: Attempt<'a>,
    terms: [Option<(i32, TermRows<'a>)>; TERMS],
    keys: [Option<KeyId>; KEYS],
    /// Of the raw scores.
    extremes: (i64, i64),
}

impl<'a> Sums<'a> {
    /// Sums up for the found rows; leaves sums in [`Scratch::domains`] and the best raw score of each block
    /// in [`Scratch::best_raw`].
    pub(crate) fn new(attempt: Attempt<'a>, scratch: &mut Scratch) -> Result<Self, Otherwise> {
        if !sum_domains(attempt, scratch) || is_flat(attempt, scratch) {
            return Err(Otherwise::Flat);
        }
        let mut own = Self {
            attempt,
            terms: [None; TERMS],
            keys: [None; KEYS],
            extremes: (0, 0),
        };
        let is_small = own.find_terms() && own.find_keys(scratch);
        if !is_small {
            return Err(Otherwise::TooMuch);
        }
        own.extremes = own.find_extremes(scratch);
        let (lowest, highest) = own.extremes;
        if lowest < highest {
            Ok(own)
        } else {
            Err(Otherwise::Flat)
        }
    }

    /// `false`: there are too many, or they weigh too much.
    fn find_terms(&mut self) -> bool {
        let attempt = self.attempt;
        let (mut count, mut weights) = (0_usize, 0_u64);
        each_weighted(attempt, |term, key, weight| {
            let rows = attempt.cluster.terms.rows(term);
            let Some(rows) = rows.filter(|_| has_rows(attempt, term, key)) else {
                return;
            };
            weights = weights.saturating_add(weight.unsigned_abs());
            if let Some(place) = self.terms.get_mut(count) {
                *place = Some((weight as i32, rows));
            }
            count = count.saturating_add(1);
        });
        count <= TERMS && weights <= WEIGHTS_MAX
    }

    /// `false`: there are too many, or sums are too large.
    fn find_keys(&mut self, scratch: &mut Scratch) -> bool {
        let mut are_small = true;
        scratch.domains.each(|sum| {
            are_small &= sum.unsigned_abs() <= SUM_MAX;
        });
        let keys = (0..scratch.keys.len()).filter(|key| *scratch.keys.at(*key));
        let mut count = 0_usize;
        for key in keys {
            if let Some(place) = self.keys.get_mut(count) {
                *place = Some(KeyId::from_index(key));
            }
            count = count.saturating_add(1);
        }
        are_small && count <= KEYS
    }

    fn find_extremes(&self, scratch: &mut Scratch) -> (i64, i64) {
        let (mut lowest, mut highest) = (i32::MAX, i32::MIN);
        let mut best = core::mem::take(&mut scratch.best_raw);
        for (block, best) in best.iter_mut().enumerate() {
            let word = *scratch.found.words().at(block);
            if word != 0 {
                let (low, high) = word::masked_extremes_of_sums(word, &self.raw(scratch, block));
                lowest = lowest.min(low);
                highest = highest.max(high);
                *best = i64::from(high);
            }
        }
        scratch.best_raw = best;
        (i64::from(lowest), i64::from(highest))
    }

    /// The raw scores of a block.
    #[inline]
    fn raw(&self, scratch: &Scratch, block: usize) -> [i32; LANES] {
        let mut raw = [0_i32; LANES];
        for (weight, rows) in self.terms.iter().flatten() {
            if *rows.set.at(block) == 0 {
                continue;
            }
            let counts = rows.counts.as_chunks().0.get(block);
            for (raw, count) in raw.iter_mut().zip(counts.unwrap_or(&[0; LANES])) {
                *raw = raw.wrapping_add(weight.wrapping_mul(i32::from(*count)));
            }
        }
        let topology = &self.attempt.cluster.topology;
        for key in self.keys.iter().flatten() {
            let word = *scratch.found.words().at(block);
            topology.each_domain(*key, block, word, |domain, rows| {
                let sum = scratch.domains.sum(domain) as i32;
                if sum != 0 {
                    for lane in lanes(rows) {
                        if let Some(raw) = raw.at_mut(lane) {
                            *raw = raw.wrapping_add(sum);
                        }
                    }
                }
            });
        }
        raw
    }

    /// Whether scores are read from [`Scratch::domains`].
    pub(crate) fn reads_domains(&self) -> bool {
        self.keys.iter().flatten().next().is_some()
    }

    fn score(&self, raw: i64) -> u8 {
        let (lowest, highest) = self.extremes;
        // Rows that were not found may have any.
        spread(raw.clamp(lowest, highest), lowest, highest)
    }

    /// The highest score of a block's found rows.
    pub(crate) fn peak(&self, scratch: &Scratch, block: usize) -> u8 {
        self.score(*scratch.best_raw.at(block))
    }

    /// Writes the scores of a block's found rows.
    pub(crate) fn write(&self, scratch: &Scratch, block: usize, scores: &mut [u8; LANES]) {
        let raw = self.raw(scratch, block);
        let mut last = None;
        for (score, raw) in scores.iter_mut().zip(raw) {
            // Neighbours often have as many pods.
            *score = match last {
                Some((known, score)) if known == raw => score,
                _ => self.score(i64::from(raw)),
            };
            last = Some((raw, *score));
        }
    }
}
