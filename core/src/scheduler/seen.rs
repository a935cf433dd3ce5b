//! What the API server says of a pod, told without the pod's object.
//!
//! For callers that keep no objects, such as one that goes on from a state file.

use super::Scheduler;
use crate::capacity::CapacityExceeded;
use crate::cluster::{PodRow, PodState};
use crate::id::PodId;
use crate::intern::{release_texts, text_word};

impl Scheduler {
    /// A pod that is assumed on a node was seen with that node's name and without a nomination, as
    /// [`apply`](Self::apply) of its object would say. `false` if it is not assumed; nothing is
    /// changed then.
    pub fn seen_bound(&mut self, pod: PodId) -> bool {
        let Some(old) = self.row(pod).filter(|row| row.state == PodState::Assumed) else {
            return false;
        };
        let before = self.queue.item(pod);
        self.cluster.confirm(pod);
        if let Some(new) = self.row(pod) {
            if let Some(item) = self.queue.item_mut(pod) {
                item.status_nomination = 0;
            }
            self.queue.changed(pod, new.priority, new.class, new.pin);
            self.pod_updated(pod, &old, &new, &before, true);
        }
        release_texts(&[before.status_nomination], &mut self.cluster.texts);
        true
    }

    /// A pod that waits, or was placed and is not bound yet, was seen nominated to the node of this name,
    /// or to none if that is empty. `false` of any other; nothing is changed then.
    ///
    /// # Errors
    /// The name is new, and there is no room for it; nothing is changed then.
    pub fn seen_nominated(&mut self, pod: PodId, node: &str) -> Result<bool, CapacityExceeded> {
        let is_open = |row: &PodRow| matches!(row.state, PodState::Pending | PodState::Assumed);
        let Some(row) = self.row(pod).filter(is_open) else {
            return Ok(false);
        };
        let nomination = match node {
            "" => 0,
            name => text_word(self.cluster.texts.intern(name)?),
        };
        let before = self.queue.item(pod);
        if let Some(item) = self.queue.item_mut(pod) {
            item.status_nomination = nomination;
        }
        self.pod_updated(pod, &row, &row, &before, false);
        release_texts(&[before.status_nomination], &mut self.cluster.texts);
        Ok(true)
    }
}
