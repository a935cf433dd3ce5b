//! The class `Scheduler`.

use crate::decision::{Decision, Summary, claims};
use crate::error::{Failure, warn};
use crate::evaluation::{Columns, Evaluation};
use crate::fork::{Fork, Session};
use crate::guard::Guard;
use crate::input::{Source, bytes, document};
use crate::options;
use crate::plugin::{Calls, Held, Plugin};
use crate::table::Table;
use crate::tables;
use crate::world::{Customs, World, evaluate, explain};
use berth_core::id::PodId;
use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{CapacityExceeded, Options};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use pyo3::{PyTraverseError, PyVisit};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Nodes, pods, and everything that decides where a pod goes, under a virtual clock.
///
/// config: KubeSchedulerConfiguration v1, a dict, a path or a text (JSON or YAML).
/// capacities: {"nodes": N, "pods": N}, the most at a time; without it the first `load` sets them
///     to what it holds, a quarter more, and some.
/// fidelity: "exact" samples nodes and breaks ties as kube-scheduler does; "best" looks at all.
/// ties: "heap", "first-name", "first" or "random" instead of the fidelity's own.
/// node_search: "all" or "sampled" instead of the fidelity's own.
/// preemption: whether pods of higher priority make others go.
/// seed: of ties="random".
/// grow: whether a table that is full is built anew at double size, which takes the memory of both
///     for a moment; otherwise CapacityError. Without it: unless capacities are given.
///
/// The clock begins at 0 and moves a millisecond before each pod that comes and each change, and
/// after each attempt; all else is `advance`. A decision has its consequences at once, unless
/// `schedule_one` is told otherwise: the pod is bound to its node, and victims of a preemption are
/// deleted.
///
/// May be used by several threads; they take turns. After InternalError it answers nothing else.
#[pyclass(frozen, module = "berth")]
pub struct Scheduler {
    session: Guard<Session>,
    plugins: Held,
}

impl Scheduler {
    /// Runs `ask` without the interpreter's lock.
    pub fn call<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut Session) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let answer = py.detach(|| self.session.call(ask));
        Ok(answer.unwrap_or_else(|refused| Err(refused.into()))?)
    }

    /// The same on the present world.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut World) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        self.call(py, |session| ask(&mut session.world))
    }

    /// Adds a plugin under a name that no other has.
    fn add(
        &self,
        name: &Bound<'_, PyString>,
        function: &Bound<'_, PyAny>,
        add: impl FnOnce(&mut World, &Arc<Plugin>) -> Result<(), CapacityExceeded> + Send,
    ) -> PyResult<()> {
        let function = callable(function)?;
        let plugin = Plugin::new(crate::input::text(name, "the plugin's name")?, function);
        let added = self.with(name.py(), |world| {
            if world.scheduler().has_external(&plugin.name) {
                return Err(Failure::NameTaken(plugin.name.clone()));
            }
            add(world, &plugin).map_err(Failure::Full)
        });
        added.map(|()| self.plugins.push(plugin))
    }

    /// Runs `ask` on a pod of the cluster by name, or on one that is there only for that long.
    fn ask<T: Send>(
        &self,
        pod: &Bound<'_, PyAny>,
        ask: impl FnOnce(&mut Intake, &mut Calls, PodId) -> T + Send,
    ) -> PyResult<T> {
        if let Some(name) = pod_name(pod)? {
            return self.with(pod.py(), move |world| {
                let id = world.find(&name)?;
                let mut calls = world.calls();
                let answer = ask(&mut world.intake, &mut calls, id);
                calls.end()?;
                Ok(answer)
            });
        }
        let document = document(pod)?;
        self.with(pod.py(), move |world| {
            let mut calls = world.calls();
            let answer = world
                .intake
                .with_pod(document, |intake, id| ask(intake, &mut calls, id))?;
            calls.end()?;
            Ok(answer)
        })
    }
}

fn callable(function: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if function.is_callable() {
        return Ok(function.clone().unbind());
    }
    let text = format!("expected a function, not {}", function.get_type());
    Err(PyTypeError::new_err(text))
}

