//! Rows on nodes that come, change and go.

use super::{Row, added, deleted, modified};
use berth_core::plugins::Plugin;
use berth_test_support::sample::{bound, merge, node, pod};
use serde_json::{Value, json};

fn cordoned(name: &str) -> Value {
    node(name, json!({"spec": {"unschedulable": true}}))
}

fn tainted(name: &str, key: &str) -> Value {
    let taint = json!({"key": key, "effect": "NoSchedule"});
    node(name, json!({"spec": {"taints": [taint]}}))
}

// Rows write their labels with `json!`, which makes a value.
#[allow(clippy::needless_pass_by_value)]
fn labelled(name: &str, labels: Value) -> Value {
    node(name, json!({"metadata": {"labels": labels}}))
}

fn with_room(name: &str, cpu: &str, memory: &str, pods: &str) -> Value {
    let allocatable = json!({"cpu": cpu, "memory": memory, "pods": pods});
    node(name, json!({"status": {"allocatable": allocatable}}))
}

fn big(name: &str) -> Value {
    let requests = json!({"cpu": "6"});
    let container = json!({"name": "c", "resources": {"requests": requests}});
    pod(name, json!({"spec": {"containers": [container]}}))
}

fn selecting(name: &str) -> Value {
    pod(name, json!({"spec": {"nodeSelector": {"disk": "ssd"}}}))
}

/// Hard spreading over zones of pods with the label `app: web`, at most one apart.
pub fn spread(name: &str, more: Value) -> Value {
    let constraint = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}}});
    let mut json = pod(
        name,
        json!({"metadata": {"labels": {"app": "web"}},
        "spec": {"topologySpreadConstraints": [constraint]}}),
    );
    merge(&mut json, more);
    json
}

/// The same with two zones wanted.
pub fn spread_over_two() -> Value {
    let mut json = spread("p", json!({}));
    json["spec"]["topologySpreadConstraints"][0]["minDomains"] = json!(2);
    json
}

fn affinity(kind: &str, key: &str, app: &str) -> Value {
    let term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}});
    json!({"spec": {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}})
}

