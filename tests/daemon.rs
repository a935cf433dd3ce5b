//! `berth run` on a real API server: etcd and kube-apiserver of upstream, started for each test.
//!
//! What became of the pods is judged from the API alone, by a checker that shares no code with core.

use berth_control_plane::api::{Api, pods};
use berth_control_plane::control_plane::ControlPlane;
use berth_control_plane::load::{Load, NAMESPACE};
use berth_control_plane::settle::{assert_lawful, done, read};
use berth_control_plane::wait::until;
use berth_test_support::command::berth;
use serde_json::{Value, json};
use std::process::Command;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

fn run() -> Command {
    let mut command = berth();
    command.arg("run").arg("-v=2");
    command
}

/// Requests that upstream's default limit would stretch over minutes.
fn fast() -> Value {
    json!({"clientConnection": {"qps": 1000, "burst": 1000}})
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_fits_is_bound_though_the_process_is_killed() {
    let load = Load {
        nodes: 100,
        pods: 500,
    };
    let Some(plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    load.create_nodes(&api).await;
    let mut config = fast();
    config["leaderElection"] =
        json!({"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"});
    let mut scheduler = plane.start_scheduler("berth", run(), config);
    load.create_pods(&api, 0..load.pods / 2).await;
    until("some pods are bound", async || {
        (read(&api).await.bound() > load.pods / 10).then_some(())
    })
    .await;
    scheduler.process.kill();
    load.create_pods(&api, load.pods / 2..load.pods).await;
    scheduler.process.start_again();
    done(&api, &mut [&mut scheduler]).await;

    let cluster = read(&api).await;
    assert_eq!(cluster.bound(), load.fitting());
    for (pod, message) in load.hopeless() {
        assert_eq!(cluster.message(&pod), Some(message), "{pod}");
    }
    assert_lawful(&plane);
    let admin = plane.user("admin", &["system:masters"]);
    let pages = Api::at_port(&admin, scheduler.port).await;
    assert_eq!(pages.text("/readyz").await.expect("it serves"), "ok");
    let metrics = pages.text("/metrics").await.expect("it serves");
    let counted = "scheduler_schedule_attempts_total{result=\"scheduled\"";
    assert!(metrics.contains(counted), "{metrics}");
    let status = scheduler.process.stop();
    assert_eq!(status.code(), Some(0), "{}", scheduler.process.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_leads_and_the_other_goes_on_after_it() {
    let load = Load {
        nodes: 20,
        pods: 60,
    };
    let Some(plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    load.create_nodes(&api).await;
    let mut config = fast();
    config["leaderElection"] =
        json!({"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"});
    let mut one = plane.start_scheduler("one", run(), config.clone());
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";
    let holder = async || {
        let lease = api.get(lease).await.ok()?;
        lease["spec"]["holderIdentity"].as_str().map(str::to_owned)
    };
    let first = until("one leads", async || {
        holder().await.filter(|name| !name.is_empty())
    })
    .await;
    let mut other = plane.start_scheduler("other", run(), config);
    load.create_pods(&api, 0..30).await;
    until("the leader binds", async || {
        (read(&api).await.bound() > 10).then_some(())
    })
    .await;
    assert_eq!(holder().await.as_ref(), Some(&first));
    // It is paused past its lease, and must find that out before it writes.
    one.process.pause();
    load.create_pods(&api, 30..load.pods).await;
    until("the other leads", async || {
        holder()
            .await
            .filter(|name| !name.is_empty() && *name != first)
    })
    .await;
    one.process.resume();
    done(&api, &mut [&mut other]).await;
    let ended = until("the old leader ends", async || one.process.exit_status()).await;
    assert_eq!(ended.code(), Some(1), "{}", one.process.log());
    assert_lawful(&plane);
    // Asked to stop, the leader gives the lease back.
    assert_eq!(
        other.process.stop().code(),
        Some(0),
        "{}",
        other.process.log()
    );
    assert_eq!(holder().await.as_deref(), Some(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_of_higher_priority_takes_the_place_of_others() {
    let Some(plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    let load = Load { nodes: 1, pods: 0 };
    load.create_nodes(&api).await;
    let class = json!({"metadata": {"name": "high"}, "value": 1000});
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    api.create(classes, &class).await.expect("a class");
    let pod = |name: &str, class: &str, cpu: &str| {
        json!({
            "metadata": {"name": name},
            "spec": {"priorityClassName": class, "terminationGracePeriodSeconds": 0, "containers": [
                {"name": "one", "image": "example.com/one:1", "resources": {"requests": {"cpu": cpu}}},
            ]},
        })
    };
    let node = api.list("/api/v1/nodes").await.expect("nodes");
    let cpu = node[0]["status"]["allocatable"]["cpu"]
        .as_str()
        .expect("cpu")
        .to_owned();
    let mut scheduler = plane.start_scheduler("berth", run(), fast());
    api.create(&pods(NAMESPACE), &pod("low", "", &cpu))
        .await
        .expect("a pod");
    let node_of = async |name: &str| {
        let path = format!("{}/{name}", pods(NAMESPACE));
        let pod = api.get(&path).await.ok()?;
        pod["spec"]["nodeName"].as_str().map(str::to_owned)
    };
    until("the low one is bound", async || node_of("low").await).await;
    api.create(&pods(NAMESPACE), &pod("high", "high", &cpu))
        .await
        .expect("a pod");
    until("the high one is bound", async || {
        assert_eq!(
            scheduler.process.exit_status(),
            None,
            "{}",
            scheduler.process.log()
        );
        node_of("high").await
    })
    .await;
    assert!(node_of("low").await.is_none(), "it went");
    let events = format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events");
    let preempted = until("it is told", async || {
        let events = api.list(&events).await.ok()?;
        events
            .into_iter()
            .find(|event| event["reason"] == "Preempted")
    })
    .await;
    assert_eq!(preempted["regarding"]["name"], "low");
    assert_eq!(preempted["related"]["name"], "high");
    assert_lawful(&plane);
}

/// HTTP's code of an answer; 0 of what was none.
fn code(answer: &kube::Result<String>) -> u16 {
    match answer {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_for_those_who_may_and_health_for_all() {
    let Some(plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    let load = Load {
        nodes: 20,
        pods: 60,
    };
    load.create(&api).await;
    let mut scheduler = plane.start_scheduler("berth", run(), fast());
    done(&api, &mut [&mut scheduler]).await;
    let admin = plane.user("admin", &["system:masters"]);
    let admin = Api::at_port(&admin, scheduler.port).await;
    let nobody = Api::at_port(&plane.user("nobody", &[]), scheduler.port).await;
    let open = ["/healthz", "/livez", "/readyz"];
    let guarded = [
        ("/metrics", "scheduler_pending_pods"),
        ("/readyz/berth-watches", "ok"),
        (
            "/metrics/slis",
            "kubernetes_healthcheck{name=\"leaderElection\",type=\"readyz\"} 1",
        ),
        (
            "/metrics/resources",
            "kube_pod_resource_request{namespace=\"default\"",
        ),
        ("/configz", "\"componentconfig\""),
        ("/flagz", "kube-scheduler flagz"),
        ("/statusz", "kube-scheduler statusz"),
        ("/debug/berth/dump", "pod default/"),
    ];
    for path in open {
        assert_eq!(
            nobody.text(path).await.ok().as_deref(),
            Some("ok"),
            "{path}"
        );
    }
    for (path, within) in guarded {
        let page = admin
            .text(path)
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.contains(within), "{path}: {page}");
        assert_eq!(code(&nobody.text(path).await), 403, "{path}");
    }
    for path in ["/debug/pprof/", "/debug/flags/v", "/nothing"] {
        assert_eq!(code(&admin.text(path).await), 404, "{path}");
    }
    let (pod, message) = load.hopeless().into_iter().next().expect("some do not fit");
    let explained = admin.text(&format!("/debug/berth/explain?pod={pod}")).await;
    let record: Value = serde_json::from_str(&explained.expect("a record")).expect("JSON");
    assert_eq!(record["pod"], json!(pod));
    assert!(
        message.starts_with(record["message"].as_str().expect("a message")),
        "{record}"
    );
}
