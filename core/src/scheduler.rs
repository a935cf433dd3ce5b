//! The one owner: objects go in by [`Scheduler::apply`], decisions come out of
//! [`Scheduler::schedule`] and [`Scheduler::evaluate`].

mod batching;
mod binding;
mod change;
mod controllers;
mod error;
mod extenders;
mod fork;
mod hooks;
mod lookup;
mod loop_hash;
mod node_view;
mod pending;
mod post_filter;
#[cfg(feature = "state-file")]
mod saved;
mod seen;
mod timers;
mod turn;
mod volumes;

pub use binding::BindOutcome;
pub use error::{ApplyError, CreateError};
pub use fork::FORKS_MAX;
pub use hooks::{Hooks, NoHooks, Permit, Reserve};
pub use node_view::NodeView;
pub use pending::QueuePart;
#[cfg(feature = "state-file")]
pub(crate) use saved::SavedScheduler;
pub use volumes::{VolumeAction, VolumesBound};

use crate::batch::Batch;
use crate::capacity::{Capacities, CapacityExceeded};
use crate::class::{Class, flag};
use crate::cluster::owner::ObjectKind;
use crate::cluster::topology::Topology;
use crate::cluster::{Cluster, NodeState, PodRow, PodState};
use crate::cycle::extender::{Extended, Verbs};
use crate::cycle::external::{Externals, Outside};
use crate::cycle::plan::Plan;
use crate::cycle::{self, Attempt, Found, Policy, Scratch, SplitMix, VolumeScratch};
use crate::decision::{AttemptError, Decision, DecisionRecord, Detail, ExtenderTexts, Outcome};
use crate::id::{NodeId, PodId, ProfileId};
use crate::intern::word_text;
use crate::object::Object;
use crate::object::config::KubeSchedulerConfiguration;
use crate::preemption::Preemption;
use crate::profile::DefaultConstraints;
use crate::queue::side::Side;
use crate::queue::{Durations, Queue};
use crate::volume::VolumeKind;
use alloc::vec::Vec;

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// Time after which a pod is tried without any event, where [`Options::longest_wait`] says no other.
const LONGEST_WAIT: u64 = 5 * 60 * SECOND;

/// How faithful to kube-scheduler the search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    /// Sampling, rotation and ties as kube-scheduler with `parallelism: 1`.
    #[default]
    Exact,
    /// The best of all nodes; ties go to the first one at or after the rotation index in the order of
    /// their ids, which then moves behind the chosen one.
    Best,
}

/// Which of several best nodes is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The root of upstream's heap.
    Heap,
    /// The lexicographically first name.
    FirstName,
    /// The first one met by the search.
    First,
    /// Drawn by a seeded generator.
    Random,
}

/// How many nodes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeSearch {
    /// All.
    All,
    /// As many as `percentageOfNodesToScore` says.
    Sampled,
}

/// Choices beside the configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub fidelity: Fidelity,
    /// `None`: the fidelity's own.
    pub ties: Option<Ties>,
    /// `None`: the fidelity's own.
    pub node_search: Option<NodeSearch>,
    /// Seed of [`Ties::Random`].
    pub seed: u64,
    /// Whether [`Scheduler::schedule_one`] looks for victims; `None`: yes.
    pub preemption: Option<bool>,
    /// Whether it uses scores of one pod for the next one like it, as upstream's gate
    /// `OpportunisticBatching`; `None`: in exact fidelity with the ties of [`Ties::Heap`], which it
    /// needs.
    pub batching: Option<bool>,
    /// Nanoseconds after which a pod is tried without any event, upstream's
    /// `--pod-max-in-unschedulable-pods-duration`; `None`: five minutes.
    pub longest_wait: Option<u64>,
    /// Whether the caller's [`Hooks`] ask the configuration's extenders; otherwise a configuration with
    /// some is refused.
    pub extenders: bool,
    /// The most that a record of a placed pod is asked for, [`Detail::Full`] with `None`. With
    /// [`Detail::None`] the best node is kept up to date from pod to pod where that is possible, and
    /// found without a look at the others.
    pub detail: Option<Detail>,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Modified,
    Deleted,
}

