//! Pod.
//!
//! In the blocks that decide where a pod goes (affinity, tolerations, spreading, resources,
//! ports), a field that Kubernetes does not have is an error: a misspelt one would otherwise be
//! passed over in silence.

mod fields;

use super::map::{map, optional_map};
use super::{
    ClaimTemplate, LabelSelector, NodeSelector, NodeSelectorTerm, ObjectMeta, ResourceList,
    nullable,
};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use fields::{ContainerPortFields, ResourceRequirementsFields, TolerationFields};
use serde::Deserialize;

/// A pod, as far as scheduling reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: PodSpec,
    #[serde(deserialize_with = "nullable")]
    pub status: PodStatus,
}

/// A pod template of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodTemplate {
    #[serde(deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: PodSpec,
}

/// `spec` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    #[serde(deserialize_with = "nullable")]
    pub node_name: String,
    #[serde(deserialize_with = "nullable")]
    pub scheduler_name: String,
    pub priority: Option<i32>,
    #[serde(deserialize_with = "nullable")]
    pub priority_class_name: String,
    #[serde(deserialize_with = "nullable")]
    pub preemption_policy: String,
    #[serde(deserialize_with = "nullable")]
    pub scheduling_gates: Vec<PodSchedulingGate>,
    #[serde(deserialize_with = "optional_map")]
    pub node_selector: Option<super::Labels>,
    pub affinity: Option<Affinity>,
    #[serde(deserialize_with = "nullable")]
    pub tolerations: Vec<Toleration>,
    #[serde(deserialize_with = "nullable")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    #[serde(deserialize_with = "nullable")]
    pub containers: Vec<Container>,
    #[serde(deserialize_with = "nullable")]
    pub init_containers: Vec<Container>,
    #[serde(deserialize_with = "nullable")]
    pub ephemeral_containers: Vec<Container>,
    /// Pod-level resources.
    pub resources: Option<ResourceRequirements>,
    #[serde(deserialize_with = "map")]
    pub overhead: ResourceList,
    pub runtime_class_name: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub host_network: bool,
    pub host_users: Option<bool>,
    #[serde(deserialize_with = "nullable")]
    pub volumes: Vec<Volume>,
    #[serde(deserialize_with = "nullable")]
    pub resource_claims: Vec<PodResourceClaim>,
}

/// A reason not to schedule the pod yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PodSchedulingGate {
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// A device claim of a pod; its presence alone matters so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct PodResourceClaim {
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// A container, init container or ephemeral container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    #[serde(deserialize_with = "nullable")]
    pub image: String,
    #[serde(deserialize_with = "nullable")]
    pub resources: ResourceRequirements,
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<ContainerPort>,
    /// `Always` makes an init container a sidecar.
    #[serde(deserialize_with = "nullable")]
    pub restart_policy: String,
    #[serde(deserialize_with = "nullable")]
    pub restart_policy_rules: Vec<ContainerRestartRule>,
    #[serde(deserialize_with = "nullable")]
    pub volume_mounts: Vec<VolumeMount>,
}

impl Container {
    /// Whether an init container keeps running beside the others.
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }
}

/// One restart rule; only its action is read, by `NodeDeclaredFeatures`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct ContainerRestartRule {
    #[serde(deserialize_with = "nullable")]
    pub action: String,
}

/// A mount; only its bind options are read, by `NodeDeclaredFeatures`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    #[serde(deserialize_with = "nullable")]
    pub bind_mount_options: Vec<String>,
}

/// Requests and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "ResourceRequirementsFields")]
pub struct ResourceRequirements {
    /// Absent and empty differ in a pod's status.
    pub requests: Option<ResourceList>,
    pub limits: ResourceList,
}

/// A port of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "ContainerPortFields")]
pub struct ContainerPort {
    pub host_port: i32,
    pub container_port: i32,
    pub host_ip: String,
    pub protocol: String,
}

/// `spec.affinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Affinity {
    pub node_affinity: Option<NodeAffinity>,
    pub pod_affinity: Option<PodAffinity>,
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// Node affinity, of a pod or of the plugin's `addedAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
    /// Absent and empty differ: only absent lets the score be skipped.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Option<Vec<PreferredSchedulingTerm>>,
}

/// A weighted node selector term.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreferredSchedulingTerm {
    #[serde(deserialize_with = "nullable")]
    pub weight: i32,
    #[serde(deserialize_with = "nullable")]
    pub preference: NodeSelectorTerm,
}

/// Pod affinity or anti-affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PodAffinity {
    #[serde(
        rename = "requiredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    pub required: Vec<PodAffinityTerm>,
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "nullable"
    )]
    pub preferred: Vec<WeightedPodAffinityTerm>,
}

