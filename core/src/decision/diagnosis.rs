//! The record of an attempt: per-node reasons and scores.
//!
//! Mirrors `FitError` and `Diagnosis` of `pkg/scheduler/framework/types.go`. Nothing here changes
//! the scheduler; records allocate, and are made only when they are asked for.

use super::message::{self, fit_places, fit_texts, narrowed_reason};
use super::{
    AttemptError, Decision, DecisionRecord, Detail, ExtenderTexts, NodeScore, Outcome, PodResult,
};
use crate::cycle::{Attempt, Refusal, VolumeScratch};
use crate::id::NodeId;
use crate::node_set::rows;
use crate::plugins::{self, Plugin, node_resources_fit, node_volume_limits};
use crate::scheduler::Scheduler;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Plugin that stands for PreFilter in refusals.
const PRE_FILTER: &str = "PreFilter";
/// The same for extenders.
const EXTENDER: &str = "Extender";

impl Refusal {
    /// The plugin that refuses for this reason.
    pub(crate) const fn plugin(self) -> Plugin {
        match self {
            Self::Unschedulable => Plugin::NodeUnschedulable,
            Self::Taints => Plugin::TaintToleration,
            Self::AddedAffinity | Self::Affinity => Plugin::NodeAffinity,
            Self::Ports => Plugin::NodePorts,
            Self::Fit => Plugin::NodeResourcesFit,
            Self::VolumeRestrictions => Plugin::VolumeRestrictions,
            Self::NodeVolumeLimits => Plugin::NodeVolumeLimits,
            Self::VolumeBinding => Plugin::VolumeBinding,
            Self::VolumeZone => Plugin::VolumeZone,
            Self::SpreadLabel | Self::SpreadSkew => Plugin::PodTopologySpread,
            Self::PodAffinity | Self::PodAntiAffinity | Self::ExistingAntiAffinity => {
                Plugin::InterPodAffinity
            }
            Self::Features => Plugin::NodeDeclaredFeatures,
        }
    }

    /// Upstream's text; empty for those that have several.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Unschedulable => plugins::node_unschedulable::REASON,
            Self::Taints => plugins::taint_toleration::REASON,
            Self::AddedAffinity => plugins::node_affinity::REASON_ADDED,
            Self::Affinity => plugins::node_affinity::REASON,
            Self::Ports => plugins::node_ports::REASON,
            Self::Fit | Self::VolumeRestrictions | Self::NodeVolumeLimits | Self::VolumeBinding => {
                ""
            }
            Self::VolumeZone => plugins::volume_zone::REASON,
            Self::SpreadLabel => plugins::pod_topology_spread::REASON_LABEL,
            Self::SpreadSkew => plugins::pod_topology_spread::REASON_SKEW,
            Self::PodAffinity => plugins::inter_pod_affinity::REASON_AFFINITY,
            Self::PodAntiAffinity => plugins::inter_pod_affinity::REASON_ANTI_AFFINITY,
            Self::ExistingAntiAffinity => plugins::inter_pod_affinity::REASON_EXISTING,
            Self::Features => plugins::node_declared_features::REASON,
        }
    }

    /// Whether no preemption could lift it; [`Self::Fit`] depends on the amounts, and
    /// [`Self::NodeVolumeLimits`] on the reason.
    pub(crate) const fn is_unresolvable(self) -> bool {
        matches!(
            self,
            Self::Unschedulable
                | Self::Taints
                | Self::AddedAffinity
                | Self::Affinity
                | Self::VolumeBinding
                | Self::VolumeZone
                | Self::SpreadLabel
                | Self::PodAffinity
                | Self::Features
        )
    }
}

/// A refused node: who refused it, why, and whether for good.
struct Refused<'a> {
    row: u32,
    plugin: &'a str,
    /// Place of the reasons in [`Refusals::reasons`].
    reasons: usize,
    unresolvable: bool,
}

/// The refused nodes. Their reasons are few, however many the nodes are, and written once.
#[derive(Default)]
struct Refusals<'a> {
    nodes: Vec<Refused<'a>>,
    reasons: Vec<Vec<String>>,
}

