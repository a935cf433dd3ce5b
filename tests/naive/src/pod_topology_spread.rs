//! `PodTopologySpread`: even numbers of matching pods over domains. Mirrors
//! `plugins/podtopologyspread/{common,filtering,scoring}.go` and `plugins/helper/spread.go`.

use crate::logarithm::ln;
use crate::node_affinity::matches_required;
use crate::selector::{Rule, Selector};
use crate::taint_toleration::has_untolerated_taint;
use crate::{Cluster, NodeState, Refusal, Verdict};
use berth_core::object::{Labels, Pod, TopologySpreadConstraint};
use berth_core::profile::{Args, DefaultConstraints};
use std::collections::{BTreeMap, BTreeSet};

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const HARD: &str = "DoNotSchedule";
const SOFT: &str = "ScheduleAnyway";

/// Number of matching pods by domain.
type Counts = BTreeMap<String, i64>;

/// A constraint in force.
struct Constraint {
    max_skew: i64,
    key: String,
    selector: Selector,
    min_domains: usize,
    honor_affinity: bool,
    honor_taints: bool,
}

/// The hard constraints and how many pods match in each domain.
pub struct Hard(Vec<(Constraint, Counts)>);

/// The soft constraints, each with its counts and its weight.
pub struct Soft {
    constraints: Vec<(Constraint, Counts, f64)>,
    /// Feasible nodes that lack a key that they need.
    ignored: BTreeSet<String>,
}

/// `None` if there is no hard constraint.
///
/// # Errors
///
/// A selector is not valid.
pub fn pre_filter(cluster: &Cluster, pod: &Pod, args: &Args) -> Result<Option<Hard>, String> {
    let constraints = in_force(cluster, pod, args, HARD)?;
    if constraints.is_empty() {
        return Ok(None);
    }
    let mut counts = vec![Counts::new(); constraints.len()];
    for node in &cluster.nodes {
        if !has_all_keys(node, &constraints) {
            continue;
        }
        for (constraint, counts) in constraints.iter().zip(&mut counts) {
            if constraint.is_eligible(pod, node) {
                let domain = node.labels()[&constraint.key].clone();
                *counts.entry(domain).or_default() += constraint.count(pod, node);
            }
        }
    }
    Ok(Some(Hard(constraints.into_iter().zip(counts).collect())))
}

pub fn filter(hard: &Hard, pod: &Pod, node: &NodeState) -> Verdict {
    for (constraint, counts) in &hard.0 {
        let Some(domain) = node.labels().get(&constraint.key) else {
            return Err(Refusal::unresolvable(
                "node(s) didn't match pod topology spread constraints (missing required label)",
            ));
        };
        let least = if counts.len() < constraint.min_domains {
            0
        } else {
            counts.values().copied().min().unwrap_or(i32::MAX.into())
        };
        let own = i64::from(constraint.selector.matches(&pod.metadata.labels));
        let there = counts.get(domain).copied().unwrap_or(0);
        if there + own - least > constraint.max_skew {
            return Err(Refusal::unschedulable(
                "node(s) didn't match pod topology spread constraints",
            ));
        }
    }
    Ok(())
}

