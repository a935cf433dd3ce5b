//! `NodeResourcesFit`: requests fit beside what the node's pods ask; its score prefers free or full
//! nodes.
//!
//! Mirrors `plugins/noderesources/{fit,least_allocated,most_allocated,requested_to_capacity_ratio}.go`.
//! Reasons: [`TOO_MANY_PODS`], then `Insufficient NAME` for each resource; a reason is unresolvable
//! where the request exceeds what is allocatable. Sums do not wrap: differs from kube-scheduler.

use crate::class::Scalar;
use crate::cluster::Cluster;
use crate::cycle::Attempt;
use crate::cycle::plan::{Plan, Strategy, Target};
use crate::kernel::{CPU, EPHEMERAL, MEMORY, NodeBlock, Request, naive, word};
use crate::node_set::lanes;
use crate::table::Table;

/// Given where the node takes no further pod.
pub const TOO_MANY_PODS: &str = "Too many pods";

/// Places of this plugin's reasons: too many pods, then cpu, memory and ephemeral storage, then the
/// class' other resources in their order.
pub(crate) const PODS_PLACE: usize = 0;
pub(crate) const MAIN_PLACE: usize = 1;
pub(crate) const SCALAR_PLACE: usize = 4;
/// The first place behind cpu and memory, which the kernel judges.
const OTHER_PLACE: usize = MAIN_PLACE + EPHEMERAL;

/// Marks in `short` the rows on which the class does not fit.
pub(crate) fn filter_all(attempt: Attempt<'_>, short: &mut [u64]) {
    let request = request(attempt);
    let fast = request.is_fast();
    // Most classes ask for cpu and memory alone: the kernel has judged all but wide lanes then.
    let asks_other = attempt.class.class.amounts.spec[EPHEMERAL] != 0
        || attempt.class.scalars().next().is_some();
    let blocks = attempt.cluster.blocks.iter().zip(short);
    for (first, (block, short)) in (0..).step_by(64).zip(blocks) {
        *short = !block.slots;
        if fast {
            *short |= word::exceeding(block, &request) & !block.wide;
        }
        let slow = if fast { block.wide } else { u64::MAX };
        let judged = if asks_other { u64::MAX } else { slow };
        for lane in lanes(block.present & judged & !*short) {
            let lacks = slow & 1 << lane != 0 && lacks_main(attempt, block, lane)
                || lacks_other(attempt, block, first | lane);
            *short |= u64::from(lacks) << lane;
        }
    }
}

/// Whether the class does not fit on the row, which is one of `block`.
pub(crate) fn is_short(attempt: Attempt<'_>, block: &NodeBlock, row: usize) -> bool {
    let (request, lane) = (request(attempt), row % 64);
    let fast = request.is_fast() && block.wide & 1 << lane == 0;
    block.slots & 1 << lane == 0
        || fast && word::exceeds(block, &request, lane)
        || !fast && lacks_main(attempt, block, lane)
        || lacks_other(attempt, block, row)
}

/// Whether cpu or memory is short.
fn lacks_main(attempt: Attempt<'_>, block: &NodeBlock, lane: usize) -> bool {
    let spec = attempt.class.class.amounts.spec;
    [CPU, MEMORY].into_iter().zip(spec).any(|(resource, spec)| {
        let (allocatable, requested) = block.amounts(resource, lane);
        naive::exceeds(spec, allocatable, requested)
    })
}

/// Whether ephemeral storage or a scalar is short.
fn lacks_other(attempt: Attempt<'_>, block: &NodeBlock, row: usize) -> bool {
    let (spec, lane) = (attempt.class.class.amounts.spec[EPHEMERAL], row % 64);
    let (allocatable, requested) = block.amounts(EPHEMERAL, lane);
    naive::exceeds(spec, allocatable, requested)
        || attempt.class.scalars().any(|scalar| {
            scalar.spec > 0
                && lacks_scalar(attempt, scalar, row)
                && !is_ignored(attempt.plan, attempt.cluster, scalar)
        })
}

/// The place of every reason to refuse the row, ascending, and whether it is unresolvable.
pub(crate) fn lacks(attempt: Attempt<'_>, row: usize, mut give: impl FnMut(usize, bool)) {
    let (block, lane) = attempt.cluster.block(row);
    if block.slots & 1 << lane == 0 {
        give(PODS_PLACE, false);
    }
    let spec = attempt.class.class.amounts.spec;
    let main = [CPU, MEMORY, EPHEMERAL].into_iter().zip(spec);
    for (place, (resource, spec)) in (MAIN_PLACE..).zip(main) {
        let (allocatable, requested) = block.amounts(resource, lane);
        if naive::exceeds(spec, allocatable, requested) {
            give(place, naive::exceeds(spec, allocatable, 0));
        }
    }
    for (place, scalar) in (SCALAR_PLACE..).zip(attempt.class.scalars()) {
        if scalar.spec > 0
            && lacks_scalar(attempt, scalar, row)
            && !is_ignored(attempt.plan, attempt.cluster, scalar)
        {
            let allocatable = attempt.cluster.resources.allocatable(scalar.resource, row);
            give(place, naive::exceeds(scalar.spec, allocatable, 0));
        }
    }
}

