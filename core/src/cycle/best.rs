//! The best node without a search: [`Peaks`](crate::cluster::live::peaks::Peaks) know the best totals by room,
//! and the node itself where no other pods have a say; else [`bounds`](super::bounds) finds it.
//!
//! Stage before: the class' slot has caught up. Stage after: the choice is made; where nothing is found
//! or a rule here does not hold, the cycle searches, and says why no node passes.

use super::plan::KeptPlan;
use super::{Attempt, Column, Found, Scratch, bounds, needs_pre_filter};
use crate::class::{Section, flag};
use crate::cluster::live::peaks::Recipe;
use crate::cluster::live::{Narrowing, Static};
use crate::decision::AttemptError;
use crate::kernel::{LANES, word};
use crate::node_set;
use crate::plugins::{Plugin, Point, inter_pod_affinity, node_resources_balanced_allocation};
use crate::profile::Profile;
use alloc::vec::Vec;

/// The highest sum of weights whose totals 16 bits hold.
const WEIGHTS_MAX: i64 = i16::MAX as i64 / 100;

/// What peaks of a profile's classes are made of; `None` where a plugin lacks what it prepares, or the
/// weights are too large.
pub(crate) fn plan(profile: &Profile) -> Option<KeptPlan> {
    let runs = |point, plugin| profile.plugins(point).contains(&plugin);
    let mut refusing = Vec::new();
    for plugin in profile.plugins(Point::Filter) {
        if needs_pre_filter(*plugin) && !runs(Point::PreFilter, *plugin) {
            return None;
        }
        refusing.extend_from_slice(match plugin {
            Plugin::NodeUnschedulable => &[Static::Unschedulable][..],
            Plugin::TaintToleration => &[Static::Taints],
            Plugin::NodeAffinity => &[Static::AddedAffinity, Static::Affinity],
            Plugin::NodeDeclaredFeatures => &[Static::Features],
            _ => &[],
        });
    }
    let prepares = |plugin: &Plugin| {
        !matches!(
            plugin,
            Plugin::TaintToleration
                | Plugin::NodeAffinity
                | Plugin::PodTopologySpread
                | Plugin::InterPodAffinity
        ) || runs(Point::PreScore, *plugin)
    };
    if !profile.plugins(Point::Score).iter().all(prepares) {
        return None;
    }
    let [fit, balance] = [
        Plugin::NodeResourcesFit,
        Plugin::NodeResourcesBalancedAllocation,
    ]
    .map(|plugin| {
        if runs(Point::Score, plugin) {
            profile.weight(plugin)
        } else {
            0
        }
    });
    let mut weights = profile.plugins(Point::Score).iter();
    let sum = weights.try_fold(0, |sum: i64, plugin| {
        let weight = profile.weight(*plugin);
        (weight >= 0).then(|| sum.saturating_add(weight))
    });
    sum.is_some_and(|sum| sum <= WEIGHTS_MAX)
        .then_some(KeptPlan {
            refusing,
            weights: [fit as i16, balance as i16],
        })
}

