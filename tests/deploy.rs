//! `daemon/deploy` on a real API server: what the page tells an operator to do, as far as it goes without
//! kubelets and containers.

use berth_control_plane::api::{Api, pods};
use berth_control_plane::control_plane::{ControlPlane, Scheduler};
use berth_control_plane::load::{Load, NAMESPACE};
use berth_control_plane::port::free_port;
use berth_control_plane::wait::until;
use berth_test_support::command::berth;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("daemon/deploy")
}

fn text(file: &str) -> String {
    let path = deploy().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documents of a YAML file.
fn documents(file: &str) -> Vec<Value> {
    let read =
        |text| serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    text(file).split("\n---\n").map(read).collect()
}

fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    list.iter().map(text).collect()
}

/// Creates an object as `kubectl apply` would, with every field known.
async fn apply(api: &Api, object: &Value, query: &str) {
    let version = object["apiVersion"].as_str().expect("a version");
    let root = if version == "v1" {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{version}")
    };
    let kind = object["kind"].as_str().expect("a kind").to_lowercase();
    let namespace = object["metadata"]["namespace"].as_str();
    let namespace = namespace.map_or(String::new(), |name| format!("/namespaces/{name}"));
    let path = format!("{root}{namespace}/{kind}s?fieldValidation=Strict{query}");
    let made = api.create(&path, object).await;
    made.unwrap_or_else(|error| panic!("{path}: {error}: {object}"));
}

async fn bound(api: &Api, scheduler: &mut Scheduler, pod: Value) {
    let path = format!(
        "{}/{}",
        pods(NAMESPACE),
        pod["metadata"]["name"].as_str().expect("a name")
    );
    api.create(&pods(NAMESPACE), &pod).await.expect("a pod");
    until("the pod is bound", async || {
        let process = &mut scheduler.process;
        assert_eq!(process.exit_status(), None, "{}", process.log());
        let pod = api.get(&path).await.ok()?;
        pod["spec"]["nodeName"].is_string().then_some(())
    })
    .await;
}

fn pod(name: &str, scheduler: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"schedulerName": scheduler, "containers": [{"name": "one", "image": "one:1"}]},
    })
}

