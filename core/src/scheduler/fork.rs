//! What-if: changes that are taken back.
//!
//! A fork is a copy of everything, so that after a rollback nothing can differ: rows, queue order
//! and the next random number are what they were. It costs one copy of the tables.

use super::Scheduler;
use crate::capacity::CapacityExceeded;
use alloc::vec::Vec;
use core::mem;

/// Forks within forks.
pub const FORKS_MAX: usize = 64;

/// The states to go back to, the oldest first. A copy of a scheduler has none.
pub(super) struct Saved(Vec<Scheduler>);

impl Saved {
    pub(super) const NONE: Self = Self(Vec::new());
}

impl Clone for Saved {
    fn clone(&self) -> Self {
        Self::NONE
    }
}

impl Scheduler {
    /// Remembers the present state, to which [`rollback`](Self::rollback) returns. Forks nest, up to
    /// [`FORKS_MAX`].
    ///
    /// Like construction this takes memory, once more [`Capacities::bytes`] until the fork ends; and
    /// time in proportion to it, not to the changes that follow.
    ///
    /// # Errors
    /// `forks` when there are too many; nothing is changed.
    ///
    /// [`Capacities::bytes`]: crate::Capacities::bytes
    pub fn fork(&mut self) -> Result<(), CapacityExceeded> {
        if self.saved.0.len() >= FORKS_MAX {
            return Err(CapacityExceeded {
                which: "forks",
                limit: FORKS_MAX as u64,
            });
        }
        let copy = self.clone();
        self.saved.0.push(copy);
        Ok(())
    }

    /// Takes back everything since the last fork, and ends it. `false` without a fork; nothing is
    /// changed then.
    pub fn rollback(&mut self) -> bool {
        let Some(earlier) = self.saved.0.pop() else {
            return false;
        };
        let saved = mem::replace(&mut self.saved, Saved::NONE);
        *self = earlier;
        self.saved = saved;
        true
    }

    /// Keeps everything since the last fork, and ends it. `false` without a fork.
    pub fn commit(&mut self) -> bool {
        self.saved.0.pop().is_some()
    }

    /// Forks that have not ended.
    pub fn forks(&self) -> usize {
        self.saved.0.len()
    }
}
