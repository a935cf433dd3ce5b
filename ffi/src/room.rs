//! Tables that become larger, for handles whose capacities were not given.

use crate::boundary::State;
use crate::result::Failure;
use berth_core::intake::{Intake, IntakeError};
use berth_core::{ApplyError, AttemptError, CapacityExceeded, Decision, Outcome};

impl State {
    /// Does something that a full table may refuse, in which case it changes nothing; then again in
    /// larger ones.
    pub(crate) fn with_room<T>(
        &mut self,
        mut what: impl FnMut(&mut Intake) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        loop {
            match what(&mut self.intake) {
                Err(failure) => {
                    let full = failure.full.filter(|_| self.grows);
                    if full.is_none_or(|full| self.grow(full).is_err()) {
                        return Err(failure);
                    }
                }
                done => return done,
            }
        }
    }

    /// The same of an attempt that such a table may fail.
    pub(crate) fn attempt_with_room<T>(
        &mut self,
        mut what: impl FnMut(&mut Self) -> (Decision, T),
    ) -> (Decision, T) {
        loop {
            let (decision, more) = what(self);
            match decision.outcome {
                Outcome::Error(AttemptError::Capacity(full))
                    if self.grows && self.grow(full).is_ok() => {}
                _ => return (decision, more),
            }
        }
    }

    /// Makes room for the next attempt of the queue, as far as there can be any.
    pub(crate) fn make_room(&mut self) {
        while self.grows
            && let Err(full) = self.intake.scheduler_mut().make_room()
            && self.grow(full).is_ok()
        {}
    }

    fn grow(&mut self, full: CapacityExceeded) -> Result<(), CapacityExceeded> {
        let held: Vec<_> = self.templates.held().collect();
        self.intake.grow_holding(full, &held)
    }
}

/// The table that refused an object.
pub(crate) const fn full_of(error: &IntakeError) -> Option<CapacityExceeded> {
    match error {
        IntakeError::Apply {
            error: ApplyError::Capacity(full),
            ..
        } => Some(*full),
        _ => None,
    }
}
