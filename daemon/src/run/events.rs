//! Events, as `kubectl describe` shows them.
//!
//! Mirrors `client-go/tools/events`: a repeat of an event becomes a series, whose count is written
//! when it begins, half an hour later, and when it ends after six minutes of silence. The queue is
//! bounded and drops what does not fit, counted; nothing waits for it.

use super::client::{Api, ApiError};
use super::clock::jittered;
use super::lead::Lead;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, interval, sleep};

/// Events that wait to be written.
const QUEUED_MAX: usize = 1000;
/// Events written at a time.
const WRITES_MAX: usize = 8;
/// Series that are remembered.
const SERIES_MAX: usize = 10_000;
/// Tries of one event, and the pause between them.
const TRIES_MAX: u32 = 12;
const PAUSE: Duration = Duration::from_secs(10);
/// A series is over after so much silence, and written again after so long.
const SILENCE: Duration = Duration::from_mins(6);
const REFRESH: Duration = Duration::from_mins(30);
/// Bytes of a note; upstream cuts its messages so.
const NOTE_BYTES_MAX: usize = 1024;

/// One thing to tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub type_: &'static str,
    pub reason: &'static str,
    pub action: &'static str,
    /// Scheduler name of the profile.
    pub controller: String,
    /// The object that it is about.
    pub regarding: Value,
    pub related: Option<Value>,
    pub note: String,
}

/// Takes events without waiting.
#[derive(Clone)]
pub struct Events {
    to: Sender<Event>,
    pub dropped: Arc<AtomicU64>,
}

/// The other end: writes them.
pub struct EventWriter {
    api: Api,
    lead: Lead,
    from: Receiver<Event>,
    host: String,
    series: HashMap<String, Series>,
    writes: Arc<Semaphore>,
    dropped: Arc<AtomicU64>,
}

/// An event that was written, and how often it came since.
struct Series {
    object: Value,
    count: u64,
    last: Instant,
    written: Instant,
}

impl Events {
    /// A queue and what empties it; `host` is part of who reports.
    pub fn new(api: Api, lead: Lead, host: String) -> (Self, EventWriter) {
        let (to, from) = channel(QUEUED_MAX);
        let dropped: Arc<AtomicU64> = Arc::default();
        let events = Self {
            to,
            dropped: dropped.clone(),
        };
        let writer = EventWriter {
            api,
            lead,
            from,
            host,
            series: HashMap::new(),
            writes: Arc::new(Semaphore::new(WRITES_MAX)),
            dropped,
        };
        (events, writer)
    }

