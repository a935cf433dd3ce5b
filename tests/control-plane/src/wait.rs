//! Waiting for what must come true. Times are never judged: the limit only ends a test that hangs.

use std::time::{Duration, Instant};

/// Far above what anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_mins(3);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks until there is an answer; panics with `what` if none comes.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = look().await {
            return answer;
        }
        assert!(start.elapsed() < LIMIT, "waited in vain: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
