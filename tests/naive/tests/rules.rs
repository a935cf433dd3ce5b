//! Rules that upstream's recorded decisions do not reach, and Berth's own differences. Numbers B1 to
//! B10 are those of the bad inputs that Berth promises to survive.

use berth_core::DecisionRecord;
use berth_core::PodResult::{Error, Scheduled, Unschedulable};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Pod};
use berth_naive::{Cluster, Options};
use serde_json::{Value, json};

fn node(name: &str, allocatable: &Value) -> Node {
    let mut allocatable = allocatable.clone();
    if allocatable.get("pods").is_none() {
        allocatable["pods"] = json!("110");
    }
    read(json!({"metadata": {"name": name}, "status": {"allocatable": allocatable}}))
}

fn labelled(name: &str, labels: &Value) -> Node {
    read(json!({
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }))
}

fn in_zone(name: &str, zone: &str) -> Node {
    labelled(name, &json!({"topology.kubernetes.io/zone": zone}))
}

/// A pod whose spec has `spec` beside one container with `requests`.
fn pod(name: &str, requests: &Value, spec: Value) -> Pod {
    let mut whole = json!({"containers": [{"name": "c", "resources": {"requests": requests}}]});
    let Value::Object(fields) = spec else {
        panic!("{spec} is no spec");
    };
    for (field, value) in fields {
        whole[field] = value;
    }
    read(json!({"metadata": {"name": name, "namespace": "default"}, "spec": whole}))
}

fn asking(requests: &Value) -> Pod {
    pod("p", requests, json!({}))
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("as the API has it")
}

fn cluster(nodes: impl IntoIterator<Item = Node>) -> Cluster {
    let mut cluster = Cluster::default();
    for node in nodes {
        cluster.put_node(node);
    }
    cluster
}

fn decide(cluster: &mut Cluster, pod: &Pod) -> DecisionRecord {
    let config = KubeSchedulerConfiguration::default();
    let profiles = config.profiles().expect("the default profile");
    cluster.decide(pod, &profiles[0], Options::default())
}

fn reasons(record: &DecisionRecord, node: &str) -> Vec<String> {
    let rejected = record.rejected.clone().unwrap_or_default();
    rejected.get(node).cloned().unwrap_or_default()
}

#[test]
fn b1_b2_b4_request_beyond_its_type_fits_nowhere() {
    for (resource, text) in [
        ("memory", "9.3E"),
        ("memory", "1e19"),
        ("memory", "1e30"),
        ("memory", "9223372036854775808"),
        ("memory", "99999999999999999999999999"),
        ("cpu", "1e16"),
        ("cpu", "18446744073709551615"),
        ("cpu", "9223372036854775807"),
        ("example.com/gpu", "9223372036854775808"),
    ] {
        for room in ["1", "1e30"] {
            let mut cluster = cluster([node("n", &json!({resource: room}))]);
            let record = decide(&mut cluster, &asking(&json!({resource: text})));
            assert_eq!(record.result, Unschedulable, "{resource} {text}");
            let refused = [
                "NodeResourcesFit".to_owned(),
                format!("Insufficient {resource}"),
            ];
            assert_eq!(reasons(&record, "n"), refused, "{text}");
            assert_eq!(record.unresolvable, ["n"], "{text}");
        }
    }
}

#[test]
fn b3_sums_over_containers_saturate() {
    let containers = |texts: &[&str]| -> Value {
        let one = |text| json!({"name": "c", "resources": {"requests": {"memory": text}}});
        texts.iter().map(one).collect()
    };
    let four = ["4611686018427387904"; 4];
    for spec in [
        json!({"containers": containers(&four)}),
        json!({"containers": containers(&["5E", "5E"])}),
        json!({"containers": containers(&["1Gi"]), "overhead": {"memory": "9223372036854775807"}}),
    ] {
        let mut cluster = cluster([node("n", &json!({"memory": "8Ei"}))]);
        let record = decide(&mut cluster, &pod("p", &json!({}), spec));
        assert_eq!(reasons(&record, "n")[1], "Insufficient memory");
    }
}

#[test]
fn b5_node_with_more_than_its_type_holds_is_full() {
    let mut cluster = cluster([node("n", &json!({"memory": "8Ei"}))]);
    for name in ["a", "b"] {
        let there = pod(name, &json!({"memory": "9E"}), json!({"nodeName": "n"}));
        cluster.add_pod(there);
    }
    let record = decide(&mut cluster, &asking(&json!({"memory": "1Gi"})));
    assert_eq!(reasons(&record, "n")[1], "Insufficient memory");
    assert!(record.unresolvable.is_empty());
}