pub(crate) fn record(
    scheduler: &Scheduler,
    decision: &Decision,
    detail: Detail,
    texts: ExtenderTexts<'_>,
) -> DecisionRecord {
    let cluster = &scheduler.cluster;
    let Some(pod) = cluster.pod(decision.pod) else {
        return DecisionRecord {
            attempt: 1,
            result: PodResult::Error,
            error: Some(AttemptError::NoPod.to_string()),
            ..DecisionRecord::default()
        };
    };
    let (namespace, name) = scheduler.pod_name(decision.pod);
    let class = cluster.class(pod.class);
    let profile = class.class.profile;
    let plan = profile.and_then(|profile| scheduler.plans.get(profile.index()));
    let mut record = DecisionRecord {
        pod: format!("{namespace}/{name}"),
        uid: scheduler.pod_uid(decision.pod).to_string(),
        profile: scheduler.profile_name_of(decision.pod).to_string(),
        attempt: decision.attempt.max(1),
        ..DecisionRecord::default()
    };
    match decision.outcome {
        Outcome::Scheduled(node) => {
            record.result = PodResult::Scheduled;
            record.node = Some(cluster.node_name(node.index()).to_string());
            record.volumes = scheduler.volumes_of(decision.pod).collect();
        }
        Outcome::Unschedulable => record.result = PodResult::Unschedulable,
        Outcome::Refused(node) => {
            record.result = PodResult::Unschedulable;
            let reason = format!(
                "{} was refused from outside",
                cluster.node_name(node.index())
            );
            record.message = Some(format!("0/1 nodes are available: 1 {reason}."));
        }
        Outcome::Gated => record.result = PodResult::Gated,
        Outcome::Unsupported(field) => {
            record.result = PodResult::Unsupported;
            record.field = Some(field.to_string());
        }
        Outcome::Error(error) => {
            record.result = PodResult::Error;
            record.error = Some(match error {
                AttemptError::Extender if !texts.error.is_empty() => texts.error.to_string(),
                error => error.to_string(),
            });
        }
    }
    let (Outcome::Scheduled(_) | Outcome::Unschedulable, Some(plan)) = (decision.outcome, plan)
    else {
        return record;
    };
    record.feasible = Some(decision.feasible);
    record.evaluated = Some(decision.evaluated);
    let attempt = Attempt {
        cluster,
        plan,
        pod,
        class,
        slot: cluster.live.slot_of(pod.class) as usize,
        pinned_row: None,
    };
    if decision.outcome != Outcome::Unschedulable && detail == Detail::None {
        return record;
    }
    if decision.outcome == Outcome::Unschedulable {
        record.message = Some(message::of(scheduler, attempt, texts));
        super::preemption::add(scheduler, decision, attempt, texts, &mut record);
    }
    if detail >= Detail::Reasons {
        set_refusals(
            scheduler,
            &Refusals::of(scheduler, attempt, texts),
            &mut record,
        );
    }
    if detail >= Detail::Full && decision.feasible > 1 {
        set_scores(scheduler, attempt, &mut record);
    }
    record
}

impl<'a> Refusals<'a> {
    /// Every node that a filter refused, by filter and row.
    fn of(scheduler: &'a Scheduler, attempt: Attempt<'_>, texts: ExtenderTexts<'_>) -> Self {
        let scratch = &scheduler.scratch;
        let mut refusals = Self::default();
        for refusal in Refusal::ALL {
            if refusal == Refusal::Fit {
                refusals.add_fit(scheduler, attempt);
                continue;
            }
            if refusal.is_of_volumes() {
                refusals.add_volumes(scheduler, attempt, refusal);
                continue;
            }
            let reasons = refusals.reasons.len();
            refusals.reasons.push([refusal.text().to_string()].into());
            let nodes = rows(scratch.refused(refusal)).map(|row| Refused {
                row,
                plugin: refusal.plugin().name(),
                reasons,
                unresolvable: refusal.is_unresolvable(),
            });
            refusals.nodes.extend(nodes);
        }
        for (filter, (name, reason)) in scheduler.externals.filters.iter().enumerate() {
            let reasons = refusals.reasons.len();
            refusals.reasons.push([reason.clone()].into());
            let nodes = rows(scratch.external.refused(filter)).map(|row| Refused {
                row,
                plugin: name,
                reasons,
                unresolvable: true,
            });
            refusals.nodes.extend(nodes);
        }
        let mut known: BTreeMap<u32, usize> = BTreeMap::new();
        for refused in scheduler.extended.refused() {
            let reasons = *known.entry(refused.text).or_insert_with(|| {
                let text = texts.reasons.get(refused.text as usize);
                refusals.reasons.push(text.cloned().into_iter().collect());
                refusals.reasons.len().saturating_sub(1)
            });
            refusals.nodes.push(Refused {
                row: refused.row,
                plugin: EXTENDER,
                reasons,
                unresolvable: refused.unresolvable,
            });
        }
        refusals
    }

