//! The class `Scheduler`.

use crate::decision::Decision;
use crate::error::{Failure, warn};
use crate::evaluation::{Columns, Evaluation};
use crate::input::{Source, document};
use berth_core::id::PodId;
use berth_core::intake::{Intake, Size};
use berth_core::{Change, Detail, Fidelity, NodeSearch, Options, Ties};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Nodes, pods, and everything that decides where a pod goes.
///
/// config: KubeSchedulerConfiguration v1, a dict, a path or a text (JSON or YAML).
/// capacities: {"nodes": N, "pods": N}, the most at a time; without it the first `load` sets them
///     to what it holds, a quarter more, and some.
/// fidelity: "exact" samples nodes and breaks ties as kube-scheduler does; "best" looks at all.
/// ties: "heap", "first-name", "first" or "random" instead of the fidelity's own.
/// node_search: "all" or "sampled" instead of the fidelity's own.
/// seed: of ties="random".
///
/// May be used by several threads; they take turns.
#[pyclass(frozen, module = "berth")]
pub struct Scheduler {
    intake: Mutex<Intake>,
}

impl Scheduler {
    /// Runs `ask` without the interpreter's lock.
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut Intake) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let answer = py.detach(|| {
            // What a panic leaves half done is behind the mutex, which it poisons.
            catch_unwind(AssertUnwindSafe(|| {
                let mut intake = self.intake.lock().map_err(|_| Failure::Panic)?;
                ask(&mut intake)
            }))
        });
        Ok(answer.unwrap_or(Err(Failure::Panic))?)
    }

    /// Runs `ask` on a pod of the cluster by name, or on one that is there only for that long.
    fn ask<T: Send>(
        &self,
        pod: &Bound<'_, PyAny>,
        ask: impl FnOnce(&mut Intake, PodId) -> T + Send,
    ) -> PyResult<T> {
        if let Ok(name) = pod.cast::<PyString>()
            && !name.to_str()?.trim_start().starts_with('{')
        {
            let name = name.to_str()?.to_owned();
            return self.call(pod.py(), move |intake| {
                let id = find(intake, &name)?;
                Ok(ask(intake, id))
            });
        }
        let document = document(pod)?;
        self.call(pod.py(), move |intake| Ok(intake.with_pod(document, ask)?))
    }
}

fn find(intake: &Intake, name: &str) -> Result<PodId, Failure> {
    let (namespace, short) = name.split_once('/').unwrap_or(("default", name));
    let pod = intake.scheduler().find_pod(namespace, short);
    pod.ok_or_else(|| Failure::NoPod(name.to_owned()))
}

fn attempt(intake: &mut Intake, pod: PodId) -> Decision {
    let scheduler = intake.scheduler_mut();
    let decision = scheduler.schedule(pod);
    scheduler.record(&decision, Detail::Reasons).into()
}

#[pymethods]
impl Scheduler {
    #[new]
    #[pyo3(signature = (config=None, *, capacities=None, fidelity="exact", ties=None, node_search=None, seed=0))]
    fn new(
        config: Option<&Bound<'_, PyAny>>,
        capacities: Option<&Bound<'_, PyDict>>,
        fidelity: &str,
        ties: Option<&str>,
        node_search: Option<&str>,
        seed: u64,
    ) -> PyResult<Self> {
        let options = Options {
            fidelity: match fidelity {
                "exact" => Fidelity::Exact,
                "best" => Fidelity::Best,
                other => return Err(unknown("fidelity", other, "\"exact\" or \"best\"")),
            },
            ties: match ties {
                None => None,
                Some("heap") => Some(Ties::Heap),
                Some("first-name") => Some(Ties::FirstName),
                Some("first") => Some(Ties::First),
                Some("random") => Some(Ties::Random),
                Some(other) => {
                    let known = "\"heap\", \"first-name\", \"first\" or \"random\"";
                    return Err(unknown("ties", other, known));
                }
            },
            node_search: match node_search {
                None => None,
                Some("all") => Some(NodeSearch::All),
                Some("sampled") => Some(NodeSearch::Sampled),
                Some(other) => {
                    return Err(unknown("node_search", other, "\"all\" or \"sampled\""));
                }
            },
            seed,
            ..Options::default()
        };
        let config = match config {
            Some(config) => Source::of(config)?.config()?,
            None => berth_core::object::config::KubeSchedulerConfiguration::default(),
        };
        let size = capacities.map(size).transpose()?;
        let made = catch_unwind(|| Intake::new(config, options, size));
        let intake = made.map_err(|_| Failure::Panic)?.map_err(Failure::from)?;
        Ok(Self {
            intake: Mutex::new(intake),
        })
    }

