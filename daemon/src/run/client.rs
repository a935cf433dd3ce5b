//! Requests to the API server.
//!
//! Connections, TLS and credentials are kube's; its own retries are off, since a write whose answer
//! did not come may have happened. Every request has a time limit, and takes its turn at the rate
//! limit that the configuration gives.

use super::limiter::Limiter;
use crate::failure::Failure;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of an answer that is read whole: a page of a list.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Limit of a write or of reading one object.
pub const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Limit of a page of a list.
pub const LIST_TIME: Duration = Duration::from_secs(30);

/// A way to the API server, with a rate limit of its own.
#[derive(Clone)]
pub struct Api {
    client: kube::Client,
    limiter: Arc<Limiter>,
}

/// Why a request came to nothing.
#[derive(Clone, Debug)]
pub enum ApiError {
    /// The server refused it.
    Refused(Refusal),
    /// No whole answer came: it may have happened.
    Unclear(String),
}

/// The server's `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    pub code: u16,
    pub reason: String,
    pub message: String,
    /// The server's own word on when to come again.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) if refusal.message.is_empty() => {
                write!(f, "the server answered {} {}", refusal.code, refusal.reason)
            }
            Self::Refused(refusal) => f.write_str(&refusal.message),
            Self::Unclear(why) => write!(f, "no answer: {why}"),
        }
    }
}

impl ApiError {
    /// The status code of a refusal; 0 if no answer came.
    pub const fn code(&self) -> u16 {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Unclear(_) => 0,
        }
    }

    /// Whether the same request may succeed later: no answer, too many requests, a server in trouble.
    pub const fn is_passing(&self) -> bool {
        matches!(self.code(), 0 | 429 | 500..=599)
    }

    /// The server's own word on when to come again.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after,
            Self::Unclear(_) => None,
        }
    }
}

/// What is read of a `Status` object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    retry_after_seconds: u64,
}

/// Where the API server is, from `--master`, a kubeconfig, or the cluster that the process runs in.
///
/// # Errors
/// A file that cannot be read or names no server, and no cluster around the process.
pub async fn connection(kubeconfig: &str, master: Option<&str>) -> Result<kube::Config, Failure> {
    let master = master.filter(|url| !url.is_empty());
    let mut config = if kubeconfig.is_empty() {
        match master {
            Some(url) => kube::Config::new(server_url(url)?),
            None => kube::Config::incluster().map_err(|error| {
                Failure::Usage(format!(
                    "no --kubeconfig or clientConnection.kubeconfig is given, and the process runs \
                     in no cluster: {error}"
                ))
            })?,
        }
    } else {
        let wrong =
            |error: &dyn fmt::Display| Failure::Usage(format!("kubeconfig {kubeconfig}: {error}"));
        let mut read =
            Kubeconfig::read_from(Path::new(kubeconfig)).map_err(|error| wrong(&error))?;
        if let Some(url) = master {
            server_url(url)?;
            for cluster in &mut read.clusters {
                if let Some(cluster) = &mut cluster.cluster {
                    cluster.server = Some(url.to_owned());
                }
            }
        }
        let options = KubeConfigOptions::default();
        kube::Config::from_custom_kubeconfig(read, &options)
            .await
            .map_err(|error| wrong(&error))?
    };
    config.default_retry = false;
    config.disable_compression = true;
    Ok(config)
}

fn server_url(url: &str) -> Result<http::Uri, Failure> {
    let parsed: Option<http::Uri> = url.parse().ok();
    let has_scheme = |uri: &http::Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    parsed.filter(has_scheme).ok_or_else(|| {
        Failure::Usage(format!(
            "--master={url}: expected an address such as https://10.0.0.1:6443"
        ))
    })
}

impl Api {
    /// # Errors
    /// Certificates or keys that cannot be used.
    pub fn new(config: &kube::Config, agent: &str, limiter: Limiter) -> Result<Self, Failure> {
        let mut config = config.clone();
        let agent = format!("{agent} berth/{}", env!("CARGO_PKG_VERSION"));
        if let Ok(value) = header::HeaderValue::from_str(&agent) {
            config.headers.push((header::USER_AGENT, value));
        }
        let client = kube::Client::try_from(config).map_err(|error| {
            Failure::Usage(format!("the connection to the API server: {error}"))
        })?;
        Ok(Self {
            client,
            limiter: Arc::new(limiter),
        })
    }