    fn add_fit(&mut self, scheduler: &Scheduler, attempt: Attempt<'_>) {
        let scratch = &scheduler.scratch;
        let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        let mut places = Vec::new();
        for row in rows(scratch.refused(Refusal::Fit)) {
            places.clear();
            let mut unresolvable = Refusal::Fit.is_unresolvable();
            let mut counted = scratch.lacks.iter();
            if let Some((_, lacks)) = counted.find(|(own, _)| *own == row) {
                unresolvable = lacks.unresolvable;
                fit_places(attempt, *lacks, &mut places);
            } else {
                node_resources_fit::lacks(attempt, row as usize, |place, for_good| {
                    unresolvable |= for_good;
                    places.push(place);
                });
            }
            let reasons = if let Some(reasons) = known.get(&places) {
                *reasons
            } else {
                let reasons = self.reasons.len();
                self.reasons.push(fit_texts(attempt, &places));
                known.insert(places.clone(), reasons);
                reasons
            };
            self.nodes.push(Refused {
                row,
                plugin: Refusal::Fit.plugin().name(),
                reasons,
                unresolvable,
            });
        }
    }

    fn add_volumes(&mut self, scheduler: &Scheduler, attempt: Attempt<'_>, refusal: Refusal) {
        let scratch = &scheduler.scratch;
        for row in rows(scratch.refused(refusal)) {
            let details = scratch.volume_details(row, refusal);
            let volumes = &scratch.volumes;
            let texts = volume_reasons(attempt, volumes, refusal, row, details.bits as u8);
            let known = self.reasons.iter().position(|own| *own == texts);
            let reasons = known.unwrap_or(self.reasons.len());
            if known.is_none() {
                self.reasons.push(texts);
            }
            self.nodes.push(Refused {
                row,
                plugin: refusal.plugin().name(),
                reasons,
                unresolvable: details.unresolvable,
            });
        }
    }
}

/// The texts of a volume plugin's reasons for a row.
pub(super) fn volume_reasons(
    attempt: Attempt<'_>,
    scratch: &VolumeScratch,
    refusal: Refusal,
    row: u32,
    code: u8,
) -> Vec<String> {
    let text = |text: &str| Vec::from([text.to_string()]);
    match refusal {
        Refusal::VolumeRestrictions => text(plugins::volume_restrictions::reason(code)),
        Refusal::NodeVolumeLimits => node_volume_limits::reasons(attempt, scratch, row, code),
        Refusal::VolumeBinding => plugins::volume_binding::reasons(code)
            .map(ToString::to_string)
            .collect(),
        _ => text(refusal.text()),
    }
}

fn set_refusals(scheduler: &Scheduler, refused: &Refusals<'_>, record: &mut DecisionRecord) {
    let cluster = &scheduler.cluster;
    let scratch = &scheduler.scratch;
    let mut rejected = BTreeMap::new();
    let mut unresolvable = Vec::new();
    if scratch.narrowed {
        let outside = |node: &NodeId| !scratch.searched.contains(node.0);
        for node in scheduler.nodes().filter(outside) {
            let name = cluster.node_name(node.index()).to_string();
            rejected.insert(name, alloc::vec![PRE_FILTER.to_string(), narrowed_reason()]);
        }
    }
    let mut resolvable = alloc::collections::BTreeSet::new();
    for node in &refused.nodes {
        let texts = refused.reasons.get(node.reasons).into_iter().flatten();
        let plugin = core::iter::once(node.plugin.to_string());
        let name = cluster.node_name(node.row as usize).to_string();
        if !node.unresolvable {
            resolvable.insert(name.clone());
        }
        rejected.insert(name, plugin.chain(texts.cloned()).collect());
    }
    unresolvable.extend(
        rejected
            .keys()
            .filter(|name| !resolvable.contains(*name))
            .cloned(),
    );
    if !rejected.is_empty() {
        record.rejected = Some(rejected);
    }
    record.unresolvable = unresolvable;
}

fn set_scores(scheduler: &Scheduler, attempt: Attempt<'_>, record: &mut DecisionRecord) {
    let cluster = &scheduler.cluster;
    let scratch = &scheduler.scratch;
    let best = scratch.totals.iter().max();
    let mut ties = Vec::new();
    let mut scores = Vec::with_capacity(scratch.list.len());
    for (row, total) in scratch.list.iter().zip(&scratch.totals) {
        let node = cluster.node_name(*row as usize).to_string();
        if Some(total) == best {
            ties.push(node.clone());
        }
        let mut plugins = BTreeMap::new();
        for (plugin, weight) in &attempt.plan.scores {
            if let Some(score) = scratch.score(cluster, *plugin, *row) {
                plugins.insert(
                    plugin.name().into(),
                    i64::from(score).saturating_mul(*weight),
                );
            }
        }
        let externals = scheduler.externals.scores.iter().enumerate();
        for (at, (name, weight)) in externals.filter(|_| scratch.external.is_scored) {
            let score = i64::from(scratch.external.score(at, *row));
            plugins.insert(name.clone().into(), score.saturating_mul(*weight));
        }
        scores.push(NodeScore {
            node,
            total: *total,
            plugins,
        });
    }
    ties.sort_unstable();
    scores.sort_unstable_by(|a, b| a.node.cmp(&b.node));
    record.ties = Some(ties);
    record.scores = Some(scores);
}
