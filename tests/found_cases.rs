//! Small cases that the property tests found, or that reading for them did.

use berth_core::object::Object;
use berth_core::{AttemptError, Change, Fidelity, NodeSearch, Options, Outcome, Ties};
use berth_test_support::object::object;
use berth_test_support::replay::{Replay, VERDICTS};
use serde_json::{Value, json};

fn node(name: &str) -> Value {
    let amounts = json!({"cpu": "4", "memory": "8Gi", "pods": "10"});
    json!({"metadata": {"name": name}, "status": {"allocatable": amounts}})
}

fn pod(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

fn plain(name: &str) -> Value {
    pod(name, &json!({"containers": [{"name": "c"}]}))
}

fn cluster(config: Option<&Value>, options: Options, nodes: &[Value]) -> Replay {
    let mut replay = Replay::new(config, options, 8, 16);
    for node in nodes {
        replay.add("Node", node);
    }
    replay
}

fn profile(plugins: &Value) -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
    })
}

/// Name of the chosen node.
fn placed(replay: &mut Replay, pod: &Value) -> String {
    let id = replay.add_pod(pod);
    match replay.scheduler.schedule(id).outcome {
        Outcome::Scheduled(node) => replay.scheduler.node(node).name.to_owned(),
        other => panic!("{other:?}: {pod}"),
    }
}

#[test]
fn a_forgotten_pod_names_no_node_any_more() {
    let mut replay = cluster(None, VERDICTS, &[node("a"), node("b")]);
    let id = replay.add_pod(&pod("p", &json!({"nodeName": "b"})));
    replay.scheduler.forget(id);
    assert_eq!(replay.scheduler.node_of(id), None);
    let decision = replay.scheduler.schedule(id);
    let a = replay.scheduler.find_node("a").expect("a");
    assert_eq!(decision.outcome, Outcome::Scheduled(a));
    // It waits for the node that it was placed on, not for the one it once named.
    replay.apply(Change::Deleted, &object("Node", &node("a")));
    replay.add("Node", &node("a"));
    assert_eq!(
        replay.scheduler.node_of(id),
        replay.scheduler.find_node("a")
    );
}

#[test]
fn a_pod_that_names_an_absent_node_is_not_pending() {
    let mut replay = cluster(None, VERDICTS, &[node("a")]);
    let id = replay.add_pod(&pod("p", &json!({"nodeName": "gone"})));
    let outcome = replay.scheduler.schedule(id).outcome;
    assert_eq!(outcome, Outcome::Error(AttemptError::NotPending));
}

#[test]
fn a_filter_without_its_pre_filter_fails_only_where_a_node_gets_to_it() {
    let config = profile(&json!({"preFilter": {"disabled": [{"name": "NodeResourcesFit"}]}}));
    let mut replay = cluster(Some(&config), VERDICTS, &[node("a")]);
    let elsewhere = pod("elsewhere", &json!({"nodeSelector": {"zone": "z"}}));
    let elsewhere = replay.add_pod(&elsewhere);
    let outcome = replay.scheduler.schedule(elsewhere).outcome;
    assert_eq!(outcome, Outcome::Unschedulable);
    let plain = replay.add_pod(&plain("plain"));
    let outcome = replay.scheduler.schedule(plain).outcome;
    assert!(matches!(
        outcome,
        Outcome::Error(AttemptError::MissingState { .. })
    ));
}

#[test]
fn a_pre_score_fails_the_attempt_though_its_plugin_does_not_score() {
    let values = json!([{"key": "zone", "operator": "Exists", "values": ["z"]}]);
    let term = json!([{"weight": 1, "preference": {"matchExpressions": values}}]);
    let affinity = json!({"preferredDuringSchedulingIgnoredDuringExecution": term});
    let spec = json!({"affinity": {"nodeAffinity": affinity}, "containers": [{"name": "c"}]});
    let outcome = |plugins: &Value| {
        let nodes = ["a", "b"].map(node);
        let mut replay = cluster(Some(&profile(plugins)), VERDICTS, &nodes);
        let id = replay.add_pod(&pod("p", &spec));
        replay.scheduler.schedule(id).outcome
    };
    let off = json!({"disabled": [{"name": "NodeAffinity"}]});
    let failed = Outcome::Error(AttemptError::PreferredTerm);
    assert_eq!(outcome(&json!({})), failed);
    assert_eq!(outcome(&json!({"score": &off})), failed);
    assert_eq!(outcome(&json!({"preScore": &off})), failed);
    let neither = outcome(&json!({"score": &off, "preScore": &off}));
    assert!(matches!(neither, Outcome::Scheduled(_)), "{neither:?}");
    // Without any plugin that scores, none prepares either.
    let none = outcome(&json!({"score": {"disabled": [{"name": "*"}]}}));
    assert!(matches!(none, Outcome::Scheduled(_)), "{none:?}");
}

