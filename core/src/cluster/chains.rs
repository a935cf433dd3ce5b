//! Chains of pods: those of a node, and those of a class that are on nodes.

use super::{Cluster, NONE, PodState};
use crate::id::PodId;
use crate::table::Table;

impl Cluster {
    /// Takes a pod off its node for a question; [`Self::put_back`] undoes it. Neither makes the
    /// node look changed.
    pub(crate) fn lift(&mut self, pod: PodId) -> Option<(u32, PodState)> {
        let entry = *self.pod(pod)?;
        if entry.row == NONE {
            return None;
        }
        self.unlink(pod.0);
        Some((entry.row, entry.state))
    }

    pub(crate) fn put_back(&mut self, pod: PodId, (row, state): (u32, PodState)) {
        self.link(pod.0, row);
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
        self.join_node_chain(at, row);
    }

    pub(super) fn unlink(&mut self, at: u32) {
        let row = self.pods.at(at).row;
        self.count(at, row, false);
        self.leave_class_chain(at);
        self.leave_node_chain(at, row);
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
            pod.row = row;
            pod.next = next;
            pod.previous = NONE;
        }
    }

    fn leave_node_chain(&mut self, at: u32, row: u32) {
        let pod = *self.pods.at(at);
        if let Some(previous) = self.pods.get_mut(pod.previous as usize) {
            previous.next = pod.next;
        } else if let Some(node) = self.nodes.at_mut(row) {
            node.first_pod = pod.next;
        }
        if let Some(next) = self.pods.get_mut(pod.next as usize) {
            next.previous = pod.previous;
        }
        if let Some(pod) = self.pods.at_mut(at) {
            pod.row = NONE;
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
