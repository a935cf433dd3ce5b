//! What-if: what the intake knows beside the scheduler goes back with it.

use super::binding::Waiting;
use super::{Intake, Key};
use crate::capacity::CapacityExceeded;
use crate::id::PodId;
use crate::object::Object;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

/// What to go back to, the oldest first. A copy of an intake has none, as one of a scheduler.
pub(super) struct Saved(Vec<Beside>);

impl Saved {
    pub(super) const NONE: Self = Self(Vec::new());
}

impl Clone for Saved {
    fn clone(&self) -> Self {
        Self::NONE
    }
}

/// What is not the scheduler's.
struct Beside {
    is_empty: bool,
    completing: BTreeMap<Key, Object>,
    implied: BTreeSet<String>,
    arrivals: BTreeMap<PodId, u64>,
    arrivals_count: u64,
    waiting: Waiting,
}

impl Intake {
    /// [`Scheduler::fork`](crate::Scheduler::fork), with all that the intake knows.
    ///
    /// # Errors
    /// As there; nothing is changed.
    pub fn fork(&mut self) -> Result<(), CapacityExceeded> {
        self.scheduler.fork()?;
        self.saved.0.push(Beside {
            is_empty: self.is_empty,
            completing: self.completing.clone(),
            implied: self.implied.clone(),
            arrivals: self.arrivals.clone(),
            arrivals_count: self.arrivals_count,
            waiting: self.waiting.clone(),
        });
        Ok(())
    }

    /// Takes back everything since the last [`fork`](Self::fork), and ends it. `false` without one.
    pub fn rollback(&mut self) -> bool {
        let Some(saved) = self.saved.0.pop() else {
            return false;
        };
        self.is_empty = saved.is_empty;
        self.completing = saved.completing;
        self.implied = saved.implied;
        self.arrivals = saved.arrivals;
        self.arrivals_count = saved.arrivals_count;
        self.waiting = saved.waiting;
        self.scheduler.rollback()
    }

    /// Keeps everything since the last [`fork`](Self::fork), and ends it. `false` without one.
    pub fn commit(&mut self) -> bool {
        self.saved.0.pop().is_some() && self.scheduler.commit()
    }
}
