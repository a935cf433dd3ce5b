//! Node affinity and spread constraints as they stand in args.
//!
//! The types of [`object`](crate::object) skip fields that they do not know; these refuse them,
//! since the configuration is decoded strictly, and can be written again.

use super::{nullable, nullable_list};
use crate::object;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Affinity that `NodeAffinity` adds to every pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeAffinity {
    /// Absent and empty differ: only absent lets the score be skipped.
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "is_absent_or_empty"
    )]
    pub preferred: Option<Vec<PreferredSchedulingTerm>>,
    /// What a node must have.
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        skip_serializing_if = "Option::is_none"
    )]
    pub required: Option<NodeSelector>,
}

/// A weighted term.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreferredSchedulingTerm {
    /// The term.
    #[serde(deserialize_with = "nullable")]
    pub preference: NodeSelectorTerm,
    /// What a match adds to the score.
    #[serde(deserialize_with = "nullable")]
    pub weight: i32,
}

/// Terms of which one must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeSelector {
    /// The terms.
    #[serde(deserialize_with = "nullable_list")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeSelectorTerm {
    /// On labels.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_expressions: Vec<Requirement>,
    /// On fields.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_fields: Vec<Requirement>,
}

/// A requirement on one label or field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Requirement {
    /// Key of the label, or name of the field.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// What the value is compared with.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub values: Vec<String>,
}

/// A constraint of pods that have none themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TopologySpreadConstraint {
    /// Refused: the selector is the one of the pod's owners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Labels of the pod that narrow the selector.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_label_keys: Vec<String>,
    /// Largest difference between domains.
    #[serde(deserialize_with = "nullable")]
    pub max_skew: i32,
    /// Below so many domains the global minimum counts as 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_domains: Option<i32>,
    /// `Honor` (default) or `Ignore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_affinity_policy: Option<String>,
    /// `Honor` or `Ignore` (default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_taints_policy: Option<String>,
    /// Key of the node label whose values are the domains.
    #[serde(deserialize_with = "nullable")]
    pub topology_key: String,
    /// `DoNotSchedule` or `ScheduleAnyway`.
    #[serde(deserialize_with = "nullable")]
    pub when_unsatisfiable: String,
}

/// A label selector; only that it is there matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LabelSelector {
    /// Expressions.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_expressions: Vec<Requirement>,
    /// Pairs of key and value.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "object::Labels::is_empty"
    )]
    pub match_labels: object::Labels,
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn is_absent_or_empty(terms: &Option<Vec<PreferredSchedulingTerm>>) -> bool {
    terms.as_ref().is_none_or(Vec::is_empty)
}

impl From<&NodeAffinity> for object::NodeAffinity {
    fn from(affinity: &NodeAffinity) -> Self {
        Self {
            required: affinity
                .required
                .as_ref()
                .map(|selector| object::NodeSelector {
                    node_selector_terms: selector
                        .node_selector_terms
                        .iter()
                        .map(Into::into)
                        .collect(),
                }),
            preferred: affinity.preferred.as_ref().map(|terms| {
                terms
                    .iter()
                    .map(|term| object::PreferredSchedulingTerm {
                        weight: term.weight,
                        preference: (&term.preference).into(),
                    })
                    .collect()
            }),
        }
    }
}

impl From<&NodeSelectorTerm> for object::NodeSelectorTerm {
    fn from(term: &NodeSelectorTerm) -> Self {
        Self {
            match_expressions: term.match_expressions.iter().map(Into::into).collect(),
            match_fields: term.match_fields.iter().map(Into::into).collect(),
        }
    }
}

impl From<&Requirement> for object::Requirement {
    fn from(requirement: &Requirement) -> Self {
        Self {
            key: requirement.key.clone(),
            operator: requirement.operator.clone(),
            values: requirement.values.clone(),
        }
    }
}

/// The label selector is left out: validation refuses it.
impl From<&TopologySpreadConstraint> for object::TopologySpreadConstraint {
    fn from(constraint: &TopologySpreadConstraint) -> Self {
        Self {
            max_skew: constraint.max_skew,
            topology_key: constraint.topology_key.clone(),
            when_unsatisfiable: constraint.when_unsatisfiable.clone(),
            label_selector: None,
            min_domains: constraint.min_domains,
            node_affinity_policy: constraint.node_affinity_policy.clone(),
            node_taints_policy: constraint.node_taints_policy.clone(),
            match_label_keys: constraint.match_label_keys.clone(),
        }
    }
}
