//! Preemption that is interrupted at each of its calls, and processes that end at each.

use super::{ALONE, Daemon, bindings, bound, node, pod, start};
use berth_api_server::{Fault, Refusal, Server};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Calls that write, and how often at most each is made until the preemptor is bound.
const CALLS: [(&str, &str, u64); 4] = [
    ("patch", "pods/status", 4),
    ("delete", "pods", 2),
    ("create", "pods/binding", 1),
    ("create", "events", 3),
];

/// A node with two pods, in place of which a third is to run.
async fn crowded() -> Server {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    for name in ["one", "two"] {
        let mut low = pod(name, "500m");
        low["spec"]["priority"] = json!(0);
        low["spec"]["nodeName"] = json!("n1");
        low["status"]["phase"] = json!("Running");
        server.put("pods", low);
    }
    server
}

fn put_preemptor(server: &Server) {
    let mut high = pod("high", "1");
    high["spec"]["priority"] = json!(10);
    server.put("pods", high);
}

/// The kubelet's part: what is being deleted goes.
fn end_deleted(server: &Server) {
    for pod in server.all("pods") {
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            server.remove("pods", "default", name);
        }
    }
}

/// Waits until the preemptor runs; its victims go meanwhile.
async fn preempted(server: &Server, what: &str) {
    server
        .until(&format!("{what}: the preemptor is bound"), |server| {
            end_deleted(server);
            let high = server.get("pods", "default", "high")?;
            (high["spec"]["nodeName"] == "n1").then_some(())
        })
        .await;
    for name in ["one", "two"] {
        assert_eq!(server.get("pods", "default", name), None, "{what}: {name}");
    }
}

/// The request with this number among its like ends so.
fn order(server: &Server, (verb, resource): (&str, &str), number: u64, fault: Fault) {
    server.order(verb, resource, number - 1, Fault::Pass);
    server.order(verb, resource, 1, fault);
}

/// How often a pod was deleted with effect.
fn deletions(server: &Server, name: &str) -> usize {
    let calls = server.calls();
    let own = calls
        .iter()
        .filter(|call| (&*call.verb, &*call.resource) == ("delete", "pods"));
    own.filter(|call| call.name == name && call.code == 200)
        .count()
}

/// F33
#[tokio::test(flavor = "multi_thread")]
async fn preemption_that_is_interrupted_at_any_call_comes_to_its_end() {
    let mut runs = JoinSet::new();
    for (verb, resource, count) in CALLS {
        for number in 1..=count {
            for fault in [
                Fault::Refuse(Refusal::new(500, "InternalError", "busy")),
                Fault::Refuse(Refusal::new(403, "Forbidden", "not now")),
                Fault::Cut,
                Fault::LoseAnswer,
            ] {
                runs.spawn(async move {
                    let what = format!("{verb} {resource} {number} {fault:?}");
                    let server = crowded().await;
                    order(&server, (verb, resource), number, fault);
                    let _daemon = start(&server, ALONE);
                    put_preemptor(&server);
                    preempted(&server, &what).await;
                    for name in ["one", "two"] {
                        assert!(deletions(&server, name) <= 1, "{what}: {name}");
                    }
                    assert!(bindings(&server, "high") <= 2, "{what}");
                    server.count(verb, resource) as u64 >= number
                });
            }
        }
    }
    let came = runs.join_all().await;
    // Not each is made every time; but each kind was interrupted in each way.
    let least = CALLS.len() * 4;
    assert!(came.iter().filter(|came| **came).count() >= least);
}

/// F23, F24, F33: the process ends when a write has left, and has had its effect or not.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ends_at_any_write_leaves_nothing_half_done() {
    let mut runs = JoinSet::new();
    for (verb, resource, count) in CALLS {
        for number in 1..=count {
            for fault in [Fault::Hold, Fault::HoldAnswer] {
                runs.spawn(async move {
                    let what = format!("{verb} {resource} {number} {fault:?}");
                    let server = crowded().await;
                    order(&server, (verb, resource), number, fault);
                    let first = start(&server, ALONE);
                    put_preemptor(&server);
                    // Until it waits for that answer, or has no need of one.
                    server
                        .until(&what, |server| {
                            end_deleted(server);
                            let is_held = server.count(verb, resource) as u64 >= number;
                            let high = server.get("pods", "default", "high")?;
                            (is_held || high["spec"]["nodeName"] == "n1").then_some(())
                        })
                        .await;
                    // Dropped is killed.
                    drop::<Daemon>(first);
                    server.lift_all();
                    let _second = start(&server, ALONE);
                    preempted(&server, &what).await;
                    for name in ["one", "two"] {
                        assert!(deletions(&server, name) <= 1, "{what}: {name}");
                    }
                    let calls = server.calls();
                    let done = calls.iter().filter(|call| {
                        (&*call.resource, &*call.name) == ("pods/binding", "high")
                            && call.code == 201
                    });
                    assert!(done.count() <= 1, "{what}: bound twice");
                });
            }
        }
    }
    runs.join_all().await;
}

/// F24: a binding is under way when the lease runs out; the next leader finds it done or not done.
#[tokio::test(flavor = "multi_thread")]
async fn a_lead_that_is_lost_in_mid_bind_leaves_the_pod_to_the_next() {
    let flags = [
        "--leader-elect-lease-duration=2s",
        "--leader-elect-renew-deadline=1500ms",
        "--leader-elect-retry-period=200ms",
    ];
    for fault in [Fault::Hold, Fault::HoldAnswer] {
        let server = Server::start().await;
        server.put("nodes", node("n1", "1"));
        let mut first = start(&server, &flags);
        let held = server.order("create", "pods/binding", 1, fault.clone());
        server.put("pods", pod("one", "1"));
        server
            .until("it is being bound", |server| {
                (bindings(server, "one") > 0).then_some(())
            })
            .await;
        let leases = server.order("*", "leases", u64::MAX, Fault::Hold);
        let ended = tokio::task::spawn_blocking(move || {
            let status = first.child.wait().expect("it ends");
            (status, first.log())
        });
        let (status, log) = ended.await.expect("it is waited for");
        assert_eq!(status.code(), Some(1), "{log}");
        let writes = |server: &Server| {
            let calls = server.calls();
            let is_write = |verb: &str| !["list", "watch", "get"].contains(&verb);
            let calls = calls.iter().filter(|call| call.resource != "leases");
            calls.filter(|call| is_write(&call.verb)).count()
        };
        assert_eq!(writes(&server), 1, "the binding, and nothing after it");
        server.lift(leases);
        server.lift(held);
        let _second = start(&server, &flags);
        assert_eq!(bound(&server, "one").await, "n1");
        // Nobody else has its room.
        server.put("pods", pod("two", "1"));
        let told = server.until("the second is told", |server| {
            let pod = server.get("pods", "default", "two")?;
            let message: &Value = &pod["status"]["conditions"][0]["message"];
            message.as_str().map(str::to_owned)
        });
        assert!(told.await.contains("Insufficient cpu"));
        let effects = usize::from(fault == Fault::Hold) + 1;
        assert_eq!(bindings(&server, "one"), effects, "{fault:?}");
    }
}
