//! The record of an attempt: per-node reasons, scores, and upstream's message text.
//!
//! Mirrors `FitError` and `Diagnosis` of `pkg/scheduler/framework/types.go`. Nothing here changes
//! the scheduler; records allocate, and are made only when they are asked for.

use super::{
    AttemptError, Decision, DecisionRecord, Detail, ExtenderTexts, NodeScore, Outcome, PodResult,
};
use crate::cycle::{Attempt, Fault, Lacks, PreFilterRefusal, Refusal, VolumeScratch};
use crate::id::NodeId;
use crate::intern::{Word, word_text};
use crate::node_set::rows;
use crate::plugins::node_resources_fit::{self, MAIN_PLACE, PODS_PLACE, SCALAR_PLACE};
use crate::plugins::{self, Plugin, node_volume_limits};
use crate::scheduler::Scheduler;
use crate::table::Count;
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
        // Only the class' words are read from here on.
        slot: 0,
        pinned_row: None,
    };
    if decision.outcome != Outcome::Unschedulable && detail == Detail::None {
        return record;
    }
    let refused = Refusals::of(scheduler, attempt, texts);
    if decision.outcome == Outcome::Unschedulable {
        record.message = Some(message(scheduler, attempt, &refused));
        super::preemption::add(scheduler, decision, attempt, texts, &mut record);
    }
    if detail >= Detail::Reasons {
        set_refusals(scheduler, &refused, &mut record);
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
                let mut texts = Vec::new();
                fit_texts(attempt, &places, &mut texts);
                self.reasons.push(texts);
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

    /// How many nodes each reason holds for.
    fn counts(&self) -> BTreeMap<&str, u32> {
        let mut nodes: Vec<u32> = self.reasons.iter().map(|_| 0).collect();
        for refused in &self.nodes {
            if let Some(count) = nodes.get_mut(refused.reasons) {
                count.count_up();
            }
        }
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for (reasons, nodes) in self.reasons.iter().zip(nodes) {
            for reason in reasons.iter().filter(|_| nodes > 0) {
                let count = counts.entry(reason).or_default();
                *count = count.saturating_add(nodes);
            }
        }
        counts
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

/// The text of a PreFilter plugin that refuses every node.
fn pre_filter_text(attempt: Attempt<'_>, refusal: PreFilterRefusal) -> String {
    let texts = &attempt.cluster.texts;
    let text = |word: Word| word_text(word).map_or("", |text| texts.text(text));
    let PreFilterRefusal::Volumes(_, fault) = refusal else {
        return plugins::node_affinity::REASON_CONFLICT.to_string();
    };
    match fault {
        Fault::NoClaim(name) => format!("persistentvolumeclaim {:?} not found", text(name)),
        Fault::Waits(name) => format!(
            "waiting for ephemeral volume controller to create the persistentvolumeclaim {:?}",
            text(name)
        ),
        Fault::Lost(name, volume) => format!(
            "persistentvolumeclaim {:?} bound to non-existent persistentvolume {:?}",
            text(name),
            text(volume)
        ),
        Fault::Deleting(name) => {
            format!("persistentvolumeclaim {:?} is being deleted", text(name))
        }
        Fault::Foreign(namespace, name) => {
            let (pod_namespace, pod) = (text(attempt.pod.namespace), text(attempt.pod.name));
            format!(
                "PVC {}/{} was not created for pod {pod_namespace}/{pod} (pod is not owner)",
                text(namespace),
                text(name)
            )
        }
        Fault::Unbound => "pod has unbound immediate PersistentVolumeClaims".to_string(),
        Fault::NoVolume(name) => format!("persistentvolume {:?} not found", text(name)),
        Fault::NoClass(name) => {
            format!("storageclass.storage.k8s.io {:?} not found", text(name))
        }
        Fault::NoClassName => {
            "PersistentVolumeClaim had no pv name and storageClass name".to_string()
        }
        Fault::NoMode(name) => {
            format!(
                "VolumeBindingMode not set for StorageClass {:?}",
                text(name)
            )
        }
        Fault::NoVolumeName => "PersistentVolume had no name".to_string(),
    }
}

/// The texts of NodeResourcesFit's reasons as they were noted.
pub(super) fn fit_reasons(attempt: Attempt<'_>, lacks: Lacks, reasons: &mut Vec<String>) {
    let mut places = Vec::new();
    fit_places(attempt, lacks, &mut places);
    fit_texts(attempt, &places, reasons);
}

/// The places of the reasons as they were noted, ascending.
fn fit_places(attempt: Attempt<'_>, lacks: Lacks, places: &mut Vec<usize>) {
    places.extend((0..Lacks::LAST).filter(|place| lacks.bits >> place & 1 != 0));
    if lacks.bits >> Lacks::LAST != 0 {
        let scalars = (SCALAR_PLACE..).zip(attempt.class.scalars());
        let further = scalars.map(|(place, _)| place);
        places.extend(further.filter(|place| *place >= Lacks::LAST));
    }
}

/// The texts of the reasons with these places, ascending; other resources by name.
fn fit_texts(attempt: Attempt<'_>, places: &[usize], reasons: &mut Vec<String>) {
    let cluster = attempt.cluster;
    let mut places = places.iter().copied().peekable();
    let mut has = |place| places.next_if_eq(&place).is_some();
    if has(PODS_PLACE) {
        reasons.push(node_resources_fit::TOO_MANY_PODS.to_string());
    }
    for (place, name) in (MAIN_PLACE..).zip(["cpu", "memory", "ephemeral-storage"]) {
        if has(place) {
            reasons.push(format!("Insufficient {name}"));
        }
    }
    let mut scalars = Vec::new();
    for (place, scalar) in (SCALAR_PLACE..).zip(attempt.class.scalars()) {
        if has(place) {
            let name = cluster.texts.text(cluster.resources.name(scalar.resource));
            scalars.push(format!("Insufficient {name}"));
        }
    }
    scalars.sort_unstable();
    reasons.append(&mut scalars);
}

/// The text of `FitError`, up to where preemption appends its own.
fn message(scheduler: &Scheduler, attempt: Attempt<'_>, refused: &Refusals<'_>) -> String {
    let nodes = scheduler.cluster.node_count;
    let start = format!("0/{nodes} nodes are available:");
    if let Some(refusal) = scheduler.scratch.pre_filter_refusal {
        return format!("{start} {}.", pre_filter_text(attempt, refusal));
    }
    let mut counts = refused.counts();
    let outside = nodes.saturating_sub(refused.nodes.len() as u32);
    let narrowed = narrowed_reason();
    if scheduler.scratch.narrowed && outside > 0 {
        counts.insert(&narrowed, outside);
    }
    histogram(start, &counts)
}

/// Appends each reason with its count, sorted by the words that this makes.
pub(super) fn histogram(start: String, counts: &BTreeMap<&str, u32>) -> String {
    let mut parts: Vec<String> = counts
        .iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    parts.sort_unstable();
    if parts.is_empty() {
        start
    } else {
        format!("{start} {}.", parts.join(", "))
    }
}

/// Why nodes outside the narrowed set were not looked at; only NodeAffinity narrows.
fn narrowed_reason() -> String {
    format!(
        "node(s) didn't satisfy plugin(s) [{}]",
        Plugin::NodeAffinity.name()
    )
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
