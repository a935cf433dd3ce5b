//! A whole input at once.

use super::batch::{self, Step};
use super::binding::Touched;
use super::{Fault, Intake, IntakeError, Key, Size, is_completing, key};
use crate::capacity::CapacityExceeded;
use crate::id::PodId;
use crate::object::Object;
use crate::object::config::DEFAULT_SCHEDULER_NAME;
use crate::object::decode::Decoded;
use crate::object::input::{InputOptions, Prepared, complete, prepare};
use crate::scheduler::{ApplyError, CreateError, Scheduler};
use crate::table::Count;
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Pods that the workloads of one load may make in all: twice what Kubernetes supports.
pub const MADE_PODS_MAX: u64 = 300_000;
/// How often tables are doubled before a first load counts as too large.
const DOUBLINGS_MAX: u32 = 64;

/// What a load came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Pods that wait for a node, in the input's order.
    pub pending: Vec<PodId>,
    /// Pending pods that were left out: another scheduler's, or being deleted.
    pub skipped: u64,
    /// What the user should know: one sentence each.
    pub notes: Vec<String>,
}

impl Intake {
    /// Takes in whole documents: validates and defaults their objects, makes the pods of their
    /// workloads, and puts everything into the scheduler.
    ///
    /// # Errors
    /// Everything that is wrong with the objects, or the first that the scheduler refuses, such as
    /// one that is there already; nothing is changed then.
    pub fn load(&mut self, documents: Vec<Decoded>) -> Result<Loaded, IntakeError> {
        let mut input = Flat::default();
        for document in documents {
            input.add(document);
        }
        let Flat {
            objects,
            mut faults,
            foreign,
        } = input;
        let written = names_of_namespaces(&objects);
        let completing = completing(&objects);
        let known = self.completing.iter();
        let known = known.filter(|(key, _)| !completing.contains_key(*key));
        let mut all: Vec<Object> = known.map(|(_, object)| object.clone()).collect();
        all.extend(objects);
        let Prepared {
            mut objects,
            pending,
            skipped,
            mut notes,
            problems,
        } = self.prepare(all);
        faults.extend(problems.into_iter().map(Fault::from));
        if !faults.is_empty() {
            return Err(IntakeError::Invalid(faults));
        }
        let waiting: Vec<_> = pending
            .iter()
            .map(|pod| (pod.metadata.namespace.clone(), pod.metadata.name.clone()))
            .collect();
        objects.extend(pending.into_iter().map(Object::Pod));
        let written = written.iter().map(String::as_str).collect();
        let steps = batch::steps(objects, &written, &self.implied, &self.scheduler);
        if self.is_empty && self.scheduler.forks() == 0 {
            self.build(&steps)?;
        } else {
            self.make(&steps, self.spacing)?;
        }
        self.note_made(&steps);
        self.completing.extend(completing);
        notes.extend(self.try_to_bind(&Touched::All));
        if !foreign.is_empty() {
            let kinds = foreign
                .iter()
                .map(|(kind, count)| format!("{kind} {count}"));
            let kinds: Vec<String> = kinds.collect();
            let kinds = kinds.join(", ");
            notes.push(format!("objects that scheduling does not read: {kinds}"));
        }
        let find = |(namespace, name): &(String, String)| self.scheduler.find_pod(namespace, name);
        let pending = waiting.iter().filter_map(find).collect();
        Ok(Loaded {
            pending,
            skipped,
            notes,
        })
    }

    fn prepare(&self, objects: Vec<Object>) -> Prepared {
        let profiles = self.config.profiles.iter();
        let names = profiles.filter_map(|profile| profile.scheduler_name.as_deref());
        let mut names: Vec<&str> = names.collect();
        if names.is_empty() {
            names.push(DEFAULT_SCHEDULER_NAME);
        }
        let storage_class = self.scheduler.default_class();
        let options = InputOptions {
            scheduler_names: &names,
            made_pods_max: MADE_PODS_MAX,
            storage_class: storage_class.as_ref(),
        };
        prepare(objects, &options)
    }

