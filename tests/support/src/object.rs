//! JSON of a known kind to an object of the core, as the golden scheduler read it.
//!
//! Nothing is defaulted but a missing uid and scheduler name: what the golden inputs hold is what
//! kube-scheduler got, after the API server's work.

use berth_core::object::{Object, Pod};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The object that `json` is, of kind `kind`.
pub fn object(kind: &str, json: &Value) -> Object {
    match kind {
        "Namespace" => Object::Namespace(decode(json)),
        "Node" => Object::Node(Box::new(decode(json))),
        "PodDisruptionBudget" => Object::PodDisruptionBudget(decode(json)),
        "Pod" => Object::Pod(Box::new(pod(json))),
        "ReplicationController" => Object::ReplicationController(decode(json)),
        "ReplicaSet" => Object::ReplicaSet(decode(json)),
        "Service" => Object::Service(decode(json)),
        "StatefulSet" => Object::StatefulSet(decode(json)),
        "PersistentVolume" => Object::PersistentVolume(Box::new(decode(json))),
        "PersistentVolumeClaim" => Object::PersistentVolumeClaim(Box::new(decode(json))),
        "StorageClass" => Object::StorageClass(decode(json)),
        "CSINode" => Object::CsiNode(decode(json)),
        "CSIDriver" => Object::CsiDriver(decode(json)),
        "CSIStorageCapacity" => Object::CsiStorageCapacity(decode(json)),
        "VolumeAttachment" => Object::VolumeAttachment(decode(json)),
        other => panic!("objects of kind {other} are not in the suites' inputs"),
    }
}

/// The pod that `json` is.
pub fn pod(json: &Value) -> Pod {
    let mut pod: Pod = decode(json);
    let metadata = &mut pod.metadata;
    if metadata.uid.is_empty() {
        metadata.uid = format!("{}-{}", metadata.namespace, metadata.name);
    }
    if pod.spec.scheduler_name.is_empty() {
        pod.spec.scheduler_name = "default-scheduler".into();
    }
    pod
}

fn decode<T: DeserializeOwned>(json: &Value) -> T {
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}"))
}
