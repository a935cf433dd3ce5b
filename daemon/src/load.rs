//! Input and configuration to a scheduler with its pods.

use crate::args::InputArgs;
use crate::failure::{Failure, tell, tell_problems};
use crate::input::{Input, Place, Problem, Problems};
use crate::state::{self, State};
use crate::{config, notes, progress};
use berth_core::id::PodId;
use berth_core::intake::Intake;
use berth_core::object::config::{DEFAULT_SCHEDULER_NAME, KubeSchedulerConfiguration};
use berth_core::object::input::{InputOptions, Prepared, prepare};
use berth_core::object::{Object, Pod};
use berth_core::{Capacities, Options, Scheduler};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Pods that workloads may make in all: twice what Kubernetes supports in a cluster.
const MADE_PODS_MAX: u64 = 300_000;

/// A cluster that is ready to be built.
pub struct Loaded {
    pub config: KubeSchedulerConfiguration,
    pub objects: Vec<Object>,
    /// Pods that wait for one of the configuration's profiles, in the input's order.
    pub pending: Vec<PendingPod>,
    /// Pending pods that are left out: another scheduler's, or being deleted.
    pub skipped: u64,
    /// Whether bad objects were left out.
    pub has_bad: bool,
    /// What the run starts from.
    pub state: Option<State>,
}

/// A pod that is to be placed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PendingPod {
    pub namespace: String,
    pub name: String,
}

impl Loaded {
    /// Reads, checks and completes the input; tells notes, and problems that are skipped.
    ///
    /// Fails with everything that is wrong with the input, unless bad objects may be skipped and
    /// something is left.
    pub fn read(files: &[PathBuf], args: &InputArgs) -> Result<Self, Failure> {
        let config = config::load(args.config.as_deref(), false)?;
        let (state, files) = State::among(files, &config)?;
        let mut input = match &state {
            Some(_) if files.is_empty() => Input::default(),
            _ => progress::during("reading", &files, || Input::read(&files)),
        };
        notes::other_kinds(&input.other_kinds);
        let prepared = progress::during("checking", &files, || {
            prepare_input(&mut input, &config, state.as_ref())
        });
        let has_bad = !input.problems.is_empty();
        if has_bad {
            let is_empty = prepared.objects.is_empty() && prepared.pending.is_empty();
            if !args.skip_invalid || is_empty {
                return Err(Failure::Input(input.problems));
            }
            tell_problems("left out", &input.problems);
        }
        for note in &prepared.notes {
            tell("note", note);
        }
        let new = prepared.pending.iter().map(|pod| PendingPod::new(pod));
        let mut pending = state.as_ref().map_or_else(Vec::new, PendingPod::waiting);
        let known: BTreeSet<_> = pending.iter().cloned().collect();
        pending.extend(new.filter(|pod| !known.contains(pod)));
        let mut objects = prepared.objects;
        objects.extend(prepared.pending.into_iter().map(Object::Pod));
        Ok(Self {
            config,
            objects,
            pending,
            skipped: prepared.skipped,
            has_bad,
            state,
        })
    }

    /// An intake that knows all objects, the pending pods included.
    pub fn build(&self, options: Options) -> Result<Intake, Failure> {
        let state = self.state.as_ref();
        let mut intake = state::intake(state, &self.config, options, self.capacities())?;
        for object in &self.objects {
            intake.put(intake.change_of(object), object.clone())?;
        }
        intake.bind_claims()?;
        Ok(intake)
    }

    /// Room for the input.
    pub fn capacities(&self) -> Capacities {
        let objects = Capacities::for_objects(self.objects.iter(), std::iter::empty());
        let state = self.state.as_ref();
        state.map_or(objects, |state| {
            objects.plus(*state.intake.scheduler().capacities())
        })
    }

    /// What to say of a pod that is not there.
    pub fn absent(&self, namespace: &str, name: &str) -> String {
        let namesakes: Vec<_> = self
            .objects
            .iter()
            .filter(|object| object.kind() == "Pod" && object.metadata().name == name)
            .map(|object| format!("{}/{name}", object.metadata().namespace))
            .take(3)
            .collect();
        let mut message = format!("no pod {namespace}/{name} that is to be scheduled in the input");
        if !namesakes.is_empty() {
            message.push_str("; there is ");
            message.push_str(&namesakes.join(", "));
        }
        message
    }
}

impl PendingPod {
    fn new(pod: &Pod) -> Self {
        Self {
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
        }
    }

    /// Those that wait in a state, in the order in which they came.
    fn waiting(state: &State) -> Vec<Self> {
        let scheduler = state.intake.scheduler();
        let mut pods = state.intake.arrived();
        pods.retain(|pod| scheduler.waits(*pod));
        let names = pods.iter().map(|pod| scheduler.pod_name(*pod));
        names
            .map(|(namespace, name)| Self {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            })
            .collect()
    }

    pub fn find(&self, scheduler: &Scheduler) -> Option<PodId> {
        scheduler.find_pod(&self.namespace, &self.name)
    }
}

/// Checks, completes and expands the objects; what is wrong with them joins the input's problems.
fn prepare_input(
    input: &mut Input,
    config: &KubeSchedulerConfiguration,
    state: Option<&State>,
) -> Prepared {
    let names = config.profiles.iter().map(|profile| {
        let name = profile.scheduler_name.as_deref();
        name.unwrap_or(DEFAULT_SCHEDULER_NAME)
    });
    let mut names: Vec<_> = names.collect();
    if names.is_empty() {
        names.push(DEFAULT_SCHEDULER_NAME);
    }
    let scheduler = state.map(|state| state.intake.scheduler());
    let storage_class = scheduler.and_then(Scheduler::default_class);
    let options = InputOptions {
        scheduler_names: &names,
        made_pods_max: MADE_PODS_MAX,
        storage_class: storage_class.as_ref(),
    };
    let mut objects = std::mem::take(&mut input.objects);
    let written: BTreeSet<String> = objects.iter().filter_map(namespace_of).collect();
    let known = state.map_or_else(Vec::new, |state| state.completing(&objects));
    let has = |object: &Object| known.contains(object);
    let has_namespace =
        |name: &str| scheduler.is_some_and(|scheduler| scheduler.has_namespace(name));
    objects.extend(known.iter().cloned());
    let mut prepared = prepare(objects, &options);
    // What the state has is not put in again, nor is a namespace of it implied.
    prepared.objects.retain(|object| {
        let is_implied = namespace_of(object).filter(|name| !written.contains(name));
        !has(object) && !is_implied.is_some_and(|name| has_namespace(&name))
    });
    add_problems(&mut input.problems, &prepared, &input.places);
    prepared
}

/// The name of a Namespace.
fn namespace_of(object: &Object) -> Option<String> {
    match object {
        Object::Namespace(namespace) => Some(namespace.metadata.name.clone()),
        _ => None,
    }
}

/// `places` holds where each object of the input stands.
fn add_problems(problems: &mut Problems, prepared: &Prepared, places: &[Place]) {
    let place = |index: usize| places.get(index).cloned().unwrap_or_default();
    for problem in &prepared.problems {
        let mut message = problem.invalid.problem.clone();
        if let Some(earlier) = problem.earlier {
            message = format!("{message}; the other is at {}", place(earlier));
        }
        problems.push(Problem {
            place: place(problem.object),
            object: Some(problem.subject.clone()),
            field: Some(problem.invalid.field.clone()),
            message,
        });
    }
}
