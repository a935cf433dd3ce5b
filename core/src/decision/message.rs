//! Upstream's message for a pod that fits nowhere: how many nodes each reason holds for.
//!
//! Mirrors `FitError` of `pkg/scheduler/framework/types.go`. Reasons are counted by words of the sets of
//! refused nodes, never node by node, as long as they do not differ from node to node.

use super::ExtenderTexts;
use super::diagnosis::volume_reasons;
use crate::cycle::{Attempt, Fault, Lacks, PreFilterRefusal, Refusal};
use crate::intern::{Word, word_text};
use crate::node_set;
use crate::plugins::node_resources_fit::{self, MAIN_PLACE, PODS_PLACE, SCALAR_PLACE};
use crate::plugins::{self, Plugin};
use crate::scheduler::Scheduler;
use crate::table::{Count, Table};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// How many nodes each reason holds for.
#[derive(Default)]
pub(super) struct Histogram<'a> {
    counts: BTreeMap<Cow<'a, str>, u32>,
}

impl<'a> Histogram<'a> {
    pub(super) fn add(&mut self, reason: impl Into<Cow<'a, str>>, nodes: u32) {
        if nodes > 0 {
            let count = self.counts.entry(reason.into()).or_default();
            *count = count.saturating_add(nodes);
        }
    }

    /// The start, and behind it each reason with its count, sorted by the words that this makes.
    pub(super) fn text(&self, start: String) -> String {
        let counts = self.counts.iter();
        let mut parts: Vec<String> = counts
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        parts.sort_unstable();
        if parts.is_empty() {
            start
        } else {
            format!("{start} {}.", parts.join(", "))
        }
    }
}

/// The text of `FitError`, up to where preemption appends its own.
pub(super) fn of(scheduler: &Scheduler, attempt: Attempt<'_>, texts: ExtenderTexts<'_>) -> String {
    let nodes = scheduler.cluster.node_count;
    let start = format!("0/{nodes} nodes are available:");
    if let Some(refusal) = scheduler.scratch.pre_filter_refusal {
        return format!("{start} {}.", pre_filter_text(attempt, refusal));
    }
    let mut counts = Histogram::default();
    let refused = add_refused(scheduler, attempt, texts, &mut counts);
    if scheduler.scratch.narrowed {
        counts.add(narrowed_reason(), nodes.saturating_sub(refused));
    }
    counts.text(start)
}

/// Counts the refused nodes by reason; returns how many they are.
fn add_refused<'a>(
    scheduler: &'a Scheduler,
    attempt: Attempt<'_>,
    texts: ExtenderTexts<'a>,
    counts: &mut Histogram<'a>,
) -> u32 {
    let scratch = &scheduler.scratch;
    let mut all = 0_u32;
    for refusal in Refusal::ALL {
        let refused = scratch.refused(refusal);
        if refused.iter().all(|word| *word == 0) {
            continue;
        }
        let nodes = node_set::count(refused);
        all = all.saturating_add(nodes);
        if refusal == Refusal::Fit {
            add_fit(scheduler, attempt, counts);
        } else if refusal.is_of_volumes() {
            for row in node_set::rows(refused) {
                let code = scratch.volume_details(row, refusal).bits as u8;
                for reason in volume_reasons(attempt, &scratch.volumes, refusal, row, code) {
                    counts.add(reason, 1);
                }
            }
        } else {
            counts.add(refusal.text(), nodes);
        }
    }
    for (filter, (_, reason)) in scheduler.externals.filters.iter().enumerate() {
        let nodes = node_set::count(scratch.external.refused(filter));
        all = all.saturating_add(nodes);
        counts.add(reason, nodes);
    }
    for refused in scheduler.extended.refused() {
        all.count_up();
        if let Some(text) = texts.reasons.get(refused.text as usize) {
            counts.add(text, 1);
        }
    }
    all
}

/// The same of NodeResourcesFit, which has several reasons for a node.
fn add_fit(scheduler: &Scheduler, attempt: Attempt<'_>, counts: &mut Histogram<'_>) {
    let scratch = &scheduler.scratch;
    let places = attempt.class.scalars().count().saturating_add(SCALAR_PLACE);
    let mut refused = scratch.refused(Refusal::Fit).to_vec();
    let mut noted = vec![0_u32; places];
    let mut own = Vec::new();
    for (row, lacks) in &scratch.lacks {
        // Only the first note of a row counts.
        if node_set::contains(&refused, *row) {
            node_set::remove(&mut refused, *row);
            own.clear();
            fit_places(attempt, *lacks, &mut own);
            for place in &own {
                if let Some(count) = noted.at_mut(*place) {
                    count.count_up();
                }
            }
        }
    }
    let others = scheduler.preemption.shortage.counts(attempt, &refused);
    for (place, (noted, others)) in noted.into_iter().zip(others.iter()).enumerate() {
        let nodes = noted.saturating_add(*others);
        if nodes > 0 {
            counts.add(fit_text(attempt, place), nodes);
        }
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

/// The places of the reasons as they were noted, ascending.
pub(super) fn fit_places(attempt: Attempt<'_>, lacks: Lacks, places: &mut Vec<usize>) {
    places.extend((0..Lacks::LAST).filter(|place| lacks.bits >> place & 1 != 0));
    if lacks.bits >> Lacks::LAST != 0 {
        let scalars = (SCALAR_PLACE..).zip(attempt.class.scalars());
        let further = scalars.map(|(place, _)| place);
        places.extend(further.filter(|place| *place >= Lacks::LAST));
    }
}

/// The text of the reason with this place.
fn fit_text(attempt: Attempt<'_>, place: usize) -> Cow<'static, str> {
    let name = match place {
        PODS_PLACE => return node_resources_fit::TOO_MANY_PODS.into(),
        MAIN_PLACE => "cpu",
        2 => "memory",
        3 => "ephemeral-storage",
        place => {
            let scalar = attempt
                .class
                .scalars()
                .nth(place.saturating_sub(SCALAR_PLACE));
            let cluster = attempt.cluster;
            scalar.map_or("", |scalar| {
                cluster.texts.text(cluster.resources.name(scalar.resource))
            })
        }
    };
    format!("Insufficient {name}").into()
}

/// The texts of the reasons with these places, ascending; other resources by name.
pub(super) fn fit_texts(attempt: Attempt<'_>, places: &[usize]) -> Vec<String> {
    let text = |place: &usize| fit_text(attempt, *place).into_owned();
    let (main, scalars) = places.split_at(places.partition_point(|place| *place < SCALAR_PLACE));
    let mut texts: Vec<String> = main.iter().map(text).collect();
    let mut others: Vec<String> = scalars.iter().map(text).collect();
    others.sort_unstable();
    texts.append(&mut others);
    texts
}

/// Why nodes outside the narrowed set were not looked at; only NodeAffinity narrows.
pub(super) fn narrowed_reason() -> String {
    format!(
        "node(s) didn't satisfy plugin(s) [{}]",
        Plugin::NodeAffinity.name()
    )
}