#[test]
fn the_best_search_begins_at_the_rotation_index_among_all_nodes() {
    let best = Options {
        fidelity: Fidelity::Best,
        ..Options::default()
    };
    let mut replay = cluster(None, best, &["a", "b", "c", "d"].map(node));
    assert_eq!(placed(&mut replay, &plain("first")), "a");
    let named = |name: &str| json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]});
    let required = json!({"nodeSelectorTerms": [named("a"), named("c"), named("d")]});
    let affinity =
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    // The index is at b: of a, c and d, c comes next.
    let spec = json!({"affinity": affinity, "containers": [{"name": "c"}]});
    assert_eq!(placed(&mut replay, &pod("second", &spec)), "c");
    assert_eq!(placed(&mut replay, &plain("third")), "d");
}

#[test]
fn the_best_search_goes_on_behind_the_node_that_was_chosen_last_though_others_went() {
    let best = Options {
        fidelity: Fidelity::Best,
        ..Options::default()
    };
    let mut replay = cluster(None, best, &["a", "b", "c", "d", "e"].map(node));
    for (name, on) in [("p1", "a"), ("p2", "b"), ("p3", "c"), ("p4", "d")] {
        assert_eq!(placed(&mut replay, &plain(name)), on);
    }
    for name in ["p1", "p2", "p3", "p4"] {
        replay.remove_pod(&plain(name));
    }
    for name in ["a", "b"] {
        replay.apply(Change::Deleted, &object("Node", &node(name)));
    }
    // The index stands behind d.
    assert_eq!(placed(&mut replay, &plain("next")), "e");
    assert_eq!(placed(&mut replay, &plain("round")), "c");
}

#[test]
fn every_node_scores_1_without_score_plugins() {
    let config = profile(&json!({"score": {"disabled": [{"name": "*"}]}}));
    let mut replay = cluster(Some(&config), VERDICTS, &[node("a"), node("b")]);
    let id = replay.add_pod(&plain("p"));
    let decision = replay.scheduler.schedule(id);
    let scores = replay.answer(&decision).scores.expect("scores");
    assert!(
        scores
            .iter()
            .all(|score| score.total == 1 && score.plugins.is_empty())
    );
}

#[test]
fn a_pod_that_is_not_tried_leaves_the_search_order_as_it_is() {
    let exact = Options {
        ties: Some(Ties::First),
        ..Options::default()
    };
    let mut replay = cluster(None, exact, &["a", "b"].map(node));
    assert_eq!(placed(&mut replay, &plain("first")), "a");
    replay.scheduler.forget(
        replay
            .scheduler
            .find_pod("default", "first")
            .expect("the pod"),
    );
    // A node that goes and comes between two attempts keeps its place; a gated pod is no attempt.
    replay.apply(Change::Deleted, &object("Node", &node("a")));
    let gated = pod("gated", &json!({"schedulingGates": [{"name": "wait"}]}));
    let gated = replay.add_pod(&gated);
    assert_eq!(replay.scheduler.schedule(gated).outcome, Outcome::Gated);
    replay.add("Node", &node("a"));
    assert_eq!(placed(&mut replay, &plain("second")), "a");
}

#[test]
fn image_sizes_beyond_64_bits_together_saturate() {
    let images = json!([
        {"names": ["x:1"], "sizeBytes": i64::MAX},
        {"names": ["y:1"], "sizeBytes": i64::MAX},
    ]);
    let mut rich = node("rich");
    rich["status"]["images"] = images;
    let mut replay = cluster(None, VERDICTS, &[node("a"), rich]);
    let containers = json!([{"name": "x", "image": "x:1"}, {"name": "y", "image": "y:1"}]);
    assert_eq!(
        placed(&mut replay, &pod("p", &json!({"containers": containers}))),
        "rich"
    );
}

