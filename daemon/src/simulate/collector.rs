//! Attempts to decisions: of each pod the last, or all.

use crate::output::Placements;
use crate::world::{Attempt, Observer};
use berth_core::{DecisionRecord, PodResult};
use indicatif::ProgressBar;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Hands decisions on as soon as they are known to be a pod's last.
pub struct Collector {
    placements: Placements,
    /// Every attempt is told, at once.
    attempts: bool,
    /// Pods that wait, by number.
    waiting: BTreeSet<u64>,
    /// Of those, the last failed attempt, with the victims of all.
    latest: BTreeMap<u64, DecisionRecord>,
    /// Moves with every pod that is decided on.
    pub progress: ProgressBar,
}

impl Collector {
    pub fn new(placements: Placements, attempts: bool) -> Self {
        Self {
            placements,
            attempts,
            waiting: BTreeSet::new(),
            latest: BTreeMap::new(),
            progress: ProgressBar::hidden(),
        }
    }

    pub fn into_placements(self) -> Placements {
        self.placements
    }

    fn decide(&mut self, number: u64, record: DecisionRecord) -> io::Result<()> {
        self.waiting.remove(&number);
        self.progress.inc(1);
        if self.attempts {
            self.placements.count(&record);
            return Ok(());
        }
        self.placements.decision(number as usize, record)
    }
}

impl Observer for Collector {
    fn arrives(&mut self, number: u64, waits: bool) -> io::Result<()> {
        if waits {
            self.waiting.insert(number);
            return Ok(());
        }
        self.placements.skip(number as usize)
    }

    fn attempt(&mut self, mut attempt: Attempt) -> io::Result<()> {
        if self.attempts {
            self.placements.attempt(&attempt)?;
        }
        let earlier = self.latest.remove(&attempt.number);
        if let Some(earlier) = earlier {
            let mut victims = earlier.victims;
            victims.append(&mut attempt.record.victims);
            attempt.record.victims = victims;
        }
        if attempt.record.result == PodResult::Scheduled {
            return self.decide(attempt.number, attempt.record);
        }
        self.latest.insert(attempt.number, attempt.record);
        Ok(())
    }

    fn leaves(&mut self, number: u64) -> io::Result<()> {
        match self.latest.remove(&number) {
            Some(record) => self.decide(number, record),
            None if self.waiting.remove(&number) => self.placements.skip(number as usize),
            None => Ok(()),
        }
    }

    fn rests(&mut self, number: u64, evaluate: impl FnOnce() -> DecisionRecord) -> io::Result<()> {
        let record = self.latest.remove(&number).unwrap_or_else(evaluate);
        self.decide(number, record)
    }
}
