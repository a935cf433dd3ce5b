//! Chains of pods: those of a node, and those of a class that are on nodes.
//!
//! A node's chain keeps the order of upstream's list of its pods, from its end: a pod that comes is
//! the last, and where one goes the last takes its place (`NodeInfo.RemovePod`). Of equal victims
//! preemption spares the first in that order.

use super::{Cluster, NONE, PodState};
use crate::id::PodId;

impl Cluster {
    /// Takes a pod off its node for a question; [`Self::put_back`] undoes it. Neither makes the
    /// node look changed, and the pod keeps its place in the node's chain.
    pub(crate) fn lift(&mut self, pod: PodId) -> Option<(u32, PodState)> {
        let entry = self.pods[pod.index()];
        if entry.row == NONE {
            return None;
        }
        self.count(pod.0, entry.row, false);
        self.leave_class_chain(pod.0);
        self.pods[pod.index()].row = NONE;
        Some((entry.row, entry.state))
    }

    pub(crate) fn put_back(&mut self, pod: PodId, (row, state): (u32, PodState)) {
        self.count(pod.0, row, true);
        self.join_class_chain(pod.0);
        let entry = &mut self.pods[pod.index()];
        entry.row = row;
        entry.state = state;
    }

    /// Pods on a node, the latest first.
    pub(crate) fn pods_on(&self, row: usize) -> impl Iterator<Item = PodId> + '_ {
        let mut at = self.nodes[row].first_pod;
        core::iter::from_fn(move || {
            let pod = self.pods.get(at as usize)?;
            let id = PodId(at);
            at = pod.next;
            Some(id)
        })
    }

    /// The next pod on the same node.
    pub(super) fn pod_after(&self, pod: PodId) -> Option<PodId> {
        let next = self.pods[pod.index()].next;
        (next != NONE).then_some(PodId(next))
    }

    /// Counts a pod on a row and puts it at the head of the row's and its class' chains.
    pub(super) fn link(&mut self, at: u32, row: u32) {
        self.count(at, row, true);
        self.join_class_chain(at);
        self.pods[at as usize].row = row;
        self.join_node_chain(at, row);
    }

    pub(super) fn unlink(&mut self, at: u32) {
        let row = self.pods[at as usize].row;
        self.count(at, row, false);
        self.leave_class_chain(at);
        // The last pod takes the place of the one that goes.
        let last = self.nodes[row as usize].first_pod;
        self.leave_node_chain(last, row);
        if last != at {
            let gone = self.pods[at as usize];
            match self.pods.get_mut(gone.previous as usize) {
                Some(previous) => previous.next = last,
                None => self.nodes[row as usize].first_pod = last,
            }
            if let Some(next) = self.pods.get_mut(gone.next as usize) {
                next.previous = last;
            }
            let pod = &mut self.pods[last as usize];
            pod.next = gone.next;
            pod.previous = gone.previous;
        }
        self.pods[at as usize].row = NONE;
    }

    fn join_node_chain(&mut self, at: u32, row: u32) {
        let next = core::mem::replace(&mut self.nodes[row as usize].first_pod, at);
        if let Some(pod) = self.pods.get_mut(next as usize) {
            pod.previous = at;
        }
        let pod = &mut self.pods[at as usize];
        pod.next = next;
        pod.previous = NONE;
    }

    /// Takes the head off.
    fn leave_node_chain(&mut self, head: u32, row: u32) {
        let next = self.pods[head as usize].next;
        self.nodes[row as usize].first_pod = next;
        if let Some(next) = self.pods.get_mut(next as usize) {
            next.previous = NONE;
        }
    }

    fn join_class_chain(&mut self, at: u32) {
        let class = self.pods[at as usize].class.index();
        let next = core::mem::replace(&mut self.class_links[class].first_pod, at);
        if let Some(pod) = self.pods.get_mut(next as usize) {
            pod.class_previous = at;
        }
        let pod = &mut self.pods[at as usize];
        pod.class_next = next;
        pod.class_previous = NONE;
    }

    fn leave_class_chain(&mut self, at: u32) {
        let pod = self.pods[at as usize];
        match self.pods.get_mut(pod.class_previous as usize) {
            Some(previous) => previous.class_next = pod.class_next,
            None => self.class_links[pod.class.index()].first_pod = pod.class_next,
        }
        if let Some(next) = self.pods.get_mut(pod.class_next as usize) {
            next.class_previous = pod.class_previous;
        }
    }
}
