//! The endpoints on the secure port.
//!
//! Mirrors `newEndpointsHandler` and `buildHandlerChain` of `cmd/kube-scheduler/app/server.go`: health
//! is open, all else asks who it is and whether they may.

mod auth;
mod certificate;
mod health;
mod listener;
mod review;
mod shown;
mod vouchers;

pub use auth::Gate;
pub use health::{Check, Checks};
pub use listener::Tls;

use super::drive::Request;
use super::metrics::Metrics;
use super::settings::Settings;
use crate::failure::Failure;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// What the endpoints tell of.
pub struct Served {
    pub metrics: Arc<Metrics>,
    pub checks: Checks,
    pub requests: mpsc::Sender<Request>,
    /// The configuration in force, as `/configz` shows it.
    pub config: serde_json::Value,
    pub flags: String,
    pub leads: watch::Receiver<bool>,
    pub started: jiff::Timestamp,
    /// Whether there is more to a decision than the core knows.
    pub has_extenders: bool,
}

/// Serves until the process ends.
///
/// # Errors
/// Certificates that cannot be used, a port that is in use.
pub async fn start(
    settings: &Settings,
    served: Arc<Served>,
    gate: Arc<Gate>,
) -> Result<(), Failure> {
    let args = &settings.args.serving;
    let tls = Tls::new(args, gate.clone())?;
    let address = if args.bind_address.contains(':') {
        format!("[{}]:{}", args.bind_address, args.secure_port)
    } else {
        format!("{}:{}", args.bind_address, args.secure_port)
    };
    let tcp = tokio::net::TcpListener::bind(&address)
        .await
        .map_err(|error| {
            Failure::Usage(format!(
                "failed to create listener: failed to listen on {address}: {error}"
            ))
        })?;
    tracing::info!(target: "serve", address, "Serving securely");
    let app = router(served).layer(middleware::from_fn_with_state(gate, auth::guard));
    let listener = listener::Listener::new(tcp, tls);
    let service = app.into_make_service_with_connect_info::<listener::Peer>();
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, service).await {
            tracing::error!(target: "serve", %error, "Serving ended");
        }
    });
    Ok(())
}

fn router(served: Arc<Served>) -> Router {
    Router::new()
        .route("/metrics", get(metrics).delete(metrics_reset))
        .route("/metrics/slis", get(slis))
        .route("/metrics/resources", get(resources))
        .route("/configz", get(configz))
        .route("/flagz", get(flagz))
        .route("/statusz", get(statusz))
        .route("/debug/berth/explain", get(explain))
        .route("/debug/berth/dump", get(dump))
        .route("/debug/flags/v", any(no_flags))
        .route("/debug/pprof", any(no_profiles))
        .route("/debug/pprof/{*rest}", any(no_profiles))
        .route("/healthz", get(health::root))
        .route("/healthz/{check}", get(health::one))
        .route("/livez", get(health::root))
        .route("/livez/{check}", get(health::one))
        .route("/readyz", get(health::root))
        .route("/readyz/{check}", get(health::one))
        .with_state(served)
}

const METRICS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

fn text(kind: &'static str, body: String) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn metrics(State(served): State<Arc<Served>>) -> Response {
    text(METRICS_TEXT, served.metrics.text())
}

async fn metrics_reset() -> Response {
    // Counters only rise here; upstream's reset is taken without effect.
    (StatusCode::OK, "metrics reset\n").into_response()
}

async fn slis(State(served): State<Arc<Served>>) -> Response {
    text(METRICS_TEXT, served.checks.slis())
}

/// Of a leader alone; a follower's page is empty.
async fn resources(State(served): State<Arc<Served>>) -> Response {
    if !*served.leads.borrow() {
        return text(METRICS_TEXT, String::new());
    }
    match ask(&served, Request::Resources).await {
        Some(body) => text(METRICS_TEXT, body),
        None => unavailable(),
    }
}

async fn configz(State(served): State<Arc<Served>>) -> Response {
    let body = json!({"componentconfig": served.config});
    text("application/json", body.to_string())
}

async fn flagz(State(served): State<Arc<Served>>) -> Response {
    text("text/plain; charset=utf-8", served.flags.clone())
}

async fn statusz(State(served): State<Arc<Served>>) -> Response {
    let up = jiff::Timestamp::now()
        .duration_since(served.started)
        .as_secs();
    let body = format!(
        "\nkube-scheduler statusz\nWarning: This endpoint is not meant to be machine parseable, has no \
         formatting compatibility guarantees and is for debugging purposes only.\n\nStarted: {}\nUp: \
         {up} s\nBinary version: {}\nEmulation version: 1.37\n",
        served.started,
        env!("CARGO_PKG_VERSION"),
    );
    text("text/plain; charset=utf-8", body)
}

async fn explain(
    State(served): State<Arc<Served>>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let Some(pod) = query.get("pod").cloned() else {
        let hint = "name the pod: /debug/berth/explain?pod=NAMESPACE/NAME\n";
        return (StatusCode::BAD_REQUEST, hint).into_response();
    };
    match ask(&served, |reply| Request::Explain(pod, reply)).await {
        Some(Some(record)) => match serde_json::to_string(&record) {
            Ok(body) => text("application/json", noted(&served, body)),
            Err(_) => unavailable(),
        },
        Some(None) => (StatusCode::NOT_FOUND, "no such pod is known\n").into_response(),
        None => unavailable(),
    }
}

/// A record that says what it leaves out.
fn noted(served: &Served, body: String) -> String {
    match body.strip_prefix('{') {
        Some(fields) if served.has_extenders => {
            format!("{{\"note\":\"extenders are not asked here\",{fields}")
        }
        _ => body,
    }
}

async fn dump(State(served): State<Arc<Served>>) -> Response {
    match ask(&served, Request::Dump).await {
        Some(body) => text("text/plain; charset=utf-8", body),
        None => unavailable(),
    }
}

async fn no_profiles() -> Response {
    let why = "Berth keeps no profiles; attach a sampling profiler such as perf\n";
    (StatusCode::NOT_FOUND, why).into_response()
}

async fn no_flags() -> Response {
    let why = "Berth's verbosity is set at its start, by -v\n";
    (StatusCode::NOT_FOUND, why).into_response()
}

fn unavailable() -> Response {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        "the loop does not answer\n",
    )
        .into_response()
}

/// Asks the loop, which answers between two attempts.
async fn ask<T>(served: &Served, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
    let (reply, answer) = oneshot::channel();
    served.requests.send(request(reply)).await.ok()?;
    answer.await.ok()
}