/// Nodes, pods, and everything that decides where a pod goes. A clone is a scheduler of its own, with
/// as much room and without forks.
#[derive(Clone)]
pub struct Scheduler {
    pub(crate) cluster: Cluster,
    pub(crate) plans: Vec<Plan>,
    policy: Policy,
    /// Where the next search begins: in exact fidelity a place in snapshot order, in best a row.
    start: u32,
    random: SplitMix,
    pub(crate) scratch: Scratch,
    queue: Queue,
    timers: timers::Timers,
    /// Both ends of the node's change that is being told.
    sides: [Side; 2],
    pub(crate) preemption: Preemption,
    preempts: bool,
    batch: Batch,
    pub(crate) externals: Externals,
    /// What extenders said in the last attempt.
    pub(crate) extended: Extended,
    saved: fork::Saved,
    /// Hash of the profiles.
    #[cfg(feature = "state-file")]
    profiles: u64,
}

impl Scheduler {
    /// Takes all memory that it will ever need, [`Capacities::bytes`].
    ///
    /// # Errors
    /// A configuration that kube-scheduler would refuse, or capacities too small for its profiles,
    /// or larger than [`Capacities::check`] takes.
    pub fn new(
        config: &KubeSchedulerConfiguration,
        options: Options,
        capacities: Capacities,
    ) -> Result<Self, CreateError> {
        Self::make(config, options, capacities, |_| Ok(()))
    }

    /// A new scheduler whose empty cluster is filled with names before the profiles'.
    fn make<E: From<CreateError> + From<CapacityExceeded>>(
        config: &KubeSchedulerConfiguration,
        options: Options,
        capacities: Capacities,
        fill: impl FnOnce(&mut Cluster) -> Result<(), E>,
    ) -> Result<Self, E> {
        let profiles = if options.extenders {
            config.profiles_beside_extenders()
        } else {
            config.profiles()
        };
        let profiles = profiles.map_err(CreateError::Config)?;
        capacities.check()?;
        let mut cluster = Cluster::new(capacities);
        fill(&mut cluster)?;
        cluster.intern_known()?;
        let mut plans = Vec::with_capacity(profiles.len());
        for profile in &profiles {
            let system = crate::plugins::pod_topology_spread::system_defaults();
            let (constraints, is_system) = match &profile.args.default_constraints {
                DefaultConstraints::System => (system.as_slice(), true),
                DefaultConstraints::List(list) => (list.as_slice(), false),
            };
            let added = profile.args.added_affinity.as_ref();
            cluster.add_profile(&profile.scheduler_name, added, constraints, is_system)?;
            plans.push(Plan::new(profile, &mut cluster)?);
        }
        let best = options.fidelity == Fidelity::Best;
        let mut policy = Policy {
            ties: options
                .ties
                .unwrap_or(if best { Ties::First } else { Ties::Heap }),
            search: options.node_search.unwrap_or(if best {
                NodeSearch::All
            } else {
                NodeSearch::Sampled
            }),
            best,
            keeps: false,
            scores_many: false,
        };
        policy.keeps = best
            && policy.ties == Ties::First
            && policy.search == NodeSearch::All
            && options.detail == Some(Detail::None);
        cluster.live.room.keeps_peaks = policy.keeps;
        let rows = cluster.rows();
        let scratch = || {
            let domains = Topology::domains_bound(capacities.domains);
            let volumes = VolumeScratch::new(&capacities, rows);
            Scratch::new(rows, domains, capacities.topology_keys as usize, volumes)
        };
        let pods = capacities.pods;
        let seconds = |given: Option<i64>, default: u64| {
            let given = given.and_then(|given| u64::try_from(given).ok());
            given.unwrap_or(default).saturating_mul(SECOND)
        };
        let durations = Durations {
            initial: seconds(config.pod_initial_backoff_seconds, 1),
            longest: seconds(config.pod_max_backoff_seconds, 10),
            longest_wait: options.longest_wait.unwrap_or(LONGEST_WAIT),
        };
        let (events, words) = (capacities.in_flight_events, capacities.event_words);
        let batching = options.batching.unwrap_or(!best) && policy.ties == Ties::Heap;
        let random = SplitMix(options.seed);
        Ok(Self {
            cluster,
            plans,
            policy,
            start: 0,
            random,
            scratch: scratch(),
            queue: Queue::new(pods, events, words, durations),
            timers: timers::Timers::default(),
            sides: [(); 2].map(|()| Side::new(capacities.side_words())),
            preemption: Preemption::new(rows, &capacities, scratch()),
            preempts: options.preemption.unwrap_or(true),
            batch: Batch::new(rows, batching),
            externals: Externals {
                verbs: Verbs::of(&config.extenders),
                ..Externals::default()
            },
            extended: Extended::new(rows),
            saved: fork::Saved::NONE,
            #[cfg(feature = "state-file")]
            profiles: saved::hash_of(&profiles),
        })
    }