    /// Takes in a cluster: a path of a JSON or YAML file, a list of dicts, or one dict, of which a
    /// `List` holds many. Validates and defaults as an API server does and makes the pods of
    /// workloads. All goes in, or nothing.
    ///
    /// Returns the names of the pods that wait for a node, in the input's order. Warns of what was
    /// left out.
    fn load(&self, objects: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let py = objects.py();
        let source = Source::of(objects)?;
        let (pending, notes) = self.call(py, |intake| {
            let loaded = intake.load(source.documents()?)?;
            let scheduler = intake.scheduler();
            let names = loaded.pending.iter().map(|pod| {
                let (namespace, name) = scheduler.pod_name(*pod);
                format!("{namespace}/{name}")
            });
            Ok((names.collect(), loaded.notes))
        })?;
        warn(py, &notes)?;
        Ok(pending)
    }

    /// Takes in what happened to one object, a dict or JSON text. `change` is "ADDED", "MODIFIED"
    /// or "DELETED"; without it, whichever of the first two it is. Of a workload no pods are made.
    #[pyo3(signature = (obj, change=None))]
    fn apply(&self, obj: &Bound<'_, PyAny>, change: Option<&str>) -> PyResult<()> {
        let change = match change {
            None => None,
            Some("ADDED") => Some(Change::Added),
            Some("MODIFIED") => Some(Change::Modified),
            Some("DELETED") => Some(Change::Deleted),
            Some(other) => {
                let known = "\"ADDED\", \"MODIFIED\" or \"DELETED\"";
                return Err(unknown("change", other, known));
            }
        };
        let py = obj.py();
        let document = document(obj)?;
        let applied = self.call(py, |intake| Ok(intake.apply(change, document)?))?;
        warn(py, &applied.notes)
    }

    /// One attempt at a waiting pod, by name: decides, and counts it on the chosen node from then
    /// on.
    fn schedule(&self, py: Python<'_>, pod: &str) -> PyResult<Decision> {
        self.call(py, |intake| {
            let id = find(intake, pod)?;
            Ok(attempt(intake, id))
        })
    }

    /// One attempt at each waiting pod, by priority, then in the order in which they came.
    fn schedule_all(&self, py: Python<'_>) -> PyResult<Vec<Decision>> {
        self.call(py, |intake| {
            let queue = intake.queue();
            Ok(queue.into_iter().map(|pod| attempt(intake, pod)).collect())
        })
    }

    /// Judges a pod on every node, with nothing changed: one of the cluster by name, as if it had
    /// no node, or another one as a dict.
    fn evaluate(&self, pod: &Bound<'_, PyAny>) -> PyResult<Evaluation> {
        let columns = self.ask(pod, |intake, pod| {
            let decision = intake.evaluate(pod);
            Columns::of(intake.scheduler(), &decision)
        })?;
        Ok(Evaluation::new(pod.py(), columns))
    }

    /// The same as a whole record: every feasible node's scores by plugin, and why each of the
    /// others is refused.
    fn explain(&self, pod: &Bound<'_, PyAny>) -> PyResult<Decision> {
        self.ask(pod, |intake, pod| {
            intake.explain(pod, Detail::Full).1.into()
        })
    }

    /// Hash of all objects and placements: the same for the same content on every machine,
    /// whatever the history that led to it.
    fn state_hash(&self, py: Python<'_>) -> PyResult<u64> {
        self.call(py, |intake| Ok(intake.scheduler().state_hash()))
    }
}

fn size(capacities: &Bound<'_, PyDict>) -> PyResult<Size> {
    let wanted = |name: &str| -> PyResult<u32> {
        let count = capacities.get_item(name)?;
        let absent = || PyValueError::new_err(format!("capacities: {name:?} is missing"));
        count.ok_or_else(absent)?.extract()
    };
    let size = Size {
        nodes: wanted("nodes")?,
        pods: wanted("pods")?,
    };
    if capacities.len() > 2 {
        let text = "capacities: expected \"nodes\" and \"pods\" only";
        return Err(PyValueError::new_err(text));
    }
    Ok(size)
}

fn unknown(name: &str, value: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: expected {known}, not {value:?}"))
}
