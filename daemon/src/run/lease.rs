//! Leader election over a Lease.
//!
//! Mirrors `client-go/tools/leaderelection`: another's lease is over when it was not seen to change
//! for its duration, by our own clock; updates carry the version that was read; a leader that could
//! not renew for the deadline stops. Other than upstream, the time until which writes may leave moves
//! only with a renewal that succeeded, from the moment at which it was sent.

#[cfg(test)]
mod tests;

use super::client::{Api, ApiError};
use super::clock::jittered;
use super::lead::Lead;
use berth_core::object::config::LeaderElection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// `JitterFactor` of upstream.
const JITTER: f64 = 1.2;
/// A lease that we hold and have not renewed for its duration and so long is unhealthy.
pub const WATCHDOG: Duration = Duration::from_secs(20);

/// Takes part in the election.
pub struct Elector {
    api: Api,
    lead: Lead,
    identity: String,
    namespace: String,
    name: String,
    duration: Duration,
    deadline: Duration,
    retry: Duration,
    /// The lease as it was last read or written.
    lease: Option<Lease>,
    /// The lease before the watches began, if nobody held it then; one that was not there has an empty spec.
    vacant: Option<Spec>,
    /// The same of the lease that the last try to take it replaced.
    replaced: Spec,
    /// Its spec, and when that was first seen.
    observed: Option<(Spec, Instant)>,
    state: watch::Sender<State>,
}

/// What others see of the election.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub leads: bool,
    /// Who holds the lease, as far as is known.
    pub holder: String,
    /// When we last renewed.
    pub renewed: Option<Instant>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    holder_identity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_duration_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acquire_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renew_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_transitions: Option<i64>,
    /// What others put there stays.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Lease {
    #[serde(flatten)]
    rest: Map<String, Value>,
    #[serde(default)]
    spec: Spec,
}

/// How a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The lease could not be renewed in time, or is another's.
    Lost,
    /// We were asked to stop.
    Stopped,
}

impl Elector {
    /// # Errors
    /// Durations that upstream refuses at its start.
    pub fn new(
        api: Api,
        lead: Lead,
        config: &LeaderElection,
        identity: String,
    ) -> Result<Self, String> {
        let span = |duration: berth_core::object::config::Duration| {
            Duration::from_nanos(u64::try_from(duration.nanos()).unwrap_or_default())
        };
        let (duration, deadline) = (span(config.lease_duration), span(config.renew_deadline));
        let retry = span(config.retry_period);
        let wrong = |what: &str| Err(format!("couldn't create leader elector: {what}"));
        if duration <= deadline {
            return wrong("leaseDuration must be greater than renewDeadline");
        }
        if deadline <= retry.mul_f64(JITTER) {
            return wrong("renewDeadline must be greater than retryPeriod*JitterFactor");
        }
        Ok(Self {
            api,
            lead,
            identity,
            namespace: config.resource_namespace.clone(),
            name: config.resource_name.clone(),
            duration,
            deadline,
            retry,
            lease: None,
            vacant: None,
            replaced: Spec::default(),
            observed: None,
            state: watch::Sender::new(State::default()),
        })
    }

