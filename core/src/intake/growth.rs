//! Room that is found when a table is full.
//!
//! A scheduler's tables never grow; a larger one is built of its state, under the same ids.

use super::batch::{self, Step};
use super::{Intake, IntakeError};
#[cfg(feature = "state-file")]
use {
    super::saved::restore_growing,
    crate::capacity::CapacityExceeded,
    crate::id::ClassId,
    crate::scheduler::{ApplyError, Scheduler},
    crate::state_file::StateError,
};

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

    /// Makes tables larger: twice of what was refused, and of what then is too small in its turn.
    /// Everything stays as it is, ids, external plugins and forks included; it takes the memory of both
    /// while it runs.
    ///
    /// # Errors
    /// No table has this name, or tables would become larger than [`BYTES_MAX`](crate::BYTES_MAX)
    /// allows; nothing is changed then.
    #[cfg(feature = "state-file")]
    pub fn grow(&mut self, full: CapacityExceeded) -> Result<(), CapacityExceeded> {
        self.grow_holding(full, &[])
    }

    /// The same where classes are [held](Scheduler::create_class), each listed as often as it is.
    ///
    /// # Errors
    /// As [`grow`](Self::grow).
    #[cfg(feature = "state-file")]
    pub fn grow_holding(
        &mut self,
        full: CapacityExceeded,
        held: &[ClassId],
    ) -> Result<(), CapacityExceeded> {
        let larger = self.scheduler.capacities().grown(full.which);
        if larger == *self.scheduler.capacities() {
            return Err(full);
        }
        let saved = self.scheduler.saved();
        let grown = restore_growing(larger, |capacities| {
            Scheduler::restore(&self.config, self.options, capacities, &saved, held)
        });
        match grown {
            Ok(scheduler) => {
                self.scheduler.move_to(scheduler);
                Ok(())
            }
            Err(StateError::Capacity(full)) => Err(full),
            Err(error) => {
                debug_assert!(false, "{error}");
                Err(full)
            }
        }
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
            if !self.grows || self.grow(full).is_err() {
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
