//! What is told of a run as a whole: waits, and how full the cluster was over time.

use berth_core::Scheduler;
use serde::Serialize;

/// Samples that are kept: when there are more, every other one goes.
const SAMPLES_MAX: usize = 240;
/// The first distance between two samples, in milliseconds.
const FIRST_INTERVAL: u64 = 1000;

/// The cluster at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Virtual milliseconds since the start.
    pub ms: u64,
    pub nodes: u32,
    /// Pods on nodes.
    pub running: u64,
    /// Pods that wait for a node.
    pub pending: u64,
    /// Requested of what the nodes have, in thousandths.
    pub cpu: u64,
    pub memory: u64,
}

/// How long pods waited from their arrival to their binding, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waits {
    pub pods: usize,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// A run as a whole.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Course {
    /// Virtual time that it took.
    pub seconds: f64,
    /// Absent if no pod was bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Attempts that chose victims.
    pub preemptions: usize,
    /// Pods that ran to their end.
    pub finished: usize,
    /// Hash of the objects, placements and sums at the end, and one of the queue: two runs that end
    /// the same have them equal.
    pub state_hash: String,
    pub loop_hash: String,
    /// At even distances, and at the end.
    pub timeline: Vec<Sample>,
}

/// A run so far.
#[derive(Clone, Debug)]
pub struct Timeline {
    samples: Vec<Sample>,
    interval: u64,
    next: u64,
    /// In milliseconds.
    waits: Vec<u64>,
    /// Attempts that chose victims.
    pub(super) preemptions: usize,
    /// Pods that ran to their end.
    pub(super) finished: usize,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            samples: Vec::new(),
            interval: FIRST_INTERVAL,
            next: 0,
            waits: Vec::new(),
            preemptions: 0,
            finished: 0,
        }
    }
}

impl Timeline {
    /// The next time of a sample, if it is before `ms`.
    pub(super) fn due(&self, ms: u64) -> Option<u64> {
        (self.next < ms).then_some(self.next)
    }

    pub(super) fn take(&mut self, sample: Sample) {
        self.samples.push(sample);
        if self.samples.len() > SAMPLES_MAX {
            let mut keeps = false;
            self.samples.retain(|_| {
                keeps = !keeps;
                keeps
            });
            self.interval *= 2;
        }
        self.next = sample.ms - sample.ms % self.interval + self.interval;
    }

    pub(super) fn bound(&mut self, wait: u64) {
        self.waits.push(wait);
    }

    pub(super) fn course(&self, scheduler: &Scheduler, ms: u64) -> Course {
        let mut timeline = self.samples.clone();
        timeline.push(sample(scheduler, ms));
        Course {
            seconds: seconds(ms),
            waits: self.waits(),
            preemptions: self.preemptions,
            finished: self.finished,
            state_hash: format!("{:016x}", scheduler.state_hash()),
            loop_hash: format!("{:016x}", scheduler.loop_hash()),
            timeline,
        }
    }

    fn waits(&self) -> Option<Waits> {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        // The nearest rank: the smallest wait that so many pods did not exceed.
        let percentile = |percent: usize| {
            let rank = (waits.len() * percent).div_ceil(100).max(1);
            waits.get(rank - 1).map_or(0.0, |wait| seconds(*wait))
        };
        let max = seconds(*waits.last()?);
        let sum: u64 = waits.iter().sum();
        Some(Waits {
            pods: waits.len(),
            mean: (seconds(sum) / waits.len() as f64 * 1000.0).round() / 1000.0,
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max,
        })
    }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

pub(super) fn sample(scheduler: &Scheduler, ms: u64) -> Sample {
    let mut sample = Sample {
        ms,
        ..Sample::default()
    };
    let (mut requested, mut allocatable) = ([0_i128; 2], [0_i128; 2]);
    for id in scheduler.nodes() {
        let node = scheduler.node(id);
        sample.nodes += 1;
        sample.running += u64::from(node.pods);
        for (name, own, all) in node.resources() {
            let Some(at) = ["cpu", "memory"].iter().position(|main| *main == name) else {
                continue;
            };
            requested[at] += own;
            allocatable[at] += i128::from(all);
        }
    }
    let counts = scheduler.queue_counts();
    let waiting = [
        counts.active,
        counts.backoff,
        counts.unschedulable,
        counts.gated,
    ];
    sample.pending = waiting.into_iter().map(u64::from).sum();
    let permille = |at: usize| match allocatable[at] {
        0 => 0,
        all => u64::try_from(requested[at] * 1000 / all).unwrap_or(0),
    };
    (sample.cpu, sample.memory) = (permille(0), permille(1));
    sample
}

#[cfg(test)]
mod tests {
    use super::{SAMPLES_MAX, Sample, Timeline};

    #[test]
    fn samples_thin_out_evenly() {
        let mut timeline = Timeline::default();
        for end in (0..2_000_000).step_by(777) {
            while let Some(ms) = timeline.due(end) {
                timeline.take(Sample {
                    ms,
                    ..Sample::default()
                });
            }
        }
        let times: Vec<u64> = timeline.samples.iter().map(|sample| sample.ms).collect();
        assert!(times.len() <= SAMPLES_MAX && times.len() > SAMPLES_MAX / 3);
        assert_eq!(times.first(), Some(&0));
        let apart = times.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(apart.into_iter().all(|apart| apart == timeline.interval));
    }

    #[test]
    fn waits_are_ranked() {
        let mut timeline = Timeline::default();
        assert_eq!(timeline.waits(), None);
        (1..=100).rev().for_each(|wait| timeline.bound(wait * 1000));
        let waits = timeline.waits().expect("pods were bound");
        let ranks = [waits.mean, waits.p50, waits.p90, waits.p99, waits.max];
        assert_eq!(ranks, [50.5, 50.0, 90.0, 99.0, 100.0]);
    }
}