    /// What others may look at.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// Where the lock is.
    pub fn lock(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Looks, before the watches begin, whether nobody leads: what is listed then lacks nothing that another
    /// leader wrote, if nobody comes in between.
    pub async fn look(&mut self) {
        let lease = self.read().await;
        let spec = lease.map(|lease| lease.map_or_else(Spec::default, |lease| lease.spec));
        let is_vacant = |spec: &Spec| {
            spec.holder_identity
                .as_deref()
                .unwrap_or_default()
                .is_empty()
        };
        self.vacant = spec.ok().filter(is_vacant);
    }

    /// Waits until we lead.
    pub async fn acquire(&mut self) {
        let lock = self.lock();
        tracing::info!(target: "lease", lock, "Attempting to acquire leader lease...");
        loop {
            let sent = Instant::now();
            match self.attempt(sent).await {
                Ok(true) => {
                    tracing::info!(target: "lease", lock, "Successfully acquired lease");
                    if self.vacant.as_ref() != Some(&self.replaced) {
                        self.lead.begin_term();
                    }
                    self.renewed(sent, true);
                    return;
                }
                Ok(false) => {}
                Err(error) if error.code() == 403 => {
                    let hint =
                        "the role must allow create of leases, and get and update of this one";
                    tracing::error!(target: "lease", lock, %error, hint, "Error retrieving lease lock");
                }
                Err(error) => {
                    tracing::error!(target: "lease", lock, %error, "Error retrieving lease lock");
                }
            }
            sleep(jittered(self.retry, JITTER)).await;
        }
    }

    /// Renews until that fails for the deadline.
    pub async fn renew(&mut self) -> Term {
        let mut renewed = Instant::now();
        loop {
            sleep(self.retry).await;
            loop {
                let sent = Instant::now();
                if sent.duration_since(renewed) >= self.deadline {
                    return self.lost();
                }
                match self.attempt(sent).await {
                    Ok(true) if sent.duration_since(renewed) < self.deadline => {
                        renewed = sent;
                        self.renewed(sent, true);
                        break;
                    }
                    Ok(true) => return self.lost(),
                    Ok(false) => {}
                    Err(error) => {
                        tracing::warn!(target: "lease", lock = self.lock(), %error, "Failed to renew lease");
                    }
                }
                let left = self.deadline.saturating_sub(renewed.elapsed());
                sleep(self.retry.min(left)).await;
            }
        }
    }

    fn lost(&self) -> Term {
        self.lead.end();
        self.state.send_modify(|state| state.leads = false);
        Term::Lost
    }

    fn renewed(&self, sent: Instant, leads: bool) {
        self.lead.until(sent + self.deadline);
        self.state.send_modify(|state| {
            state.leads = leads;
            state.holder.clone_from(&self.identity);
            state.renewed = Some(sent);
        });
    }

    /// Gives the lease back; nothing is written any more by then.
    pub async fn release(&mut self) {
        self.lead.end();
        self.state.send_modify(|state| state.leads = false);
        let limit = self.deadline;
        let release = async {
            for _ in 0..5 {
                let Ok(Some(lease)) = self.read().await else {
                    return;
                };
                if lease.spec.holder_identity.as_deref() != Some(&self.identity) {
                    return;
                }
                let now = super::events::rfc3339(true);
                let spec = Spec {
                    holder_identity: Some(String::new()),
                    lease_duration_seconds: Some(1),
                    acquire_time: Some(now.clone()),
                    renew_time: Some(now),
                    ..lease.spec.clone()
                };
                match self.write(lease, spec).await {
                    Err(error) if error.code() == 409 => {}
                    _ => return,
                }
            }
        };
        let _ = timeout(limit, release).await;
    }

    /// One try to take or renew the lease, within the retry period. Mirrors `tryAcquireOrRenew`.
    async fn attempt(&mut self, now: Instant) -> Result<bool, ApiError> {
        let limit = self.retry.max(Duration::from_millis(500));
        match timeout(limit, self.try_once(now)).await {
            Ok(tried) => tried,
            Err(_) => Err(ApiError::Unclear(format!("nothing within {limit:?}"))),
        }
    }

    async fn try_once(&mut self, now: Instant) -> Result<bool, ApiError> {
        let written = super::events::rfc3339(true);
        let mut spec = Spec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.duration.as_secs() as i64),
            acquire_time: Some(written.clone()),
            renew_time: Some(written),
            ..Spec::default()
        };
        // A leader whose lease is good writes at once, on the version that it has.
        if let (Some(lease), Some((seen, since))) = (self.lease.clone(), self.observed.clone())
            && seen.holder_identity.as_deref() == Some(&self.identity)
            && now < since + self.duration
        {
            let own = Spec {
                acquire_time: seen.acquire_time.clone(),
                lease_transitions: seen.lease_transitions,
                rest: seen.rest.clone(),
                ..spec.clone()
            };
            if self.write(lease, own).await.is_ok() {
                return Ok(true);
            }
        }
        let Some(lease) = self.read().await? else {
            spec.lease_transitions = Some(0);
            self.replaced = Spec::default();
            return self.create(spec).await.map(|()| true);
        };
        let seen = lease.spec.clone();
        let since = match &self.observed {
            Some((known, since)) if *known == seen => *since,
            _ => now,
        };
        self.observed = Some((seen.clone(), since));
        let holder = seen.holder_identity.clone().unwrap_or_default();
        let seconds = seen.lease_duration_seconds.unwrap_or_default();
        let valid = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        self.state
            .send_modify(|state| state.holder.clone_from(&holder));
        let is_ours = holder == self.identity;
        if !holder.is_empty() && now < since + valid && !is_ours {
            return Ok(false);
        }
        let transitions = seen.lease_transitions.unwrap_or_default();
        if is_ours {
            spec.acquire_time.clone_from(&seen.acquire_time);
            spec.lease_transitions = Some(transitions);
        } else {
            spec.lease_transitions = Some(transitions.saturating_add(1));
        }
        self.replaced = seen.clone();
        spec.rest = seen.rest;
        self.write(lease, spec).await.map(|()| true)
    }

    fn path(&self) -> String {
        format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
            self.namespace
        )
    }

    async fn read(&self) -> Result<Option<Lease>, ApiError> {
        let path = format!("{}/{}", self.path(), self.name);
        match self
            .api
            .get(&path, self.retry.max(Duration::from_secs(1)))
            .await
        {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| ApiError::Unclear(error.to_string())),
            Err(error) if error.code() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn create(&mut self, spec: Spec) -> Result<(), ApiError> {
        let body = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self.namespace, "name": self.name},
            "spec": spec,
        });
        let bytes = self.api.post(&self.path(), &body).await?;
        self.note(&bytes);
        Ok(())
    }

    async fn write(&mut self, lease: Lease, spec: Spec) -> Result<(), ApiError> {
        let path = format!("{}/{}", self.path(), self.name);
        let body = Lease { spec, ..lease };
        let bytes = self.api.put(&path, &body).await?;
        self.note(&bytes);
        Ok(())
    }

    /// Remembers what the server has now.
    fn note(&mut self, bytes: &[u8]) {
        if let Ok(lease) = serde_json::from_slice::<Lease>(bytes) {
            self.observed = Some((lease.spec.clone(), Instant::now()));
            self.lease = Some(lease);
        }
    }
}
