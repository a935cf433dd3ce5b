//! What every node says of a pod.

use crate::table::Column;
use crate::tables::{column, made, text};
use berth_core::id::NodeId;
use berth_core::{Decision, Outcome, Scheduler};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// What every node says of a pod: three columns of the same length, one entry a node.
#[pyclass(frozen, module = "berth")]
pub struct Evaluation {
    nodes: Arc<Nodes>,
    feasible: Py<PyArray1<bool>>,
    scores: Py<PyArray1<i64>>,
    /// The best node, if there is one.
    #[pyo3(get)]
    node: Option<String>,
}

/// The nodes that there are, in the order in which they came: what entries of arrays stand for.
pub struct Nodes {
    names: Vec<String>,
    /// In the core's table.
    pub rows: Vec<usize>,
}

impl Nodes {
    pub fn of(scheduler: &Scheduler) -> Self {
        let name = |node| scheduler.node(node).name.to_owned();
        Self {
            names: scheduler.nodes().map(name).collect(),
            rows: scheduler.nodes().map(NodeId::index).collect(),
        }
    }

    /// The values of these nodes out of those of all rows.
    fn pick<T: Copy>(&self, by_row: Vec<T>) -> Vec<T> {
        if by_row.len() == self.rows.len() {
            return by_row;
        }
        let rows = self.rows.iter();
        rows.filter_map(|row| by_row.get(*row).copied()).collect()
    }
}

/// The same before Python has it.
pub struct Columns {
    nodes: Arc<Nodes>,
    feasible: Vec<bool>,
    scores: Vec<i64>,
    node: Option<String>,
}

impl Columns {
    /// Of the last evaluation, which gave `decision`.
    pub fn of(scheduler: &Scheduler, nodes: Arc<Nodes>, decision: &Decision) -> Self {
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
        Self {
            feasible: nodes.pick(feasible),
            scores: nodes.pick(scores),
            nodes,
            node: match decision.outcome {
                Outcome::Scheduled(node) => Some(scheduler.node(node).name.to_owned()),
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
    /// Names of the nodes, in the order in which they came.
    #[getter]
    fn nodes(&self) -> &[String] {
        &self.nodes.names
    }

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
            text("node", self.nodes.names.iter().cloned().map(Some)),
            column("feasible", Column::Bool(feasible)),
            column("score", Column::Int(scores)),
        ];
        Ok(made(columns)?.to_html())
    }

    fn __repr__(&self) -> String {
        let node = self.node.as_deref().unwrap_or("none");
        format!(
            "<Evaluation of {} nodes, best: {node}>",
            self.nodes.names.len()
        )
    }
}
