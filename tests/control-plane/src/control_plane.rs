//! etcd and kube-apiserver of a test, and schedulers beside them.

use crate::api::Api;
use crate::audit::{self, Row};
use crate::authority::{Authority, Pair};
use crate::port::free_port;
use crate::process::Process;
use crate::wait::until;
use berth_test_support::go;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A control plane without controllers and kubelets: nobody heals, evicts or runs anything, so what
/// changes was changed by the test or by a scheduler. It is gone when this value is.
#[derive(Debug)]
pub struct ControlPlane {
    /// kube-apiserver; it forgets nothing when it is started again.
    pub apiserver: Process,
    /// etcd, with all there is.
    pub etcd: Process,
    program: PathBuf,
    port: u16,
    authority: Authority,
    serving: Pair,
    folder: TempDir,
}

/// A scheduler beside a control plane.
#[derive(Debug)]
pub struct Scheduler {
    /// Its process.
    pub process: Process,
    /// Where it serves health and metrics, by the control plane's authority.
    pub port: u16,
}

/// The built program. The tests of one suite run side by side; it is built once for them all.
static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Admission that waits for controllers, which are not there: service accounts, taints of nodes that
/// are not ready, finalizers of volumes in use.
const NOT_ADMITTED_BY: &str = "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection";

impl ControlPlane {
    /// A new, empty one that is ready. `folder` is the test's `CARGO_TARGET_TMPDIR`, where the Go
    /// program is built. `None`, said aloud, where there is no Go; that fails in CI.
    pub async fn start(folder: &str) -> Option<Self> {
        let program = PROGRAM
            .get_or_init(|| go::program("controlplane", "./controlplane", folder))
            .clone()?;
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path();
        let authority = Authority::new(path);
        let serving = authority.server("serving");
        write(&path.join("audit.yaml"), audit::POLICY);

        let etcd_port = free_port();
        let etcd = etcd(&program, etcd_port, path);
        let port = free_port();
        let apiserver = apiserver(&program, port, etcd_port, &authority, &serving, path);
        let mut plane = Self {
            etcd: Process::start("etcd", etcd, path),
            apiserver: Process::start("kube-apiserver", apiserver, path),
            program,
            port,
            authority,
            serving,
            folder,
        };
        plane.ready().await;
        Some(plane)
    }

    /// Waits until the API server says that it is ready, and has its first namespace.
    pub async fn ready(&mut self) {
        let admin = self.admin().await;
        until("the API server is ready", async || {
            for process in [&mut self.etcd, &mut self.apiserver] {
                if let Some(status) = process.exit_status() {
                    panic!("ended by itself, {status}: {}", process.log());
                }
            }
            admin.text("/readyz").await.ok()?;
            admin.get("/api/v1/namespaces/default").await.ok()
        })
        .await;
    }

    /// The API with every right.
    pub async fn admin(&self) -> Api {
        Api::new(&self.user("admin", &["system:masters"])).await
    }