/// `None` if there is no soft constraint.
///
/// # Errors
///
/// A selector is not valid.
pub fn pre_score(
    cluster: &Cluster,
    pod: &Pod,
    args: &Args,
    feasible: &[&NodeState],
) -> Result<Option<Soft>, String> {
    let constraints = in_force(cluster, pod, args, SOFT)?;
    if constraints.is_empty() {
        return Ok(None);
    }
    // Upstream's own defaults let a node without a zone still spread over hosts.
    let needs_all_keys = !pod.spec.topology_spread_constraints.is_empty()
        || args.default_constraints != DefaultConstraints::System;
    let is_ignored = |node: &NodeState| needs_all_keys && !has_all_keys(node, &constraints);
    let scored: Vec<&&NodeState> = feasible.iter().filter(|node| !is_ignored(node)).collect();
    let ignored = feasible
        .iter()
        .filter(|node| is_ignored(node))
        .map(|node| node.name().to_owned())
        .collect();

    let mut counts: Vec<Counts> = Vec::new();
    let mut weights = Vec::new();
    for constraint in &constraints {
        let mut domains = Counts::new();
        if constraint.key != HOSTNAME {
            for node in &scored {
                domains.insert(constraint.domain(node).to_owned(), 0);
            }
        }
        let size = if constraint.key == HOSTNAME {
            scored.len()
        } else {
            domains.len()
        };
        weights.push(ln((size + 2) as f64));
        counts.push(domains);
    }
    for node in &cluster.nodes {
        if is_ignored(node) {
            continue;
        }
        for (constraint, counts) in constraints.iter().zip(&mut counts) {
            if constraint.is_eligible(pod, node)
                && let Some(count) = counts.get_mut(constraint.domain(node))
            {
                *count += constraint.count(pod, node);
            }
        }
    }
    Ok(Some(Soft {
        constraints: constraints
            .into_iter()
            .zip(counts)
            .zip(weights)
            .map(|((constraint, counts), weight)| (constraint, counts, weight))
            .collect(),
        ignored,
    }))
}

/// The fuller the node's domains, the more.
pub fn score(soft: &Soft, pod: &Pod, node: &NodeState) -> i64 {
    if soft.ignored.contains(node.name()) {
        return 0;
    }
    let mut score = 0.0;
    for (constraint, counts, weight) in &soft.constraints {
        if let Some(domain) = node.labels().get(&constraint.key) {
            let count = if constraint.key == HOSTNAME {
                constraint.count(pod, node)
            } else {
                counts.get(domain).copied().unwrap_or(0)
            };
            score += count as f64 * weight + (constraint.max_skew - 1) as f64;
        }
    }
    score.round() as i64
}

/// Reversed; ignored nodes get 0. `nodes` are those of `scores`.
pub fn normalize(soft: &Soft, nodes: &[&NodeState], scores: &mut [i64]) {
    let is_ignored: Vec<bool> = nodes
        .iter()
        .map(|node| soft.ignored.contains(node.name()))
        .collect();
    let known: Vec<i64> = scores
        .iter()
        .zip(&is_ignored)
        .filter(|(_, is_ignored)| !**is_ignored)
        .map(|(score, _)| *score)
        .collect();
    let low = known.iter().copied().min().unwrap_or(0);
    let high = known.iter().copied().max().unwrap_or(0).max(0);
    for (score, is_ignored) in scores.iter_mut().zip(is_ignored) {
        *score = if is_ignored {
            0
        } else if high == 0 {
            100
        } else {
            100 * (high + low - *score) / high
        };
    }
}

impl Constraint {
    /// Whether the node's pods count.
    fn is_eligible(&self, pod: &Pod, node: &NodeState) -> bool {
        (!self.honor_affinity || matches_required(pod, &node.node))
            && (!self.honor_taints || !has_untolerated_taint(pod, &node.node))
    }

    /// Matching pods on the node. An empty selector counts nobody.
    fn count(&self, pod: &Pod, node: &NodeState) -> i64 {
        if self.selector.is_empty() {
            return 0;
        }
        node.pods
            .iter()
            .map(|placed| &placed.pod.metadata)
            .filter(|meta| meta.deletion_timestamp.is_none())
            .filter(|meta| meta.namespace == pod.metadata.namespace)
            .filter(|meta| self.selector.matches(&meta.labels))
            .count() as i64
    }

    /// Where the node is; a node without the key is in the domain without a name.
    fn domain<'a>(&self, node: &'a NodeState) -> &'a str {
        node.labels().get(&self.key).map_or("", String::as_str)
    }
}

