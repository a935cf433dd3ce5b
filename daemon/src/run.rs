//! `berth run`: watches a cluster and binds its pods, in kube-scheduler's place.
//!
//! Start: flags and configuration ([`settings`]), endpoints ([`serve`]), watches ([`watcher`]) until
//! their first lists are in, leader election ([`lease`]), then the loop ([`drive`]), the one task that
//! owns the scheduler. Writes go out through [`writer`] and [`events`].

mod client;
mod clock;
mod compare;
mod drive;
mod events;
mod extender;
mod flags;
mod gates;
mod kept;
mod lead;
mod lease;
mod limiter;
mod line;
mod log;
mod metrics;
mod model;
mod pod_ref;
mod resources;
mod serve;
mod settings;
mod shadow;
mod stopwatch;
mod volumes;
mod watcher;
mod writer;

pub use flags::{RunArgs, normalize};

use crate::failure::{Failure, exit_code, tell};
use crate::output::yaml;
use berth_core::object::config::LeaderElection;
use client::{Api, LIST_TIME, connection};
use drive::{Channels, Loop};
use events::Events;
use extender::Extenders;
use lead::Lead;
use lease::{Elector, State, Term};
use limiter::Limiter;
use metrics::Metrics;
use model::Model;
use resources::{NODES, PODS, RESOURCES};
use serde::Deserialize;
use serve::{Check, Checks, Gate, Served};
use settings::Settings;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{channel, unbounded_channel};
use tokio::sync::watch;
use watcher::{Health, Watch};
use writer::Writer;

/// News that wait to be taken in, in batches.
const BATCHES_MAX: usize = 64;
/// Questions that wait for an answer.
const REQUESTS_MAX: usize = 16;
/// Bindings under way get so long at the end.
const LAST_BINDINGS: Duration = Duration::from_secs(5);

/// Runs until it is asked to stop or loses its lease.
pub fn run(args: RunArgs) -> ExitCode {
    log::start(
        args.component.verbosity,
        args.component.logging_format == "json",
    );
    let outcome = Settings::new(args).and_then(|settings| {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build()?;
        let code = runtime.block_on(serve_until_end(settings))?;
        // Tasks that still wait for the network are not waited for.
        runtime.shutdown_background();
        Ok(code)
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            exit_code(Err(failure));
            ExitCode::from(1)
        }
    }
}

