//! `berth run` against a server that does what the test says: every fault of
//! [`berth_api_server::Fault`], and what must hold all the same.

#[path = "daemon_faults/clock.rs"]
mod clock;
#[path = "daemon_faults/credentials.rs"]
mod credentials;
mod daemon_process;
#[path = "daemon_faults/interrupted.rs"]
mod interrupted;
#[path = "daemon_faults/objects.rs"]
mod objects;
#[path = "daemon_faults/pressure.rs"]
mod pressure;
#[path = "daemon_faults/process.rs"]
mod process;

use berth_api_server::{Call, Fault, Refusal, Server};
use daemon_process::{Daemon, bindings, bound, folder, node_of, pod};
use serde_json::{Value, json};

/// The daemon with these flags.
fn start(server: &Server, flags: &[&str]) -> Daemon {
    let (folder, kubeconfig) = folder(server);
    let mut arguments = vec![format!("--kubeconfig={kubeconfig}")];
    let own = ["--kube-api-qps=1000", "--kube-api-burst=1000"];
    arguments.extend(own.iter().chain(flags).map(ToString::to_string));
    Daemon::run(folder, &arguments)
}

impl Daemon {
    /// Waits until this is in the log.
    async fn says(&self, text: &str) {
        for _ in 0..1800 {
            if self.log().contains(text) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("it never says {text:?}");
    }
}

const ALONE: &[&str] = &["--leader-elect=false"];

fn node(name: &str, cpu: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    })
}

/// How often all objects of a resource were asked for; a single one tells the server's version.
fn lists(server: &Server, resource: &str) -> usize {
    let calls = server.calls();
    let calls = calls.iter().filter(|call| call.resource == resource);
    let is_list = |query: &str| query.contains("sendInitialEvents") || query.contains("limit=500");
    calls.filter(|call| is_list(&call.query)).count()
}

