//! Decisions as the naive twin judges them at their moment: I2, I7, I8, I9.

use super::preemption;
use crate::expected::{as_pod, key_of};
use crate::server::{Key, pod_id};
use crate::simulation::{Rules, Simulation};
use crate::storage;
use crate::violation::{Check, Violation, ensure};
use berth_core::object::Pod;
use berth_core::plugins::Plugin;
use berth_core::profile::Profile;
use berth_core::{AttemptError, Decision, DecisionRecord, Detail, Outcome, PodResult};
use berth_naive::{Cluster, Options, Search, Ties};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Pods that are nominated to nodes, each with its node: those that a pod has to leave room for.
pub(super) type Nominated = Vec<(String, Pod)>;

/// An attempt, as the twin sees it.
pub(super) struct Judged<'a> {
    pub(super) pod: &'a Pod,
    pub(super) profile: &'a Profile,
    pub(super) record: &'a DecisionRecord,
    pub(super) nominated: &'a Nominated,
}

/// Checks a decision on a pod; whether the pod fits nowhere, nominations left out. The twin has not
/// placed the pod yet.
pub(crate) fn judged(
    simulation: &mut Simulation,
    key: &Key,
    decision: &Decision,
    rules: &Rules,
) -> Result<bool, Violation> {
    let Some(pod) = simulation.told_pod(key).cloned() else {
        return Ok(false);
    };
    let going = pod.metadata.deletion_timestamp.is_some();
    match decision.outcome {
        Outcome::Error(AttemptError::Deleting) => {
            ensure(going, "I8", || format!("{key:?} is not being deleted"))?;
            return Ok(false);
        }
        Outcome::Unsupported(_) => return Ok(false),
        Outcome::Gated => {
            ensure(false, "I21", || format!("{key:?} is gated and was tried"))?;
        }
        _ => {}
    }
    ensure(!going, "I21", || format!("{key:?} is going and was tried"))?;
    let setup = Rc::clone(&simulation.setup);
    let Some(profile) = setup.profile(&pod.spec.scheduler_name) else {
        ensure(false, "I21", || format!("{key:?} has no profile"))?;
        return Ok(false);
    };
    let options = Options {
        search: Search::All,
        ties: Ties::FirstName,
    };
    let record = simulation.shadow.decide(&pod, profile, options);
    let nominated = nominated(simulation, &pod);
    let judged = Judged {
        pod: &pod,
        profile,
        record: &record,
        nominated: &nominated,
    };
    match decision.outcome {
        Outcome::Scheduled(node) | Outcome::Refused(node) => {
            let node = simulation.engine.node(node).name;
            placed(simulation, &judged, decision, node)?;
        }
        Outcome::Unschedulable => {
            refused(simulation, &judged, decision)?;
            let compared = preemption::checked(simulation, &judged, decision, rules)?;
            simulation.looks.preemptions += u64::from(compared);
        }
        Outcome::Error(AttemptError::External | AttemptError::Capacity(_)) => {}
        _ => {
            let same = record.result == PodResult::Error || !nominated.is_empty();
            ensure(same, "I8", || {
                format!("{key:?}: {decision:?}, but the twin says {record:?}")
            })?;
        }
    }
    Ok(record.result != PodResult::Error && record.feasible == Some(0))
}

/// The chosen node takes the pod, beside those nominated to it, and is one of the best.
fn placed(simulation: &Simulation, judged: &Judged<'_>, decision: &Decision, node: &str) -> Check {
    let Judged { pod, record, .. } = judged;
    let name = &pod.metadata.name;
    if record.result == PodResult::Error {
        // One node that was looked at first needs no scores.
        return ensure(decision.feasible == 1, "I9", || {
            format!("{name} was placed on {node}, but the twin says {record:?}")
        });
    }
    let refusal = refusal(record, node);
    ensure(refusal.is_none(), "I8", || {
        format!("{name} was placed on {node}, which the twin refuses: {refusal:?}")
    })?;
    let fits = fits_beside(&simulation.shadow, judged, node)?;
    ensure(fits != Some(false), "I8", || {
        format!("{name} was placed on {node}, in the room of a pod nominated to it")
    })?;
    let scored = decision.is_scored()
        && Some(decision.feasible) == record.feasible
        && matches!(decision.outcome, Outcome::Scheduled(_));
    if !scored {
        return Ok(());
    }
    let scores = record.scores.iter().flatten();
    let expected: BTreeSet<(&str, i64)> = scores
        .map(|score| (score.node.as_str(), score.total))
        .collect();
    let engine = &simulation.engine;
    let own: BTreeSet<(&str, i64)> = engine
        .feasible(decision)
        .map(|(id, total)| (engine.node(id).name, total))
        .collect();
    // One that keeps the best node up to date tells no others.
    let keeps = simulation.setup.options.detail == Some(Detail::None);
    ensure(keeps && own.is_empty() || own == expected, "I9", || {
        format!("{name}: scores {own:?}, the twin's {expected:?}")
    })?;
    let best = record.ties.iter().flatten().any(|own| own == node);
    ensure(best, "I9", || {
        format!(
            "{name} was placed on {node}, but the best are {:?}",
            record.ties
        )
    })
}

