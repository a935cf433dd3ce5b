//! `NodeAffinity`: node selectors, required and preferred. Mirrors
//! `plugins/nodeaffinity/node_affinity.go` and
//! `component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go`.

use crate::selector::{Rule, Selector};
use crate::{NodeState, Refusal, Verdict};
use berth_core::object::{
    Node, NodeAffinity, NodeSelector, NodeSelectorTerm, Pod, PreferredSchedulingTerm, Requirement,
};
use std::collections::BTreeSet;

/// What the pre-filter says.
pub enum PreFilter {
    Skip,
    /// Look at these nodes only; `None` at all.
    Nodes(Option<BTreeSet<String>>),
    /// No node can match.
    Conflict,
}

/// The reason of [`PreFilter::Conflict`].
pub const CONFLICT: &str = "pod affinity terms conflict";

pub fn pre_filter(pod: &Pod, added: Option<&NodeAffinity>) -> PreFilter {
    let required = required_terms(pod);
    let added = added.and_then(|added| added.required.as_ref());
    if required.is_none() && added.is_none() && pod.spec.node_selector.is_none() {
        return PreFilter::Skip;
    }
    let terms = required.map_or(&[][..], |selector| &selector.node_selector_terms);
    if terms.is_empty() {
        return PreFilter::Nodes(None);
    }
    let mut names = BTreeSet::new();
    for term in terms {
        match names_of(term) {
            Some(named) => names.extend(named),
            None => return PreFilter::Nodes(None),
        }
    }
    if names.is_empty() {
        PreFilter::Conflict
    } else {
        PreFilter::Nodes(Some(names))
    }
}

pub fn filter(pod: &Pod, added: Option<&NodeAffinity>, node: &NodeState) -> Verdict {
    if let Some(added) = added.and_then(|added| added.required.as_ref())
        && !matches_any_term(added, &node.node)
    {
        return Err(Refusal::unresolvable(
            "node(s) didn't match scheduler-enforced node affinity",
        ));
    }
    if matches_required(pod, &node.node) {
        Ok(())
    } else {
        Err(Refusal::unresolvable(
            "node(s) didn't match Pod's node affinity/selector",
        ))
    }
}

/// Whether the pod or the configuration prefers any node.
///
/// # Errors
///
/// A preferred term that is not valid fails the attempt.
pub fn pre_score(pod: &Pod, added: Option<&NodeAffinity>) -> Result<bool, String> {
    let own = preferred_terms(pod);
    for term in own.unwrap_or_default() {
        if counts(term) {
            parse(&term.preference)?;
        }
    }
    let added = added.and_then(|added| added.preferred.as_deref());
    Ok(own.is_some() || added.is_some_and(|terms| !terms.is_empty()))
}

/// Sum of the weights of the preferred terms that match.
pub fn score(pod: &Pod, added: Option<&NodeAffinity>, node: &NodeState) -> i64 {
    let own = preferred_terms(pod).unwrap_or_default();
    let added = added.and_then(|added| added.preferred.as_deref());
    own.iter()
        .chain(added.unwrap_or_default())
        .filter(|term| counts(term) && matches_term(&term.preference, &node.node))
        .map(|term| i64::from(term.weight))
        .sum()
}

/// In proportion to the largest; unchanged if nobody has any.
pub fn normalize(scores: &mut [i64]) {
    let max = scores.iter().copied().max().unwrap_or(0).max(0);
    if max > 0 {
        for score in scores {
            *score = 100 * *score / max;
        }
    }
}

/// Whether the pod's node selector and required affinity both match.
pub fn matches_required(pod: &Pod, node: &Node) -> bool {
    let selector = pod.spec.node_selector.as_ref();
    selector.is_none_or(|pairs| Selector::of_map(pairs).matches(&node.metadata.labels))
        && required_terms(pod).is_none_or(|terms| matches_any_term(terms, node))
}

fn required_terms(pod: &Pod) -> Option<&NodeSelector> {
    let affinity = pod.spec.affinity.as_ref()?.node_affinity.as_ref()?;
    affinity.required.as_ref()
}

fn preferred_terms(pod: &Pod) -> Option<&[PreferredSchedulingTerm]> {
    let affinity = pod.spec.affinity.as_ref()?.node_affinity.as_ref()?;
    affinity.preferred.as_deref()
}

/// The nodes that a term names, `None` if it names none.
fn names_of(term: &NodeSelectorTerm) -> Option<BTreeSet<String>> {
    term.match_fields
        .iter()
        .filter(|field| field.key == "metadata.name" && field.operator == "In")
        .map(|field| field.values.iter().cloned().collect::<BTreeSet<String>>())
        .reduce(|some, others| some.intersection(&others).cloned().collect())
}

fn counts(term: &PreferredSchedulingTerm) -> bool {
    term.weight != 0 && !is_empty(&term.preference)
}

pub fn matches_any_term(selector: &NodeSelector, node: &Node) -> bool {
    let terms = selector.node_selector_terms.iter();
    terms
        .filter(|term| !is_empty(term))
        .any(|term| matches_term(term, node))
}

fn is_empty(term: &NodeSelectorTerm) -> bool {
    term.match_expressions.is_empty() && term.match_fields.is_empty()
}

/// A term that is not valid matches nothing.
fn matches_term(term: &NodeSelectorTerm, node: &Node) -> bool {
    let field = |field: &Requirement| {
        let value = if field.key == "metadata.name" {
            node.metadata.name.as_str()
        } else {
            ""
        };
        field.values.iter().any(|wanted| wanted == value) == (field.operator == "In")
    };
    parse(term).is_ok_and(|rules| {
        rules.iter().all(|rule| rule.matches(&node.metadata.labels))
            && term.match_fields.iter().all(field)
    })
}

/// The rules on labels, provided that those on fields are valid too.
fn parse(term: &NodeSelectorTerm) -> Result<Vec<Rule>, String> {
    for field in &term.match_fields {
        if !matches!(field.operator.as_str(), "In" | "NotIn") {
            return Err(format!("{:?} is not an operator of fields", field.operator));
        }
        if field.values.len() != 1 {
            return Err("a field takes one value".to_owned());
        }
    }
    term.match_expressions.iter().map(Rule::of).collect()
}
