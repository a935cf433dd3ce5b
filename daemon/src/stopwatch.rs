//! Seconds by stage.

use crate::failure::tell;
use crate::output::Timing;
use std::time::{Duration, Instant};

/// Measures stages that follow one another.
pub struct Stopwatch {
    timing: Timing,
    since: Instant,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self {
            timing: Timing::default(),
            since: Instant::now(),
        }
    }

    /// Ends a stage and begins the next.
    pub fn stage(&mut self, field: impl FnOnce(&mut Timing) -> &mut Duration) {
        let now = Instant::now();
        *field(&mut self.timing) = now.duration_since(self.since);
        self.since = now;
    }

    pub fn timing(&self, decisions: usize) -> Timing {
        Timing {
            decisions,
            ..self.timing
        }
    }
}

impl Timing {
    /// One line on stderr.
    pub fn tell(&self) {
        let message = format!(
            "read {:.3} s, build {:.3} s, decide {:.3} s; {} decisions",
            self.read.as_secs_f64(),
            self.build.as_secs_f64(),
            self.decide.as_secs_f64(),
            self.decisions
        );
        tell("timing", &message);
    }
}
