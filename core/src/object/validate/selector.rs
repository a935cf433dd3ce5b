//! Selectors and affinity.

use super::{Problems, name};
use crate::object::path::{Path, Quoted};
use crate::object::{
    Affinity, LabelSelector, Labels, NodeAffinity, NodeSelector, NodeSelectorTerm, PodAffinity,
    PodAffinityTerm, Requirement,
};
use alloc::collections::BTreeMap;
use alloc::string::String;

/// Whether the selector selects the labels; operators that do not exist select nothing.
pub(super) fn matches(selector: &LabelSelector, labels: &Labels) -> bool {
    let pairs = selector.match_labels.iter();
    pairs
        .map(|(key, value)| labels.get(key) == Some(value))
        .chain(selector.match_expressions.iter().map(|expression| {
            let value = labels.get(&expression.key);
            let listed = value.is_some_and(|value| expression.values.contains(value));
            match expression.operator.as_str() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        }))
        .all(|holds| holds)
}

impl Problems {
    pub(super) fn label_selector(&mut self, field: &Path<'_>, selector: &LabelSelector) {
        self.labels(&field.key("matchLabels"), &selector.match_labels);
        let expressions = field.key("matchExpressions");
        for (index, expression) in selector.match_expressions.iter().enumerate() {
            let field = expressions.index(index);
            match expression.operator.as_str() {
                "In" | "NotIn" => self.some_values(&field, expression),
                "Exists" | "DoesNotExist" => self.no_values(&field, expression),
                operator => self.add(
                    &field.key("operator"),
                    format_args!(
                        "{} must be In, NotIn, Exists or DoesNotExist",
                        Quoted(operator)
                    ),
                ),
            }
            self.form(
                &field.key("key"),
                &expression.key,
                name::label_key(&expression.key),
            );
            self.label_values(&field, expression);
        }
    }

    pub(super) fn affinity(&mut self, field: &Path<'_>, affinity: &Affinity, labels: &Labels) {
        if let Some(affinity) = &affinity.node_affinity {
            self.node_affinity(&field.key("nodeAffinity"), affinity);
        }
        if let Some(affinity) = &affinity.pod_affinity {
            self.pod_affinity(&field.key("podAffinity"), affinity, labels);
        }
        if let Some(affinity) = &affinity.pod_anti_affinity {
            self.pod_affinity(&field.key("podAntiAffinity"), affinity, labels);
        }
    }

    fn node_affinity(&mut self, field: &Path<'_>, affinity: &NodeAffinity) {
        if let Some(required) = &affinity.required {
            self.node_selector(
                &field.key("requiredDuringSchedulingIgnoredDuringExecution"),
                required,
            );
        }
        let preferred = field.key("preferredDuringSchedulingIgnoredDuringExecution");
        for (index, term) in affinity.preferred.iter().flatten().enumerate() {
            let field = preferred.index(index);
            self.weight(&field.key("weight"), term.weight);
            // As upstream, label values are free in preferences.
            self.node_selector_term(&field.key("preference"), &term.preference, false);
        }
    }

    pub(super) fn node_selector(&mut self, field: &Path<'_>, selector: &NodeSelector) {
        let terms = field.key("nodeSelectorTerms");
        if selector.node_selector_terms.is_empty() {
            self.add(&terms, "must have at least one term");
        }
        for (index, term) in selector.node_selector_terms.iter().enumerate() {
            self.node_selector_term(&terms.index(index), term, true);
        }
    }

    fn node_selector_term(&mut self, field: &Path<'_>, term: &NodeSelectorTerm, strict: bool) {
        let expressions = field.key("matchExpressions");
        for (index, expression) in term.match_expressions.iter().enumerate() {
            let field = expressions.index(index);
            let operator = field.key("operator");
            match expression.operator.as_str() {
                "In" | "NotIn" => {
                    self.some_values(&field, expression);
                    if strict {
                        self.label_values(&field, expression);
                    }
                }
                "Exists" | "DoesNotExist" => self.no_values(&field, expression),
                // What is no integer matches no node.
                "Gt" | "Lt" if expression.values.len() == 1 => {}
                "Gt" | "Lt" => {
                    self.add(&field.key("values"), "must be one value for Gt and Lt");
                }
                unknown => self.add(
                    &operator,
                    format_args!(
                        "{} must be In, NotIn, Exists, DoesNotExist, Gt or Lt",
                        Quoted(unknown)
                    ),
                ),
            }
            self.form(
                &field.key("key"),
                &expression.key,
                name::label_key(&expression.key),
            );
        }
        let fields = field.key("matchFields");
        for (index, expression) in term.match_fields.iter().enumerate() {
            let field = fields.index(index);
            if !matches!(expression.operator.as_str(), "In" | "NotIn") {
                let operator = Quoted(&expression.operator);
                self.add(
                    &field.key("operator"),
                    format_args!("{operator} must be In or NotIn"),
                );
            }
            let values = field.key("values");
            if expression.values.len() != 1 {
                self.add(&values, "must be one value");
            }
            if expression.key == "metadata.name" {
                for (index, value) in expression.values.iter().enumerate() {
                    self.form(&values.index(index), value, name::dns_subdomain(value));
                }
            } else {
                let key = Quoted(&expression.key);
                self.add(
                    &field.key("key"),
                    format_args!("{key} must be metadata.name"),
                );
            }
        }
    }

