//! Timers, driven by the time that the caller says.
//!
//! Mirrors `Run` of `backend/queue/scheduling_queue.go`: backoffs end at whole seconds, and pods
//! that have waited too long are looked for every 30 seconds from the start.

use super::Scheduler;
use crate::queue::hint::Judge;

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// Time between two looks for pods that have waited too long.
const LEFTOVER: u64 = 30 * SECOND;

/// When the timers are due next; [`None`] before the first time was said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timers {
    due: Option<Due>,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    backoff: u64,
    leftover: u64,
}

impl Scheduler {
    /// Says the time, in nanoseconds since 1970, and does what is due by then. Time does not go
    /// back: an earlier one than the last is taken for the last. The first one starts the timers.
    pub fn advance(&mut self, now: u64) {
        let now = now.max(self.queue.now);
        let mut due = *self.timers.due.get_or_insert(Due {
            backoff: now - now % SECOND + SECOND,
            leftover: now.saturating_add(LEFTOVER),
        });
        loop {
            if !self.queue.has_waiting() && due.leftover <= now {
                due.leftover += ((now - due.leftover) / LEFTOVER + 1) * LEFTOVER;
            }
            let backoff = self.backoff_tick(due.backoff).unwrap_or(u64::MAX);
            let deadline = self.next_deadline().unwrap_or(u64::MAX);
            let next = backoff.min(due.leftover).min(deadline);
            if next > now {
                break;
            }
            self.queue.now = next.max(self.queue.now);
            let judge = Judge {
                cluster: &self.cluster,
                plans: &self.plans,
            };
            if next == backoff {
                due.backoff = backoff + SECOND;
                self.queue.flush_backoff(&judge);
            } else if next == due.leftover {
                due.leftover += LEFTOVER;
                self.queue.flush_waiting(&judge);
            } else {
                self.time_out_permits();
            }
        }
        due.backoff = due.backoff.max(now - now % SECOND + SECOND);
        self.timers.due = Some(due);
        self.queue.now = now;
    }

    /// The first second, from `due` on, at which a backoff is over: the one after its end.
    fn backoff_tick(&self, due: u64) -> Option<u64> {
        let expiry = self.queue.next_expiry()?;
        Some((expiry - expiry % SECOND + SECOND).max(due))
    }

    /// The next time at which [`advance`](Self::advance) may do something, if nothing else happens
    /// until then; `None`: never.
    pub fn next_timer(&self) -> Option<u64> {
        let due = self.timers.due?;
        let backoff = self.backoff_tick(due.backoff);
        let leftover = self.queue.has_waiting().then_some(due.leftover);
        let times = [backoff, leftover, self.next_deadline()];
        times.into_iter().flatten().min()
    }
}