/// [`lacks`] of the rows of a block whose bits in `among` are set: for each reason, the rows that have
/// it, and of these those for which it is unresolvable.
pub(crate) fn lacking(
    attempt: Attempt<'_>,
    block_at: usize,
    among: u64,
    mut give: impl FnMut(usize, u64, u64),
) {
    let block = attempt.cluster.blocks.at(block_at);
    give(PODS_PLACE, among & !block.slots, 0);
    let request = request(attempt);
    let fast = if request.is_fast() {
        among & !block.wide
    } else {
        0
    };
    if fast != 0 {
        for (place, resource) in (MAIN_PLACE..).zip([CPU, MEMORY]) {
            let [now, ever] = word::lacking(block, &request, resource);
            give(place, now & fast, ever & fast);
        }
    }
    let asks_other = attempt.class.class.amounts.spec[EPHEMERAL] != 0
        || attempt.class.scalars().next().is_some();
    let rest = if asks_other { among } else { among & !fast };
    for lane in lanes(rest) {
        let (row, bit) = (block_at.saturating_mul(64) | lane, 1 << lane);
        let told = if fast & bit == 0 {
            MAIN_PLACE
        } else {
            OTHER_PLACE
        };
        lacks(attempt, row, |place, for_good| {
            if place >= told {
                give(place, bit, if for_good { bit } else { 0 });
            }
        });
    }
}

fn lacks_scalar(attempt: Attempt<'_>, scalar: Scalar, row: usize) -> bool {
    let resources = &attempt.cluster.resources;
    let allocatable = resources.allocatable(scalar.resource, row);
    naive::exceeds(
        scalar.spec,
        allocatable,
        resources.requested(scalar.resource, row),
    )
}

/// Only extended resources can be ignored, by name or by the part before the slash.
fn is_ignored(profile: &Plan, cluster: &Cluster, scalar: Scalar) -> bool {
    if profile.ignored_resources.is_empty() && profile.ignored_groups.is_empty() {
        return false;
    }
    let name = cluster.texts.text(cluster.resources.name(scalar.resource));
    let group = name.split('/').next().unwrap_or_default();
    crate::requests::class(name).is_extended()
        && (profile.ignored_resources.iter().any(|own| own == name)
            || profile.ignored_groups.iter().any(|own| own == group))
}

/// What the class asks of cpu and memory.
pub(crate) fn request(attempt: Attempt<'_>) -> Request {
    let amounts = &attempt.class.class.amounts;
    let main = |amounts: &[i64; 3]| [amounts[CPU], amounts[MEMORY]];
    Request {
        spec: main(&amounts.spec),
        score: main(&amounts.score),
        status: main(&amounts.status),
    }
}

/// The scores of all rows.
pub(crate) fn score_all(attempt: Attempt<'_>, scores: &mut [u8]) {
    let request = request(attempt);
    let fast = attempt.plan.fit_weights.filter(|_| request.is_fast());
    let blocks = attempt.cluster.blocks.iter().zip(scores.as_chunks_mut().0);
    for (first, (block, out)) in (0..).step_by(64).zip(blocks) {
        let mut slow = block.present;
        if let Some((strategy, weights)) = fast {
            word::fit_scores(block, &request, strategy, weights, out);
            slow &= block.wide;
        }
        for lane in lanes(slow) {
            out.set(lane, naive_score(attempt, first | lane) as u8);
        }
    }
}

/// The score of one row, which is one of `block`.
pub(crate) fn score_of(attempt: Attempt<'_>, block: &NodeBlock, row: usize) -> u8 {
    let (request, lane) = (request(attempt), row % 64);
    match attempt.plan.fit_weights {
        Some((strategy, weights)) if request.is_fast() && block.wide & 1 << lane == 0 => {
            word::fit_score(block, &request, strategy, weights, lane)
        }
        _ => naive_score(attempt, row) as u8,
    }
}

/// The score of one row by the configured strategy and resources.
pub(crate) fn naive_score(attempt: Attempt<'_>, row: usize) -> i64 {
    let profile = attempt.plan;
    let parts = profile.fit_resources.iter().filter_map(|(target, weight)| {
        let (allocatable, requested) = amounts(attempt, *target, row)?;
        let score = match &profile.strategy {
            Strategy::Least => naive::least_allocated(allocatable, requested),
            Strategy::Most => naive::most_allocated(allocatable, requested),
            Strategy::Ratio(shape) => naive::requested_to_capacity(shape, allocatable, requested),
        };
        Some((score, *weight))
    });
    match profile.strategy {
        Strategy::Ratio(_) => naive::weighted_mean_of_positive(parts),
        _ => naive::weighted_mean(parts),
    }
}

/// Allocatable, and what is requested with the pod; `None` where the resource takes no part.
fn amounts(attempt: Attempt<'_>, target: Target, row: usize) -> Option<(i64, i128)> {
    let cluster = attempt.cluster;
    let asked = &attempt.class.class.amounts.score;
    let (block, lane) = cluster.block(row);
    let (allocatable, taken, asked) = match target {
        Target::Main(resource) => {
            let (allocatable, requested) = block.amounts(resource, lane);
            let non_zero = block.non_zero.get(resource).map(|column| *column.at(lane));
            // Ephemeral storage has no sum with defaults.
            (
                allocatable,
                non_zero.unwrap_or(requested),
                *asked.get(resource)?,
            )
        }
        Target::Scalar(id) => {
            let asked = attempt
                .class
                .scalars()
                .find(|scalar| scalar.resource == id)?
                .score;
            if asked == 0 {
                return None;
            }
            let resources = &cluster.resources;
            (
                resources.allocatable(id, row),
                resources.requested(id, row),
                asked,
            )
        }
        Target::Nothing => return None,
    };
    (allocatable != 0).then(|| (allocatable, taken.saturating_add(i128::from(asked))))
}
