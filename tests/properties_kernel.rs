//! The block kernel computes what its naive twin does, lane by lane, and each formula of the twin is
//! what whole numbers of any size say.

use berth_core::kernel::naive;
use berth_core::kernel::word::{self, Strategy as Scoring};
use berth_core::kernel::{CPU, FAST_MAX, LANES, MEMORY, NodeBlock, Request};
use berth_test_support::generate::tries;
use num_bigint::BigInt;
use proptest::array::uniform2;
use proptest::collection::vec;
use proptest::prelude::*;

/// What a node has of one resource, and how full it is: after the pod, at `percent` of it and
/// `beside` a whole one.
#[derive(Clone, Debug)]
struct Cell {
    allocatable: i64,
    percent: i64,
    beside: i64,
}

impl Cell {
    /// What is requested before a pod that asks for `asked`.
    fn requested(&self, asked: i64) -> i128 {
        let full = i128::from(self.allocatable) * i128::from(self.percent) / 100;
        (full + i128::from(self.beside) - i128::from(asked)).max(0)
    }
}

fn allocatable() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 1..=300_i64,
        4 => (1..=2_000_i64).prop_map(|hundreds| hundreds * 100),
        3 => 1_000_000..1_i64 << 40,
        2 => (1_i64 << 40)..FAST_MAX,
        2 => (-3..=3_i64).prop_map(|beside| FAST_MAX + beside),
        1 => (40..62_u32).prop_map(|bits| (1 << bits) - 1),
        1 => (i64::MAX - 3)..=i64::MAX,
        1 => Just(0),
    ]
}

fn cell() -> impl Strategy<Value = Cell> {
    let percent = prop_oneof![10 => 0..=101_i64, 1 => 102..=1_000_i64];
    let beside = prop_oneof![4 => -2..=2_i64, 1 => -1_000_000..=1_000_000_i64];
    (allocatable(), percent, beside).prop_map(|(allocatable, percent, beside)| Cell {
        allocatable,
        percent,
        beside,
    })
}

fn asked() -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => Just(0),
        6 => 0..=1_000_i64,
        4 => 0..1_i64 << 36,
        1 => (-3..=3_i64).prop_map(|beside| FAST_MAX + beside),
        1 => (i64::MAX - 3)..=i64::MAX,
    ]
}

/// Amounts that the kernel takes; others go to the twin at once.
fn request() -> impl Strategy<Value = Request> {
    let asked = || uniform2(asked().prop_map(|amount| amount.min(FAST_MAX - 1)));
    (asked(), asked(), asked()).prop_map(|(spec, score, status)| Request {
        spec,
        score,
        status,
    })
}

/// A block whose lanes stand at the boundaries of the filter, of the balance or of the fit score.
fn block(cells: &[[Cell; 2]], request: &Request) -> NodeBlock {
    let mut block = NodeBlock::EMPTY;
    for (lane, cells) in cells.iter().enumerate() {
        for resource in [CPU, MEMORY] {
            let cell = &cells[resource];
            let asked = if lane % 2 == 0 {
                request.spec
            } else {
                request.status
            };
            block.allocatable[resource][lane] = cell.allocatable;
            block.requested[resource][lane] = cell.requested(asked[resource]);
            block.non_zero[resource][lane] = cell.requested(request.score[resource]);
        }
        block.refresh(lane);
    }
    block
}

/// Amounts that the fast columns hold.
fn is_plain(block: &NodeBlock, lane: usize) -> bool {
    [CPU, MEMORY].into_iter().all(|resource| {
        (1..FAST_MAX).contains(&block.allocatable[resource][lane])
            && block.requested[resource][lane] < i128::from(FAST_MAX)
            && block.non_zero[resource][lane] < i128::from(FAST_MAX)
    })
}

fn naive_fit(
    block: &NodeBlock,
    lane: usize,
    request: &Request,
    how: Scoring,
    weights: [i64; 2],
) -> i64 {
    naive::weighted_mean([CPU, MEMORY].into_iter().map(|resource| {
        let allocatable = block.allocatable[resource][lane];
        let taken = block.non_zero[resource][lane] + i128::from(request.score[resource]);
        let score = match how {
            Scoring::Least => naive::least_allocated(allocatable, taken),
            Scoring::Most => naive::most_allocated(allocatable, taken),
        };
        (score, weights[resource])
    }))
}

