//! `berth run` as a process beside the scripted server, and what is asked of that server about pods.

use berth_api_server::Server;
use berth_test_support::command::berth;
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use tempfile::TempDir;

/// The process, which ends with the test.
pub struct Daemon {
    pub child: Child,
    pub folder: TempDir,
}

impl Daemon {
    /// With these arguments; files that they name are in the folder, which lives as long.
    pub fn run(folder: TempDir, arguments: &[String]) -> Self {
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let mut command = berth();
        command.args(["run", "-v=4"]);
        // Who asks nothing of its pages has none.
        if !arguments.iter().any(|own| own.starts_with("--secure-port")) {
            command.arg("--secure-port=0");
        }
        command.args(arguments).stdin(Stdio::null()).stderr(log);
        let child = command.spawn().expect("it starts");
        Self { child, folder }
    }

    pub fn log(&self) -> String {
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

/// A folder with a kubeconfig for the server, and the path of that.
pub fn folder(server: &Server) -> (TempDir, String) {
    let folder = TempDir::new().expect("a folder");
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, server.kubeconfig("scheduler")).expect("it is written");
    (folder, kubeconfig.display().to_string())
}

pub fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "metadata": {"namespace": "default", "name": name},
        "spec": {"schedulerName": "default-scheduler", "containers": [
            {"name": "one", "image": "example.com/one:1", "resources": {"requests": {"cpu": cpu}}},
        ]},
        "status": {"phase": "Pending"},
    })
}

pub fn node_of(server: &Server, name: &str) -> Option<String> {
    let pod = server.get("pods", "default", name)?;
    pod["spec"]["nodeName"].as_str().map(str::to_owned)
}

pub async fn bound(server: &Server, name: &str) -> String {
    server
        .until(&format!("{name} is bound"), |server| node_of(server, name))
        .await
}

/// Bindings that were asked of the server for a pod.
pub fn bindings(server: &Server, name: &str) -> usize {
    let calls = server.calls();
    let of_pod = calls.iter().filter(|call| call.resource == "pods/binding");
    of_pod.filter(|call| call.name == name).count()
}