fn has_all_keys(node: &NodeState, constraints: &[Constraint]) -> bool {
    constraints
        .iter()
        .all(|constraint| node.labels().contains_key(&constraint.key))
}

/// The pod's own constraints of this kind, else the defaults.
fn in_force(
    cluster: &Cluster,
    pod: &Pod,
    args: &Args,
    kind: &str,
) -> Result<Vec<Constraint>, String> {
    let own = &pod.spec.topology_spread_constraints;
    if !own.is_empty() {
        return own
            .iter()
            .filter(|constraint| constraint.when_unsatisfiable == kind)
            .map(|constraint| own_constraint(constraint, &pod.metadata.labels))
            .collect();
    }
    let selector = default_selector(cluster, pod);
    if selector.is_empty() {
        return Ok(Vec::new());
    }
    let defaults = match &args.default_constraints {
        DefaultConstraints::System => system_defaults(),
        DefaultConstraints::List(list) => list.clone(),
    };
    Ok(defaults
        .iter()
        .filter(|constraint| constraint.when_unsatisfiable == kind)
        .map(|constraint| with_selector(constraint, selector.clone()))
        .collect())
}

fn system_defaults() -> Vec<TopologySpreadConstraint> {
    [(HOSTNAME, 3), (ZONE, 5)]
        .map(|(key, max_skew)| TopologySpreadConstraint {
            max_skew,
            topology_key: key.to_owned(),
            when_unsatisfiable: SOFT.to_owned(),
            ..TopologySpreadConstraint::default()
        })
        .to_vec()
}

/// `matchLabelKeys` add the pod's own values to the selector.
fn own_constraint(
    constraint: &TopologySpreadConstraint,
    labels: &Labels,
) -> Result<Constraint, String> {
    let selector = Selector::of_labels(constraint.label_selector.as_ref())?;
    let own = constraint
        .match_label_keys
        .iter()
        .filter_map(|key| Some(Rule::equals(key, labels.get(key)?)));
    Ok(with_selector(constraint, selector.and(own.collect())))
}

fn with_selector(constraint: &TopologySpreadConstraint, selector: Selector) -> Constraint {
    Constraint {
        max_skew: constraint.max_skew.into(),
        key: constraint.topology_key.clone(),
        selector,
        min_domains: usize::try_from(constraint.min_domains.unwrap_or(1)).unwrap_or(0),
        honor_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
        honor_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
    }
}

/// What the pod's Services and its controller select together.
///
/// Where two Services want different values of one key, the later name wins; upstream leaves it to
/// chance.
fn default_selector(cluster: &Cluster, pod: &Pod) -> Selector {
    let meta = &pod.metadata;
    let mut pairs = Labels::new();
    for ((namespace, _), service) in &cluster.services {
        if let Some(selector) = &service.spec.selector
            && *namespace == meta.namespace
            && Selector::of_map(selector).matches(&meta.labels)
        {
            pairs.extend(selector.clone());
        }
    }
    let Some(owner) = meta.controller() else {
        return Selector::of_map(&pairs);
    };
    let key = (meta.namespace.clone(), owner.name.clone());
    let workloads = match (owner.api_version.as_str(), owner.kind.as_str()) {
        ("v1", "ReplicationController") => {
            if let Some(controller) = cluster.replication_controllers.get(&key) {
                pairs.extend(controller.spec.selector.clone().unwrap_or_default());
            }
            return Selector::of_map(&pairs);
        }
        ("apps/v1", "ReplicaSet") => &cluster.replica_sets,
        ("apps/v1", "StatefulSet") => &cluster.stateful_sets,
        _ => return Selector::of_map(&pairs),
    };
    let selector = workloads
        .get(&key)
        .and_then(|workload| Selector::of_labels(workload.spec.selector.as_ref()).ok());
    match selector {
        Some(Selector::Every(rules)) => Selector::of_map(&pairs).and(rules),
        _ => Selector::of_map(&pairs),
    }
}
