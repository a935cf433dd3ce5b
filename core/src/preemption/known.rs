//! What the last preemptions by one class found on each node: pods that fit nowhere come in rows, and few
//! nodes change between them.

use super::{Cost, Dry};
use crate::capacity::{bytes_of, sum};
use crate::cluster::journal::Journal;
use crate::cycle::Nominees;
use crate::node_set::NodeSet;
use crate::table::Table;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A row, asked without the pods that may be evicted.
pub(crate) type Found = Result<Cost, Dry>;

/// What answers hang on beside the row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    /// When the class came to live.
    pub(crate) made_at: u64,
    pub(crate) priority: i32,
    /// What a candidate costs hangs on budgets then.
    pub(crate) has_budgets: bool,
    /// Whether room alone decides, on most rows.
    pub(crate) by_room: bool,
}

/// Answers by row, of rows on which nothing but room decides and to which no pod is nominated.
#[derive(Clone)]
pub(crate) struct Known {
    of: Question,
    /// Position in the journal up to which all changes are taken in.
    position: u64,
    candidates: NodeSet,
    /// Of these, those whose pods have not started: they start now, whenever it is.
    starting: NodeSet,
    /// Rows that are no candidates.
    dry: NodeSet,
    found: Vec<Found>,
}

impl Known {
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            of: Question::default(),
            position: 0,
            candidates: NodeSet::new(rows),
            starting: NodeSet::new(rows),
            dry: NodeSet::new(rows),
            found: vec![Err(Dry::NoVictims); rows],
        }
    }

    pub(crate) const fn bytes(rows: u64) -> u64 {
        sum(&[bytes_of::<[u64; 3]>(rows / 64), bytes_of::<Found>(rows)])
    }

    /// Forgets what does not hold for this question, or no longer. Whatever is said of a pod counts it anew
    /// on its row, so that the journal tells of its priority and its start too.
    pub(crate) fn begin(&mut self, of: Question, journal: &Journal, nominees: &Nominees) {
        match journal.since(self.position) {
            Some(changed) if self.of == of && of.by_room => {
                let nominated = (0..nominees.len()).filter_map(|at| nominees.row(at));
                for row in changed.chain(nominated) {
                    self.candidates.remove(row);
                    self.dry.remove(row);
                }
            }
            _ => self.forget(),
        }
        self.of = of;
        self.position = journal.head();
    }

    pub(crate) fn forget(&mut self) {
        self.candidates.clear();
        self.dry.clear();
    }

    /// What a row costs if it is asked now.
    pub(super) fn cost(&self, row: u32, now: i64) -> Option<Cost> {
        if !self.candidates.contains(row) {
            return None;
        }
        let mut cost = self.found.get(row as usize)?.ok()?;
        if self.starting.contains(row) {
            cost.start = Reverse(now);
        }
        Some(cost)
    }

    /// Rows that are no candidates.
    pub(crate) fn dry(&self) -> &NodeSet {
        &self.dry
    }

    /// Why a row is no candidate, where that is known.
    pub(crate) fn reason(&self, row: u32) -> Option<Dry> {
        if !self.dry.contains(row) {
            return None;
        }
        self.found.get(row as usize)?.err()
    }

    /// Takes an answer in; the pods concerned have all started, or none has.
    pub(super) fn set(&mut self, row: u32, found: Found, is_starting: bool) {
        if found.is_err() {
            self.dry.insert(row);
        } else if !self.of.has_budgets {
            self.candidates.insert(row);
            if is_starting {
                self.starting.insert(row);
            } else {
                self.starting.remove(row);
            }
        }
        self.found.set(row, found);
    }
}
