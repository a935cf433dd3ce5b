//! The kinds that own or select pods.

use super::map::{map, optional_map};
use super::{
    ClaimTemplate, LabelSelector, Labels, ObjectMeta, PodCondition, PodTemplate, ResourceList,
    nullable,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Deserialize;

/// A namespace; its labels decide namespace selectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Namespace {
    pub metadata: ObjectMeta,
}

/// A Service or ReplicationController, whose selector is a plain map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Service {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: ServiceSpec,
}

/// `spec` of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ServiceSpec {
    /// Absent selects nothing, empty everything.
    #[serde(deserialize_with = "optional_map")]
    pub selector: Option<Labels>,
}

/// A ReplicationController.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ReplicationController {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: ReplicationControllerSpec,
}

/// `spec` of a ReplicationController.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ReplicationControllerSpec {
    pub replicas: Option<i32>,
    #[serde(deserialize_with = "optional_map")]
    pub selector: Option<Labels>,
    pub template: Option<Box<PodTemplate>>,
}

/// A Deployment, ReplicaSet, StatefulSet or DaemonSet: the kind is the enum's around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Workload {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: WorkloadSpec,
}

/// `spec` of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpec {
    pub replicas: Option<i32>,
    pub selector: Option<LabelSelector>,
    pub template: Option<Box<PodTemplate>>,
    /// Of a StatefulSet: each makes a claim `TEMPLATE-POD`.
    #[serde(deserialize_with = "nullable")]
    pub volume_claim_templates: Vec<ClaimTemplate>,
    /// Of a `StatefulSet`.
    #[serde(deserialize_with = "nullable")]
    pub ordinals: Ordinals,
}

/// How a `StatefulSet` counts its pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ordinals {
    /// Number of the first pod.
    #[serde(deserialize_with = "nullable")]
    pub start: i32,
}

/// A Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Job {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: JobSpec,
    #[serde(deserialize_with = "nullable")]
    pub status: JobStatus,
}

/// `status` of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct JobStatus {
    /// `Complete` or `Failed` ends the job.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<PodCondition>,
}

/// `spec` of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSpec {
    pub parallelism: Option<i32>,
    pub completions: Option<i32>,
    pub selector: Option<LabelSelector>,
    #[serde(deserialize_with = "nullable")]
    pub suspend: bool,
    #[serde(deserialize_with = "nullable")]
    pub manual_selector: bool,
    pub template: Option<Box<PodTemplate>>,
}

/// A CronJob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CronJob {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: CronJobSpec,
}

/// `spec` of a CronJob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobSpec {
    #[serde(deserialize_with = "nullable")]
    pub suspend: bool,
    #[serde(deserialize_with = "nullable")]
    pub job_template: Box<JobTemplate>,
}

/// The job that a CronJob makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct JobTemplate {
    #[serde(deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: JobSpec,
}

/// A PriorityClass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PriorityClass {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub value: i32,
    #[serde(deserialize_with = "nullable")]
    pub global_default: bool,
    #[serde(deserialize_with = "nullable")]
    pub preemption_policy: String,
}

/// A RuntimeClass, for overhead, node selector and tolerations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RuntimeClass {
    pub metadata: ObjectMeta,
    pub overhead: Option<Overhead>,
    pub scheduling: Option<RuntimeClassScheduling>,
}

/// What a runtime takes beside the containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overhead {
    #[serde(deserialize_with = "map")]
    pub pod_fixed: ResourceList,
}

/// Where a runtime is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuntimeClassScheduling {
    #[serde(deserialize_with = "map")]
    pub node_selector: Labels,
    #[serde(deserialize_with = "nullable")]
    pub tolerations: Vec<super::Toleration>,
}

/// A LimitRange; entries of type `Container` give default requests and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LimitRange {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: LimitRangeSpec,
}

/// `spec` of a LimitRange.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LimitRangeSpec {
    #[serde(deserialize_with = "nullable")]
    pub limits: Vec<LimitRangeItem>,
}

/// One entry of a LimitRange.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitRangeItem {
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub type_: String,
    /// Gives the limits of containers that set none.
    #[serde(deserialize_with = "map")]
    pub default: ResourceList,
    /// Gives the requests of containers that set none.
    #[serde(deserialize_with = "map")]
    pub default_request: ResourceList,
    /// Completes `default`.
    #[serde(deserialize_with = "map")]
    pub max: ResourceList,
    /// Completes `defaultRequest`.
    #[serde(deserialize_with = "map")]
    pub min: ResourceList,
}
