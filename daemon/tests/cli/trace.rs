//! `berth simulate --trace`, and what preemption does to an offline run.

use crate::run::{Run, berth, simulate_text};
use serde_json::{Value, json};
use std::fmt::Write;

const NODE: &str = r#"{"op":"add","kind":"Node","objects":[{"metadata":{"name":"n1"},"status":{"allocatable":{"cpu":"2","memory":"4Gi","pods":"10"}}}]}"#;

/// Runs a trace; `steps` are its lines.
fn trace(steps: &[Value], flags: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a folder for the trace");
    let file = folder.path().join("trace.jsonl");
    let mut text = format!("{NODE}\n");
    for step in steps {
        writeln!(text, "{step}").expect("a String takes all");
    }
    std::fs::write(&file, text).expect("the trace is written");
    let file = file.to_str().expect("the path is UTF-8");
    let mut args = vec!["simulate", "--trace", file];
    args.extend(flags);
    let mut run = berth(&args);
    let folder = format!("{}/", folder.path().display());
    run.stderr = run.stderr.replace(&folder, "");
    run
}

fn pod(name: &str, cpu: &str, priority: i32) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"priority": priority, "containers": [
            {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}},
        ]},
    })
}

fn add(pods: &[Value]) -> Value {
    json!({"op": "add", "kind": "Pod", "objects": pods})
}

fn records(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

#[test]
fn pods_run_for_their_time_and_make_room() {
    let mut first = add(&[pod("first", "2", 0)]);
    first["runSeconds"] = json!(90);
    let steps = [
        first,
        json!({"op": "settle"}),
        add(&[pod("second", "2", 0)]),
        json!({"op": "advance", "seconds": 120}),
    ];
    let run = trace(&steps, &["-o", "jsonl", "--attempts"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let attempts = records(&run);
    let of = |pod: &str| -> Vec<&Value> {
        let own = attempts.iter().filter(|attempt| attempt["pod"] == pod);
        own.collect()
    };
    assert_eq!(of("default/first").len(), 1);
    let bound = of("default/first")[0]["ms"].as_u64().expect("ms");
    let tries: Vec<u64> = of("default/second")
        .iter()
        .map(|attempt| attempt["ms"].as_u64().expect("ms"))
        .collect();
    assert_eq!(tries, [bound + 2, bound + 90_000], "{}", run.stdout);
    let summary: Value =
        serde_json::from_str(&trace(&steps, &["-o", "json"]).stdout).expect("json");
    assert_eq!(summary["summary"]["finished"], 1);
    assert_eq!(summary["summary"]["waits"]["max"], 89.998);
}

#[test]
fn a_failed_node_takes_its_pods_and_controllers_make_them_again() {
    let mut owned = pod("owned", "1", 0);
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true}]);
    let other = json!({"op": "add", "kind": "Node", "objects": [{"metadata": {"name": "n2"},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}}}]});
    let steps = [
        add(&[owned, pod("alone", "1", 0)]),
        json!({"op": "settle"}),
        other,
        json!({"op": "fail", "node": "n1"}),
        json!({"op": "settle"}),
    ];
    let run = trace(&steps, &["-o", "csv"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rows: Vec<&str> = run.stdout.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "default/owned,scheduled,n1,",
            "default/alone,scheduled,n1,",
            "default/owned,scheduled,n2,"
        ]
    );
}

#[test]
fn workloads_follow_their_replicas() {
    let deployment = |replicas: u32| {
        json!({"op": "apply", "objects": [{
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "x",
                    "resources": {"requests": {"cpu": "500m"}}}]},
            }},
        }]})
    };
    let mut steps = vec![deployment(3), json!({"op": "settle"})];
    let placed = |steps: &[Value]| {
        let run = trace(steps, &["-o", "json"]);
        let document: Value = serde_json::from_str(&run.stdout).expect("json");
        document["nodes"][0]["pods"].as_u64()
    };
    assert_eq!(placed(&steps), Some(3));
    steps.extend([deployment(6), json!({"op": "settle"})]);
    assert_eq!(placed(&steps), Some(4));
    steps.extend([deployment(2), json!({"op": "settle"})]);
    assert_eq!(placed(&steps), Some(2));
    steps.extend([
        json!({"op": "delete", "kind": "Deployment", "name": "web"}),
        json!({"op": "settle"}),
    ]);
    assert_eq!(placed(&steps), Some(0));
}

