//! Victims as upstream's order of reprieve leaves them, and the best node among the candidates: I15.

use super::decision::{Judged, fits, fits_beside};
use crate::expected::{Place, key_of};
use crate::server::Key;
use crate::simulation::{Rules, Simulation};
use crate::storage;
use crate::violation::{Violation, ensure};
use berth_core::object::{LabelSelector, Object, Pod, PodDisruptionBudget, parse_time};
use berth_core::profile::DefaultConstraints;
use berth_core::{Decision, PostFilter, VictimKind};
use berth_naive::Cluster;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How good a candidate is, the smaller the better: violations, highest priority, sum, count,
/// latest start.
type Cost = (usize, i32, i64, usize, Reverse<i64>);

/// Checks what an attempt that found no node did about it; whether its victims were compared.
pub(super) fn checked(
    simulation: &Simulation,
    judged: &Judged<'_>,
    decision: &Decision,
    rules: &Rules,
) -> Result<bool, Violation> {
    let pod = judged.pod;
    let name = &pod.metadata.name;
    let own = priority(pod);
    let victims = simulation.engine.victims();
    let mut seen = BTreeSet::new();
    for victim in victims {
        let key = simulation.key(victim.pod);
        let Some(expected) = simulation.pods.get(&key) else {
            ensure(false, "I24", || {
                format!("a victim that is not there: {key:?}")
            })?;
            continue;
        };
        ensure(expected.priority < own, "I15", || {
            format!("{key:?} is to go for {name}, which is not more important")
        })?;
        ensure(seen.insert(key.clone()), "I15", || {
            format!("{key:?} is to go twice")
        })?;
        let object = simulation.told_pod(&key);
        let going = object.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
        let early = matches!(expected.place, Place::Permit { .. } | Place::PreBind);
        let kind = match (going, early) {
            (true, _) => VictimKind::Terminating,
            (false, true) => VictimKind::InMemory,
            (false, false) => VictimKind::Evict,
        };
        ensure(victim.kind == kind, "I15", || {
            format!("{key:?} goes as {:?}, but should as {kind:?}", victim.kind)
        })?;
    }
    let never = pod.spec.preemption_policy == "Never";
    let asked = !matches!(
        decision.post_filter,
        PostFilter::Absent | PostFilter::Nothing | PostFilter::Unprepared
    );
    ensure(
        !asked || never == (decision.post_filter == PostFilter::Never),
        "I15",
        || format!("{name}: {:?}", decision.post_filter),
    )?;
    let PostFilter::Placed {
        node,
        victims: count,
    } = decision.post_filter
    else {
        ensure(victims.is_empty(), "I15", || format!("{name} has victims"))?;
        if decision.post_filter == PostFilter::NoCandidate && is_plain(judged) && !rules.vetoed {
            let best = best(simulation, judged);
            ensure(best.is_none(), "I15", || {
                format!("{name} has no victims, but could have {best:?}")
            })?;
        }
        return Ok(false);
    };
    ensure(count as usize == victims.len(), "I15", || {
        format!("{count} victims are told, {} listed", victims.len())
    })?;
    let node = simulation.engine.node(node).name;
    let own: Vec<Key> = victims.iter().map(|own| simulation.key(own.pod)).collect();
    let there = |key: &Key| {
        let pod = simulation.pods.get(key);
        pod.is_some_and(|pod| pod.node.as_deref() == Some(node))
    };
    ensure(own.iter().all(there), "I15", || {
        format!("{own:?} are to go from {node}, but are not all there")
    })?;
    let is_ordered = !simulation.returned.contains(node);
    if !is_plain(judged) || !is_ordered || rules.vetoed {
        return Ok(false);
    }
    let Some((victims, cost)) = candidate(simulation, judged, node) else {
        ensure(false, "I15", || {
            format!("{node} is no candidate for {name}")
        })?;
        return Ok(false);
    };
    ensure(own == victims, "I15", || {
        format!("for {name} on {node} go {own:?}, but should {victims:?}")
    })?;
    if !simulation.returned.is_empty() {
        return Ok(true);
    }
    let best = best(simulation, judged);
    let is_best = best.as_ref().is_some_and(|(_, least)| cost <= *least);
    ensure(is_best, "I15", || {
        format!("{name} goes to {node} at {cost:?}, but {best:?} is better")
    })?;
    Ok(true)
}

/// Whether the twin's recount is what upstream's incremental state comes to: spreading, and claims of
/// one pod, follow victims by rules of their own.
fn is_plain(judged: &Judged<'_>) -> bool {
    let constraints = &judged.profile.args.default_constraints;
    let hard = matches!(constraints, DefaultConstraints::List(list) if !list.is_empty());
    judged.pod.spec.topology_spread_constraints.is_empty()
        && !hard
        && storage::claims_of(judged.pod).all(|(_, is_own)| is_own)
        && !judged
            .nominated
            .iter()
            .any(|(_, pod)| pod.spec.affinity.is_some())
}

