//! Upstream's own scheduler on a real API server: what the tests of `berth run` stand on works, and
//! its checker finds what is wrong.

use berth_control_plane::api::{Api, NODES, pods};
use berth_control_plane::check::{Against, Cluster, Violation, bound_twice};
use berth_control_plane::control_plane::ControlPlane;
use berth_control_plane::load::{Load, NAMESPACE, end_deleted};
use berth_control_plane::wait::until;
use serde_json::{Value, json};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

const SCHEDULER: &str = "default-scheduler";

const LOAD: Load = Load {
    nodes: 20,
    pods: 60,
};

#[tokio::test(flavor = "multi_thread")]
async fn upstream_binds_what_fits_and_the_checker_finds_what_was_planted() {
    let Some(plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    LOAD.create(&api).await;
    let before = read(&api).await;
    assert_eq!(before.bound(), 0);
    assert_eq!(before.misplaced(), []);
    assert_eq!(before.overlooked(SCHEDULER).len(), LOAD.fitting());
    assert_eq!(
        before.untold(SCHEDULER).len(),
        LOAD.fitting() + LOAD.hopeless().len()
    );

    let mut scheduler = plane.start_kube_scheduler("kube-scheduler", json!({}));
    until(
        "upstream's scheduler has done all that it can",
        async || {
            let log = scheduler.process.log();
            assert_eq!(scheduler.process.exit_status(), None, "{log}");
            let cluster = read(&api).await;
            cluster.violations(SCHEDULER).is_empty().then_some(())
        },
    )
    .await;
    let cluster = read(&api).await;
    assert_eq!(cluster.bound(), LOAD.fitting());
    for (pod, message) in LOAD.hopeless() {
        assert_eq!(cluster.message(&pod), Some(message), "{pod}");
    }
    let rows = plane.audit();
    assert_eq!(bound_twice(&rows), []);
    let bindings = rows.iter().filter(|row| row.is_binding());
    let bindings = bindings.filter(|row| row.user == "system:kube-scheduler" && row.code == 201);
    assert_eq!(bindings.count(), LOAD.fitting());
    let admin = plane.user("admin", &["system:masters"]);
    let health = Api::at_port(&admin, scheduler.port).await;
    assert_eq!(health.text("/readyz").await.expect("it serves"), "ok");
    assert!(
        scheduler.process.stop().code().is_some(),
        "it ends by itself"
    );

    plant(&api).await;
    let cluster = read(&api).await;
    let found = cluster.misplaced();
    for (pod, against) in [
        ("heavy", Against::Room("cpu".to_owned())),
        ("intolerant", Against::Taint),
        ("picky", Against::Selector),
    ] {
        assert!(
            found.iter().any(|one| is_about(one, pod, &against)),
            "{pod}: {found:?}"
        );
    }
    let twice = bound_twice(&plane.audit());
    let [Violation::BoundTwice { pod, nodes }] = twice.as_slice() else {
        panic!("{twice:?}");
    };
    assert_eq!(pod, "default/heavy");
    assert_eq!(nodes, &["node-0", "node-1"]);

    let heavy = format!("{}/heavy", pods(NAMESPACE));
    let going = api.delete(&heavy, &json!({})).await;
    going.expect("it begins to go");
    assert_eq!(end_deleted(&api).await.expect("the API answers"), 1);
    assert_eq!(code(&api.get(&heavy).await), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_outlives_kills_and_pauses_and_asks_who_one_is() {
    let Some(mut plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    let load = Load { nodes: 20, pods: 0 };
    load.create_nodes(&api).await;
    let nobody = Api::new(&plane.user("nobody", &[])).await;
    for user in [Api::new(&plane.scheduler_user()).await, nobody] {
        // Neither may do what only the test does.
        let refused = user
            .create(NODES, &json!({"metadata": {"name": "mine"}}))
            .await;
        assert_eq!(code(&refused), 403);
    }

    plane.apiserver.kill();
    assert_eq!(code(&api.get(NODES).await), 0, "nobody answers");
    plane.apiserver.start_again();
    plane.etcd.restart();
    plane.ready().await;
    assert_eq!(
        api.list(NODES).await.expect("it is ready").len(),
        load.nodes
    );

    plane.apiserver.pause();
    let mut answer = Box::pin(api.list(NODES));
    let pause = std::time::Duration::from_millis(300);
    let early = tokio::time::timeout(pause, &mut answer).await;
    assert!(early.is_err(), "it is paused");
    plane.apiserver.resume();
    assert_eq!(answer.await.expect("it goes on").len(), load.nodes);
    let refused = plane.audit().into_iter().filter(|row| row.code == 403);
    let refused: Vec<_> = refused
        .map(|row| (row.user, row.verb, row.resource))
        .collect();
    let row = |user: &str| (user.to_owned(), "create".to_owned(), "nodes".to_owned());
    assert_eq!(refused, [row("system:kube-scheduler"), row("nobody")]);
}

async fn read(api: &Api) -> Cluster {
    Cluster::read(api).await.expect("the API answers")
}

/// Pods that nobody schedules are bound by hand to where they may not be; one of them twice.
async fn plant(api: &Api) {
    for (name, node, spec) in [
        ("heavy", "node-0", json!({"requests": {"cpu": "5"}})),
        ("intolerant", "node-3", json!({})),
        ("picky", "node-1", json!({})),
    ] {
        let mut pod = json!({
            "metadata": {"name": name},
            "spec": {"schedulerName": "nobody", "containers": [
                {"name": "one", "image": "example.com/one:1", "resources": spec},
            ]},
        });
        if name == "picky" {
            pod["spec"]["nodeSelector"] = json!({"disk": "ssd"});
        }
        let pod = api.create(&pods(NAMESPACE), &pod).await;
        let pod = pod.expect("the pod is made");
        bind(api, &pod, node)
            .await
            .expect("the API server does not look at nodes");
        if name == "heavy" {
            assert_eq!(code(&bind(api, &pod, "node-1").await), 409);
        }
    }
}

async fn bind(api: &Api, pod: &Value, node: &str) -> kube::Result<Value> {
    let metadata = &pod["metadata"];
    let name = metadata["name"].as_str().expect("a pod has a name");
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "uid": metadata["uid"]},
        "target": {"kind": "Node", "name": node},
    });
    let path = format!("{}/{name}/binding", pods(NAMESPACE));
    api.create(&path, &binding).await
}

fn is_about(violation: &Violation, name: &str, rule: &Against) -> bool {
    let Violation::Misplaced { pod, against, .. } = violation else {
        return false;
    };
    *pod == format!("{NAMESPACE}/{name}") && against == rule
}

/// HTTP's code of a refusal; 0 of what was no answer.
fn code(answer: &kube::Result<Value>) -> u16 {
    match answer {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}
