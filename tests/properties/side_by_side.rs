//! The engine and its naive twin, fed with the same history.

use berth_core::object::{Object, Pod};
use berth_core::profile::Profile;
use berth_core::{
    Capacities, Change, Decision, DecisionRecord, Detail, Fidelity, NodeSearch, Options, Outcome,
    PodResult, Scheduler, Ties,
};
use berth_naive::Cluster;
use berth_test_support::generate::Case;
use berth_test_support::generate::profile::configuration;
use berth_test_support::generate::world::{Key, Step, World};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Write};

/// How nodes are searched and ties are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As kube-scheduler with `parallelism: 1`.
    Exact,
    AllFirstName,
    Best,
    AllRandom,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Exact, Self::AllFirstName, Self::Best, Self::AllRandom];

    fn options(self) -> Options {
        let all = |ties| Options {
            ties: Some(ties),
            node_search: Some(NodeSearch::All),
            seed: 7,
            ..Options::default()
        };
        match self {
            Self::Exact => Options::default(),
            Self::AllFirstName => all(Ties::FirstName),
            Self::Best => Options {
                fidelity: Fidelity::Best,
                ..Options::default()
            },
            Self::AllRandom => all(Ties::Random),
        }
    }

    /// The twin has neither a best fidelity nor random ties: it is asked for the ties alone.
    fn naive_options(self) -> berth_naive::Options {
        let (search, ties) = match self {
            Self::Exact => (berth_naive::Search::Sampled, berth_naive::Ties::Heap),
            _ => (berth_naive::Search::All, berth_naive::Ties::FirstName),
        };
        berth_naive::Options { search, ties }
    }
}

pub struct SideBySide {
    mode: Mode,
    pub world: World,
    pub engine: Scheduler,
    /// One that keeps the best nodes up to date instead of telling details, fed with the same; it
    /// chooses as the one that searches.
    kept: Option<Scheduler>,
    naive: Cluster,
    profiles: Vec<Profile>,
    /// The row at which the best fidelity's next search begins.
    rotation: usize,
    /// Decisions that were compared, and those of them that found a node.
    pub compared: (usize, usize),
}

impl SideBySide {
    pub fn new(case: &Case, mode: Mode) -> Self {
        let config = configuration(&case.profiles);
        let profiles = config.profiles().expect("a valid configuration");
        let scheduler = |options| {
            Scheduler::new(&config, options, Capacities::for_size(320, 256))
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let engine = scheduler(mode.options());
        let kept = (mode == Mode::Best).then(|| {
            scheduler(Options {
                detail: Some(Detail::None),
                ..mode.options()
            })
        });
        Self {
            mode,
            world: World::new(case),
            engine,
            kept,
            naive: Cluster::default(),
            profiles,
            rotation: 0,
            compared: (0, 0),
        }
    }

    /// Plays a whole case; what differs first, if anything.
    pub fn play(case: &Case, mode: Mode) -> Result<Self, String> {
        let mut both = Self::new(case, mode);
        for (at, event) in case.events.iter().enumerate() {
            for step in both.world.steps(event) {
                both.step(&step).map_err(|difference| {
                    format!("{mode:?}, event {at} {event:?}: {difference}")
                })?;
            }
        }
        Ok(both)
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Apply(change, object) => self.apply(*change, object),
            Step::Forget(key) => {
                let pod = self.find(key)?;
                self.engine.forget(pod);
                if let Some(kept) = &mut self.kept {
                    kept.forget(pod);
                }
                self.naive.remove_pod(&key.0, &key.1);
                Ok(())
            }
            Step::Schedule(key) => self.schedule(key),
            Step::Ask(key) => self.ask(key),
        }
    }

    fn apply(&mut self, change: Change, object: &Object) -> Result<(), String> {
        self.engine
            .apply(change, object)
            .map_err(|error| format!("refused: {error}"))?;
        if let Some(kept) = &mut self.kept {
            let applied = kept.apply(change, object);
            applied.map_err(|error| format!("refused by the one that keeps: {error}"))?;
        }
        match object {
            // The twin knows a pod by its node alone.
            Object::Pod(pod) if change != Change::Deleted && !pod.status.is_finished() => {
                let meta = &pod.metadata;
                let placed = self
                    .world
                    .pod(&(meta.namespace.clone(), meta.name.clone()))
                    .placed();
                self.naive.apply(change, &Object::Pod(Box::new(placed)));
            }
            other => self.naive.apply(change, other),
        }
        Ok(())
    }

    fn schedule(&mut self, key: &Key) -> Result<(), String> {
        let pod = self.world.pod(key).pod.clone();
        let id = self.find(key)?;
        let decision = self.engine.schedule(id);
        if let Some(kept) = &mut self.kept {
            equal(&decision, &kept.schedule(id)).map_err(|error| format!("kept: {error}"))?;
        }
        let record = self.engine.record(&decision, Detail::Full);
        let mut naive = std::mem::take(&mut self.naive);
        let next = self.compare(&mut naive, &pod, &decision, &record, true)?;
        self.naive = naive;
        let Outcome::Scheduled(node) = decision.outcome else {
            return Ok(());
        };
        if let Some(next) = next {
            self.rotation = next;
        }
        equal(&Some(node), &self.engine.node_of(id))?;
        let name = self.engine.node(node).name.to_owned();
        self.naive.assume(&pod, &name);
        self.world.assume(key, &name);
        let actions = self.engine.volume_actions(id);
        for step in self.world.bind_volumes(actions) {
            self.step(&step)?;
        }
        Ok(())
    }