async fn serve_until_end(settings: Settings) -> Result<ExitCode, Failure> {
    // Another one that was installed before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    for note in &settings.notes {
        tell("warning", note);
    }
    let connection_config = &settings.config.client_connection;
    let master = settings.args.master.as_deref();
    let connection = connection(&connection_config.kubeconfig, master).await?;
    if connection.config.accept_invalid_certs {
        let url = &connection.config.cluster_url;
        let note = format!(
            "the certificate of the API server {url} is not checked, as its kubeconfig says"
        );
        tell("warning", &note);
    }
    if let Some(file) = &settings.args.write_config_to {
        let text = yaml(&settings.given.clone().completed())?;
        std::fs::write(file, text).map_err(|error| {
            Failure::Usage(format!("--write-config-to {}: {error}", file.display()))
        })?;
        tracing::info!(target: "run", file = %file.display(), "Wrote configuration");
        return Ok(ExitCode::SUCCESS);
    }
    let asked = &settings.config.extenders;
    let metrics = Arc::new(Metrics::new(&settings.gates));
    metrics.leads(false);
    let extenders = Extenders::new(extender::connect(asked).await?, metrics.clone());
    extender::unchecked(asked).for_each(|url| metrics.unchecked(url));
    if connection.config.accept_invalid_certs {
        metrics.unchecked(&connection.config.cluster_url.to_string());
    }
    let keeps = extender::keeps(asked);
    let limiter = || Limiter::new(connection_config.qps, connection_config.burst);
    let api = Api::new(&connection, "scheduler", limiter())?;
    let event_api = Api::new(&connection, "events", limiter())?;
    let lease_api = Api::new(&connection, "leader-election", limiter())?;

    let lead = Lead::new();
    let host = hostname();
    let (events, event_writer) = Events::new(event_api, lead.clone(), host.clone());
    tokio::spawn(event_writer.run());
    let (report_to, reports) = unbounded_channel();
    let writer = Writer::new(api.clone(), lead.clone(), events.clone(), report_to);

    let mut elector = None;
    let election = &settings.config.leader_election;
    let is_shadow = settings.args.own.berth_shadow;
    if election.leader_elect == Some(true) && !is_shadow {
        let identity = format!("{host}_{}", unique());
        let elected = Elector::new(lease_api, lead.clone(), election, identity);
        elector = Some(elected.map_err(Failure::Usage)?);
    }

    let mut stop = Stop::new()?;
    let stop_told = stop.told.clone();
    let (batch_to, watches) = channel(BATCHES_MAX);
    let (request_to, requests) = channel(REQUESTS_MAX);
    tokio::spawn(compare_when_asked(api.clone(), request_to.clone())?);
    let health: Vec<Arc<Health>> = RESOURCES.iter().map(|_| Arc::default()).collect();
    let intake = tokio::select! {
        intake = sized(&api, &settings) => intake?,
        () = stop.asked() => return Ok(stopped(elector.is_some())),
    };
    let profiles = settings.config.profiles.iter();
    let profiles = profiles.filter_map(|profile| profile.scheduler_name.clone());
    let mut model = Model::new(intake, profiles);
    model.judges = is_shadow;
    let driver = Loop::new(
        model,
        extenders,
        writer.clone(),
        events,
        lead.clone(),
        metrics.clone(),
        Channels {
            watches,
            reports,
            requests,
        },
    );
    let is_synced = driver.is_synced.clone();
    let state = elector.as_ref().map(Elector::state);
    let (lead_to, leads) = watch::channel(false);
    if settings.args.serving.secure_port != 0 {
        let checks = checks(
            &health,
            &is_synced,
            state.as_ref(),
            election,
            stop_told.clone(),
        );
        let served = Served {
            metrics: metrics.clone(),
            checks,
            requests: request_to,
            config: serde_json::to_value(settings.given.clone().completed())
                .map_err(std::io::Error::from)?,
            flags: settings.flag_page(),
            leads,
            started: jiff::Timestamp::now(),
            has_extenders: !asked.is_empty(),
        };
        let gate = Gate::new(&settings.args.authentication, &api).await?;
        serve::start(&settings, Arc::new(served), gate).await?;
    }
    let terms = lead.terms();
    let start_watches = move || {
        for ((place, resource), health) in RESOURCES.into_iter().enumerate().zip(&health) {
            let watch = Watch::new(
                api.clone(),
                resource,
                place,
                batch_to.clone(),
                health.clone(),
                terms.clone(),
                keeps,
            );
            tokio::spawn(watch.run());
        }
    };
    let mut driver = tokio::spawn(driver.run());
    if let Some(elector) = &mut elector {
        tokio::select! {
            () = elector.look() => {}
            () = stop.asked() => return Ok(stopped(true)),
        }
    }
    // Followers keep their caches warm, unless they are told not to.
    let mut start_later = Some(start_watches);
    if (elector.is_none() || !settings.config.delay_cache_until_active)
        && let Some(start) = start_later.take()
    {
        start();
        tokio::select! {
            () = synced(&is_synced) => {}
            _ = &mut driver => return Ok(ended(&lead)),
            () = stop.asked() => return Ok(stopped(elector.is_some())),
        }
    }
    let Some(mut elector) = elector else {
        // A shadow never leads, and so writes nothing.
        if !is_shadow {
            lead.always();
            metrics.leads(true);
            lead_to.send_replace(true);
        }
        tokio::select! {
            () = stop.asked() => {}
            _ = &mut driver => return Ok(ended(&lead)),
        }
        lead.end();
        tell("error", "finished without leader elect");
        return Ok(stopped(false));
    };
    tokio::select! {
        () = elector.acquire() => {}
        _ = &mut driver => return Ok(ended(&lead)),
        () = stop.asked() => return Ok(stopped(true)),
    }
    metrics.leads(true);
    lead_to.send_replace(true);
    if let Some(start) = start_later {
        start();
    }
    let term = tokio::select! {
        term = elector.renew() => term,
        _ = &mut driver => return Ok(ended(&lead)),
        () = stop.asked() => Term::Stopped,
    };
    metrics.leads(false);
    if term == Term::Lost {
        tracing::error!(target: "lease", "Leaderelection lost");
        return Ok(ExitCode::from(1));
    }
    // Bindings under way come to their end; then nothing is written any more, and the lease goes.
    tokio::select! {
        () = idle(&writer) => {}
        () = tokio::time::sleep(LAST_BINDINGS) => {}
        () = stop.asked() => return Ok(ExitCode::from(1)),
    }
    elector.release().await;
    tracing::info!(target: "run", "Requested to terminate, exiting");
    Ok(ExitCode::SUCCESS)
}

