//! F7: who is not known, and what is forbidden.

use super::{ALONE, bound, is_right, node, pod, start};
use berth_api_server::{Fault, Refusal, Server};

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_the_server_does_not_know_any_more_are_read_again() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let daemon = start(&server, ALONE);
    server.put("pods", pod("one", "1"));
    assert_eq!(bound(&server, "one").await, "n1");
    // The file first, as those who rotate do; then the old token is worth nothing.
    let kubeconfig = daemon.folder.path().join("kubeconfig");
    std::fs::write(kubeconfig, server.kubeconfig("second")).expect("it is written");
    server.admit(Some("second"));
    for kind in ["pods", "nodes"] {
        server.end_watches(kind);
    }
    is_right(&server, 1).await;
    daemon.says("credentials were read again").await;
    // The file comes late: until then nothing works, and nothing ends.
    server.admit(Some("third"));
    for kind in ["pods", "nodes"] {
        server.end_watches(kind);
    }
    server
        .until("it is refused", |server| {
            let calls = server.calls();
            calls
                .last()
                .is_some_and(|call| call.code == 401)
                .then_some(())
        })
        .await;
    server.put("pods", pod("late", "1"));
    let kubeconfig = daemon.folder.path().join("kubeconfig");
    std::fs::write(kubeconfig, server.kubeconfig("third")).expect("it is written");
    bound(&server, "late").await;
}

/// F4: a server that was just started does not know its own roles for a moment.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_forbidden_at_first_is_asked_for_again() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let forbidden = || Fault::Refuse(Refusal::new(403, "Forbidden", "not yet"));
    for verb in ["list", "watch", "get"] {
        server.order(verb, "*", 8, forbidden());
    }
    let _daemon = start(&server, ALONE);
    server.put("pods", pod("one", "1"));
    assert_eq!(bound(&server, "one").await, "n1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_forbidden_is_not_taken_for_empty() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let daemon = start(&server, ALONE);
    daemon.says("Caches are synced").await;
    let refusal = Refusal::new(403, "Forbidden", "nodes is forbidden");
    for verb in ["list", "watch"] {
        server.order(verb, "nodes", u64::MAX, Fault::Refuse(refusal.clone()));
    }
    server.forget_history();
    server.end_watches("nodes");
    daemon.says("nodes is forbidden").await;
    server.put("pods", pod("one", "1"));
    assert_eq!(bound(&server, "one").await, "n1");
    server.lift_all();
    is_right(&server, 1).await;
}
