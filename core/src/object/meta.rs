//! Metadata and selectors: what every kind carries.

use super::map::map;
use super::{
    BETA_DEFAULT_CLASS, BETA_STORAGE_CLASS, BIND_COMPLETED, DEFAULT_CLASS, MIGRATED_PLUGINS,
    SELECTED_NODE, nullable,
};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer};

/// Label or selector pairs, sorted by key.
pub type Labels = BTreeMap<String, String>;

/// `metadata` of an object, as far as scheduling reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    /// Scheduling does not read it; whoever watches goes on from it.
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    /// Of the spec; faces repeat it in the conditions that they write.
    #[serde(deserialize_with = "nullable")]
    pub generation: i64,
    #[serde(deserialize_with = "map")]
    pub labels: Labels,
    /// Those that scheduling reads: [`ANNOTATIONS`].
    #[serde(deserialize_with = "annotations")]
    pub annotations: Labels,
    #[serde(deserialize_with = "nullable")]
    pub owner_references: Vec<OwnerReference>,
    /// When the object came; absent in what users write.
    pub creation_timestamp: Option<String>,
    /// Set on an object that is being deleted gracefully.
    pub deletion_timestamp: Option<String>,
}

/// Annotations that scheduling reads, all of them of storage.
pub const ANNOTATIONS: [&str; 6] = [
    BIND_COMPLETED,
    SELECTED_NODE,
    BETA_STORAGE_CLASS,
    MIGRATED_PLUGINS,
    DEFAULT_CLASS,
    BETA_DEFAULT_CLASS,
];

fn annotations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Labels, D::Error> {
    let mut annotations: Labels = map(deserializer)?;
    annotations.retain(|key, _| ANNOTATIONS.contains(&key.as_str()));
    Ok(annotations)
}

impl ObjectMeta {
    /// The owner marked as controller, if any.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    #[serde(deserialize_with = "nullable")]
    pub controller: bool,
}

/// Label selector. Where it is optional, absent selects nothing and empty everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LabelSelector {
    #[serde(deserialize_with = "map")]
    pub match_labels: Labels,
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<Requirement>,
}

/// One expression of a label or node selector.
///
/// `operator` is kept as text: one that does not exist makes a node selector's term match nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Requirement {
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<String>,
}

impl Requirement {
    /// Whether this is what the API server adds to a selector for a label of the pod named in
    /// `matchLabelKeys` (`In`) or `mismatchLabelKeys` (`NotIn`).
    pub(super) fn is_merged(&self, operator: &str, value: &str) -> bool {
        self.operator == operator && self.values.len() == 1 && self.values.iter().eq([value])
    }
}

/// Terms are alternatives; none at all matches no node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeSelector {
    #[serde(deserialize_with = "nullable")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// All requirements of a term must hold; a term without any matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeSelectorTerm {
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<Requirement>,
    #[serde(deserialize_with = "nullable")]
    pub match_fields: Vec<Requirement>,
}