    /// Takes in what happened to an object. Kinds that no plugin reads change nothing.
    ///
    /// A pod with `spec.nodeName` takes room on that node; one that has finished is taken as
    /// deleted. `Added` of a name that is there, and the other two of one that is not, are errors.
    ///
    /// # Errors
    /// See [`ApplyError`]; nothing is changed then.
    pub fn apply(&mut self, change: Change, object: &Object) -> Result<(), ApplyError> {
        match object {
            Object::Node(node) => self.apply_node(change, node),
            Object::Pod(pod) => self.apply_pod(change, pod),
            other => self.apply_other(change, other),
        }
    }

    fn apply_other(&mut self, change: Change, object: &Object) -> Result<(), ApplyError> {
        if let Some(kind) = VolumeKind::of(object) {
            return self.apply_volume(change, kind, object);
        }
        let Some(kind) = ObjectKind::of(object) else {
            return Ok(());
        };
        let meta = object.metadata();
        let (namespace, name) = (meta.namespace.as_str(), meta.name.as_str());
        if change == Change::Deleted {
            return self.cluster.remove_object(kind, namespace, name);
        }
        match (change, self.cluster.has_object(kind, namespace, name)) {
            (Change::Added, true) => return Err(ApplyError::AlreadyExists),
            (Change::Modified, false) => return Err(ApplyError::NotFound),
            _ => {}
        }
        match object {
            Object::Namespace(_) => self.cluster.set_namespace(name, &meta.labels),
            Object::PodDisruptionBudget(budget) => self.cluster.set_budget(budget),
            Object::Service(service) => {
                self.cluster
                    .set_pairs(kind, namespace, name, service.spec.selector.as_ref())
            }
            Object::ReplicationController(own) => {
                self.cluster
                    .set_pairs(kind, namespace, name, own.spec.selector.as_ref())
            }
            Object::ReplicaSet(own) | Object::StatefulSet(own) => {
                self.cluster
                    .set_selector(kind, namespace, name, own.spec.selector.as_ref())
            }
            _ => Ok(()),
        }
    }

    /// Changes how many nodes are looked at from now on; returns how many were until now.
    pub fn set_node_search(&mut self, search: NodeSearch) -> NodeSearch {
        let all = search == NodeSearch::All;
        self.policy.keeps = all && self.cluster.live.room.keeps_peaks;
        core::mem::replace(&mut self.policy.search, search)
    }

    /// The pod of this name.
    pub fn find_pod(&self, namespace: &str, name: &str) -> Option<PodId> {
        self.cluster.find_pod(namespace, name)
    }