fn naive_balance(block: &NodeBlock, lane: usize, asked: [i64; 2]) -> u8 {
    let fraction = |resource: usize| {
        let taken = block.requested[resource][lane] + i128::from(asked[resource]);
        naive::fraction(block.allocatable[resource][lane], taken)
    };
    naive::balance([CPU, MEMORY].into_iter().filter_map(fraction))
}

proptest! {
    #![proptest_config(tries(3_000, "properties_kernel"))]

    #[test]
    fn the_block_kernel_equals_its_naive_twin(
        request in request(),
        cells in vec(uniform2(cell()), LANES),
        weights in prop_oneof![Just([1, 1]), uniform2(1..=100_i64)],
    ) {
        prop_assert!(request.is_fast());
        let block = block(&cells, &request);
        let over = word::exceeding(&block, &request);
        let mut fits = [Scoring::Least, Scoring::Most].map(|how| (how, [0; LANES]));
        for (how, out) in &mut fits {
            word::fit_scores(&block, &request, *how, weights, out);
        }
        let mut balance = [0; LANES];
        word::balance_scores(&block, &request, &mut balance);
        for lane in 0..LANES {
            prop_assert_eq!(block.wide & 1 << lane == 0, is_plain(&block, lane), "lane {}", lane);
            if block.wide & 1 << lane != 0 {
                continue;
            }
            let exceeds = [CPU, MEMORY].into_iter().any(|resource| {
                let allocatable = block.allocatable[resource][lane];
                naive::exceeds(request.spec[resource], allocatable, block.requested[resource][lane])
            });
            prop_assert_eq!(over & 1 << lane != 0, exceeds, "filter of {:?}", cells[lane]);
            prop_assert_eq!(word::exceeds(&block, &request, lane), exceeds, "lane {}", lane);
            for (how, out) in &fits {
                let expected = naive_fit(&block, lane, &request, *how, weights);
                prop_assert_eq!(i64::from(out[lane]), expected, "{:?} of {:?}", how, cells[lane]);
                let one = word::fit_score(&block, &request, *how, weights, lane);
                prop_assert_eq!(one, out[lane], "{:?} of lane {}", how, lane);
            }
            let with = naive_balance(&block, lane, request.status);
            let expected = naive::balance_score(with, naive_balance(&block, lane, [0, 0]));
            prop_assert_eq!(i64::from(balance[lane]), expected, "balance of {:?}", cells[lane]);
            prop_assert_eq!(word::balance_score(&block, &request, lane), balance[lane]);
        }
    }
}

proptest! {
    #![proptest_config(tries(500, "properties_kernel"))]

    #[test]
    fn lanes_of_a_word_are_told_as_one_by_one(
        word in prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), any::<u64>().prop_map(|one| one & one << 3)],
        counts in vec(prop_oneof![4 => 0..4_u16, 1 => any::<u16>()], LANES),
        sums in vec(prop_oneof![4 => -4..4_i32, 1 => any::<i32>()], LANES),
        wanted in 0..4_u16,
    ) {
        let on: Vec<usize> = (0..LANES).filter(|lane| word >> lane & 1 != 0).collect();
        let counts: [u16; LANES] = counts.try_into().expect("all lanes");
        let sums: [i32; LANES] = sums.try_into().expect("all lanes");
        let few = on.iter().map(|lane| counts[*lane]).min().unwrap_or(u16::MAX);
        let many = on.iter().map(|lane| counts[*lane]).max().unwrap_or(0);
        prop_assert_eq!(word::masked_extremes(word, &counts), (few, many));
        let low = on.iter().map(|lane| sums[*lane]).min().unwrap_or(i32::MAX);
        let high = on.iter().map(|lane| sums[*lane]).max().unwrap_or(i32::MIN);
        prop_assert_eq!(word::masked_extremes_of_sums(word, &sums), (low, high));
        let all = on.iter().map(|lane| u32::from(counts[*lane])).sum::<u32>();
        prop_assert_eq!(word::masked_sum(word, &counts), all);
        let equal = word::equal(&counts, wanted);
        for (lane, count) in counts.iter().enumerate() {
            prop_assert_eq!(equal >> lane & 1 != 0, *count == wanted);
        }
    }
}

/// `part` of `whole` in whole percent, rounded down.
fn percent(part: &BigInt, whole: &BigInt) -> BigInt {
    part * 100 / whole
}