pub fn rows() -> Vec<Row> {
    use Plugin as P;
    let host_user = || {
        pod(
            "p",
            json!({"spec": {"hostNetwork": true, "hostUsers": false}}),
        )
    };
    let feature =
        |name: &str, features: Value| node(name, json!({"status": {"declaredFeatures": features}}));
    let port = |name: &str, number: u32| {
        let container = json!({"name": "c", "ports": [{"hostPort": number, "containerPort": 1}]});
        json!({"metadata": {"name": name}, "spec": {"containers": [container]}})
    };
    let zoned = |name: &str, zone: &str| labelled(name, json!({"zone": zone}));
    let near = || pod("p", affinity("podAffinity", "zone", "db"));
    let apart = || pod("p", affinity("podAntiAffinity", "zone", "db"));
    let db = |node: &str| bound("db", node, json!({"metadata": {"labels": {"app": "db"}}}));
    vec![
        Row {
            about: "node added",
            plugin: P::NodeUnschedulable,
            there: vec![("Node", cordoned("a"))],
            pod: pod("p", json!({})),
            wakes: added("Node", node("b", json!({}))),
            sleeps: added("Node", cordoned("b")),
        },
        Row {
            about: "node uncordoned",
            plugin: P::NodeUnschedulable,
            there: vec![("Node", cordoned("a"))],
            pod: pod("p", json!({})),
            wakes: modified("Node", node("a", json!({}))),
            sleeps: modified(
                "Node",
                node(
                    "a",
                    json!({"spec": {"unschedulable": true, "taints": [{"key": "k"}]}}),
                ),
            ),
        },
        Row {
            about: "node added",
            plugin: P::TaintToleration,
            there: vec![("Node", tainted("a", "t"))],
            pod: pod("p", json!({})),
            wakes: added("Node", node("b", json!({}))),
            sleeps: added("Node", tainted("b", "t")),
        },
        Row {
            about: "taint changed",
            plugin: P::TaintToleration,
            there: vec![("Node", tainted("a", "t"))],
            pod: pod("p", json!({})),
            wakes: modified("Node", node("a", json!({}))),
            sleeps: modified("Node", tainted("a", "u")),
        },
        Row {
            about: "node added",
            plugin: P::NodeAffinity,
            there: vec![("Node", node("a", json!({})))],
            pod: selecting("p"),
            wakes: added("Node", labelled("b", json!({"disk": "ssd"}))),
            sleeps: added("Node", labelled("b", json!({"disk": "hdd"}))),
        },
        Row {
            about: "label changed",
            plugin: P::NodeAffinity,
            there: vec![("Node", node("a", json!({})))],
            pod: selecting("p"),
            wakes: modified("Node", labelled("a", json!({"disk": "ssd"}))),
            sleeps: modified("Node", labelled("a", json!({"disk": "hdd"}))),
        },
        Row {
            about: "node added",
            plugin: P::NodePorts,
            there: vec![
                ("Node", node("a", json!({}))),
                ("Pod", bound("x", "a", port("x", 80))),
            ],
            pod: pod("p", port("p", 80)),
            wakes: added("Node", cordoned("b")),
            sleeps: modified("Node", labelled("a", json!({"other": "x"}))),
        },
        Row {
            about: "node added",
            plugin: P::NodeResourcesFit,
            there: vec![("Node", node("a", json!({})))],
            pod: big("p"),
            wakes: added("Node", with_room("b", "6", "1Gi", "1")),
            sleeps: added("Node", with_room("b", "5", "64Gi", "100")),
        },
        Row {
            about: "allocatable grew",
            plugin: P::NodeResourcesFit,
            there: vec![("Node", node("a", json!({})))],
            pod: big("p"),
            wakes: modified("Node", with_room("a", "6", "8Gi", "10")),
            sleeps: modified("Node", with_room("a", "5", "8Gi", "10")),
        },
        Row {
            about: "allocatable grew where it fits already",
            plugin: P::NodeResourcesFit,
            there: vec![
                ("Node", node("a", json!({}))),
                (
                    "Pod",
                    bound(
                        "x",
                        "a",
                        json!({"spec": {"containers": [
                    {"name": "c", "resources": {"requests": {"cpu": "4"}}}]}}),
                    ),
                ),
            ],
            pod: pod("p", json!({})),
            wakes: modified("Node", with_room("a", "4", "8Gi", "11")),
            sleeps: modified("Node", with_room("a", "4", "9Gi", "10")),
        },
        Row {
            about: "node added",
            plugin: P::PodTopologySpread,
            there: vec![("Node", node("a", json!({})))],
            pod: spread("p", json!({})),
            wakes: added("Node", zoned("b", "b")),
            sleeps: added("Node", node("b", json!({}))),
        },
        Row {
            about: "node deleted",
            plugin: P::PodTopologySpread,
            there: vec![
                ("Node", zoned("a", "a")),
                ("Node", node("c", json!({}))),
                (
                    "Pod",
                    bound("w", "a", json!({"metadata": {"labels": {"app": "web"}}})),
                ),
            ],
            pod: spread_over_two(),
            wakes: deleted("Node", zoned("a", "a")),
            sleeps: deleted("Node", node("c", json!({}))),
        },
        Row {
            about: "node label changed",
            plugin: P::PodTopologySpread,
            there: vec![("Node", node("a", json!({})))],
            pod: spread("p", json!({})),
            wakes: modified("Node", zoned("a", "a")),
            sleeps: modified("Node", labelled("a", json!({"other": "x"}))),
        },
        Row {
            about: "node with all keys moved to another zone",
            plugin: P::PodTopologySpread,
            there: vec![
                ("Node", zoned("a", "a")),
                (
                    "Pod",
                    bound("w", "a", json!({"metadata": {"labels": {"app": "web"}}})),
                ),
            ],
            pod: spread_over_two(),
            wakes: modified("Node", zoned("a", "b")),
            sleeps: modified("Node", labelled("a", json!({"zone": "a", "other": "x"}))),
        },
        Row {
            about: "taints of a node with all keys changed",
            plugin: P::PodTopologySpread,
            there: vec![
                ("Node", zoned("a", "a")),
                (
                    "Pod",
                    bound("w", "a", json!({"metadata": {"labels": {"app": "web"}}})),
                ),
            ],
            pod: spread_over_two(),
            wakes: modified(
                "Node",
                node(
                    "a",
                    json!({"metadata": {"labels": {"zone": "a"}},
                    "spec": {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}}),
                ),
            ),
            sleeps: modified(
                "Node",
                node(
                    "a",
                    json!({"metadata": {"labels": {"zone": "a"}},
                    "spec": {"unschedulable": true}}),
                ),
            ),
        },
        Row {
            about: "node added, for affinity",
            plugin: P::InterPodAffinity,
            there: vec![("Node", zoned("a", "a"))],
            pod: near(),
            wakes: added("Node", zoned("b", "b")),
            sleeps: added("Node", node("b", json!({}))),
        },
        Row {
            about: "node added, for anti-affinity",
            plugin: P::InterPodAffinity,
            there: vec![("Node", zoned("a", "a")), ("Pod", db("a"))],
            pod: apart(),
            wakes: added("Node", node("b", json!({}))),
            sleeps: modified("Node", labelled("a", json!({"zone": "a", "other": "x"}))),
        },
        Row {
            about: "node label changed, for affinity",
            plugin: P::InterPodAffinity,
            there: vec![("Node", zoned("a", "a"))],
            pod: near(),
            wakes: modified("Node", zoned("a", "b")),
            sleeps: modified("Node", node("a", json!({}))),
        },
        Row {
            about: "node label changed, for anti-affinity",
            plugin: P::InterPodAffinity,
            there: vec![("Node", zoned("a", "a")), ("Pod", db("a"))],
            pod: apart(),
            wakes: modified(
                "Node",
                json!({"metadata": {"name": "a"},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}),
            ),
            sleeps: modified("Node", labelled("a", json!({"zone": "a", "other": "x"}))),
        },
        Row {
            about: "node added",
            plugin: P::NodeDeclaredFeatures,
            there: vec![("Node", node("a", json!({})))],
            pod: host_user(),
            wakes: added("Node", node("b", json!({}))),
            sleeps: modified("Node", labelled("a", json!({"other": "x"}))),
        },
        Row {
            about: "declared features changed, known or not",
            plugin: P::NodeDeclaredFeatures,
            there: vec![("Node", node("a", json!({})))],
            pod: host_user(),
            wakes: modified("Node", feature("a", json!(["Unheard"]))),
            sleeps: modified("Node", labelled("a", json!({"other": "x"}))),
        },
    ]
}
