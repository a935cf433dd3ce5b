//! What happens to the process itself, and a little of everything.

use super::{ALONE, Daemon, bindings, bound, folder, is_right, node, pod, relist, start};
use berth_api_server::{Fault, Refusal, Server};
use std::process::{Command, Stdio};

fn signal(daemon: &Daemon, name: &str) {
    let process = daemon.child.id().to_string();
    let sent = Command::new("kill").args([name, &process]).status();
    assert!(sent.expect("there is kill").success());
}

/// F34: no binding begins any more, what is under way ends, and the lease goes last.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_to_stop_ends_its_bindings_and_then_gives_the_lease_back() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let mut daemon = start(&server, &[]);
    let held = server.order("create", "pods/binding", 1, Fault::HoldAnswer);
    server.put("pods", pod("one", "1"));
    server
        .until("it is being bound", |server| {
            (bindings(server, "one") > 0).then_some(())
        })
        .await;
    signal(&daemon, "-TERM");
    server.put("pods", pod("two", "1"));
    server.lift(held);
    let ended = tokio::task::spawn_blocking(move || {
        let status = daemon.child.wait().expect("it ends");
        (status, daemon.log())
    });
    let (status, log) = ended.await.expect("it is waited for");
    assert_eq!(status.code(), Some(0), "{log}");
    let calls = server.calls();
    let mut writes = calls
        .iter()
        .filter(|call| !["list", "watch", "get"].contains(&call.verb.as_str()));
    let last = writes.next_back().expect("there are some");
    assert_eq!((&*last.verb, &*last.resource), ("update", "leases"));
    let lease = server.get("leases", "kube-system", "kube-scheduler");
    let lease = lease.expect("it is there");
    assert_eq!(lease["spec"]["holderIdentity"], "");
}

/// F38
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_nobody_reads_any_more_stops_nothing() {
    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let (folder, kubeconfig) = folder(&server);
    let mut command = berth_test_support::command::berth();
    command
        .args(["run", "--secure-port=0", "-v=4", ALONE[0]])
        .arg(format!("--kubeconfig={kubeconfig}"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    drop(child.stderr.take());
    let _daemon = Daemon { child, folder };
    for number in 0..5 {
        let name = format!("p{number}");
        server.put("pods", pod(&name, "100m"));
        bound(&server, &name).await;
    }
}

/// F1 to F3, F8 to F11, F17 to F19 in turn, over and over, `BERTH_SOAK` rounds long; then nothing is lost,
/// nothing is bound twice, and the cache is as the server has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_of_faults_loses_and_doubles_nothing() {
    let rounds = std::env::var("BERTH_SOAK").ok();
    let rounds: usize = rounds.and_then(|text| text.parse().ok()).unwrap_or(4);
    let server = Server::start().await;
    for number in 0..10 {
        server.put("nodes", node(&format!("n{number}"), "8"));
    }
    let daemon = start(&server, ALONE);
    daemon.says("Caches are synced").await;
    for round in 0..rounds {
        let names: Vec<_> = (0..40).map(|number| format!("r{round}-{number}")).collect();
        let server_error = || Refusal::new(503, "ServiceUnavailable", "busy");
        for (number, name) in names.iter().enumerate() {
            match (number + round) % 10 {
                0 => drop(server.order("create", "pods/binding", 1, Fault::LoseAnswer)),
                1 => drop(server.order("create", "pods/binding", 1, Fault::Cut)),
                2 => {
                    let busy = Refusal::too_many_requests(1);
                    server.order("create", "pods/binding", 1, Fault::Refuse(busy));
                }
                3 => drop(server.order("create", "pods/binding", 1, Fault::Refuse(server_error()))),
                4 => drop(server.order("patch", "pods/status", 2, Fault::Cut)),
                5 => server.end_watches("pods"),
                6 => server.say("nodes", b"{\"type\":\"ADDED\",\"obj\n"),
                7 => drop(server.order("watch", "nodes", 1, Fault::Refuse(server_error()))),
                8 => drop(server.order("create", "events", 3, Fault::Refuse(server_error()))),
                _ => {
                    server.forget_history();
                    server.end_watches("nodes");
                }
            }
            server.put("pods", pod(name, "100m"));
        }
        for name in &names {
            bound(&server, name).await;
        }
        for name in &names {
            server.remove("pods", "default", name);
        }
    }
    server.lift_all();
    relist(&server, "pods");
    is_right(&server, 50).await;
    // A binding that was answered with success is never asked for again.
    let calls = server.calls();
    let done = calls
        .iter()
        .filter(|call| call.resource == "pods/binding" && (200..300).contains(&call.code));
    let mut names: Vec<&str> = done.map(|call| call.name.as_str()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "bound twice");
    signal(&daemon, "-USR2");
    daemon.says("Cache is as the API server has it").await;
    assert!(!daemon.log().contains("Cache mismatch"));
}
