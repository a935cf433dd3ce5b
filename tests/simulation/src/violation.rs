//! What a checker says when something does not hold.

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its short name, by which shrinking knows it again.
    pub what: &'static str,
    /// What was found.
    pub found: String,
}

/// Whether all holds.
pub type Check = Result<(), Violation>;

/// Fails unless `holds`.
///
/// # Errors
/// The violation, if it does not hold.
pub fn ensure(holds: bool, what: &'static str, found: impl FnOnce() -> String) -> Check {
    if holds {
        return Ok(());
    }
    Err(Violation {
        what,
        found: found(),
    })
}
