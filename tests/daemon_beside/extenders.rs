//! Extenders beside kube-scheduler: one script answers both, and both ask it the same.
//!
//! Equal totals are not scripted, since upstream takes any of them, and neither are nodes that come back
//! as objects to be scored; see DIFFERENCES.md.

use super::told::{Told, is_settled, what_became};
use super::{FOLDER, counts};
use berth_control_plane::api::{Api, NODES, pods};
use berth_control_plane::control_plane::{ControlPlane, Scheduler};
use berth_control_plane::load::{NAMESPACE, end_deleted};
use berth_control_plane::wait::until;
use berth_test_support::command::berth;
use berth_test_support::extender::{Extender, Reply};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tokio::runtime::Handle;

const NODES_COUNT: usize = 8;

/// Pods that fail, and would be asked about again and again.
const FAILING: [&str; 3] = ["nowhere", "broken", "silent"];

fn names(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    list.iter().map(text).collect()
}

/// The nodes that a request names, in its order.
fn asked(body: &Value) -> Vec<String> {
    let items = body["Nodes"]["items"].as_array();
    let of_items = items.into_iter().flatten();
    let name = |node: &Value| {
        node["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned()
    };
    match &body["NodeNames"] {
        Value::Null => of_items.map(name).collect(),
        list => names(list),
    }
}

fn number(node: &str) -> usize {
    let digits = node.trim_start_matches("node-");
    digits.parse().expect("nodes are numbered")
}

fn pod_name(body: &Value) -> String {
    let name = &body["Pod"]["metadata"]["name"];
    let name = name.as_str().or(body["PodName"].as_str());
    name.expect("each request is about a pod").to_owned()
}

fn filter(body: &Value) -> Reply {
    let nodes = asked(body);
    let failed = |why: &str, which: &dyn Fn(usize) -> bool| {
        let own = nodes.iter().filter(|node| which(number(node)));
        let told: Map<String, Value> = own.map(|node| (node.clone(), why.into())).collect();
        Value::Object(told)
    };
    match pod_name(body).split('-').next() {
        Some("nowhere") => Reply::Json(json!({
            "NodeNames": [],
            "FailedNodes": failed("too hot", &|own| own != 3),
            "FailedAndUnresolvableNodes": failed("too far", &|own| own == 3),
        })),
        Some("broken") => Reply::Json(json!({"Error": "out of order"})),
        Some("silent") => Reply::Bytes(500, Vec::new()),
        Some("picky") => {
            let kept = nodes.iter().filter(|node| number(node).is_multiple_of(2));
            let kept: Vec<_> = kept.collect();
            Reply::Json(json!({
                "NodeNames": kept,
                "FailedNodes": failed("too hot", &|own| !own.is_multiple_of(2)),
            }))
        }
        _ => Reply::Json(json!({"NodeNames": nodes})),
    }
}

/// Each node has a score of its own, another one for each digit of a pod.
fn scores(body: &Value, by: usize) -> Reply {
    let digit = pod_name(body).bytes().last().unwrap_or_default() as usize;
    let score = |node: &String| {
        let score = (number(node) * by + digit) % 11;
        json!({"Host": node, "Score": score})
    };
    Reply::Json(asked(body).iter().map(score).collect())
}

/// Leaves these nodes of the candidates, with all their victims.
fn preempt(body: &Value, left: &[&str]) -> Reply {
    let candidates = body["NodeNameToMetaVictims"].as_object();
    let candidates = candidates.or(body["NodeNameToVictims"].as_object());
    let mut kept = Map::new();
    for (node, victims) in candidates.into_iter().flatten() {
        let victims = victims["Pods"].as_array().into_iter().flatten();
        let uid = |pod: &Value| match &pod["UID"] {
            Value::Null => json!({"UID": pod["metadata"]["uid"]}),
            uid => json!({"UID": uid}),
        };
        if left.contains(&node.as_str()) {
            let victims: Vec<Value> = victims.map(uid).collect();
            kept.insert(node.clone(), json!({"Pods": victims}));
        }
    }
    Reply::Json(json!({"NodeNameToMetaVictims": kept}))
}

/// Names; whole objects; nodes as objects, of which one is left; bindings.
fn script(api: Api) -> Extender {
    let runtime = Handle::current();
    Extender::start(move |verb, body| match verb {
        "names/filter" => filter(body),
        "names/score" => scores(body, 1),
        "names/preempt" => preempt(body, &["node-2", "node-5"]),
        "objects/score" => scores(body, 3),
        "objects/preempt" => preempt(body, &["node-5", "node-6"]),
        "single/filter" => {
            let items = body["Nodes"]["items"].as_array().expect("objects");
            let kept = items
                .iter()
                .find(|node| node["metadata"]["name"] == "node-4");
            Reply::Json(json!({"Nodes": {"items": kept.into_iter().collect::<Vec<_>>()}}))
        }
        "binder/bind" => {
            let text = |field: &str| body[field].as_str().expect("it is there").to_owned();
            let binding = json!({
                "metadata": {"name": text("PodName"), "uid": text("PodUID")},
                "target": {"kind": "Node", "name": text("Node")},
            });
            let path = pods(&text("PodNamespace"));
            let path = format!("{path}/{}/binding", text("PodName"));
            let done = runtime.block_on(api.create(&path, &binding));
            let error = done.err().map(|error| error.to_string());
            Reply::Json(json!({"Error": error.unwrap_or_default()}))
        }
        other => panic!("nobody asks {other}"),
    })
}

fn config(extender: &Extender) -> Value {
    let entry = |name: &str, mut fields: Value| {
        fields["urlPrefix"] = json!(format!("{}/{name}", extender.url()));
        fields
    };
    let manages = |name: &str| json!([{"name": name, "ignoredByScheduler": true}]);
    json!({
        "parallelism": 1,
        "clientConnection": {"qps": 1000, "burst": 1000},
        "leaderElection": {"leaderElect": false},
        "extenders": [
            entry("objects", json!({
                "prioritizeVerb": "score", "preemptVerb": "preempt", "weight": 1, "ignorable": true,
            })),
            entry("names", json!({
                "filterVerb": "filter", "prioritizeVerb": "score", "preemptVerb": "preempt",
                "weight": 200, "nodeCacheCapable": true,
            })),
            entry("single", json!({
                "filterVerb": "filter", "managedResources": manages("example.com/single"),
            })),
            entry("binder", json!({
                "bindVerb": "bind", "managedResources": manages("example.com/bound"),
            })),
        ],
    })
}

fn node(index: usize) -> Value {
    let name = format!("node-{index}");
    let room = json!({"cpu": "4", "memory": "8Gi", "pods": "32"});
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room},
    })
}