/// What health asks.
fn checks(
    health: &[Arc<Health>],
    is_synced: &Arc<AtomicBool>,
    election: Option<&watch::Receiver<State>>,
    config: &LeaderElection,
    stop_told: Arc<AtomicBool>,
) -> Checks {
    let mut checks = Checks::default();
    if let Some(state) = election.cloned() {
        let nanos = u64::try_from(config.lease_duration.nanos()).unwrap_or_default();
        let limit = Duration::from_nanos(nanos) + lease::WATCHDOG;
        let watchdog = Check::new("leaderElection", move || {
            let state = state.borrow();
            let silent = state
                .renewed
                .filter(|_| state.leads)
                .map(|time| time.elapsed());
            match silent {
                Some(silent) if silent > limit => Err(format!(
                    "failed election to renew leadership on lease for {} s",
                    silent.as_secs()
                )),
                _ => Ok(()),
            }
        });
        checks.healthz.push(watchdog.clone());
        checks.readyz.push(watchdog);
    } else {
        checks.healthz.push(Check::ping());
    }
    checks.livez.push(Check::ping());
    checks.readyz.push(Check::new("shutdown", move || {
        if stop_told.load(Ordering::Relaxed) {
            return Err("process is shutting down".to_owned());
        }
        Ok(())
    }));
    let synced = is_synced.clone();
    checks
        .readyz
        .push(Check::new("sched-handler-sync", move || {
            if synced.load(Ordering::Relaxed) {
                return Ok(());
            }
            Err("handlers are not fully synchronized".to_owned())
        }));
    let health = health.to_vec();
    checks.readyz.push(Check::new("berth-watches", move || {
        let all = RESOURCES.iter().zip(&health);
        let mut fails = all.filter(|(_, health)| health.fails.load(Ordering::Relaxed));
        match fails.next() {
            Some((resource, _)) => Err(format!("{} is not watched", resource.kind)),
            None => Ok(()),
        }
    }));
    checks
}

/// At each SIGUSR2.
fn compare_when_asked(
    api: Api,
    requests: tokio::sync::mpsc::Sender<drive::Request>,
) -> Result<impl Future<Output = ()>, Failure> {
    let mut asked = signal(SignalKind::user_defined2())?;
    Ok(async move {
        while asked.recv().await.is_some() {
            compare::compare(&api, &requests).await;
        }
    })
}

/// Without its loop the process is of no use, and must not keep the lease from others.
fn ended(lead: &Lead) -> ExitCode {
    lead.end();
    tell("error", "the loop has ended by itself");
    ExitCode::from(1)
}

fn stopped(elects: bool) -> ExitCode {
    ExitCode::from(u8::from(!elects))
}

async fn synced(is_synced: &AtomicBool) {
    while !is_synced.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn idle(writer: &Writer) {
    writer.stop();
    while writer.bindings() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// An empty scheduler with room for what the cluster has.
async fn sized(api: &Api, settings: &Settings) -> Result<berth_core::intake::Intake, Failure> {
    let count = async |place: usize| match RESOURCES.get(place) {
        Some(resource) => counted(api, resource.path).await,
        None => 0,
    };
    let (nodes, pods) = (count(NODES).await, count(PODS).await);
    let capacities = settings.capacities(nodes, pods);
    let mut intake = berth_core::intake::Intake::with_capacities(
        settings.given.clone(),
        settings.options(),
        capacities,
    )
    .map_err(|error| Failure::Usage(error.to_string()))?;
    intake.set_growing(settings.grows());
    Ok(intake)
}

/// How many objects of a kind there are, asked until there is an answer.
async fn counted(api: &Api, path: &str) -> usize {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Counted {
        metadata: CountedMeta,
        items: Vec<serde::de::IgnoredAny>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct CountedMeta {
        remaining_item_count: usize,
    }
    let mut pause = Duration::from_millis(500);
    loop {
        match api.get(&format!("{path}?limit=1"), LIST_TIME).await {
            Ok(bytes) => {
                let counted: Counted = serde_json::from_slice(&bytes).unwrap_or_default();
                return counted.metadata.remaining_item_count + counted.items.len();
            }
            Err(error) => {
                tracing::error!(target: "run", path, %error, "The API server cannot be asked; trying again");
            }
        }
        tokio::time::sleep(clock::jittered(pause, 0.5)).await;
        pause = (pause * 2).min(Duration::from_secs(10));
    }
}

/// SIGTERM and SIGINT. A second one ends the process.
struct Stop {
    /// Whether it was asked.
    told: Arc<AtomicBool>,
    term: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Stop {
    fn new() -> Result<Self, Failure> {
        Ok(Self {
            told: Arc::default(),
            term: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        self.told.store(true, Ordering::Relaxed);
    }
}

fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() {
        return std::env::var("HOSTNAME").unwrap_or_else(|_| "unknown".to_owned());
    }
    name.to_lowercase()
}

/// A random UUID's text.
fn unique() -> String {
    let (high, low) = (clock::noise(), clock::noise());
    let hex = format!("{high:016x}{low:016x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-4{}-a{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}