/// The name that a pod is asked for by, unless it is given as a whole.
fn pod_name(pod: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let Ok(text) = pod.cast::<PyString>() else {
        return Ok(None);
    };
    let text = crate::input::text(text, "the pod's name")?;
    Ok((!text.trim_start().starts_with('{')).then_some(text))
}

#[pymethods]
impl Scheduler {
    #[new]
    #[pyo3(signature = (config=None, capacities=None, fidelity="exact", ties=None, node_search=None, preemption=true, seed=0, *, grow=None))]
    #[expect(clippy::too_many_arguments, reason = "they are the class's")]
    fn new(
        py: Python<'_>,
        config: Option<&Bound<'_, PyAny>>,
        capacities: Option<&Bound<'_, PyDict>>,
        fidelity: &str,
        ties: Option<&str>,
        node_search: Option<&str>,
        preemption: bool,
        #[pyo3(from_py_with = options::whole)] seed: u64,
        grow: Option<bool>,
    ) -> PyResult<Self> {
        let options = Options {
            fidelity: options::fidelity(fidelity)?,
            ties: ties.map(options::ties).transpose()?,
            node_search: node_search.map(options::node_search).transpose()?,
            preemption: Some(preemption),
            seed,
            ..Options::default()
        };
        let source = config.map(Source::of).transpose()?;
        let size = capacities.map(options::size).transpose()?;
        let grows = grow.unwrap_or(size.is_none());
        let make = || {
            let config = match source {
                Some(source) => source.config()?,
                None => KubeSchedulerConfiguration::default(),
            };
            World::new(config, options, size, grows)
        };
        let made = py.detach(|| Guard::new(Some(make)).call(|make| make.take().map(|make| make())));
        let world = made.ok().flatten().unwrap_or(Err(Failure::Panic))?;
        Ok(Self {
            session: Guard::new(Session::new(world)),
            plugins: Held::default(),
        })
    }

    /// Takes in a cluster: a path of a JSON or YAML file, a list of dicts or of the kubernetes
    /// client's objects, or one of them, of which a `List` holds many; or a data frame (polars,
    /// pandas, pyarrow) with `kind` "Node" or "Pod", as `berth.frames` says. Validates and defaults
    /// as an API server does and makes the pods of workloads. All goes in, or nothing.
    ///
    /// Returns the names of the pods that wait for a node, in the input's order. Warns of what was
    /// left out.
    #[pyo3(signature = (objects, kind=None))]
    fn load(&self, objects: &Bound<'_, PyAny>, kind: Option<&str>) -> PyResult<Vec<String>> {
        let py = objects.py();
        let source = Source::of_many(objects, kind)?;
        let (pending, notes) = self.with(py, |world| {
            let loaded = world.load(source.documents()?)?;
            let names = loaded.pending.iter().map(|pod| world.pod_name(*pod));
            Ok((names.collect(), loaded.notes))
        })?;
        warn(py, &notes)?;
        Ok(pending)
    }

    /// Takes in what happened to one object: a dict, JSON text or an object of the kubernetes
    /// client. `change` is "ADDED", "MODIFIED" or "DELETED"; without it, whichever of the first two
    /// it is. Of a workload no pods are made.
    #[pyo3(signature = (obj, change=None))]
    fn apply(&self, obj: &Bound<'_, PyAny>, change: Option<&str>) -> PyResult<()> {
        let change = change.map(options::change).transpose()?;
        let py = obj.py();
        let document = document(obj)?;
        let applied = self.with(py, |world| world.apply(change, document))?;
        warn(py, &applied.notes)
    }

    /// One attempt at a waiting pod of your choice, by name. Neither preemption nor the queue takes
    /// part.
    #[pyo3(signature = (pod, *, detail="reasons"))]
    fn schedule(&self, pod: &Bound<'_, PyAny>, detail: &str) -> PyResult<Decision> {
        let detail = options::detail(detail)?;
        let name = pod_name(pod)?;
        let name = name.ok_or_else(|| Failure::NoPod("{..}".to_owned()))?;
        self.with(pod.py(), |world| {
            let pod = world.find(&name)?;
            Ok(world.schedule(pod, detail)?.into())
        })
    }

