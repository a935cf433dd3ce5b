//! Chains of pods: those of a node, and those of a class that are on nodes.
//!
//! A node's chain keeps the order of upstream's list of its pods, from its end: a pod that comes is
//! the last, and where one goes the last takes its place (`NodeInfo.RemovePod`). Of equal victims
//! preemption spares the first in that order.

use super::{Cluster, NONE, PodState};
use crate::id::PodId;
use crate::table::Table;

impl Cluster {
    /// Takes a pod off its node for a question; [`Self::put_back`] undoes it. Neither makes the
    /// node look changed, and the pod keeps its place in the node's chain.
    pub(crate) fn lift(&mut self, pod: PodId) -> Option<(u32, PodState)> {
        let entry = *self.pod(pod)?;
        if entry.row == NONE {
            return None;
        }
        self.count(pod.0, entry.row, false);
        self.leave_class_chain(pod.0);
        self.set_pod_row(pod.0, NONE);
        Some((entry.row, entry.state))
    }

    pub(crate) fn put_back(&mut self, pod: PodId, (row, state): (u32, PodState)) {
        self.count(pod.0, row, true);
        self.join_class_chain(pod.0);
        self.set_pod_row(pod.0, row);
        self.set_pod_state(pod.0, state);
    }

    /// Pods on a node, the latest first.
    pub(crate) fn pods_on(&self, row: usize) -> impl Iterator<Item = PodId> + '_ {
        let mut at = self.nodes.at(row).first_pod;
        core::iter::from_fn(move || {
            let pod = self.pods.get(at as usize)?;
            let id = PodId(at);
            at = pod.next;
            Some(id)
        })
    }

    /// The next pod on the same node.
    pub(super) fn pod_after(&self, pod: PodId) -> Option<PodId> {
        let next = self.pods.at(pod).next;
        (next != NONE).then_some(PodId(next))
    }

    /// Counts a pod on a row and puts it at the head of the row's and its class' chains.
    pub(super) fn link(&mut self, at: u32, row: u32) {
        self.count(at, row, true);
        self.join_class_chain(at);
        self.set_pod_row(at, row);
        self.join_node_chain(at, row);
    }

    pub(super) fn unlink(&mut self, at: u32) {
        let row = self.pods.at(at).row;
        self.count(at, row, false);
        self.leave_class_chain(at);
        // The last pod takes the place of the one that goes.
        let last = self.nodes.at(row).first_pod;
        self.leave_node_chain(last, row);
        if last != at {
            let gone = *self.pods.at(at);
            if let Some(previous) = self.pods.get_mut(gone.previous as usize) {
                previous.next = last;
            } else if let Some(node) = self.nodes.at_mut(row) {
                node.first_pod = last;
            }
            if let Some(next) = self.pods.get_mut(gone.next as usize) {
                next.previous = last;
            }
            if let Some(pod) = self.pods.at_mut(last) {
                pod.next = gone.next;
                pod.previous = gone.previous;
            }
        }
        self.set_pod_row(at, NONE);
    }

    fn set_pod_row(&mut self, at: u32, row: u32) {
        if let Some(pod) = self.pods.at_mut(at) {
            pod.row = row;
        }
    }

    fn join_node_chain(&mut self, at: u32, row: u32) {
        let Some(node) = self.nodes.at_mut(row) else {
            return;
        };
        let next = core::mem::replace(&mut node.first_pod, at);
        if let Some(pod) = self.pods.get_mut(next as usize) {
            pod.previous = at;
        }
        if let Some(pod) = self.pods.at_mut(at) {
            pod.next = next;
            pod.previous = NONE;
        }
    }

    /// Takes the head off.
    fn leave_node_chain(&mut self, head: u32, row: u32) {
        let next = self.pods.at(head).next;
        if let Some(node) = self.nodes.at_mut(row) {
            node.first_pod = next;
        }
        if let Some(next) = self.pods.get_mut(next as usize) {
            next.previous = NONE;
        }
    }

    fn join_class_chain(&mut self, at: u32) {
        let class = self.pods.at(at).class;
        let Some(links) = self.class_links.at_mut(class) else {
            return;
        };
        let next = core::mem::replace(&mut links.first_pod, at);
        if let Some(pod) = self.pods.get_mut(next as usize) {
            pod.class_previous = at;
        }
        if let Some(pod) = self.pods.at_mut(at) {
            pod.class_next = next;
            pod.class_previous = NONE;
        }
    }

    fn leave_class_chain(&mut self, at: u32) {
        let pod = *self.pods.at(at);
        if let Some(previous) = self.pods.get_mut(pod.class_previous as usize) {
            previous.class_next = pod.class_next;
        } else if let Some(links) = self.class_links.at_mut(pod.class) {
            links.first_pod = pod.class_next;
        }
        if let Some(next) = self.pods.get_mut(pod.class_next as usize) {
            next.class_previous = pod.class_previous;
        }
    }
}
