//! Soft constraints without a look at each row: a row's raw score follows from the pods on it and in one
//! domain that it shares, and falls as they grow, so that the fewest pods of a block bound its scores.
//!
//! Twin: [`super::soft`], which scores every row.

use super::soft;
use crate::cluster::live::Constraint;
use crate::cycle::{Attempt, Scratch};
use crate::kernel::{LANES, word};
use crate::node_set::lanes;
use crate::table::Table;

/// A constraint and what a pod that it counts weighs.
#[derive(Clone, Copy)]
struct Weighed {
    constraint: Constraint,
    weight: f64,
}

impl Weighed {
    fn of(self, count: i64) -> f64 {
        soft::addend(&self.constraint, self.weight, count)
    }
}

/// The soft constraints of a class, of which one may count by host and one by domain.
pub(crate) struct ByCount<'a> {
    attempt: Attempt<'a>,
    host: Option<(Weighed, &'a [[u16; LANES]])>,
    shared: Option<Weighed>,
    /// Of the raw scores, which are rounded sums.
    extremes: (i64, i64),
}

/// The fewest and the most pods on rows of a block, and the rows that have so many.
struct Span<'a> {
    counts: &'a [u16; LANES],
    ends: [(u16, u64); 2],
}

impl<'a> Span<'a> {
    fn of(word: u64, counts: &'a [u16; LANES]) -> Self {
        let (few, many) = word::masked_extremes(word, counts);
        let ends = [few, many].map(|end| (end, word::equal(counts, end)));
        Self { counts, ends }
    }

    /// The fewest and the most on some of the rows.
    fn within(&self, rows: u64) -> [u16; 2] {
        if self.ends.iter().all(|(_, own)| rows & own != 0) {
            return self.ends.map(|(end, _)| end);
        }
        let (few, many) = word::masked_extremes(rows, self.counts);
        [few, many]
    }
}

/// Rows of a block that were found and are scored.
fn scored_rows(scratch: &Scratch, block: usize) -> u64 {
    scratch.found.words().at(block) & scratch.keyed.words().at(block)
}

/// Whether the class has soft constraints.
pub(crate) fn scores(attempt: Attempt<'_>) -> bool {
    soft::constraints(attempt).next().is_some()
}

impl<'a> ByCount<'a> {
    /// Counts for the found rows; leaves sums in [`Scratch::domains`] and the least of each block in
    /// [`Scratch::best_sums`]. `None` where constraints are not of the kind.
    pub(crate) fn new(attempt: Attempt<'a>, scratch: &mut Scratch) -> Option<Self> {
        let (topology, terms) = (&attempt.cluster.topology, &attempt.cluster.terms);
        let mut own = Self {
            attempt,
            host: None,
            shared: None,
            extremes: (0, 0),
        };
        let scored = soft::find_keyed(attempt, &scratch.found, &mut scratch.keyed);
        for constraint in soft::constraints(attempt) {
            if !constraint.is_hostname() {
                if own.shared.is_some() {
                    return None;
                }
                let keyed = core::mem::take(&mut scratch.keyed);
                let size = soft::count_domains(attempt, &constraint, keyed.words(), scratch);
                scratch.keyed = keyed;
                let weight = soft::weight_of(size);
                own.shared = Some(Weighed { constraint, weight });
                continue;
            }
            let rows = terms.rows(constraint.term?)?;
            let mut words = topology.keyed(constraint.key).iter().enumerate();
            let is_keyed = words.all(|(block, keyed)| scored_rows(scratch, block) & !keyed == 0);
            if !is_keyed || own.host.is_some() {
                return None;
            }
            let weight = soft::weight_of(scored);
            let counts = rows.counts.as_chunks().0;
            own.host = Some((Weighed { constraint, weight }, counts));
        }
        own.extremes = own.find_extremes(scratch);
        Some(own)
    }

    fn find_extremes(&self, scratch: &mut Scratch) -> (i64, i64) {
        let (mut lowest, mut highest) = (f64::INFINITY, -1.0_f64);
        let mut best = core::mem::take(&mut scratch.best_sums);
        for (block, best) in best.iter_mut().enumerate() {
            let word = scored_rows(scratch, block);
            if word == 0 {
                *best = f64::INFINITY;
                continue;
            }
            let span = self.counts(block).map(|counts| Span::of(word, counts));
            let mut least = f64::INFINITY;
            self.each_group(scratch, block, word, |sum, rows| {
                let [few, many] = span.as_ref().map_or([0; 2], |span| span.within(rows));
                least = least.min(self.sum(sum, few));
                highest = highest.max(self.sum(sum, many));
            });
            lowest = lowest.min(least);
            *best = least;
        }
        scratch.best_sums = best;
        if lowest <= highest {
            (soft::round(lowest), soft::round(highest))
        } else {
            (0, 0)
        }
    }

    /// Pods on the rows of a block.
    fn counts(&self, block: usize) -> Option<&'a [u16; LANES]> {
        self.host.and_then(|(_, counts)| counts.get(block))
    }

    /// Gives the scored rows of a block by domain, with the pods in it; `None` for those without the key.
    #[inline]
    fn each_group(
        &self,
        scratch: &Scratch,
        block: usize,
        word: u64,
        mut give: impl FnMut(Option<i64>, u64),
    ) {
        let mut bare = word;
        if let Some(shared) = self.shared {
            let topology = &self.attempt.cluster.topology;
            let key = shared.constraint.key;
            topology.each_domain(key, block, word, |domain, rows| {
                give(Some(scratch.domains.sum(domain)), rows);
            });
            bare &= !topology.keyed(key).at(block);
        }
        if bare != 0 {
            give(None, bare);
        }
    }

    /// What the raw score of a row with so many pods, in its domain and on it, is rounded from.
    #[inline]
    fn sum(&self, in_domain: Option<i64>, on_host: u16) -> f64 {
        // Two terms: the sum is the same in any order.
        let shared = self.shared.zip(in_domain);
        let shared = shared.map_or(0.0, |(own, count)| own.of(count));
        let host = self.host;
        shared + host.map_or(0.0, |(own, _)| own.of(i64::from(on_host)))
    }

    fn score(&self, sum: f64) -> u8 {
        let (lowest, highest) = self.extremes;
        soft::mirror(soft::round(sum), lowest, highest) as u8
    }

    /// The highest score of a block's found rows.
    pub(crate) fn peak(&self, scratch: &Scratch, block: usize) -> u8 {
        let least = *scratch.best_sums.at(block);
        // Ignored rows score 0.
        if least.is_finite() {
            self.score(least)
        } else {
            0
        }
    }

    /// Writes the scores of a block's found rows.
    pub(crate) fn write(&self, scratch: &Scratch, block: usize, scores: &mut [u8; LANES]) {
        // Ignored rows score 0.
        scores.fill(0);
        let (word, counts) = (scored_rows(scratch, block), self.counts(block));
        self.each_group(scratch, block, word, |sum, rows| {
            let mut last = None;
            for lane in lanes(rows) {
                let count = counts.map_or(0, |counts| *counts.at(lane));
                // Neighbours often have as many pods.
                let score = match last {
                    Some((known, score)) if known == count => score,
                    _ => self.score(self.sum(sum, count)),
                };
                last = Some((count, score));
                if let Some(own) = scores.at_mut(lane) {
                    *own = score;
                }
            }
        });
    }
}