    /// One turn of the loop: an attempt at the first pod of the queue, by priority, then by when it
    /// came. None when no pod can be tried now: none waits, or those that do back off or wait for an
    /// event.
    ///
    /// The pod is bound to its node at once, or after a second if claims have to be bound for it, and
    /// victims are deleted. With bind=False it is only counted there until `bound` says what became of
    /// its binding, and `volumes` are yours; with evict=False you delete the victims, by
    /// apply(.., "DELETED"). `detail`: how much the decision carries, "none", "reasons" or "full"
    /// (with all scores).
    #[pyo3(signature = (*, bind=true, evict=true, detail="reasons"))]
    fn schedule_one(
        &self,
        py: Python<'_>,
        bind: bool,
        evict: bool,
        detail: &str,
    ) -> PyResult<Option<Decision>> {
        let customs = Customs {
            bind,
            evict,
            detail: options::detail(detail)?,
        };
        self.with(py, |world| Ok(world.schedule_one(customs)?.map(Into::into)))
    }

    /// Attempts until no pod can be tried, as `berth simulate` makes them: time passes until nothing
    /// is left that could wake a pod. With wait=False no time passes but the attempts' own, and pods
    /// that back off stay for a later call; with `until` it passes up to that many virtual seconds, and
    /// pods are tried whenever it wakes them; after 262,144 attempts of that kind it returns earlier, with
    /// `now` before `until`.
    ///
    /// Returns every attempt in its order; a pod that was woken by others' changes has several, of
    /// which the last counts.
    #[pyo3(signature = (*, wait=true, until=None, detail="reasons"))]
    fn schedule_all(
        &self,
        py: Python<'_>,
        wait: bool,
        until: Option<f64>,
        detail: &str,
    ) -> PyResult<Vec<Decision>> {
        let end = until.map(|until| nanoseconds("until", until)).transpose()?;
        let customs = Customs {
            bind: true,
            evict: true,
            detail: options::detail(detail)?,
        };
        self.with(py, |world| {
            let attempts = match end {
                Some(end) => world.schedule_until(end, customs)?,
                None => world.schedule_all(wait, customs)?,
            };
            Ok(attempts.into_iter().map(Into::into).collect())
        })
    }

    /// Says what became of the binding of a pod that `schedule_one(bind=False)` placed: "bound";
    /// "rejected" or "failed", and it is tried again; "unknown", and it keeps its room. False if the
    /// pod is not being bound.
    #[pyo3(signature = (pod, outcome="bound"))]
    fn bound(&self, pod: &Bound<'_, PyAny>, outcome: &str) -> PyResult<bool> {
        let outcome = options::outcome(outcome)?;
        let name = pod_name(pod)?.unwrap_or_default();
        self.with(pod.py(), |world| {
            let pod = world.find(&name)?;
            Ok(world.bound(pod, outcome))
        })
    }

