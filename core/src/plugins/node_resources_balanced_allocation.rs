//! `NodeResourcesBalancedAllocation`: prefers nodes whose resources the pod makes more evenly used.
//!
//! Mirrors `plugins/noderesources/balanced_allocation.go`. Works on real requests, and steps aside
//! for a pod that asks for none of the configured resources.

use super::{Plugin, node_resources_fit};
use crate::cycle::scratch::lanes;
use crate::cycle::{Attempt, Column, Scratch};
use crate::cycle::plan::Target;
use crate::kernel::{CPU, MEMORY, naive, word};

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Column {
    let targets = &attempt.plan.balanced;
    if targets.iter().all(|target| asked(attempt, *target) == 0) {
        let skips = attempt.plan.pre_scores(Plugin::NodeResourcesBalancedAllocation);
        return if skips { Column::Absent } else { Column::Constant(0) };
    }
    let request = node_resources_fit::request(attempt);
    let main = targets.as_slice() == [Target::Main(CPU), Target::Main(MEMORY)];
    let fast = main && request.is_fast();
    let mut out = [0; 64];
    let set = scratch.feasible_set();
    for (at, block) in attempt.cluster.blocks.iter().enumerate() {
        let alive = set[at];
        if alive == 0 {
            continue;
        }
        let mut slow = alive;
        if fast {
            word::balance_scores(block, &request, &mut out);
            slow &= block.wide;
        }
        for lane in lanes(slow) {
            out[lane] = naive_score(attempt, at * 64 + lane) as u8;
        }
        let column = scratch.column_mut(Plugin::NodeResourcesBalancedAllocation);
        column[at * 64..at * 64 + 64].copy_from_slice(&out);
    }
    scratch.set = set;
    Column::Rows
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
            naive::fraction(allocatable, requested + asked)
        })
    };
    naive::balance_score(naive::balance(fractions(true)), naive::balance(fractions(false)))
}

fn asked(attempt: Attempt<'_>, target: Target) -> i64 {
    match target {
        Target::Main(resource) => attempt.class.class.amounts.status[resource],
        Target::Scalar(id) => {
            let mut scalars = attempt.class.scalars();
            scalars.find(|scalar| scalar.resource == id).map_or(0, |scalar| scalar.status)
        }
        Target::Nothing => 0,
    }
}

fn node_amounts(attempt: Attempt<'_>, target: Target, row: usize) -> Option<(i64, i128)> {
    let cluster = attempt.cluster;
    match target {
        Target::Main(resource) => {
            let (block, lane) = (&cluster.blocks[row / 64], row % 64);
            Some((block.allocatable[resource][lane], block.requested[resource][lane]))
        }
        Target::Scalar(id) => {
            Some((cluster.resources.allocatable(id, row), cluster.resources.requested(id, row)))
        }
        Target::Nothing => None,
    }
}
