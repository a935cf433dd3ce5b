//! One user at a time, and an end to panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// A call panicked: this one, or an earlier one on the same value.
#[derive(Debug, PartialEq, Eq)]
pub struct Panicked;

/// A value that threads use in turn. A panic on the way ends its use: what it left half done is never
/// seen.
pub struct Guard<T>(Mutex<T>);

impl<T> Guard<T> {
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Runs `ask` on the value once no other call does.
    ///
    /// # Errors
    /// See [`Panicked`].
    pub fn call<A>(&self, ask: impl FnOnce(&mut T) -> A) -> Result<A, Panicked> {
        let answer = catch_unwind(AssertUnwindSafe(|| {
            // A panic while it is locked poisons it.
            let mut value = self.0.lock().map_err(|_| Panicked)?;
            Ok(ask(&mut value))
        }));
        answer.unwrap_or(Err(Panicked))
    }
}
