//! Extenders that choose among the candidates of preemption.

use super::{always, bindings, entry, node, pod, start, told};
use berth_api_server::{Fault, Server};
use berth_test_support::extender::{Extender, Reply};
use serde_json::{Value, json};

/// Two full nodes, of which `n1` costs less.
async fn full() -> Server {
    let server = Server::start().await;
    for (name, priority) in [("n1", 1), ("n2", 2)] {
        server.put("nodes", node(name));
        let mut low = pod(&format!("on-{name}"), "4");
        low["spec"]["nodeName"] = name.into();
        low["spec"]["priority"] = json!(priority);
        low["status"]["phase"] = "Running".into();
        server.put("pods", low);
    }
    server
}

fn high(server: &Server) {
    let mut high = pod("high", "4");
    high["spec"]["priority"] = json!(10);
    server.put("pods", high);
}

fn uid(server: &Server, name: &str) -> Value {
    let pod = server.get("pods", "default", name).expect("it is there");
    pod["metadata"]["uid"].clone()
}

/// This pod is on its way: its kubelet has to end it.
pub(super) async fn goes(server: &Server, name: &str) {
    server
        .until(&format!("{name} goes"), |server| {
            let pod = server.get("pods", "default", name)?;
            let goes = !pod["metadata"]["deletionTimestamp"].is_null();
            goes.then_some(())
        })
        .await;
}

fn deleted(server: &Server) -> usize {
    server.count("delete", "pods")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extender_restricts_the_victims() {
    for capable in [true, false] {
        let server = full().await;
        let extender = Extender::start(|_, body| {
            let given = if body["NodeNameToMetaVictims"].is_null() {
                &body["NodeNameToVictims"]
            } else {
                &body["NodeNameToMetaVictims"]
            };
            let victims = given["n2"]["Pods"].as_array().expect("victims");
            let uid = |pod: &Value| match &pod["UID"] {
                Value::Null => pod["metadata"]["uid"].clone(),
                uid => uid.clone(),
            };
            let victims: Vec<_> = victims.iter().map(|pod| json!({"UID": uid(pod)})).collect();
            Reply::Json(json!({"NodeNameToMetaVictims": {"n2": {"Pods": victims}}}))
        });
        let fields = json!({"preemptVerb": "preempt", "nodeCacheCapable": capable});
        let _daemon = start(&server, &json!([entry(&extender, fields)]));
        let (first, second) = (uid(&server, "on-n1"), uid(&server, "on-n2"));
        high(&server);
        goes(&server, "on-n2").await;
        assert_eq!(deleted(&server), 1);
        let body = &extender.bodies("preempt")[0];
        assert_eq!(body["Pod"]["metadata"]["name"], "high");
        if capable {
            let of = |uid: &Value| json!({"Pods": [{"UID": uid}], "NumPDBViolations": 0});
            let expected = json!({"n1": of(&first), "n2": of(&second)});
            assert_eq!(body["NodeNameToMetaVictims"], expected);
            assert_eq!(body["NodeNameToVictims"], Value::Null);
        } else {
            let victims = &body["NodeNameToVictims"];
            let low = &victims["n1"]["Pods"][0];
            assert_eq!(low["metadata"]["name"], "on-n1");
            assert_eq!(low["spec"]["containers"][0]["image"], "example.com/one:1");
            assert_eq!(body["NodeNameToMetaVictims"], Value::Null);
        }
    }
}

/// What the server does not say yet kube-scheduler's cache does.
#[tokio::test(flavor = "multi_thread")]
async fn a_victim_that_is_only_assumed_is_sent_with_its_node() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let extender = always(Reply::Json(json!({"NodeNameToMetaVictims": {}})));
    let fields = json!({"preemptVerb": "preempt"});
    let _daemon = start(&server, &json!([entry(&extender, fields)]));
    let held = server.order("create", "pods/binding", 1, Fault::Hold);
    server.put("pods", pod("low", "4"));
    server
        .until("it is being bound", |server| {
            (bindings(server, "low") > 0).then_some(())
        })
        .await;
    high(&server);
    told(&server, "high", "preemption: ").await;
    let body = &extender.bodies("preempt")[0];
    let low = &body["NodeNameToVictims"]["n1"]["Pods"][0];
    assert_eq!(low["metadata"]["name"], "low");
    assert_eq!(low["spec"]["nodeName"], "n1");
    server.lift(held);
}

/// B089, and what else a preempt verb may not say.
#[tokio::test(flavor = "multi_thread")]
async fn b089_a_node_without_victims_is_an_error_and_never_a_crash() {
    let server = full().await;
    let foreign = uid(&server, "on-n2");
    drop(server);
    for (victims, expected) in [
        (
            json!({"n1": {"Pods": []}}),
            "expected at least one victim pod on node \"n1\"".to_owned(),
        ),
        (
            json!({"n1": null}),
            "expected at least one victim pod on node \"n1\"".to_owned(),
        ),
        (
            json!({"n9": {"Pods": [{"UID": "a"}]}}),
            "nodeinfo not found for node name \"n9\"".to_owned(),
        ),
        (
            json!({"n1": {"Pods": [{"UID": foreign}]}}),
            "on node: n1, but the pod is not found on that node".to_owned(),
        ),
        (json!({}), "no candidate node for preemption".to_owned()),
    ] {
        let server = full().await;
        let extender = always(Reply::Json(json!({"NodeNameToMetaVictims": victims})));
        let fields = json!({"preemptVerb": "preempt", "nodeCacheCapable": true});
        let _daemon = start(&server, &json!([entry(&extender, fields)]));
        high(&server);
        let (message, reason) = told(&server, "high", "preemption: ").await;
        assert_eq!(reason, "Unschedulable");
        assert!(message.ends_with(&expected), "{victims}: {message}");
        assert_eq!(deleted(&server), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b089_a_node_without_victims_is_left_out_where_the_extender_may_fail() {
    let server = full().await;
    let victim = uid(&server, "on-n2");
    let extender = always(Reply::Json(json!({"NodeNameToMetaVictims": {
        "n1": {"Pods": []}, "n2": {"Pods": [{"UID": victim}]},
    }})));
    let fields = json!({"preemptVerb": "preempt", "nodeCacheCapable": true, "ignorable": true});
    let _daemon = start(&server, &json!([entry(&extender, fields)]));
    high(&server);
    goes(&server, "on-n2").await;
    assert_eq!(deleted(&server), 1);
}

/// B128: what an ignorable one says when it fails replaces nothing.
#[tokio::test(flavor = "multi_thread")]
async fn b128_the_candidates_of_before_are_kept_when_an_ignorable_extender_fails() {
    let server = full().await;
    let broken = always(Reply::Bytes(500, Vec::new()));
    let second = Extender::start(|_, body| {
        let all = body["NodeNameToMetaVictims"].as_object().expect("a map");
        assert_eq!(all.len(), 2);
        Reply::Json(json!({"NodeNameToMetaVictims": {"n2": all["n2"]}}))
    });
    let fields = json!({"preemptVerb": "preempt", "nodeCacheCapable": true, "ignorable": true});
    let all = [&broken, &second].map(|own| entry(own, fields.clone()));
    let _daemon = start(&server, &json!(all));
    high(&server);
    goes(&server, "on-n2").await;
    assert_eq!(deleted(&server), 1);
    assert!(!broken.asked().is_empty());
}
