//! The secure port of `berth run`: who is let in, when nobody can say, and which certificate is shown.

#[allow(dead_code, reason = "nothing is scheduled here")]
mod daemon_process;

use berth_api_server::{Fault, Refusal, Server};
use berth_control_plane::api::Api;
use berth_control_plane::authority::{Authority, Pair};
use berth_control_plane::port::free_port;
use berth_control_plane::wait::until;
use daemon_process::{Daemon, folder};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where the reviews are, which are kept nowhere.
const TOKENS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESSES: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Authorities of clients and of the front proxy, in folders of their own.
struct Authorities {
    clients: Authority,
    proxies: Authority,
    folder: TempDir,
}

impl Authorities {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let make = |name: &str| {
            let own = folder.path().join(name);
            std::fs::create_dir(&own).expect("a folder");
            Authority::new(&own)
        };
        Self {
            clients: make("clients"),
            proxies: make("proxies"),
            folder,
        }
    }

    /// Said by the cluster's own settings.
    fn tell(&self, server: &Server) {
        let pem = |authority: &Authority| {
            std::fs::read_to_string(authority.certificate()).expect("it is there")
        };
        server.put(
            "configmaps",
            json!({
                "metadata": {"namespace": "kube-system", "name": "extension-apiserver-authentication"},
                "data": {
                    "client-ca-file": pem(&self.clients),
                    "requestheader-client-ca-file": pem(&self.proxies),
                    "requestheader-allowed-names": "[\"front-proxy\"]",
                    "requestheader-username-headers": "[\"X-Remote-User\"]",
                    "requestheader-group-headers": "[\"X-Remote-Group\"]",
                    "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
                },
            }),
        );
    }

    /// A client of the port, with a certificate or without.
    async fn client(&self, name: &str, port: u16, pair: Option<&Pair>) -> Api {
        let user = pair.map_or(
            json!({}),
            |pair| json!({"client-certificate": pair.certificate, "client-key": pair.key}),
        );
        let path = self.folder.path().join(name);
        kubeconfig(&path, port, &self.clients.certificate(), &user);
        Api::new(&path).await
    }
}

fn kubeconfig(path: &Path, port: u16, authority: &Path, user: &Value) {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": authority,
        }}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    });
    std::fs::write(path, config.to_string()).expect("it is written");
}

/// The daemon on a port, with this certificate.
fn start(server: &Server, port: u16, certificate: &Path, key: &Path, flags: &[&str]) -> Daemon {
    let (folder, kubeconfig) = folder(server);
    let mut arguments = vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--secure-port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--leader-elect=false".to_owned(),
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-private-key-file={}", key.display()),
    ];
    arguments.extend(flags.iter().map(ToString::to_string));
    Daemon::run(folder, &arguments)
}

async fn up(api: &Api) {
    until("it serves", async || api.text("/healthz").await.ok()).await;
}

