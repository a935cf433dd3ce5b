//! One node without its less important pods, and the fewest of them that must go.
//!
//! Mirrors `SelectVictimsOnNode` and `DryRunPreemption`.

use super::{Cost, Dry, Preemption, budget};
use crate::cluster::Cluster;
use crate::cycle::plan::Plan;
use crate::cycle::{Probe, Verdict, count};
use crate::decision::AttemptError;
use crate::id::PodId;
use crate::planted::{self, Bug};
use crate::queue::Queue;
use crate::table::Count;
use core::cmp::{Ordering, Reverse};

/// What a preemption reads and asks.
pub(crate) struct Run<'a> {
    pub(crate) cluster: &'a mut Cluster,
    pub(crate) plan: &'a Plan,
    pub(crate) queue: &'a Queue,
    pub(crate) work: &'a mut Preemption,
    pub(crate) pod: PodId,
    pub(crate) slot: usize,
}

impl Run<'_> {
    /// Finds the victims on a row, into [`Preemption::current`]. `None`: it is no candidate, which
    /// is noted.
    pub(crate) fn victims_on(&mut self, row: u32) -> Result<Option<Cost>, AttemptError> {
        self.list_lower(row);
        if self.work.lower.is_empty() {
            self.work.dry.push((row, Dry::NoVictims));
            return Ok(None);
        }
        for at in 0..self.work.lower.len() {
            self.count(self.lower(at), row, false);
        }
        let verdict = self.ask(row);
        if !matches!(verdict, Ok(None)) {
            for at in 0..self.work.lower.len() {
                self.count(self.lower(at), row, true);
            }
            if let Some((refusal, lacks)) = verdict? {
                self.work.dry.push((row, Dry::Refused(refusal, lacks)));
            }
            return Ok(None);
        }
        let reprieved = self.reprieve(row);
        for at in 0..self.work.current.len() {
            let pod = self.work.current.get(at).copied();
            if let Some(pod) = pod {
                self.count(pod, row, true);
            }
        }
        let violations = reprieved?;
        Ok(Some(self.cost(i64::from(violations))))
    }

    /// Pods of lower priority on the row, in the order in which they came.
    fn list_lower(&mut self, row: u32) {
        let own = self.queue.item(self.pod).priority;
        let work = &mut *self.work;
        work.lower.clear();
        let pods = self.cluster.pods_on(row as usize);
        work.lower.extend(pods.filter(|pod| {
            let priority = self.queue.item(*pod).priority;
            priority < own || planted::is(Bug::EqualVictim) && priority == own
        }));
        work.lower.reverse();
    }

    /// Puts back, one by one and the most important first, all that may stay: those whose eviction
    /// violates a budget first. Returns how many of these have to go all the same.
    fn reprieve(&mut self, row: u32) -> Result<u32, AttemptError> {
        let (queue, now) = (self.queue, self.now());
        let by_importance = |a: &PodId, b: &PodId| importance(queue, now, *a, *b);
        let work = &mut *self.work;
        // Of equal pods the one that came first stays first, as in upstream up to 12 pods.
        work.lower.sort_by(by_importance);
        budget::fill(self.cluster, &mut work.allowed);
        work.ordered.clear();
        // The pods that violate none are kept apart until all are judged.
        work.current.clear();
        for pod in &work.lower {
            let violates = self.cluster.pods.get(pod.index()).is_some_and(|row| {
                let class = self.cluster.class(row.class);
                budget::is_violating(self.cluster, class, row.name, &mut work.allowed)
            });
            if violates {
                work.ordered.push(*pod);
            } else {
                work.current.push(*pod);
            }
        }
        let violating_count = work.ordered.len();
        work.ordered.append(&mut work.current);
        let mut violations = 0_u32;
        let mut result = Ok(());
        for at in 0..self.work.ordered.len() {
            let Some(pod) = self.work.ordered.get(at).copied() else {
                break;
            };
            self.count(pod, row, true);
            let stays = match if result.is_ok() {
                self.ask(row)
            } else {
                Ok(None)
            } {
                Ok(verdict) => verdict.is_none() && !planted::is(Bug::NoReprieve),
                Err(error) => {
                    result = Err(error);
                    true
                }
            };
            if !stays {
                self.count(pod, row, false);
                self.work.current.push(pod);
                if at < violating_count {
                    violations.count_up();
                }
            }
        }
        let total = self.work.ordered.len();
        if violating_count > 0 && violating_count < total {
            self.work.current.sort_by(by_importance);
        }
        result.map(|()| violations)
    }

    /// How good a candidate is whose victims are in [`Preemption::current`].
    pub(crate) fn cost(&self, violations: i64) -> Cost {
        let now = self.now();
        let priority = |pod: &PodId| self.queue.item(*pod).priority;
        let victims = &self.work.current;
        let highest = victims.first().map_or(i32::MIN, priority);
        let top = victims.iter().map(priority).max().unwrap_or(highest);
        let starts = victims.iter().filter(|pod| priority(pod) == top);
        let start = starts.map(|pod| start(self.queue, now, *pod)).min();
        Cost {
            violations,
            highest,
            sum: victims
                .iter()
                .map(|pod| i64::from(priority(pod)).saturating_add(1 << 31))
                .sum(),
            count: victims.len() as u32,
            start: Reverse(start.unwrap_or(now)),
        }
    }

    fn ask(&mut self, row: u32) -> Result<Verdict, AttemptError> {
        let mut probe = Probe {
            cluster: self.cluster,
            plan: self.plan,
            queue: self.queue,
            scratch: &mut self.work.scratch,
            pod: self.pod,
            slot: self.slot,
        };
        probe.ask(row)
    }

    fn lower(&self, at: usize) -> PodId {
        self.work.lower.get(at).copied().unwrap_or(self.pod)
    }

    fn count(&mut self, pod: PodId, row: u32, add: bool) {
        count(self.cluster, &mut self.work.scratch, pod, row, add);
    }

    fn now(&self) -> i64 {
        i64::try_from(self.queue.now).unwrap_or(i64::MAX)
    }
}

/// The more important pod first: higher priority, then earlier start.
fn importance(queue: &Queue, now: i64, a: PodId, b: PodId) -> Ordering {
    let (one, other) = (queue.item(a).priority, queue.item(b).priority);
    other
        .cmp(&one)
        .then_with(|| start(queue, now, a).cmp(&start(queue, now, b)))
}

/// A pod that has not started starts now.
fn start(queue: &Queue, now: i64, pod: PodId) -> i64 {
    queue.item(pod).start.unwrap_or(now)
}
