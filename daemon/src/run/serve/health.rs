//! Health: `/healthz`, `/livez`, `/readyz`, and each check of theirs.
//!
//! Mirrors `apiserver/pkg/server/healthz`.

use super::Served;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// One check: its name, and why it fails.
pub struct Check {
    pub name: &'static str,
    pub ask: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// The checks of each endpoint.
#[derive(Default)]
pub struct Checks {
    pub healthz: Vec<Arc<Check>>,
    pub livez: Vec<Arc<Check>>,
    pub readyz: Vec<Arc<Check>>,
    /// By check and endpoint, how often it passed and failed.
    counts: Mutex<BTreeMap<(&'static str, &'static str), [u64; 2]>>,
}

impl Check {
    /// A check that asks this.
    pub fn new(
        name: &'static str,
        ask: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            ask: Box::new(ask),
        })
    }

    /// That the process answers at all.
    pub fn ping() -> Arc<Self> {
        Self::new("ping", || Ok(()))
    }
}

impl Checks {
    fn of(&self, endpoint: &str) -> (&'static str, &[Arc<Check>]) {
        match endpoint {
            "healthz" => ("healthz", &self.healthz),
            "livez" => ("livez", &self.livez),
            _ => ("readyz", &self.readyz),
        }
    }

    fn count(&self, endpoint: &'static str, check: &'static str, passed: bool) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let [fails, passes] = counts.entry((check, endpoint)).or_default();
        *(if passed { passes } else { fails }) += 1;
    }

    /// `kubernetes_healthcheck` and `kubernetes_healthchecks_total`.
    pub fn slis(&self) -> String {
        let mut text = String::from("# TYPE kubernetes_healthcheck gauge\n");
        for (endpoint, checks) in [self.of("healthz"), self.of("livez"), self.of("readyz")] {
            for check in checks {
                let passes = u8::from((check.ask)().is_ok());
                let name = check.name;
                let _ = writeln!(
                    text,
                    "kubernetes_healthcheck{{name=\"{name}\",type=\"{endpoint}\"}} {passes}"
                );
            }
        }
        text.push_str("# TYPE kubernetes_healthchecks_total counter\n");
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for ((check, endpoint), [fails, passes]) in counts.iter() {
            for (status, count) in [("error", fails), ("success", passes)] {
                let _ = writeln!(
                    text,
                    "kubernetes_healthchecks_total{{name=\"{check}\",status=\"{status}\",\
                     type=\"{endpoint}\"}} {count}"
                );
            }
        }
        text
    }
}

/// An endpoint with all its checks.
pub async fn root(
    State(served): State<Arc<Served>>,
    uri: Uri,
    Query(query): Query<Vec<(String, String)>>,
) -> Response {
    let (endpoint, checks) = served.checks.of(uri.path().trim_matches('/'));
    let excluded = query.iter().filter(|(key, _)| key == "exclude");
    let excluded: Vec<&str> = excluded.map(|(_, name)| name.as_str()).collect();
    let (mut told, mut failed) = (String::new(), false);
    for check in checks {
        let name = check.name;
        if excluded.contains(&name) {
            let _ = writeln!(told, "[+]{name} excluded: ok");
            continue;
        }
        let answer = (check.ask)();
        served.checks.count(endpoint, name, answer.is_ok());
        match answer {
            Ok(()) => {
                let _ = writeln!(told, "[+]{name} ok");
            }
            Err(why) => {
                failed = true;
                tracing::debug!(target: "serve", endpoint, name, why, "A health check fails");
                let _ = writeln!(told, "[-]{name} failed: reason withheld");
            }
        }
    }
    let unknown = excluded
        .iter()
        .filter(|name| checks.iter().all(|check| check.name != **name));
    let unknown: Vec<String> = unknown.map(|name| format!("{name:?}")).collect();
    if !unknown.is_empty() {
        let unknown = unknown.join(",");
        let _ = writeln!(
            told,
            "warn: some health checks cannot be excluded: no matches for {unknown}"
        );
    }
    if failed {
        let body = format!("{told}{endpoint} check failed\n");
        return plain(StatusCode::INTERNAL_SERVER_ERROR, body);
    }
    if query.iter().any(|(key, _)| key == "verbose") {
        return plain(StatusCode::OK, format!("{told}{endpoint} check passed\n"));
    }
    plain(StatusCode::OK, "ok".to_owned())
}

/// One check of an endpoint.
pub async fn one(
    State(served): State<Arc<Served>>,
    uri: Uri,
    Path(name): Path<HashMap<String, String>>,
) -> Response {
    let endpoint = uri.path().split('/').nth(1).unwrap_or_default();
    let (endpoint, checks) = served.checks.of(endpoint);
    let name = name.get("check").map_or("", String::as_str);
    let Some(check) = checks.iter().find(|check| check.name == name) else {
        return plain(StatusCode::NOT_FOUND, "404 page not found\n".to_owned());
    };
    let answer = (check.ask)();
    served.checks.count(endpoint, check.name, answer.is_ok());
    match answer {
        Ok(()) => plain(StatusCode::OK, "ok".to_owned()),
        Err(why) => {
            let body = format!("internal server error: {why}\n");
            plain(StatusCode::INTERNAL_SERVER_ERROR, body)
        }
    }
}

fn plain(status: StatusCode, body: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, body).into_response()
}