#[test]
fn b6_smallest_amounts_round_up_to_one() {
    for text in ["1e-50", "0.0000000001", "1e-9"] {
        let wanted = json!({"memory": text});
        let mut none = cluster([node("n", &json!({"memory": "0"}))]);
        assert_eq!(decide(&mut none, &asking(&wanted)).result, Unschedulable);
        let mut one = cluster([node("n", &json!({"memory": "1"}))]);
        assert_eq!(decide(&mut one, &asking(&wanted)).result, Scheduled);
    }
}

#[test]
fn b8_negative_room_counts_as_none() {
    let mut memory = cluster([node("n", &json!({"memory": "-1Gi"}))]);
    let record = decide(&mut memory, &asking(&json!({"memory": "1"})));
    assert_eq!(reasons(&record, "n")[1], "Insufficient memory");
    let mut pods = cluster([node("n", &json!({"pods": "-5"}))]);
    let record = decide(&mut pods, &asking(&json!({})));
    assert_eq!(reasons(&record, "n")[1], "Too many pods");
}

#[test]
fn b9_b10_scores_of_the_largest_nodes_stay_in_range() {
    for memory in ["92233720368547759", "9e18", "1e30"] {
        let room = json!({"memory": memory, "cpu": "4"});
        let mut cluster = cluster([node("m", &room), node("n", &room)]);
        cluster.add_pod(pod(
            "q",
            &json!({"memory": "1Gi"}),
            json!({"nodeName": "n"}),
        ));
        let record = decide(&mut cluster, &asking(&json!({"memory": "1Gi", "cpu": "1"})));
        assert_eq!(record.result, Scheduled, "{:?}", record.error);
        for score in record.scores.unwrap_or_default() {
            // cpu (100 - 27.5) and memory (100 - 0), rounded down one by one, then their mean.
            assert!((85..=87).contains(&score.plugins["NodeResourcesFit"]));
        }
    }
}

#[test]
fn host_port_that_two_pods_hold_is_free_when_both_are_gone() {
    let with_port = |name: &str, node: &str| {
        let ports = json!([{"containerPort": 80, "hostPort": 80}]);
        let spec = json!({"nodeName": node, "containers": [{"name": "c", "ports": ports}]});
        pod(name, &json!({}), spec)
    };
    let mut cluster = cluster([node("n", &json!({}))]);
    cluster.add_pod(with_port("a", "n"));
    cluster.add_pod(with_port("b", "n"));
    let newcomer = with_port("p", "");
    cluster.remove_pod("default", "a");
    assert_eq!(
        reasons(&decide(&mut cluster, &newcomer), "n")[0],
        "NodePorts"
    );
    cluster.remove_pod("default", "b");
    assert_eq!(decide(&mut cluster, &newcomer).result, Scheduled);
}

/// Equal nodes, so the first in search order is taken.
#[test]
fn node_that_changes_its_zone_moves_when_the_next_node_comes_or_goes() {
    let mut cluster = cluster([in_zone("a", "x"), in_zone("b", "x"), in_zone("c", "y")]);
    let chosen = |cluster: &mut Cluster| decide(cluster, &asking(&json!({}))).node.unwrap();
    assert_eq!(chosen(&mut cluster), "a");
    // Zone y has c, then a; zone x has b alone.
    cluster.put_node(in_zone("a", "y"));
    assert_eq!(chosen(&mut cluster), "a");
    cluster.put_node(in_zone("d", "y"));
    assert_eq!(chosen(&mut cluster), "b");
    // Zone x is empty for a moment and comes back as the last one.
    cluster.remove_node("b");
    cluster.put_node(in_zone("b", "x"));
    cluster.put_node(in_zone("e", "x"));
    assert_eq!(chosen(&mut cluster), "c");
}

