//! One scheduling cycle, on one screen: filter, search, score, normalize, select.
//!
//! Stage before: a pod's class, live in the cluster. Stage after: the scheduler assumes the pod.
//! Mirrors `schedulePod` of `pkg/scheduler/schedule_one.go` in kube-scheduler 1.37.2.

pub(crate) mod best;
mod bounds;
pub(crate) mod extender;
pub(crate) mod external;
mod found;
mod nominated;
mod nominees;
pub(crate) mod plan;
pub(crate) mod room;
pub(crate) mod scratch;
mod search;
mod select;
mod shortage;
pub(crate) mod volumes;

pub(crate) use nominated::{Probe, Verdict, count, lacks};
pub(crate) use nominees::Nominees;
pub(crate) use scratch::{Column, Lacks, PreFilterRefusal, Refusal, Scratch};
pub(crate) use select::{SplitMix, select};
pub(crate) use shortage::Shortage;
pub(crate) use volumes::{Candidate, Chosen, Delayed, Fault, Prepared, Unique, VolumeScratch};

use crate::class::ClassView;
use crate::cluster::live::{Narrowing, Slot, Static};
use crate::cluster::{Cluster, PodRow};
use crate::decision::AttemptError;
use crate::plugins::{
    self, Plugin, Point, inter_pod_affinity, node_ports, node_volume_limits, pod_topology_spread,
    volume_binding, volume_restrictions, volume_zone,
};
use crate::scheduler::{NodeSearch, Ties};
use crate::table::Table;
use external::Outside;
use plan::Plan;

/// What one attempt is about, and what it reads.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) plan: &'a Plan,
    pub(crate) pod: &'a PodRow,
    pub(crate) class: ClassView<'a>,
    /// The class' live slot.
    pub(crate) slot: usize,
    /// Row of the node that the pod is pinned to, if it is there.
    pub(crate) pinned_row: Option<u32>,
}

impl<'a> Attempt<'a> {
    /// An attempt for a pod whose class lives in `slot`.
    pub(crate) fn new(cluster: &'a Cluster, plan: &'a Plan, pod: &'a PodRow, slot: usize) -> Self {
        Self {
            cluster,
            plan,
            pod,
            class: cluster.class(pod.class),
            slot,
            pinned_row: cluster.row_of_word(pod.pin),
        }
    }

    pub(crate) fn live(&self) -> &'a Slot {
        self.cluster.live.slots.at(self.slot)
    }

    pub(crate) fn bits(&self, kind: Static) -> &'a [u64] {
        self.cluster.live.bits(self.slot, kind)
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.pod.pin != 0
    }
}

/// How nodes are looked at and one of the best is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) ties: Ties,
    pub(crate) search: NodeSearch,
    /// The rotation index is a place among all nodes, which the chosen one moves, instead of a count
    /// of the nodes looked at.
    pub(crate) best: bool,
    /// Nobody asks for more than the chosen node: it need not be found by a search.
    pub(crate) keeps: bool,
    /// External plugins score, or extenders are asked, so that more than one node is wanted even where no
    /// plugin scores.
    pub(crate) scores_many: bool,
}

/// What an attempt found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Row of the chosen node.
    pub(crate) row: Option<u32>,
    pub(crate) feasible: u32,
    pub(crate) evaluated: u32,
}

/// Decides on one pod. Details stay in `scratch` until the next attempt.
pub(crate) fn decide(
    attempt: Attempt<'_>,
    policy: Policy,
    start: &mut u32,
    random: &mut SplitMix,
    scratch: &mut Scratch,
    outside: &mut Outside<'_>,
) -> Result<Found, AttemptError> {
    let nodes = attempt.cluster.node_count;
    if nodes == 0 {
        return Err(AttemptError::NoNodes);
    }
    if !pre_filter(attempt, scratch, outside.told(Point::PreFilter))? {
        return Ok(Found::default());
    }
    filter(attempt, None, scratch, outside.told(Point::Filter));
    outside.filter(scratch)?;
    pick(attempt, policy, start, random, scratch, outside)
}

/// Searches among the nodes that passed the filters, scores what was found and takes one.
pub(crate) fn pick(
    attempt: Attempt<'_>,
    policy: Policy,
    start: &mut u32,
    random: &mut SplitMix,
    scratch: &mut Scratch,
    outside: &mut Outside<'_>,
) -> Result<Found, AttemptError> {
    if policy.keeps
        && !outside.wants_many()
        && scratch.unprepared.is_none()
        && let Some(found) = best::choose(attempt, *start, scratch)?
    {
        return Ok(found);
    }
    let evaluated = search(attempt, policy, start, scratch, outside)?;
    let feasible = scratch.list.len() as u32;
    let row = match feasible {
        0 => None,
        1 => scratch.list.first().copied(),
        _ => {
            score_all(attempt, scratch, outside)?;
            select(attempt, policy.ties, random, scratch)
        }
    };
    Ok(Found {
        row,
        feasible,
        evaluated,
    })
}

