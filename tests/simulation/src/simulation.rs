//! One simulated cluster: the scheduler under test, the server, the client between them, the calls
//! under way, and beside them the naive twin and what should be known of each pod.

mod ask;
mod calls;
mod calm;
mod controllers;
mod excuse;
mod saved;
mod storage;
mod told;
mod turn;
mod volumes;
mod watch;
mod world;

pub(crate) use turn::Rules;

use calls::Call;

use crate::action::{Action, Verb};
use crate::check;
use crate::expected::{All, Expected, Place, SECOND};
use crate::fault::{Counts, Fault, Faults};
use crate::random::Random;
use crate::server::{Key, Past, Server};
use crate::setup::{Clock, Setup};
use crate::violation::{Check, ensure};
use berth_core::id::PodId;
use berth_core::{PluginSet, QueuePart, Scheduler};
use berth_naive::Cluster;
use std::collections::BTreeSet;
use std::rc::Rc;

/// When the simulated time begins, in nanoseconds since 1970.
const START: u64 = 1_700_000_000 * SECOND + 300_000_000;
/// Steps between two comparisons with a scheduler that is built anew.
const REBUILD_EVERY: usize = 250;

/// How often the checkers found something to judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// Attempts.
    pub attempts: u64,
    /// Of these, those that found a node.
    pub placed: u64,
    /// Preemptions whose victims were compared with the twin's.
    pub preemptions: u64,
    /// Waiting pods that were tried on every node, to see whether a change should have woken them.
    pub parked: u64,
    /// Pods that still waited at the end, and were looked at afresh.
    pub waiting: u64,
    /// Comparisons with a scheduler that was built anew.
    pub rebuilt: u64,
    /// Pods that were placed with claims to be bound.
    pub promised: u64,
    /// Schedulers that went on from what was saved.
    pub saved: u64,
}

impl Looks {
    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.placed += other.placed;
        self.preemptions += other.preemptions;
        self.parked += other.parked;
        self.waiting += other.waiting;
        self.rebuilt += other.rebuilt;
        self.promised += other.promised;
        self.saved += other.saved;
    }
}

/// A simulated cluster.
pub struct Simulation {
    pub(crate) setup: Rc<Setup>,
    pub(crate) engine: Scheduler,
    pub(crate) server: Server,
    pub(crate) client: crate::client::Client,
    /// The naive twin, with what the engine should hold.
    pub(crate) shadow: Cluster,
    pub(crate) pods: All,
    pub(crate) calls: Vec<Call>,
    /// Bindings that a scheduler sent which died before they arrived.
    pub(crate) strays: Vec<(Key, String, String)>,
    pub(crate) now: u64,
    faults: Faults,
    /// No faults happen for now.
    pub(crate) calm: bool,
    /// Whether the scheduler is replaced by what was saved of it.
    pub saves: bool,
    /// Every change, decision and outcome is printed.
    pub aloud: bool,
    pub counts: Counts,
    /// What the checkers looked at.
    pub looks: Looks,
    /// Nodes that came when pods were waiting for them: upstream keeps the order of such pods,
    /// which decides between victims that are equal in everything.
    pub(crate) returned: BTreeSet<String>,
    /// Hash of all that was decided.
    pub trace: u64,
    /// The next step ends with the dear checks.
    pub(crate) suspicious: bool,
    pods_ever: u32,
    nodes_ever: u32,
    volumes_ever: u32,
    uids: u64,
    gone_nodes: Vec<String>,
    /// What the server held some time ago.
    past: Past,
}

impl Simulation {
    /// An empty cluster. Only faults in `faults` happen, of those that the setup has.
    pub fn new(setup: &Rc<Setup>, faults: Faults) -> Self {
        let mut engine = new_scheduler(setup);
        engine.advance(START);
        let mut simulation = Self {
            setup: Rc::clone(setup),
            engine,
            server: Server::default(),
            client: crate::client::Client::default(),
            shadow: Cluster::default(),
            pods: All::new(),
            calls: Vec::new(),
            strays: Vec::new(),
            now: START,
            faults,
            calm: false,
            saves: true,
            aloud: false,
            counts: Counts::default(),
            looks: Looks::default(),
            returned: BTreeSet::new(),
            trace: 0,
            suspicious: false,
            pods_ever: 0,
            nodes_ever: 0,
            volumes_ever: 0,
            uids: 0,
            gone_nodes: Vec::new(),
            past: Past::default(),
        };
        simulation.lay_out();
        simulation
    }

    /// Does one step, then checks what must hold.
    ///
    /// # Errors
    /// What does not hold.
    pub fn step(&mut self, action: Action) -> Check {
        let mut random = Random::new(action.roll);
        self.say(|_| format!("{action:?}"));
        self.tick(&mut random)?;
        match action.verb {
            Verb::Turn => self.turn(&mut random)?,
            Verb::Deliver => self.deliver(&mut random)?,
            Verb::Answer => self.answer(&mut random)?,
            Verb::Advance => {
                let time = random.choose(&[100, 1000, 1000, 3000, 12_000, 31_000, 301_000]);
                self.pass(time * SECOND / 1000)?;
            }
            Verb::Relist => self.relist_one(&mut random)?,
            Verb::Restart => self.restart(&mut random)?,
            Verb::Save => self.save()?,
            Verb::Retry => self.retry(&mut random)?,
            Verb::Activate => self.activate(&mut random),
            Verb::Ask => self.ask(&mut random)?,
            Verb::Calm => self.rest(&mut random)?,
            verb => self.happen(verb, &mut random),
        }
        self.fold(action.number as u64);
        self.check(action.number)
    }