/// The model is that of the server: what only a new node can take goes there.
async fn is_right(server: &Server, number: u32) {
    let name = format!("big-{number}");
    let cpu = 100 * (number + 1);
    server.put("nodes", node(&name, &cpu.to_string()));
    server.put("pods", pod(&name, &(cpu - 40).to_string()));
    assert_eq!(bound(server, &name).await, name);
    server.remove("pods", "default", &name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_whose_answer_is_lost_keeps_its_room() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let _daemon = start(&server, ALONE);
    server.order("create", "pods/binding", 1, Fault::LoseAnswer);
    server.put("pods", pod("one", "1"));
    assert_eq!(bound(&server, "one").await, "n1");
    // The second must not have the first one's room, nor the first be bound anew.
    server.put("pods", pod("two", "1"));
    server
        .until("the second is told", |server| {
            let pod = server.get("pods", "default", "two")?;
            let message = pod["status"]["conditions"][0]["message"].as_str()?;
            message.contains("Insufficient cpu").then_some(())
        })
        .await;
    assert_eq!(bindings(&server, "one"), 1);
    assert_eq!(bindings(&server, "two"), 0);
    server
        .until("the first is told", |server| {
            let events = server.all("events");
            let mut events = events.iter();
            events
                .find(|event| event["reason"] == "Scheduled")
                .map(|_| ())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_that_fails_is_tried_again() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let _daemon = start(&server, ALONE);
    for (number, fault) in [
        Fault::Cut,
        Fault::Refuse(Refusal::too_many_requests(1)),
        Fault::Answer {
            code: 500,
            content_type: "text/html".to_owned(),
            body: "<html>".to_owned(),
        },
        Fault::Answer {
            code: 403,
            content_type: "application/json".to_owned(),
            body: "{}".to_owned(),
        },
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("p{number}");
        server.order("create", "pods/binding", 1, fault);
        server.put("pods", pod(&name, "100m"));
        assert_eq!(bound(&server, &name).await, "n1");
        assert_eq!(bindings(&server, &name), 2, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_s_word_wins_over_a_foreign_binder() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let _daemon = start(&server, ALONE);
    let held = server.order("create", "pods/binding", 1, Fault::Hold);
    server.put("pods", pod("one", "1"));
    server
        .until("it is being bound", |server| {
            (bindings(server, "one") > 0).then_some(())
        })
        .await;
    // Another one puts it elsewhere meanwhile.
    server.put("nodes", node("n2", "1"));
    let mut foreign = server.get("pods", "default", "one").expect("it is there");
    foreign["spec"]["nodeName"] = "n2".into();
    server.put("pods", foreign);
    server.lift(held);
    // Its room on n1 is free again.
    server.put("pods", pod("two", "1"));
    assert_eq!(bound(&server, "two").await, "n1");
    assert_eq!(node_of(&server, "one").as_deref(), Some("n2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_that_end_break_or_lie_are_healed() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let _daemon = start(&server, ALONE);
    is_right(&server, 0).await;
    // Closed in good order: nothing is listed anew.
    let before = lists(&server, "pods");
    for kind in ["pods", "nodes"] {
        server.end_watches(kind);
    }
    is_right(&server, 1).await;
    assert_eq!(lists(&server, "pods"), before);
    // Too old, with changes in between that were never told.
    server.lose_changes(true);
    server.put("nodes", node("n2", "1000"));
    server.remove("nodes", "", "n1");
    server.lose_changes(false);
    server.forget_history();
    for kind in ["pods", "nodes"] {
        server.end_watches(kind);
    }
    server.put("pods", pod("wide", "900"));
    assert_eq!(bound(&server, "wide").await, "n2");
    server.remove("pods", "default", "wide");
    is_right(&server, 20).await;
    // Nonsense, and events that were there before.
    let known = server.get("nodes", "", "n2").expect("it is there");
    for line in [
        &b"{\"type\":\"ADDED\",\"obj\n"[..],
        b"[]\n",
        b"{\"type\":\"WHAT\",\"object\":{}}\n",
        b"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{}}}\n",
        b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n",
    ] {
        server.say("nodes", line);
    }
    server.say_event("nodes", "DELETED", &known);
    is_right(&server, 30).await;
    let mut pinned = pod("pinned", "1");
    pinned["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "n2"});
    server.put("pods", pinned);
    let node = bound(&server, "pinned").await;
    assert_eq!(node, "n2", "an old event means nothing");
}

/// Nobody is told of what happens in here.
fn unheard(server: &Server, what: impl FnOnce()) {
    server.lose_changes(true);
    what();
    server.lose_changes(false);
}

/// Watches of a kind are told that their version is too old; what is asked next is a list.
fn relist(server: &Server, resource: &str) {
    let object = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
    server.say_event(resource, "ERROR", &object);
}

/// The server streams no lists of a kind to the next who asks.
fn without_streams(server: &Server, resource: &str) {
    let refusal = Refusal::new(422, "Invalid", "sendInitialEvents: Forbidden");
    server.order("watch", resource, 1, Fault::Refuse(refusal));
}

/// B111
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_creation_nobody_told_is_found_by_the_next_list() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let daemon = start(&server, ALONE);
    daemon.says("Caches are synced").await;
    unheard(&server, || {
        server.put("pods", pod("one", "1"));
    });
    // That this one is bound says that the other would have been.
    server.put("pods", pod("two", "1"));
    bound(&server, "two").await;
    assert_eq!(node_of(&server, "one"), None);
    relist(&server, "pods");
    assert_eq!(bound(&server, "one").await, "n1");
}

/// B118
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_goes_while_it_is_bound_leaves_nothing_behind() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    without_streams(&server, "pods");
    let daemon = start(&server, ALONE);
    daemon.says("Caches are synced").await;
    let held = server.order("create", "pods/binding", 1, Fault::HoldAnswer);
    server.put("pods", pod("one", "1"));
    let before = server.version();
    server.lose_changes(true);
    bound(&server, "one").await;
    server.lose_changes(false);
    // The list is older than the binding, and the pod is gone before anyone tells of it.
    server.order("list", "pods", 1, Fault::Stale(before));
    let listed = server.count("list", "pods");
    relist(&server, "pods");
    server
        .until("pods are listed", |server| {
            (server.count("list", "pods") > listed).then_some(())
        })
        .await;
    server.remove("pods", "default", "one");
    server.put("pods", pod("two", "1"));
    server.lift(held);
    assert_eq!(bound(&server, "two").await, "n1");
    assert_eq!(bindings(&server, "one"), 1);
}

/// B121
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_end_nobody_told_is_gone_with_the_next_list() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let before = server.version();
    unheard(&server, || server.remove("nodes", "", "n1"));
    // What it is asked at first, whether there are nodes and for a list of them, a server that lags
    // answers.
    without_streams(&server, "nodes");
    server.order("list", "nodes", 2, Fault::Stale(before));
    let daemon = start(&server, ALONE);
    daemon.says("Caches are synced").await;
    server.put("pods", pod("one", "1"));
    assert_eq!(bound(&server, "one").await, "n1");
    relist(&server, "nodes");
    // The other node is on the list alone, and nobody else takes this pod.
    server.put("nodes", node("n2", "8"));
    server.put("pods", pod("two", "8"));
    assert_eq!(bound(&server, "two").await, "n2");
    server.put("pods", pod("three", "1"));
    server
        .until("the third is told of one node", |server| {
            let pod = server.get("pods", "default", "three")?;
            let message = pod["status"]["conditions"][0]["message"].as_str()?;
            message.starts_with("0/1 nodes").then_some(())
        })
        .await;
}

fn is_patch_of(call: &Call, name: &str) -> bool {
    call.verb == "patch" && call.resource == "pods/status" && call.name == name
}

/// B083
#[tokio::test(flavor = "multi_thread")]
async fn a_victim_is_told_its_own_condition_alone_and_goes_though_that_was_refused_once() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let _daemon = start(&server, ALONE);
    let mut victim = pod("victim", "1");
    victim["spec"]["priority"] = 0.into();
    server.put("pods", victim);
    bound(&server, "victim").await;
    let mut told = server
        .get("pods", "default", "victim")
        .expect("it is there");
    told["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    told["status"]["qosClass"] = "Burstable".into();
    server.put("pods", told);
    let busy = Refusal::new(500, "InternalError", "busy");
    let is_busy = server.order("patch", "pods/status", u64::MAX, Fault::Refuse(busy));
    let mut high = pod("high", "1");
    high["spec"]["priority"] = 10.into();
    high["spec"]["containers"][0]["resources"]["limits"] = json!({"cpu": "1", "memory": "1Gi"});
    high["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi".into();
    server.put("pods", high);
    let codes = |server: &Server| -> Vec<u16> {
        let calls = server.calls();
        let patches = calls.iter().filter(|call| is_patch_of(call, "victim"));
        patches.map(|call| call.code).collect()
    };
    server
        .until("the victim's patch is refused", |server| {
            codes(server).contains(&500).then_some(())
        })
        .await;
    server.lift(is_busy);
    server
        .until("the victim goes", |server| {
            let calls = server.calls();
            let mut deleted = calls.iter().filter(|call| call.verb == "delete");
            deleted.any(|call| call.name == "victim").then_some(())
        })
        .await;
    server.remove("pods", "default", "victim");
    assert_eq!(bound(&server, "high").await, "n1");
    let calls = server.calls();
    for patch in calls.iter().filter(|call| is_patch_of(call, "victim")) {
        let body: Value = serde_json::from_str(&patch.body).expect("it is JSON");
        let conditions = body["status"]["conditions"].as_array().expect("a list");
        let types: Vec<_> = conditions.iter().map(|own| own["type"].clone()).collect();
        assert_eq!(types, ["DisruptionTarget"], "{body}");
        let parts = body["status"].as_object().expect("a status");
        assert!(!parts.contains_key("qosClass"), "{body}");
    }
    assert_eq!(codes(&server).last(), Some(&200));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_and_comes_is_gone_on_with() {
    let mut server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let _daemon = start(&server, ALONE);
    server.put("pods", pod("one", "1"));
    bound(&server, "one").await;
    let saved = server.save();
    // Versions that a restored backup does not come to again soon.
    for _ in 0..1000 {
        server.put("namespaces", json!({"metadata": {"name": "busy"}}));
    }
    server.down().await;
    server.put("pods", pod("two", "1"));
    server.up().await;
    bound(&server, "two").await;
    // etcd is restored: what was is again, under versions that were seen before.
    server.restore(saved);
    assert!(server.get("pods", "default", "two").is_none());
    server.put("pods", pod("three", "3"));
    assert_eq!(bound(&server, "three").await, "n1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_comes_again_under_its_name_is_another_pod() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let _daemon = start(&server, ALONE);
    for _ in 0..5 {
        server.put("pods", pod("one", "1"));
        bound(&server, "one").await;
        server.remove("pods", "default", "one");
    }
    assert_eq!(bindings(&server, "one"), 5);
    // Nobody says that the first is gone.
    server.put("pods", pod("one", "1"));
    bound(&server, "one").await;
    server.lose_changes(true);
    server.remove("pods", "default", "one");
    server.lose_changes(false);
    server.put("pods", pod("one", "1"));
    bound(&server, "one").await;
    assert_eq!(bindings(&server, "one"), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_cannot_renew_stops_with_code_1() {
    let server = Server::start().await;
    let flags = [
        "--leader-elect-lease-duration=2s",
        "--leader-elect-renew-deadline=1500ms",
        "--leader-elect-retry-period=200ms",
    ];
    server.put("nodes", node("n1", "1"));
    let mut daemon = start(&server, &flags);
    server.put("pods", pod("one", "1"));
    bound(&server, "one").await;
    server.order("*", "leases", u64::MAX, Fault::Hold);
    let status = tokio::task::spawn_blocking(move || {
        let status = daemon.child.wait().expect("it ends");
        (status, daemon.log())
    });
    let (status, log) = status.await.expect("it is waited for");
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("Leaderelection lost"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_writes_nothing() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let daemon = start(&server, &["--berth-shadow"]);
    daemon.says("Caches are synced").await;
    server.put("pods", pod("one", "2"));
    let mut foreign = server.get("pods", "default", "one").expect("it is there");
    foreign["spec"]["nodeName"] = "n1".into();
    server.put("pods", foreign);
    daemon.says("infeasible").await;
    daemon.says("Insufficient cpu").await;
    let writes = server.calls();
    let writes = writes
        .iter()
        .filter(|call| !["list", "watch", "get"].contains(&call.verb.as_str()));
    assert_eq!(writes.count(), 0);
}
