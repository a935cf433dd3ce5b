//! A scheduler under a virtual clock, and what becomes of its decisions.
//!
//! The stage before is `input`, the one after are `decision`, `evaluation` and `table`. The clock
//! begins at [`START`] and moves a millisecond before each pod that comes and after each attempt, as
//! that of `berth simulate`; otherwise it moves when the user says so. Binding takes no time but for
//! volumes, which take a second, and evicted pods are gone at once.

use crate::error::Failure;
use crate::evaluation::Nodes;
use crate::plugin::{Calls, Plugins};
use berth_core::id::{NodeId, PodId};
use berth_core::intake::{Applied, Intake, Loaded, ObjectId, Size};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::Decoded;
use berth_core::object::{Object, Pod};
use berth_core::{
    AttemptError, BindOutcome, BoundClaim, CapacityExceeded, Change, Decision, DecisionRecord,
    Detail, Nomination, Options, Outcome, QueuePart, Scheduler, VictimKind,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// 2000-01-01T00:00:00Z, in nanoseconds since 1970: where the clock begins.
pub const START: u64 = 946_684_800_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Attempts that are remembered; the oldest go. Some 60 MB at a kilobyte each.
pub const ATTEMPTS_MAX: usize = 1 << 16;
/// Attempts that time wakes pods for in one call: a pod that fits nowhere is tried for ever.
const WOKEN_MAX: usize = 1 << 18;

/// What follows a decision of the loop by itself.
#[derive(Clone, Copy, Debug)]
pub struct Customs {
    /// The pod is bound to its node; otherwise it is assumed there until [`World::bound`].
    pub bind: bool,
    /// Victims are deleted; otherwise the user deletes them.
    pub evict: bool,
    /// How much each record carries.
    pub detail: Detail,
}

/// An attempt that was made.
#[derive(Debug)]
pub struct Attempt {
    /// When, in nanoseconds since [`START`].
    pub time: u64,
    pub record: DecisionRecord,
}

/// The cluster, its scheduler and its clock.
#[derive(Clone)]
pub struct World {
    pub intake: Intake,
    /// Asked by every attempt.
    pub plugins: Plugins,
    /// Those that are there, once somebody asked since the last change of them.
    nodes: Option<Arc<Nodes>>,
    /// The last [`ATTEMPTS_MAX`] attempts.
    pub attempts: VecDeque<Arc<Attempt>>,
    /// By pod, [`Self::changes`] at its last attempt.
    tried: BTreeMap<PodId, u64>,
    /// Changes after which a pod that failed may fit.
    changes: u64,
}

impl World {
    /// An empty cluster; `grows`: full tables are built anew.
    pub fn new(
        config: KubeSchedulerConfiguration,
        options: Options,
        size: Option<Size>,
        grows: bool,
    ) -> Result<Self, Failure> {
        let mut intake = Intake::new(config, options, size)?;
        intake.set_spacing(MILLISECOND);
        intake.set_simulating(true);
        intake.set_growing(grows);
        intake.scheduler_mut().advance(START);
        Ok(Self {
            intake,
            plugins: Plugins::default(),
            nodes: None,
            attempts: VecDeque::new(),
            tried: BTreeMap::new(),
            changes: 0,
        })
    }

    pub const fn scheduler(&self) -> &Scheduler {
        self.intake.scheduler()
    }

    /// The plugins, to be asked by one attempt.
    pub fn calls(&mut self) -> Calls {
        let scheduler = self.intake.scheduler();
        let nodes = self
            .nodes
            .get_or_insert_with(|| Arc::new(Nodes::of(scheduler)));
        self.plugins.calls(Arc::clone(nodes))
    }

    /// Nanoseconds since [`START`].
    pub const fn time(&self) -> u64 {
        self.scheduler().now().saturating_sub(START)
    }

    /// Lets nanoseconds pass.
    pub fn advance(&mut self, nanoseconds: u64) {
        self.set_clock(self.scheduler().now().saturating_add(nanoseconds));
    }

    /// The clock moves to `time`; pods whose volumes are bound by then are bound at their time.
    fn set_clock(&mut self, time: u64) {
        while let Some(due) = self.intake.next_binding().filter(|due| *due <= time) {
            self.intake.scheduler_mut().advance(due);
            if let Some(pod) = self.intake.end_binding() {
                self.bound(pod, BindOutcome::Bound);
            }
        }
        self.intake.scheduler_mut().advance(time);
    }

    pub fn load(&mut self, documents: Vec<Decoded>) -> Result<Loaded, Failure> {
        let loaded = self.intake.load(documents)?;
        self.nodes = None;
        self.changes += 1;
        Ok(loaded)
    }

    pub fn apply(&mut self, change: Option<Change>, document: Decoded) -> Result<Applied, Failure> {
        self.advance(MILLISECOND);
        let applied = self.intake.apply(change, document)?;
        if !matches!(applied.id, Some(ObjectId::Pod(_))) {
            self.nodes = None;
        }
        self.changes += 1;
        Ok(applied)
    }

    /// Takes a saved state in the place of all that is there. Bindings under way end well.
    pub fn load_state(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.intake.load_state(bytes)?;
        self.nodes = None;
        self.attempts.clear();
        self.tried.clear();
        let scheduler = self.intake.scheduler_mut();
        scheduler.advance(scheduler.now().max(START));
        self.changes += 1;
        Ok(self.intake.end_bindings()?)
    }

    /// The pod of this name, `NAMESPACE/NAME` or `NAME` in `default`.
    pub fn find(&self, name: &str) -> Result<PodId, Failure> {
        let (namespace, short) = name.split_once('/').unwrap_or(("default", name));
        let pod = self.scheduler().find_pod(namespace, short);
        pod.ok_or_else(|| Failure::NoPod(name.to_owned()))
    }

    /// One attempt at a pod that the user picks, without preemption; it is bound at once.
    pub fn schedule(&mut self, pod: PodId, detail: Detail) -> Result<Arc<Attempt>, Failure> {
        let mut calls = self.calls();
        let decision = with_room(&mut self.intake, |intake| {
            intake.scheduler_mut().schedule_with(pod, &mut calls)
        });
        let mut record = self.scheduler().record(&decision, detail);
        if let Outcome::Scheduled(_) = decision.outcome {
            record.volumes = self.bind_volumes(pod)?;
            self.seen_bound(pod);
        }
        let attempt = self.end_attempt(pod, record);
        calls.end()?;
        Ok(attempt)
    }

    /// One turn of the loop; `None` when no pod can be tried now.
    pub fn schedule_one(&mut self, customs: Customs) -> Result<Option<Arc<Attempt>>, Failure> {
        let mut calls = self.calls();
        let Some(decision) = self.turn(&mut calls) else {
            return Ok(None);
        };
        let pod = decision.pod;
        let mut record = self.scheduler().record(&decision, customs.detail);
        self.tried.insert(pod, self.changes);
        match decision.outcome {
            Outcome::Scheduled(_) if customs.bind => {
                record.volumes = self.bind_volumes(pod)?;
                if record.volumes.is_empty() {
                    self.bound(pod, BindOutcome::Bound);
                } else {
                    let node = record.node.clone().unwrap_or_default();
                    self.nominate(pod, &node)?;
                    self.intake.wait_for_volumes(pod);
                }
            }
            Outcome::Scheduled(_) => {}
            _ if decision.reason().is_some() => self.fail(&decision, &mut record, customs)?,
            _ => {}
        }
        let attempt = self.end_attempt(pod, record);
        calls.end()?;
        Ok(Some(attempt))
    }

    /// Attempts until no pod is ready; with `wait`, time passes until nothing can wake a pod.
    ///
    /// Pods whose attempts fail with an error come back for ever: they are left once all have failed
    /// since the last change.
    pub fn schedule_all(
        &mut self,
        wait: bool,
        customs: Customs,
    ) -> Result<Vec<Arc<Attempt>>, Failure> {
        let mut attempts = Vec::new();
        loop {
            while self.scheduler().has_ready() {
                attempts.extend(self.schedule_one(customs)?);
            }
            let timer = self.scheduler().next_timer();
            let timer = timer.filter(|_| self.backoff_may_help());
            let next = timer.into_iter().chain(self.intake.next_binding()).min();
            let Some(next) = next.filter(|_| wait) else {
                return Ok(attempts);
            };
            self.pass_to(next);
        }
    }

    /// Attempts until no pod is ready, as often as time wakes some until it is `end`, in nanoseconds
    /// since [`START`]; or until [`WOKEN_MAX`] of them were made, and the clock stays there.
    pub fn schedule_until(
        &mut self,
        end: u64,
        customs: Customs,
    ) -> Result<Vec<Arc<Attempt>>, Failure> {
        let mut attempts = self.schedule_all(false, customs)?;
        let most = attempts.len().saturating_add(WOKEN_MAX);
        let end = START.saturating_add(end);
        while let Some(next) = self.next_event().filter(|next| *next <= end) {
            if attempts.len() >= most {
                return Ok(attempts);
            }
            self.pass_to(next);
            attempts.extend(self.schedule_all(false, customs)?);
        }
        self.set_clock(end);
        Ok(attempts)
    }

    /// When a timer is due, or a pod that waits for its volumes is looked at.
    fn next_event(&self) -> Option<u64> {
        let timer = self.scheduler().next_timer().into_iter();
        timer.chain(self.intake.next_binding()).min()
    }

    /// The clock moves to the millisecond in which something is due, or to the next one.
    fn pass_to(&mut self, due: u64) {
        let due = due.max(self.scheduler().now().saturating_add(MILLISECOND));
        let milliseconds = due.saturating_sub(START).div_ceil(MILLISECOND);
        self.set_clock(START.saturating_add(milliseconds.saturating_mul(MILLISECOND)));
    }

    /// Binds the claims of a placed pod at once; those that are bound for it.
    pub fn bind_volumes(&mut self, pod: PodId) -> Result<Vec<BoundClaim>, Failure> {
        let bound = self.intake.bind_volumes(pod)?;
        self.changes += bound.len() as u64;
        Ok(bound)
    }

    /// Says what became of a pod's binding; `false` if it is not being bound.
    pub fn bound(&mut self, pod: PodId, outcome: BindOutcome) -> bool {
        let now = self.scheduler().now();
        let is_known = self.intake.scheduler_mut().bound(pod, outcome, now);
        if is_known && outcome == BindOutcome::Bound {
            self.seen_bound(pod);
        }
        is_known
    }

    /// Binds a waiting pod to a node, whatever the plugins would say; `false` if it does not wait.
    pub fn bind(&mut self, pod: PodId, node: NodeId) -> Result<bool, Failure> {
        let waited = self.tell(|scheduler| scheduler.assume(pod, node))?;
        if waited {
            self.seen_bound(pod);
        }
        Ok(waited)
    }

    fn seen_bound(&mut self, pod: PodId) {
        self.intake.scheduler_mut().seen_bound(pod);
        self.changes += 1;
    }

    fn end_attempt(&mut self, pod: PodId, record: DecisionRecord) -> Arc<Attempt> {
        let time = self.time();
        let attempt = Arc::new(Attempt { time, record });
        if self.attempts.len() == ATTEMPTS_MAX {
            self.attempts.pop_front();
        }
        self.attempts.push_back(Arc::clone(&attempt));
        if !self.scheduler().waits(pod) {
            self.tried.remove(&pod);
        }
        self.advance(MILLISECOND);
        attempt
    }

    /// The next decision, in tables that are large enough for it.
    fn turn(&mut self, calls: &mut Calls) -> Option<Decision> {
        while self.intake.grows() {
            let room = self.intake.scheduler_mut().make_room();
            match room {
                Err(full) if grow(&mut self.intake, full) => {}
                _ => break,
            }
        }
        let now = self.scheduler().now();
        self.intake.scheduler_mut().schedule_one_with(now, calls)
    }

    /// What follows from a failed attempt, in kube-scheduler's order: the pod's own nomination, those
    /// that it takes from others, its victims.
    fn fail(
        &mut self,
        decision: &Decision,
        record: &mut DecisionRecord,
        customs: Customs,
    ) -> Result<(), Failure> {
        let displaced = self.scheduler().displaced().to_vec();
        let victims = self.scheduler().victims().iter();
        let victims = victims.filter(|victim| victim.kind == VictimKind::Evict);
        let victims: Vec<PodId> = victims.map(|victim| victim.pod).collect();
        record.victims = victims.iter().map(|pod| self.pod_name(*pod)).collect();
        match decision.nomination {
            Nomination::Keep => {}
            Nomination::Clear => self.nominate(decision.pod, "")?,
            Nomination::Node(node) => {
                let node = self.scheduler().node(node).name.to_owned();
                self.nominate(decision.pod, &node)?;
            }
        }
        for pod in displaced {
            self.nominate(pod, "")?;
        }
        for pod in victims.into_iter().filter(|_| customs.evict) {
            self.delete(pod)?;
        }
        Ok(())
    }

    /// The pod's status names this node as nominated, or none.
    fn nominate(&mut self, pod: PodId, node: &str) -> Result<(), Failure> {
        if self.scheduler().status_nomination(pod) == node {
            return Ok(());
        }
        self.tell(|scheduler| scheduler.seen_nominated(pod, node))?;
        Ok(())
    }

    fn delete(&mut self, pod: PodId) -> Result<(), Failure> {
        let (namespace, name) = self.scheduler().pod_name(pod);
        let mut object = Pod::default();
        namespace.clone_into(&mut object.metadata.namespace);
        name.clone_into(&mut object.metadata.name);
        self.intake
            .put(Change::Deleted, Object::Pod(Box::new(object)))?;
        self.changes += 1;
        Ok(())
    }

    /// `NAMESPACE/NAME`.
    pub fn pod_name(&self, pod: PodId) -> String {
        let (namespace, name) = self.scheduler().pod_name(pod);
        format!("{namespace}/{name}")
    }

    /// Whether a pod backs off that was not tried since the last change.
    fn backoff_may_help(&self) -> bool {
        let scheduler = self.scheduler();
        scheduler.queue_counts().backoff > 0
            && scheduler.pods().any(|pod| {
                scheduler.queue_part(pod) == Some(QueuePart::Backoff)
                    && self.tried.get(&pod) != Some(&self.changes)
            })
    }

    /// Tells the scheduler something, and again with more room if a table was full.
    fn tell<T>(
        &mut self,
        mut tell: impl FnMut(&mut Scheduler) -> Result<T, CapacityExceeded>,
    ) -> Result<T, Failure> {
        loop {
            match tell(self.intake.scheduler_mut()) {
                Err(full) if grow(&mut self.intake, full) => {}
                told => return told.map_err(Failure::Full),
            }
        }
    }
}

/// Judges a pod on every node.
pub fn evaluate(intake: &mut Intake, calls: &mut Calls, pod: PodId) -> Decision {
    with_room(intake, |intake| intake.evaluate_with(pod, calls))
}

/// The same with its record.
pub fn explain(intake: &mut Intake, calls: &mut Calls, pod: PodId) -> Attempt {
    let mut record = DecisionRecord::default();
    with_room(intake, |intake| {
        let (decision, explained) = intake.explain_with(pod, Detail::Full, calls);
        record = explained;
        decision
    });
    let time = intake.scheduler().now().saturating_sub(START);
    Attempt { time, record }
}

/// Makes a decision that changes nothing when a table is full, and again with more room.
fn with_room(intake: &mut Intake, mut decide: impl FnMut(&mut Intake) -> Decision) -> Decision {
    loop {
        let decision = decide(intake);
        match full(&decision) {
            Some(full) if grow(intake, full) => {}
            _ => return decision,
        }
    }
}

/// Whether there is more room now.
fn grow(intake: &mut Intake, full: CapacityExceeded) -> bool {
    intake.grows() && intake.grow(full).is_ok()
}

const fn full(decision: &Decision) -> Option<CapacityExceeded> {
    match decision.outcome {
        Outcome::Error(AttemptError::Capacity(full)) => Some(full),
        _ => None,
    }
}