fn pod(name: &str, cpu: &str) -> Value {
    let mut requests = json!({"cpu": cpu});
    for resource in ["single", "bound"] {
        if name.starts_with(resource) {
            requests[format!("example.com/{resource}")] = json!("1");
        }
    }
    let class = if name == "high" { "high" } else { "" };
    json!({
        "metadata": {"name": name, "annotations": {"example.com/note": "kept"}},
        "spec": {"priorityClassName": class, "containers": [{
            "name": "one", "image": "example.com/one:1",
            "resources": {"requests": requests, "limits": requests},
        }]},
    })
}

/// Both schedulers' answers.
struct Lived {
    pods: BTreeMap<String, Told>,
    /// By pod, what was asked, in an order of its own; of pods that fail the first question of each verb.
    asked: BTreeMap<String, Vec<String>>,
    metrics: String,
}

/// Without what differs from run to run.
fn normal(value: &Value, url: &str) -> Value {
    const BY_CHANCE: [&str; 9] = [
        "uid",
        "UID",
        "PodUID",
        "resourceVersion",
        "creationTimestamp",
        "lastTransitionTime",
        "lastProbeTime",
        "startTime",
        "time",
    ];
    match value {
        Value::Object(fields) => {
            let own = |(name, value): (&String, &Value)| {
                let by_chance = BY_CHANCE.contains(&&**name) && value.is_string();
                let value = if by_chance {
                    json!("some")
                } else {
                    normal(value, url)
                };
                (name.clone(), value)
            };
            Value::Object(fields.iter().map(own).collect())
        }
        Value::Array(list) => list.iter().map(|own| normal(own, url)).collect(),
        Value::String(text) => text.replace(url, "http://extender").into(),
        other => other.clone(),
    }
}

fn questions(extender: &Extender) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (verb, body) in extender.asked() {
        let pod = pod_name(&body);
        let fails = FAILING.iter().any(|kind| pod.starts_with(kind));
        if seen.insert((pod.clone(), verb.clone())) || !fails {
            let body = normal(&body, extender.url());
            let own = all.entry(pod).or_default();
            own.push(format!("{verb} {body}"));
        }
    }
    // Scores are asked for at the same time.
    for own in all.values_mut() {
        own.sort();
    }
    all
}

