//! Seconds and memory by stage.

use crate::failure::tell;
use crate::output::Timing;
use std::time::{Duration, Instant};

/// Measures stages that follow one another.
pub struct Stopwatch {
    timing: Timing,
    since: Instant,
    /// The most memory that the process had by the end of each stage, in bytes, where that is known.
    peaks: Vec<u64>,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self {
            timing: Timing::default(),
            since: Instant::now(),
            peaks: Vec::new(),
        }
    }

    /// Ends a stage and begins the next.
    pub fn stage(&mut self, field: impl FnOnce(&mut Timing) -> &mut Duration) {
        let now = Instant::now();
        *field(&mut self.timing) = now.duration_since(self.since);
        self.since = now;
        self.peaks.extend(peak());
    }

    pub fn timing(&self, decisions: usize) -> Timing {
        Timing {
            decisions,
            ..self.timing
        }
    }

    /// One line on stderr: the stages, with the memory that the process had by their end.
    pub fn tell(&self, decisions: usize) {
        let Timing {
            read,
            build,
            decide,
            ..
        } = self.timing;
        let stages = [("read", read), ("build", build), ("decide", decide)];
        let mut peaks = self.peaks.iter();
        let stages = stages.map(|(stage, duration)| {
            let seconds = format!("{stage} {:.3} s", duration.as_secs_f64());
            match peaks.next() {
                Some(peak) => format!("{seconds} ({} MiB)", peak >> 20),
                None => seconds,
            }
        });
        tell(
            "timing",
            &format!("{}; {decisions} decisions", stages.join(", ")),
        );
    }
}

/// The most memory that the process had so far; Linux tells it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}
