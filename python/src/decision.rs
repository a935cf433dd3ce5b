//! What became of a pod.

use crate::scheduler::seconds;
use crate::table::escaped;
use crate::tables::result;
use crate::world::{Attempt, World};
use berth_core::{BoundClaim, DecisionRecord};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;
use std::fmt::{self, Write};
use std::sync::Arc;

/// What one attempt at a pod came to, or would come to.
#[pyclass(frozen, module = "berth")]
pub struct Decision {
    attempt: Arc<Attempt>,
}

impl From<Arc<Attempt>> for Decision {
    fn from(attempt: Arc<Attempt>) -> Self {
        Self { attempt }
    }
}

impl From<Attempt> for Decision {
    fn from(attempt: Attempt) -> Self {
        Arc::new(attempt).into()
    }
}

impl Decision {
    fn record(&self) -> &DecisionRecord {
        &self.attempt.record
    }

    fn value(&self) -> PyResult<Value> {
        value(self.record())
    }
}

fn value(made: &impl Serialize) -> PyResult<Value> {
    let value = serde_json::to_value(made);
    value.map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Claims as a list of dicts.
pub fn claims<'py>(py: Python<'py>, claims: &[BoundClaim]) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &value(&claims)?)
}

#[pymethods]
impl Decision {
    /// `NAMESPACE/NAME`.
    #[getter]
    fn pod(&self) -> &str {
        &self.record().pod
    }

    /// `scheduled`, `unschedulable`, `gated`, `unsupported` or `error`.
    #[getter]
    fn result(&self) -> &'static str {
        result(self.record())
    }

    /// The chosen node, if there is one.
    #[getter]
    fn node(&self) -> Option<&str> {
        self.record().node.as_deref()
    }

    /// kube-scheduler's text of why a pod fits nowhere.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.record().message.as_deref()
    }

    /// Which attempt at the pod it was; 0 outside the queue.
    #[getter]
    fn attempt(&self) -> u32 {
        self.record().attempt
    }

    /// The node on which victims make room, if there is one.
    #[getter]
    fn nominated_node(&self) -> Option<&str> {
        self.record().nominated_node.as_deref()
    }

    /// Pods that went for this one, `NAMESPACE/NAME`.
    #[getter]
    fn victims(&self) -> &[String] {
        &self.record().victims
    }

    /// Claims that are bound for the pod: {"claim": "NAMESPACE/NAME", "volume": NAME}, with
    /// "provisioned": True where the volume is made for it.
    #[getter]
    fn volumes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        claims(py, &self.record().volumes)
    }

    /// When it was, in virtual seconds.
    #[getter]
    fn seconds(&self) -> f64 {
        seconds(self.attempt.time)
    }

    /// The whole record, as `berth simulate -o jsonl` writes it; an absent key means none.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.value()?)
    }

    fn __repr__(&self) -> String {
        let what = self.node().unwrap_or_else(|| self.result());
        format!("<Decision {}: {what}>", self.pod())
    }

    /// The verdict; then of each refused node the reasons and of each feasible one the scores, as far
    /// as the decision carries them.
    fn _repr_html_(&self) -> String {
        let record = self.record();
        let what = self.node().or(self.message());
        let what = what.unwrap_or_else(|| self.result());
        let (pod, what) = (escaped(self.pod()), escaped(what));
        let mut html = format!("<p><b>{pod}</b>: {what}</p><table>");
        for score in record.scores.iter().flatten() {
            let (node, total) = (escaped(&score.node), score.total);
            let _ = write!(html, "<tr><td>{node}</td><td>{total}</td></tr>");
        }
        for (node, refusal) in record.rejected.iter().flatten() {
            let (node, refusal) = (escaped(node), escaped(&refusal.join(", ")));
            let _ = write!(html, "<tr><td>{node}</td><td>{refusal}</td></tr>");
        }
        html.push_str("</table>");
        html
    }
}

/// A scheduler in a line.
pub struct Summary {
    nodes: usize,
    pods: usize,
    waiting: usize,
    seconds: f64,
}

impl Summary {
    pub fn of(world: &World) -> Self {
        let scheduler = world.scheduler();
        Self {
            nodes: scheduler.nodes().count(),
            pods: scheduler.pods().count(),
            waiting: scheduler.pods().filter(|pod| scheduler.waits(*pod)).count(),
            seconds: seconds(world.time()),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            nodes,
            pods,
            waiting,
            seconds,
        } = self;
        write!(
            f,
            "{nodes} nodes, {pods} pods ({waiting} waiting), {seconds} s"
        )
    }
}

fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, number) => number.unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(list) => {
            let list: Vec<_> = list
                .iter()
                .map(|item| to_python(py, item))
                .collect::<PyResult<_>>()?;
            PyList::new(py, list)?.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