    /// The kubeconfig of a user, whose rights are those of the groups and of what the test grants.
    pub fn user(&self, name: &str, groups: &[&str]) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.kubeconfig"));
        if !path.exists() {
            let pair = self.authority.client(name, groups);
            let text = kubeconfig(self.port, &self.authority, name, &pair);
            write(&path, &text.to_string());
        }
        path
    }

    /// The kubeconfig of kube-scheduler's user, which has the rights of upstream's built-in roles.
    pub fn scheduler_user(&self) -> PathBuf {
        self.user("system:kube-scheduler", &[])
    }

    /// What the API server has answered so far.
    pub fn audit(&self) -> Vec<Row> {
        audit::read(&self.folder.path().join("audit.log"))
    }

    /// Starts a command with its own flags, which serves at a port; with the certificate for that.
    pub fn start_with_flags(&self, name: &str, mut command: Command, port: u16) -> Scheduler {
        serve_with(&mut command, &self.serving);
        Scheduler {
            process: Process::start(name, command, self.folder.path()),
            port,
        }
    }

    /// Waits until a scheduler says that it is ready; its pages, as an administrator.
    pub async fn synced(&self, scheduler: &mut Scheduler) -> Api {
        let admin = self.user("admin", &["system:masters"]);
        let pages = Api::at_port(&admin, scheduler.port).await;
        until("the scheduler has synced", async || {
            if let Some(status) = scheduler.process.exit_status() {
                panic!("ended by itself, {status}: {}", scheduler.process.log());
            }
            pages.text("/readyz").await.ok()
        })
        .await;
        pages
    }

    /// Starts upstream's kube-scheduler with a KubeSchedulerConfiguration, which needs no
    /// apiVersion, kind and clientConnection.
    pub fn start_kube_scheduler(&self, name: &str, config: Value) -> Scheduler {
        let mut command = Command::new(&self.program);
        command.arg("kube-scheduler");
        self.start_scheduler(name, command, config)
    }

    /// Starts a command that takes kube-scheduler's flags, in the same way.
    pub fn start_scheduler(&self, name: &str, command: Command, config: Value) -> Scheduler {
        self.start_scheduler_as(&self.scheduler_user(), name, command, config)
    }

    /// The same as the user of a kubeconfig.
    pub fn start_scheduler_as(
        &self,
        kubeconfig: &Path,
        name: &str,
        mut command: Command,
        mut config: Value,
    ) -> Scheduler {
        config["apiVersion"] = json!("kubescheduler.config.k8s.io/v1");
        config["kind"] = json!("KubeSchedulerConfiguration");
        config["clientConnection"]["kubeconfig"] = json!(kubeconfig);
        let file = self.folder.path().join(format!("{name}.config.yaml"));
        write(&file, &config.to_string());
        let port = free_port();
        flag(&mut command, "config", file.display());
        flag(
            &mut command,
            "authentication-kubeconfig",
            kubeconfig.display(),
        );
        flag(
            &mut command,
            "authorization-kubeconfig",
            kubeconfig.display(),
        );
        flag(&mut command, "bind-address", "127.0.0.1");
        flag(&mut command, "secure-port", port);
        serve_with(&mut command, &self.serving);
        Scheduler {
            process: Process::start(name, command, self.folder.path()),
            port,
        }
    }
}

fn etcd(program: &Path, port: u16, folder: &Path) -> Command {
    let clients = format!("http://127.0.0.1:{port}");
    let peers = format!("http://127.0.0.1:{}", free_port());
    let mut command = Command::new(program);
    command.args([
        "etcd",
        "--unsafe-no-fsync",
        "--log-level=warn",
        "--name=etcd",
    ]);
    flag(&mut command, "data-dir", folder.join("etcd").display());
    flag(&mut command, "listen-client-urls", &clients);
    flag(&mut command, "advertise-client-urls", &clients);
    flag(&mut command, "listen-peer-urls", &peers);
    flag(&mut command, "initial-advertise-peer-urls", &peers);
    flag(&mut command, "initial-cluster", format!("etcd={peers}"));
    command
}

fn apiserver(
    program: &Path,
    port: u16,
    etcd: u16,
    authority: &Authority,
    serving: &Pair,
    folder: &Path,
) -> Command {
    // Signs tokens; its certificate is one form of a public key.
    let accounts = authority.server("accounts");
    let authority = authority.certificate();
    let mut command = Command::new(program);
    command.args([
        "kube-apiserver",
        "--advertise-address=127.0.0.1",
        "--audit-log-maxsize=100000",
        "--authorization-mode=Node,RBAC",
        "--bind-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]);
    let flags = &mut command;
    flag(flags, "audit-log-path", folder.join("audit.log").display());
    flag(
        flags,
        "audit-policy-file",
        folder.join("audit.yaml").display(),
    );
    flag(flags, "client-ca-file", authority.display());
    flag(flags, "disable-admission-plugins", NOT_ADMITTED_BY);
    flag(flags, "etcd-servers", format!("http://127.0.0.1:{etcd}"));
    flag(flags, "requestheader-client-ca-file", authority.display());
    flag(flags, "secure-port", port);
    flag(
        flags,
        "service-account-key-file",
        accounts.certificate.display(),
    );
    flag(
        flags,
        "service-account-signing-key-file",
        accounts.key.display(),
    );
    serve_with(flags, serving);
    command
}

fn serve_with(command: &mut Command, pair: &Pair) {
    flag(command, "tls-cert-file", pair.certificate.display());
    flag(command, "tls-private-key-file", pair.key.display());
}

fn flag(command: &mut Command, name: &str, value: impl std::fmt::Display) {
    command.arg(format!("--{name}={value}"));
}

fn kubeconfig(port: u16, authority: &Authority, name: &str, pair: &Pair) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": authority.certificate(),
        }}],
        "users": [{"name": name, "user": {
            "client-certificate": pair.certificate,
            "client-key": pair.key,
        }}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
        "current-context": "test",
    })
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
