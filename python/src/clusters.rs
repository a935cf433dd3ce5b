//! Many clusters of the same nodes that place the same pods in turn, stepped in one call.
//!
//! What `berth.gym.VectorPlacementEnv` is made of where the default reward and observation are asked
//! for. The pods wait in every cluster from the start and count for nothing there until they are
//! placed; an episode ends by taking the placed ones off their nodes.

use crate::error::Failure;
use crate::guard::Guard;
use crate::options::whole;
use crate::scheduler::Scheduler;
use berth_core::Scheduler as Core;
use berth_core::id::{NodeId, PodId};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Numbers that are seen of a node: the parts of cpu, memory and pods that are requested, whether the
/// next pod fits, and its score as a part of the best one.
const SEEN: usize = 5;
/// Those of them that pods on the node change.
const PARTS: usize = 3;

/// One of them.
#[derive(Clone)]
struct Cluster {
    core: Core,
    placed: Vec<PodId>,
    /// The place of the next pod.
    next: usize,
    /// By node, what is seen of it.
    seen: Vec<[f32; SEEN]>,
    /// By node, 1 if it fits the next pod.
    mask: Vec<i8>,
    /// The nodes that do, each with its total.
    feasible: Vec<(NodeId, i64)>,
}

/// All of them.
struct World {
    pods: Vec<PodId>,
    clusters: Vec<Cluster>,
    /// Rows of the arrays, those without a node included.
    size: usize,
}

/// What is seen after a step, cluster by cluster.
struct Seen {
    nodes: Vec<f32>,
    mask: Vec<i8>,
    rewards: Vec<f64>,
    over: Vec<bool>,
}

type Step<'py> = (
    Bound<'py, PyArray3<f32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray2<i8>>,
);

/// Many clusters of the same nodes that place the same pods in turn.
///
/// scheduler: its nodes, and its waiting pods, which are copied; no node may have gone from it.
/// pods: names of the pods, in the order in which they are to be placed.
/// count: how many clusters.
/// size: rows of the arrays, at least as many as there are nodes.
#[pyclass(frozen, module = "berth")]
pub struct Clusters {
    world: Guard<World>,
    count: usize,
    size: usize,
}

#[pymethods]
impl Clusters {
    #[new]
    fn new(
        scheduler: &Bound<'_, Scheduler>,
        pods: Vec<String>,
        #[pyo3(from_py_with = whole)] count: usize,
        #[pyo3(from_py_with = whole)] size: usize,
    ) -> PyResult<Self> {
        let made = scheduler.get().call(scheduler.py(), |session| {
            let world = &session.world;
            let core = world.scheduler();
            let pods = pods.into_iter().map(|name| world.find(&name));
            let pods = pods.collect::<Result<Vec<_>, _>>()?;
            let nodes = core.nodes().count();
            let is_whole = core.node_rows() == nodes && nodes <= size;
            Ok(is_whole.then(|| {
                let mut first = Cluster::new(core.clone(), nodes, pods.len());
                first.settle(&pods);
                let clusters = (0..count).map(|_| first.clone()).collect();
                World {
                    pods,
                    clusters,
                    size,
                }
            }))
        })?;
        let absent =
            || PyValueError::new_err("size: expected a row for each node, of which none went");
        Ok(Self {
            world: Guard::new(made.ok_or_else(absent)?),
            count,
            size,
        })
    }

    /// All clusters empty again: what `step` gives.
    fn reset<'py>(&self, py: Python<'py>) -> PyResult<Step<'py>> {
        self.told(py, |world| {
            world.each(|cluster, _, _| {
                cluster.clear();
                0.0
            })
        })
    }

    /// In each cluster binds the pod that is next to the node of this row, if it fits there, and goes on to
    /// the next one; a cluster whose pods have all had their turn is emptied instead.
    ///
    /// Returns what is seen of the nodes (float32, clusters x size x 5), the rewards (1 for a pod that was
    /// placed, -1 for one that fits somewhere and was not), whether the pods have all had their turn, and
    /// where the next pod fits (int8, clusters x size).
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: &Bound<'py, PyArray1<i64>>,
    ) -> PyResult<Step<'py>> {
        let actions = actions.try_readonly()?.as_array().to_vec();
        let size = self.size as i64;
        if actions.len() != self.count || actions.iter().any(|own| !(0..size).contains(own)) {
            let text = format!(
                "actions: expected {} of 0 to {}",
                self.count,
                self.size.saturating_sub(1)
            );
            return Err(PyValueError::new_err(text));
        }
        self.told(py, move |world| {
            world.each(|cluster, at, pods| {
                let action = actions.get(at).copied().unwrap_or(0);
                cluster.act(pods, action as usize)
            })
        })
    }
}

