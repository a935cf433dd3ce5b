//! SIGUSR2: what cache and queue hold is logged, and compared with fresh lists.
//!
//! Mirrors `pkg/scheduler/backend/cache/debugger`. What changes while the lists are read may show up as
//! a difference once; what shows up again is one.

use super::client::{Api, LIST_TIME};
use super::drive::Request;
use super::kept::Keeps;
use super::line::Page;
use super::resources::{NODES, PODS, RESOURCES};
use super::watcher::News;
use berth_core::object::Object;
use std::collections::BTreeSet;
use tokio::sync::{mpsc, oneshot};

/// Names in a line of differences at most.
const NAMED_MAX: usize = 20;

/// What the model holds, by name.
#[derive(Debug, Default)]
pub struct Held {
    pub nodes: BTreeSet<String>,
    /// `NAMESPACE/NAME UID on NODE`, or without a node.
    pub pods: BTreeSet<String>,
    /// Scheduler names that are served.
    pub profiles: BTreeSet<String>,
}

/// Logs a dump and the differences.
pub async fn compare(api: &Api, requests: &mpsc::Sender<Request>) {
    let (reply, dump) = oneshot::channel();
    if requests.send(Request::Dump(reply)).await.is_err() {
        return;
    }
    if let Ok(dump) = dump.await {
        for line in dump.lines() {
            tracing::info!(target: "run", line, "Dump");
        }
    }
    let listed = match (list(api, NODES).await, list(api, PODS).await) {
        (Ok(nodes), Ok(pods)) => (nodes, pods),
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(target: "run", error, "The lists to compare with cannot be read");
            return;
        }
    };
    let (reply, held) = oneshot::channel();
    if requests.send(Request::Held(reply)).await.is_err() {
        return;
    }
    let Ok(held) = held.await else {
        return;
    };
    let nodes = listed.0.iter().map(|node| node.metadata().name.clone());
    tell("nodes", &nodes.collect(), &held.nodes);
    let pods = listed
        .1
        .iter()
        .filter_map(|object| line_of(object, &held.profiles));
    tell("pods", &pods.collect(), &held.pods);
}

fn line_of(object: &Object, profiles: &BTreeSet<String>) -> Option<String> {
    let Object::Pod(pod) = object else {
        return None;
    };
    let node = &pod.spec.node_name;
    if node.is_empty() && !profiles.contains(&pod.spec.scheduler_name) {
        return None;
    }
    let metadata = &pod.metadata;
    Some(pod_line(
        &metadata.namespace,
        &metadata.name,
        &metadata.uid,
        node,
    ))
}

/// A pod in one line.
pub fn pod_line(namespace: &str, name: &str, uid: &str, node: &str) -> String {
    format!("{namespace}/{name} {uid} on {node}")
}

fn tell(what: &str, listed: &BTreeSet<String>, held: &BTreeSet<String>) {
    let some = |names: Vec<&String>| -> String {
        let shown: Vec<&str> = names
            .iter()
            .take(NAMED_MAX)
            .map(|name| name.as_str())
            .collect();
        shown.join(", ")
    };
    let missed: Vec<&String> = listed.difference(held).collect();
    let redundant: Vec<&String> = held.difference(listed).collect();
    if missed.is_empty() && redundant.is_empty() {
        tracing::info!(target: "run", what, count = held.len(), "Cache is as the API server has it");
        return;
    }
    tracing::warn!(
        target: "run",
        what,
        missed = some(missed),
        redundant = some(redundant),
        "Cache mismatch"
    );
}

async fn list(api: &Api, place: usize) -> Result<Vec<Object>, String> {
    let Some(resource) = RESOURCES.get(place) else {
        return Ok(Vec::new());
    };
    let mut objects = Vec::new();
    let mut token = String::new();
    loop {
        let query = format!("limit=500&continue={}", super::watcher::escaped(&token));
        let path = resource.with_query(&query);
        let bytes = api.get(&path, LIST_TIME).await;
        let bytes = bytes.map_err(|error| error.to_string())?;
        let page = Page::read(resource.kind, &bytes, Keeps::default())?;
        objects.extend(page.news.into_iter().filter_map(|news| match news {
            News::Applied(object, _) => Some(*object),
            _ => None,
        }));
        token = page.next;
        if token.is_empty() {
            return Ok(objects);
        }
    }
}