    /// The claims that have to be bound before a pod that `schedule_one(bind=False)` placed can be, in the
    /// order of the writes: {"claim": "NAMESPACE/NAME", "volume": NAME} for a volume that gets the claim
    /// as its claimRef, {"claim": "NAMESPACE/NAME", "provisioned": True} for a claim that gets the node as
    /// its annotation volume.kubernetes.io/selected-node; the volume's name is there once it is bound.
    /// Apply what then changes, and ask `volumes_bound`; or let `bind_volumes` do it.
    fn volumes<'py>(&self, pod: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let name = pod_name(pod)?.unwrap_or_default();
        let volumes: Vec<_> = self.with(pod.py(), |world| {
            let pod = world.find(&name)?;
            Ok(world.scheduler().volumes_of(pod).collect())
        })?;
        claims(pod.py(), &volumes)
    }

    /// How far these claims are: "bound", "pending", "failed" or "timed out"; after the last two say
    /// `bound(pod, "failed")`.
    fn volumes_bound(&self, pod: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let name = pod_name(pod)?.unwrap_or_default();
        self.with(pod.py(), |world| {
            let pod = world.find(&name)?;
            let scheduler = world.scheduler();
            Ok(options::progress(
                scheduler.volumes_bound(pod, scheduler.now()),
            ))
        })
    }

    /// Binds these claims at once, as kube-scheduler, the volume controllers and a provisioner do
    /// together, and returns them as `volumes` does.
    fn bind_volumes<'py>(&self, pod: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let name = pod_name(pod)?.unwrap_or_default();
        let volumes = self.with(pod.py(), |world| {
            let pod = world.find(&name)?;
            world.bind_volumes(pod)
        })?;
        claims(pod.py(), &volumes)
    }

    /// Binds a waiting pod to a node of your choice, whatever the plugins would say of it. False if
    /// it does not wait.
    fn bind(&self, pod: &Bound<'_, PyAny>, node: &Bound<'_, PyString>) -> PyResult<bool> {
        let name = pod_name(pod)?.unwrap_or_default();
        let node = crate::input::text(node, "the node's name")?;
        self.with(pod.py(), |world| {
            let pod = world.find(&name)?;
            let id = world.scheduler().find_node(&node);
            let id = id.ok_or_else(|| Failure::NoNode(node.clone()))?;
            world.bind(pod, id)
        })
    }

    /// Judges a pod on every node, with nothing changed: one of the cluster by name, as if it had
    /// no node, or another one as a dict.
    fn evaluate(&self, pod: &Bound<'_, PyAny>) -> PyResult<Evaluation> {
        let columns = self.ask(pod, |intake, calls, pod| {
            let decision = evaluate(intake, calls, pod);
            Columns::of(intake.scheduler(), Arc::clone(&calls.nodes), &decision)
        })?;
        Ok(Evaluation::new(pod.py(), columns))
    }

    /// The same as a whole record: every feasible node's scores by plugin, and why each of the
    /// others is refused.
    fn explain(&self, pod: &Bound<'_, PyAny>) -> PyResult<Decision> {
        self.ask(pod, |intake, calls, pod| explain(intake, calls, pod).into())
    }

    /// Adds a filter of your own, asked once an attempt, after all others, about all nodes that they
    /// keep. `function(pod_class, feasible)` gets the pod's class (see `class_of`) and an array of
    /// bool with an entry a node, in the order of `nodes`, and returns one: False refuses the node, for
    /// `reason`. The answer may depend on the class and the node, not on other nodes. It cannot ask this
    /// scheduler; what it raises fails the attempt and is raised by the call that made it.
    fn add_filter(
        &self,
        name: &Bound<'_, PyString>,
        function: &Bound<'_, PyAny>,
        reason: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let reason = crate::input::text(reason, "the reason")?;
        self.add(name, function, move |world, plugin| {
            let scheduler = world.intake.scheduler_mut();
            scheduler.add_filter(&plugin.name, &reason)?;
            world.plugins.push_filter(Arc::clone(plugin));
            Ok(())
        })
    }

    /// Adds a score of your own, asked once an attempt, if more than one node is feasible.
    /// `function(pod_class, feasible)` is that of `add_filter`, and returns an array of int64 with 0 to 100
    /// for each feasible node, which counts `weight` times.
    #[pyo3(signature = (name, function, weight=1))]
    fn add_score(
        &self,
        name: &Bound<'_, PyString>,
        function: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = options::whole)] weight: u32,
    ) -> PyResult<()> {
        self.add(name, function, move |world, plugin| {
            let scheduler = world.intake.scheduler_mut();
            scheduler.add_score(&plugin.name, weight)?;
            world.plugins.push_score(Arc::clone(plugin));
            Ok(())
        })
    }

    /// A plugin's function may refer to the scheduler.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.plugins.traverse(&visit)
    }

    fn __clear__(&self) {
        self.plugins.clear();
    }

    /// The class of a pod of the cluster, by name: equal for pods that are equal in all that decides
    /// where they go. The number may become another class's once no pod is of it.
    fn class_of(&self, pod: &Bound<'_, PyAny>) -> PyResult<u32> {
        let name = pod_name(pod)?.unwrap_or_default();
        self.with(pod.py(), |world| {
            let class = world.scheduler().class_of(world.find(&name)?);
            Ok(class.ok_or(Failure::NoPod(name))?.0)
        })
    }

    /// What-if: `with scheduler.fork(): ..` is rolled back at the end, unless `commit` was called.
    /// Forks nest. Takes the memory of the tables once more.
    fn fork(slf: Bound<'_, Self>) -> PyResult<Fork> {
        let number = slf.get().call(slf.py(), Session::fork)?;
        Ok(Fork {
            scheduler: slf.unbind(),
            number,
        })
    }

    /// Ends the innermost fork and keeps what was done in it. False without a fork.
    fn commit(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |session| {
            let fork = session.innermost();
            Ok(fork.is_some_and(|fork| session.end(fork, true)))
        })
    }

    /// Ends the innermost fork and takes back what was done in it. False without a fork.
    fn rollback(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, |session| {
            let fork = session.innermost();
            Ok(fork.is_some_and(|fork| session.end(fork, false)))
        })
    }

    /// Lets virtual time pass, which ends backoffs. Attempts are made by `schedule_one` and
    /// `schedule_all`.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let nanoseconds = nanoseconds("seconds", seconds)?;
        self.with(py, |world| {
            world.advance(nanoseconds);
            Ok(())
        })
    }

    /// Virtual seconds since the clock began.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |world| Ok(seconds(world.time())))
    }

    /// Writes the cluster, the queue and the clock down, in the format of `berth simulate --save`,
    /// and returns the bytes; with a path, into that file too, whole or not at all. Forks and past
    /// decisions are not in it.
    #[pyo3(signature = (path=None))]
    fn save_state<'py>(
        &self,
        py: Python<'py>,
        path: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |world| {
            let bytes = world.intake.save_state();
            path.map_or(Ok(()), |path| write(&path, &bytes))?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The same as `save_state`.
    #[pyo3(signature = (path=None))]
    fn save<'py>(&self, py: Python<'py>, path: Option<PathBuf>) -> PyResult<Bound<'py, PyBytes>> {
        self.save_state(py, path)
    }

    /// Takes a saved state, bytes or a path, in the place of everything that is there, under this
    /// scheduler's configuration. What was being bound is bound. Nothing is changed by a file that is
    /// refused.
    fn load_state(&self, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = bytes(state)?;
        self.with(state.py(), |world| {
            let bytes = source.read()?;
            world.load_state(&bytes)
        })
    }

    /// Hash of all objects and placements: the same for the same content on every machine,
    /// whatever the history that led to it.
    fn state_hash(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |world| Ok(world.scheduler().state_hash()))
    }

    /// The nodes as they are now: name, pods, pods_allocatable, unschedulable, and of each resource
    /// what is requested and allocatable (`cpu_requested`, `cpu_allocatable` in milli-cores, all else
    /// in whole units).
    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<Table> {
        self.with(py, |world| tables::nodes(world))
    }

    /// The pods as they are now, in the order in which they came: namespace, name, node, state
    /// ("bound", "active", "backoff", "unschedulable", "gated", "binding" or "ignored"), priority,
    /// attempts, nominated_node.
    #[getter]
    fn pods(&self, py: Python<'_>) -> PyResult<Table> {
        self.with(py, |world| tables::pods(world))
    }

    /// The last 65,536 attempts: seconds (virtual time), pod, attempt, result, node, feasible,
    /// evaluated, nominated_node, victims (how many), message.
    #[getter]
    fn decisions(&self, py: Python<'_>) -> PyResult<Table> {
        self.with(py, |world| tables::decisions(world))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.with(py, |world| Ok(Summary::of(world)))?;
        Ok(format!("<Scheduler: {summary}>"))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let (summary, nodes) =
            self.with(py, |world| Ok((Summary::of(world), tables::nodes(world)?)))?;
        Ok(format!("<p>{summary}</p>{}", nodes.to_html()))
    }
}

fn nanoseconds(argument: &str, seconds: f64) -> PyResult<u64> {
    let span = Duration::try_from_secs_f64(seconds).map_err(|_| {
        let text = format!("{argument}: expected a number from 0 on, not {seconds}");
        PyValueError::new_err(text)
    })?;
    Ok(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

/// Of nanoseconds.
pub fn seconds(time: u64) -> f64 {
    time as f64 / 1e9
}

/// Writes a file whole, or not at all.
fn write(path: &std::path::Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        Failure::File(format!("{}: {error}", path.display()))
    })
}