impl Clusters {
    fn told<'py>(
        &self,
        py: Python<'py>,
        ask: impl FnOnce(&mut World) -> Seen + Send,
    ) -> PyResult<Step<'py>> {
        let seen = py.detach(|| self.world.call(ask));
        let seen = seen.map_err(Failure::from)?;
        let nodes = PyArray1::from_vec(py, seen.nodes);
        Ok((
            nodes.reshape([self.count, self.size, SEEN])?,
            PyArray1::from_vec(py, seen.rewards),
            PyArray1::from_vec(py, seen.over),
            PyArray1::from_vec(py, seen.mask).reshape([self.count, self.size])?,
        ))
    }
}

impl World {
    /// Does something with each cluster, which gives its reward, and judges its next pod: one cluster
    /// after another, as the processor's caches hold few of them.
    fn each(&mut self, mut act: impl FnMut(&mut Cluster, usize, &[PodId]) -> f64) -> Seen {
        let count = self.clusters.len();
        let mut seen = Seen {
            nodes: Vec::with_capacity(count * self.size * SEEN),
            mask: Vec::with_capacity(count * self.size),
            rewards: Vec::with_capacity(count),
            over: Vec::with_capacity(count),
        };
        for (at, cluster) in self.clusters.iter_mut().enumerate() {
            seen.rewards.push(act(cluster, at, &self.pods));
            cluster.judge(&self.pods);
            seen.over.push(cluster.next >= self.pods.len());
            seen.nodes.extend_from_slice(cluster.seen.as_flattened());
            seen.nodes.resize((at + 1) * self.size * SEEN, 0.0);
            seen.mask.extend_from_slice(&cluster.mask);
            seen.mask.resize((at + 1) * self.size, 0);
        }
        seen
    }
}

impl Cluster {
    /// An empty one of so many nodes.
    fn new(core: Core, nodes: usize, pods: usize) -> Self {
        let mut own = Self {
            core,
            placed: Vec::with_capacity(pods),
            next: 0,
            seen: vec![[0.0; SEEN]; nodes],
            mask: vec![0; nodes],
            feasible: Vec::with_capacity(nodes),
        };
        own.clear();
        own
    }

    /// Makes an attempt, which leaves the order of the nodes behind: without one every evaluation
    /// would find it for itself.
    fn settle(&mut self, pods: &[PodId]) {
        for pod in pods.iter().take(1) {
            self.core.schedule(*pod);
            self.core.forget(*pod);
        }
    }

    fn clear(&mut self) {
        for pod in self.placed.drain(..) {
            self.core.forget(pod);
        }
        for row in 0..self.seen.len() {
            self.look(row);
        }
        self.next = 0;
    }

    /// Looks at what is requested of a node.
    fn look(&mut self, row: usize) {
        let parts = parts(&self.core, NodeId(row as u32));
        let seen = self.seen.get_mut(row).map(|seen| seen.iter_mut());
        for (place, part) in seen.into_iter().flatten().zip(parts) {
            *place = part;
        }
    }

    /// The reward of putting the next pod there.
    fn act(&mut self, pods: &[PodId], row: usize) -> f64 {
        let Some(pod) = pods.get(self.next).copied() else {
            self.clear();
            return 0.0;
        };
        self.next += 1;
        let is_feasible = self.mask.get(row) == Some(&1);
        if is_feasible && self.core.assume(pod, NodeId(row as u32)) == Ok(true) {
            self.placed.push(pod);
            self.look(row);
            return 1.0;
        }
        if self.feasible.is_empty() { 0.0 } else { -1.0 }
    }

    /// Where the next pod fits, and how well.
    fn judge(&mut self, pods: &[PodId]) {
        for [_, _, _, fits, score] in &mut self.seen {
            (*fits, *score) = (0.0, 0.0);
        }
        self.mask.fill(0);
        self.feasible.clear();
        let Some(pod) = pods.get(self.next).copied() else {
            return;
        };
        let decision = self.core.evaluate(pod);
        self.feasible.extend(self.core.feasible(&decision));
        let best = self.feasible.iter().map(|(_, total)| *total).max();
        let best = best.unwrap_or(0).max(1) as f64;
        for (node, total) in &self.feasible {
            let seen = self.seen.get_mut(node.index());
            if let Some(([_, _, _, fits, score], mask)) = seen.zip(self.mask.get_mut(node.index()))
            {
                (*fits, *mask) = (1.0, 1);
                *score = (*total as f64 / best).clamp(0.0, 1.0) as f32;
            }
        }
    }
}

/// The parts of cpu, memory and pods that are requested of a node.
fn parts(core: &Core, node: NodeId) -> [f32; PARTS] {
    let view = core.node(node);
    let mut amounts = view.resources();
    let main = [amounts.next(), amounts.next()].into_iter().flatten();
    let pods = ("pods", i128::from(view.pods), view.pods_allocatable);
    let mut parts = [0.0; PARTS];
    for (place, (_, requested, allocatable)) in parts.iter_mut().zip(main.chain([pods])) {
        let part = requested as f64 / allocatable.max(1) as f64;
        *place = part.clamp(0.0, 1.0) as f32;
    }
    parts
}
