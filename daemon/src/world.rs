//! A scheduler under a virtual clock, and what happens around it.
//!
//! The clock begins at 2000-01-01T00:00:00Z, or where a state that it goes on from has come to, and
//! counts milliseconds. It moves to the next
//! millisecond before each object of a step and after each attempt; what an attempt causes is over
//! before it moves. Binding takes no time but for volumes, which take a second, and evicted pods are
//! gone at once unless deletion is graceful. The parts: `api` does what the API server does after an
//! attempt, `volumes` and `workload` what the controllers do, `timeline` keeps what is told of the
//! run as a whole.

mod api;
mod attempt;
mod step;
mod timeline;
mod volumes;
mod workload;

use timeline::Timeline;

pub use attempt::Attempt;
pub use step::{Put, Step};
pub use timeline::{Course, Sample, Waits};

use crate::failure::Failure;
use crate::room::grow;
use berth_core::intake::Intake;
use berth_core::object::{Object, Pod};
use berth_core::{ApplyError, Change, Decision, DecisionRecord, Detail, QueuePart, Scheduler};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io;

/// 2000-01-01T00:00:00Z, in nanoseconds since 1970.
const START: u64 = 946_684_800_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Between two looks at the queue while time passes, in milliseconds.
const BEAT: u64 = 100;

