//! Rows on pods that come, change and go, and on changes of the waiting pod itself.

use super::node_rows::spread_over_two;
use super::{Row, added, deleted, modified};
use berth_core::plugins::Plugin;
use berth_test_support::sample::{bound, merge, node, pod};
use serde_json::{Value, json};

fn asking(name: &str, cpu: &str, memory: &str) -> Value {
    let requests = json!({"cpu": cpu, "memory": memory});
    let container = json!({"name": "c", "resources": {"requests": requests}});
    pod(name, json!({"spec": {"containers": [container]}}))
}

fn on(node: &str, mut pod: Value) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod
}

fn app(name: &str, node: &str, app: &str) -> Value {
    bound(name, node, json!({"metadata": {"labels": {"app": app}}}))
}

fn with_port(name: &str, number: u32) -> Value {
    let container = json!({"name": "c", "ports": [{"hostPort": number, "containerPort": 1}]});
    pod(name, json!({"spec": {"containers": [container]}}))
}

fn tolerating(mut pod: Value, key: &str) -> Value {
    pod["spec"]["tolerations"] = json!([{"key": key, "operator": "Exists"}]);
    pod
}

/// A web pod that must spread over two zones, of which there is one, with a web pod.
fn crowded(more: Value) -> Value {
    let mut json = spread_over_two();
    merge(&mut json, more);
    json
}

fn crowd() -> Vec<(&'static str, Value)> {
    vec![
        (
            "Node",
            node("a", json!({"metadata": {"labels": {"zone": "a"}}})),
        ),
        ("Pod", app("w", "a", "web")),
        ("Pod", app("o", "a", "other")),
    ]
}

fn related(kind: &str, name: &str, app: &str) -> Value {
    let term = json!({"topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": app}}});
    pod(
        name,
        json!({"spec": {"affinity":
        {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}}),
    )
}

fn in_other_namespace(mut pod: Value) -> Value {
    pod["metadata"]["namespace"] = json!("other");
    pod
}

