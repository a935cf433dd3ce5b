//! Extenders that bind.

use super::{always, bindings, bound, entry, node, node_of, pod, start, told};
use berth_api_server::Server;
use berth_test_support::extender::{Extender, Reply};
use serde_json::{Value, json};
use std::sync::Arc;

/// Binds as asked, and then says this.
fn binder(server: &Arc<Server>, reply: Reply) -> Extender {
    let server = server.clone();
    Extender::start(move |verb, body| {
        assert_eq!(verb, "bind");
        let text = |field: &str| body[field].as_str().expect("it is there").to_owned();
        let pod = server.get("pods", &text("PodNamespace"), &text("PodName"));
        let mut pod = pod.expect("it is there");
        assert_eq!(pod["metadata"]["uid"], body["PodUID"]);
        pod["spec"]["nodeName"] = body["Node"].clone();
        server.put("pods", pod);
        reply.clone()
    })
}

async fn scheduled(server: &Server, name: &str) {
    server
        .until("its binding is told", |server| {
            let events = server.all("events");
            let mut events = events.iter();
            events
                .find(|event| event["reason"] == "Scheduled" && event["regarding"]["name"] == name)
                .map(|_| ())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extender_binds_in_place_of_the_scheduler() {
    // What went wrong after the binding does not matter.
    for reply in [
        Reply::Json(json!({"Error": ""})),
        Reply::Bytes(500, Vec::new()),
        Reply::Bytes(200, b"null".to_vec()),
    ] {
        let server = Arc::new(Server::start().await);
        server.put("nodes", node("n1"));
        let extender = binder(&server, reply);
        let fields = json!({"bindVerb": "bind"});
        let _daemon = start(&server, &json!([entry(&extender, fields)]));
        server.put("pods", pod("one", "1"));
        assert_eq!(bound(&server, "one").await, "n1");
        scheduled(&server, "one").await;
        assert_eq!(bindings(&server, "one"), 0);
        assert_eq!(extender.asked().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binder_that_fails_fails_the_binding_unless_it_may() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let extender = always(Reply::Json(json!({"Error": "no hands free"})));
    let fields = json!({"bindVerb": "bind"});
    let daemon = start(&server, &json!([entry(&extender, fields.clone())]));
    server.put("pods", pod("one", "1"));
    let (message, reason) = told(&server, "one", "no hands free").await;
    assert_eq!((&*message, &*reason), ("no hands free", "SchedulerError"));
    assert_eq!(node_of(&server, "one"), None);
    assert_eq!(bindings(&server, "one"), 0);
    drop(daemon);
    let mut fields = fields;
    fields["ignorable"] = json!(true);
    let _daemon = start(&server, &json!([entry(&extender, fields)]));
    assert_eq!(bound(&server, "one").await, "n1");
    assert_eq!(bindings(&server, "one"), 1);
    let asked: Vec<Value> = extender.bodies("bind");
    let one = server.get("pods", "default", "one").expect("it is there");
    let expected = json!({
        "PodName": "one", "PodNamespace": "default", "PodUID": one["metadata"]["uid"], "Node": "n1",
    });
    assert!(asked.iter().all(|body| *body == expected), "{asked:?}");
}
