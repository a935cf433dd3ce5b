//! A wall clock that jumps, by a library that is loaded before the C library.

use super::{Daemon, bindings, bound, folder, node, pod};
use berth_api_server::{Fault, Refusal, Server};
use berth_test_support::command::{berth, tool};
use std::path::Path;
use std::process::Stdio;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const HOUR: i64 = 3600;

/// The daemon with a wall clock of its own, and the file that says by how many seconds it is wrong.
fn start(server: &Server, library: &Path, offset: i64) -> (Daemon, std::path::PathBuf) {
    let (folder, kubeconfig) = folder(server);
    let clock = folder.path().join("clock");
    std::fs::write(&clock, offset.to_string()).expect("it is written");
    let log = std::fs::File::create(folder.path().join("log")).expect("a log");
    let mut command = berth();
    command
        .args(["run", "--secure-port=0", "-v=4"])
        .args([
            "--leader-elect-lease-duration=3s",
            "--leader-elect-renew-deadline=2s",
            "--leader-elect-retry-period=200ms",
        ])
        .arg(format!("--kubeconfig={kubeconfig}"))
        .env("LD_PRELOAD", library)
        .env("BERTH_TEST_CLOCK", &clock)
        .stdin(Stdio::null())
        .stderr(log);
    let child = command.spawn().expect("it starts");
    (Daemon { child, folder }, clock)
}

fn holder(server: &Server) -> Option<String> {
    let lease = server.get("leases", "kube-system", "kube-scheduler")?;
    let holder = lease["spec"]["holderIdentity"].as_str()?;
    (!holder.is_empty()).then(|| holder.to_owned())
}

/// So many further renewals come.
async fn renewed(server: &Server, times: usize) {
    let before = server.count("update", "leases");
    server
        .until("the lease is renewed", |server| {
            (server.count("update", "leases") >= before + times).then_some(())
        })
        .await;
}

/// F26: leases, backoff and waits go by the monotonic clock; what others wrote down as a time is not judged.
#[tokio::test(flavor = "multi_thread")]
async fn a_wall_clock_that_jumps_by_an_hour_moves_nothing() {
    let Some(mut compiler) = tool("cc", "apt-get install gcc") else {
        return;
    };
    let library = Path::new(FOLDER).join("jump.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/daemon_faults/jump.c");
    let built = compiler
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .status();
    assert!(built.expect("the compiler runs").success());

    let server = Server::start().await;
    server.put("nodes", node("n1", "4"));
    let (mut leader, clock) = start(&server, &library, 0);
    let first = server.until("it leads", holder).await;
    let written = |server: &Server| {
        let lease = server.get("leases", "kube-system", "kube-scheduler");
        lease.expect("it is there")["spec"]["renewTime"].clone()
    };
    let mut before = written(&server);
    // One hour ahead, then one behind; each time it goes on as it did.
    for (number, offset) in [HOUR, -HOUR].into_iter().enumerate() {
        std::fs::write(&clock, offset.to_string()).expect("it is written");
        renewed(&server, 5).await;
        let now = written(&server);
        let ahead = now.as_str() > before.as_str();
        assert_eq!(ahead, offset > 0, "its wall clock jumped: {before} {now}");
        before = now;
        let name = format!("p{number}");
        // After a refusal it waits for its backoff, which no hour is added to.
        let refusal = Refusal::new(403, "Forbidden", "not now");
        server.order("create", "pods/binding", 1, Fault::Refuse(refusal));
        server.put("pods", pod(&name, "100m"));
        assert_eq!(bound(&server, &name).await, "n1");
        assert_eq!(bindings(&server, &name), 2);
        assert_eq!(holder(&server).as_ref(), Some(&first));
    }
    // One whose clock is an hour ahead of the lease's times does not take it while it is renewed.
    let (_other, _clock) = start(&server, &library, HOUR);
    renewed(&server, 20).await;
    assert_eq!(holder(&server).as_ref(), Some(&first));
    assert_eq!(leader.child.try_wait().expect("it can be asked"), None);
    // And takes it when it is not, though its times lie ahead of nobody's clock.
    drop(leader);
    server
        .until("the other leads", |server| {
            holder(server).filter(|name| *name != first)
        })
        .await;
    server.put("pods", pod("last", "100m"));
    assert_eq!(bound(&server, "last").await, "n1");
}
