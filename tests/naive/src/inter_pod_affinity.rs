//! `InterPodAffinity`: pods that want to be near or far from each other. Mirrors
//! `plugins/interpodaffinity/{filtering,scoring}.go` and the terms of
//! `kube-scheduler/framework/types.go`.

use crate::selector::Selector;
use crate::{Cluster, NodeState, Refusal, Verdict};
use berth_core::object::{Labels, Pod, PodAffinity, PodAffinityTerm};
use berth_core::profile::Args;
use std::collections::{BTreeMap, BTreeSet};

/// Topology key and value.
type Pair = (String, String);
/// Number of matches by pair; a pair without any is absent.
type Counts = BTreeMap<Pair, i64>;

/// A term, parsed.
#[derive(Clone)]
struct Term {
    namespaces: BTreeSet<String>,
    namespace_selector: Selector,
    selector: Selector,
    key: String,
    /// Of a preferred term.
    weight: i64,
}

/// All terms of a pod.
#[derive(Default)]
struct Terms {
    required_near: Vec<Term>,
    required_far: Vec<Term>,
    preferred_near: Vec<Term>,
    preferred_far: Vec<Term>,
}

/// What the filter reads.
pub struct Required {
    terms: Terms,
    /// Pods that match all the terms that the pod wants near.
    near: Counts,
    /// Pods that match a term that the pod wants far.
    far: Counts,
    /// Pods that want the pod far.
    refusing: Counts,
}

/// Summed weights by pair.
pub struct Preferred(Counts);

/// `None` if neither the pod nor any other has a say.
///
/// # Errors
///
/// A selector of the pod is not valid: no node can take it.
pub fn pre_filter(cluster: &Cluster, pod: &Pod) -> Result<Option<Required>, Refusal> {
    let terms = Terms::of_incoming(cluster, pod)
        .map_err(|error| Refusal::unresolvable(&format!("parsing pod: {error}")))?;
    let own_labels = cluster.namespace_labels(&pod.metadata.namespace);
    let none = Labels::new();
    let mut near = Counts::new();
    let mut far = Counts::new();
    let mut refusing = Counts::new();
    for (node, placed) in cluster.placed() {
        for term in Terms::of_existing(&placed.pod).required_far {
            if term.matches(pod, &own_labels) {
                add(&mut refusing, &term, node, 1);
            }
        }
        if matches_all(&terms.required_near, &placed.pod) {
            for term in &terms.required_near {
                add(&mut near, term, node, 1);
            }
        }
        for term in &terms.required_far {
            if term.matches(&placed.pod, &none) {
                add(&mut far, term, node, 1);
            }
        }
    }
    if refusing.is_empty() && terms.required_near.is_empty() && terms.required_far.is_empty() {
        return Ok(None);
    }
    Ok(Some(Required {
        terms,
        near,
        far,
        refusing,
    }))
}

pub fn filter(required: &Required, pod: &Pod, node: &NodeState) -> Verdict {
    if !is_near_enough(required, pod, node) {
        return Err(Refusal::unresolvable(
            "node(s) didn't match pod affinity rules",
        ));
    }
    let has_any = |term: &Term| pair(term, node).is_some_and(|at| required.far.contains_key(&at));
    if required.terms.required_far.iter().any(has_any) {
        return Err(Refusal::unschedulable(
            "node(s) didn't match pod anti-affinity rules",
        ));
    }
    let labels = node.labels().clone();
    if labels
        .into_iter()
        .any(|pair| required.refusing.contains_key(&pair))
    {
        return Err(Refusal::unschedulable(
            "node(s) didn't satisfy existing pods anti-affinity rules",
        ));
    }
    Ok(())
}

/// Every term has its match in the node's domain; or nobody matches anywhere, and the pod would be
/// the first of its kind.
fn is_near_enough(required: &Required, pod: &Pod, node: &NodeState) -> bool {
    let terms = &required.terms.required_near;
    let pairs: Option<Vec<Pair>> = terms.iter().map(|term| pair(term, node)).collect();
    let Some(pairs) = pairs else {
        return false;
    };
    pairs.iter().all(|pair| required.near.contains_key(pair))
        || (required.near.is_empty() && matches_all(terms, pod))
}

/// `None` if no preference touches any node.
///
/// # Errors
///
/// A selector of the pod is not valid.
pub fn pre_score(cluster: &Cluster, pod: &Pod, args: &Args) -> Result<Option<Preferred>, String> {
    let terms = Terms::of_incoming(cluster, pod)?;
    let has_preferences = !terms.preferred_near.is_empty() || !terms.preferred_far.is_empty();
    if args.ignore_preferred_terms_of_existing_pods && !has_preferences {
        return Ok(None);
    }
    let own_labels = cluster.namespace_labels(&pod.metadata.namespace);
    let none = Labels::new();
    let mut scores = Counts::new();
    let mut touched = false;
    for (node, placed) in cluster.placed() {
        let mut weigh = |term: &Term, matches: bool, weight: i64| {
            if matches && pair(term, node).is_some() {
                touched = true;
                add(&mut scores, term, node, weight);
            }
        };
        for term in &terms.preferred_near {
            weigh(term, term.matches(&placed.pod, &none), term.weight);
        }
        for term in &terms.preferred_far {
            weigh(term, term.matches(&placed.pod, &none), -term.weight);
        }
        let theirs = Terms::of_existing(&placed.pod);
        if args.hard_pod_affinity_weight > 0 {
            let weight = i64::from(args.hard_pod_affinity_weight);
            for term in &theirs.required_near {
                weigh(term, term.matches(pod, &own_labels), weight);
            }
        }
        for term in &theirs.preferred_near {
            weigh(term, term.matches(pod, &own_labels), term.weight);
        }
        for term in &theirs.preferred_far {
            weigh(term, term.matches(pod, &own_labels), -term.weight);
        }
    }
    Ok(touched.then_some(Preferred(scores)))
}

