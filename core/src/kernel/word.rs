//! 64 rows at a time, straight-line `f64` arithmetic that compilers turn into vectors.
//!
//! Lanes that are [wide](super::NodeBlock::wide) get meaningless results; the caller redoes them
//! with [`super::naive`]. So does it all lanes when the [`Request`] is not fast. Whole numbers wrap,
//! as a test for overflow keeps loops from becoming vectors; amounts in the fast range and weights
//! up to 100, as the configuration has them, stay far below.
#![allow(
    clippy::indexing_slicing,
    reason = "lanes are remainders by 64 or run over it, places of resources are constants"
)]

use super::{CPU, LANES, MEMORY, NodeBlock, Request};

/// Lanes in which cpu or memory does not fit. Twin: [`super::naive::exceeds`].
pub fn exceeding(block: &NodeBlock, request: &Request) -> u64 {
    [CPU, MEMORY].into_iter().fold(0, |over, resource| {
        let [now, _] = lacking(block, request, resource);
        over | now
    })
}

/// Lanes in which this resource, cpu or memory, does not fit, and those in which it would not on an empty
/// node. Twin: [`super::naive::exceeds`].
#[inline]
pub fn lacking(block: &NodeBlock, request: &Request, resource: usize) -> [u64; 2] {
    let resource = resource % 2;
    if request.spec[resource] == 0 {
        return [0; 2];
    }
    let asked = request.spec[resource] as f64;
    let allocatable = block.fast.allocatable[resource].as_chunks::<8>().0;
    let requested = block.fast.requested[resource].as_chunks::<8>().0;
    let (mut now, mut ever) = (0, 0);
    // A byte at a time: compilers make a mask of each comparison then.
    for (at, (allocatable, requested)) in
        (0..LANES).step_by(8).zip(allocatable.iter().zip(requested))
    {
        let (mut eight_now, mut eight_ever) = (0_u8, 0_u8);
        for lane in 0..8 {
            eight_now |= u8::from(requested[lane] + asked > allocatable[lane]) << lane;
            eight_ever |= u8::from(asked > allocatable[lane]) << lane;
        }
        now |= u64::from(eight_now) << at;
        ever |= u64::from(eight_ever) << at;
    }
    [now, ever]
}

/// [`exceeding`] of one lane.
pub fn exceeds(block: &NodeBlock, request: &Request, lane: usize) -> bool {
    let lane = lane % LANES;
    [CPU, MEMORY].into_iter().any(|resource| {
        let taken = block.fast.requested[resource][lane] + request.spec[resource] as f64;
        request.spec[resource] != 0 && taken > block.fast.allocatable[resource][lane]
    })
}

/// How a resource's use becomes a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    Least,
    Most,
}

/// Fit score of cpu and memory with these weights, 0..=100, into `out`.
/// Twins: [`super::naive::least_allocated`], [`super::naive::most_allocated`].
pub fn fit_scores(
    block: &NodeBlock,
    request: &Request,
    strategy: Strategy,
    weights: [i64; 2],
    out: &mut [u8; LANES],
) {
    let mut sums = [0i32; LANES];
    for resource in [CPU, MEMORY] {
        let weight = weights[resource] as i32;
        let asked = request.score[resource] as f64;
        let (allocatable, taken) = (
            &block.fast.allocatable[resource],
            &block.fast.non_zero[resource],
        );
        for lane in 0..LANES {
            let percent = percent(strategy, allocatable[lane], taken[lane] + asked);
            sums[lane] = sums[lane].wrapping_add(percent.wrapping_mul(weight));
        }
    }
    let total = weights[CPU].wrapping_add(weights[MEMORY]) as i32;
    match total {
        0 => out.fill(0),
        2 => {
            for lane in 0..LANES {
                out[lane] = (sums[lane] >> 1) as u8;
            }
        }
        total => {
            for lane in 0..LANES {
                out[lane] = sums[lane].checked_div(total).unwrap_or(0) as u8;
            }
        }
    }
}

/// [`fit_scores`] of one lane.
pub fn fit_score(
    block: &NodeBlock,
    request: &Request,
    strategy: Strategy,
    weights: [i64; 2],
    lane: usize,
) -> u8 {
    let lane = lane % LANES;
    let [cpu, memory] = [CPU, MEMORY].map(|resource| {
        let taken = block.fast.non_zero[resource][lane] + request.score[resource] as f64;
        let allocatable = block.fast.allocatable[resource][lane];
        percent(strategy, allocatable, taken).wrapping_mul(weights[resource] as i32)
    });
    let sum = cpu.wrapping_add(memory);
    let total = weights[CPU].wrapping_add(weights[MEMORY]) as i32;
    sum.checked_div(total).unwrap_or(0) as u8
}

/// Share of `allocatable` that is free or taken, in whole percent.
#[inline]
fn percent(strategy: Strategy, allocatable: f64, taken: f64) -> i32 {
    let share = match strategy {
        Strategy::Least => allocatable - taken,
        Strategy::Most if taken > allocatable => allocatable,
        Strategy::Most => taken,
    };
    // A floor above what is exact cannot happen: the quotient of whole numbers below 2^53 keeps its
    // distance from the next whole number.
    let percent = if share > 0.0 {
        share * 100.0 / allocatable
    } else {
        0.0
    };
    truncate(percent)
}

/// Balance score of cpu and memory, 50..=100, into `out`. Twin: [`super::naive::balance_score`].
pub fn balance_scores(block: &NodeBlock, request: &Request, out: &mut [u8; LANES]) {
    for (lane, out) in out.iter_mut().enumerate() {
        *out = balance_of(block, request, lane);
    }
}

