//! One node without its less important pods, and the fewest of them that must go.
//!
//! Mirrors `SelectVictimsOnNode` and `DryRunPreemption`.

use super::known::Found;
use super::{Cost, Dry, Preemption, budget};
use crate::cluster::Cluster;
use crate::cycle::plan::Plan;
use crate::cycle::room::{self, Room};
use crate::cycle::{Attempt, Probe, Verdict, count};
use crate::decision::AttemptError;
use crate::id::PodId;
use crate::planted::{self, Bug};
use crate::queue::Queue;
use crate::table::Count;
use core::cmp::{Ordering, Reverse};

/// What a preemption reads and asks.
pub(crate) struct Run<'a> {
    cluster: &'a mut Cluster,
    plan: &'a Plan,
    queue: &'a Queue,
    work: &'a mut Preemption,
    pod: PodId,
    slot: usize,
    /// The row in question, where nothing but room decides.
    room: Option<Room>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        cluster: &'a mut Cluster,
        plan: &'a Plan,
        queue: &'a Queue,
        work: &'a mut Preemption,
        (pod, slot): (PodId, usize),
    ) -> Self {
        Self {
            cluster,
            plan,
            queue,
            work,
            pod,
            slot,
            room: None,
        }
    }

    /// The room of a row, where nothing else decides.
    fn room_of(&self, row: u32) -> Option<Room> {
        let pod = self.cluster.pods.get(self.pod.index())?;
        let attempt = Attempt::new(self.cluster, self.plan, pod, self.slot);
        Room::of(attempt, self.work.by_room, &self.work.nominees, row)
    }

    /// What becomes of a row; `lists` asks for its victims too, in [`Preemption::current`].
    pub(crate) fn ask_row(&mut self, row: u32, lists: bool) -> Result<Found, AttemptError> {
        match self.work.known.cost(row, self.now()).filter(|_| !lists) {
            Some(known) => {
                debug_assert_eq!(self.find(row), Ok(Ok(known)));
                Ok(Ok(known))
            }
            None => self.find(row),
        }
    }

    /// What becomes of a row, in any case with its victims.
    pub(crate) fn find(&mut self, row: u32) -> Result<Found, AttemptError> {
        self.room = self.room_of(row);
        let found = self.select(row);
        debug_assert!(self.room.is_none() || self.is_as_asked(row, &found));
        let found = found?;
        if self.room.is_some() && !self.work.nominees.any(row) {
            let started = |pod: &PodId| self.queue.item(*pod).start.is_some();
            let count = self.work.lower.iter().filter(|pod| started(pod)).count();
            if count == 0 || count == self.work.lower.len() {
                self.work.known.set(row, found, count == 0);
            }
        }
        Ok(found)
    }

    /// Whether the filters, asked with each pod counted on the cluster, find the same victims.
    fn is_as_asked(&mut self, row: u32, found: &Result<Found, AttemptError>) -> bool {
        let digest = |victims: &[PodId]| {
            let ids = victims.iter().map(|pod| u64::from(pod.0).wrapping_add(1));
            ids.fold(0_u64, |digest, id| digest.wrapping_mul(31).wrapping_add(id))
        };
        let victims = digest(&self.work.current);
        let room = self.room.take();
        let asked = self.select(row);
        self.room = room;
        let has_victims = matches!(found, Ok(Ok(_)));
        // Sums need no room in tables.
        matches!(asked, Err(AttemptError::Capacity(_)))
            || asked == *found && (!has_victims || digest(&self.work.current) == victims)
    }

    fn select(&mut self, row: u32) -> Result<Found, AttemptError> {
        self.list_lower(row);
        if self.work.lower.is_empty() {
            return Ok(Err(Dry::NoVictims));
        }
        for at in 0..self.work.lower.len() {
            self.count(self.lower(at), row, false);
        }
        let verdict = self.ask(row);
        if !matches!(verdict, Ok(None)) {
            for at in 0..self.work.lower.len() {
                self.count(self.lower(at), row, true);
            }
        }
        if let Some((refusal, lacks)) = verdict? {
            return Ok(Err(Dry::Refused(refusal, lacks)));
        }
        let reprieved = self.reprieve(row);
        for at in 0..self.work.current.len() {
            let pod = self.work.current.get(at).copied();
            if let Some(pod) = pod {
                self.count(pod, row, true);
            }
        }
        let violations = reprieved?;
        Ok(Ok(self.cost(i64::from(violations))))
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
        if let Some(room) = &self.room {
            let nominees = room::counted(&self.work.nominees, self.queue, row, self.pod);
            return Ok(match room.with(self.cluster, nominees, self.pod) {
                Some(Some(refused)) => Some(refused),
                _ => room.plain(self.cluster, self.pod),
            });
        }
        let mut probe = Probe {
            cluster: self.cluster,
            plan: self.plan,
            queue: self.queue,
            scratch: &mut self.work.scratch,
            nominees: &self.work.nominees,
            pod: self.pod,
            slot: self.slot,
        };
        probe.ask(row)
    }

    fn lower(&self, at: usize) -> PodId {
        self.work.lower.get(at).copied().unwrap_or(self.pod)
    }

    fn count(&mut self, pod: PodId, row: u32, add: bool) {
        if let Some(room) = &mut self.room {
            return room.count(self.cluster, pod, add);
        }
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
