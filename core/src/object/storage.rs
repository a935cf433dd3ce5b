//! The kinds of `storage.k8s.io` that the volume plugins read.

use super::{LabelSelector, ObjectMeta, nullable, parse_time};
use crate::quantity::Quantity;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

/// Annotation of a CSINode: in-tree plugins that CSI drivers stand in for there, by commas.
pub const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";
/// Annotation of the StorageClass of claims that name none.
pub const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// The same in an older form, which counts as well.
pub const BETA_DEFAULT_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";
/// Binding mode of classes whose volumes are bound when a pod is placed.
pub const WAIT_FOR_FIRST_CONSUMER: &str = "WaitForFirstConsumer";

/// A kind of storage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClass {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub provisioner: String,
    /// `Immediate` or `WaitForFirstConsumer`; an API server always sets it.
    pub volume_binding_mode: Option<String>,
    /// Alternatives; none at all matches every node.
    #[serde(deserialize_with = "nullable")]
    pub allowed_topologies: Vec<TopologySelectorTerm>,
}

impl StorageClass {
    /// When it came, in nanoseconds since 1970, if it is marked as one for claims that name none. One
    /// that does not say is older than all others.
    pub fn default_since(&self) -> Option<i64> {
        let metadata = &self.metadata;
        let marks = [DEFAULT_CLASS, BETA_DEFAULT_CLASS];
        let is_marked = |mark| {
            metadata
                .annotations
                .get(mark)
                .is_some_and(|own| own == "true")
        };
        let created = metadata.creation_timestamp.as_deref();
        let created = created.and_then(parse_time).unwrap_or(0);
        marks.into_iter().any(is_marked).then_some(created.max(0))
    }
}

/// All requirements must hold; a term without any matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TopologySelectorTerm {
    #[serde(deserialize_with = "nullable")]
    pub match_label_expressions: Vec<TopologySelectorLabelRequirement>,
}

/// The node's label must have one of the values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopologySelectorLabelRequirement {
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<String>,
}

/// The CSI drivers of the node of this name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiNode {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: CsiNodeSpec,
}

/// `spec` of a CSINode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiNodeSpec {
    #[serde(deserialize_with = "nullable")]
    pub drivers: Vec<CsiNodeDriver>,
}

/// A driver on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiNodeDriver {
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    #[serde(deserialize_with = "nullable")]
    pub allocatable: VolumeNodeResources,
}

/// How many volumes of a driver a node takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VolumeNodeResources {
    /// Absent: no limit.
    pub count: Option<i32>,
}

/// What is known of the CSI driver of this name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiDriver {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: CsiDriverSpec,
}

/// `spec` of a CSIDriver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiDriverSpec {
    /// Whether CSIStorageCapacity objects say where it has room.
    #[serde(deserialize_with = "nullable")]
    pub storage_capacity: bool,
    /// Whether a node without it takes no pod with its volumes.
    #[serde(deserialize_with = "nullable")]
    pub prevent_pod_scheduling_if_missing: bool,
}

/// How much room a class has for nodes of one topology.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiStorageCapacity {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub storage_class_name: String,
    /// Absent: no node.
    pub node_topology: Option<LabelSelector>,
    pub capacity: Option<Quantity>,
    /// Stands before `capacity` as what one volume may take.
    pub maximum_volume_size: Option<Quantity>,
}

/// A volume that is attached, or to be attached, to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VolumeAttachment {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: VolumeAttachmentSpec,
}

/// `spec` of a VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSpec {
    #[serde(deserialize_with = "nullable")]
    pub attacher: String,
    #[serde(deserialize_with = "nullable")]
    pub node_name: String,
    #[serde(deserialize_with = "nullable")]
    pub source: VolumeAttachmentSource,
}

/// What is attached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeAttachmentSource {
    pub persistent_volume_name: Option<String>,
}
