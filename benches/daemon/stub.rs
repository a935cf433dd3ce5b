//! A scheduler's process beside the scripted API server, which is in this process.

use super::objects;
use berth_api_server::Server;
use berth_control_plane::process::Process;
use berth_test_support::command::berth;
use berth_test_support::go;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The end of a turn that hangs.
const LIMIT: Duration = Duration::from_mins(15);
/// Without a request for so long, a scheduler has done what it had to.
const QUIET: Duration = Duration::from_secs(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// What the server was asked.
#[derive(Debug)]
pub struct Heard {
    /// Pods that were bound, and when that was asked.
    pub bindings: Vec<(String, Instant)>,
    pub patches: usize,
    /// The last request.
    pub last: Instant,
}

/// One turn: a server with nodes of its own, and a scheduler.
pub struct Turn {
    pub server: Arc<Server>,
    pub process: Process,
    /// When the process was started.
    pub began: Instant,
    heard: Arc<Mutex<Heard>>,
    folder: TempDir,
}

/// Which of the two; the Go program is built once.
#[derive(Clone, Debug)]
pub enum Which {
    Kube(PathBuf),
    Berth,
}

impl Which {
    /// kube-scheduler and Berth.
    pub fn both(folder: &str) -> [Self; 2] {
        let program = go::program("controlplane", "./controlplane", folder).expect("Go is there");
        [Self::Kube(program), Self::Berth]
    }

    fn command(&self) -> Command {
        match self {
            Self::Kube(program) => {
                let mut command = Command::new(program);
                command.arg("kube-scheduler");
                command
            }
            Self::Berth => {
                let mut command = berth();
                command.arg("run");
                command
            }
        }
    }
}

impl Turn {
    /// Starts a scheduler on a server that has so many nodes, and whatever `fill` puts there.
    pub async fn start(which: &Which, nodes: usize, fill: impl FnOnce(&Server)) -> Self {
        let server = Server::start().await;
        server.fill("namespaces", ["default", "kube-system"].into_iter().map(|name| {
            json!({"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}})
        }));
        server.fill("nodes", (0..nodes).map(objects::node));
        fill(&server);
        let heard = Arc::new(Mutex::new(Heard {
            bindings: Vec::new(),
            patches: 0,
            last: Instant::now(),
        }));
        let told = heard.clone();
        server.listen(move |verb, resource, name| {
            let now = Instant::now();
            let mut heard = locked(&told);
            heard.last = now;
            match (verb, resource) {
                ("create", "pods/binding") => heard.bindings.push((name.to_owned(), now)),
                ("patch", "pods/status") => heard.patches += 1,
                _ => {}
            }
        });
        let folder = TempDir::new().expect("a temporary folder");
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, server.kubeconfig("scheduler")).expect("it is written");
        // The server speaks JSON alone, and no limit of the client's is to be measured.
        let config = json!({
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {
                "kubeconfig": kubeconfig,
                "contentType": "application/json",
                "acceptContentTypes": "application/json",
                "qps": 100_000,
                "burst": 100_000,
            },
            "leaderElection": {"leaderElect": false},
        });
        let file = folder.path().join("config");
        std::fs::write(&file, config.to_string()).expect("it is written");
        let mut command = which.command();
        command.arg(format!("--config={}", file.display()));
        command.arg("--secure-port=0");
        let began = Instant::now();
        let process = Process::start("scheduler", command, folder.path());
        Self {
            server: Arc::new(server),
            process,
            began,
            heard,
            folder,
        }
    }

    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        locked(&self.heard)
    }

    /// Waits until there is an answer, or the time is over.
    pub async fn until<T>(
        &mut self,
        limit: Duration,
        look: impl Fn(&Self) -> Option<T>,
    ) -> Option<T> {
        let end = Instant::now() + limit;
        loop {
            if let Some(found) = look(self) {
                return Some(found);
            }
            if let Some(status) = self.process.exit_status() {
                panic!("ended by itself, {status}: {}", self.process.log());
            }
            if Instant::now() > end {
                return None;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until so many bindings were asked for, and gives the time of the last one.
    pub async fn bound(&mut self, count: usize) -> Instant {
        let last = |turn: &Self| {
            let heard = turn.heard();
            (heard.bindings.len() >= count).then(|| heard.bindings.last().map(|(_, at)| *at))
        };
        let found = self.until(LIMIT, last).await;
        let asked = self.heard().bindings.len();
        let folder = self.folder.path().display();
        let found = found.unwrap_or_else(|| {
            panic!(
                "{asked} of {count} bindings in {folder}: {}",
                self.process.log()
            )
        });
        found.unwrap_or(self.began)
    }

    /// Waits until nothing is asked any more.
    pub async fn quiet(&mut self) {
        let is_quiet = |turn: &Self| (turn.heard().last.elapsed() > QUIET).then_some(());
        let found = self.until(LIMIT, is_quiet).await;
        assert!(found.is_some(), "it never comes to rest");
    }

    /// Puts pods at a rate (as fast as it goes, if that is 0) from a thread of its own; when each was put.
    pub fn offer(
        &self,
        pods: impl Iterator<Item = serde_json::Value> + Send + 'static,
        rate: usize,
    ) -> tokio::task::JoinHandle<Vec<Instant>> {
        let server = self.server.clone();
        tokio::task::spawn_blocking(move || {
            let begin = Instant::now();
            let pods = pods.enumerate().map(|(number, pod)| {
                if rate > 0 {
                    let due = begin + Duration::from_secs(1) * number as u32 / rate as u32;
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                }
                let at = Instant::now();
                server.put("pods", pod);
                at
            });
            pods.collect()
        })
    }

    /// No pod was bound twice, and no node has more than it holds.
    pub fn assert_lawful(&self) {
        let mut names: Vec<String> = {
            let heard = self.heard();
            heard
                .bindings
                .iter()
                .map(|(name, _)| name.clone())
                .collect()
        };
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a pod was bound twice");
        let mut nodes = std::collections::HashMap::<String, usize>::new();
        for pod in self.server.all("pods") {
            if let Some(node) = pod["spec"]["nodeName"].as_str() {
                *nodes.entry(node.to_owned()).or_default() += 1;
            }
        }
        // 4 processors, and 100 thousandths a pod.
        assert!(
            nodes.values().all(|count| *count <= 40),
            "a node is over its room"
        );
    }
}

/// Processor time that this process has taken, which is the server's.
pub fn own_processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn locked(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
