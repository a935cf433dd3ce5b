//! Nodes: decoding, validation, and room that is exact and never below zero.

use super::decoding::{object, prepared};
use super::twin::{Twin, small};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Object, Pod};
use berth_core::{ApplyError, Change, Scheduler};
use berth_test_support::replay::VERDICTS;

/// Decodes a node both ways, adds and removes it, and puts a plain pod on it.
pub fn run(bytes: &[u8]) {
    let Some(node) = object("Node", bytes) else {
        return;
    };
    let prepared = prepared(vec![node]);
    let Some(node) = prepared.objects.first() else {
        assert!(!prepared.problems.is_empty(), "a node was lost");
        return;
    };
    let config = KubeSchedulerConfiguration::default();
    let mut scheduler = Scheduler::new(&config, VERDICTS, small()).expect("the defaults");
    let empty = scheduler.state_hash();
    match scheduler.apply(Change::Added, node) {
        Ok(()) => {}
        Err(ApplyError::Capacity(_)) => {
            assert_eq!(scheduler.state_hash(), empty);
            return;
        }
        Err(error) => panic!("{error:?}: {node:?}"),
    }
    let id = scheduler
        .find_node(&node.metadata().name)
        .expect("the node");
    for (resource, _, allocatable) in scheduler.node(id).resources() {
        assert!(allocatable >= 0, "{resource}: {allocatable}");
    }
    let with_it = scheduler.state_hash();
    assert_eq!(scheduler.apply(Change::Modified, node), Ok(()));
    assert_eq!(scheduler.state_hash(), with_it);
    assert_eq!(scheduler.apply(Change::Deleted, node), Ok(()));
    assert_eq!(scheduler.state_hash(), empty);

    let mut node = node.clone();
    if let Object::Node(node) = &mut node
        && node.status.allocatable.is_none()
    {
        // The API server does this, and the twin knows only what comes from there.
        node.status.allocatable = Some(node.status.capacity.clone());
    }
    let mut twin = Twin::new();
    if twin.add(&node) {
        twin.agree_on(&plain_pod());
    }
}

fn plain_pod() -> Pod {
    let json = r#"{"metadata": {"name": "plain", "namespace": "default"}, "spec": {
        "schedulerName": "default-scheduler", "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [{"name": "c", "image": "a",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi", "example.com/gpu": "1"}}}]}}"#;
    serde_json::from_str(json).expect("a pod")
}

/// A node for the pods of other targets.
pub fn usual(name: &str) -> Object {
    let text = format!(
        r#"{{"metadata": {{"name": "{name}", "labels": {{"kubernetes.io/hostname": "{name}",
        "zone": "z", "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "{name}"}}}},
        "spec": {{"taints": [{{"key": "{name}", "effect": "PreferNoSchedule"}}]}},
        "status": {{"allocatable": {{"cpu": "4", "memory": "8Gi", "pods": "10",
        "ephemeral-storage": "20Gi", "example.com/gpu": "2", "nvidia.com/gpu": "8"}},
        "images": [{{"names": ["nginx:latest", "registry.k8s.io/pause:3.9"],
        "sizeBytes": 600000000}}]}}}}"#
    );
    object("Node", text.as_bytes()).expect("a node")
}
