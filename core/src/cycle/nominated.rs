//! One node asked alone, with and without the pods that are nominated to it.
//!
//! Mirrors `RunFilterPluginsWithNominatedPods` of `framework/runtime/framework.go`: a node must
//! pass with the nominated pods of at least the pod's priority counted on it, and without them.
//! They are counted for the question and taken away after it, which costs what a placement does.

use super::plan::Plan;
use super::{Attempt, Lacks, Nominees, Refusal, Scratch, filter, room};
use crate::cluster::Cluster;
use crate::decision::AttemptError;
use crate::id::PodId;
use crate::plugins::{node_resources_fit, volume_restrictions};
use crate::queue::Queue;
use crate::table::Count;

/// Why one node was refused; `None`: it fits.
pub(crate) type Verdict = Option<(Refusal, Lacks)>;

/// What is needed to ask nodes one by one.
pub(crate) struct Probe<'a> {
    pub(crate) cluster: &'a mut Cluster,
    pub(crate) plan: &'a Plan,
    pub(crate) queue: &'a Queue,
    pub(crate) scratch: &'a mut Scratch,
    pub(crate) nominees: &'a Nominees,
    pub(crate) pod: PodId,
    /// The class' live slot.
    pub(crate) slot: usize,
}

impl Probe<'_> {
    /// Asks the filters about one row as it is now.
    pub(crate) fn plain(&mut self, row: u32) -> Result<Verdict, AttemptError> {
        let Some(pod) = self.cluster.pods.get(self.pod.index()) else {
            return Ok(None);
        };
        let attempt = Attempt::new(self.cluster, self.plan, pod, self.slot);
        self.scratch.begin_row(row);
        filter(attempt, Some(row), self.scratch, |_| {});
        if let Some(plugin) = self.scratch.unprepared {
            return Err(AttemptError::MissingState { plugin });
        }
        if let Some(failure) = self.scratch.failure() {
            return Err(failure);
        }
        Ok(self.scratch.refusal(row).map(|refusal| {
            let lacks = match refusal {
                Refusal::Fit => lacks(attempt, row),
                refusal if refusal.is_of_volumes() => self.scratch.volume_details(row, refusal),
                _ => Lacks::default(),
            };
            (refusal, lacks)
        }))
    }

    /// Asks about one row with its nominated pods; `None` where it has none that count.
    pub(crate) fn with_nominated(&mut self, row: u32) -> Result<Option<Verdict>, AttemptError> {
        // Both are read through their own references, so that the cluster can be changed.
        let (nominees, queue, own) = (self.nominees, self.queue, self.pod);
        let there = || room::counted(nominees, queue, row, own);
        let mut counted = 0_usize;
        let mut full = None;
        for pod in there() {
            let class = self.cluster.pods.get(pod.index()).map(|pod| pod.class);
            let room = class.map_or(Ok(()), |class| self.cluster.check_place(class, Some(row)));
            if let Err(error) = room {
                full = Some(AttemptError::Capacity(error));
                break;
            }
            count(self.cluster, self.scratch, pod, row, true);
            counted.count_up();
        }
        let verdict = match full {
            Some(full) => Err(full),
            None if counted == 0 => Ok(None),
            None => self.plain(row),
        };
        for pod in there().take(counted) {
            count(self.cluster, self.scratch, pod, row, false);
        }
        verdict.map(|verdict| (counted > 0).then_some(verdict))
    }

    /// The verdict on one row: with its nominated pods, then without.
    pub(crate) fn ask(&mut self, row: u32) -> Result<Verdict, AttemptError> {
        match self.with_nominated(row)? {
            Some(Some(refused)) => Ok(Some(refused)),
            _ => self.plain(row),
        }
    }
}

/// Counts a pod on a row for a question, or takes it away.
pub(crate) fn count(cluster: &mut Cluster, scratch: &mut Scratch, pod: PodId, row: u32, add: bool) {
    cluster.count_for_question(pod.0, row, add);
    if let Some(pod) = cluster.pods.get(pod.index()) {
        volume_restrictions::count(&mut scratch.volumes, cluster.class(pod.class), add);
    }
}

/// NodeResourcesFit's reasons for a row, as they are now.
pub(crate) fn lacks(attempt: Attempt<'_>, row: u32) -> Lacks {
    let mut found = Lacks::default();
    node_resources_fit::lacks(attempt, row as usize, |place, unresolvable| {
        found.unresolvable |= unresolvable;
        found.bits |= 1 << place.min(Lacks::LAST);
    });
    found
}