    /// The node of this name.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.cluster.find_node(name)
    }

    /// One attempt at a pod that the caller picks: decides, and assumes the pod on the chosen node.
    /// Neither preemption nor batching takes part; a pod that is not placed stays where it is in the
    /// queue. The loop over the queue is [`schedule_one`](Self::schedule_one).
    ///
    /// A pod that has a node or names one keeps it, and is the error [`AttemptError::NotPending`];
    /// an id that no pod has is [`AttemptError::NoPod`].
    pub fn schedule(&mut self, pod: PodId) -> Decision {
        self.schedule_with(pod, &mut NoHooks)
    }

    /// The same with rules from outside at Filter, Score and Reserve.
    pub fn schedule_with(&mut self, pod: PodId, hooks: &mut impl Hooks) -> Decision {
        let Some(row) = self.cluster.pod(pod) else {
            return Decision::failed(pod, AttemptError::NoPod);
        };
        if row.state != PodState::Pending {
            return Decision::failed(pod, AttemptError::NotPending);
        }
        let class = *self.cluster.class(row.class).class;
        if self.held(&class).is_none() {
            self.cluster.refresh_snapshot();
        }
        let mut decision = self.decide(pod, hooks);
        if let Outcome::Scheduled(node) = decision.outcome {
            match self.assume_chosen(pod, node) {
                Ok(_) => match hooks.reserve(self, pod, node) {
                    Reserve::Done => self.leave_queue(pod),
                    refused => {
                        hooks.unreserve(self, pod, node);
                        self.cluster.forget(pod);
                        decision.outcome = if refused == Reserve::Rejected {
                            Outcome::Refused(node)
                        } else {
                            Outcome::Error(AttemptError::External)
                        };
                    }
                },
                Err(error) => decision.outcome = Outcome::Error(error),
            }
        }
        decision
    }

    /// The same question with nothing changed; a bound pod is judged as if it were not bound. An id
    /// that no pod has is [`AttemptError::NoPod`].
    pub fn evaluate(&mut self, pod: PodId) -> Decision {
        self.evaluate_with(pod, &mut NoHooks)
    }

    /// The same with external plugins.
    pub fn evaluate_with(&mut self, pod: PodId, hooks: &mut impl Hooks) -> Decision {
        self.ask(pod, hooks, |_, _| ()).0
    }

    /// [`Self::evaluate`] with its record, of which a bound pod's is right only here.
    pub fn explain(&mut self, pod: PodId, detail: Detail) -> (Decision, DecisionRecord) {
        self.explain_with(pod, detail, &mut NoHooks)
    }

    /// The same with external plugins.
    pub fn explain_with(
        &mut self,
        pod: PodId,
        detail: Detail,
        hooks: &mut impl Hooks,
    ) -> (Decision, DecisionRecord) {
        // The search is made whatever the options say of details.
        let keeps = core::mem::replace(&mut self.policy.keeps, false);
        let explained = self.ask(pod, hooks, |scheduler, decision| {
            scheduler.record(decision, detail)
        });
        self.policy.keeps = keeps;
        explained
    }

    /// Decides on a pod as if it had no node, looks at the result, and leaves no trace.
    fn ask<T>(
        &mut self,
        pod: PodId,
        hooks: &mut impl Hooks,
        look: impl FnOnce(&Self, &Decision) -> T,
    ) -> (Decision, T) {
        let (start, random) = (self.start, self.random);
        let bound = self.cluster.lift(pod);
        self.cluster.preview_snapshot();
        let decision = self.decide(pod, hooks);
        let seen = look(self, &decision);
        self.cluster.order.end_preview();
        if let Some(bound) = bound {
            self.cluster.put_back(pod, bound);
        }
        self.start = start;
        self.random = random;
        (decision, seen)
    }

    /// Takes back an assumed or bound pod's room; it is pending again, and in the queue.
    pub fn forget(&mut self, pod: PodId) {
        self.cluster.forget(pod);
        if crate::queue::hint::is_binding(self.queue.item(pod).place) {
            self.finish(pod, crate::queue::Place::Nowhere);
        }
        self.queue_again(pod);
    }

    fn decide(&mut self, pod: PodId, hooks: &mut impl Hooks) -> Decision {
        let Some(row) = self.cluster.pod(pod).copied() else {
            return Decision::failed(pod, AttemptError::NoPod);
        };
        let class = *self.cluster.class(row.class).class;
        let mut decision = Decision::new(pod, class.profile);
        self.preemption.clear();
        self.begin_attempt();
        decision.outcome = match self.attempt(row, hooks) {
            Ok(Found {
                row,
                feasible,
                evaluated,
            }) => {
                decision.feasible = feasible;
                decision.evaluated = evaluated;
                row.map_or(Outcome::Unschedulable, |row| {
                    Outcome::Scheduled(NodeId(row))
                })
            }
            Err(outcome) => outcome,
        };
        decision
    }

    /// Why a pod is not even tried; its turn then leaves the snapshot as it is.
    fn held(&self, class: &Class) -> Option<Outcome> {
        let plan = class.profile.map(|profile| self.plans.get(profile.index()));
        let Some(plan) = plan.flatten() else {
            return Some(Outcome::Error(AttemptError::NoProfile));
        };
        if crate::plugins::scheduling_gates::gates(class, plan) {
            return Some(Outcome::Gated);
        }
        if class.has(flag::TERMINATING) {
            return Some(Outcome::Error(AttemptError::Deleting));
        }
        None
    }

    fn attempt(&mut self, row: PodRow, hooks: &mut impl Hooks) -> Result<Found, Outcome> {
        let class = *self.cluster.class(row.class).class;
        if let Some(outcome) = self.held(&class) {
            return Err(outcome);
        }
        let Some(profile) = class.profile.map(ProfileId::index) else {
            return Err(Outcome::Error(AttemptError::NoProfile));
        };
        if let Some(field) = class.unsupported() {
            return Err(Outcome::Unsupported(field));
        }
        let slot = match self.cluster.make_live(row.class) {
            Ok(slot) => slot,
            Err(full) => return Err(Outcome::Error(AttemptError::Capacity(full))),
        };
        self.catch_up(&row, profile, slot);
        let Some(plan) = self.plans.get(profile) else {
            return Err(Outcome::Error(AttemptError::NoProfile));
        };
        let attempt = Attempt::new(&self.cluster, plan, &row, slot);
        if self.keeps_best()
            && let Some(found) = cycle::best::find(attempt, self.start, &mut self.scratch)
        {
            self.rotate(found);
            return Ok(found);
        }
        let rows = self.cluster.nodes.len();
        let mut outside = Outside::new(hooks, &self.externals, rows, row.class);
        let found = cycle::decide(
            attempt,
            self.policy,
            &mut self.start,
            &mut self.random,
            &mut self.scratch,
            &mut outside,
        )
        .map_err(Outcome::Error)?;
        self.rotate(found);
        Ok(found)
    }

    /// Whether best totals are kept up to date and nobody else has a say.
    fn keeps_best(&self) -> bool {
        self.policy.keeps && self.externals.is_empty()
    }

    /// In best fidelity the next search begins behind the chosen node.
    fn rotate(&mut self, found: Found) {
        if self.policy.best
            && let Some(row) = found.row
        {
            self.start = row.saturating_add(1);
        }
    }

    /// Details of the last attempt or evaluation, which must be the one that gave `decision`.
    pub fn record(&self, decision: &Decision, detail: Detail) -> DecisionRecord {
        self.record_with(decision, detail, ExtenderTexts::default())
    }

    /// The same with the texts of what [`Hooks`] told of extenders.
    pub fn record_with(
        &self,
        decision: &Decision,
        detail: Detail,
        texts: ExtenderTexts<'_>,
    ) -> DecisionRecord {
        crate::decision::record(self, decision, detail, texts)
    }

    /// Nodes, in the order of their rows.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let rows = self.cluster.nodes.iter().enumerate();
        rows.filter(|(_, node)| node.state == NodeState::Present)
            .map(|(row, _)| NodeId::from_index(row))
    }

    /// Pods, in the order of their rows.
    pub fn pods(&self) -> impl Iterator<Item = PodId> + '_ {
        let rows = self.cluster.pods.iter().enumerate();
        rows.filter(|(_, pod)| pod.state != PodState::Vacant)
            .map(|(row, _)| PodId::from_index(row))
    }

    /// Namespace and name of a pod; empty for an id that no pod has.
    pub fn pod_name(&self, pod: PodId) -> (&str, &str) {
        let Some(pod) = self.cluster.pod(pod) else {
            return ("", "");
        };
        let text = |word| word_text(word).map_or("", |text| self.cluster.texts.text(text));
        (text(pod.namespace), text(pod.name))
    }

    /// Priority of a pod; 0 for an id that no pod has.
    pub fn priority(&self, pod: PodId) -> i32 {
        self.cluster.pod(pod).map_or(0, |pod| pod.priority)
    }

    /// Node that a pod is bound to or assumed on.
    pub fn node_of(&self, pod: PodId) -> Option<NodeId> {
        let pod = self.cluster.pods.get(pod.index())?;
        matches!(pod.state, PodState::Assumed | PodState::Bound).then_some(NodeId(pod.row))
    }

    /// Hash of all objects, placements and sums, the same for the same content whatever the
    /// history that led to it.
    pub fn state_hash(&self) -> u64 {
        self.cluster.state_hash()
    }

    /// What the scheduler was made with.
    pub fn capacities(&self) -> &Capacities {
        &self.cluster.capacities
    }
}
