//! For how long a failed pod is not tried again.
//!
//! Mirrors `backend/queue/backoff_queue.go` with the gate SchedulerPopFromBackoffQ, which is on:
//! ends are cut to whole seconds, and a backoff is over in the second after its end.

use crate::planted::{self, Bug};

/// Nanoseconds of the window that ends are cut to.
pub(crate) const WINDOW: u64 = 1_000_000_000;

/// The start of the window of `now`.
pub(super) const fn window(now: u64) -> u64 {
    now.saturating_sub(now % WINDOW)
}

/// Durations of the queue, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Durations {
    /// Backoff after the first failure; it doubles with each further one.
    pub(crate) initial: u64,
    /// Longest backoff.
    pub(crate) longest: u64,
    /// A pod that has waited longer is tried without any event.
    pub(crate) longest_wait: u64,
}

impl Durations {
    /// When the backoff of a pod ends that failed at `now`; 0: it has none.
    pub(super) fn expiry(self, rejections: u32, errors: u32, now: u64) -> u64 {
        let count = if errors > 0 { errors } else { rejections };
        if count == 0 {
            return 0;
        }
        window(now.saturating_add(self.duration(count)))
    }

    /// `count` is above 0. Mirrors `calculateBackoffDuration` for one pod.
    fn duration(self, count: u32) -> u64 {
        let shift = if planted::is(Bug::BackoffNotDoubled) {
            0
        } else {
            count.saturating_sub(1)
        };
        let room = self.longest.checked_shr(shift).unwrap_or(0);
        if self.initial > room {
            self.longest
        } else {
            self.initial.checked_shl(shift).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Durations, WINDOW};

    #[test]
    fn backoffs_double_up_to_the_longest_and_end_a_window_late() {
        let durations = Durations {
            initial: WINDOW,
            longest: 10 * WINDOW,
            longest_wait: 300 * WINDOW,
        };
        let seconds = |count| durations.duration(count) / WINDOW;
        assert_eq!([1, 2, 3, 4, 5, 70].map(seconds), [1, 2, 4, 8, 10, 10]);
        let failed = 10 * WINDOW + 300_000_000;
        assert_eq!(durations.expiry(1, 0, failed), 11 * WINDOW);
        assert_eq!(durations.expiry(3, 1, failed), 11 * WINDOW);
        assert_eq!(durations.expiry(0, 0, failed), 0);
        let none = Durations {
            initial: 0,
            ..durations
        };
        assert_eq!([1, 2, 64, 70].map(|count| none.duration(count)), [0; 4]);
    }
}
