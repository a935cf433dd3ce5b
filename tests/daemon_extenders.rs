//! `berth run` with extenders: what they are asked, and what their answers do.

#[path = "daemon_extenders/bind.rs"]
mod bind;
#[path = "daemon_extenders/faults.rs"]
mod faults;
#[path = "daemon_extenders/filter.rs"]
mod filter;
#[path = "daemon_extenders/preempt.rs"]
mod preempt;

use berth_api_server::Server;
use berth_test_support::command::berth;
use berth_test_support::extender::{Extender, Reply};
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use tempfile::TempDir;

/// The process, which ends with the test.
struct Daemon {
    child: Child,
    folder: TempDir,
}

impl Daemon {
    /// With these extenders in its configuration.
    fn start(server: &Server, extenders: &Value) -> Self {
        Self::with(server, json!({"extenders": extenders}))
    }

    /// With these fields in its configuration.
    fn with(server: &Server, fields: Value) -> Self {
        let folder = TempDir::new().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, server.kubeconfig("scheduler")).expect("it is written");
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
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let mut command = berth();
        command
            .arg("run")
            .arg(format!("--config={}", file.display()))
            .args(["--secure-port=0", "-v=4"])
            .stdin(Stdio::null())
            .stderr(log);
        let child = command.spawn().expect("it starts");
        Self { child, folder }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "metadata": {"namespace": "default", "name": name},
        "spec": {"schedulerName": "default-scheduler", "containers": [
            {"name": "one", "image": "example.com/one:1", "resources": {"requests": {"cpu": cpu}}},
        ]},
        "status": {"phase": "Pending"},
    })
}

fn node_of(server: &Server, name: &str) -> Option<String> {
    let pod = server.get("pods", "default", name)?;
    pod["spec"]["nodeName"].as_str().map(str::to_owned)
}

async fn bound(server: &Server, name: &str) -> String {
    server
        .until(&format!("{name} is bound"), |server| node_of(server, name))
        .await
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

/// Bindings that were asked of the API server for a pod.
fn bindings(server: &Server, name: &str) -> usize {
    let calls = server.calls();
    let of_pod = calls.iter().filter(|call| call.resource == "pods/binding");
    of_pod.filter(|call| call.name == name).count()
}

/// Names that a request or an answer lists.
fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).collect()
}
