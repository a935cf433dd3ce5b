//! The best of the nodes that pass where other pods have a say in the scores: a block of rows whose bound
//! does not exceed what is found already is not scored.
//!
//! Stage before: [`Peaks`](crate::cluster::live::peaks::Peaks) hold the best total of every block by room
//! alone, and [`Scratch::found`] the rows that pass. Stage after: the choice is made. Twin: the sum over
//! columns of all rows.

use super::{Attempt, Column, Scratch};
use crate::cluster::live::peaks::{self, Recipe};
use crate::kernel::{LANES, word};
use crate::node_set;
use crate::plugins::{Plugin, inter_pod_affinity, pod_topology_spread};

/// Scores of a plugin by block.
#[expect(clippy::large_enum_variant, reason = "there are two, on the stack")]
enum Scores<'a> {
    /// The same for all rows.
    Flat,
    Spread(pod_topology_spread::ByCount<'a>),
    Affinity(inter_pod_affinity::Sums<'a>),
    /// In the plugin's column.
    Column(Plugin),
}

impl<'a> Scores<'a> {
    /// `shares`: another plugin is about to sum up by domain.
    fn of_affinity(attempt: Attempt<'a>, scratch: &mut Scratch, shares: bool) -> Self {
        match inter_pod_affinity::Sums::new(attempt, scratch) {
            Ok(sums) if !shares || !sums.reads_domains() => Self::Affinity(sums),
            Err(inter_pod_affinity::Otherwise::Flat) => Self::Flat,
            _ => Self::of_column(
                Plugin::InterPodAffinity,
                inter_pod_affinity::score(attempt, scratch),
            ),
        }
    }

    fn of_spread(attempt: Attempt<'a>, scratch: &mut Scratch) -> Self {
        match pod_topology_spread::ByCount::new(attempt, scratch) {
            Some(counted) => Self::Spread(counted),
            None => Self::of_column(
                Plugin::PodTopologySpread,
                pod_topology_spread::score(attempt, scratch),
            ),
        }
    }

    const fn of_column(plugin: Plugin, column: Column) -> Self {
        match column {
            Column::Rows => Self::Column(plugin),
            _ => Self::Flat,
        }
    }

    /// Not below any score of the block's found rows.
    fn bound(&self, scratch: &Scratch, block: usize) -> u8 {
        match self {
            Self::Flat => 0,
            Self::Spread(own) => own.peak(scratch, block),
            Self::Affinity(own) => own.peak(scratch, block),
            Self::Column(_) => 100,
        }
    }

    /// Adds the scores of a block by their weight.
    fn add(&self, scratch: &Scratch, block: usize, weight: i16, totals: &mut [i16; LANES]) {
        let mut scores = [0; LANES];
        match self {
            Self::Flat => return,
            Self::Spread(own) => own.write(scratch, block, &mut scores),
            Self::Affinity(own) => own.write(scratch, block, &mut scores),
            Self::Column(plugin) => {
                let column = scratch.column(*plugin).as_chunks().0.get(block);
                scores = column.copied().unwrap_or(scores);
            }
        }
        word::add_scores(totals, &scores, weight);
    }
}

/// The found row with the best total, ties to the first at or after `start`.
pub(super) fn best(
    attempt: Attempt<'_>,
    recipe: Recipe<'_>,
    start: u32,
    scratch: &mut Scratch,
) -> Option<u32> {
    let weight_of = |plugin| {
        let mut scores = attempt.plan.scores.iter();
        let own = scores.find(|(own, _)| *own == plugin);
        own.map_or(0, |(_, weight)| *weight as i16)
    };
    let weights = [Plugin::InterPodAffinity, Plugin::PodTopologySpread].map(weight_of);
    let [affinity, spread] = weights.map(|weight| weight > 0);
    let spreads = spread && pod_topology_spread::scores(attempt);
    let mut scores = [Scores::Flat, Scores::Flat];
    let [of_affinity, of_spread] = &mut scores;
    if affinity {
        *of_affinity = Scores::of_affinity(attempt, scratch, spreads);
    }
    if spreads {
        *of_spread = Scores::of_spread(attempt, scratch);
    }
    let both = || scores.iter().zip(weights);
    let (slot, room) = (attempt.slot, &attempt.cluster.live.room);
    let totals = |block: usize, word: u64| {
        let mut totals = peaks::totals(word, recipe, room.of(slot), block)?;
        for (scores, weight) in both() {
            scores.add(scratch, block, weight, &mut totals);
        }
        word::mask(&mut totals, word);
        Some(totals)
    };
    let (mut best, mut row) = (-1, None);
    for (block, word) in node_set::words_from(scratch.found.words(), start) {
        let bound = both().fold(room.peaks.peak(slot, block), |bound, (scores, weight)| {
            let own = i16::from(scores.bound(scratch, block));
            bound.wrapping_add(own.wrapping_mul(weight))
        });
        if bound <= best {
            continue;
        }
        let Some(totals) = totals(block, word) else {
            continue;
        };
        let peak = word::peak(&totals);
        if peak > best {
            let lane = word::equal(&totals, peak).trailing_zeros();
            (best, row) = (
                peak,
                Some((block as u32).saturating_mul(64).saturating_add(lane)),
            );
        }
    }
    row
}