async fn lived(start: impl Fn(&ControlPlane, Value) -> Scheduler) -> Option<Lived> {
    let plane = ControlPlane::start(FOLDER).await?;
    let api = plane.admin().await;
    let class = json!({"metadata": {"name": "high"}, "value": 1_000});
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    api.create(classes, &class).await.expect("a class");
    let extender = script(plane.admin().await);
    let mut scheduler = start(&plane, config(&extender));
    let pages = plane.synced(&mut scheduler).await;
    for index in 0..NODES_COUNT {
        api.create(NODES, &node(index)).await.expect("a node");
    }
    let make = async |name: &str, cpu: &str| {
        api.create(&pods(NAMESPACE), &pod(name, cpu))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let path = format!("{}/{name}", pods(NAMESPACE));
        until(&format!("{name} is bound, or told why not"), async || {
            api.get(&path).await.ok().filter(is_settled)
        })
        .await
    };
    for kind in ["plain", "picky", "single", "bound"] {
        for index in 0..3 {
            make(&format!("{kind}-{index}"), "100m").await;
        }
    }
    for kind in FAILING {
        make(kind, "100m").await;
    }
    let became = until("the failing are told", async || {
        let became = what_became(&api).await;
        let is_told = |kind: &&str| !became[*kind].events.is_empty();
        FAILING.iter().all(is_told).then_some(became)
    })
    .await;
    let label = "scheduler_unschedulable_pods{plugin=\"Extender\"";
    until("who waits for extenders is counted", async || {
        let page = pages.text("/metrics").await.expect("it serves");
        page.contains(label).then_some(())
    })
    .await;
    if let Ok(page) = pages.text("/debug/berth/explain?pod=default/nowhere").await {
        assert!(page.contains("extenders are not asked here"), "{page}");
    }
    for kind in FAILING {
        let path = format!("{}/{kind}", pods(NAMESPACE));
        api.delete(&path, &json!({})).await.expect("it goes");
    }
    until("they are gone", async || {
        let became = what_became(&api).await;
        let is_gone = |kind: &&str| !became.contains_key(*kind);
        FAILING.iter().all(is_gone).then_some(())
    })
    .await;
    // Every node is filled, each by a pod that the last one could evict.
    for index in 0..NODES_COUNT {
        make(&format!("low-{index}"), "3").await;
    }
    make("high", "3500m").await;
    let high = format!("{}/high", pods(NAMESPACE));
    until("the high one has its promise", async || {
        let pod = api.get(&high).await.ok()?;
        pod["status"]["nominatedNodeName"].is_string().then_some(())
    })
    .await;
    // No sooner, so that both know what they wrote themselves when they ask again.
    until("its victim ends", async || {
        let ended = end_deleted(&api).await.expect("the API answers");
        (ended > 0).then_some(())
    })
    .await;
    until("the high one is bound", async || {
        let pod = api.get(&high).await.ok()?;
        pod["spec"]["nodeName"].is_string().then_some(())
    })
    .await;
    let mut all = until("every pod has an event", async || {
        let became = what_became(&api).await;
        let is_told = |told: &Told| !told.events.is_empty();
        became.values().all(is_told).then_some(became)
    })
    .await;
    all.extend(
        became
            .into_iter()
            .filter(|(name, _)| FAILING.contains(&&**name)),
    );
    let url = extender.url();
    for told in all.values_mut() {
        for text in told.conditions.iter_mut().flatten() {
            *text = normal(text, url);
        }
        let events = told.events.iter();
        told.events = events
            .map(|own| own.replace(url, "http://extender"))
            .collect();
    }
    let metrics = pages.text("/metrics").await.expect("it serves");
    let asked = questions(&extender);
    scheduler.process.stop();
    Some(Lived {
        pods: all,
        asked,
        metrics,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn extenders_are_asked_what_kube_scheduler_asks_them() {
    let upstream = lived(|plane, config| plane.start_kube_scheduler("kube-scheduler", config));
    let Some(upstream) = upstream.await else {
        return;
    };
    let ours = lived(|plane, config| {
        let mut command = berth();
        command.args(["run", "--berth-fidelity=exact"]);
        plane.start_scheduler("berth", command, config)
    });
    let ours = ours.await.expect("it started before");
    assert_eq!(ours.pods, upstream.pods);
    let verbs: BTreeSet<&str> = upstream
        .asked
        .values()
        .flatten()
        .filter_map(|own| own.split(' ').next())
        .collect();
    assert_eq!(verbs.len(), 7, "{verbs:?}");
    for (pod, questions) in &upstream.asked {
        let own = ours.asked.get(pod).map(Vec::as_slice).unwrap_or_default();
        assert_eq!(own, questions, "{pod}");
    }
    assert_eq!(ours.asked.len(), upstream.asked.len());
    let scheduled = |page: &str| {
        let attempts = counts(page, &["scheduler_schedule_attempts_total"]);
        let own = attempts.into_iter();
        own.filter(|((_, labels), _)| labels.contains("result=\"scheduled\""))
            .map(|(_, value)| value.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(scheduled(&ours.metrics), scheduled(&upstream.metrics));
    let operation = "scheduler_goroutines{operation=\"prioritizing_extender\"} 0";
    for page in [&upstream.metrics, &ours.metrics] {
        assert!(page.contains(operation), "{page}");
    }
}
