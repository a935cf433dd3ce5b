//! Objects that come, go and come again, and tables that are full.

use super::{ALONE, bindings, bound, is_right, node, node_of, pod, relist, start, unheard};
use berth_api_server::{Fault, Server};
use serde_json::json;

async fn told(server: &Server, name: &str, part: &str) {
    server
        .until(&format!("{name} is told {part:?}"), |server| {
            let pod = server.get("pods", "default", name)?;
            let message = pod["status"]["conditions"][0]["message"].as_str()?;
            message.contains(part).then_some(())
        })
        .await;
}

/// F36: what is in stays right, the rest is refused by name, and room freed later is used.
#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_full_hold_what_they_hold() {
    let server = Server::start().await;
    for name in ["n1", "n2"] {
        server.put("nodes", node(name, "1"));
    }
    let flags = [
        ALONE[0],
        "--berth-capacity-nodes=2",
        "--berth-capacity-pods=3",
    ];
    let daemon = start(&server, &flags);
    daemon.says("Caches are synced").await;
    server.put("nodes", node("n3", "8"));
    daemon.says("name=\"/n3\"").await;
    server.put("pods", pod("wide", "8"));
    told(&server, "wide", "0/2 nodes").await;
    for name in ["one", "two"] {
        server.put("pods", pod(name, "1"));
        bound(&server, name).await;
    }
    // The table of pods is full too.
    server.put("pods", pod("over", "1"));
    daemon.says("name=\"default/over\"").await;
    assert_eq!(node_of(&server, "over"), None);
    server.remove("nodes", "", "n1");
    server.put("nodes", node("n3", "8"));
    assert_eq!(bound(&server, "wide").await, "n3");
    server.remove("pods", "default", "wide");
    server.put("pods", pod("over", "1"));
    assert_eq!(bound(&server, "over").await, "n3");
}

/// F30
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_comes_again_smaller_has_its_pods_and_no_more_room() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let _daemon = start(&server, ALONE);
    server.put("pods", pod("one", "1"));
    bound(&server, "one").await;
    unheard(&server, || {
        server.remove("nodes", "", "n1");
        server.put("nodes", node("n1", "2"));
    });
    relist(&server, "nodes");
    // Bound there says that the list was heard before.
    server.put("nodes", node("n2", "1"));
    let mut probe = pod("probe", "1");
    probe["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "n2"});
    server.put("pods", probe);
    bound(&server, "probe").await;
    server.put("pods", pod("two", "1"));
    assert_eq!(bound(&server, "two").await, "n1");
    server.put("pods", pod("three", "1"));
    let message = "0/2 nodes are available: 2 Insufficient cpu";
    told(&server, "three", message).await;
}

/// F31: what is on its way to a node that goes is waited for, and nothing follows it.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_under_an_assumed_pod_gets_no_other() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let _daemon = start(&server, ALONE);
    let held = server.order("create", "pods/binding", 1, Fault::Hold);
    server.put("pods", pod("one", "1"));
    server
        .until("it is being bound", |server| {
            (bindings(server, "one") > 0).then_some(())
        })
        .await;
    server.remove("nodes", "", "n1");
    // Bound there says that the node's end was heard before.
    server.put("nodes", node("small", "100m"));
    let mut probe = pod("probe", "100m");
    probe["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "small"});
    server.put("pods", probe);
    bound(&server, "probe").await;
    server.put("pods", pod("two", "1"));
    told(&server, "two", "0/1 nodes").await;
    assert_eq!(bindings(&server, "two"), 0);
    server.lift(held);
    bound(&server, "one").await;
    server.put("nodes", node("n2", "1"));
    assert_eq!(bound(&server, "two").await, "n2");
}

/// F32: a pod that has ended gives its room back, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_has_ended_gives_its_room_back_once() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let _daemon = start(&server, ALONE);
    server.put("pods", pod("one", "1"));
    bound(&server, "one").await;
    // The kubelet will not have it; it says so twice, and then the pod goes.
    let mut ended = server.get("pods", "default", "one").expect("it is there");
    ended["status"] = json!({"phase": "Failed", "reason": "OutOfcpu"});
    server.put("pods", ended.clone());
    ended["status"]["message"] = json!("once more");
    server.put("pods", ended);
    server.put("pods", pod("two", "1"));
    assert_eq!(bound(&server, "two").await, "n1");
    server.remove("pods", "default", "one");
    server.put("pods", pod("three", "1"));
    told(&server, "three", "Insufficient cpu").await;
}

/// F14, and F11 to F13 on the way: many changes at once, of which only the last count.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_changes_comes_to_the_state_at_its_end() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let daemon = start(&server, ALONE);
    daemon.says("Caches are synced").await;
    for number in 0..10_000 {
        let name = format!("burst-{}", number % 100);
        server.put("nodes", node(&name, "1"));
        if number % 3 == 0 {
            server.remove("nodes", "", &name);
        }
    }
    for number in 0..100 {
        server.remove("nodes", "", &format!("burst-{number}"));
    }
    // This node is told of last, and so is the pod that it takes.
    is_right(&server, 1).await;
    server.put("pods", pod("wide", "1000"));
    told(&server, "wide", "0/2 nodes").await;
}
