//! The loop: the one task that owns the scheduler.
//!
//! News of the watches and reports of the writers come in through channels; attempts are made while
//! there are pods to try, bindings have room and the process leads; writes go out to workers. Nothing
//! waits for a write, and an attempt only for extenders, if there are some.

mod attempt;
mod guard;
#[cfg(test)]
mod tests;
mod volumes;

use super::clock::Clock;
use super::compare::Held;
use super::events::{Event, Events};
use super::extender::Extenders;
use super::lead::Lead;
use super::metrics::Metrics;
use super::model::Model;
use super::pod_ref::PodRef;
use super::shadow::Judged;
use super::stopwatch::Stopwatch;
use super::watcher::Batch;
use super::writer::{Report, Writer};
use berth_core::{BindOutcome, DecisionRecord, Detail};
use guard::Guard;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use volumes::VolumeWait;

/// Messages that are taken in between two attempts.
const MESSAGES_MAX: usize = 64;
/// Attempts between two looks at other tasks of the thread.
const ATTEMPTS_MAX: u32 = 32;
/// Between two looks at gauges and at volumes that are being bound.
const BEAT: Duration = Duration::from_secs(1);
/// Events about what could not be taken in, a beat.
const REFUSALS_MAX: usize = 20;

/// What others ask of the loop.
#[derive(Debug)]
pub enum Request {
    /// Every node's verdict on a pod.
    Explain(String, oneshot::Sender<Option<DecisionRecord>>),
    /// What pods ask for, as metrics.
    Resources(oneshot::Sender<String>),
    /// Which nodes and pods the cache holds.
    Held(oneshot::Sender<Held>),
    /// What the cache and the queue hold, in words.
    Dump(oneshot::Sender<String>),
}

/// Everything that the loop owns.
pub struct Loop {
    pub model: Model,
    pub extenders: Extenders,
    pub clock: Clock,
    pub writer: Writer,
    pub events: Events,
    pub lead: Lead,
    pub metrics: Arc<Metrics>,
    pub watches: Receiver<Batch>,
    pub reports: UnboundedReceiver<Report>,
    pub requests: Receiver<Request>,
    /// Set when every kind was listed, before the first attempt.
    pub is_synced: Arc<AtomicBool>,
    waits: Vec<VolumeWait>,
    watch: Stopwatch,
    beat: Instant,
    guard: Guard,
}

/// The ends of the loop's channels.
pub struct Channels {
    pub watches: Receiver<Batch>,
    pub reports: UnboundedReceiver<Report>,
    pub requests: Receiver<Request>,
}

impl Loop {
    /// A loop over an empty model.
    pub fn new(
        model: Model,
        extenders: Extenders,
        writer: Writer,
        events: Events,
        lead: Lead,
        metrics: Arc<Metrics>,
        channels: Channels,
    ) -> Self {
        let Channels {
            watches,
            reports,
            requests,
        } = channels;
        Self {
            model,
            extenders,
            clock: Clock::new(),
            writer,
            events,
            lead,
            metrics,
            watches,
            reports,
            requests,
            is_synced: Arc::default(),
            waits: Vec::new(),
            watch: Stopwatch::default(),
            beat: Instant::now(),
            guard: Guard::default(),
        }
    }

    /// Runs until all watches have ended, or until nothing here is to be believed any more.
    pub async fn run(mut self) {
        let mut attempts = 0;
        loop {
            for _ in 0..MESSAGES_MAX {
                if let Ok(batch) = self.watches.try_recv() {
                    self.take(batch);
                } else if let Ok(report) = self.reports.try_recv() {
                    self.settle(report);
                } else if let Ok(request) = self.requests.try_recv() {
                    self.answer(request);
                } else {
                    break;
                }
            }
            if self.may_try() && self.attempt() {
                attempts += 1;
                if attempts % ATTEMPTS_MAX == 0 {
                    tokio::task::yield_now().await;
                }
                self.beat_if_due();
                continue;
            }
            if self.guard.is_over() {
                tracing::error!(target: "loop", dump = self.model.dump(), "Attempts fail inside Berth again and again");
                return;
            }
            let wake = self.next_wake();
            tokio::select! {
                batch = self.watches.recv() => match batch {
                    Some(batch) => self.take(batch),
                    None => return,
                },
                Some(report) = self.reports.recv() => self.settle(report),
                Some(request) = self.requests.recv() => self.answer(request),
                () = sleep_until(wake) => {}
            }
            self.beat_if_due();
        }
    }

    /// Whether an attempt may be made now.
    fn may_try(&self) -> bool {
        self.is_synced.load(Ordering::Relaxed)
            && self.writer.can_bind()
            && self.lead.holds()
            // After `holds`: what the leader before wrote must have been listed.
            && self.model.has_listed_all(self.lead.term())
    }

    /// When there is something to do though nothing is heard.
    fn next_wake(&self) -> Instant {
        let beat = self.beat + BEAT;
        if !self.may_try() {
            return beat;
        }
        let timer = self.model.scheduler().next_timer();
        timer.map_or(beat, |time| self.clock.instant(time).min(beat))
    }

