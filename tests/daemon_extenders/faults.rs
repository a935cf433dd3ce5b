//! Extenders that fail, and answers that make no sense.

use super::{bound, entry, node, pod, start, told, with};
use berth_api_server::Server;
use berth_test_support::extender::{Extender, Reply};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// An extender that does as it is told from time to time.
fn scripted() -> (Extender, Arc<Mutex<Option<Reply>>>) {
    let script: Arc<Mutex<Option<Reply>>> = Arc::default();
    let own = script.clone();
    let extender = Extender::start(move |_, body| {
        let fault = own.lock().expect("no test has failed").clone();
        fault.unwrap_or_else(|| Reply::Json(json!({"NodeNames": body["NodeNames"]})))
    });
    (extender, script)
}

fn faults(url: &str) -> Vec<(Reply, String)> {
    let code = |code: u16| format!("failed filter with extender at URL {url}/filter, code {code}");
    let nonsense = "the extender's answer makes no sense".to_owned();
    let bytes = |text: &str| Reply::Bytes(200, text.as_bytes().to_vec());
    let claims = |node: &str| format!("extender {url:?} claims {node}");
    vec![
        (Reply::Bytes(500, b"no".to_vec()), code(500)),
        (Reply::Bytes(204, Vec::new()), code(204)),
        (Reply::Redirect("/other"), code(307)),
        (bytes("<html>"), nonsense.clone()),
        (bytes(""), "EOF".to_owned()),
        (bytes("null"), nonsense.clone()),
        (bytes("[]"), nonsense),
        (
            Reply::Json(json!({"Error": "out of order"})),
            "out of order".to_owned(),
        ),
        (
            Reply::Json(json!({"NodeNames": ["n9"]})),
            claims("a filtered node \"n9\" which is not found in the input node list"),
        ),
        (
            Reply::Json(json!({"NodeNames": ["n1"], "FailedNodes": {"n9": "no"}})),
            claims("a failed node \"n9\" which is not found in the input node list"),
        ),
        (
            Reply::Json(json!({"NodeNames": ["n1"], "FailedNodes": {"n1": "no"}})),
            claims("node \"n1\" to be both filtered and failed"),
        ),
        (Reply::Endless, "length limit exceeded".to_owned()),
        (Reply::Silence, "context deadline exceeded".to_owned()),
    ]
}

fn fields() -> Value {
    json!({"filterVerb": "filter", "nodeCacheCapable": true, "httpTimeout": "1s"})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extender_that_fails_fails_the_attempt_of_its_pod() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let (extender, script) = scripted();
    let _daemon = start(&server, &json!([entry(&extender, fields())]));
    for (number, (fault, expected)) in faults(extender.url()).into_iter().enumerate() {
        let name = format!("p{number}");
        *script.lock().expect("nobody failed") = Some(fault.clone());
        server.put("pods", pod(&name, "10m"));
        let (message, reason) = told(&server, &name, &expected).await;
        assert_eq!(reason, "SchedulerError", "{fault:?}: {message}");
        // Back in order, it is asked again, and the pod has its place.
        *script.lock().expect("nobody failed") = None;
        assert_eq!(bound(&server, &name).await, "n1");
    }
    let asked = extender.asked();
    assert!(asked.iter().all(|(verb, _)| verb == "filter"), "redirected");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignorable_extender_that_fails_is_passed_by() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let (extender, script) = scripted();
    let mut fields = fields();
    fields["ignorable"] = json!(true);
    let _daemon = start(&server, &json!([entry(&extender, fields)]));
    for (number, (fault, _)) in faults(extender.url()).into_iter().enumerate() {
        let name = format!("p{number}");
        *script.lock().expect("nobody failed") = Some(fault);
        server.put("pods", pod(&name, "10m"));
        assert_eq!(bound(&server, &name).await, "n1");
    }
    assert_eq!(extender.asked().len(), faults("").len());
}

/// F35: an attempt that waits holds up the next attempt and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn the_lease_is_renewed_while_an_extender_is_silent() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let (extender, script) = scripted();
    *script.lock().expect("nobody failed") = Some(Reply::Silence);
    let mut fields = fields();
    fields["httpTimeout"] = json!("5m");
    let config = json!({
        "extenders": [entry(&extender, fields)],
        "leaderElection": {
            "leaderElect": true, "leaseDuration": "6s", "renewDeadline": "4s", "retryPeriod": "500ms",
        },
    });
    let mut daemon = with(&server, config);
    server.put("pods", pod("one", "1"));
    server
        .until("it was asked", |_| {
            (!extender.asked().is_empty()).then_some(())
        })
        .await;
    let before = server.count("update", "leases");
    server
        .until("the lease is renewed", |server| {
            (server.count("update", "leases") > before + 10).then_some(())
        })
        .await;
    assert!(daemon.child.try_wait().expect("it is asked").is_none());
    assert_eq!(extender.asked().len(), 1);
}
