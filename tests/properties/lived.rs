//! A history that the loop lives through: objects come and go, bindings end in every way.

use berth_core::id::{NodeId, PodId};
use berth_core::object::{Object, Pod};
use berth_core::{
    BindOutcome, Capacities, Change, Decision, Hooks, Nomination, Options, Outcome, Permit,
    QueuePart, Scheduler, VictimKind, VolumesBound,
};
use berth_test_support::generate::Case;
use berth_test_support::generate::event::Event;
use berth_test_support::generate::profile::configuration;
use berth_test_support::generate::world::{Key, Step, World};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::Range;

const MILLISECOND: u64 = 1_000_000;

/// Lets every fourth pod wait at Permit and every third have work before its binding.
struct Rules(u64);

impl Hooks for Rules {
    fn permit(&mut self, _: &Scheduler, _: PodId, _: NodeId) -> Permit {
        match self.0 % 8 {
            1 | 5 => Permit::Wait(2_000 * MILLISECOND),
            6 => Permit::Rejected,
            _ => Permit::Allow,
        }
    }

    fn has_pre_bind(&mut self, _: &Scheduler, _: PodId, _: NodeId) -> bool {
        self.0.is_multiple_of(3)
    }
}

/// A history, the engine that lived it, and what is still open.
#[derive(Clone)]
pub struct Lived {
    pub world: World,
    pub engine: Scheduler,
    now: u64,
    turns: u64,
    /// Pods whose binding has no outcome yet, or that wait at Permit.
    open: Vec<Key>,
    /// Pods that the queue has dropped as unsupported.
    dropped: BTreeSet<Key>,
    /// Bindings and nominations are told without objects.
    pub by_id: bool,
    /// Decisions of the loop, in their order.
    pub decided: Vec<Decision>,
}

impl Lived {
    pub fn new(case: &Case) -> Self {
        let config = configuration(&case.profiles);
        let mut engine =
            Scheduler::new(&config, Options::default(), Capacities::for_size(320, 256))
                .unwrap_or_else(|error| panic!("{error}"));
        engine.advance(1_000_000 * MILLISECOND);
        Self {
            world: World::new(case),
            engine,
            now: 1_000_000 * MILLISECOND,
            turns: 0,
            open: Vec::new(),
            dropped: BTreeSet::new(),
            by_id: false,
            decided: Vec::new(),
        }
    }

    /// The same history with another engine, which has come as far.
    #[allow(dead_code, reason = "not every suite that has this module needs it")]
    pub fn with(self, engine: Scheduler) -> Self {
        Self { engine, ..self }
    }

    /// What shows of the engine.
    #[allow(dead_code, reason = "not every suite that has this module needs it")]
    pub fn hashes(&self) -> (u64, u64) {
        (self.engine.state_hash(), self.engine.loop_hash())
    }

    /// Lives through these events of a case.
    #[allow(dead_code, reason = "not every suite that has this module needs it")]
    pub fn live_through(&mut self, case: &Case, numbers: Range<usize>) {
        for number in numbers {
            self.live(number, &case.events[number]);
        }
    }

    pub fn live(&mut self, number: usize, event: &Event) {
        self.now += number as u64 % 7 * 150 * MILLISECOND;
        self.engine.advance(self.now);
        for step in self.world.steps(event) {
            match step {
                Step::Apply(change, object) => self.apply(change, *object),
                Step::Schedule(_) => self.turn(),
                Step::Ask(key) => {
                    let id = self.id(&key);
                    self.engine.evaluate(id);
                }
                Step::Forget(key) => self.forget(&key),
            }
        }
        if number.is_multiple_of(3) {
            self.resolve();
        }
    }

    pub fn id(&self, key: &Key) -> PodId {
        let id = self.engine.find_pod(&key.0, &key.1);
        id.unwrap_or_else(|| panic!("no pod {key:?}"))
    }