/// Lists the nodes that passed the filters, as many as are wanted; returns how many were looked at.
pub(crate) fn search(
    attempt: Attempt<'_>,
    policy: Policy,
    start: &mut u32,
    scratch: &mut Scratch,
    outside: &Outside<'_>,
) -> Result<u32, AttemptError> {
    let policy = Policy {
        scores_many: outside.wants_many(),
        ..policy
    };
    let evaluated = search::walk(attempt, policy, start, scratch);
    if let Some(plugin) = scratch.unprepared {
        return Err(AttemptError::MissingState { plugin });
    }
    match scratch.failure() {
        Some(failure) => Err(failure),
        None => Ok(evaluated),
    }
}

/// Scores what was found, by the plugins of the core and those outside it.
pub(crate) fn score_all(
    attempt: Attempt<'_>,
    scratch: &mut Scratch,
    outside: &mut Outside<'_>,
) -> Result<(), AttemptError> {
    score(attempt, scratch, |point, plugin| {
        outside.enters(point, plugin);
    })?;
    outside.score(attempt, scratch)
}

/// Whether a plugin reads at Filter what it prepares at PreFilter, and fails without it.
pub(crate) const fn needs_pre_filter(plugin: Plugin) -> bool {
    matches!(
        plugin,
        Plugin::NodePorts
            | Plugin::NodeResourcesFit
            | Plugin::VolumeRestrictions
            | Plugin::VolumeBinding
            | Plugin::VolumeZone
            | Plugin::PodTopologySpread
            | Plugin::InterPodAffinity
            | Plugin::NodeDeclaredFeatures
    )
}

