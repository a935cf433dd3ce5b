//! `NodeResourcesFit`: room, and how full a node would be. Mirrors
//! `plugins/noderesources/{fit,resource_allocation,least_allocated,most_allocated,requested_to_capacity_ratio}.go`.
//!
//! Differs from kube-scheduler: products have 128 bits, and a request that reaches the limit of
//! `i64` fits nowhere.

use crate::requests::{self, Amounts};
use crate::{NodeState, Refusal, Verdict};
use berth_core::object::Pod;
use berth_core::profile::{Args, ScoringKind, ScoringStrategy};

/// Every reason at once.
pub fn filter(request: &Amounts, args: &Args, node: &NodeState) -> Verdict {
    let mut refusal = Refusal {
        unresolvable: false,
        reasons: Vec::new(),
    };
    if node.pods.len() as i128 + 1 > node.allocatable("pods") {
        refusal.reasons.push("Too many pods".to_owned());
    }
    let first = ["cpu", "memory", "ephemeral-storage"];
    let others = request
        .keys()
        .map(String::as_str)
        .filter(|name| !first.contains(name) && requests::is_scalar(name))
        .filter(|name| !is_ignored(name, args));
    for resource in first.into_iter().chain(others) {
        let wanted = requests::amount(request, resource);
        let allocatable = node.allocatable(resource);
        let saturated = wanted == i64::MAX.into();
        if wanted > 0 && (wanted > allocatable - node.requested(resource) || saturated) {
            refusal.reasons.push(format!("Insufficient {resource}"));
            refusal.unresolvable |= wanted > allocatable || saturated;
        }
    }
    if refusal.reasons.is_empty() {
        Ok(())
    } else {
        Err(refusal)
    }
}

fn is_ignored(resource: &str, args: &Args) -> bool {
    let group = resource.split('/').next().unwrap_or_default();
    requests::is_extended(resource)
        && (args.ignored_resources.iter().any(|name| name == resource)
            || args
                .ignored_resource_groups
                .iter()
                .any(|name| name == group))
}

/// 0..=100.
///
/// # Errors
///
/// No resource is configured.
pub fn score(pod: &Pod, args: &Args, node: &NodeState) -> Result<i64, String> {
    let strategy = &args.scoring_strategy;
    if strategy.resources.is_empty() {
        return Err("resources not found".to_owned());
    }
    let request = requests::scored_by_fit(pod);
    let mut sum = 0;
    let mut weights = 0;
    for (resource, weight) in &strategy.resources {
        let wanted = requests::amount(&request, resource);
        let allocatable = node.allocatable(resource);
        if allocatable == 0 || (wanted == 0 && requests::is_scalar(resource)) {
            continue;
        }
        let requested = node.non_zero_requested(resource) + wanted;
        let score = resource_score(strategy, requested, allocatable);
        if strategy.kind == ScoringKind::RequestedToCapacityRatio && score <= 0 {
            continue;
        }
        sum += score * i128::from(*weight);
        weights += i128::from(*weight);
    }
    if weights == 0 {
        return Ok(0);
    }
    Ok(match strategy.kind {
        ScoringKind::RequestedToCapacityRatio => (sum as f64 / weights as f64).round() as i64,
        _ => (sum / weights) as i64,
    })
}

fn resource_score(strategy: &ScoringStrategy, requested: i128, allocatable: i128) -> i128 {
    match strategy.kind {
        ScoringKind::LeastAllocated if requested > allocatable => 0,
        ScoringKind::LeastAllocated => (allocatable - requested) * 100 / allocatable,
        ScoringKind::MostAllocated => requested.min(allocatable) * 100 / allocatable,
        ScoringKind::RequestedToCapacityRatio => {
            let percent = if requested > allocatable {
                100
            } else {
                requested * 100 / allocatable
            };
            on_shape(&strategy.shape, percent)
        }
    }
}

/// Height of the broken line at `percent`; slopes are cut toward zero.
pub fn on_shape(shape: &[(i64, i64)], percent: i128) -> i128 {
    let mut before: Option<(i128, i128)> = None;
    for &(x, y) in shape {
        let (x, y) = (i128::from(x), i128::from(y));
        if percent <= x {
            return before.map_or(y, |(x0, y0)| y0 + (y - y0) * (percent - x0) / (x - x0));
        }
        before = Some((x, y));
    }
    before.map_or(0, |(_, y)| y)
}