    /// Pods get a priority by their number, so that some can preempt others.
    fn apply(&mut self, change: Change, mut object: Object) {
        if let Object::Pod(pod) = &mut object {
            let key = (pod.metadata.namespace.clone(), pod.metadata.name.clone());
            let digits: u32 = pod.metadata.name[1..].parse().unwrap_or(0);
            let priority = Some((digits * 7 % 5).cast_signed());
            pod.spec.priority = priority;
            self.dropped.remove(&key);
            let mut there = self.world.pods.iter_mut();
            if let Some(own) = there.find(|own| own.key() == key) {
                own.pod.spec.priority = priority;
            }
        }
        if let Err(error) = self.engine.apply(change, &object) {
            panic!("{change:?} {}: {error}", object.metadata().name);
        }
    }

    fn set_pod(&mut self, key: &Key, change: impl FnOnce(&mut Pod)) {
        let mut there = self.world.pods.iter_mut();
        if let Some(own) = there.find(|own| own.key() == *key) {
            change(&mut own.pod);
            let pod = own.pod.clone();
            if self.by_id && self.is_told(key, &pod) {
                return;
            }
            self.apply(Change::Modified, Object::Pod(Box::new(pod)));
        }
    }

    /// Tells of a pod's node or nomination by its id, if that is possible.
    fn is_told(&mut self, key: &Key, pod: &Pod) -> bool {
        self.dropped.remove(key);
        let id = self.id(key);
        if pod.spec.node_name.is_empty() {
            let node = &pod.status.nominated_node_name;
            return self.engine.seen_nominated(id, node).expect("room");
        }
        self.engine.seen_bound(id)
    }

    pub fn set_node(&mut self, key: &Key, node: Option<String>) {
        let mut there = self.world.pods.iter_mut();
        if let Some(own) = there.find(|own| own.key() == *key) {
            own.node = node;
        }
    }

    fn key(&self, pod: PodId) -> Key {
        let (namespace, name) = self.engine.pod_name(pod);
        (namespace.to_owned(), name.to_owned())
    }

    fn turn(&mut self) {
        self.now += MILLISECOND;
        self.turns += 1;
        let mut rules = Rules(self.turns);
        if let Some(decision) = self.engine.schedule_one_with(self.now, &mut rules) {
            self.follow(&decision);
            self.decided.push(decision);
        }
    }