async fn code(api: &Api, path: &str, headers: &[(&str, &str)]) -> u16 {
    let answer = api.ask(path, headers).await;
    answer.unwrap_or_else(|error| panic!("{path}: {error}")).0
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_is_let_in_and_nobody_else() {
    let (server, all, port) = (Server::start().await, Authorities::new(), free_port());
    all.tell(&server);
    server.know_token("ours", "alice", &["readers"]);
    server.know_token("theirs", "bob", &[]);
    server.know_token("master", "root", &["system:masters"]);
    server.allow("alice", "get", "/metrics");
    let serving = all.clients.server("serving");
    // Answers are not kept, so that each is asked for.
    let flags = [
        "--authentication-token-webhook-cache-ttl=0s",
        "--authorization-webhook-cache-authorized-ttl=0s",
        "--authorization-webhook-cache-unauthorized-ttl=0s",
    ];
    let _daemon = start(&server, port, &serving.certificate, &serving.key, &flags);
    let nobody = all.client("nobody", port, None).await;
    up(&nobody).await;
    let pair = |user: &str, groups: &[&str]| all.clients.client(user, groups);
    let alice = all.client("alice", port, Some(&pair("alice", &[]))).await;
    let bob = all.client("bob", port, Some(&pair("bob", &[]))).await;
    let root = pair("root", &["system:masters"]);
    let root = all.client("root", port, Some(&root)).await;
    let proxy = all.proxies.client("front-proxy", &[]);
    let proxy = all.client("proxy", port, Some(&proxy)).await;
    let intruder = all.proxies.client("intruder", &[]);
    let intruder = all.client("intruder", port, Some(&intruder)).await;
    // Nobody here knows who made this one's.
    let elsewhere = Authorities::new();
    let stranger = elsewhere.clients.client("alice", &["system:masters"]);
    let stranger = all.client("stranger", port, Some(&stranger)).await;
    let late = all.clients.expired("late");
    let late = all.client("late", port, Some(&late)).await;
    let bearer = |token| ("Authorization", token);
    let (as_alice, as_bob) = (("X-Remote-User", "alice"), ("X-Remote-User", "bob"));
    let masters = ("X-Remote-Group", "system:masters");
    for (name, api, headers, expected) in [
        ("no credentials", &nobody, vec![], 403),
        (
            "another scheme",
            &nobody,
            vec![bearer("Basic b3Vycw==")],
            403,
        ),
        (
            "an unknown token",
            &nobody,
            vec![bearer("Bearer stolen")],
            401,
        ),
        (
            "a token without the right",
            &nobody,
            vec![bearer("Bearer theirs")],
            403,
        ),
        (
            "a token with the right",
            &nobody,
            vec![bearer("Bearer ours")],
            200,
        ),
        (
            "the scheme in small letters",
            &nobody,
            vec![bearer("bearer ours")],
            200,
        ),
        (
            "a token of the masters",
            &nobody,
            vec![bearer("Bearer master")],
            200,
        ),
        (
            "headers without a certificate",
            &nobody,
            vec![as_alice, masters],
            403,
        ),
        ("a client with the right", &alice, vec![], 200),
        ("a client without", &bob, vec![], 403),
        (
            "a client that says it is another",
            &bob,
            vec![as_alice, masters],
            403,
        ),
        ("a client of the masters", &root, vec![], 200),
        ("a client of an unknown authority", &stranger, vec![], 401),
        ("a client whose time is over", &late, vec![], 401),
        (
            "an unknown authority's client with a token that has the right",
            &stranger,
            vec![bearer("Bearer ours")],
            200,
        ),
        (
            "the proxy for one with the right",
            &proxy,
            vec![as_alice],
            200,
        ),
        ("the proxy for one without", &proxy, vec![as_bob], 403),
        ("the proxy for a master", &proxy, vec![as_bob, masters], 200),
        ("the proxy for nobody", &proxy, vec![], 401),
        (
            "another that the proxy's authority signed",
            &intruder,
            vec![as_alice],
            401,
        ),
    ] {
        assert_eq!(code(api, "/metrics", &headers).await, expected, "{name}");
    }
    // An open path asks nobody for rights, and still takes nobody for who they are not.
    assert_eq!(code(&bob, "/healthz", &[]).await, 200);
    assert_eq!(code(&stranger, "/healthz", &[]).await, 401);
}

/// Nobody who can say is a no; what was no answer is not kept.
#[tokio::test(flavor = "multi_thread")]
async fn without_an_answer_nobody_is_let_in() {
    let (server, all, port) = (Server::start().await, Authorities::new(), free_port());
    server.know_token("ours", "alice", &[]);
    server.allow("alice", "get", "/metrics");
    let serving = all.clients.server("serving");
    let _daemon = start(&server, port, &serving.certificate, &serving.key, &[]);
    let api = all.client("nobody", port, None).await;
    up(&api).await;
    let token = [("Authorization", "Bearer ours")];
    let broken = || Refusal::new(500, "InternalError", "out of order");
    let nonsense = || Fault::Answer {
        code: 200,
        content_type: "text/html".to_owned(),
        body: "<html>".to_owned(),
    };
    for (review, expected) in [(TOKENS, 401), (ACCESSES, 403)] {
        for fault in [Fault::Refuse(broken()), Fault::Cut, nonsense()] {
            let order = server.order("create", review, u64::MAX, fault.clone());
            let answer = code(&api, "/metrics", &token).await;
            assert_eq!(answer, expected, "{review}: {fault:?}");
            server.lift(order);
        }
    }
    assert_eq!(code(&api, "/metrics", &token).await, 200);
    assert!(server.count("create", TOKENS) >= 4);
}

/// Authorities are changed while the process runs: of a file that is given, and in the cluster's settings.
#[tokio::test(flavor = "multi_thread")]
async fn who_vouches_for_clients_is_read_again() {
    let (server, first, port) = (Server::start().await, Authorities::new(), free_port());
    let second = Authorities::new();
    first.tell(&server);
    server.allow("alice", "get", "/metrics");
    let file = first.folder.path().join("clients.crt");
    std::fs::copy(first.clients.certificate(), &file).expect("it is copied");
    let serving = first.clients.server("serving");
    let flag = format!("--client-ca-file={}", file.display());
    let daemon = start(&server, port, &serving.certificate, &serving.key, &[&flag]);
    let nobody = first.client("nobody", port, None).await;
    up(&nobody).await;
    let own = |all: &Authorities| all.clients.client("alice", &[]);
    let old = first.client("old", port, Some(&own(&first))).await;
    let new = first.client("new", port, Some(&own(&second))).await;
    let proxy = second.proxies.client("front-proxy", &[]);
    let proxy = first.client("proxy", port, Some(&proxy)).await;
    let as_alice = [("X-Remote-User", "alice")];
    assert_eq!(code(&old, "/metrics", &[]).await, 200);
    assert_eq!(code(&new, "/metrics", &[]).await, 401);
    assert_eq!(code(&proxy, "/metrics", &as_alice).await, 401);
    // What cannot be read leaves those who vouched.
    std::fs::write(&file, "nothing\n").expect("it is written");
    until("it was looked at", async || {
        let log = daemon.log();
        log.contains("Who vouches for clients was not read again")
            .then_some(())
    })
    .await;
    assert_eq!(code(&old, "/metrics", &[]).await, 200);
    std::fs::copy(second.clients.certificate(), &file).expect("it is copied");
    second.tell(&server);
    until("the new one is known", async || {
        (code(&new, "/metrics", &[]).await == 200).then_some(())
    })
    .await;
    assert_eq!(code(&old, "/metrics", &[]).await, 401);
    until("the new proxy is known", async || {
        (code(&proxy, "/metrics", &as_alice).await == 200).then_some(())
    })
    .await;
}

/// As kube-scheduler does: who is shown it decides.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_its_own_whose_time_is_over_is_served_all_the_same() {
    let (server, all, port) = (Server::start().await, Authorities::new(), free_port());
    let expired = all.clients.expired("serving");
    let _daemon = start(&server, port, &expired.certificate, &expired.key, &[]);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true,
        }}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    });
    let path = all.folder.path().join("careless");
    std::fs::write(&path, config.to_string()).expect("it is written");
    let careless = Api::new(&path).await;
    up(&careless).await;
    let careful = all.client("careful", port, None).await;
    assert!(
        careful.text("/healthz").await.is_err(),
        "it looks at the time"
    );
}

