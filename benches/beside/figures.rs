//! What a run measures, in one form for both sides.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::Duration;

/// Counts, besides allocating.
pub static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One run of a script.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Figures {
    /// Attempts that counted, and those that found a node.
    pub attempts: u64,
    pub placed: u64,
    /// Seconds of the attempts, and of adding the pods and of all other changes.
    pub wall: f64,
    /// Of a processor, since the first that counted.
    pub cpu: f64,
    /// Microseconds an attempt: all of `wall`, of which for adding the pod and for other changes.
    pub mean: f64,
    pub queueing: f64,
    pub changes: f64,
    /// Of single attempts, adding the pod included.
    pub p50: f64,
    pub p99: f64,
    /// An attempt.
    pub allocations: f64,
    pub bytes: f64,
    /// Bytes: the most that the process had, and what the scheduler says that it takes.
    pub peak: u64,
    pub stated: u64,
}

impl Figures {
    /// Takes the times of single attempts from a run in which each was stamped.
    pub fn set_parts(&mut self, stamped: &mut Meter) {
        stamped.times.sort_unstable();
        let part = |hundredths: usize| {
            let last = stamped.times.len().saturating_sub(1);
            let time = stamped.times.get(last * hundredths / 100);
            time.map_or(0.0, |time| micros(*time)) + self.queueing
        };
        (self.p50, self.p99) = (part(50), part(99));
    }
}

/// What counts, as it happens.
pub struct Meter {
    counts: bool,
    region: Region<'static, System>,
    cpu: f64,
    attempts: u64,
    placed: u64,
    turns: Duration,
    /// Of stamped attempts.
    spent: Duration,
    queued: (usize, Duration),
    changed: Duration,
    times: Vec<Duration>,
    allocations: (usize, usize),
    /// Attempts that count at most, and their time.
    limits: (u64, Duration),
}

impl Meter {
    /// With room for the times of so many attempts, and limits to what counts.
    pub fn new(attempts: usize, limits: (u64, Duration)) -> Self {
        Self {
            counts: false,
            region: Region::new(ALLOCATOR),
            cpu: 0.0,
            attempts: 0,
            placed: 0,
            turns: Duration::ZERO,
            spent: Duration::ZERO,
            queued: (0, Duration::ZERO),
            changed: Duration::ZERO,
            times: Vec::with_capacity(attempts),
            allocations: (0, 0),
            limits,
        }
    }

    /// Whether enough attempts counted.
    pub fn is_full(&self) -> bool {
        self.attempts >= self.limits.0 || self.spent > self.limits.1
    }

    /// Attempts that counted so far.
    pub fn so_far(&self) -> u64 {
        self.attempts
    }

    /// From here on everything counts.
    pub fn begin(&mut self) {
        self.counts = true;
        self.cpu = processor_time();
        self.region.reset();
    }

    /// Nothing counts any more.
    pub fn end(&mut self) {
        let change = self.region.change();
        self.allocations = (change.allocations, change.bytes_allocated);
        self.cpu = processor_time() - self.cpu;
        self.counts = false;
    }

    /// An attempt.
    pub fn count(&mut self, placed: bool) {
        self.attempts += u64::from(self.counts);
        self.placed += u64::from(self.counts && placed);
    }

    /// Time of a single attempt.
    pub fn attempt(&mut self, time: Duration) {
        if self.counts {
            self.times.push(time);
            self.spent += time;
        }
    }

    /// Time of attempts in a row.
    pub fn attempts(&mut self, time: Duration) {
        if self.counts {
            self.turns += time;
        }
    }

    /// Changes in a row; `queues` if each brings a pod to the queue.
    pub fn changes(&mut self, queues: bool, count: usize, time: Duration) {
        if self.counts && queues {
            self.queued.0 += count;
            self.queued.1 += time;
        } else if self.counts {
            self.changed += time;
        }
    }

    /// The sums, an attempt.
    pub fn figures(&self) -> Figures {
        let attempts = self.attempts.max(1) as f64;
        let queueing = micros(self.queued.1) / self.queued.0.max(1) as f64;
        let changes = micros(self.changed) / attempts;
        let mean = micros(self.turns) / attempts + queueing + changes;
        Figures {
            attempts: self.attempts,
            placed: self.placed,
            wall: mean * attempts / 1e6,
            cpu: self.cpu,
            mean,
            queueing,
            changes,
            allocations: self.allocations.0 as f64 / attempts,
            bytes: self.allocations.1 as f64 / attempts,
            peak: peak_memory(),
            ..Figures::default()
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Seconds that this process was on a processor.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory that the process has had at a time; 0 where Linux does not tell.
fn peak_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
