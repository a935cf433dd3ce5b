//! `NodeResourcesBalancedAllocation`: prefers nodes whose resources the pod makes more evenly used.
//!
//! Mirrors `plugins/noderesources/balanced_allocation.go`. Works on real requests, and steps aside
//! for a pod that asks for none of the configured resources.

use super::{Plugin, node_resources_fit};
use crate::cycle::plan::Target;
use crate::cycle::{Attempt, Column};
use crate::kernel::{CPU, MEMORY, NodeBlock, Request, naive, word};
use crate::node_set::lanes;
use crate::table::Table;

pub(crate) fn score(attempt: Attempt<'_>) -> Column {
    let targets = &attempt.plan.balanced;
    if targets.iter().all(|target| asked(attempt, *target) == 0) {
        let skips = attempt
            .plan
            .pre_scores(Plugin::NodeResourcesBalancedAllocation);
        return if skips {
            Column::Absent
        } else {
            Column::Constant(0)
        };
    }
    Column::Kept
}

/// The scores of all rows.
pub(crate) fn score_all(attempt: Attempt<'_>, scores: &mut [u8]) {
    let (request, fast) = fast(attempt);
    let blocks = attempt.cluster.blocks.iter().zip(scores.as_chunks_mut().0);
    for (first, (block, out)) in (0..).step_by(64).zip(blocks) {
        let mut slow = block.present;
        if fast {
            word::balance_scores(block, &request, out);
            slow &= block.wide;
        }
        for lane in lanes(slow) {
            out.set(lane, naive_score(attempt, first | lane) as u8);
        }
    }
}

/// The score of one row, which is one of `block`.
pub(crate) fn score_of(attempt: Attempt<'_>, block: &NodeBlock, row: usize) -> u8 {
    let (request, fast) = fast(attempt);
    if fast && block.wide & 1 << (row % 64) == 0 {
        word::balance_score(block, &request, row % 64)
    } else {
        naive_score(attempt, row) as u8
    }
}

/// Whether the block kernel can score the request.
fn fast(attempt: Attempt<'_>) -> (Request, bool) {
    let request = node_resources_fit::request(attempt);
    let main = attempt.plan.balanced.as_slice() == [Target::Main(CPU), Target::Main(MEMORY)];
    (request, main && request.is_fast())
}

/// The score of one row by the configured resources.
pub(crate) fn naive_score(attempt: Attempt<'_>, row: usize) -> i64 {
    let fractions = |with_pod: bool| {
        attempt.plan.balanced.iter().filter_map(move |target| {
            let asked = asked(attempt, *target);
            if matches!(target, Target::Scalar(_)) && asked == 0 {
                return None;
            }
            let (allocatable, requested) = node_amounts(attempt, *target, row)?;
            let asked = if with_pod { i128::from(asked) } else { 0 };
            naive::fraction(allocatable, requested.saturating_add(asked))
        })
    };
    naive::balance_score(
        naive::balance(fractions(true)),
        naive::balance(fractions(false)),
    )
}

fn asked(attempt: Attempt<'_>, target: Target) -> i64 {
    match target {
        Target::Main(resource) => attempt
            .class
            .class
            .amounts
            .status
            .get(resource)
            .copied()
            .unwrap_or(0),
        Target::Scalar(id) => {
            let mut scalars = attempt.class.scalars();
            scalars
                .find(|scalar| scalar.resource == id)
                .map_or(0, |scalar| scalar.status)
        }
        Target::Nothing => 0,
    }
}

fn node_amounts(attempt: Attempt<'_>, target: Target, row: usize) -> Option<(i64, i128)> {
    let cluster = attempt.cluster;
    match target {
        Target::Main(resource) => {
            let (block, lane) = cluster.block(row);
            Some(block.amounts(resource, lane))
        }
        Target::Scalar(id) => Some((
            cluster.resources.allocatable(id, row),
            cluster.resources.requested(id, row),
        )),
        Target::Nothing => None,
    }
}
