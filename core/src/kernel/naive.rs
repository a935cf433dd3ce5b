//! The specification: one node, plain loops, 128-bit integers and upstream's order of `f64` steps.

/// Highest score of a plugin.
pub const SCORE_MAX: i64 = 100;

/// Whether `request` does not fit beside `requested`; a request of 0 is never compared, one at the
/// limit of `i64` saturated and never fits.
///
/// Mirrors `fitsRequest` of `noderesources/fit.go`.
pub fn exceeds(request: i64, allocatable: i64, requested: i128) -> bool {
    request > 0
        && (request == i64::MAX
            || i128::from(request) > i128::from(allocatable).saturating_sub(requested))
}

/// Share of `allocatable` that stays free, in whole percent; 0 when nothing does.
///
/// Mirrors `leastRequestedScore` of `noderesources/least_allocated.go`.
pub fn least_allocated(allocatable: i64, requested: i128) -> i64 {
    let allocatable = i128::from(allocatable);
    if requested > allocatable {
        return 0;
    }
    percent(allocatable.saturating_sub(requested.max(0)), allocatable)
}

/// Share of `allocatable` that is taken, in whole percent, at most 100.
///
/// Mirrors `mostRequestedScore` of `noderesources/most_allocated.go`.
pub fn most_allocated(allocatable: i64, requested: i128) -> i64 {
    let allocatable = i128::from(allocatable);
    percent(requested.max(0).min(allocatable), allocatable)
}

/// 0 where nothing is allocatable.
fn percent(part: i128, allocatable: i128) -> i64 {
    let hundredfold = part.saturating_mul(i128::from(SCORE_MAX));
    hundredfold.checked_div(allocatable).unwrap_or(0) as i64
}

/// Value at `utilization` of the line through `shape`'s points (utilisation, score times 10).
///
/// Mirrors `helper.BuildBrokenLinearFunction`; integer division truncates toward zero.
pub fn broken_linear(shape: &[(i64, i64)], utilization: i64) -> i64 {
    let mut before: Option<(i64, i64)> = None;
    for &(x, y) in shape {
        if utilization <= x {
            return match before {
                None => y,
                Some((x0, y0)) => {
                    let way = utilization.saturating_sub(x0);
                    let rise = y.saturating_sub(y0).saturating_mul(way);
                    let width = x.saturating_sub(x0);
                    y0.saturating_add(rise.checked_div(width).unwrap_or(0))
                }
            };
        }
        before = Some((x, y));
    }
    before.map_or(0, |(_, y)| y)
}

/// Score of a resource under RequestedToCapacityRatio.
pub fn requested_to_capacity(shape: &[(i64, i64)], allocatable: i64, requested: i128) -> i64 {
    let full = requested > i128::from(allocatable);
    broken_linear(
        shape,
        if full {
            SCORE_MAX
        } else {
            most_allocated(allocatable, requested)
        },
    )
}

/// Weighted mean, rounded down; 0 without any weight.
pub fn weighted_mean(parts: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (sum, weights) = weighted_sums(parts);
    sum.checked_div(weights).unwrap_or(0)
}

/// Weighted mean of the parts that score above 0, rounded half away from zero.
pub fn weighted_mean_of_positive(parts: impl Iterator<Item = (i64, i64)>) -> i64 {
    let (sum, weights) = weighted_sums(parts.filter(|(score, _)| *score > 0));
    if weights == 0 {
        0
    } else {
        libm::round(sum as f64 / weights as f64) as i64
    }
}

fn weighted_sums(parts: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
    parts.fold((0, 0), |(sum, weights), (score, weight)| {
        (
            score.saturating_mul(weight).saturating_add(sum),
            weights.saturating_add(weight),
        )
    })
}

/// Share of `allocatable` that is taken, at most 1; `None` where nothing is allocatable.
pub fn fraction(allocatable: i64, requested: i128) -> Option<f64> {
    if allocatable == 0 {
        return None;
    }
    let fraction = requested as f64 / allocatable as f64;
    Some(if fraction > 1.0 { 1.0 } else { fraction })
}

/// 100 times one minus the standard deviation of the fractions, truncated: 50..=100.
///
/// Mirrors `balancedResourceScorer` of `noderesources/balanced_allocation.go`.
pub fn balance(fractions: impl Iterator<Item = f64> + Clone) -> u8 {
    let count = fractions.clone().count();
    let deviation = match count {
        0 | 1 => 0.0,
        2 => {
            let mut pair = fractions;
            let (first, second) = (pair.next().unwrap_or(0.0), pair.next().unwrap_or(0.0));
            libm::fabs(first - second) / 2.0
        }
        count => {
            let mean = fractions.clone().fold(0.0, |sum, fraction| sum + fraction) / count as f64;
            let squares = fractions.fold(0.0, |sum, fraction| {
                let distance = fraction - mean;
                sum + distance * distance
            });
            libm::sqrt(squares / count as f64)
        }
    };
    ((1.0 - deviation) * SCORE_MAX as f64) as u8
}

/// How much better balanced the node is with the pod than without: 75 is no change.
pub fn balance_score(with: u8, without: u8) -> i64 {
    let gain = i64::from(with).saturating_sub(i64::from(without));
    50_i64.saturating_add(gain.saturating_add(50) / 2)
}