/// What peaks of the class are made of; `None` where they are not kept for it, ever.
pub(crate) fn recipe(attempt: Attempt<'_>) -> Option<Recipe<'_>> {
    let kept = attempt.plan.kept.as_ref()?;
    let [fit, balance] = kept.weights;
    let is_balanced = matches!(
        node_resources_balanced_allocation::score(attempt),
        Column::Kept
    );
    let names_nodes = attempt.is_pinned() || attempt.live().narrowing != Narrowing::None;
    (!names_nodes).then_some(Recipe {
        refusing: &kept.refusing,
        fits: attempt.plan.filters.contains(&Plugin::NodeResourcesFit),
        weights: [fit, if is_balanced { balance } else { 0 }],
    })
}

/// Whether what the filters say of a row follows from the row alone, as far as the class has a say.
pub(crate) fn is_filtered_by_row(attempt: Attempt<'_>) -> bool {
    let is_empty = |section| attempt.class.section(section).is_empty();
    let mut constraints = attempt.cluster.live.constraints(attempt.slot);
    !attempt.live().requires_pods()
        && !constraints.any(|constraint| constraint.is_hard())
        && is_empty(Section::Ports)
        && is_empty(Section::Volumes)
}

/// Whether totals differ by room and by what other pods say, but by nothing else.
fn is_scored_by_room_and_pods(attempt: Attempt<'_>) -> bool {
    let cluster = attempt.cluster;
    let mut images = attempt.class.section(Section::Images).iter();
    !attempt.class.class.has(flag::HAS_PREFERRED_NODE_AFFINITY)
        && !attempt.plan.has_added_preferred
        && !attempt.live().has_taint_counts
        && images.all(|name| {
            let image = cluster.images.find(&[*name]);
            image.is_none_or(|image| cluster.image_counts.is_empty(image))
        })
}

/// Whether no pod that is there has terms about the class.
fn is_left_alone(attempt: Attempt<'_>) -> bool {
    let cluster = attempt.cluster;
    let mut felt = cluster.live.felt(attempt.slot);
    felt.all(|term| cluster.terms.counts.is_empty(term.0))
}

/// The node that a pod is pinned to, if it passes.
fn pinned(attempt: Attempt<'_>) -> Option<Found> {
    let kept = attempt.plan.kept.as_ref()?;
    let row = attempt.pinned_row?;
    let room = &attempt.cluster.live.room;
    let has = |set: &[u64]| node_set::contains(set, row);
    let is_refused = kept.refusing.iter().any(|kind| has(attempt.bits(*kind)))
        || attempt.plan.filters.contains(&Plugin::NodeResourcesFit)
            && has(room.short(attempt.slot));
    let passes = is_filtered_by_row(attempt)
        && inter_pod_affinity::nobody_keeps_apart(attempt)
        && !is_refused;
    passes.then_some(Found {
        row: Some(row),
        feasible: 1,
        evaluated: 1,
    })
}

/// The best of the nodes that the filters left; ties go to the first row at or after `start`. `None` where
/// the search has to tell more than the node, or there is none.
pub(crate) fn choose(
    attempt: Attempt<'_>,
    start: u32,
    scratch: &mut Scratch,
) -> Result<Option<Found>, AttemptError> {
    let feasible = scratch.alive.count();
    let is_empty = attempt.class.section(Section::Volumes).is_empty();
    if attempt.plan.kept.is_none() || !is_empty || feasible == 0 || scratch.kept.is_some() {
        return Ok(None);
    }
    scratch.found.copy_from(&scratch.alive);
    let row = if feasible == 1 {
        scratch.found.rows().next()
    } else if is_scored_by_room_and_pods(attempt)
        && let Some(recipe) = recipe(attempt)
    {
        bounds::best(attempt, recipe, start, scratch)
    } else {
        super::fill_columns(attempt, scratch, &mut |_, _| {})?;
        scratch.best_row(attempt, start)
    };
    Ok(Some(Found {
        row,
        feasible,
        evaluated: scratch.searched.count(),
    }))
}

impl Scratch {
    /// The found row with the best total.
    fn best_row(&self, attempt: Attempt<'_>, start: u32) -> Option<u32> {
        let totals = |block: usize, word: u64| {
            let mut totals = [0; LANES];
            for (plugin, weight) in &attempt.plan.scores {
                let scores = self.rows_of(attempt, *plugin);
                if let Some(scores) = scores.as_chunks().0.get(block) {
                    word::add_scores(&mut totals, scores, *weight as i16);
                }
            }
            word::mask(&mut totals, word);
            totals
        };
        let mut best = (-1, 0, 0);
        for (block, word) in node_set::words_from(self.found.words(), start) {
            let peak = word::peak(&totals(block, word));
            if peak > best.0 {
                best = (peak, block, word);
            }
        }
        let (peak, block, word) = best;
        let lane = word::equal(&totals(block, word), peak).trailing_zeros();
        (lane < 64).then(|| (block.saturating_mul(LANES) as u32).saturating_add(lane))
    }
}

/// The best node, where no search is needed to know which nodes pass; ties go to the first row at or after
/// `start`.
pub(crate) fn find(attempt: Attempt<'_>, start: u32, scratch: &mut Scratch) -> Option<Found> {
    if attempt.is_pinned() {
        return pinned(attempt);
    }
    let recipe = recipe(attempt)?;
    let passes_by_row =
        is_filtered_by_row(attempt) && inter_pod_affinity::nobody_keeps_apart(attempt);
    if !passes_by_row || !is_scored_by_room_and_pods(attempt) {
        return None;
    }
    let room = &attempt.cluster.live.room;
    let (slot, peaks) = (attempt.slot, &room.peaks);
    let row = if attempt.live().has_no_terms() && is_left_alone(attempt) {
        peaks.best(slot, recipe, room.of(slot), start)
    } else {
        let passing = scratch
            .found
            .words_mut()
            .iter_mut()
            .zip(peaks.passing(slot));
        passing.for_each(|(word, passing)| *word = *passing);
        bounds::best(attempt, recipe, start, scratch)
    };
    Some(Found {
        row: Some(row?),
        feasible: peaks.feasible(slot),
        evaluated: attempt.cluster.node_count,
    })
}
