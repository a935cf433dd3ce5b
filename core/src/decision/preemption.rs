//! What preemption adds to the record of a failed attempt.
//!
//! Mirrors the texts of `framework/preemption/preemption.go`.

use super::diagnosis::{fit_reasons, histogram, volume_reasons};
use super::{Decision, DecisionRecord, ExtenderTexts, Nomination, PostFilter};
use crate::cycle::{Attempt, Refusal};
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
    let mut texts: Vec<String> = Vec::new();
    for (row, verdict) in dry {
        match verdict {
            Dry::NoVictims => texts.push(NO_VICTIMS.to_string()),
            Dry::Refused(Refusal::Fit, lacks) => fit_reasons(attempt, *lacks, &mut texts),
            Dry::Refused(refusal, details) if refusal.is_of_volumes() => {
                let scratch = &scheduler.preemption.scratch.volumes;
                texts.extend(volume_reasons(
                    attempt,
                    scratch,
                    *refusal,
                    *row,
                    details.bits as u8,
                ));
            }
            Dry::Refused(refusal, _) => texts.push(refusal.text().to_string()),
        }
    }
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for text in &texts {
        counts.entry(text).or_default().count_up();
    }
    let untried = nodes.saturating_sub(dry.len() as u32);
    if untried > 0 {
        let count = counts.entry(NOT_HELPFUL).or_default();
        *count = count.saturating_add(untried);
    }
    histogram(format!("0/{nodes} nodes are available:"), &counts)
}
