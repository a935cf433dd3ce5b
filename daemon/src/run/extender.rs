//! Extenders: processes that are asked over HTTP about nodes, scores, victims and bindings.
//!
//! The stage before is the configuration, the one after the loop, which asks through [`Extenders`] in the
//! middle of an attempt, and the writer, which lets one bind. Connections and TLS are kube's, as those to
//! the API server. An answer takes at most the extender's `httpTimeout` in all and 4 MiB; redirects are
//! not followed and nothing is asked twice.
//!
//! Mirrors `pkg/scheduler/extender.go`; the order is that of `buildExtenders` in
//! `pkg/scheduler/scheduler.go`.

mod ask;
#[cfg(test)]
mod tests;
mod wire;

#[cfg(test)]
pub use ask::planted;
pub use ask::{Asking, Extenders};

use super::kept::Keeps;
use super::pod_ref::PodRef;
use crate::failure::Failure;
use berth_core::object::config::Extender as Config;
use berth_daemon::extender_answer;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// For answers, unless the configuration says how long.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of an answer. The largest sensible one, whole nodes of a large cluster, stays far below.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// One extender.
pub struct Extender {
    config: Config,
    client: kube::Client,
    time: Duration,
}

/// What is not checked about extenders' certificates, a sentence each.
pub fn notes(extenders: &[Config]) -> impl Iterator<Item = String> {
    unchecked(extenders).map(|url| {
        format!("the certificate of the extender {url} is not checked; tlsConfig.caFile names who signs it")
    })
}

/// Those whose certificates are not checked, by URL.
pub fn unchecked(extenders: &[Config]) -> impl Iterator<Item = &str> {
    let open = extenders.iter().filter(|own| is_unchecked(own));
    open.map(|own| own.url_prefix.as_str())
}

/// `insecure`, or HTTPS without a CA. Mirrors `makeTransport`.
fn is_unchecked(config: &Config) -> bool {
    let tls = config.tls_config.as_ref();
    let has_ca = tls.is_some_and(|tls| !tls.ca_data.is_empty() || !tls.ca_file.is_empty());
    tls.is_some_and(|tls| tls.insecure) || (config.enable_https && !has_ca)
}

/// All of a defaulted configuration, those whose failing fails pods first.
///
/// # Errors
/// Certificates and keys that cannot be used.
pub async fn connect(configs: &[Config]) -> Result<Vec<Arc<Extender>>, Failure> {
    let mut sorted: Vec<&Config> = configs.iter().collect();
    sorted.sort_by_key(|own| own.ignorable);
    let mut extenders = Vec::new();
    for config in sorted {
        let extender = Extender::new(config.clone())
            .await
            .map_err(|why| Failure::Usage(format!("the extender {}: {why}", config.url_prefix)))?;
        extenders.push(Arc::new(extender));
    }
    Ok(extenders)
}

/// Which objects requests to these extenders carry.
pub fn keeps(extenders: &[Config]) -> Keeps {
    let whole = |verb: fn(&Config) -> &str| {
        let mut own = extenders.iter();
        own.any(|own| !own.node_cache_capable && !verb(own).is_empty())
    };
    Keeps {
        pending: !extenders.is_empty(),
        bound: whole(|own| &own.preempt_verb),
        nodes: whole(|own| &own.filter_verb) || whole(|own| &own.prioritize_verb),
    }
}