    /// Asks twice, which changes nothing, and as if the pod were on no node.
    fn ask(&mut self, key: &Key) -> Result<(), String> {
        let id = self.find(key)?;
        let before = self.engine.state_hash();
        let asked = self.engine.explain(id, Detail::Full);
        let again = self.engine.explain(id, Detail::Full);
        if asked != again {
            return Err(format!("first {asked:?}\nand then {again:?}"));
        }
        if self.engine.state_hash() != before {
            return Err("asking changed the state".into());
        }
        let mut pod = self.world.pod(key).pod.clone();
        pod.spec.node_name.clear();
        let mut naive = self.naive.without(&key.0, &key.1);
        self.compare(&mut naive, &pod, &asked.0, &asked.1, false)?;
        Ok(())
    }

    /// Compares a record of the engine with the twin's. Returns where the next search begins if the
    /// best fidelity chose the node. What is only asked reserves no
    /// volumes, and tells those that the pod has.
    fn compare(
        &mut self,
        naive: &mut Cluster,
        pod: &Pod,
        decision: &Decision,
        record: &DecisionRecord,
        reserves: bool,
    ) -> Result<Option<usize>, String> {
        let name = &pod.spec.scheduler_name;
        let profile = self
            .profiles
            .iter()
            .find(|profile| profile.scheduler_name == *name);
        let gates = berth_core::plugins::Plugin::SchedulingGates;
        let held = profile.is_some_and(|profile| {
            let point = berth_core::plugins::Point::PreEnqueue;
            !pod.spec.scheduling_gates.is_empty() && profile.plugins(point).contains(&gates)
        });
        let (Some(profile), false, None) = (profile, held, &pod.metadata.deletion_timestamp) else {
            let expected = if held {
                PodResult::Gated
            } else {
                PodResult::Error
            };
            return equal(&expected, &record.result).map(|()| None);
        };
        let mut theirs = naive.decide(pod, profile, self.mode.naive_options());
        let mut ours = record.clone();
        if !reserves {
            theirs.volumes.clear();
            ours.volumes.clear();
        }
        // The core's errors are values; their texts are its own.
        if ours.result == PodResult::Error && theirs.result == PodResult::Error {
            return Ok(None);
        }
        self.compared.0 += 1;
        self.compared.1 += usize::from(theirs.node.is_some());
        let mut next = None;
        if let (Some(node), Some(first)) = (&ours.node, &theirs.node) {
            let ties = theirs.ties.clone().unwrap_or_else(|| vec![first.clone()]);
            match self.mode {
                Mode::Best => {
                    let (mut before, mut after) = (None, None);
                    for id in self.engine.nodes() {
                        let (row, name) = (id.index(), self.engine.node(id).name);
                        let first = if row < self.rotation {
                            &mut before
                        } else {
                            &mut after
                        };
                        if first.is_none() && ties.iter().any(|tie| tie == name) {
                            *first = Some((row, name.to_owned()));
                        }
                    }
                    let (row, first) = after.or(before).ok_or("no such tie")?;
                    equal(&first, node)?;
                    next = Some(row + 1);
                    theirs.node.clone_from(&ours.node);
                }
                Mode::AllRandom if ties.contains(node) => theirs.node.clone_from(&ours.node),
                _ => {}
            }
        }
        same_records(&theirs, &ours)?;
        let counts = (theirs.feasible, theirs.evaluated);
        equal(
            &counts,
            &(Some(decision.feasible), Some(decision.evaluated)),
        )?;
        Ok(next)
    }

    fn find(&self, key: &Key) -> Result<berth_core::id::PodId, String> {
        let found = self.engine.find_pod(&key.0, &key.1);
        found.ok_or_else(|| format!("the engine lost {key:?}"))
    }
}

fn equal<T: PartialEq + Debug>(naive: &T, engine: &T) -> Result<(), String> {
    if naive == engine {
        return Ok(());
    }
    Err(format!("naive twin: {naive:?}, engine: {engine:?}"))
}

/// Of lists by node only what differs is told.
pub fn same_records(naive: &DecisionRecord, engine: &DecisionRecord) -> Result<(), String> {
    if naive == engine {
        return Ok(());
    }
    let mut lines = String::new();
    let mut tell = |what: &str, naive: String, engine: String| {
        if naive != engine {
            write!(lines, "\n  {what}: naive twin {naive}, engine {engine}")
                .expect("write to text");
        }
    };
    let rest = |record: &DecisionRecord| {
        let record = record.clone();
        format!(
            "{:?}",
            DecisionRecord {
                rejected: None,
                scores: None,
                ..record
            }
        )
    };
    tell("record", rest(naive), rest(engine));
    for (node, naive, engine) in pairs(&refusals(naive), &refusals(engine)) {
        tell(&node, naive, engine);
    }
    for (node, naive, engine) in pairs(&scores(naive), &scores(engine)) {
        tell(&node, naive, engine);
    }
    Err(lines)
}

type ByNode = BTreeMap<String, String>;

fn refusals(record: &DecisionRecord) -> ByNode {
    let all = record.rejected.iter().flatten();
    all.map(|(node, reasons)| (node.clone(), format!("{reasons:?}")))
        .collect()
}

fn scores(record: &DecisionRecord) -> ByNode {
    let all = record.scores.iter().flatten();
    all.map(|score| {
        (
            score.node.clone(),
            format!("{} {:?}", score.total, score.plugins),
        )
    })
    .collect()
}

fn pairs(naive: &ByNode, engine: &ByNode) -> Vec<(String, String, String)> {
    let nodes: BTreeSet<&String> = naive.keys().chain(engine.keys()).collect();
    let of = |all: &ByNode, node: &String| all.get(node).cloned().unwrap_or_else(|| "none".into());
    nodes
        .into_iter()
        .map(|node| (node.clone(), of(naive, node), of(engine, node)))
        .collect()
}
