//! Time: the core's nanoseconds since 1970, which move by the monotonic clock alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// The core's clock. A wall clock that is set moves nothing.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_nanos: u64,
}

impl Clock {
    /// Begins at the wall clock's time.
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            start: Instant::now(),
            start_nanos: nanos(now.unwrap_or_default()),
        }
    }

    /// Nanoseconds since 1970.
    pub fn now(&self) -> u64 {
        self.start_nanos.saturating_add(nanos(self.start.elapsed()))
    }

    /// When the clock will show this.
    pub fn instant(&self, time: u64) -> Instant {
        self.start + Duration::from_nanos(time.saturating_sub(self.start_nanos))
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Numbers that replicas do not have in common, for pauses; nothing that is decided hangs on them.
pub fn noise() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut mixed = count ^ nanos(wall.unwrap_or_default()) ^ u64::from(std::process::id());
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Up to `share` of the pause longer, so that replicas do not come together.
pub fn jittered(pause: Duration, share: f64) -> Duration {
    let part = (noise() % 1000) as f64 / 1000.0;
    pause + pause.mul_f64(part * share)
}