    fn pod_affinity(&mut self, field: &Path<'_>, affinity: &PodAffinity, labels: &Labels) {
        let required = field.key("requiredDuringSchedulingIgnoredDuringExecution");
        for (index, term) in affinity.required.iter().enumerate() {
            self.pod_affinity_term(&required.index(index), term, labels);
        }
        let preferred = field.key("preferredDuringSchedulingIgnoredDuringExecution");
        for (index, weighted) in affinity.preferred.iter().enumerate() {
            let field = preferred.index(index);
            self.weight(&field.key("weight"), weighted.weight);
            self.pod_affinity_term(
                &field.key("podAffinityTerm"),
                &weighted.pod_affinity_term,
                labels,
            );
        }
    }

    fn pod_affinity_term(&mut self, field: &Path<'_>, term: &PodAffinityTerm, labels: &Labels) {
        if let Some(selector) = &term.label_selector {
            self.label_selector(&field.key("labelSelector"), selector);
        }
        if let Some(selector) = &term.namespace_selector {
            self.label_selector(&field.key("namespaceSelector"), selector);
        }
        let namespaces = field.key("namespaces");
        for (index, namespace) in term.namespaces.iter().enumerate() {
            self.form(
                &namespaces.index(index),
                namespace,
                name::dns_label(namespace),
            );
        }
        self.topology_key(&field.key("topologyKey"), &term.topology_key);
        let match_keys = field.key("matchLabelKeys");
        let selector = term.label_selector.as_ref();
        self.label_keys(&match_keys, &term.match_label_keys, selector);
        self.keys_not_selected_twice(&match_keys, &term.match_label_keys, selector, labels);
        self.label_keys(
            &field.key("mismatchLabelKeys"),
            &term.mismatch_label_keys,
            selector,
        );
    }

    pub(super) fn topology_key(&mut self, field: &Path<'_>, key: &str) {
        if key.is_empty() {
            self.add(field, "is missing");
        } else {
            self.form(field, key, name::label_key(key));
        }
    }

    /// `matchLabelKeys` or `mismatchLabelKeys`.
    pub(super) fn label_keys(
        &mut self,
        field: &Path<'_>,
        keys: &[String],
        selector: Option<&LabelSelector>,
    ) {
        if !keys.is_empty() && selector.is_none() {
            self.add(field, "must not be set without labelSelector");
        }
        for (index, key) in keys.iter().enumerate() {
            self.form(&field.index(index), key, name::label_key(key));
        }
    }

    /// A key of `matchLabelKeys` may stand in the selector only as the API server puts it there.
    pub(super) fn keys_not_selected_twice(
        &mut self,
        field: &Path<'_>,
        keys: &[String],
        selector: Option<&LabelSelector>,
        labels: &Labels,
    ) {
        let Some(selector) = selector.filter(|_| !keys.is_empty()) else {
            return;
        };
        let mut by_hand = BTreeMap::<_, usize>::new();
        let expressions = selector.match_expressions.iter().filter(|expression| {
            let value = labels.get(&expression.key);
            let merged = |operator| value.is_some_and(|v| expression.is_merged(operator, v));
            !merged("In") && !merged("NotIn")
        });
        let selected = expressions.map(|expression| &expression.key);
        for key in selector.match_labels.keys().chain(selected) {
            let count = by_hand.entry(key).or_default();
            *count = count.saturating_add(1);
        }
        for (index, key) in keys.iter().enumerate() {
            // One is left for the API server, which adds none for a label that the pod lacks.
            let allowed = usize::from(!labels.contains_key(key));
            if by_hand.get(key).is_some_and(|count| *count > allowed) {
                let key = Quoted(key);
                self.add(
                    &field.index(index),
                    format_args!("{key} stands in labelSelector too"),
                );
            }
        }
    }

    fn weight(&mut self, field: &Path<'_>, weight: i32) {
        if !(1..=100).contains(&weight) {
            self.add(
                field,
                format_args!("{weight} must be in the range 1 to 100"),
            );
        }
    }

    fn some_values(&mut self, field: &Path<'_>, expression: &Requirement) {
        if expression.values.is_empty() {
            self.add(&field.key("values"), "must not be empty for In and NotIn");
        }
    }

    fn no_values(&mut self, field: &Path<'_>, expression: &Requirement) {
        if !expression.values.is_empty() {
            self.add(
                &field.key("values"),
                "must be empty for Exists and DoesNotExist",
            );
        }
    }

    fn label_values(&mut self, field: &Path<'_>, expression: &Requirement) {
        let values = field.key("values");
        for (index, value) in expression.values.iter().enumerate() {
            self.form(&values.index(index), value, name::label_value(value));
        }
    }
}
