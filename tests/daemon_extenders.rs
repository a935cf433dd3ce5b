//! `berth run` with extenders: what they are asked, and what their answers do.

#[path = "daemon_extenders/bind.rs"]
mod bind;
mod daemon_process;
#[path = "daemon_extenders/faults.rs"]
mod faults;
#[path = "daemon_extenders/filter.rs"]
mod filter;
#[path = "daemon_extenders/preempt.rs"]
mod preempt;

use berth_api_server::Server;
use berth_test_support::extender::{Extender, Reply};
use daemon_process::{Daemon, bindings, bound, folder, node_of, pod};
use serde_json::{Value, json};

/// The daemon with these extenders in its configuration.
fn start(server: &Server, extenders: &Value) -> Daemon {
    with(server, json!({"extenders": extenders}))
}

/// With these fields in its configuration.
fn with(server: &Server, fields: Value) -> Daemon {
    let (folder, kubeconfig) = folder(server);
    let mut config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 1000, "burst": 1000},
        "leaderElection": {"leaderElect": false},
    });
    if let (Some(config), Value::Object(mut fields)) = (config.as_object_mut(), fields) {
        config.append(&mut fields);
    }
    let file = folder.path().join("config.json");
    std::fs::write(&file, config.to_string()).expect("it is written");
    let arguments = [format!("--config={}", file.display())];
    Daemon::run(folder, &arguments)
}

/// An extender's entry in the configuration, with these fields beside its address.
fn entry(extender: &Extender, fields: Value) -> Value {
    let mut entry = json!({"urlPrefix": extender.url()});
    if let (Some(entry), Value::Object(mut fields)) = (entry.as_object_mut(), fields) {
        entry.append(&mut fields);
    }
    entry
}

/// An extender that answers every verb so.
fn always(reply: Reply) -> Extender {
    Extender::start(move |_, _| reply.clone())
}

fn node(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    })
}

/// The message of the pod's condition, once it holds `part`; with the condition's reason.
async fn told(server: &Server, name: &str, part: &str) -> (String, String) {
    server
        .until(&format!("{name} is told {part:?}"), |server| {
            let pod = server.get("pods", "default", name)?;
            let conditions = pod["status"]["conditions"].as_array()?.clone();
            let own = conditions
                .into_iter()
                .find(|own| own["type"] == "PodScheduled")?;
            let text = |field: &str| own[field].as_str().unwrap_or_default().to_owned();
            let message = text("message");
            message.contains(part).then(|| (message, text("reason")))
        })
        .await
}

/// Names that a request or an answer lists.
fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}
