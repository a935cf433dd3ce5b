//! What is watched.
//!
//! Mirrors what the informers of kube-scheduler list and watch (`pkg/scheduler/eventhandlers.go`). Of
//! device claims and pod groups nothing is read: pods that need them are refused by name.

use super::watcher::escaped;

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// As Kubernetes spells it.
    pub kind: &'static str,
    pub path: &'static str,
    /// Of all objects, those that are asked for.
    pub field_selector: &'static str,
}

impl Resource {
    /// Its path with a query, and with the selection of its objects.
    pub fn with_query(&self, query: &str) -> String {
        let Self {
            path,
            field_selector,
            ..
        } = self;
        if field_selector.is_empty() {
            format!("{path}?{query}")
        } else {
            format!("{path}?fieldSelector={}&{query}", escaped(field_selector))
        }
    }
}

const fn all(kind: &'static str, path: &'static str) -> Resource {
    Resource {
        kind,
        path,
        field_selector: "",
    }
}

/// Place of the pods in [`RESOURCES`].
pub const PODS: usize = 0;
/// Place of the nodes in [`RESOURCES`].
pub const NODES: usize = 1;

/// All of them. What owns pods is read only where a profile spreads by default.
pub const RESOURCES: [Resource; 15] = [
    // A pod that has finished is gone for the scheduler.
    Resource {
        kind: "Pod",
        path: "/api/v1/pods",
        field_selector: "status.phase!=Succeeded,status.phase!=Failed",
    },
    all("Node", "/api/v1/nodes"),
    all("Namespace", "/api/v1/namespaces"),
    all("Service", "/api/v1/services"),
    all("ReplicationController", "/api/v1/replicationcontrollers"),
    all("ReplicaSet", "/apis/apps/v1/replicasets"),
    all("StatefulSet", "/apis/apps/v1/statefulsets"),
    all("PersistentVolumeClaim", "/api/v1/persistentvolumeclaims"),
    all("PersistentVolume", "/api/v1/persistentvolumes"),
    all("StorageClass", "/apis/storage.k8s.io/v1/storageclasses"),
    all("CSINode", "/apis/storage.k8s.io/v1/csinodes"),
    all("CSIDriver", "/apis/storage.k8s.io/v1/csidrivers"),
    all(
        "CSIStorageCapacity",
        "/apis/storage.k8s.io/v1/csistoragecapacities",
    ),
    all(
        "VolumeAttachment",
        "/apis/storage.k8s.io/v1/volumeattachments",
    ),
    all(
        "PodDisruptionBudget",
        "/apis/policy/v1/poddisruptionbudgets",
    ),
];
