//! Writes about pods: bindings, status, evictions.
//!
//! Each runs as a task of its own, a bounded number at a time, and reports to the loop. No write
//! leaves while the process does not lead. A binding whose answer did not come is unclear: the pod is
//! read until it is clear, and keeps its room for so long.

#[cfg(test)]
mod tests;

use super::client::{Api, ApiError, REQUEST_TIME};
use super::clock::jittered;
use super::events::{Event, Events};
use super::extender::Extender;
use super::lead::Lead;
use super::pod_ref::PodRef;
use berth_core::object::PodCondition;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

/// Bindings under way at a time: each takes a connection.
pub const BINDINGS_MAX: usize = 64;
/// Status patches and evictions under way at a time.
const PATCHES_MAX: usize = 16;
/// Tries of a write that the server puts off.
const TRIES_MAX: u32 = 10;
/// Why nothing is written.
const NO_LEADER: &str = "this process does not lead any more";
/// Pauses between two looks at a pod whose binding is unclear.
const LOOKS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];

/// What a write came to.
#[derive(Clone, Debug)]
pub enum Report {
    /// The binding is there, so long after it was begun.
    Bound {
        pod: PodRef,
        node: String,
        took: Duration,
    },
    /// It was refused, or is not there after all.
    BindFailed {
        pod: PodRef,
        node: String,
        why: String,
        took: Duration,
    },
    /// Nobody knows yet.
    BindUnclear { pod: PodRef },
    /// Another one has bound the pod, to another node.
    Elsewhere { pod: PodRef },
    /// The pod is not there any more, or another one of its name is.
    Gone { pod: PodRef },
    /// An eviction for this pod failed.
    PreemptionFailed {
        preemptor: PodRef,
        why: String,
        took: Duration,
    },
    /// The victims of a pod are on their way, so long after they were chosen.
    Preempted { took: Duration },
    /// The volumes of a pod are asked for, or why not.
    VolumesWritten { pod: PodRef, failed: Option<String> },
}

/// What a status is to be changed to.
#[derive(Clone, Debug, Default)]
pub struct StatusPatch {
    pub condition: Option<PodCondition>,
    /// Whether the condition's status was another one before.
    pub is_transition: bool,
    pub generation: i64,
    /// `Some("")` takes it back.
    pub nominated_node: Option<String>,
}

/// An eviction.
#[derive(Clone, Debug)]
pub struct Eviction {
    pub victim: PodRef,
    pub patch: StatusPatch,
    /// Told when it is on its way.
    pub event: Event,
}

