//! Tables that become larger when they are full.

use crate::failure::Failure;
use berth_core::intake::Intake;
use berth_core::{AttemptError, CapacityExceeded, Decision, Outcome};

/// Decides on a pod, in as much room as it takes: what lacks room changes nothing.
pub fn decided(
    intake: &mut Intake,
    mut decide: impl FnMut(&mut Intake) -> Decision,
) -> Result<Decision, Failure> {
    loop {
        let decision = decide(intake);
        match decision.outcome {
            Outcome::Error(AttemptError::Capacity(full)) => grow(intake, full)?,
            _ => return Ok(decision),
        }
    }
}

/// Makes the table larger that is full.
pub fn grow(intake: &mut Intake, full: CapacityExceeded) -> Result<(), Failure> {
    intake.grow(full).map_err(too_large)
}

/// What no table holds.
pub fn too_large(full: CapacityExceeded) -> Failure {
    let hint = "split it, or leave out the objects that are larger than any cluster's";
    Failure::Usage(format!("the input is too large: {full}; {hint}"))
}