pub fn rows() -> Vec<Row> {
    use Plugin as P;
    let plain = || node("a", json!({}));
    let gated = |gates: Value| pod("p", json!({"spec": {"schedulingGates": gates}}));
    let cordoned = || node("a", json!({"spec": {"unschedulable": true}}));
    let taint = json!([{"key": "t", "effect": "NoSchedule"}]);
    let tainted = || node("a", json!({"spec": {"taints": taint}}));
    let near = || related("podAffinity", "p", "db");
    let apart = || related("podAntiAffinity", "p", "db");
    let refusing = || {
        let mut json = on("a", related("podAntiAffinity", "r", "mine"));
        json["metadata"]["labels"] = json!({"app": "other"});
        json
    };
    let mine = || pod("p", json!({"metadata": {"labels": {"app": "mine"}}}));
    let features = |needs: bool| {
        pod(
            "p",
            json!({"spec": {"hostNetwork": true, "hostUsers": !needs}}),
        )
    };
    vec![
        Row {
            about: "gates eliminated",
            plugin: P::SchedulingGates,
            there: vec![],
            pod: gated(json!([{"name": "x"}, {"name": "y"}])),
            wakes: modified("Pod", gated(json!([]))),
            sleeps: modified("Pod", gated(json!([{"name": "y"}]))),
        },
        Row {
            about: "own tolerations",
            plugin: P::NodeUnschedulable,
            there: vec![("Node", cordoned())],
            pod: pod("p", json!({})),
            wakes: modified(
                "Pod",
                tolerating(pod("p", json!({})), "node.kubernetes.io/unschedulable"),
            ),
            sleeps: modified("Pod", tolerating(pod("p", json!({})), "unrelated")),
        },
        Row {
            about: "own tolerations",
            plugin: P::TaintToleration,
            there: vec![("Node", tainted())],
            pod: pod("p", json!({})),
            wakes: modified("Pod", tolerating(pod("p", json!({})), "unrelated")),
            sleeps: modified("Pod", pod("p", json!({"metadata": {"labels": {"a": "b"}}}))),
        },
        Row {
            about: "pod deleted",
            plugin: P::NodePorts,
            there: vec![
                ("Node", plain()),
                ("Pod", on("a", with_port("x", 80))),
                ("Pod", on("a", with_port("y", 81))),
            ],
            pod: with_port("p", 80),
            wakes: deleted("Pod", on("a", with_port("x", 80))),
            sleeps: deleted("Pod", on("a", with_port("y", 81))),
        },
        Row {
            about: "pod deleted, placed or waiting without a nomination",
            plugin: P::NodeResourcesFit,
            there: vec![
                ("Node", plain()),
                ("Pod", on("a", asking("x", "4", "1Gi"))),
                ("Pod", asking("z", "9", "1Gi")),
            ],
            pod: asking("p", "1", "0"),
            wakes: deleted("Pod", on("a", asking("x", "4", "1Gi"))),
            sleeps: deleted("Pod", asking("z", "9", "1Gi")),
        },
        Row {
            about: "pod scaled down",
            plugin: P::NodeResourcesFit,
            there: vec![("Node", plain()), ("Pod", on("a", asking("x", "4", "2Gi")))],
            pod: asking("p", "1", "0"),
            wakes: modified("Pod", on("a", asking("x", "3", "2Gi"))),
            sleeps: modified("Pod", on("a", asking("x", "4", "1Gi"))),
        },
        Row {
            about: "scaled down itself",
            plugin: P::NodeResourcesFit,
            there: vec![("Node", plain())],
            pod: asking("p", "5", "1Gi"),
            wakes: modified("Pod", asking("p", "5", "512Mi")),
            sleeps: modified("Pod", asking("p", "6", "1Gi")),
        },
        Row {
            about: "pod added",
            plugin: P::PodTopologySpread,
            there: crowd(),
            pod: crowded(json!({})),
            wakes: added("Pod", app("n", "a", "web")),
            sleeps: added("Pod", in_other_namespace(app("n", "a", "web"))),
        },
        Row {
            about: "pod's labels changed",
            plugin: P::PodTopologySpread,
            there: crowd(),
            pod: crowded(json!({})),
            wakes: modified("Pod", app("w", "a", "other")),
            sleeps: modified("Pod", app("o", "a", "another")),
        },
        Row {
            about: "pod deleted",
            plugin: P::PodTopologySpread,
            there: crowd(),
            pod: crowded(json!({})),
            wakes: deleted("Pod", app("w", "a", "web")),
            sleeps: deleted("Pod", app("o", "a", "other")),
        },
        Row {
            about: "own tolerations, which count for no constraint without the taints policy",
            plugin: P::PodTopologySpread,
            there: crowd(),
            pod: crowded(json!({})),
            wakes: modified(
                "Pod",
                crowded(json!({"metadata": {"labels": {"app": "other"}}})),
            ),
            sleeps: modified("Pod", tolerating(crowded(json!({})), "t")),
        },
        Row {
            about: "own tolerations, with the taints policy Honor; own labels that select the same",
            plugin: P::PodTopologySpread,
            there: crowd(),
            pod: honoring(json!({})),
            wakes: modified("Pod", tolerating(honoring(json!({})), "t")),
            sleeps: modified(
                "Pod",
                honoring(json!({"metadata": {"labels": {"tier": "x"}}})),
            ),
        },
        Row {
            about: "pod added",
            plugin: P::InterPodAffinity,
            there: vec![("Node", plain())],
            pod: near(),
            wakes: added("Pod", app("n", "a", "db")),
            sleeps: added("Pod", app("n", "a", "web")),
        },
        Row {
            about: "pod's labels began to match",
            plugin: P::InterPodAffinity,
            there: vec![("Node", plain()), ("Pod", app("n", "a", "web"))],
            pod: near(),
            wakes: modified("Pod", app("n", "a", "db")),
            sleeps: modified("Pod", app("n", "a", "other")),
        },
        Row {
            about: "pod's labels ceased to match",
            plugin: P::InterPodAffinity,
            there: vec![
                ("Node", plain()),
                ("Pod", app("n", "a", "db")),
                ("Pod", app("m", "a", "web")),
            ],
            pod: apart(),
            wakes: modified("Pod", app("n", "a", "web")),
            sleeps: modified("Pod", app("m", "a", "other")),
        },
        Row {
            about: "pod deleted that the waiting one refuses",
            plugin: P::InterPodAffinity,
            there: vec![
                ("Node", plain()),
                ("Pod", app("n", "a", "db")),
                ("Pod", app("m", "a", "web")),
            ],
            pod: apart(),
            wakes: deleted("Pod", app("n", "a", "db")),
            sleeps: deleted("Pod", app("m", "a", "web")),
        },
        Row {
            about: "pod deleted that refuses the waiting one",
            plugin: P::InterPodAffinity,
            there: vec![
                ("Node", plain()),
                ("Pod", refusing()),
                ("Pod", app("m", "a", "web")),
            ],
            pod: mine(),
            wakes: deleted("Pod", refusing()),
            sleeps: deleted("Pod", app("m", "a", "web")),
        },
        Row {
            about: "own labels",
            plugin: P::InterPodAffinity,
            there: vec![("Node", plain())],
            pod: near(),
            wakes: modified("Pod", {
                let mut json = near();
                json["metadata"]["labels"] = json!({"a": "b"});
                json
            }),
            sleeps: modified("Pod", tolerating(near(), "t")),
        },
        Row {
            about: "own features",
            plugin: P::NodeDeclaredFeatures,
            there: vec![("Node", plain())],
            pod: features(true),
            wakes: modified("Pod", features(false)),
            sleeps: modified("Pod", tolerating(features(true), "t")),
        },
    ]
}

fn honoring(more: Value) -> Value {
    let mut json = crowded(json!({}));
    json["spec"]["topologySpreadConstraints"][0]["nodeTaintsPolicy"] = json!("Honor");
    merge(&mut json, more);
    json
}
