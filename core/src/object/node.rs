//! Node.

use super::map::{map, optional_map};
use super::{ObjectMeta, ResourceList, nullable};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

/// A node, as far as scheduling reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: NodeSpec,
    #[serde(deserialize_with = "nullable")]
    pub status: NodeStatus,
}

/// `spec` of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    #[serde(deserialize_with = "nullable")]
    pub unschedulable: bool,
    #[serde(deserialize_with = "nullable")]
    pub taints: Vec<Taint>,
}

/// A taint; `effect` is `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    #[serde(deserialize_with = "nullable")]
    pub value: String,
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
}

/// `status` of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// Used only where `allocatable` is absent, as the API server defaults it.
    #[serde(deserialize_with = "map")]
    pub capacity: ResourceList,
    #[serde(deserialize_with = "optional_map")]
    pub allocatable: Option<ResourceList>,
    #[serde(deserialize_with = "nullable")]
    pub images: Vec<ContainerImage>,
    #[serde(deserialize_with = "nullable")]
    pub declared_features: Vec<String>,
}

/// An image that the node holds, under all its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerImage {
    #[serde(deserialize_with = "nullable")]
    pub names: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub size_bytes: i64,
}
