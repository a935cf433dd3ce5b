//! What preemption adds to the record of a failed attempt.
//!
//! Mirrors the texts of `framework/preemption/preemption.go`.

use super::diagnosis::volume_reasons;
use super::message::{Histogram, fit_places, fit_texts};
use super::{Decision, DecisionRecord, ExtenderTexts, Nomination, PostFilter};
use crate::cycle::{Attempt, Lacks, Refusal};
use crate::id::{NodeId, PodId};
use crate::preemption::Dry;
use crate::scheduler::Scheduler;
use crate::table::Count;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Nodes that were not tried.
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// Nodes without a pod of lower priority.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// Adds message, nomination and victims.
pub(super) fn add(
    scheduler: &Scheduler,
    decision: &Decision,
    attempt: Attempt<'_>,
    texts: ExtenderTexts<'_>,
    record: &mut DecisionRecord,
) {
    let name = |node: NodeId| scheduler.cluster.node_name(node.index());
    let text = match decision.post_filter {
        PostFilter::Absent | PostFilter::Nothing => None,
        PostFilter::Unprepared => {
            // What upstream says of a state that nobody wrote.
            let message = record.message.iter_mut();
            message.for_each(|message| message.push_str(" not found"));
            None
        }
        PostFilter::Placed { node, victims } => Some(format!(
            "found a potential placement for pod on node {}, preempting {victims} victims",
            name(node)
        )),
        PostFilter::NoCandidate => Some(no_candidate(scheduler, attempt)),
        PostFilter::Never => Some("not eligible due to preemptionPolicy=Never.".to_string()),
        PostFilter::Terminating => {
            Some("not eligible due to a terminating pod on the nominated node.".to_string())
        }
        PostFilter::Vetoed => Some("no candidate node for preemption".to_string()),
        PostFilter::ExtenderFailed => Some(texts.error.to_string()),
        PostFilter::Failed(node) => Some(format!(
            "expected at least one victim pod on node {:?}",
            name(node)
        )),
    };
    if let (Some(message), Some(text)) = (&mut record.message, text) {
        message.push_str(" preemption: ");
        message.push_str(&text);
    }
    if let Nomination::Node(node) = decision.nomination {
        record.nominated_node = Some(name(node).to_string());
    }
    let full_name = |pod: PodId| {
        let (namespace, name) = scheduler.pod_name(pod);
        format!("{namespace}/{name}")
    };
    let victims = scheduler.victims().iter();
    record.victims = victims.map(|victim| full_name(victim.pod)).collect();
}

fn no_candidate(scheduler: &Scheduler, attempt: Attempt<'_>) -> String {
    let nodes = scheduler.cluster.node_count;
    let dry = &scheduler.preemption.dry;
    let mut counts = Histogram::default();
    // Of resources too, reasons are few, however many the nodes are.
    let mut short: BTreeMap<Lacks, u32> = BTreeMap::new();
    for (row, verdict) in dry {
        match verdict {
            Dry::NoVictims => counts.add(NO_VICTIMS, 1),
            Dry::Refused(Refusal::Fit, lacks) => short.entry(*lacks).or_default().count_up(),
            Dry::Refused(refusal, details) if refusal.is_of_volumes() => {
                let scratch = &scheduler.preemption.scratch.volumes;
                let code = details.bits as u8;
                for reason in volume_reasons(attempt, scratch, *refusal, *row, code) {
                    counts.add(reason, 1);
                }
            }
            Dry::Refused(refusal, _) => counts.add(refusal.text(), 1),
        }
    }
    let mut places = Vec::new();
    for (lacks, nodes) in short {
        places.clear();
        fit_places(attempt, lacks, &mut places);
        for reason in fit_texts(attempt, &places) {
            counts.add(reason, nodes);
        }
    }
    counts.add(NOT_HELPFUL, nodes.saturating_sub(dry.len() as u32));
    counts.text(format!("0/{nodes} nodes are available:"))
}