/// No node takes the pod, and the plugins that say so are told.
fn refused(simulation: &Simulation, judged: &Judged<'_>, decision: &Decision) -> Check {
    let Judged {
        pod,
        record,
        nominated,
        ..
    } = judged;
    let name = &pod.metadata.name;
    let is_error = record.result == PodResult::Error;
    ensure(!is_error || !nominated.is_empty(), "I8", || {
        format!("{name}: {decision:?}, but the twin says {record:?}")
    })?;
    if is_error {
        return Ok(());
    }
    for state in &simulation.shadow.nodes {
        let node = state.name();
        if refusal(record, node).is_none() {
            let fits = fits_beside(&simulation.shadow, judged, node)?;
            ensure(fits != Some(true), "I8", || {
                format!("{name} fits on {node} and was not placed: {decision:?}")
            })?;
        }
    }
    if !nominated.is_empty() {
        return Ok(());
    }
    let mut expected: BTreeSet<&str> = BTreeSet::new();
    for reasons in record.rejected.iter().flat_map(|all| all.values()) {
        match reasons.first().map(String::as_str) {
            Some("PreFilter") => expected.insert(Plugin::NodeAffinity.name()),
            Some(plugin) => expected.insert(plugin),
            None => false,
        };
    }
    if record.rejected.is_none() {
        let shadow = &simulation.shadow;
        let rejector = shadow.pre_filter_rejector(pod, judged.profile);
        expected.insert(rejector.unwrap_or(Plugin::NodeAffinity).name());
    }
    let mut own: BTreeSet<&str> = decision.rejectors.iter().map(Plugin::name).collect();
    // Terms by name narrow the search, which is told even if no node is left out by it.
    if names_nodes(pod) && !expected.contains(Plugin::NodeAffinity.name()) {
        own.remove(Plugin::NodeAffinity.name());
    }
    ensure(own == expected, "rejectors", || {
        format!("{name} was rejected by {own:?}, by the twin by {expected:?}")
    })
}

/// Why the twin refuses the node, nominations left out.
pub(super) fn refusal(record: &DecisionRecord, node: &str) -> Option<String> {
    if let Some(reasons) = record.rejected.as_ref().and_then(|all| all.get(node)) {
        return Some(format!("{reasons:?}"));
    }
    (record.feasible == Some(0) && record.rejected.is_none())
        .then(|| record.message.clone().unwrap_or_default())
}

/// Pods that are nominated somewhere and not less important.
pub(super) fn nominated(simulation: &Simulation, pod: &Pod) -> Nominated {
    let own = key_of(pod);
    let priority = pod.spec.priority.unwrap_or(0);
    let others = simulation.pods.iter().filter(|(key, other)| {
        **key != own && !other.nomination.is_empty() && other.priority >= priority
    });
    others
        .filter_map(|(key, other)| {
            let object = simulation.client.told.get(&pod_id(key))?;
            Some((other.nomination.clone(), as_pod(object)?.clone()))
        })
        .collect()
}

/// Whether the node takes the pod with its nominated pods counted. `None` if they have terms or its
/// claims: upstream asks `InterPodAffinity` and `VolumeRestrictions` again only if they had a say
/// before, which the twin does not know.
pub(super) fn fits_beside(
    shadow: &Cluster,
    judged: &Judged<'_>,
    node: &str,
) -> Result<Option<bool>, Violation> {
    let mut there = judged.nominated.iter().filter(|(own, _)| own == node);
    if there.clone().next().is_none() {
        return Ok(Some(true));
    }
    let claims: Vec<_> = storage::claims_of(judged.pod).collect();
    let shares = |pod: &Pod| storage::claims_of(pod).any(|own| claims.contains(&own));
    if there.clone().any(|(_, pod)| has_terms(pod) || shares(pod)) {
        return Ok(None);
    }
    let mut full = shadow.clone();
    there.by_ref().for_each(|(_, pod)| full.assume(pod, node));
    fits(&full, judged, node).map(Some)
}

/// Whether the node passes all filters, nominations left out.
pub(super) fn fits(shadow: &Cluster, judged: &Judged<'_>, node: &str) -> Result<bool, Violation> {
    let fitting = shadow.fitting(judged.pod, judged.profile, Some(node));
    fitting
        .map(|names| !names.is_empty())
        .map_err(|error| Violation {
            what: "twin",
            found: error,
        })
}

/// Whether a pod has terms of pod anti-affinity.
fn has_terms(pod: &Pod) -> bool {
    let affinity = pod.spec.affinity.as_ref();
    affinity.is_some_and(|own| own.pod_anti_affinity.is_some())
}

/// Whether a pod's required node affinity names nodes.
fn names_nodes(pod: &Pod) -> bool {
    let affinity = pod.spec.affinity.as_ref();
    let node = affinity.and_then(|own| own.node_affinity.as_ref());
    let required = node.and_then(|own| own.required.as_ref());
    required.is_some_and(|own| {
        let mut terms = own.node_selector_terms.iter();
        terms.any(|term| !term.match_fields.is_empty())
    })
}
