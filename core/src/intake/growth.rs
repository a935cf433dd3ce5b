//! Room that is found when a table is full.
//!
//! A scheduler's tables never grow; a larger one is built of its state, under the same ids.

use super::batch::{self, Step};
use super::{Intake, IntakeError};
#[cfg(feature = "state-file")]
use crate::{capacity::CapacityExceeded, scheduler::ApplyError, state_file::StateError};

impl Intake {
    /// Lets `nanoseconds` of the scheduler's time pass before each pod that a
    /// [`load`](Self::load) brings; 0 at first. The queue keeps no order among equal pods that came
    /// at the same time. A load that fails may have let time pass.
    pub const fn set_spacing(&mut self, nanoseconds: u64) {
        self.spacing = nanoseconds;
    }

    /// Whether [`grow`](Self::grow) makes room for what is taken in or asked about when a table is
    /// full; not so at first.
    #[cfg(feature = "state-file")]
    pub const fn set_growing(&mut self, grows: bool) {
        self.grows = grows;
    }

    /// Whether it does.
    #[cfg(feature = "state-file")]
    pub const fn grows(&self) -> bool {
        self.grows
    }

    /// Builds the scheduler anew with twice the room in the table of this name
    /// ([`CapacityExceeded::which`]). It decides as before; ids and forks stay. Takes the memory of
    /// both while it runs.
    ///
    /// # Errors
    /// No table has this name, or the larger one would be beyond
    /// [`BYTES_MAX`](crate::BYTES_MAX); nothing is changed then.
    #[cfg(feature = "state-file")]
    pub fn grow(&mut self, which: &str) -> Result<(), StateError> {
        let mut capacities = *self.scheduler.capacities();
        let mut full = CapacityExceeded {
            which: "tables",
            limit: 0,
        };
        let mut larger = capacities.grown(which);
        // What is built again may need a little more of another table; each doubles.
        while larger != capacities {
            capacities = larger;
            let scheduler = &mut self.scheduler;
            match scheduler.rebuild(&self.config, self.options, capacities) {
                Err(StateError::Capacity(next)) => full = next,
                done => return done,
            }
            larger = capacities.grown(full.which);
        }
        Err(StateError::Capacity(full))
    }

    /// Puts all in, or nothing, with as much room as it takes if that may grow.
    pub(super) fn make(&mut self, steps: &[Step], spacing: u64) -> Result<(), IntakeError> {
        self.with_room(|intake| batch::make(&mut intake.scheduler, steps, spacing))
    }

    /// Does what changes nothing when it fails, and again with more room if that was the reason.
    #[cfg(feature = "state-file")]
    pub(super) fn with_room(
        &mut self,
        mut make: impl FnMut(&mut Self) -> Result<(), IntakeError>,
    ) -> Result<(), IntakeError> {
        let mut made = make(self);
        while let Err(IntakeError::Apply {
            error: ApplyError::Capacity(full),
            ..
        }) = made
        {
            if !self.grows || self.grow(full.which).is_err() {
                break;
            }
            made = make(self);
        }
        made
    }

    /// Does what changes nothing when it fails.
    #[cfg(not(feature = "state-file"))]
    pub(super) fn with_room(
        &mut self,
        make: impl FnOnce(&mut Self) -> Result<(), IntakeError>,
    ) -> Result<(), IntakeError> {
        make(self)
    }
}