/// Starts writes.
#[derive(Clone)]
pub struct Writer {
    api: Api,
    lead: Lead,
    events: Events,
    reports: UnboundedSender<Report>,
    bindings: Arc<Semaphore>,
    patches: Arc<Semaphore>,
    stops: Arc<AtomicBool>,
    /// By uid, the patch that waits for the one under way.
    waiting: Arc<Mutex<HashMap<String, Option<StatusPatch>>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SeenPod {
    metadata: SeenMeta,
    spec: SeenSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SeenMeta {
    uid: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SeenSpec {
    node_name: String,
}

impl Writer {
    /// `reports` is read by the loop.
    pub fn new(api: Api, lead: Lead, events: Events, reports: UnboundedSender<Report>) -> Self {
        Self {
            api,
            lead,
            events,
            reports,
            bindings: Arc::new(Semaphore::new(BINDINGS_MAX)),
            patches: Arc::new(Semaphore::new(PATCHES_MAX)),
            stops: Arc::default(),
            waiting: Arc::default(),
        }
    }

    /// Whether another binding can begin at once.
    pub fn can_bind(&self) -> bool {
        !self.stops.load(Ordering::Relaxed) && self.bindings.available_permits() > 0
    }

    /// No further binding begins.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    /// How many bindings are under way.
    pub fn bindings(&self) -> usize {
        BINDINGS_MAX - self.bindings.available_permits()
    }

    /// Binds a pod to a node, or has an extender do it.
    pub fn bind(&self, pod: PodRef, node: String, binder: Option<Arc<Extender>>) {
        let own = self.clone();
        tokio::spawn(async move {
            let Ok(_permit) = own.bindings.clone().acquire_owned().await else {
                return;
            };
            let report = match binder {
                Some(binder) => own.bound_by(&binder, pod, node).await,
                None => own.bound(pod, node).await,
            };
            own.report(report);
        });
    }

    async fn bound(&self, pod: PodRef, node: String) -> Report {
        let path = format!("{}/binding", pod.path());
        let body = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        });
        let mut tries = 0;
        let began = Instant::now();
        loop {
            let failed = |pod, node, why| Report::BindFailed {
                pod,
                node,
                why,
                took: began.elapsed(),
            };
            if !self.lead.holds() {
                return failed(pod, node, in_plugin(NO_LEADER));
            }
            match self.api.post(&path, &body).await {
                Ok(_) => {
                    let took = began.elapsed();
                    return Report::Bound { pod, node, took };
                }
                Err(error) if error.code() == 429 && tries < TRIES_MAX => {
                    tries += 1;
                    let asked = error.retry_after().unwrap_or(Duration::from_secs(1));
                    sleep(jittered(asked, 0.2)).await;
                }
                Err(error) if error.code() == 404 => return Report::Gone { pod },
                // Bound already, gated, deleted, or changed meanwhile: the pod says which.
                Err(error) if error.code() == 409 || is_unclear(&error) => {
                    if error.code() != 409 {
                        self.report(Report::BindUnclear { pod: pod.clone() });
                    }
                    let why = in_plugin(&error.to_string());
                    return self.look(pod, node, why, began).await;
                }
                Err(error) => {
                    let why = in_plugin(&error.to_string());
                    return failed(pod, node, why);
                }
            }
        }
    }

    /// Whatever an extender says went wrong, it may have bound the pod: the API server knows. Mirrors
    /// `extendersBinding` of `pkg/scheduler/schedule_one.go`.
    async fn bound_by(&self, binder: &Extender, pod: PodRef, node: String) -> Report {
        let began = Instant::now();
        if !self.lead.holds() {
            let (why, took) = (NO_LEADER.to_owned(), began.elapsed());
            return Report::BindFailed {
                pod,
                node,
                why,
                took,
            };
        }
        match binder.bind(&pod, &node).await {
            Ok(()) => {
                let took = began.elapsed();
                Report::Bound { pod, node, took }
            }
            Err(error) if binder.is_ignorable() => {
                let name = binder.name();
                tracing::info!(target: "bind", extender = name, error, "Skipping extender in bind as it returned error and has ignorable flag set");
                self.bound(pod, node).await
            }
            Err(error) => {
                self.report(Report::BindUnclear { pod: pod.clone() });
                self.look(pod, node, error, began).await
            }
        }
    }

    /// Reads a pod until the server says where it is.
    async fn look(&self, pod: PodRef, node: String, why: String, began: Instant) -> Report {
        let mut pause = LOOKS[0];
        loop {
            match self.api.get(&pod.path(), REQUEST_TIME).await {
                Ok(bytes) => {
                    if let Ok(seen) = serde_json::from_slice::<SeenPod>(&bytes) {
                        if seen.metadata.uid != pod.uid {
                            return Report::Gone { pod };
                        }
                        let took = began.elapsed();
                        if seen.spec.node_name == node {
                            return Report::Bound { pod, node, took };
                        }
                        if !seen.spec.node_name.is_empty() {
                            return Report::Elsewhere { pod };
                        }
                        return Report::BindFailed {
                            pod,
                            node,
                            why,
                            took,
                        };
                    }
                }
                Err(error) if error.code() == 404 => return Report::Gone { pod },
                Err(_) => {}
            }
            sleep(jittered(pause, 0.2)).await;
            pause = (pause * 2).min(LOOKS[1]);
        }
    }

    /// Changes a pod's status. Of patches that wait for an earlier one of the same pod only the last
    /// is sent.
    pub fn patch(&self, pod: PodRef, patch: StatusPatch) {
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(next) = waiting.get_mut(&pod.uid) {
                *next = Some(match next.take() {
                    Some(old) => old.followed_by(patch),
                    None => patch,
                });
                return;
            }
            waiting.insert(pod.uid.clone(), None);
        }
        let own = self.clone();
        tokio::spawn(async move {
            let Ok(_permit) = own.patches.clone().acquire_owned().await else {
                return;
            };
            let mut patch = patch;
            loop {
                if let Err(error) = own.patched(&pod, &patch).await {
                    let pod = pod.key();
                    tracing::warn!(target: "status", pod, %error, "Failed to patch a pod's status");
                }
                let mut waiting = own.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(next) = waiting.get_mut(&pod.uid).and_then(Option::take) else {
                    waiting.remove(&pod.uid);
                    return;
                };
                patch = next;
            }
        });
    }