#[test]
fn node_that_goes_and_comes_between_two_attempts_keeps_its_place_and_its_pods() {
    let mut cluster = cluster([in_zone("a", "x"), in_zone("b", "x")]);
    let big = pod("big", &json!({"cpu": "4"}), json!({"nodeName": "b"}));
    cluster.add_pod(big);
    assert_eq!(decide(&mut cluster, &asking(&json!({}))).node.unwrap(), "a");
    cluster.remove_node("a");
    cluster.put_node(in_zone("a", "x"));
    let tiny = asking(&json!({"cpu": "1m"}));
    assert_eq!(decide(&mut cluster, &tiny).node.unwrap(), "a");
    cluster.remove_node("b");
    cluster.put_node(in_zone("b", "x"));
    assert_eq!(
        reasons(&decide(&mut cluster, &tiny), "b")[1],
        "Insufficient cpu"
    );
}

#[test]
fn node_counts_an_image_as_of_its_own_last_change() {
    let with_image = |name: &str| -> Node {
        read(json!({
            "metadata": {"name": name},
            "status": {
                "allocatable": {"cpu": "4", "pods": "110"},
                "images": [{"names": ["web:1"], "sizeBytes": 524_288_000}],
            },
        }))
    };
    let wants = pod(
        "p",
        &json!({}),
        json!({"containers": [{"name": "c", "image": "web:1"}]}),
    );
    let score = |cluster: &mut Cluster, name: &str| {
        let scores = decide(cluster, &wants).scores.unwrap_or_default();
        let score = scores.iter().find(|score| score.node == name).unwrap();
        score.plugins["ImageLocality"]
    };
    let mut cluster = cluster([with_image("a"), node("b", &json!({}))]);
    // 500 MiB on one of two nodes.
    assert_eq!(score(&mut cluster, "a"), 100 * (250 - 23) / (1000 - 23));
    cluster.put_node(with_image("b"));
    assert_eq!(score(&mut cluster, "b"), 100 * (500 - 23) / (1000 - 23));
    assert_eq!(score(&mut cluster, "a"), 100 * (250 - 23) / (1000 - 23));
    cluster.add_pod(pod("q", &json!({}), json!({"nodeName": "a"})));
    assert_eq!(score(&mut cluster, "a"), 100 * (500 - 23) / (1000 - 23));
}

fn node_affinity(kind: &str, terms: &Value) -> Value {
    let key = format!("{kind}DuringSchedulingIgnoredDuringExecution");
    json!({"affinity": {"nodeAffinity": {key: terms}}})
}

fn named(names: &[&str]) -> Value {
    let fields: Value = names
        .iter()
        .map(|name| json!({"key": "metadata.name", "operator": "In", "values": [name]}))
        .collect();
    json!({"matchFields": fields})
}

#[test]
fn pre_filters_that_leave_no_node_say_so() {
    let mut cluster = cluster([node("a", &json!({})), node("b", &json!({}))]);
    let required = |terms: Value| node_affinity("required", &json!({"nodeSelectorTerms": terms}));
    let mut elsewhere = required(json!([named(&["b"])]));
    elsewhere["nodeName"] = json!("a");
    for (spec, message) in [
        (
            required(json!([named(&["a", "b"])])),
            "0/2 nodes are available: pod affinity terms conflict.",
        ),
        (
            elsewhere,
            "0/2 nodes are available: node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] \
             simultaneously.",
        ),
        (
            required(json!([named(&["z"])])),
            "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
        ),
    ] {
        let record = decide(&mut cluster, &pod("p", &json!({}), spec));
        assert_eq!(record.message.as_deref(), Some(message));
    }
}

#[test]
fn term_that_is_not_valid_spoils_itself_if_required_and_the_attempt_if_preferred() {
    let mut cluster = cluster([
        labelled("a", &json!({"disk": "ssd"})),
        labelled("b", &json!({})),
    ]);
    let expression =
        |operator: &str| json!({"matchExpressions": [{"key": "disk", "operator": operator}]});
    let terms = json!({"nodeSelectorTerms": [expression("Near"), expression("Exists")]});
    let required = pod("p", &json!({}), node_affinity("required", &terms));
    assert_eq!(decide(&mut cluster, &required).node.unwrap(), "a");
    let preferred = json!([{"weight": 1, "preference": expression("Near")}]);
    let preferred = pod("p", &json!({}), node_affinity("preferred", &preferred));
    assert_eq!(decide(&mut cluster, &preferred).result, Error);
}

#[test]
fn cluster_without_nodes_fails_the_attempt() {
    let record = decide(&mut Cluster::default(), &asking(&json!({})));
    let error = "no nodes available to schedule pods";
    assert_eq!(
        (record.result, record.error.as_deref()),
        (Error, Some(error))
    );
}