/// A term of pod affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PodAffinityTerm {
    pub label_selector: Option<LabelSelector>,
    #[serde(deserialize_with = "nullable")]
    pub namespaces: Vec<String>,
    pub namespace_selector: Option<LabelSelector>,
    #[serde(deserialize_with = "nullable")]
    pub topology_key: String,
    /// Merged into the selector by defaulting, as the API server does.
    #[serde(deserialize_with = "nullable")]
    pub match_label_keys: Vec<String>,
    /// Merged into the selector by defaulting, as the API server does.
    #[serde(deserialize_with = "nullable")]
    pub mismatch_label_keys: Vec<String>,
}

/// A weighted term of pod affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct WeightedPodAffinityTerm {
    #[serde(deserialize_with = "nullable")]
    pub weight: i32,
    #[serde(deserialize_with = "nullable")]
    pub pod_affinity_term: PodAffinityTerm,
}

/// A toleration; empty `operator` is `Equal`, empty `effect` every effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "TolerationFields")]
pub struct Toleration {
    pub key: String,
    pub operator: String,
    pub value: String,
    pub effect: String,
}

/// A topology spread constraint, of a pod or of the plugin's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TopologySpreadConstraint {
    #[serde(deserialize_with = "nullable")]
    pub max_skew: i32,
    #[serde(deserialize_with = "nullable")]
    pub topology_key: String,
    /// `DoNotSchedule` (hard) or `ScheduleAnyway` (soft).
    #[serde(deserialize_with = "nullable")]
    pub when_unsatisfiable: String,
    pub label_selector: Option<LabelSelector>,
    pub min_domains: Option<i32>,
    /// `Honor` (default) or `Ignore`.
    pub node_affinity_policy: Option<String>,
    /// `Honor` or `Ignore` (default).
    pub node_taints_policy: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub match_label_keys: Vec<String>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub struct Volume {
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Everything but the name: the one key is the source's kind.
    #[serde(flatten, deserialize_with = "fields::volume_source")]
    pub source: BTreeMap<String, VolumeSource>,
}

/// A volume's source: only what scheduling reads of it, of whichever kind it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeSource {
    /// Of `image` volumes.
    #[serde(deserialize_with = "nullable")]
    pub reference: String,
    /// Of `persistentVolumeClaim`.
    #[serde(deserialize_with = "nullable")]
    pub claim_name: String,
    /// Of `ephemeral`.
    pub volume_claim_template: Option<Box<ClaimTemplate>>,
    /// Of `csi`.
    #[serde(deserialize_with = "nullable")]
    pub driver: String,
    /// Of `csi` in a PersistentVolume.
    #[serde(deserialize_with = "nullable")]
    pub volume_handle: String,
    /// Of `gcePersistentDisk`.
    #[serde(deserialize_with = "nullable")]
    pub pd_name: String,
    /// Of `awsElasticBlockStore`, `cinder` and `portworxVolume`.
    #[serde(rename = "volumeID", deserialize_with = "nullable")]
    pub volume_id: String,
    /// Of `azureDisk`.
    #[serde(rename = "diskURI", deserialize_with = "nullable")]
    pub disk_uri: String,
    /// Of `azureDisk`: `Managed`, or what no driver takes.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Of `iscsi`.
    #[serde(deserialize_with = "nullable")]
    pub iqn: String,
    /// Of `rbd`, with `pool` and `image`.
    #[serde(deserialize_with = "nullable")]
    pub monitors: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub pool: String,
    #[serde(deserialize_with = "nullable")]
    pub image: String,
    #[serde(deserialize_with = "nullable")]
    pub read_only: bool,
}

/// `status` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
    #[serde(deserialize_with = "nullable")]
    pub nominated_node_name: String,
    pub start_time: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<PodCondition>,
    #[serde(deserialize_with = "nullable")]
    pub container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "nullable")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// Pod-level amounts that the node has set aside.
    #[serde(deserialize_with = "optional_map")]
    pub allocated_resources: Option<ResourceList>,
    /// Pod-level amounts that are in force.
    pub resources: Option<ResourceRequirements>,
}

impl PodStatus {
    /// Whether the pod has run to its end and takes no room any more.
    pub fn is_finished(&self) -> bool {
        self.phase == "Succeeded" || self.phase == "Failed"
    }
}

/// A condition of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub type_: String,
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    #[serde(deserialize_with = "nullable")]
    pub message: String,
}

/// Status of one container, as far as in-place resizing needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    #[serde(deserialize_with = "optional_map")]
    pub allocated_resources: Option<ResourceList>,
    pub resources: Option<ResourceRequirements>,
}
