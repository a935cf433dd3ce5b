//! Requests to the API server.
//!
//! Connections, TLS and credentials are kube's; its own retries are off, since a write whose answer
//! did not come may have happened. Every request has a time limit, and takes its turn at the rate
//! limit that the configuration gives. Whom the server does not know any more reads its credentials again.

#[cfg(test)]
mod tests;

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
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Bytes of an answer that is read whole: a page of a list.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Limit of a write or of reading one object.
pub const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Limit of a page of a list.
pub const LIST_TIME: Duration = Duration::from_secs(30);

/// Between two looks at credentials that were refused.
const RENEWAL: Duration = Duration::from_secs(1);

/// A way to the API server, with a rate limit of its own.
#[derive(Clone)]
pub struct Api {
    way: Arc<Way>,
    limiter: Arc<Limiter>,
}

/// The client, and how it is made anew.
struct Way {
    client: RwLock<kube::Client>,
    connection: Connection,
    agent: String,
    /// When credentials were read last; who renews them holds it meanwhile.
    read: Mutex<Instant>,
}

/// Where the API server is and as whom it is asked.
#[derive(Clone)]
pub struct Connection {
    pub config: kube::Config,
    kubeconfig: String,
    master: Option<String>,
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
pub async fn connection(kubeconfig: &str, master: Option<&str>) -> Result<Connection, Failure> {
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
    Ok(Connection {
        config,
        kubeconfig: kubeconfig.to_owned(),
        master: master.map(str::to_owned),
    })
}

/// A client of a connection, which says who it is.
fn client(config: &kube::Config, agent: &str) -> Result<kube::Client, Failure> {
    let mut config = config.clone();
    let agent = format!("{agent} berth/{}", env!("CARGO_PKG_VERSION"));
    if let Ok(value) = header::HeaderValue::from_str(&agent) {
        config.headers.push((header::USER_AGENT, value));
    }
    kube::Client::try_from(config)
        .map_err(|error| Failure::Usage(format!("the connection to the API server: {error}")))
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
    pub fn new(connection: &Connection, agent: &str, limiter: Limiter) -> Result<Self, Failure> {
        let way = Way {
            client: RwLock::new(client(&connection.config, agent)?),
            connection: connection.clone(),
            agent: agent.to_owned(),
            read: Mutex::new(Instant::now()),
        };
        Ok(Self {
            way: Arc::new(way),
            limiter: Arc::new(limiter),
        })
    }

    /// Sends a request. Whom the server does not know, with credentials that may have been changed since
    /// they were read, asks once more with those that are there now; nothing was done the first time.
    async fn ask(
        &self,
        build: impl Fn() -> Result<Request<Body>, ApiError>,
    ) -> Result<http::Response<Body>, ApiError> {
        let asked = Instant::now();
        let answer = self.client().send(build()?).await.map_err(unclear)?;
        if answer.status() != StatusCode::UNAUTHORIZED || !self.renew(asked).await {
            return Ok(answer);
        }
        self.client().send(build()?).await.map_err(unclear)
    }

    fn client(&self) -> kube::Client {
        let client = self.way.client.read();
        client.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the credentials again, unless that was tried a moment ago. Whether they were read since
    /// `asked`.
    async fn renew(&self, asked: Instant) -> bool {
        let mut read = self.way.read.lock().await;
        if *read > asked {
            return true;
        }
        if read.elapsed() < RENEWAL {
            return false;
        }
        *read = Instant::now();
        let Connection {
            kubeconfig, master, ..
        } = &self.way.connection;
        let renewed = connection(kubeconfig, master.as_deref()).await;
        match renewed.and_then(|renewed| client(&renewed.config, &self.way.agent)) {
            Ok(client) => {
                tracing::info!(target: "run", "The API server does not know us; credentials were read again");
                let mut own = self
                    .way
                    .client
                    .write()
                    .unwrap_or_else(PoisonError::into_inner);
                *own = client;
                true
            }
            Err(failure) => {
                let error = match failure {
                    Failure::Usage(why) => why,
                    other => format!("{other:?}"),
                };
                tracing::error!(target: "run", error, "The API server does not know us, and credentials cannot be read again");
                false
            }
        }
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
        let body = Bytes::from(body);
        let build = || request(method.clone(), path, content_type, body.clone());
        self.limiter.turn().await;
        let answer = async {
            let answer = self.ask(build).await?;
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
        self.limiter.turn().await;
        let build = || request(Method::GET, path, "", Bytes::new());
        let answer = tokio::time::timeout(time, self.ask(build))
            .await
            .map_err(|_| ApiError::Unclear(format!("nothing within {} s", time.as_secs())))??;
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
    body: Bytes,
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