    /// Prints what happens, if that is wanted.
    pub(crate) fn say(&self, text: impl FnOnce(&Self) -> String) {
        if self.aloud {
            println!("{} {}", self.now, text(self));
        }
    }

    fn check(&mut self, number: usize) -> Check {
        check::places(self)?;
        check::sums(self)?;
        check::promises(self)?;
        check::bound_once(&self.server)?;
        if self.suspicious || number.is_multiple_of(REBUILD_EVERY) {
            self.suspicious = false;
            check::rebuilt(self)?;
            self.fold(self.engine.state_hash());
        }
        Ok(())
    }

    /// Time that passes by itself before a step.
    fn tick(&mut self, random: &mut Random) -> Check {
        let most = match self.setup.clock {
            Clock::Still => 0,
            Clock::Slow => 5_000_000,
            Clock::Fast => SECOND,
        };
        if most > 0 {
            let time = random.draw() % most;
            self.pass(time)?;
        }
        if random.one_in(50) && self.strikes(random, Fault::ClockBack) {
            self.engine.advance(self.now - SECOND);
            ensure(self.engine.now() == self.now, "time", || {
                format!("the scheduler went back to {}", self.engine.now())
            })?;
            // A wait at Permit of no time at all is over with any call.
            self.pass(0)?;
        }
        Ok(())
    }

    /// Lets time pass; waits at Permit end by it.
    pub(crate) fn pass(&mut self, time: u64) -> Check {
        self.now += time;
        self.engine.advance(self.now);
        let now = self.now;
        let mut over: Vec<(u64, u64, Key)> = Vec::new();
        for (key, pod) in &self.pods {
            match pod.place {
                Place::Permit {
                    deadline, attempt, ..
                } if deadline <= now => {
                    over.push((deadline, attempt, key.clone()));
                }
                _ => {}
            }
        }
        over.sort();
        for (deadline, _, key) in over {
            self.counts.count(Fault::PermitTimedOut);
            self.refused_at_permit(&key, deadline)?;
        }
        Ok(())
    }

    /// A wait at Permit ended without success: what the queue must have made of it.
    pub(crate) fn refused_at_permit(&mut self, key: &Key, at: u64) -> Check {
        let heard = self.pods.get(key).is_some_and(|pod| pod.heard);
        self.failed(key, PluginSet::EXTERNAL, at);
        self.hear(Some(key));
        let part = self.part(key);
        ensure(
            !heard || part != Some(QueuePart::Unschedulable),
            "I13",
            || format!("{key:?} was refused at Permit and does not know what happened meanwhile"),
        )
    }

    /// The pod lost its place and is back in the queue.
    pub(crate) fn failed(&mut self, key: &Key, rejectors: PluginSet, at: u64) {
        if let Some(pod) = self.pods.get_mut(key) {
            pod.fail(rejectors, at);
            pod.nomination.clear();
        }
        self.shadow.remove_pod(&key.0, &key.1);
        self.unreserve(key);
    }

    /// Something happened that wakes whoever waits at Permit, should it come back.
    pub(crate) fn hear(&mut self, except: Option<&Key>) {
        for (key, pod) in &mut self.pods {
            if matches!(pod.place, Place::Permit { .. }) && Some(key) != except {
                pod.heard = true;
            }
        }
    }

    /// Whether a fault happens now, if it may.
    pub(crate) fn strikes(&mut self, random: &mut Random, fault: Fault) -> bool {
        let rate = self.setup.rate;
        let strikes = random.percent(rate) && self.may(fault);
        if strikes {
            self.counts.count(fault);
        }
        strikes
    }

    /// Whether a fault may happen.
    pub(crate) fn may(&self, fault: Fault) -> bool {
        !self.calm && self.faults.has(fault) && self.setup.faults.has(fault)
    }

    /// The engine's id of a pod.
    pub(crate) fn id(&self, key: &Key) -> Option<PodId> {
        self.engine.find_pod(&key.0, &key.1)
    }

    /// The part of the queue that a pod is in.
    pub(crate) fn part(&self, key: &Key) -> Option<QueuePart> {
        self.engine.queue_part(self.id(key)?)
    }

    /// What should be known of this very pod.
    pub(crate) fn expected(&self, key: &Key, uid: &str) -> Option<&Expected> {
        self.pods.get(key).filter(|pod| pod.uid == uid)
    }

    /// Namespace and name of a pod of the engine.
    pub(crate) fn key(&self, pod: PodId) -> Key {
        let (namespace, name) = self.engine.pod_name(pod);
        (namespace.to_owned(), name.to_owned())
    }

    /// Puts a number into the trace.
    pub(crate) fn fold(&mut self, number: u64) {
        self.trace = Random::new(self.trace ^ number.rotate_left(17)).draw();
    }

    /// Puts a text into the trace.
    pub(crate) fn fold_text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.fold(u64::from(byte));
        }
    }
}

/// An empty scheduler.
pub(crate) fn new_scheduler(setup: &Setup) -> Scheduler {
    Scheduler::new(&setup.config, setup.options, setup.capacities)
        .unwrap_or_else(|error| panic!("seed {}: {error}", setup.seed))
}