    /// Tells of something, or drops it if too much waits.
    pub fn tell(&self, event: Event) {
        if self.to.try_send(event).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl EventWriter {
    /// Runs until nobody tells any more.
    pub async fn run(mut self) {
        let mut ticks = interval(SILENCE);
        loop {
            tokio::select! {
                event = self.from.recv() => match event {
                    Some(event) => self.take(event).await,
                    None => return,
                },
                _ = ticks.tick() => self.end_series().await,
            }
        }
    }

    async fn take(&mut self, event: Event) {
        let instance = format!("{}-{}", event.controller, self.host);
        let key = json!([
            event.type_,
            event.action,
            event.reason,
            instance,
            event.regarding,
            event.related
        ])
        .to_string();
        let now = Instant::now();
        if let Some(series) = self.series.get_mut(&key) {
            series.count += 1;
            series.last = now;
            if series.count > 2 {
                return;
            }
            series.object["series"] = json!({"count": 2, "lastObservedTime": rfc3339(true)});
            let object = series.object.clone();
            return self.write(object, true).await;
        }
        let object = event.object(&instance);
        if self.series.len() < SERIES_MAX {
            let series = Series {
                object: object.clone(),
                count: 1,
                last: now,
                written: now,
            };
            self.series.insert(key, series);
        }
        self.write(object, false).await;
    }

    /// Writes the counts of series that are over or were not written for long, and forgets the former.
    async fn end_series(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        self.series.retain(|_, series| {
            let is_over = now.duration_since(series.last) >= SILENCE;
            let is_due = is_over || now.duration_since(series.written) >= REFRESH;
            if series.count > 1 && is_due {
                series.object["series"]["count"] = series.count.into();
                series.object["series"]["lastObservedTime"] = rfc3339(true).into();
                series.written = now;
                due.push(series.object.clone());
            }
            !is_over
        });
        for object in due {
            self.write(object, true).await;
        }
    }

    /// Begins to write one; waits only while many are under way.
    async fn write(&self, object: Value, is_series: bool) {
        let Ok(permit) = self.writes.clone().acquire_owned().await else {
            return;
        };
        let (api, lead, dropped) = (self.api.clone(), self.lead.clone(), self.dropped.clone());
        tokio::spawn(async move {
            for _ in 0..TRIES_MAX {
                if !lead.holds() {
                    break;
                }
                match write_once(&api, &object, is_series).await {
                    Ok(()) => return,
                    Err(error) if error.is_passing() => {
                        sleep(jittered(error.retry_after().unwrap_or(PAUSE), 0.25)).await;
                    }
                    Err(error) => {
                        tracing::warn!(target: "events", %error, "Server rejected event");
                        break;
                    }
                }
            }
            dropped.fetch_add(1, Ordering::Relaxed);
            drop(permit);
        });
    }
}

async fn write_once(api: &Api, object: &Value, is_series: bool) -> Result<(), ApiError> {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    let path = format!(
        "/apis/events.k8s.io/v1/namespaces/{}/events",
        text("namespace")
    );
    if is_series {
        let patch = json!({"series": object["series"]});
        match api.patch(&format!("{path}/{}", text("name")), &patch).await {
            Err(error) if error.code() == 404 => {}
            written => return written.map(|_| ()),
        }
    }
    match api.post(&path, object).await {
        // It was written, and the answer was lost.
        Err(error) if error.code() == 409 => Ok(()),
        written => written.map(|_| ()),
    }
}

impl Event {
    fn object(&self, instance: &str) -> Value {
        let text = |key: &str| self.regarding[key].as_str().unwrap_or_default();
        let namespace = match text("namespace") {
            "" => "default",
            namespace => namespace,
        };
        let nanos = jiff::Timestamp::now().as_nanosecond();
        let mut object = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": format!("{}.{nanos:x}", text("name")),
                "namespace": namespace,
            },
            "eventTime": rfc3339(true),
            "type": self.type_,
            "reason": self.reason,
            "action": self.action,
            "reportingController": self.controller,
            "reportingInstance": instance,
            "regarding": self.regarding,
            "note": cut(&self.note),
        });
        if let Some(related) = &self.related {
            object["related"] = related.clone();
        }
        object
    }
}

/// The first bytes of a note, as upstream cuts them.
fn cut(note: &str) -> String {
    if note.len() <= NOTE_BYTES_MAX {
        return note.to_owned();
    }
    let suffix = " ...";
    let end = note.floor_char_boundary(NOTE_BYTES_MAX - suffix.len());
    format!("{}{suffix}", note.get(..end).unwrap_or_default())
}

/// The wall clock's time, as the API writes it, with microseconds or whole seconds.
pub fn rfc3339(micro: bool) -> String {
    let now = jiff::Timestamp::now();
    if micro {
        format!("{now:.6}")
    } else {
        format!("{now:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::{NOTE_BYTES_MAX, cut};

    #[test]
    fn notes_are_cut_at_1024_bytes() {
        let short = "x".repeat(NOTE_BYTES_MAX);
        assert_eq!(cut(&short), short);
        let long = cut(&"x".repeat(NOTE_BYTES_MAX + 1));
        assert_eq!(long.len(), NOTE_BYTES_MAX);
        assert!(long.ends_with("x ..."));
        assert!(cut(&"\u{fc}".repeat(600)).len() <= NOTE_BYTES_MAX);
    }
}