impl Extender {
    async fn new(config: Config) -> Result<Self, String> {
        let tls = config.tls_config.clone().unwrap_or_default();
        let unchecked = is_unchecked(&config);
        if unchecked && !(tls.ca_data.is_empty() && tls.ca_file.is_empty()) {
            let why = "specifying a root certificates file with the insecure flag is not allowed";
            return Err(why.to_owned());
        }
        let url: http::Uri = (config.url_prefix.parse()).map_err(|error| said(&error))?;
        let scheme = url.scheme_str().unwrap_or("http");
        let authority = url.authority().map_or("", |own| own.as_str());
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        // The one way into kube's TLS that reads files and data alike.
        let kubeconfig = json!({
            "clusters": [{"name": "extender", "cluster": {
                "server": format!("{scheme}://{authority}"),
                "insecure-skip-tls-verify": unchecked,
                "certificate-authority": given(&tls.ca_file),
                "certificate-authority-data": given(tls.ca_data.as_base64()),
                "tls-server-name": given(&tls.server_name),
            }}],
            "users": [{"name": "scheduler", "user": {
                "client-certificate": given(&tls.cert_file),
                "client-certificate-data": given(tls.cert_data.as_base64()),
                "client-key": given(&tls.key_file),
                "client-key-data": given(tls.key_data.as_base64()),
            }}],
            "contexts": [{"name": "it", "context": {"cluster": "extender", "user": "scheduler"}}],
            "current-context": "it",
        });
        let kubeconfig: Kubeconfig =
            serde_json::from_value(kubeconfig).map_err(|error| said(&error))?;
        let options = KubeConfigOptions::default();
        let mut way = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| said(&error))?;
        if way.root_cert.as_ref().is_some_and(Vec::is_empty) {
            return Err("unable to load root certificates: there is none".to_owned());
        }
        way.proxy_url = None;
        way.default_retry = false;
        way.disable_compression = true;
        // Differs from kube-scheduler, which waits for ever if it is negative.
        let nanos = u64::try_from(config.http_timeout.nanos()).ok();
        let time = nanos.filter(|nanos| *nanos > 0).map(Duration::from_nanos);
        Ok(Self {
            client: kube::Client::try_from(way).map_err(|error| said(&error))?,
            time: time.unwrap_or(TIMEOUT),
            config,
        })
    }

    /// Whether it is to be asked about a pod: it manages no resource, or one that the pod names. Mirrors
    /// `IsInterested`.
    pub fn is_interested(&self, pod: &Value) -> bool {
        let managed = &self.config.managed_resources;
        let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
        let mut containers = lists.into_iter().flatten().flatten();
        managed.is_empty()
            || containers.any(|own| {
                let maps = ["requests", "limits"].map(|map| own["resources"][map].as_object());
                let mut named = maps.into_iter().flatten().flatten();
                named.any(|(name, _)| managed.iter().any(|resource| resource.name == *name))
            })
    }

    /// Whether it binds.
    pub fn is_binder(&self) -> bool {
        !self.config.bind_verb.is_empty()
    }

    /// Whether its failing does not fail the pod.
    pub const fn is_ignorable(&self) -> bool {
        self.config.ignorable
    }

    /// Its URL.
    pub fn name(&self) -> &str {
        &self.config.url_prefix
    }

    /// Has a pod bound.
    ///
    /// # Errors
    /// What it says, or that it did not answer: then the pod may be bound all the same.
    pub async fn bind(&self, pod: &PodRef, node: &str) -> Result<(), String> {
        let body = json!({
            "PodName": pod.name,
            "PodNamespace": pod.namespace,
            "PodUID": pod.uid,
            "Node": node,
        });
        let body = serde_json::to_vec(&body).map_err(|error| said(&error))?;
        extender_answer::bound(&self.send(&self.config.bind_verb, body).await?)
    }

    /// Asks, within the time limit. Mirrors `send`.
    async fn send(&self, verb: &str, body: Vec<u8>) -> Result<Value, String> {
        let url = format!("{}/{verb}", self.config.url_prefix.trim_end_matches('/'));
        let failed = |why: &dyn fmt::Display| format!("Post {url:?}: {why}");
        let answer = async {
            let uri: http::Uri = url.parse().map_err(|error| failed(&error))?;
            let path = uri.path_and_query().map_or("/", |own| own.as_str());
            let request = Request::post(path)
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(body))
                .map_err(|error| failed(&error))?;
            let answer = self.client.send(request).await;
            let answer = answer.map_err(|error| failed(&said(&error)))?;
            let status = answer.status();
            if status != StatusCode::OK {
                let code = status.as_u16();
                return Err(format!(
                    "failed {verb} with extender at URL {url}, code {code}"
                ));
            }
            let limited = http_body_util::Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
            let read = limited.collect().await;
            Ok(read.map_err(|error| failed(&error))?.to_bytes())
        };
        let bytes = tokio::time::timeout(self.time, answer)
            .await
            .map_err(|_| failed(&"context deadline exceeded"))??;
        extender_answer::first(&bytes)
    }
}

/// An error with all that is behind it.
fn said(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(error) = below {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        below = error.source();
    }
    text
}
