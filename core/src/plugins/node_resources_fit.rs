//! `NodeResourcesFit`: requests fit beside what the node's pods ask; its score prefers free or full
//! nodes.
//!
//! Mirrors `plugins/noderesources/{fit,least_allocated,most_allocated,requested_to_capacity_ratio}.go`.
//! Reasons: [`TOO_MANY_PODS`], then `Insufficient NAME` for each resource; a reason is unresolvable
//! where the request exceeds what is allocatable. Sums do not wrap: differs from kube-scheduler.

use super::Plugin;
use crate::class::Scalar;
use crate::cluster::Cluster;
use crate::cycle::scratch::lanes;
use crate::cycle::{Attempt, Column, Refusal, Scratch};
use crate::cycle::plan::{Plan, Strategy, Target};
use crate::id::ResourceId;
use crate::kernel::{CPU, EPHEMERAL, MEMORY, Request, naive, word};

/// Given where the node takes no further pod.
pub const TOO_MANY_PODS: &str = "Too many pods";

/// A reason of this plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    Pods,
    /// Cpu, memory or ephemeral storage, by its place in the columns.
    Main(usize),
    Scalar(ResourceId),
}

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    let request = request(attempt);
    let fast = request.is_fast();
    let asks_main = request.spec != [0, 0];
    let spec = attempt.class.class.amounts.spec;
    for (at, block) in attempt.cluster.blocks.iter().enumerate() {
        let alive = scratch.alive[at];
        if alive == 0 {
            continue;
        }
        let mut over = !block.slots;
        if asks_main && fast {
            over |= word::exceeding(block, &request) & !block.wide;
        }
        if asks_main {
            let slow = if fast { block.wide } else { u64::MAX };
            for lane in lanes(slow & alive) {
                let exceeds = [CPU, MEMORY].into_iter().any(|resource| {
                    let allocatable = block.allocatable[resource][lane];
                    naive::exceeds(spec[resource], allocatable, block.requested[resource][lane])
                });
                over |= u64::from(exceeds) << lane;
            }
        }
        if spec[EPHEMERAL] > 0 {
            for lane in lanes(alive & !over) {
                let exceeds = naive::exceeds(
                    spec[EPHEMERAL],
                    block.allocatable[EPHEMERAL][lane],
                    block.requested[EPHEMERAL][lane],
                );
                over |= u64::from(exceeds) << lane;
            }
        }
        for scalar in attempt.class.scalars() {
            if scalar.spec == 0 || is_ignored(attempt.plan, attempt.cluster, scalar) {
                continue;
            }
            for lane in lanes(alive & !over) {
                over |= u64::from(lacks_scalar(attempt, scalar, at * 64 + lane)) << lane;
            }
        }
        scratch.refuse_word(Refusal::Fit, at, over);
    }
}

/// Every reason to refuse the row, in upstream's order (scalars in the order of their ids, which
/// the caller sorts by name), and whether it is unresolvable.
pub(crate) fn lacks(attempt: Attempt<'_>, row: usize, mut give: impl FnMut(Lack, bool)) {
    let (block, lane) = (&attempt.cluster.blocks[row / 64], row % 64);
    if block.slots & 1 << lane == 0 {
        give(Lack::Pods, false);
    }
    let spec = attempt.class.class.amounts.spec;
    for resource in [CPU, MEMORY, EPHEMERAL] {
        let allocatable = block.allocatable[resource][lane];
        if naive::exceeds(spec[resource], allocatable, block.requested[resource][lane]) {
            give(Lack::Main(resource), naive::exceeds(spec[resource], allocatable, 0));
        }
    }
    for scalar in attempt.class.scalars() {
        if scalar.spec > 0
            && !is_ignored(attempt.plan, attempt.cluster, scalar)
            && lacks_scalar(attempt, scalar, row)
        {
            let allocatable = attempt.cluster.resources.allocatable(scalar.resource, row);
            give(Lack::Scalar(scalar.resource), naive::exceeds(scalar.spec, allocatable, 0));
        }
    }
}

fn lacks_scalar(attempt: Attempt<'_>, scalar: Scalar, row: usize) -> bool {
    let resources = &attempt.cluster.resources;
    let allocatable = resources.allocatable(scalar.resource, row);
    naive::exceeds(scalar.spec, allocatable, resources.requested(scalar.resource, row))
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

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Column {
    let request = request(attempt);
    let profile = attempt.plan;
    let fast = profile.fit_weights.filter(|_| request.is_fast());
    let mut out = [0; 64];
    let set = scratch.feasible_set();
    for (at, block) in attempt.cluster.blocks.iter().enumerate() {
        let alive = set[at];
        if alive == 0 {
            continue;
        }
        let mut slow = alive;
        if let Some((strategy, weights)) = fast {
            word::fit_scores(block, &request, strategy, weights, &mut out);
            slow &= block.wide;
        }
        for lane in lanes(slow) {
            out[lane] = naive_score(attempt, at * 64 + lane) as u8;
        }
        scratch.column_mut(Plugin::NodeResourcesFit)[at * 64..at * 64 + 64].copy_from_slice(&out);
    }
    scratch.set = set;
    Column::Rows
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
    let (block, lane) = (&cluster.blocks[row / 64], row % 64);
    let (allocatable, taken, asked) = match target {
        Target::Main(EPHEMERAL) => (
            block.allocatable[EPHEMERAL][lane],
            block.requested[EPHEMERAL][lane],
            asked[EPHEMERAL],
        ),
        Target::Main(resource) => (
            block.allocatable[resource][lane],
            block.non_zero[resource][lane],
            asked[resource],
        ),
        Target::Scalar(id) => {
            let asked = attempt.class.scalars().find(|scalar| scalar.resource == id)?.score;
            if asked == 0 {
                return None;
            }
            let resources = &cluster.resources;
            (resources.allocatable(id, row), resources.requested(id, row), asked)
        }
        Target::Nothing => return None,
    };
    (allocatable != 0).then(|| (allocatable, taken + i128::from(asked)))
}