fn copied(pair: &Pair, certificate: &PathBuf, key: &PathBuf) {
    std::fs::copy(&pair.certificate, certificate).expect("it is copied");
    std::fs::copy(&pair.key, key).expect("it is copied");
}

/// B73, on the way: a new certificate that does not go with its key leaves the old one in use.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_shown_once_its_key_is_there_too() {
    let (server, first, port) = (Server::start().await, Authorities::new(), free_port());
    let second = Authorities::new();
    let (certificate, key) = (
        first.folder.path().join("tls.crt"),
        first.folder.path().join("tls.key"),
    );
    copied(&first.clients.server("serving"), &certificate, &key);
    let daemon = start(&server, port, &certificate, &key, &[]);
    let old = first.client("old", port, None).await;
    up(&old).await;
    let serving = second.clients.server("serving");
    std::fs::copy(&serving.certificate, &certificate).expect("it is copied");
    until("it was looked at", async || {
        // Each handshake looks, once the last look is old enough.
        let again = first.client("again", port, None).await;
        let _ = again.text("/healthz").await;
        daemon
            .log()
            .contains("Certificates were not read again")
            .then_some(())
    })
    .await;
    let again = first.client("again", port, None).await;
    assert_eq!(again.text("/healthz").await.ok().as_deref(), Some("ok"));
    copied(&serving, &certificate, &key);
    until("the new one is shown", async || {
        let new = second.client("new", port, None).await;
        new.text("/healthz").await.ok()
    })
    .await;
}

/// B73: what cannot be served stops the start, with what is wrong named.
#[tokio::test(flavor = "multi_thread")]
async fn b73_what_cannot_be_served_stops_the_start() {
    let (server, all) = (Server::start().await, Authorities::new());
    let (one, other) = (all.clients.server("one"), all.clients.server("other"));
    let missing = all.folder.path().join("missing.crt");
    let empty = all.folder.path().join("empty.crt");
    std::fs::write(&empty, "nothing\n").expect("it is written");
    let held = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = held.local_addr().expect("it is bound").port();
    for (certificate, key, port, flag, expected) in [
        (
            &one.certificate,
            &other.key,
            0,
            "",
            "the serving certificate",
        ),
        (&one.certificate, &empty, 0, "", "no private key"),
        (&missing, &one.key, 0, "", "missing.crt"),
        (&empty, &one.key, 0, "", "no certificate in it"),
        (
            &one.certificate,
            &one.key,
            0,
            "--tls-cipher-suites=ROT13",
            "ROT13",
        ),
        (
            &one.certificate,
            &one.key,
            0,
            "--tls-min-version=SSL3",
            "SSL3",
        ),
        (&one.certificate, &one.key, taken, "", "failed to listen"),
    ] {
        let port = if port == 0 { free_port() } else { port };
        let flags: Vec<&str> = [flag].into_iter().filter(|flag| !flag.is_empty()).collect();
        let daemon = start(&server, port, certificate, key, &flags);
        let ended = tokio::task::spawn_blocking(move || {
            let mut daemon = daemon;
            let status = daemon.child.wait().expect("it ends");
            (status.code(), daemon.log())
        });
        let (code, log) = ended.await.expect("it is waited for");
        assert_eq!(code, Some(1), "{expected}: {log}");
        assert!(log.contains(expected), "{expected}: {log}");
    }
    drop(held);
}