    fn take(&mut self, batch: Batch) {
        let now = self.clock.now();
        self.model.scheduler_mut().advance(now);
        self.model.take(batch);
        if !self.is_synced.load(Ordering::Relaxed) && self.model.has_listed_all(0) {
            self.is_synced.store(true, Ordering::Relaxed);
            let scheduler = self.model.scheduler();
            tracing::info!(
                target: "loop",
                nodes = scheduler.nodes().count(),
                pods = scheduler.pods().count(),
                bytes = scheduler.capacities().bytes(),
                "Caches are synced"
            );
        }
    }

    /// What became of a write.
    fn settle(&mut self, report: Report) {
        let now = self.clock.now();
        match report {
            Report::Bound {
                pod,
                node,
                took: bind,
            } => {
                self.events.tell(Event {
                    type_: "Normal",
                    reason: "Scheduled",
                    action: "Binding",
                    controller: self.controller(&pod),
                    regarding: pod.reference(),
                    related: None,
                    note: format!("Successfully assigned {} to {node}", pod.key()),
                });
                if pod.is_current(&self.model) {
                    let times = self.model.facts(pod.id);
                    let times = times.map_or([now; 2], |facts| [facts.since, facts.tried]);
                    let [waited, took] = times.map(|time| now.saturating_sub(time));
                    let attempts = self.model.scheduler().attempts(pod.id).max(1);
                    let profile = self.model.profile_of(pod.id);
                    self.metrics.bound(profile, attempts, waited, took);
                    self.metrics.points.bind(true, profile, bind);
                    let scheduler = self.model.scheduler_mut();
                    scheduler.bound(pod.id, BindOutcome::Bound, now);
                }
            }
            Report::BindUnclear { pod } if pod.is_current(&self.model) => {
                let scheduler = self.model.scheduler_mut();
                scheduler.bound(pod.id, BindOutcome::Unknown, now);
            }
            Report::BindFailed {
                pod,
                node,
                why,
                took,
            } if pod.is_current(&self.model) => {
                tracing::warn!(target: "bind", pod = pod.key(), node, why, "Failed to bind a pod");
                let profile = self.model.profile_of(pod.id);
                self.metrics.points.bind(false, profile, took);
                self.binding_failed(&pod, BindOutcome::Failed, why);
            }
            // The watch tells where it is, or that it is gone.
            Report::Elsewhere { pod } | Report::Gone { pod } if pod.is_current(&self.model) => {
                let scheduler = self.model.scheduler_mut();
                scheduler.bound(pod.id, BindOutcome::Failed, now);
            }
            Report::Preempted { took } => self.metrics.preempted(true, took),
            Report::PreemptionFailed {
                preemptor,
                why,
                took,
            } => {
                let key = preemptor.key();
                tracing::warn!(target: "preempt", pod = key, why, "Failed to evict for a pod");
                self.metrics.preempted(false, took);
                if preemptor.is_current(&self.model) {
                    let scheduler = self.model.scheduler_mut();
                    scheduler.preemption_failed(preemptor.id);
                }
            }
            Report::VolumesWritten { pod, failed } => self.volumes_written(&pod, failed),
            _ => {}
        }
    }

    /// Scheduler name under which things are told of a pod.
    fn controller(&self, pod: &PodRef) -> String {
        self.model.profile_of(pod.id).to_owned()
    }

    fn answer(&mut self, request: Request) {
        match request {
            Request::Explain(name, reply) => {
                let (namespace, name) = name.split_once('/').unwrap_or(("default", &name));
                let pod = self.model.scheduler().find_pod(namespace, name);
                let record = pod.map(|pod| self.model.intake.explain(pod, Detail::Full).1);
                let _ = reply.send(record);
            }
            Request::Resources(reply) => {
                let _ = reply.send(self.model.resource_metrics());
            }
            Request::Held(reply) => {
                let _ = reply.send(self.model.held());
            }
            Request::Dump(reply) => {
                let _ = reply.send(self.model.dump());
            }
        }
    }

    fn beat_if_due(&mut self) {
        if self.beat.elapsed() < BEAT {
            return;
        }
        self.beat = Instant::now();
        let now = self.clock.now();
        self.model.scheduler_mut().advance(now);
        self.look_at_volumes();
        let bindings = self.writer.bindings();
        self.metrics.beat(&self.model, bindings, &mut self.watch);
        let refused = std::mem::take(&mut self.model.refused);
        for refused in refused.iter().take(REFUSALS_MAX) {
            let (kind, why) = (refused.kind, &refused.why);
            let name = format!("{}/{}", refused.namespace, refused.name);
            tracing::error!(target: "model", kind, name, why, "An object was not taken in");
        }
        if let more @ 1.. = refused.len().saturating_sub(REFUSALS_MAX) {
            tracing::error!(target: "model", more, "More objects were not taken in");
        }
        self.metrics.refused(&refused);
        for judged in std::mem::take(&mut self.model.judged) {
            self.metrics.judged(judged.verdict);
            let Judged {
                pod,
                node,
                verdict,
                why,
            } = judged;
            let verdict = verdict.as_str();
            if why.is_empty() {
                tracing::debug!(target: "run", pod, node, verdict, "Another scheduler's choice");
            } else {
                tracing::warn!(target: "run", pod, node, verdict, why, "Another scheduler's choice");
            }
        }
    }
}
