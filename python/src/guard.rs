//! One user at a time, and an end to panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Why a call was not made, or came to no end.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// A call panicked: this one, or an earlier one on the same value.
    Panicked,
    /// It was made from within another one on the same value, which it would wait for.
    Within,
}

/// A value that threads use in turn. A panic on the way ends its use: what it left half done is never
/// seen.
pub struct Guard<T> {
    value: Mutex<T>,
    /// Whose turn it is.
    user: Mutex<Option<ThreadId>>,
}

impl<T> Guard<T> {
    pub const fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            user: Mutex::new(None),
        }
    }

    /// Runs `ask` on the value once no other call does.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn call<A>(&self, ask: impl FnOnce(&mut T) -> A) -> Result<A, Refused> {
        let own = Some(thread::current().id());
        if *self.user() == own {
            return Err(Refused::Within);
        }
        let answer = catch_unwind(AssertUnwindSafe(|| {
            // A panic while it is locked poisons it.
            let mut value = self.value.lock().map_err(|_| Refused::Panicked)?;
            *self.user() = own;
            let answer = ask(&mut value);
            *self.user() = None;
            Ok(answer)
        }));
        answer.unwrap_or_else(|_| {
            *self.user() = None;
            Err(Refused::Panicked)
        })
    }

    fn user(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.user.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