/// Narrows the search to the nodes that the pod names, and finds what volumes it needs. `false`: no
/// node is left.
pub(crate) fn pre_filter(
    attempt: Attempt<'_>,
    scratch: &mut Scratch,
    mut runs: impl FnMut(Plugin),
) -> Result<bool, AttemptError> {
    let cluster = attempt.cluster;
    scratch.is_marked = true;
    for (word, block) in scratch.alive.words_mut().iter_mut().zip(&cluster.blocks) {
        *word = block.present;
    }
    for plugin in &attempt.plan.refusing_pre_filters {
        runs(*plugin);
        let refusal = if *plugin == Plugin::NodeAffinity {
            (!narrow(attempt, scratch)).then_some(PreFilterRefusal::Affinity)
        } else {
            volumes::pre_filter(attempt, *plugin, &mut scratch.volumes)?
                .map(|fault| PreFilterRefusal::Volumes(*plugin, fault))
        };
        if refusal.is_some() {
            scratch.pre_filter_refusal = refusal;
            scratch.narrowed = false;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Narrows the search to the nodes that the pod names. `false`: its terms leave none.
fn narrow(attempt: Attempt<'_>, scratch: &mut Scratch) -> bool {
    match attempt.live().narrowing {
        Narrowing::None => {}
        Narrowing::Conflict => return false,
        Narrowing::Names => {
            scratch.narrowed = true;
            if attempt.is_pinned() {
                let row = attempt.pinned_row;
                for (at, word) in scratch.alive.words_mut().iter_mut().enumerate() {
                    let pin = row.filter(|row| *row as usize / 64 == at);
                    *word &= pin.map_or(0, |row| 1 << (row % 64));
                }
            } else {
                for (word, named) in scratch
                    .alive
                    .words_mut()
                    .iter_mut()
                    .zip(attempt.bits(Static::Named))
                {
                    *word &= named;
                }
            }
        }
    }
    true
}

/// Runs the filters in configured order over all nodes that are left; each refused node is noted
/// under the first plugin that refused it.
///
/// `only` is the one row that is left, if it is asked about with pods counted on it that are not there
/// or not counted that are: what the live slot keeps of the row's room is then not of use.
pub(crate) fn filter(
    attempt: Attempt<'_>,
    only: Option<u32>,
    scratch: &mut Scratch,
    mut runs: impl FnMut(Plugin),
) {
    scratch.searched.copy_from(&scratch.alive);
    for plugin in &attempt.plan.filters {
        runs(*plugin);
        let prepared = !needs_pre_filter(*plugin) || attempt.plan.pre_filters(*plugin);
        if !prepared && !scratch.alive.is_empty() {
            // The first node that gets here ends the attempt; those before it count as refused.
            scratch.unprepared = Some(*plugin);
            return;
        }
        match plugin {
            Plugin::NodeUnschedulable => {
                scratch.refuse(Refusal::Unschedulable, attempt.bits(Static::Unschedulable));
            }
            Plugin::TaintToleration => {
                scratch.refuse(Refusal::Taints, attempt.bits(Static::Taints));
            }
            Plugin::NodeAffinity => {
                scratch.refuse(Refusal::AddedAffinity, attempt.bits(Static::AddedAffinity));
                plugins::node_affinity::filter(attempt, scratch);
            }
            Plugin::NodePorts => node_ports::filter(attempt, scratch),
            Plugin::NodeResourcesFit => match only {
                None => {
                    scratch.refuse(Refusal::Fit, attempt.cluster.live.room.short(attempt.slot));
                }
                Some(row) => {
                    let block = attempt.cluster.blocks.at(row / 64);
                    if plugins::node_resources_fit::is_short(attempt, block, row as usize) {
                        scratch.refuse_word(Refusal::Fit, row as usize / 64, 1 << (row % 64));
                    }
                }
            },
            Plugin::PodTopologySpread => pod_topology_spread::filter(attempt, scratch),
            Plugin::InterPodAffinity => inter_pod_affinity::filter(attempt, scratch),
            Plugin::NodeDeclaredFeatures => {
                scratch.refuse(Refusal::Features, attempt.bits(Static::Features));
            }
            Plugin::VolumeRestrictions => volume_restrictions::filter(attempt, scratch),
            Plugin::NodeVolumeLimits => node_volume_limits::filter(attempt, scratch),
            Plugin::VolumeBinding => volume_binding::filter(attempt, scratch),
            Plugin::VolumeZone => volume_zone::filter(attempt, scratch),
            // NodeName refuses only pods that name a node, which are not decided on; pods that
            // DynamicResources would judge are unsupported.
            _ => {}
        }
    }
}

/// Scores the feasible nodes, plugin by plugin, normalised to 0..=100, and sums them up by weight.
///
/// What a plugin's PreScore refuses fails the attempt before any plugin scores, and also where the
/// profile lets that plugin prepare but not score.
pub(crate) fn score(
    attempt: Attempt<'_>,
    scratch: &mut Scratch,
    mut enters: impl FnMut(Point, Option<Plugin>),
) -> Result<(), AttemptError> {
    scratch.find_listed();
    fill_columns(attempt, scratch, &mut enters)?;
    scratch.sum(attempt);
    Ok(())
}

/// Fills the columns of the plugins for what was found.
pub(crate) fn fill_columns(
    attempt: Attempt<'_>,
    scratch: &mut Scratch,
    enters: &mut impl FnMut(Point, Option<Plugin>),
) -> Result<(), AttemptError> {
    enters(Point::PreScore, None);
    scratch.columns = [Column::Absent; Plugin::COUNT];
    if attempt.plan.scores.is_empty() {
        return Ok(());
    }
    if attempt.plan.pre_scores(Plugin::NodeAffinity) {
        enters(Point::PreScore, Some(Plugin::NodeAffinity));
        plugins::node_affinity::pre_score(attempt)?;
    }
    enters(Point::Score, None);
    for (plugin, _) in &attempt.plan.scores {
        enters(Point::Score, Some(*plugin));
        let prepared = attempt.plan.pre_scores(*plugin);
        let column = match plugin {
            Plugin::TaintToleration | Plugin::PodTopologySpread | Plugin::InterPodAffinity
                if !prepared =>
            {
                return Err(AttemptError::MissingState { plugin: *plugin });
            }
            Plugin::TaintToleration => plugins::taint_toleration::score(attempt, scratch),
            Plugin::NodeAffinity => plugins::node_affinity::score(attempt, scratch)?,
            Plugin::NodeResourcesFit => Column::Kept,
            Plugin::PodTopologySpread => pod_topology_spread::score(attempt, scratch),
            Plugin::InterPodAffinity => inter_pod_affinity::score(attempt, scratch),
            Plugin::NodeResourcesBalancedAllocation => {
                plugins::node_resources_balanced_allocation::score(attempt)
            }
            Plugin::ImageLocality => plugins::image_locality::score(attempt, scratch),
            Plugin::VolumeBinding => volume_binding::score(attempt, scratch)?,
            Plugin::DynamicResources => Column::Constant(plugins::dynamic_resources::SCORE),
            _ => Column::Absent,
        };
        scratch.columns.set(*plugin as usize, column);
    }
    Ok(())
}
