//! What every node says of a pod.

use crate::table::Column;
use crate::tables::{column, made, text};
use berth_core::{Decision, Outcome, Scheduler};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

/// What every node says of a pod: three columns of the same length, one entry a node.
#[pyclass(frozen, module = "berth")]
pub struct Evaluation {
    /// Names of the nodes, in the order in which they came.
    #[pyo3(get)]
    nodes: Vec<String>,
    feasible: Py<PyArray1<bool>>,
    scores: Py<PyArray1<i64>>,
    /// The best node, if there is one.
    #[pyo3(get)]
    node: Option<String>,
}

/// The same before Python has it.
pub struct Columns {
    nodes: Vec<String>,
    feasible: Vec<bool>,
    scores: Vec<i64>,
    node: Option<String>,
}

impl Columns {
    /// Of the last evaluation, which gave `decision`.
    pub fn of(scheduler: &Scheduler, decision: &Decision) -> Self {
        let rows = scheduler.node_rows();
        let (mut feasible, mut scores) = (vec![false; rows], vec![0; rows]);
        for (node, total) in scheduler.feasible(decision) {
            if let Some(place) = feasible.get_mut(node.index()) {
                *place = true;
            }
            if let Some(place) = scores.get_mut(node.index()) {
                *place = total;
            }
        }
        let present: Vec<usize> = scheduler
            .nodes()
            .map(berth_core::id::NodeId::index)
            .collect();
        let name = |node| scheduler.node(node).name.to_owned();
        Self {
            nodes: scheduler.nodes().map(name).collect(),
            feasible: present
                .iter()
                .filter_map(|row| feasible.get(*row).copied())
                .collect(),
            scores: present
                .iter()
                .filter_map(|row| scores.get(*row).copied())
                .collect(),
            node: match decision.outcome {
                Outcome::Scheduled(node) => Some(name(node)),
                _ => None,
            },
        }
    }
}

impl Evaluation {
    pub fn new(py: Python<'_>, columns: Columns) -> Self {
        Self {
            nodes: columns.nodes,
            feasible: read_only(PyArray1::from_vec(py, columns.feasible)),
            scores: read_only(PyArray1::from_vec(py, columns.scores)),
            node: columns.node,
        }
    }
}

/// An array that Python cannot write to.
pub fn read_only<T: numpy::Element>(array: Bound<'_, PyArray1<T>>) -> Py<PyArray1<T>> {
    array.readwrite().make_nonwriteable();
    array.unbind()
}

#[pymethods]
impl Evaluation {
    /// Whether the pod fits on the node; a read-only numpy array of bool.
    #[getter]
    fn feasible(&self, py: Python<'_>) -> Py<PyArray1<bool>> {
        self.feasible.clone_ref(py)
    }

    /// By node the sum of all plugins' normalised scores times weight, 0 where the pod does not
    /// fit; all 0 if it fits on one node only, as that is not scored. A read-only numpy array of
    /// int64.
    #[getter]
    fn scores(&self, py: Python<'_>) -> Py<PyArray1<i64>> {
        self.scores.clone_ref(py)
    }

    /// A row a node.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let (feasible, scores) = (
            self.feasible.bind(py).to_vec()?,
            self.scores.bind(py).to_vec()?,
        );
        let columns = vec![
            text("node", self.nodes.iter().cloned().map(Some)),
            column("feasible", Column::Bool(feasible)),
            column("score", Column::Int(scores)),
        ];
        Ok(made(columns)?.to_html())
    }

    fn __repr__(&self) -> String {
        let node = self.node.as_deref().unwrap_or("none");
        format!("<Evaluation of {} nodes, best: {node}>", self.nodes.len())
    }
}
