//! A hash of what the loop knows beside the objects.

use super::Scheduler;
use crate::cluster::hash::Fold;
use crate::queue::Place;
use crate::table::Table;

impl Scheduler {
    /// Hash of the clock, the queue with its nominations, and where the next search begins. Two
    /// schedulers with this and [`state_hash`](Self::state_hash) equal that hear the same decide the
    /// same, but for what hangs on the order in which rows were taken.
    pub fn loop_hash(&self) -> u64 {
        let mut hash = Fold::new(10);
        hash.number(self.queue.now);
        hash.number(u64::from(self.start));
        hash.number(self.random.0);
        let mut sum = hash.finish();
        for pod in self.pods() {
            let item = self.queue.item(pod);
            if item.place == Place::Nowhere && item.nomination == 0 {
                continue;
            }
            let row = self.cluster.pods.at(pod);
            let mut hash = Fold::new(11);
            hash.words(&self.cluster, &[row.namespace, row.name, row.uid]);
            hash.words(&self.cluster, &[item.status_nomination, item.nomination]);
            let times = [
                item.timestamp,
                item.expiry,
                item.first_active,
                item.deadline,
            ];
            let counts = [item.attempts, item.rejections, item.errors].map(u64::from);
            let plugins = [item.rejectors.bits(), item.pending.bits()].map(u64::from);
            hash.number(item.place as u64);
            for number in times.iter().chain(&counts).chain(&plugins) {
                hash.number(*number);
            }
            sum = sum.wrapping_add(hash.finish());
        }
        sum
    }
}