    /// Makes a first load, in a scheduler of its size unless a size was given. Only that size is
    /// kept to, unless it may grow: what else is too small grows.
    fn build(&mut self, steps: &[Step]) -> Result<(), IntakeError> {
        let count = |kind: &str| {
            let objects = steps.iter().map(Step::object);
            objects.filter(|object| object.kind() == kind).count()
        };
        let measured = || Size::around(count("Node"), count("Pod"));
        let size = self.size.unwrap_or_else(measured);
        let mut capacities = size.capacities().map_err(too_large)?;
        let mut doublings = 0_u32;
        loop {
            capacities.check().map_err(too_large)?;
            let refused = match Scheduler::new(&self.config, self.options, capacities) {
                Ok(mut scheduler) => {
                    // What was said to the empty one holds on; the first time starts the timers.
                    scheduler.externals.clone_from(&self.scheduler.externals);
                    if self.scheduler.now() > 0 {
                        scheduler.advance(self.scheduler.now());
                    }
                    match batch::make(&mut scheduler, steps, self.spacing) {
                        Ok(()) => {
                            self.scheduler = scheduler;
                            return Ok(());
                        }
                        Err(error) => error,
                    }
                }
                // The same configuration has been accepted before.
                Err(CreateError::Capacity(full)) => too_large(full),
                Err(CreateError::Config(errors)) => {
                    return Err(IntakeError::of_text(&format!("{errors}")));
                }
            };
            match refused {
                IntakeError::Apply {
                    error: ApplyError::Capacity(full),
                    ..
                } if doublings < DOUBLINGS_MAX
                    && (self.grows || !matches!(full.which, "nodes" | "pods")) =>
                {
                    capacities = capacities.grown(full.which);
                    doublings.count_up();
                }
                error => return Err(error),
            }
        }
    }

    /// Keeps in mind what was put in.
    pub(super) fn note_made(&mut self, steps: &[Step]) {
        for step in steps {
            self.is_empty = false;
            let object = step.object();
            let metadata = object.metadata();
            match step {
                Step::Imply(_) => {
                    self.implied.insert(metadata.name.clone());
                }
                Step::Replace(_) => {
                    self.implied.remove(&metadata.name);
                }
                Step::Add(Object::Pod(_)) => {
                    let pod = self.scheduler.find_pod(&metadata.namespace, &metadata.name);
                    if let Some(pod) = pod {
                        self.arrive(pod);
                    }
                }
                Step::Add(_) => {}
            }
        }
    }
}

fn too_large(full: CapacityExceeded) -> IntakeError {
    IntakeError::Apply {
        subject: "the load".to_owned(),
        error: ApplyError::Capacity(full),
    }
}

/// The objects of documents, and what else stands there.
#[derive(Default)]
pub(super) struct Flat {
    pub(super) objects: Vec<Object>,
    pub(super) faults: Vec<Fault>,
    /// How often each kind occurs that is not taken in.
    pub(super) foreign: BTreeMap<String, u64>,
}

impl Flat {
    pub(super) fn add(&mut self, document: Decoded) {
        match document {
            Decoded::Empty => {}
            Decoded::Object(object) => self.objects.push(*object),
            Decoded::List(list) => list.into_iter().for_each(|item| self.add(item)),
            Decoded::Foreign { kind, .. } => {
                let count = self.foreign.entry(kind).or_default();
                *count = count.saturating_add(1);
            }
            Decoded::Refused(refused) => self.faults.push(Fault::from(refused)),
        }
    }
}

fn names_of_namespaces(objects: &[Object]) -> BTreeSet<String> {
    let namespaces = objects.iter().filter_map(|object| match object {
        Object::Namespace(namespace) => Some(namespace.metadata.name.clone()),
        _ => None,
    });
    namespaces.collect()
}

/// The objects by which pods are completed.
fn completing(objects: &[Object]) -> BTreeMap<Key, Object> {
    let objects = objects
        .iter()
        .filter(|object| is_completing(object))
        .cloned();
    let completed = objects.map(|mut object| {
        complete(&mut object);
        (key(&object), object)
    });
    completed.collect()
}