proptest! {
    #![proptest_config(tries(3_000, "properties_kernel"))]

    #[test]
    fn the_twin_s_percentages_are_those_of_whole_numbers(cell in cell(), more in asked()) {
        prop_assume!(cell.allocatable > 0);
        let requested = cell.requested(0) + i128::from(more);
        let (whole, taken) = (BigInt::from(cell.allocatable), BigInt::from(requested));
        let free = &whole - &taken;
        let least = if free < BigInt::ZERO { BigInt::ZERO } else { percent(&free, &whole) };
        let most = percent(&taken.clone().min(whole.clone()), &whole);
        prop_assert_eq!(BigInt::from(naive::least_allocated(cell.allocatable, requested)), least);
        prop_assert_eq!(BigInt::from(naive::most_allocated(cell.allocatable, requested)), most);
        // A pod that asks for the most that can be told asked for more than that.
        let exceeds = more > 0 && (more == i64::MAX || BigInt::from(more) > &whole - BigInt::from(cell.requested(0)));
        prop_assert_eq!(naive::exceeds(more, cell.allocatable, cell.requested(0)), exceeds);
    }

    #[test]
    fn the_twin_s_fractions_are_the_nearest_quotients(cell in cell()) {
        let requested = cell.requested(0);
        // Reading decimals rounds to the nearest, as the twin's conversion must.
        let nearest = |number: String| number.parse::<f64>().expect("a number");
        let quotient = nearest(requested.to_string()) / nearest(cell.allocatable.to_string());
        let expected = (cell.allocatable != 0).then_some(quotient.min(1.0));
        prop_assert_eq!(naive::fraction(cell.allocatable, requested), expected);
    }

    #[test]
    fn the_twin_s_balance_is_one_less_the_deviation(cells in vec(cell(), 0..=5)) {
        let fractions: Vec<f64> = cells
            .iter()
            .filter_map(|cell| naive::fraction(cell.allocatable, cell.requested(0)))
            .collect();
        let count = fractions.len() as f64;
        let mut squares = 0.0;
        let mean = fractions.iter().sum::<f64>() / count;
        for fraction in &fractions {
            squares += (fraction - mean).powi(2);
        }
        let deviation = match fractions.as_slice() {
            [] | [_] => 0.0,
            [one, other] => ((one - other) / 2.0).abs(),
            _ => (squares / count).sqrt(),
        };
        let expected = (100.0 * (1.0 - deviation)).trunc();
        let balance = naive::balance(fractions.iter().copied());
        prop_assert_eq!(f64::from(balance), expected);
        prop_assert!((50..=100).contains(&balance));
    }

    #[test]
    fn the_twin_s_means_and_lines_are_those_of_whole_numbers(
        parts in vec((0..=100_i64, 1..=100_i64), 0..=6),
        heights in vec(0..=100_i64, 1..=5),
        at in 0..=100_i64,
    ) {
        let sum: i64 = parts.iter().map(|(score, weight)| score * weight).sum();
        let weights: i64 = parts.iter().map(|(_, weight)| weight).sum();
        let mean = naive::weighted_mean(parts.iter().copied());
        prop_assert_eq!(mean, if weights == 0 { 0 } else { sum / weights });
        let positive: i64 = parts.iter().filter(|(score, _)| *score > 0).map(|(_, weight)| weight).sum();
        let rounded = naive::weighted_mean_of_positive(parts.iter().copied());
        prop_assert_eq!(rounded, if positive == 0 { 0 } else { (2 * sum + positive) / (2 * positive) });

        let step = 100 / heights.len() as i64;
        let shape: Vec<(i64, i64)> =
            heights.iter().enumerate().map(|(place, height)| (place as i64 * step, *height)).collect();
        let after = shape.iter().position(|(x, _)| *x >= at);
        let expected = match after {
            None => shape[shape.len() - 1].1,
            Some(0) => shape[0].1,
            Some(right) => {
                let ((x0, y0), (x1, y1)) = (shape[right - 1], shape[right]);
                let rise = BigInt::from(y1 - y0) * BigInt::from(at - x0) / BigInt::from(x1 - x0);
                i64::try_from(rise).expect("a small number") + y0
            }
        };
        prop_assert_eq!(naive::broken_linear(&shape, at), expected);
    }

    #[test]
    fn the_balance_score_is_half_the_gain_above_half(with in 50..=100_u8, without in 50..=100_u8) {
        let gain = i64::from(with) - i64::from(without);
        prop_assert_eq!(naive::balance_score(with, without), 50 + gain.midpoint(50));
    }
}
