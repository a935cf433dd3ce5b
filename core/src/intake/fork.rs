//! What-if: what the intake knows beside the scheduler goes back with it.

use super::{Intake, Key};
use crate::capacity::CapacityExceeded;
use crate::id::PodId;
use crate::object::Object;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

/// What is not the scheduler's.
pub(super) struct Saved {
    is_empty: bool,
    completing: BTreeMap<Key, Object>,
    implied: BTreeSet<String>,
    arrivals: BTreeMap<PodId, u64>,
    arrivals_count: u64,
}

impl Intake {
    /// [`Scheduler::fork`](crate::Scheduler::fork), with all that the intake knows.
    ///
    /// # Errors
    /// As there; nothing is changed.
    pub fn fork(&mut self) -> Result<(), CapacityExceeded> {
        self.scheduler.fork()?;
        self.saved.push(Saved {
            is_empty: self.is_empty,
            completing: self.completing.clone(),
            implied: self.implied.clone(),
            arrivals: self.arrivals.clone(),
            arrivals_count: self.arrivals_count,
        });
        Ok(())
    }

    /// Takes back everything since the last [`fork`](Self::fork), and ends it. `false` without one.
    pub fn rollback(&mut self) -> bool {
        let Some(saved) = self.saved.pop() else {
            return false;
        };
        self.is_empty = saved.is_empty;
        self.completing = saved.completing;
        self.implied = saved.implied;
        self.arrivals = saved.arrivals;
        self.arrivals_count = saved.arrivals_count;
        self.scheduler.rollback()
    }

    /// Keeps everything since the last [`fork`](Self::fork), and ends it. `false` without one.
    pub fn commit(&mut self) -> bool {
        self.saved.pop().is_some() && self.scheduler.commit()
    }
}
