//! `NodeResourcesBalancedAllocation`: whether the pod evens out the use of a node's resources.
//! Mirrors `plugins/noderesources/balanced_allocation.go`.

use crate::NodeState;
use crate::requests;
use berth_core::object::Pod;

/// Whether the pod asks for any of the resources.
pub fn pre_score(pod: &Pod, resources: &[String]) -> bool {
    let request = requests::scored_by_balance(pod);
    resources
        .iter()
        .any(|resource| requests::amount(&request, resource) != 0)
}

/// 50..=100; 75 where the pod changes nothing.
///
/// # Errors
///
/// No resource is configured.
pub fn score(pod: &Pod, resources: &[String], node: &NodeState) -> Result<i64, String> {
    if resources.is_empty() {
        return Err("resources not found".to_owned());
    }
    if !pre_score(pod, resources) {
        return Ok(0);
    }
    let request = requests::scored_by_balance(pod);
    let mut with = Vec::new();
    let mut without = Vec::new();
    for resource in resources {
        let wanted = requests::amount(&request, resource);
        let allocatable = node.allocatable(resource);
        if allocatable == 0 || (wanted == 0 && requests::is_scalar(resource)) {
            continue;
        }
        let used = node.requested(resource);
        with.push(fraction(used + wanted, allocatable));
        without.push(fraction(used, allocatable));
    }
    Ok(50 + (50 + balance(&with) - balance(&without)) / 2)
}

fn fraction(used: i128, allocatable: i128) -> f64 {
    (used as f64 / allocatable as f64).min(1.0)
}

/// 100 less the standard deviation in percent.
fn balance(fractions: &[f64]) -> i64 {
    let count = fractions.len() as f64;
    let deviation = match fractions {
        [] | [_] => 0.0,
        [one, other] => ((one - other) / 2.0).abs(),
        _ => {
            let mut total = 0.0;
            for fraction in fractions {
                total += fraction;
            }
            let mean = total / count;
            let mut sum = 0.0;
            for fraction in fractions {
                // Not fused, as on the amd64 baseline.
                let square = (fraction - mean) * (fraction - mean);
                sum += square;
            }
            (sum / count).sqrt()
        }
    };
    ((1.0 - deviation) * 100.0) as i64
}
