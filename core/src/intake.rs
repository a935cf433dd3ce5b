//! Objects as files and API clients have them, into a scheduler.
//!
//! Stage before: [`decode`](crate::object::decode), by a face's parser. Stage after:
//! [`Scheduler::schedule`] for the pods of [`Intake::queue`]. What an API server and its
//! controllers would do in between is done here; a scheduler that nothing was put into yet is made
//! anew in the size of its first load.

mod batch;
mod binding;
mod change;
mod error;
mod fork;
mod growth;
mod load;
#[cfg(feature = "state-file")]
mod saved;
mod size;

pub use change::{Applied, ObjectId};
pub use error::{Fault, IntakeError};
pub use load::{Loaded, MADE_PODS_MAX};
#[cfg(feature = "state-file")]
pub(crate) use saved::SavedIntake;
pub use size::{NODES_MAX, PODS_MAX, Size};

use crate::capacity::Capacities;
use crate::decision::{Decision, DecisionRecord, Detail};
use crate::id::ClassId;
use crate::id::PodId;
use crate::object::config::KubeSchedulerConfiguration;
use crate::object::{Object, Pod};
use crate::scheduler::{ApplyError, CreateError, Hooks, NoHooks, NodeSearch, Options, Scheduler};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// Kind, namespace and name.
type Key = (&'static str, String, String);

fn key(object: &Object) -> Key {
    let metadata = object.metadata();
    let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
    (object.kind(), namespace, name)
}

/// A scheduler, and what it takes to feed it with objects that no API server has completed. A clone is
/// one of its own, without the scheduler's forks.
#[derive(Clone)]
pub struct Intake {
    config: KubeSchedulerConfiguration,
    options: Options,
    /// `None`: measured by the first load.
    size: Option<Size>,
    /// Whether the tables keep their size.
    #[cfg_attr(
        not(feature = "state-file"),
        expect(dead_code, reason = "asked on loading")
    )]
    is_fixed: bool,
    scheduler: Scheduler,
    /// Whether the scheduler was given nothing yet.
    is_empty: bool,
    /// Priority classes, runtime classes and limit ranges, by which pods are completed.
    completing: BTreeMap<Key, Object>,
    /// Namespaces that are there because something is in them.
    implied: BTreeSet<String>,
    /// By pod, when it came.
    arrivals: BTreeMap<PodId, u64>,
    arrivals_count: u64,
    saved: fork::Saved,
    /// Nanoseconds between two pods of a load.
    spacing: u64,
    /// Whether a full table is built anew, which takes the feature `state-file`.
    grows: bool,
    /// Whether claims are bound after each change that concerns them.
    simulates: bool,
    waiting: binding::Waiting,
}

impl Intake {
    /// An empty cluster. Without a `size` it has that of [`Capacities::default`], until a first
    /// [`load`](Self::load) gives it the load's, a quarter more, and some.
    ///
    /// # Errors
    /// As [`Scheduler::new`]; a size beyond [`NODES_MAX`] or [`PODS_MAX`].
    pub fn new(
        config: KubeSchedulerConfiguration,
        options: Options,
        size: Option<Size>,
    ) -> Result<Self, CreateError> {
        let capacities = size.map_or(Ok(Capacities::default()), Size::capacities)?;
        let intake = Self::with_capacities(config, options, capacities)?;
        Ok(Self {
            size,
            is_fixed: false,
            is_empty: true,
            ..intake
        })
    }

    /// An empty cluster of this size, which stays its size.
    ///
    /// # Errors
    /// As [`Scheduler::new`].
    pub fn with_capacities(
        config: KubeSchedulerConfiguration,
        options: Options,
        capacities: Capacities,
    ) -> Result<Self, CreateError> {
        let scheduler = Scheduler::new(&config, options, capacities)?;
        Ok(Self::around(config, options, scheduler))
    }

    /// Feeds a scheduler that was made with these.
    const fn around(
        config: KubeSchedulerConfiguration,
        options: Options,
        scheduler: Scheduler,
    ) -> Self {
        Self {
            config,
            options,
            size: None,
            is_fixed: true,
            scheduler,
            is_empty: false,
            completing: BTreeMap::new(),
            implied: BTreeSet::new(),
            arrivals: BTreeMap::new(),
            arrivals_count: 0,
            saved: fork::Saved::NONE,
            spacing: 0,
            grows: false,
            simulates: false,
            waiting: binding::Waiting::new(),
        }
    }

    /// The scheduler that is fed.
    pub const fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The same for attempts; objects go in by [`load`](Self::load) and [`apply`](Self::apply).
    pub const fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    /// Pods, in the order in which they came.
    pub fn arrived(&self) -> Vec<PodId> {
        let mut pods: Vec<PodId> = self.scheduler.pods().collect();
        pods.sort_by_key(|pod| self.arrivals.get(pod).copied());
        pods
    }

    /// Pods that wait for a node and have a profile, by priority, then in the order in which they
    /// came.
    pub fn queue(&self) -> Vec<PodId> {
        let mut queue = self.arrived();
        queue.retain(|pod| self.scheduler.waits(*pod));
        queue.sort_by_key(|pod| Reverse(self.scheduler.priority(*pod)));
        queue
    }

    /// Priority classes, runtime classes and limit ranges, by which pods are completed.
    pub fn completing(&self) -> impl Iterator<Item = &Object> {
        self.completing.values()
    }

    /// Judges a pod on every node, whatever the node search is otherwise; see
    /// [`Scheduler::evaluate`].
    pub fn evaluate(&mut self, pod: PodId) -> Decision {
        self.evaluate_with(pod, &mut NoHooks)
    }

    /// The same with external plugins.
    pub fn evaluate_with(&mut self, pod: PodId, hooks: &mut impl Hooks) -> Decision {
        let search = self.scheduler.set_node_search(NodeSearch::All);
        let decision = self.scheduler.evaluate_with(pod, hooks);
        self.scheduler.set_node_search(search);
        decision
    }

    /// [`Self::evaluate`] with its record; see [`Scheduler::explain`].
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
        let search = self.scheduler.set_node_search(NodeSearch::All);
        let explained = self.scheduler.explain_with(pod, detail, hooks);
        self.scheduler.set_node_search(search);
        explained
    }

    /// [`Scheduler::create_class`]; a first load does not make the scheduler anew after that.
    ///
    /// # Errors
    /// As [`Scheduler::create_class`].
    pub fn create_class(&mut self, pod: &Pod) -> Result<ClassId, ApplyError> {
        let class = self.scheduler.create_class(pod)?;
        self.is_empty = false;
        Ok(class)
    }

    fn arrive(&mut self, pod: PodId) {
        self.arrivals.insert(pod, self.arrivals_count);
        self.arrivals_count = self.arrivals_count.saturating_add(1);
    }
}

/// Whether pods are completed by objects of this kind, which the scheduler does not see.
const fn is_completing(object: &Object) -> bool {
    matches!(
        object,
        Object::PriorityClass(_) | Object::RuntimeClass(_) | Object::LimitRange(_)
    )
}

#[cfg(test)]
mod tests;