/// Namespace and name of a pod.
type Name = (String, String);
/// When a pod ends, its number, and its name.
type End = (u64, u64, Name);
/// Kind, namespace and name.
type Key = (&'static str, String, String);

/// How the world behaves where Kubernetes leaves a choice.
#[derive(Clone, Copy, Debug)]
pub struct Customs {
    /// Evicted pods stay, marked, until a step deletes them.
    pub graceful_deletion: bool,
    /// Evicted pods come again as pending ones.
    pub recreate_victims: bool,
    /// How much each record carries.
    pub detail: Detail,
}

/// Hears of pods, by the number under which they came, and of every attempt at one.
pub trait Observer {
    /// A pod came; `waits`: without a node.
    fn arrives(&mut self, number: u64, waits: bool) -> io::Result<()>;
    fn attempt(&mut self, attempt: Attempt) -> io::Result<()>;
    /// A pod is gone, or got its node from somebody else.
    fn leaves(&mut self, number: u64) -> io::Result<()>;
    /// A pod waits at the end; `evaluate` judges it, if there was no attempt at it.
    fn rests(&mut self, number: u64, evaluate: impl FnOnce() -> DecisionRecord) -> io::Result<()>;
}

/// The cluster, its scheduler and its clock.
pub struct World<O> {
    intake: Intake,
    customs: Customs,
    pub observer: O,
    /// When the clock starts, in nanoseconds since 1970.
    start: u64,
    /// Milliseconds since the start.
    ms: u64,
    pods: BTreeMap<Name, PodEntry>,
    /// Everything else that is there and that a later step or a controller reads.
    others: BTreeMap<Key, Object>,
    workloads: BTreeMap<Key, workload::Workload>,
    /// Ends of pods that run for a given time, the first on top; the number tells pods of one name
    /// apart.
    ends: BinaryHeap<Reverse<End>>,
    /// Pods that came, so far.
    arrivals: u64,
    /// Changes after which a pod that failed may fit.
    changes: u64,
    timeline: Timeline,
    /// What steps named that is not there.
    pub absent: u64,
    notes: BTreeSet<String>,
}

/// A pod as the API server keeps it.
struct PodEntry {
    object: Object,
    /// Which pod it is, counted as they came.
    number: u64,
    /// When it came, in milliseconds.
    arrived: u64,
    /// How long it runs once it is bound, in milliseconds; for ever if absent.
    runs: Option<u64>,
    /// [`World::changes`] at its last attempt.
    tried: Option<u64>,
    /// It comes from a state: of its object only names, node and nomination are known.
    is_saved: bool,
}

impl<O: Observer> World<O> {
    /// The cluster of the intake, at the start of time or where it has come to.
    pub fn new(mut intake: Intake, customs: Customs, observer: O) -> Self {
        let start = START.max(intake.scheduler().now());
        intake.scheduler_mut().advance(start);
        intake.set_simulating(true);
        Self {
            intake,
            customs,
            observer,
            start,
            ms: 0,
            pods: BTreeMap::new(),
            others: BTreeMap::new(),
            workloads: BTreeMap::new(),
            ends: BinaryHeap::new(),
            arrivals: 0,
            changes: 0,
            timeline: Timeline::default(),
            absent: 0,
            notes: BTreeSet::new(),
        }
    }

    /// Takes the pods on that the intake has: bindings under way end well.
    pub fn resume(&mut self) -> Result<(), Failure> {
        self.intake.end_bindings()?;
        for id in self.intake.arrived() {
            let scheduler = self.intake.scheduler();
            let (namespace, name) = scheduler.pod_name(id);
            let name = (namespace.to_owned(), name.to_owned());
            let node = scheduler.node_of(id).map(|node| scheduler.node(node).name);
            let mut pod = Pod::default();
            (pod.metadata.namespace, pod.metadata.name) = name.clone();
            node.unwrap_or_default().clone_into(&mut pod.spec.node_name);
            let waits = scheduler.waits(id);
            self.observer.arrives(self.arrivals, waits)?;
            let entry = PodEntry {
                object: Object::Pod(Box::new(pod)),
                number: self.arrivals,
                arrived: self.ms,
                runs: None,
                tried: None,
                is_saved: true,
            };
            self.arrivals += 1;
            self.pods.insert(name, entry);
        }
        Ok(())
    }

    pub const fn intake(&self) -> &Intake {
        &self.intake
    }

    pub const fn scheduler(&self) -> &Scheduler {
        self.intake.scheduler()
    }

    pub const fn scheduler_mut(&mut self) -> &mut Scheduler {
        self.intake.scheduler_mut()
    }

    /// What the user should know, one sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(String::as_str)
    }

    /// Takes in objects that are prepared; one that is there already changes. Pods come a millisecond
    /// apart, as the queue keeps no order among those of the same time. The volume controllers see the
    /// whole.
    pub fn load(&mut self, objects: &[Object]) -> Result<(), Failure> {
        self.intake.set_simulating(false);
        for object in objects {
            match object {
                Object::Pod(pod) => {
                    self.tick()?;
                    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
                    let key = ("Pod", namespace.clone(), name.clone());
                    if self.is_there(&key) {
                        self.replace(&key, object.clone(), None)?;
                    } else {
                        self.arrive(object.clone(), None)?;
                    }
                }
                object => {
                    let change = self.intake.change_of(object);
                    self.take(change, object)?;
                }
            }
        }
        self.intake.set_simulating(true);
        Ok(self.intake.bind_claims()?)
    }

    /// Tells of the pods that wait, in the order in which they came.
    pub fn tell_rest(&mut self) -> io::Result<()> {
        let waiting = self.pods.iter().filter(|(_, pod)| pod.waits());
        let mut waiting: Vec<_> = waiting.map(|(name, pod)| (pod.number, name)).collect();
        waiting.sort_unstable();
        let scheduler = self.intake.scheduler_mut();
        for (number, (namespace, name)) in waiting {
            let Some(id) = scheduler.find_pod(namespace, name) else {
                continue;
            };
            let detail = self.customs.detail;
            let evaluate = || scheduler.explain(id, detail).1;
            self.observer.rests(number, evaluate)?;
        }
        Ok(())
    }

    /// The run as a whole.
    pub fn course(&self) -> Course {
        self.timeline.course(self.scheduler(), self.ms)
    }

    fn now(&self) -> u64 {
        self.start + self.ms * MILLISECOND
    }

    /// The clock moves to `ms`; pods whose volumes are bound by then are bound at their time.
    fn pass_to(&mut self, ms: u64) -> Result<(), Failure> {
        while let Some(due) = self.next_binding().filter(|due| *due <= ms) {
            self.set_clock(due);
            self.end_binding()?;
        }
        self.set_clock(ms);
        Ok(())
    }

    fn set_clock(&mut self, ms: u64) {
        while let Some(due) = self.timeline.due(ms) {
            let sample = timeline::sample(self.scheduler(), due);
            self.timeline.take(sample);
        }
        self.ms = ms;
        let now = self.now();
        self.scheduler_mut().advance(now);
    }

    /// The clock moves to the next millisecond.
    pub fn tick(&mut self) -> Result<(), Failure> {
        self.pass_to(self.ms + 1)
    }

    /// Attempts until no pod is ready to be tried.
    pub fn settle(&mut self) -> Result<(), Failure> {
        while self.scheduler().has_ready() {
            while let Err(full) = self.scheduler_mut().make_room() {
                grow(&mut self.intake, full)?;
            }
            let now = self.now();
            if let Some(decision) = self.scheduler_mut().schedule_one(now) {
                self.follow(&decision)?;
                self.tick()?;
            }
        }
        Ok(())
    }

    /// Settles; then, until `ms` milliseconds are over, goes on to the next tenth of a second at
    /// which something may happen, and settles.
    pub fn advance(&mut self, ms: u64) -> Result<(), Failure> {
        let end = self.ms.saturating_add(ms);
        self.settle()?;
        while self.ms < end {
            let timer = self.scheduler().next_timer();
            let beat = timer.map_or(end, |timer| {
                let due = self.ms_of(timer).max(self.ms + 1);
                due.div_ceil(BEAT) * BEAT
            });
            let next = self.next_end().map_or(beat, |due| due.min(beat)).min(end);
            self.pass_to(next)?;
            self.finish_due()?;
            self.settle()?;
        }
        Ok(())
    }

    /// Lets time pass until nothing is left that could wake a pod. Pods whose attempts fail with an
    /// error come back for ever: they are left once all have failed since the last change.
    pub fn run_out(&mut self) -> Result<(), Failure> {
        loop {
            self.settle()?;
            let backoff = self.backoff_may_help();
            let timer = self.scheduler().next_timer().filter(|_| backoff);
            let timer = timer.map(|timer| self.ms_of(timer));
            let times = timer.into_iter().chain(self.next_end());
            let times = times.chain(self.next_binding());
            let Some(next) = times.min() else {
                return Ok(());
            };
            self.pass_to(next.max(self.ms + 1))?;
            self.finish_due()?;
        }
    }

    /// Whether a pod backs off that was not tried since the last change.
    fn backoff_may_help(&self) -> bool {
        if self.scheduler().queue_counts().backoff == 0 {
            return false;
        }
        self.pods.iter().any(|((namespace, name), pod)| {
            pod.waits() && pod.tried != Some(self.changes) && {
                let id = self.scheduler().find_pod(namespace, name);
                let part = id.and_then(|id| self.scheduler().queue_part(id));
                part == Some(QueuePart::Backoff)
            }
        })
    }

    /// The first millisecond that is not before a time.
    fn ms_of(&self, time: u64) -> u64 {
        time.saturating_sub(self.start).div_ceil(MILLISECOND)
    }

    fn next_end(&self) -> Option<u64> {
        self.ends.peek().map(|Reverse((due, ..))| *due)
    }

    /// Pods whose time is over succeed, and are gone.
    fn finish_due(&mut self) -> Result<(), Failure> {
        while let Some(Reverse((due, number, name))) = self.ends.peek().cloned() {
            if due > self.ms {
                break;
            }
            self.ends.pop();
            let is_same = self.pods.get(&name).map(|pod| pod.number) == Some(number);
            if is_same {
                self.remove_pod(&name)?;
                self.timeline.finished += 1;
            }
        }
        Ok(())
    }

    fn record(&self, decision: &Decision) -> DecisionRecord {
        self.scheduler().record(decision, self.customs.detail)
    }

    /// Tells the scheduler of an object.
    fn take(&mut self, change: Change, object: &Object) -> Result<(), Failure> {
        let applied = self.intake.put(change, object.clone())?;
        self.notes.extend(applied.notes);
        Ok(())
    }

    /// Tells the scheduler of a pod's entry as it is now.
    fn tell_pod(&mut self, name: &Name) -> Result<(), Failure> {
        let Some(entry) = self.pods.get(name) else {
            return Ok(());
        };
        while let Err(error) = entry.tell(self.intake.scheduler_mut()) {
            match error {
                ApplyError::Capacity(full) => grow(&mut self.intake, full)?,
                error => {
                    let message = format!("Pod {}/{}: {error}", name.0, name.1);
                    return Err(Failure::Usage(message));
                }
            }
        }
        Ok(())
    }

    fn remove_pod(&mut self, name: &Name) -> Result<Option<PodEntry>, Failure> {
        let Some(entry) = self.pods.remove(name) else {
            return Ok(None);
        };
        self.take(Change::Deleted, &entry.object)?;
        self.observer.leaves(entry.number)?;
        self.changes += 1;
        Ok(Some(entry))
    }
}

impl PodEntry {
    fn tell(&self, scheduler: &mut Scheduler) -> Result<(), ApplyError> {
        if !self.is_saved {
            return scheduler.apply(Change::Modified, &self.object);
        }
        let pod = self.pod();
        let metadata = &pod.metadata;
        if let Some(id) = scheduler.find_pod(&metadata.namespace, &metadata.name) {
            // One that waits for its volumes is placed, and not bound yet.
            if !self.waits() {
                scheduler.seen_bound(id);
            }
            scheduler.seen_nominated(id, &pod.status.nominated_node_name)?;
        }
        Ok(())
    }

    fn pod(&self) -> &Pod {
        match &self.object {
            Object::Pod(pod) => pod,
            _ => unreachable!("an entry of the pods holds a pod"),
        }
    }

    fn pod_mut(&mut self) -> &mut Pod {
        match &mut self.object {
            Object::Pod(pod) => pod,
            _ => unreachable!("an entry of the pods holds a pod"),
        }
    }

    fn waits(&self) -> bool {
        self.pod().spec.node_name.is_empty()
    }
}