/// May be negative.
pub fn score(preferred: &Preferred, node: &NodeState) -> i64 {
    let labels = node.labels().clone();
    labels
        .into_iter()
        .filter_map(|pair| preferred.0.get(&pair))
        .sum()
}

/// Spread over 0..=100; 0 for all if all are equal.
pub fn normalize(scores: &mut [i64]) {
    let low = scores.iter().copied().min().unwrap_or(0);
    let high = scores.iter().copied().max().unwrap_or(0);
    for score in scores {
        *score = if high == low {
            0
        } else {
            (100.0 * ((*score - low) as f64 / (high - low) as f64)) as i64
        };
    }
}

impl Term {
    fn of(pod: &Pod, term: &PodAffinityTerm, weight: i32) -> Result<Self, String> {
        let namespaces = if term.namespaces.is_empty() && term.namespace_selector.is_none() {
            BTreeSet::from([pod.metadata.namespace.clone()])
        } else {
            term.namespaces.iter().cloned().collect()
        };
        Ok(Self {
            namespaces,
            namespace_selector: Selector::of_labels(term.namespace_selector.as_ref())?,
            selector: Selector::of_labels(term.label_selector.as_ref())?,
            key: term.topology_key.clone(),
            weight: weight.into(),
        })
    }

    fn matches(&self, pod: &Pod, namespace_labels: &Labels) -> bool {
        (self.namespaces.contains(&pod.metadata.namespace)
            || self.namespace_selector.matches(namespace_labels))
            && self.selector.matches(&pod.metadata.labels)
    }

    /// Puts the names of the selected namespaces in place of the selector; one that selects all
    /// stays.
    fn resolve(&mut self, cluster: &Cluster) {
        if self.namespace_selector.is_empty() {
            return;
        }
        for (name, labels) in &cluster.namespaces {
            if self.namespace_selector.matches(labels) {
                self.namespaces.insert(name.clone());
            }
        }
        self.namespace_selector = Selector::Nothing;
    }
}

impl Terms {
    fn of_incoming(cluster: &Cluster, pod: &Pod) -> Result<Self, String> {
        let mut terms = Self {
            required_near: required(pod, near(pod))?,
            required_far: required(pod, far(pod))?,
            preferred_near: preferred(pod, near(pod))?,
            preferred_far: preferred(pod, far(pod))?,
        };
        let all = [
            &mut terms.required_near,
            &mut terms.required_far,
            &mut terms.preferred_near,
            &mut terms.preferred_far,
        ];
        for term in all.into_iter().flatten() {
            term.resolve(cluster);
        }
        Ok(terms)
    }

    /// A list that holds a term that is not valid counts as empty.
    fn of_existing(pod: &Pod) -> Self {
        Self {
            required_near: required(pod, near(pod)).unwrap_or_default(),
            required_far: required(pod, far(pod)).unwrap_or_default(),
            preferred_near: preferred(pod, near(pod)).unwrap_or_default(),
            preferred_far: preferred(pod, far(pod)).unwrap_or_default(),
        }
    }
}

fn near(pod: &Pod) -> Option<&PodAffinity> {
    pod.spec.affinity.as_ref()?.pod_affinity.as_ref()
}

fn far(pod: &Pod) -> Option<&PodAffinity> {
    pod.spec.affinity.as_ref()?.pod_anti_affinity.as_ref()
}

fn required(pod: &Pod, affinity: Option<&PodAffinity>) -> Result<Vec<Term>, String> {
    let terms = affinity.map_or(&[][..], |affinity| &affinity.required);
    terms.iter().map(|term| Term::of(pod, term, 0)).collect()
}

fn preferred(pod: &Pod, affinity: Option<&PodAffinity>) -> Result<Vec<Term>, String> {
    let terms = affinity.map_or(&[][..], |affinity| &affinity.preferred);
    terms
        .iter()
        .map(|term| Term::of(pod, &term.pod_affinity_term, term.weight))
        .collect()
}

/// Terms must match one pod together; none at all match nobody.
fn matches_all(terms: &[Term], pod: &Pod) -> bool {
    let none = Labels::new();
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod, &none))
}

/// The node's value of the term's key, with the key.
fn pair(term: &Term, node: &NodeState) -> Option<Pair> {
    let value = node.labels().get(&term.key)?;
    Some((term.key.clone(), value.clone()))
}

fn add(counts: &mut Counts, term: &Term, node: &NodeState, amount: i64) {
    if let Some(pair) = pair(term, node) {
        *counts.entry(pair).or_default() += amount;
    }
}