/// [`balance_scores`] of one lane.
#[inline]
pub fn balance_score(block: &NodeBlock, request: &Request, lane: usize) -> u8 {
    balance_of(block, request, lane % LANES)
}

/// Apart from [`balance_score`], as a remainder in the loop over all lanes might not go away.
#[inline]
fn balance_of(block: &NodeBlock, request: &Request, lane: usize) -> u8 {
    let fraction = |resource: usize| {
        let taken = block.fast.requested[resource][lane] + request.status[resource] as f64;
        let fraction = taken / block.fast.allocatable[resource][lane];
        if fraction > 1.0 { 1.0 } else { fraction }
    };
    let (cpu, memory) = (fraction(CPU), fraction(MEMORY));
    let distance = if cpu > memory {
        cpu - memory
    } else {
        memory - cpu
    };
    let with = truncate((1.0 - distance / 2.0) * 100.0);
    let gain = with.wrapping_sub(i32::from(block.balance[lane]));
    50_i32.wrapping_add(gain.wrapping_add(50) >> 1) as u8
}

/// Adds a column of scores by its weight. All weights together are at most 327, so that 16 bits hold
/// every sum. Twin: the sum over columns in `cycle/scratch.rs`.
pub fn add_scores(totals: &mut [i16; LANES], scores: &[u8; LANES], weight: i16) {
    for (total, score) in totals.iter_mut().zip(scores) {
        *total = total.wrapping_add(i16::from(*score).wrapping_mul(weight));
    }
}

/// The bits of 16 lanes after another.
#[inline]
fn word_quarters(word: u64) -> [u16; 4] {
    [0, 16, 32, 48].map(|first| (word >> first) as u16)
}

/// Makes totals -1 in lanes whose bit in `word` is not set.
pub fn mask(totals: &mut [i16; LANES], word: u64) {
    let quarters = word_quarters(word);
    for (totals, bits) in totals.as_chunks_mut::<16>().0.iter_mut().zip(quarters) {
        for (at, total) in totals.iter_mut().enumerate() {
            *total |= if bits & 1 << at == 0 { -1 } else { 0 };
        }
    }
}

/// Sum of the counts in lanes whose bit in `word` is set.
pub fn masked_sum(word: u64, counts: &[u16; LANES]) -> u32 {
    let mut sum = 0_u32;
    let quarters = word_quarters(word);
    for (counts, bits) in counts.as_chunks::<16>().0.iter().zip(quarters) {
        let mut sums = [0_u32; 16];
        for (at, count) in counts.iter().enumerate() {
            let on = if bits & 1 << at == 0 { 0 } else { u16::MAX };
            sums[at] = u32::from(count & on);
        }
        sum = sum.wrapping_add(sums.iter().fold(0, |sum, own| sum.wrapping_add(*own)));
    }
    sum
}

/// The smallest and the largest count in lanes whose bit in `word` is set; the largest and the smallest
/// that there are where none is.
#[inline(never)]
pub fn masked_extremes(word: u64, counts: &[u16; LANES]) -> (u16, u16) {
    let (mut few, mut many) = ([u16::MAX; 16], [0_u16; 16]);
    let quarters = word_quarters(word);
    for (counts, bits) in counts.as_chunks::<16>().0.iter().zip(quarters) {
        for (at, count) in counts.iter().enumerate() {
            let off = if bits & 1 << at == 0 { u16::MAX } else { 0 };
            few[at] = few[at].min(count | off);
            many[at] = many[at].max(count & !off);
        }
    }
    let few = few.into_iter().fold(u16::MAX, u16::min);
    (few, many.into_iter().fold(0, u16::max))
}

/// The same of sums.
#[inline]
pub fn masked_extremes_of_sums(word: u64, sums: &[i32; LANES]) -> (i32, i32) {
    let (mut low, mut high) = ([i32::MAX; 16], [i32::MIN; 16]);
    let quarters = word_quarters(word);
    for (sums, bits) in sums.as_chunks::<16>().0.iter().zip(quarters) {
        for (at, sum) in sums.iter().enumerate() {
            let on = if u32::from(bits) & 1 << at == 0 {
                0
            } else {
                -1
            };
            low[at] = low[at].min(sum & on | i32::MAX & !on);
            high[at] = high[at].max(sum & on | i32::MIN & !on);
        }
    }
    let low = low.into_iter().fold(i32::MAX, i32::min);
    (low, high.into_iter().fold(i32::MIN, i32::max))
}

/// The highest of the totals.
pub fn peak(totals: &[i16; LANES]) -> i16 {
    totals.iter().fold(-1, |peak, total| peak.max(*total))
}

/// Lanes with this total, or count.
pub fn equal<T: Copy + Eq>(lanes: &[T; LANES], value: T) -> u64 {
    let mut flags = [0; LANES];
    for (flag, own) in flags.iter_mut().zip(lanes) {
        *flag = u8::from(*own == value);
    }
    pack(&flags)
}

/// `value` cut to a whole number, for 0 <= value < 2^31.
///
/// A cast saturates, which keeps loops from becoming vectors; adding 2^52 leaves the rounded number
/// in the low bits, and what was rounded up is corrected.
#[inline]
fn truncate(value: f64) -> i32 {
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let shifted = value + SHIFT;
    let rounded = shifted.to_bits() as i32;
    rounded.wrapping_sub(i32::from(shifted - SHIFT > value))
}

fn pack(flags: &[u8; LANES]) -> u64 {
    // Moves the lowest bit of byte n to bit n of the highest byte; no two of the products meet.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut word = 0;
    for (at, eight) in (0..LANES).step_by(8).zip(flags.as_chunks().0) {
        word |= (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << at;
    }
    word
}