#[test]
fn a_daemon_set_follows_the_nodes() {
    let set = json!({"op": "apply", "objects": [{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {
            "metadata": {"labels": {"app": "agent"}},
            "spec": {"containers": [{"name": "c", "image": "x"}]},
        }},
    }]});
    let node = json!({"op": "add", "kind": "Node", "objects": [{"metadata": {"name": "n2"},
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}}}]});
    let settle = json!({"op": "settle"});
    let gone = json!({"op": "delete", "kind": "Node", "name": "n1"});
    let run = trace(
        &[set, settle.clone(), node, settle.clone(), gone, settle],
        &["-o", "csv"],
    );
    let rows: Vec<&str> = run.stdout.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "default/agent-0,scheduled,n1,",
            "default/agent-1,scheduled,n2,"
        ],
        "{}",
        run.stderr
    );
}

#[test]
fn a_simkube_trace_is_replayed() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data");
    let nodes = format!("{data}/nodes/hypershift-13nodes.json");
    for (file, name) in [
        ("dsb-recorded-trace.json", "recorded"),
        ("dsb-scaling.sktrace", "scaling"),
        ("cronjob.sktrace", "cronjob"),
    ] {
        let file = format!("{data}/manifests/simkube-dsb/{file}");
        let run = berth(&["simulate", "-f", &nodes, "--trace", &file]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        insta::assert_snapshot!(format!("trace_{name}"), run.stdout);
    }
}

#[test]
fn what_is_wrong_with_a_trace_is_told_with_its_line() {
    for (step, why) in [
        (json!({"op": "dance"}), "dance"),
        (
            json!({"op": "add", "kind": "Pod", "objects": [], "seconds": 3}),
            "seconds: does not belong",
        ),
        (json!({"op": "advance"}), "seconds: is missing"),
        (
            json!({"op": "advance", "seconds": -1}),
            "seconds: -1 is not between",
        ),
        (json!({"op": "delete", "kind": "Pod"}), "name: is missing"),
        (json!({"op": "fail"}), "node: is missing"),
        (json!({"steps": []}), "op: is missing"),
        (
            add(&[json!({"metadata": {"name": "p"}, "spec": {"priority": "high"}})]),
            "spec.priority",
        ),
        (add(&[pod("Bad_Name", "1", 0)]), "metadata.name"),
        (
            add(&[json!({"kind": "Node", "metadata": {"name": "p"}})]),
            "Node in a step of kind Pod",
        ),
        (
            add(&[pod("p", "1", 0), pod("p", "1", 0)]),
            "is there already",
        ),
    ] {
        let run = trace(std::slice::from_ref(&step), &[]);
        assert_eq!(run.code, 2, "{step}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{step}");
        let place = "error: trace.jsonl:2";
        assert!(
            run.stderr.starts_with(place) && run.stderr.contains(why),
            "{step}: {}",
            run.stderr
        );
    }
    let config = json!({"config": {"profiles": [{"schedulerName": ""}], "parallelism": 0}});
    let run = trace(&[], &["--config", "nowhere.yaml"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let folder = tempfile::tempdir().expect("a folder for the trace");
    let file = folder.path().join("config.jsonl");
    std::fs::write(&file, config.to_string()).expect("the trace is written");
    let run = berth(&["simulate", "--trace", file.to_str().expect("UTF-8")]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("config.parallelism"), "{}", run.stderr);
}

/// A full node, a pod of low priority on it, and one that wants its room.
const CONTEST: &str = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 9}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: low}
  spec: {nodeName: n1, priority: 1, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: high}
  spec: {priority: 9, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}
";

#[test]
fn a_pod_of_higher_priority_evicts() {
    let run = simulate_text("contest.yaml", CONTEST, &["-o", "jsonl"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = &records(&run)[0];
    assert_eq!(record["pod"], "default/high");
    assert_eq!(
        (&record["node"], &record["attempt"]),
        (&json!("n1"), &json!(2))
    );
    assert_eq!(record["victims"], json!(["default/low"]));

    let run = simulate_text("contest.yaml", CONTEST, &["-o", "jsonl", "--attempts"]);
    let first = &records(&run)[0];
    assert_eq!(first["nominatedNode"], "n1");
    assert_eq!(first["reason"], "Unschedulable");
    assert_eq!(first["patches"][0]["nominatedNodeName"], "n1");
    assert_eq!(records(&run).len(), 2);

    let run = simulate_text(
        "contest.yaml",
        CONTEST,
        &["--preemption=false", "-o", "csv"],
    );
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);

    let run = simulate_text(
        "contest.yaml",
        CONTEST,
        &["--recreate-victims", "-o", "csv"],
    );
    assert_eq!(run.code, 1);
    let rows: Vec<&str> = run.stdout.lines().skip(1).collect();
    assert_eq!(rows[0], "default/high,scheduled,n1,");
    assert!(
        rows[1].starts_with("default/low,unschedulable,,"),
        "{rows:?}"
    );

    let table = simulate_text("contest.yaml", CONTEST, &[]).stdout;
    assert!(
        table.starts_with("1 of 1 pods placed on 1 nodes; 0 pending; 1 pods evicted"),
        "{table}"
    );
}
