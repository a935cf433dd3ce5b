//! A row of which nothing but its room can say no: whether a pod fits there, in plain sums, also with
//! pods counted in or out.
//!
//! Only where the pod's class, the other pods' terms and the row's static sets leave no other reason. What
//! [`Probe`](super::Probe) does elsewhere, counting pods on the cluster and asking the filters, is the
//! specification.

use super::{Attempt, Lacks, Nominees, Refusal, Verdict, best};
use crate::class::Amounts;
use crate::cluster::Cluster;
use crate::id::PodId;
use crate::kernel::naive;
use crate::node_set;
use crate::plugins::node_resources_fit::{MAIN_PLACE, PODS_PLACE};
use crate::plugins::{Plugin, inter_pod_affinity};
use crate::queue::Queue;
use crate::table::{Count, Table};

/// What a row has and what its pods take of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    allocatable: [i64; 3],
    requested: [i128; 3],
    pods: u32,
    pods_allocatable: i64,
}

/// Where room alone decides on a pod.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ByRoom {
    /// On rows that no static set refuses.
    plain: bool,
    /// There also with pods counted that are not there yet.
    with_nominees: bool,
}

impl ByRoom {
    /// Whether room alone decides on rows to which no pod is nominated.
    pub(crate) const fn plain(self) -> bool {
        self.plain
    }

    pub(crate) fn of(attempt: Attempt<'_>) -> Self {
        let plain = attempt.plan.kept.is_some()
            && attempt.plan.filters.contains(&Plugin::NodeResourcesFit)
            && attempt.class.scalars().next().is_none()
            && best::is_filtered_by_row(attempt)
            && inter_pod_affinity::nobody_keeps_apart(attempt);
        let mut felt = attempt.cluster.live.felt(attempt.slot);
        Self {
            plain,
            with_nominees: plain && felt.next().is_none(),
        }
    }
}

impl Room {
    /// The row's room for the pod; `None` where more than room decides.
    pub(crate) fn of(
        attempt: Attempt<'_>,
        by_room: ByRoom,
        nominees: &Nominees,
        row: u32,
    ) -> Option<Self> {
        let decides = if nominees.any(row) {
            by_room.with_nominees
        } else {
            by_room.plain
        };
        if !decides {
            return None;
        }
        let kept = attempt.plan.kept.as_ref()?;
        let mut refusing = kept.refusing.iter().map(|kind| attempt.bits(*kind));
        if refusing.any(|set| node_set::contains(set, row)) {
            return None;
        }
        let (block, lane) = attempt.cluster.block(row as usize);
        let amounts = [0, 1, 2].map(|resource| block.amounts(resource, lane));
        Some(Self {
            allocatable: amounts.map(|own| own.0),
            requested: amounts.map(|own| own.1),
            pods: *block.pods.at(lane),
            pods_allocatable: *block.pods_allocatable.at(lane),
        })
    }

    /// Counts a pod in or out.
    pub(crate) fn count(&mut self, cluster: &Cluster, pod: PodId, add: bool) {
        for (sum, amount) in self.requested.iter_mut().zip(amounts(cluster, pod).status) {
            let amount = i128::from(amount);
            *sum = sum.saturating_add(if add { amount } else { amount.saturating_neg() });
        }
        if add {
            self.pods.count_up();
        } else {
            self.pods.count_down();
        }
    }

    /// Whether a pod fits, and if not, why. Mirrors [`Probe::plain`](super::Probe::plain).
    pub(crate) fn plain(&self, cluster: &Cluster, pod: PodId) -> Verdict {
        let mut lacks = Lacks::default();
        if i64::from(self.pods) >= self.pods_allocatable {
            lacks.bits |= 1 << PODS_PLACE;
        }
        let taken = self.allocatable.into_iter().zip(self.requested);
        let main = amounts(cluster, pod).spec.into_iter().zip(taken);
        for (place, (spec, (allocatable, requested))) in (MAIN_PLACE..).zip(main) {
            if naive::exceeds(spec, allocatable, requested) {
                lacks.bits |= 1 << place;
                lacks.unresolvable |= naive::exceeds(spec, allocatable, 0);
            }
        }
        (lacks.bits != 0).then_some((Refusal::Fit, lacks))
    }

    /// The same with these pods counted in; `None` without any.
    pub(crate) fn with(
        &self,
        cluster: &Cluster,
        nominees: impl Iterator<Item = PodId>,
        pod: PodId,
    ) -> Option<Verdict> {
        let mut room = *self;
        let mut any = false;
        for nominee in nominees {
            room.count(cluster, nominee, true);
            any = true;
        }
        any.then(|| room.plain(cluster, pod))
    }
}

/// Pods nominated to a row that count for a pod: those of at least its priority.
pub(crate) fn counted<'a>(
    nominees: &'a Nominees,
    queue: &'a Queue,
    row: u32,
    pod: PodId,
) -> impl Iterator<Item = PodId> + 'a {
    let priority = queue.item(pod).priority;
    let counts = move |own: &PodId| *own != pod && queue.item(*own).priority >= priority;
    nominees.of(row).filter(counts)
}

/// What a pod asks for.
fn amounts(cluster: &Cluster, pod: PodId) -> Amounts {
    let class = cluster.pods.get(pod.index()).map(|pod| pod.class);
    class.map_or_else(Amounts::default, |class| cluster.class(class).class.amounts)
}
