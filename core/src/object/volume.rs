//! PersistentVolume and PersistentVolumeClaim.

use super::map::map;
use super::{LabelSelector, NodeSelector, ObjectMeta, ResourceList, VolumeSource, nullable};
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

/// Annotation of a claim whose binding is complete, whatever its value.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Annotation of a claim to be provisioned: the node that its pod goes to.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Annotation that stands before `spec.storageClassName` of volumes and claims.
pub const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// A volume of the cluster, as far as scheduling reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PersistentVolume {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: PersistentVolumeSpec,
    #[serde(deserialize_with = "nullable")]
    pub status: VolumeStatus,
}

impl PersistentVolume {
    /// The class that it is of; empty: none.
    pub fn class(&self) -> &str {
        let annotation = self.metadata.annotations.get(BETA_STORAGE_CLASS);
        annotation.unwrap_or(&self.spec.storage_class_name)
    }
}

/// `spec` of a PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeSpec {
    #[serde(deserialize_with = "map")]
    pub capacity: ResourceList,
    #[serde(deserialize_with = "nullable")]
    pub access_modes: Vec<String>,
    /// The claim that it is bound to or kept for.
    pub claim_ref: Option<ClaimReference>,
    #[serde(deserialize_with = "nullable")]
    pub storage_class_name: String,
    /// `Filesystem` (default) or `Block`.
    pub volume_mode: Option<String>,
    pub volume_attributes_class_name: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub node_affinity: VolumeNodeAffinity,
    pub csi: Option<VolumeSource>,
    pub gce_persistent_disk: Option<VolumeSource>,
    pub aws_elastic_block_store: Option<VolumeSource>,
    pub azure_disk: Option<VolumeSource>,
    pub azure_file: Option<VolumeSource>,
    pub cinder: Option<VolumeSource>,
    pub portworx_volume: Option<VolumeSource>,
    pub vsphere_volume: Option<VolumeSource>,
}

/// Nodes from which a volume can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeNodeAffinity {
    /// Absent: all.
    pub required: Option<NodeSelector>,
}

/// The claim of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimReference {
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Empty: whichever claim has the name.
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
}

/// `status` of a volume or a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VolumeStatus {
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
}

/// What a pod asks for as storage, as far as scheduling reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PersistentVolumeClaim {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: PersistentVolumeClaimSpec,
    #[serde(deserialize_with = "nullable")]
    pub status: VolumeStatus,
}

impl PersistentVolumeClaim {
    /// The class that it asks for; empty: none.
    pub fn class(&self) -> &str {
        let annotation = self.metadata.annotations.get(BETA_STORAGE_CLASS);
        let class = annotation.or(self.spec.storage_class_name.as_ref());
        class.map_or("", String::as_str)
    }
}

/// `spec` of a PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeClaimSpec {
    #[serde(deserialize_with = "nullable")]
    pub access_modes: Vec<String>,
    pub selector: Option<LabelSelector>,
    #[serde(deserialize_with = "nullable")]
    pub resources: ClaimResources,
    #[serde(deserialize_with = "nullable")]
    pub volume_name: String,
    /// Absent: the default class, if the cluster has one; empty: none.
    pub storage_class_name: Option<String>,
    /// `Filesystem` (default) or `Block`.
    pub volume_mode: Option<String>,
    pub volume_attributes_class_name: Option<String>,
}

/// What a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct ClaimResources {
    #[serde(deserialize_with = "map")]
    pub requests: ResourceList,
}

/// A claim that is made for each pod: of a StatefulSet, or of a generic ephemeral volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct ClaimTemplate {
    #[serde(deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: PersistentVolumeClaimSpec,
}