/// The best candidate: its node, and its cost.
fn best(simulation: &Simulation, judged: &Judged<'_>) -> Option<(String, Cost)> {
    let mut best: Option<(String, Cost)> = None;
    for state in &simulation.shadow.nodes {
        let node = state.name();
        let unresolvable = judged.record.unresolvable.iter().any(|own| own == node);
        let all_refused = judged.record.rejected.is_none() && judged.record.feasible == Some(0);
        if unresolvable || all_refused {
            continue;
        }
        if let Some((_, cost)) = candidate(simulation, judged, node)
            && best.as_ref().is_none_or(|(_, least)| cost < *least)
        {
            best = Some((node.to_owned(), cost));
        }
    }
    best
}

/// Victims on a node, the most important first. Mirrors `SelectVictimsOnNode`.
fn candidate(simulation: &Simulation, judged: &Judged<'_>, node: &str) -> Option<(Vec<Key>, Cost)> {
    let own = priority(judged.pod);
    let now = i64::try_from(simulation.engine.now()).unwrap_or(i64::MAX);
    let state = simulation.shadow.nodes.iter();
    let state = state.clone().find(|state| state.name() == node)?;
    let mut lower: Vec<Pod> = state.pods.iter().map(|placed| placed.pod.clone()).collect();
    lower.retain(|pod| priority(pod) < own);
    if lower.is_empty() {
        return None;
    }
    let importance = |pod: &Pod| (Reverse(priority(pod)), start(pod, now));
    lower.sort_by_key(importance);
    let mut trial = simulation.shadow.clone();
    for pod in &lower {
        trial.remove_pod(&pod.metadata.namespace, &pod.metadata.name);
    }
    if !takes(&trial, judged, node) {
        return None;
    }
    let (violating, others) = split(simulation, &lower);
    let mixed = !violating.is_empty() && !others.is_empty();
    let mut victims = Vec::new();
    let mut violations = 0;
    let first = violating.len();
    for (at, pod) in violating.into_iter().chain(others).enumerate() {
        trial.assume(&pod, node);
        if !takes(&trial, judged, node) {
            trial.remove_pod(&pod.metadata.namespace, &pod.metadata.name);
            violations += usize::from(at < first);
            victims.push(pod);
        }
    }
    if mixed {
        victims.sort_by_key(importance);
    }
    if victims.is_empty() {
        return None;
    }
    let top = victims.iter().map(priority).max().unwrap_or(0);
    let starts = victims.iter().filter(|pod| priority(pod) == top);
    let cost = (
        violations,
        victims.first().map_or(0, priority),
        victims
            .iter()
            .map(|pod| i64::from(priority(pod)) + (1 << 31))
            .sum(),
        victims.len(),
        Reverse(starts.map(|pod| start(pod, now)).min().unwrap_or(now)),
    );
    Some((victims.iter().map(key_of).collect(), cost))
}

/// Whether the node takes the pod; a filter that fails there, as PreFilter does not prepare it, makes it no
/// candidate.
fn takes(trial: &Cluster, judged: &Judged<'_>, node: &str) -> bool {
    fits(trial, judged, node) == Ok(true)
        && matches!(fits_beside(trial, judged, node), Ok(None | Some(true)))
}

/// Pods whose eviction violates a budget, and the others. Mirrors
/// `FilterVictimsWithPDBViolation`.
fn split(simulation: &Simulation, pods: &[Pod]) -> (Vec<Pod>, Vec<Pod>) {
    let told = simulation.client.told.values();
    let budgets: Vec<&PodDisruptionBudget> = told
        .filter_map(|object| match object {
            Object::PodDisruptionBudget(budget) => Some(budget),
            _ => None,
        })
        .collect();
    let mut left: Vec<i32> = budgets
        .iter()
        .map(|budget| budget.status.disruptions_allowed)
        .collect();
    let (mut violating, mut others) = (Vec::new(), Vec::new());
    for pod in pods {
        let mut violates = false;
        for (budget, left) in budgets.iter().zip(&mut left) {
            if !violates && covers(budget, pod) {
                *left -= 1;
                violates = *left < 0;
            }
        }
        if violates {
            violating.push(pod.clone());
        } else {
            others.push(pod.clone());
        }
    }
    (violating, others)
}

/// Budgets of the simulation select by equality.
fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let labels = &pod.metadata.labels;
    let selects = |selector: &LabelSelector| {
        let pairs = &selector.match_labels;
        !pairs.is_empty()
            && pairs
                .iter()
                .all(|(key, value)| labels.get(key) == Some(value))
    };
    budget.metadata.namespace == pod.metadata.namespace
        && budget.spec.selector.as_ref().is_some_and(selects)
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.priority.unwrap_or(0)
}

fn start(pod: &Pod, now: i64) -> i64 {
    let start = pod.status.start_time.as_deref().and_then(parse_time);
    start.unwrap_or(now)
}