/// Nothing was refused to a user, and of roles it has upstream's and its own lease alone.
fn assert_modest(plane: &ControlPlane, user: &str) {
    let rows = plane.audit();
    let own: Vec<_> = rows.iter().filter(|row| row.user == user).collect();
    assert!(!own.is_empty(), "{user} asked for nothing");
    let refused: Vec<_> = own.iter().filter(|row| row.code == 403).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_scheduler_runs_with_the_rights_of_its_manifest() {
    let Some(plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    let folder = "second-scheduler";
    let kustomization = &documents(&format!("{folder}/kustomization.yaml"))[0];
    let mut roles = BTreeSet::new();
    for file in strings(&kustomization["resources"]) {
        for object in documents(&format!("{folder}/{file}")) {
            apply(&api, &object, "").await;
            if object["kind"]
                .as_str()
                .is_some_and(|kind| kind.ends_with("RoleBinding"))
            {
                roles.insert(
                    object["roleRef"]["name"]
                        .as_str()
                        .expect("a role")
                        .to_owned(),
                );
            }
            if object["kind"] == "Role" {
                let rules = object["rules"].as_array().expect("rules");
                assert!(
                    rules
                        .iter()
                        .all(|rule| rule["resources"] == json!(["leases"]))
                );
            }
        }
    }
    let known = [
        "berth-lease",
        "extension-apiserver-authentication-reader",
        "system:kube-scheduler",
        "system:volume-scheduler",
    ];
    assert_eq!(roles, known.map(str::to_owned).into());
    // The container's arguments, but for where the API server is, which a cluster tells it.
    let deployment = &documents(&format!("{folder}/deployment.yaml"))[0];
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let mut command = berth();
    for argument in strings(&container["args"]) {
        if argument != "--config=/etc/berth/config.yaml" {
            command.arg(argument);
        }
    }
    let config = documents(&format!("{folder}/config.yaml")).remove(0);
    let groups = [
        "system:serviceaccounts",
        "system:serviceaccounts:kube-system",
    ];
    let account = "system:serviceaccount:kube-system:berth";
    let user = plane.user(account, &groups);
    let load = Load { nodes: 20, pods: 0 };
    load.create_nodes(&api).await;
    let mut scheduler = plane.start_scheduler_as(&user, "berth", command, config);
    let pages = plane.synced(&mut scheduler).await;
    bound(&api, &mut scheduler, pod("try", "berth")).await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth";
    assert!(api.get(path).await.is_ok(), "it leads by its own lease");
    assert_modest(&plane, account);

    // What the dashboard and the alerts look at is there.
    let page = pages.text("/metrics").await.expect("it serves");
    // A family of which nothing is to be told yet is not on the page, but is registered.
    let source = include_str!("../daemon/src/run/metrics.rs");
    let is_there = |name: &str| {
        let (_, rest) = name.split_once('_').unwrap_or_default();
        page.contains(&format!("# TYPE {name} ")) || source.contains(&format!("\"{rest}\""))
    };
    let asked = text("grafana/dashboard.json") + &text("grafana/alerts.yaml");
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut count = 0;
    for word in asked.split(|letter| !is_part(letter)) {
        if ["scheduler_", "berth_", "leader_"]
            .iter()
            .any(|own| word.starts_with(own))
        {
            let ends = ["_bucket", "_sum", "_count", "_total"];
            let name = ends
                .iter()
                .find_map(|end| word.strip_suffix(end))
                .unwrap_or(word);
            assert!(is_there(name) || is_there(word), "{word}");
            count += 1;
        }
    }
    assert!(count > 10, "the metrics were not found");
    assert_eq!(
        scheduler.process.stop().code(),
        Some(0),
        "{}",
        scheduler.process.log()
    );
}

/// Commands of a section of the page.
fn commands(section: &str) -> Vec<String> {
    let page = text("README.md");
    let (_, rest) = page
        .split_once(&format!("\n## {section}\n"))
        .expect(section);
    let own = rest.split("\n## ").next().unwrap_or_default();
    let lines = own.lines().filter_map(|line| line.strip_prefix("$ "));
    lines.map(str::to_owned).collect()
}

/// What a kubelet would run of the manifest that lies there: the arguments of the container, with the
/// name that they begin with.
fn run_by_kubelet(manifest: &Path, plane: &ControlPlane, port: u16) -> Scheduler {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let pod: Value = serde_saphyr::from_str(&text).expect("YAML");
    let container = &pod["spec"]["containers"][0];
    let mut arguments = strings(&container["command"]).into_iter();
    let name = arguments.next().expect("a command");
    let mut command = berth();
    command.arg0(name);
    let kubeconfig = plane.scheduler_user().display().to_string();
    for argument in arguments {
        command.arg(argument.replace("/etc/kubernetes/scheduler.conf", &kubeconfig));
    }
    command.arg(format!("--secure-port={port}"));
    plane.start_with_flags("static-pod", command, port)
}

#[tokio::test(flavor = "multi_thread")]
async fn kube_scheduler_is_swapped_and_back_as_the_page_says() {
    let Some(plane) = ControlPlane::start(FOLDER).await else {
        return;
    };
    let api = plane.admin().await;
    let load = Load { nodes: 20, pods: 0 };
    load.create_nodes(&api).await;
    let static_pod = &documents("static-pod.yaml")[0];
    apply(&api, static_pod, "&dryRun=All").await;
    // A control plane node's files, under a folder of the test's own.
    let root = tempfile::tempdir().expect("a folder");
    let manifest = root
        .path()
        .join("etc/kubernetes/manifests/kube-scheduler.yaml");
    std::fs::create_dir_all(manifest.parent().expect("a folder")).expect("it is made");
    std::fs::create_dir_all(root.path().join("root")).expect("it is made");
    std::fs::write(&manifest, "kube-scheduler's own\n").expect("it is written");
    let port = free_port();
    let shell = |line: &str| {
        let own = root.path().display();
        let line = line
            .replace("/etc/kubernetes", &format!("{own}/etc/kubernetes"))
            .replace("/root/", &format!("{own}/root/"))
            .replace("10259", &port.to_string());
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(deploy())
            .output();
        let output = output.expect("there is a shell");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), told)
    };
    let swap = commands("Swapping kube-scheduler");
    let (ask, copies) = swap.split_last().expect("commands");
    for line in copies {
        assert!(shell(line).0, "{line}");
    }
    assert_eq!(
        std::fs::read_to_string(&manifest).ok(),
        Some(text("static-pod.yaml"))
    );
    let mut scheduler = run_by_kubelet(&manifest, &plane, port);
    plane.synced(&mut scheduler).await;
    let (succeeds, told) = shell(ask);
    assert!(
        succeeds && told.contains("readyz check passed"),
        "{ask}: {told}"
    );
    bound(&api, &mut scheduler, pod("swapped", "default-scheduler")).await;
    assert_modest(&plane, "system:kube-scheduler");
    let back = commands("Rolling back");
    for line in &back {
        assert!(shell(line).0, "{line}");
    }
    let own = std::fs::read_to_string(&manifest).expect("it is there");
    assert_eq!(own, "kube-scheduler's own\n");
    assert_eq!(
        scheduler.process.stop().code(),
        Some(0),
        "{}",
        scheduler.process.log()
    );
    // The lease is free, and kube-scheduler goes on at once.
    let config = json!({"leaderElection": {"leaderElect": true}});
    let mut before = plane.start_kube_scheduler("kube-scheduler", config);
    bound(&api, &mut before, pod("back", "default-scheduler")).await;
}
