//! Whether this process may write.
//!
//! One flag for all writers, judged by the monotonic clock: past the renewal deadline nothing leaves,
//! whatever else happens, also after the process was stopped for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// No end.
const ALWAYS: u64 = u64::MAX;

/// Shared by the election and all that write.
#[derive(Clone, Debug)]
pub struct Lead {
    start: Instant,
    /// Milliseconds from `start` until which writes may leave; 0: none.
    until: Arc<AtomicU64>,
    /// How often the lead was taken after somebody else may have led.
    terms: watch::Sender<u64>,
}

impl Lead {
    /// Nobody leads yet.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
            until: Arc::new(AtomicU64::new(0)),
            terms: watch::Sender::new(0),
        }
    }

    /// There is no election: writes may leave until [`Self::end`].
    pub fn always(&self) {
        self.until.store(ALWAYS, Ordering::SeqCst);
    }

    /// Writes may leave until this time.
    pub fn until(&self, time: Instant) {
        let millis = time.saturating_duration_since(self.start).as_millis();
        let millis = u64::try_from(millis).unwrap_or(ALWAYS).max(1);
        self.until.store(millis, Ordering::SeqCst);
    }

    /// The lead is about to be taken, and somebody else may have led until now.
    pub fn begin_term(&self) {
        self.terms.send_modify(|terms| *terms += 1);
    }

    /// Follows the terms.
    pub fn terms(&self) -> watch::Receiver<u64> {
        self.terms.subscribe()
    }

    /// How often a term began. What was listed before the last one may lack what the leader before wrote.
    pub fn term(&self) -> u64 {
        *self.terms.borrow()
    }

    /// No write may leave any more.
    pub fn end(&self) {
        self.until.store(0, Ordering::SeqCst);
    }

    /// Whether a write may leave now.
    pub fn holds(&self) -> bool {
        match self.until.load(Ordering::SeqCst) {
            ALWAYS => true,
            until => self.start.elapsed() < Duration::from_millis(until),
        }
    }
}
