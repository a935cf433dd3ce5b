//! Kubernetes objects, reduced to what scheduling reads.
//!
//! Stage before: a face's bytes (JSON, YAML, watch events, dicts). Stage after:
//! [`Scheduler::apply`](crate::Scheduler::apply), where strings become ids. One file a kind:
//! metadata and selectors in `meta`, [`Node`] in `node`, [`Pod`] in `pod`, volumes and claims in
//! `volume`, the kinds of storage in `storage`, what owns or selects pods in `workload`. What stands in for the API server, in the order of the flow: [`decode`],
//! [`validate`], [`defaults`] (with admission), [`expand`] (the workloads' controllers); and
//! [`input`], which puts them together.

pub mod config;
pub mod decode;
pub mod defaults;
mod disruption;
pub mod expand;
pub mod input;
pub mod label;
mod map;
mod meta;
mod node;
mod path;
mod pod;
mod storage;
mod time;
pub mod validate;
mod value;
mod volume;
mod workload;

pub use disruption::*;
pub use meta::*;
pub use node::*;
pub use pod::*;
pub use storage::*;
pub use time::parse_time;
pub use volume::*;
pub use workload::*;

use crate::quantity::Quantity;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use path::Escaped;
use serde::{Deserialize, Deserializer};

/// Amounts by resource name.
pub type ResourceList = BTreeMap<String, Quantity>;

/// One object of a kind that Berth takes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    Node(Box<Node>),
    Pod(Box<Pod>),
    Namespace(Namespace),
    Service(Service),
    ReplicationController(ReplicationController),
    ReplicaSet(Workload),
    StatefulSet(Workload),
    Deployment(Workload),
    DaemonSet(Workload),
    Job(Job),
    CronJob(CronJob),
    PriorityClass(PriorityClass),
    RuntimeClass(RuntimeClass),
    LimitRange(LimitRange),
    PodDisruptionBudget(PodDisruptionBudget),
    PersistentVolume(Box<PersistentVolume>),
    PersistentVolumeClaim(Box<PersistentVolumeClaim>),
    StorageClass(StorageClass),
    CsiNode(CsiNode),
    CsiDriver(CsiDriver),
    CsiStorageCapacity(CsiStorageCapacity),
    VolumeAttachment(VolumeAttachment),
}

impl Object {
    /// The object's kind, as Kubernetes spells it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Node(_) => "Node",
            Self::Pod(_) => "Pod",
            Self::Namespace(_) => "Namespace",
            Self::Service(_) => "Service",
            Self::ReplicationController(_) => "ReplicationController",
            Self::ReplicaSet(_) => "ReplicaSet",
            Self::StatefulSet(_) => "StatefulSet",
            Self::Deployment(_) => "Deployment",
            Self::DaemonSet(_) => "DaemonSet",
            Self::Job(_) => "Job",
            Self::CronJob(_) => "CronJob",
            Self::PriorityClass(_) => "PriorityClass",
            Self::RuntimeClass(_) => "RuntimeClass",
            Self::LimitRange(_) => "LimitRange",
            Self::PodDisruptionBudget(_) => "PodDisruptionBudget",
            Self::PersistentVolume(_) => "PersistentVolume",
            Self::PersistentVolumeClaim(_) => "PersistentVolumeClaim",
            Self::StorageClass(_) => "StorageClass",
            Self::CsiNode(_) => "CSINode",
            Self::CsiDriver(_) => "CSIDriver",
            Self::CsiStorageCapacity(_) => "CSIStorageCapacity",
            Self::VolumeAttachment(_) => "VolumeAttachment",
        }
    }

    /// The object's metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Node(object) => &object.metadata,
            Self::Pod(object) => &object.metadata,
            Self::Namespace(object) => &object.metadata,
            Self::Service(object) => &object.metadata,
            Self::ReplicationController(object) => &object.metadata,
            Self::ReplicaSet(object)
            | Self::StatefulSet(object)
            | Self::Deployment(object)
            | Self::DaemonSet(object) => &object.metadata,
            Self::Job(object) => &object.metadata,
            Self::CronJob(object) => &object.metadata,
            Self::PriorityClass(object) => &object.metadata,
            Self::RuntimeClass(object) => &object.metadata,
            Self::LimitRange(object) => &object.metadata,
            Self::PodDisruptionBudget(object) => &object.metadata,
            Self::PersistentVolume(object) => &object.metadata,
            Self::PersistentVolumeClaim(object) => &object.metadata,
            Self::StorageClass(object) => &object.metadata,
            Self::CsiNode(object) => &object.metadata,
            Self::CsiDriver(object) => &object.metadata,
            Self::CsiStorageCapacity(object) => &object.metadata,
            Self::VolumeAttachment(object) => &object.metadata,
        }
    }

    /// The object's metadata, to be changed.
    pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Node(object) => &mut object.metadata,
            Self::Pod(object) => &mut object.metadata,
            Self::Namespace(object) => &mut object.metadata,
            Self::Service(object) => &mut object.metadata,
            Self::ReplicationController(object) => &mut object.metadata,
            Self::ReplicaSet(object)
            | Self::StatefulSet(object)
            | Self::Deployment(object)
            | Self::DaemonSet(object) => &mut object.metadata,
            Self::Job(object) => &mut object.metadata,
            Self::CronJob(object) => &mut object.metadata,
            Self::PriorityClass(object) => &mut object.metadata,
            Self::RuntimeClass(object) => &mut object.metadata,
            Self::LimitRange(object) => &mut object.metadata,
            Self::PodDisruptionBudget(object) => &mut object.metadata,
            Self::PersistentVolume(object) => &mut object.metadata,
            Self::PersistentVolumeClaim(object) => &mut object.metadata,
            Self::StorageClass(object) => &mut object.metadata,
            Self::CsiNode(object) => &mut object.metadata,
            Self::CsiDriver(object) => &mut object.metadata,
            Self::CsiStorageCapacity(object) => &mut object.metadata,
            Self::VolumeAttachment(object) => &mut object.metadata,
        }
    }
}

/// How messages name an object: `Pod web/api-7`, `Node n1`, or as much of it as there is.
pub(crate) fn subject(kind: &str, namespace: &str, name: &str) -> String {
    let (namespace, name) = (Escaped(namespace), Escaped(name));
    match (namespace.0, name.0) {
        ("", "") => kind.into(),
        ("", _) => format!("{kind} {name}"),
        _ => format!("{kind} {namespace}/{name}"),
    }
}

/// Reads `null` as the type's default, as Kubernetes does.
fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