    fn follow(&mut self, decision: &Decision) {
        let key = self.key(decision.pod);
        match decision.outcome {
            Outcome::Scheduled(node) => {
                let name = self.engine.node(node).name.to_owned();
                self.set_node(&key, Some(name));
                self.open.push(key);
            }
            Outcome::Unsupported(_) => {
                self.dropped.insert(key);
            }
            Outcome::Unschedulable => {
                let name = match decision.nomination {
                    Nomination::Keep => None,
                    Nomination::Clear => Some(String::new()),
                    Nomination::Node(node) => Some(self.engine.node(node).name.to_owned()),
                };
                let displaced: Vec<Key> = self
                    .engine
                    .displaced()
                    .iter()
                    .map(|pod| self.key(*pod))
                    .collect();
                let victims: Vec<(Key, VictimKind)> = self
                    .engine
                    .victims()
                    .iter()
                    .map(|victim| (self.key(victim.pod), victim.kind))
                    .collect();
                if let Some(name) = name {
                    self.set_pod(&key, |pod| pod.status.nominated_node_name = name);
                }
                for key in displaced {
                    self.set_pod(&key, |pod| pod.status.nominated_node_name.clear());
                }
                for (key, kind) in victims {
                    match kind {
                        VictimKind::Evict => self.evict(&key),
                        VictimKind::InMemory => {
                            self.set_node(&key, None);
                            self.open.retain(|own| *own != key);
                        }
                        VictimKind::Terminating => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn evict(&mut self, key: &Key) {
        let at = self.world.pods.iter().position(|pod| pod.key() == *key);
        let pod = self.world.pods.remove(at.expect("a victim is there")).pod;
        self.open.retain(|own| own != key);
        self.apply(Change::Deleted, Object::Pod(Box::new(pod)));
    }

    fn forget(&mut self, key: &Key) {
        let id = self.id(key);
        self.open.retain(|own| own != key);
        match self.engine.queue_part(id) {
            Some(QueuePart::Permit) => assert!(self.engine.reject(id)),
            Some(QueuePart::Binding) => {
                assert!(self.engine.bound(id, BindOutcome::Failed, self.now));
            }
            _ => self.engine.forget(id),
        }
    }

    /// Whether a pod is no more where it was placed: its wait at Permit is over, or its deletion began
    /// before it was bound. One whose node went keeps waiting for that.
    pub fn has_lost_its_place(&self, key: &Key, id: PodId) -> bool {
        let node = self.world.pod(key).node.as_deref();
        let stands = node.is_some_and(|node| self.engine.find_node(node).is_some());
        self.engine.node_of(id).is_none() && (stands || self.engine.waits(id))
    }

    /// The controllers bind the claims of a placed pod; whether all of them are.
    fn bind_volumes(&mut self, id: PodId) -> bool {
        let actions = self.engine.volume_actions(id);
        for step in self.world.bind_volumes(actions) {
            if let Step::Apply(change, object) = step {
                self.apply(change, *object);
            }
        }
        self.engine.volumes_bound(id, self.now) == VolumesBound::Yes
    }

    /// Gives open bindings their outcomes.
    pub fn resolve(&mut self) {
        for (at, key) in std::mem::take(&mut self.open).into_iter().enumerate() {
            let Some(id) = self.engine.find_pod(&key.0, &key.1) else {
                continue;
            };
            if self.engine.queue_part(id) == Some(QueuePart::Permit) {
                if (self.turns + at as u64).is_multiple_of(3) {
                    assert!(self.engine.reject(id));
                    self.set_node(&key, None);
                    continue;
                }
                assert!(self.engine.allow(id));
            }
            if self.engine.queue_part(id) != Some(QueuePart::Binding) {
                // Another scheduler bound it, or its wait is over.
                if self.has_lost_its_place(&key, id) {
                    self.set_node(&key, None);
                }
                continue;
            }
            let are_bound = self.bind_volumes(id);
            self.engine.pre_bound(id);
            let outcome = match (self.turns + at as u64) % 5 {
                0 => BindOutcome::Failed,
                1 => BindOutcome::Rejected,
                2 if are_bound && self.engine.bound(id, BindOutcome::Unknown, self.now) => {
                    BindOutcome::Bound
                }
                _ => BindOutcome::Bound,
            };
            let node = self.world.pod(&key).node.clone();
            let outcome = if node.is_some() && are_bound {
                outcome
            } else {
                BindOutcome::Failed
            };
            assert!(self.engine.bound(id, outcome, self.now));
            if outcome == BindOutcome::Bound {
                let node = node.expect("a node to be bound to");
                self.set_pod(&key, |pod| {
                    pod.spec.node_name = node;
                    pod.status.nominated_node_name.clear();
                });
            } else {
                self.set_node(&key, None);
            }
        }
    }

    /// Every pod is where its state says, and once.
    pub fn check(&self) -> Result<(), TestCaseError> {
        let mut counts = [0_u32; 4];
        for pod in self.engine.pods() {
            let key = self.key(pod);
            let part = self.engine.queue_part(pod);
            if self.engine.waits(pod) && !self.dropped.contains(&key) {
                prop_assert!(part.is_some(), "{:?} is lost", key);
            }
            if let Some(part) = part {
                let place = match part {
                    QueuePart::Active => 0,
                    QueuePart::Backoff => 1,
                    QueuePart::Unschedulable => 2,
                    QueuePart::Gated => 3,
                    QueuePart::Permit | QueuePart::Binding => continue,
                };
                counts[place] += 1;
                prop_assert!(
                    self.engine.node_of(pod).is_none(),
                    "{:?} waits and is placed",
                    key
                );
            }
        }
        let own = self.engine.queue_counts();
        prop_assert_eq!(
            counts,
            [own.active, own.backoff, own.unschedulable, own.gated]
        );
        Ok(())
    }
}