    /// Reads an object or a page of a list.
    ///
    /// # Errors
    /// The server's refusal, or no answer within the time.
    pub async fn get(&self, path: &str, time: Duration) -> Result<Bytes, ApiError> {
        self.send(Method::GET, path, "", Vec::new(), time).await
    }

    /// Creates an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn post(&self, path: &str, body: &impl Serialize) -> Result<Bytes, ApiError> {
        let body = encode(body)?;
        self.send(Method::POST, path, "application/json", body, REQUEST_TIME)
            .await
    }

    /// Replaces an object; in it is the version that it had.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn put(&self, path: &str, body: &impl Serialize) -> Result<Bytes, ApiError> {
        let body = encode(body)?;
        self.send(Method::PUT, path, "application/json", body, REQUEST_TIME)
            .await
    }

    /// Changes fields of an object; lists are merged by their keys.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn patch(&self, path: &str, body: &impl Serialize) -> Result<Bytes, ApiError> {
        let kind = "application/strategic-merge-patch+json";
        let body = encode(body)?;
        self.send(Method::PATCH, path, kind, body, REQUEST_TIME)
            .await
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn delete(&self, path: &str, body: &impl Serialize) -> Result<Bytes, ApiError> {
        let body = encode(body)?;
        self.send(Method::DELETE, path, "application/json", body, REQUEST_TIME)
            .await
    }

    /// Sends a request and reads the whole answer, within `time` from its turn at the rate limit.
    ///
    /// # Errors
    /// The server's refusal, or no answer within the time.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
        time: Duration,
    ) -> Result<Bytes, ApiError> {
        let request = request(method, path, content_type, body)?;
        self.limiter.turn().await;
        let answer = async {
            let answer = self.client.send(request).await.map_err(unclear)?;
            let (parts, body) = answer.into_parts();
            let limited = http_body_util::Limited::new(body, ANSWER_BYTES_MAX);
            let bytes = limited.collect().await.map_err(unclear)?.to_bytes();
            Ok((parts, bytes))
        };
        let (parts, bytes) = tokio::time::timeout(time, answer)
            .await
            .map_err(|_| ApiError::Unclear(format!("nothing within {} s", time.as_secs())))??;
        if parts.status.is_success() {
            Ok(bytes)
        } else {
            Err(refused(parts.status, &parts.headers, &bytes))
        }
    }

    /// Begins a stream; `time` is the limit until its first byte may come.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn stream(&self, path: &str, time: Duration) -> Result<Body, ApiError> {
        let request = request(Method::GET, path, "", Vec::new())?;
        self.limiter.turn().await;
        let answer = tokio::time::timeout(time, self.client.send(request))
            .await
            .map_err(|_| ApiError::Unclear(format!("nothing within {} s", time.as_secs())))?
            .map_err(unclear)?;
        let (parts, body) = answer.into_parts();
        if parts.status.is_success() {
            return Ok(body);
        }
        let limited = http_body_util::Limited::new(body, 1 << 20);
        let read = tokio::time::timeout(time, limited.collect()).await;
        let bytes = match read {
            Ok(Ok(body)) => body.to_bytes(),
            _ => Bytes::new(),
        };
        Err(refused(parts.status, &parts.headers, &bytes))
    }
}

fn encode(body: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(body).map_err(unclear)
}

fn request(
    method: Method,
    path: &str,
    content_type: &str,
    body: Vec<u8>,
) -> Result<Request<Body>, ApiError> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, "application/json");
    if !content_type.is_empty() {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    request.body(Body::from(body)).map_err(unclear)
}

fn unclear(error: impl fmt::Display) -> ApiError {
    ApiError::Unclear(error.to_string())
}

fn refused(status: StatusCode, headers: &http::HeaderMap, body: &[u8]) -> ApiError {
    let told: Status = serde_json::from_slice(body).unwrap_or_default();
    let header = headers.get(header::RETRY_AFTER);
    let seconds = header.and_then(|value| value.to_str().ok()?.parse().ok());
    let in_body = Some(told.details.retry_after_seconds).filter(|seconds| *seconds > 0);
    ApiError::Refused(Refusal {
        code: status.as_u16(),
        reason: told.reason,
        message: told.message,
        retry_after: seconds.or(in_body).map(Duration::from_secs),
    })
}
