//! Timers, driven by the time that the caller says.
//!
//! Mirrors `Run` of `backend/queue/scheduling_queue.go`: backoffs end at whole seconds, and pods
//! that have waited too long are looked for every 30 seconds from the start.

use super::Scheduler;
use crate::planted::{self, Bug};
use crate::queue::hint::Judge;

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// Time between two looks for pods that have waited too long.
const LEFTOVER: u64 = 30 * SECOND;
/// The latest time that can be said: every timer has a time after it.
const LATEST: u64 = u64::MAX - LEFTOVER;

/// When the timers are due next; [`None`] before the first time was said.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Timers {
    due: Option<Due>,
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
struct Due {
    backoff: u64,
    leftover: u64,
}

#[cfg(feature = "state-file")]
impl Timers {
    /// Whether nothing was due at `now`, which can be said.
    pub(super) fn are_after(self, now: u64) -> bool {
        let ahead = |due: Due| due.backoff > now && due.leftover > now;
        now <= LATEST && self.due.is_none_or(ahead)
    }
}

/// The first whole second after a time.
const fn next_second(time: u64) -> u64 {
    time.saturating_sub(time % SECOND).saturating_add(SECOND)
}

impl Scheduler {
    /// Says the time, in nanoseconds since 1970, and does what is due by then. Time does not go
    /// back: an earlier one than the last is taken for the last. The first one starts the timers.
    /// Times in the last 30 seconds of the type are taken for the first of them.
    pub fn advance(&mut self, now: u64) {
        let now = now.min(LATEST).max(self.queue.now);
        let mut due = *self.timers.due.get_or_insert(Due {
            backoff: next_second(now),
            leftover: now.saturating_add(LEFTOVER),
        });
        loop {
            if !self.queue.has_waiting() && due.leftover <= now {
                let missed = now.saturating_sub(due.leftover) / LEFTOVER;
                let looks = missed.saturating_add(1);
                due.leftover = due.leftover.saturating_add(looks.saturating_mul(LEFTOVER));
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
                due.backoff = backoff.saturating_add(SECOND);
                self.queue.flush_backoff(&judge);
            } else if next == due.leftover {
                due.leftover = due.leftover.saturating_add(LEFTOVER);
                self.queue.flush_waiting(&judge);
                if planted::is(Bug::AssumedExpires) {
                    self.expire_assumed();
                }
            } else {
                self.time_out_permits();
            }
        }
        due.backoff = due.backoff.max(next_second(now));
        self.timers.due = Some(due);
        self.queue.now = now;
    }

    /// What no scheduler may do; see [`Bug::AssumedExpires`].
    fn expire_assumed(&mut self) {
        for at in 0..self.cluster.pods.len() {
            let pod = crate::id::PodId::from_index(at);
            let row = self.cluster.pod(pod);
            if row.is_some_and(|row| row.state == crate::cluster::PodState::Assumed) {
                self.cluster.forget(pod);
            }
        }
    }

    /// The first second, from `due` on, at which a backoff is over: the one after its end.
    fn backoff_tick(&self, due: u64) -> Option<u64> {
        let expiry = self.queue.next_expiry()?;
        Some(next_second(expiry).max(due))
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
