//! A server that has too much to do.

use super::{bindings, bound, node, pod, start};
use berth_api_server::{Fault, Refusal, Server};
use serde_json::json;

/// F2: each write waits as it was told, one request a time, and the lease waits for none of them.
#[tokio::test(flavor = "multi_thread")]
async fn the_lease_is_renewed_while_all_else_is_put_off() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "1"));
    let flags = [
        "--leader-elect-lease-duration=2s",
        "--leader-elect-renew-deadline=1500ms",
        "--leader-elect-retry-period=100ms",
    ];
    let _daemon = start(&server, &flags);
    let renewals = |server: &Server| server.count("update", "leases");
    server
        .until("it leads", |server| (renewals(server) > 0).then_some(()))
        .await;
    let busy = || Fault::Refuse(Refusal::too_many_requests(1));
    for (verb, resource) in [
        ("create", "pods/binding"),
        ("patch", "pods/status"),
        ("create", "events"),
    ] {
        server.order(verb, resource, 3, busy());
    }
    server.put("pods", pod("fits", "1"));
    assert_eq!(bound(&server, "fits").await, "n1");
    assert_eq!(
        bindings(&server, "fits"),
        4,
        "one for each time it was told to wait"
    );
    server.put("pods", pod("large", "2"));
    server
        .until("the other is told why it waits", |server| {
            let pod = server.get("pods", "default", "large")?;
            let told = pod["status"]["conditions"][0]["message"].as_str()?;
            told.contains("Insufficient cpu").then_some(())
        })
        .await;
    server
        .until("both are told of in events", |server| {
            let events = server.all("events");
            let told = |reason: &str| events.iter().any(|own| own["reason"] == json!(reason));
            (told("Scheduled") && told("FailedScheduling")).then_some(())
        })
        .await;
    let calls = server.calls();
    let own = |verb: &str, resource: &str| {
        let all = calls.iter().enumerate();
        let own = all.filter(|(_, call)| (&*call.verb, &*call.resource) == (verb, resource));
        own.map(|(at, call)| (at, call.code)).collect::<Vec<_>>()
    };
    for (verb, resource) in [("create", "pods/binding"), ("patch", "pods/status")] {
        let codes: Vec<u16> = own(verb, resource).iter().map(|(_, code)| *code).collect();
        assert_eq!(codes[..3], [429; 3], "{resource}");
        assert!(
            codes[3..].iter().all(|code| *code < 300),
            "{resource}: {codes:?}"
        );
    }
    let puts_off = own("create", "pods/binding");
    let (first, last) = (puts_off[0].0, puts_off[3].0);
    let renewed = own("update", "leases");
    let between = renewed.iter().filter(|(at, _)| (first..last).contains(at));
    assert!(between.count() > 0, "the lease was renewed meanwhile");
}
