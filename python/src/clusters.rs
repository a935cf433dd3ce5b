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
struct Cluster {
    core: Core,
    placed: Vec<PodId>,
    /// The place of the next pod.
    next: usize,
    /// By node, whether it fits the next pod.
    feasible: Vec<bool>,
    /// By node, the parts that are requested.
    parts: Vec<[f32; PARTS]>,
}

/// All of them.
struct World {
    pods: Vec<PodId>,
    clusters: Vec<Cluster>,
    /// Rows of the arrays, those without a node included.
    size: usize,
}

/// What is seen after a step, a row a cluster.
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
                let cluster = || Cluster {
                    core: core.clone(),
                    placed: Vec::with_capacity(pods.len()),
                    next: 0,
                    feasible: vec![false; nodes],
                    parts: core.nodes().map(|node| parts(core, node)).collect(),
                };
                let clusters = (0..count).map(|_| cluster()).collect();
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
            for cluster in &mut world.clusters {
                cluster.clear();
            }
            world.look(vec![0.0; world.clusters.len()])
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
            let pods = &world.pods;
            let pairs = world.clusters.iter_mut().zip(actions);
            let rewards = pairs.map(|(cluster, action)| cluster.act(pods, action as usize));
            let rewards = rewards.collect();
            world.look(rewards)
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
    /// Judges the next pod of each cluster.
    fn look(&mut self, rewards: Vec<f64>) -> Seen {
        let count = self.clusters.len();
        let mut seen = Seen {
            nodes: vec![0.0; count * self.size * SEEN],
            mask: vec![0; count * self.size],
            rewards,
            over: Vec::with_capacity(count),
        };
        let nodes = seen.nodes.chunks_exact_mut(self.size * SEEN);
        let masks = seen.mask.chunks_exact_mut(self.size);
        for ((cluster, nodes), mask) in self.clusters.iter_mut().zip(nodes).zip(masks) {
            cluster.look(&self.pods, nodes, mask);
            seen.over.push(cluster.next >= self.pods.len());
        }
        seen
    }
}

impl Cluster {
    fn clear(&mut self) {
        for pod in self.placed.drain(..) {
            self.core.forget(pod);
        }
        for (at, own) in self.parts.iter_mut().enumerate() {
            *own = parts(&self.core, NodeId(at as u32));
        }
        self.next = 0;
    }

    /// The reward of putting the next pod there.
    fn act(&mut self, pods: &[PodId], row: usize) -> f64 {
        let Some(pod) = pods.get(self.next).copied() else {
            self.clear();
            return 0.0;
        };
        self.next += 1;
        if self.feasible.get(row).copied().unwrap_or(false) {
            let node = NodeId(row as u32);
            if self.core.assume(pod, node) == Ok(true) {
                self.placed.push(pod);
                if let Some(own) = self.parts.get_mut(row) {
                    *own = parts(&self.core, node);
                }
                return 1.0;
            }
        }
        if self.feasible.contains(&true) {
            -1.0
        } else {
            0.0
        }
    }

    fn look(&mut self, pods: &[PodId], seen: &mut [f32], mask: &mut [i8]) {
        for (row, own) in seen.chunks_exact_mut(SEEN).zip(&self.parts) {
            for (place, part) in row.iter_mut().zip(own) {
                *place = *part;
            }
        }
        self.feasible.fill(false);
        let Some(pod) = pods.get(self.next).copied() else {
            return;
        };
        let decision = self.core.evaluate(pod);
        let best = self.core.feasible(&decision).map(|(_, total)| total).max();
        let best = best.unwrap_or(0).max(1) as f64;
        for (node, total) in self.core.feasible(&decision) {
            let at = node.index();
            if let Some([_, _, _, fits, score]) = seen.as_chunks_mut::<SEEN>().0.get_mut(at) {
                *fits = 1.0;
                *score = (total as f64 / best).clamp(0.0, 1.0) as f32;
            }
            if let Some((own, place)) = self.feasible.get_mut(at).zip(mask.get_mut(at)) {
                *own = true;
                *place = 1;
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