    async fn patched(&self, pod: &PodRef, patch: &StatusPatch) -> Result<(), ApiError> {
        let path = format!("{}/status", pod.path());
        let body = patch.body(pod);
        self.tried(true, || self.api.patch(&path, &body)).await
    }

    /// Sends a write again while the server is in trouble, or if `conflicts` pass, when another write
    /// came between; one of a pod that is gone is done.
    async fn tried<F, T>(&self, conflicts: bool, send: impl Fn() -> F) -> Result<(), ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        let mut pause = LOOKS[0];
        for _ in 0..TRIES_MAX {
            if !self.lead.holds() {
                return Ok(());
            }
            match send().await {
                Ok(_) => return Ok(()),
                Err(error) if error.code() == 404 => return Ok(()),
                Err(error) if error.is_passing() || (conflicts && error.code() == 409) => {
                    let asked = error.retry_after().unwrap_or_default();
                    sleep(jittered(pause.max(asked), 0.2)).await;
                    pause = (pause * 2).min(LOOKS[1]);
                }
                Err(error) => return Err(error),
            }
        }
        Err(ApiError::Unclear(format!("{TRIES_MAX} tries failed")))
    }

    /// Evicts pods so that another has room: all but the last at once, the last when they are gone.
    pub fn preempt(&self, preemptor: PodRef, evictions: Vec<Eviction>) {
        let own = self.clone();
        let began = Instant::now();
        tokio::spawn(async move {
            let mut evictions = evictions;
            let last = evictions.pop();
            let tasks: Vec<_> = evictions
                .into_iter()
                .map(|eviction| {
                    let own = own.clone();
                    tokio::spawn(async move { own.evicted(&eviction).await })
                })
                .collect();
            let mut failed = None;
            for task in tasks {
                if let Ok(Err(error)) = task.await {
                    failed = Some(error);
                }
            }
            if failed.is_none()
                && let Some(last) = last
            {
                failed = own.evicted(&last).await.err();
            }
            let took = began.elapsed();
            own.report(match failed {
                None => Report::Preempted { took },
                Some(error) => Report::PreemptionFailed {
                    preemptor,
                    why: error.to_string(),
                    took,
                },
            });
        });
    }

    async fn evicted(&self, eviction: &Eviction) -> Result<(), ApiError> {
        let Ok(_permit) = self.patches.clone().acquire_owned().await else {
            return Ok(());
        };
        let victim = &eviction.victim;
        if eviction.patch.condition.is_some() {
            self.patched(victim, &eviction.patch).await?;
        }
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": victim.uid},
        });
        let path = victim.path();
        let deleted = self.tried(false, || self.api.delete(&path, &body)).await;
        match deleted {
            // Another pod of the name: the victim is gone.
            Err(error) if error.code() == 409 => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                self.events.tell(eviction.event.clone());
                Ok(())
            }
        }
    }

    /// Tells the loop; one that has ended needs to know nothing.
    pub fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }

    /// What volumes need is written by the same rules.
    pub const fn api(&self) -> &Api {
        &self.api
    }

    /// Whether writes may leave.
    pub fn leads(&self) -> bool {
        self.lead.holds()
    }
}

fn in_plugin(why: &str) -> String {
    format!("running Bind plugin \"DefaultBinder\": {why}")
}

/// Whether a write may have happened: no answer, or one from a server in trouble.
const fn is_unclear(error: &ApiError) -> bool {
    matches!(error.code(), 0 | 500..=599)
}

impl StatusPatch {
    /// Both, the later one on top.
    fn followed_by(self, later: Self) -> Self {
        Self {
            is_transition: later.is_transition || (later.condition.is_none() && self.is_transition),
            condition: later.condition.or(self.condition),
            generation: later.generation,
            nominated_node: later.nominated_node.or(self.nominated_node),
        }
    }

    fn body(&self, pod: &PodRef) -> Value {
        let mut status = Map::new();
        if let Some(condition) = &self.condition {
            let mut written = json!({
                "type": condition.type_,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "observedGeneration": self.generation,
            });
            if self.is_transition {
                written["lastProbeTime"] = Value::Null;
                written["lastTransitionTime"] = super::events::rfc3339(false).into();
            }
            status.insert("conditions".to_owned(), json!([written]));
        }
        if let Some(node) = &self.nominated_node {
            let node = (!node.is_empty()).then_some(node);
            status.insert("nominatedNodeName".to_owned(), json!(node));
        }
        json!({"metadata": {"uid": pod.uid}, "status": status})
    }
}
