//! External plugins: rules of the caller at Filter and Score.
//!
//! Stage before: all filters of the core have run. Stage after: the search, and for scores the
//! choice. A rule is asked once an attempt, about all nodes that are left, and not once a node; the
//! nominated node and candidates of preemption are asked about alone. Upstream's place for them is a
//! plugin at the end of the profile's Filter and Score points.

use super::extender::Verbs;
use super::{Attempt, Scratch};
use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::decision::AttemptError;
use crate::id::ClassId;
use crate::node_set::{self, NodeSet};
use crate::plugins::{Plugin, Point};
use crate::scheduler::Hooks;
use crate::table::Table;
use alloc::string::String;
use alloc::vec::Vec;

/// External filters at most, and external scores at most: each has a set or a column of all nodes.
pub const EXTERNAL_PLUGINS_MAX: usize = 8;

/// The highest score of a plugin.
const SCORE_MAX: i64 = 100;

/// Plugins of the caller, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Externals {
    /// Name, and why it refuses.
    pub(crate) filters: Vec<(String, String)>,
    /// Name and weight.
    pub(crate) scores: Vec<(String, i64)>,
    /// What extenders are asked.
    pub(crate) verbs: Verbs,
}

impl Externals {
    pub(crate) fn is_empty(&self) -> bool {
        self.filters.is_empty() && self.scores.is_empty() && !self.verbs.any
    }

    pub(crate) fn add_filter(&mut self, name: &str, reason: &str) -> Result<(), CapacityExceeded> {
        check_room(self.filters.len())?;
        self.filters.push((name.into(), reason.into()));
        Ok(())
    }

    pub(crate) fn add_score(&mut self, name: &str, weight: u32) -> Result<(), CapacityExceeded> {
        check_room(self.scores.len())?;
        self.scores.push((name.into(), i64::from(weight)));
        Ok(())
    }
}

const fn check_room(count: usize) -> Result<(), CapacityExceeded> {
    if count < EXTERNAL_PLUGINS_MAX {
        return Ok(());
    }
    Err(CapacityExceeded {
        which: "external_plugins",
        limit: EXTERNAL_PLUGINS_MAX as u64,
    })
}

/// What external plugins said in the attempt.
#[derive(Clone)]
pub(crate) struct ExternalScratch {
    words: usize,
    rows: usize,
    /// One node set a filter: the nodes that it refused.
    refused: Vec<u64>,
    /// Whether any filter refused a node, of those that were looked at.
    pub(crate) has_refused: bool,
    /// One column of all rows a score.
    scores: Vec<u8>,
    /// Whether the columns are those of the attempt.
    pub(crate) is_scored: bool,
}

impl ExternalScratch {
    pub(crate) fn new(rows: usize) -> Self {
        let words = rows / 64;
        let table = |size: usize| size.saturating_mul(EXTERNAL_PLUGINS_MAX);
        let (mut refused, mut scores) = (Vec::new(), Vec::new());
        refused.resize(table(words), 0);
        scores.resize(table(rows), 0);
        Self {
            words,
            rows,
            refused,
            has_refused: false,
            scores,
            is_scored: false,
        }
    }

    pub(crate) const fn bytes(rows: u64) -> u64 {
        sum(&[
            bytes_of::<[u64; EXTERNAL_PLUGINS_MAX]>(rows / 64),
            bytes_of::<[u8; EXTERNAL_PLUGINS_MAX]>(rows),
        ])
    }

    pub(crate) fn clear(&mut self) {
        self.is_scored = false;
        if self.has_refused {
            self.refused.fill(0);
            self.has_refused = false;
        }
    }

    /// Takes back refusals of nodes that were never looked at.
    pub(crate) fn keep(&mut self, searched: &NodeSet) {
        if !self.has_refused {
            return;
        }
        let mut left = 0;
        for refused in self.refused.chunks_exact_mut(self.words.max(1)) {
            for (refused, searched) in refused.iter_mut().zip(searched.words()) {
                *refused &= searched;
                left |= *refused;
            }
        }
        self.has_refused = left != 0;
    }

    /// Nodes that the filter refused.
    pub(crate) fn refused(&self, filter: usize) -> &[u64] {
        self.refused.column(self.words, filter)
    }

    /// The score that was given to a feasible row.
    pub(crate) fn score(&self, score: usize, row: u32) -> u8 {
        *self.scores.column(self.rows, score).at(row)
    }
}

/// Says to hooks that a point begins; what is returned says so of its plugins.
pub(crate) fn told<H: Hooks + ?Sized>(hooks: &mut H, point: Point) -> impl FnMut(Plugin) {
    hooks.enters(point, None);
    move |plugin| hooks.enters(point, Some(plugin))
}

