//! The client's rate limit: a token bucket.
//!
//! Mirrors `client-go/util/flowcontrol`: `burst` requests at once, `qps` a second in the long run, in
//! the order in which they came. Less than 0 is no limit, as upstream has it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Gives each request its turn.
pub struct Limiter {
    /// Time of one request; `None`: no limit.
    spacing: Option<Duration>,
    burst: u32,
    /// When all that was given out so far is paid for.
    paid: Mutex<Option<Instant>>,
}

impl Limiter {
    /// `qps` requests a second, `burst` at once.
    pub fn new(qps: f32, burst: i32) -> Self {
        let spacing = (qps > 0.0).then(|| Duration::from_secs_f64(1.0 / f64::from(qps)));
        Self {
            spacing,
            burst: u32::try_from(burst).unwrap_or(0).max(1),
            paid: Mutex::new(None),
        }
    }

    /// Waits for the next turn.
    pub async fn turn(&self) {
        if let Some(time) = self.reserve(Instant::now()) {
            tokio::time::sleep_until(time).await;
        }
    }

    /// When a request that comes `now` has its turn; `None`: at once.
    fn reserve(&self, now: Instant) -> Option<Instant> {
        let spacing = self.spacing?;
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        let credit = spacing * self.burst;
        // Unused time is credit for so many requests, not more.
        let earliest = now.checked_sub(credit).unwrap_or(now);
        let due = paid.unwrap_or(earliest).max(earliest) + spacing;
        *paid = Some(due);
        (due > now).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::Limiter;
    use std::time::Duration;
    use tokio::time::Instant;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let limiter = Limiter::new(10.0, 3);
        // Far enough from the clock's start for credit.
        let start = Instant::now() + Duration::from_hours(1);
        let waits: Vec<u64> = (0..6)
            .map(|_| {
                let due = limiter.reserve(start);
                due.map_or(0, |due| (due - start).as_millis() as u64)
            })
            .collect();
        assert_eq!(waits, [0, 0, 0, 100, 200, 300]);
        // A pause gives credit again, for a burst at most.
        let later = start + Duration::from_mins(1);
        let free = (0..6).filter(|_| limiter.reserve(later).is_none()).count();
        assert_eq!(free, 3);
    }

    #[test]
    fn a_rate_below_zero_is_no_limit() {
        let limiter = Limiter::new(-1.0, 0);
        let now = Instant::now();
        assert!((0..1000).all(|_| limiter.reserve(now).is_none()));
    }
}