#[test]
fn the_state_hash_tells_objects_of_every_kind_apart() {
    let all = Options {
        node_search: Some(NodeSearch::All),
        ..Options::default()
    };
    let mut replay = cluster(None, all, &[node("a")]);
    let mut seen = vec![replay.scheduler.state_hash()];
    let labelled = json!({"metadata": {"name": "x", "namespace": "default", "labels": {"a": "b"}},
        "spec": {"selector": {"matchLabels": {"a": "b"}}}});
    let service = json!({"metadata": labelled["metadata"], "spec": {"selector": {"a": "b"}}});
    for (kind, json) in [
        ("Namespace", &labelled),
        ("Service", &service),
        ("ReplicaSet", &labelled),
        ("StatefulSet", &labelled),
    ] {
        replay.add(kind, json);
        seen.push(replay.scheduler.state_hash());
    }
    let mut imaged = node("a");
    imaged["status"]["images"] = json!([{"names": ["x:1"], "sizeBytes": 1}]);
    replay.apply(Change::Modified, &object("Node", &imaged));
    seen.push(replay.scheduler.state_hash());
    replay.add_pod(&plain("p"));
    seen.push(replay.scheduler.state_hash());
    for node in ["gone", "away"] {
        let waiting: Object = object("Pod", &pod("p", &json!({"nodeName": node})));
        replay.apply(Change::Modified, &waiting);
        seen.push(replay.scheduler.state_hash());
    }
    let distinct: std::collections::BTreeSet<u64> = seen.iter().copied().collect();
    assert_eq!(distinct.len(), seen.len(), "{seen:?}");
}

/// Found by the simulation. The scores kept for batching held the last reference to a class, and
/// giving them up moved another class' place among the live ones in the middle of its attempt.
#[test]
fn scores_kept_for_a_pod_that_is_gone_do_not_disturb_the_next_one() {
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [{
            "name": "PodTopologySpread", "args": {"defaultingType": "List"},
        }]}],
    });
    let nodes = ["a", "b", "c"].map(|name| {
        let mut node = node(name);
        node["metadata"]["labels"] = json!({"kubernetes.io/hostname": name});
        node
    });
    let mut replay = cluster(Some(&config), Options::default(), &nodes);
    // Its wish for company gives the others scores.
    let near = json!({"nodeName": "b", "affinity": {"podAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname", "labelSelector": {},
        }}],
    }}});
    replay.add_pod(&pod("there", &near));
    let first = replay.add_pod(&plain("first"));
    replay.scheduler.evaluate(first);
    let second = json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]});
    let second = replay.add_pod(&pod("second", &second));
    replay.scheduler.evaluate(second);
    let turn = |replay: &mut Replay, now| {
        let decision = replay.scheduler.schedule_one(now).expect("a pod");
        assert!(matches!(decision.outcome, Outcome::Scheduled(_)));
        decision.pod
    };
    assert_eq!(turn(&mut replay, 1), first);
    replay.apply(Change::Deleted, &object("Pod", &plain("first")));
    assert_eq!(turn(&mut replay, 2), second);
}

#[test]
fn a_node_without_the_label_counts_for_the_zone_of_the_empty_value_also_where_it_takes_no_pod() {
    let labelled = |name: &str, zone: Option<&str>| {
        let mut node = node(name);
        node["metadata"]["labels"] = json!({"kubernetes.io/hostname": name});
        if let Some(zone) = zone {
            node["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!(zone);
        }
        node
    };
    let spread = |name: &str| {
        let container = json!({"name": "c", "resources": {"requests": {"cpu": "3"}}});
        let mut pod = pod(name, &json!({"containers": [container]}));
        pod["metadata"]["labels"] = json!({"app": "a"});
        pod
    };
    let nodes = [
        labelled("full", None),
        labelled("m", Some("")),
        labelled("n", Some("a")),
    ];
    let mut replay = cluster(None, VERDICTS, &nodes);
    let metadata = json!({"name": "s", "namespace": "default"});
    let service = json!({"metadata": metadata, "spec": {"selector": {"app": "a"}}});
    replay.add("Service", &service);
    let mut there = spread("there");
    there["spec"]["nodeName"] = json!("full");
    replay.add_pod(&there);
    // Of equal nodes the first name would be taken.
    assert_eq!(placed(&mut replay, &spread("new")), "n");
}