/// External plugins as an attempt asks them.
pub(crate) struct Outside<'a> {
    hooks: &'a mut dyn Hooks,
    filters: usize,
    weights: [i64; EXTERNAL_PLUGINS_MAX],
    scores: usize,
    verbs: Verbs,
    /// Words that hold every node there is.
    words: usize,
    class: ClassId,
}

impl<'a> Outside<'a> {
    /// `rows` of the node table are in use.
    pub(crate) fn new(
        hooks: &'a mut dyn Hooks,
        externals: &Externals,
        rows: usize,
        class: ClassId,
    ) -> Self {
        let mut weights = [0; EXTERNAL_PLUGINS_MAX];
        for (own, (_, weight)) in weights.iter_mut().zip(&externals.scores) {
            *own = *weight;
        }
        Self {
            hooks,
            filters: externals.filters.len(),
            weights,
            scores: externals.scores.len(),
            verbs: externals.verbs,
            words: node_set::words(rows),
            class,
        }
    }

    /// Says that a point or a plugin of it begins.
    pub(crate) fn enters(&mut self, point: Point, plugin: Option<Plugin>) {
        self.hooks.enters(point, plugin);
    }

    /// Says that a point begins; what is returned says so of its plugins.
    pub(crate) fn told(&mut self, point: Point) -> impl FnMut(Plugin) {
        told(self.hooks, point)
    }

    /// Whether one feasible node is not enough, even where no plugin of the core scores.
    pub(crate) const fn wants_many(&self) -> bool {
        self.scores > 0 || self.verbs.filter || self.verbs.prioritize
    }

    /// Asks the filters about all nodes that are left.
    pub(crate) fn filter(&mut self, scratch: &mut Scratch) -> Result<(), AttemptError> {
        if scratch.unprepared.is_some() {
            return Ok(());
        }
        for filter in 0..self.filters {
            if scratch.alive.is_empty() {
                break;
            }
            let (alive, kept) = (&mut scratch.alive, &mut scratch.set);
            self.ask(filter, alive, kept)?;
            let external = &mut scratch.external;
            let refused = external.refused.column_mut(external.words, filter);
            let words = alive.words_mut().iter_mut().zip(kept.words());
            for ((alive, kept), refused) in words.zip(refused) {
                *refused |= *alive & !kept;
                external.has_refused |= *refused != 0;
                *alive = *kept;
            }
        }
        Ok(())
    }

    /// Whether the filters keep one row, in a scratch of which nothing is needed any more.
    pub(crate) fn keeps(&mut self, row: u32, scratch: &mut Scratch) -> Result<bool, AttemptError> {
        if self.filters == 0 {
            return Ok(true);
        }
        scratch.alive.clear();
        scratch.alive.insert(row);
        for filter in 0..self.filters {
            self.ask(filter, &scratch.alive, &mut scratch.set)?;
            if scratch.set.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sets `kept` to the nodes of `alive` that a filter does not refuse.
    fn ask(
        &mut self,
        filter: usize,
        alive: &NodeSet,
        kept: &mut NodeSet,
    ) -> Result<(), AttemptError> {
        kept.copy_from(alive);
        let end = self.words;
        let there = alive.words().get(..end).unwrap_or_default();
        let answer = kept.words_mut().get_mut(..end).unwrap_or_default();
        let is_done = self.hooks.filter(filter, self.class, there, answer);
        let mut pairs = kept.words().iter().zip(alive.words());
        if is_done && pairs.all(|(kept, alive)| kept & !alive == 0) {
            Ok(())
        } else {
            Err(AttemptError::External)
        }
    }

    /// Adds the scores of the feasible nodes to their totals.
    pub(crate) fn score(
        &mut self,
        attempt: Attempt<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), AttemptError> {
        debug_assert_eq!(attempt.pod.class, self.class);
        if self.scores == 0 {
            return Ok(());
        }
        scratch.set.clear();
        for row in &scratch.list {
            scratch.set.insert(*row);
        }
        let rows = self.words.saturating_mul(64);
        for score in 0..self.scores {
            scratch.raw.fill(0);
            let feasible = scratch.set.words().get(..self.words).unwrap_or_default();
            let raw = scratch.raw.get_mut(..rows).unwrap_or_default();
            if !self.hooks.score(score, self.class, feasible, raw) {
                return Err(AttemptError::External);
            }
            let weight = self.weights.get(score).copied().unwrap_or(0);
            let external = &mut scratch.external;
            let column = external.scores.column_mut(external.rows, score);
            for (row, total) in scratch.list.iter().zip(scratch.totals.iter_mut()) {
                let given = *scratch.raw.at(*row);
                if !(0..=SCORE_MAX).contains(&given) {
                    return Err(AttemptError::External);
                }
                column.set(*row, given as u8);
                // Exact: a score has 7 bits, a weight 32.
                *total = total.wrapping_add(given.wrapping_mul(weight));
            }
        }
        scratch.external.is_scored = true;
        Ok(())
    }
}
