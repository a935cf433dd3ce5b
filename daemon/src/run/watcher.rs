//! Lists and watches one kind of object, for ever.
//!
//! The stage before is the API server, the one after the model, which takes what comes through a
//! bounded channel: when it is full, nothing more is read, and a server that tires of waiting ends the
//! watch, which then goes on from the last version or lists anew.
//!
//! Written for this rather than kube's `watcher`: each object is decoded once, into what the core
//! reads; a watch has its own time limit, and goes on from its last version when that is over; a list
//! is taken as a stream, and only what it did not name is gone.

#[cfg(test)]
mod tests;

use super::client::{Api, ApiError, LIST_TIME};
use super::clock::jittered;
use super::kept::Keeps;
use super::limiter::Limiter;
use super::line::{Line, Lines, Page};
use super::resources::Resource;
use berth_core::object::Object;
use http_body_util::BodyExt;
use serde_json::value::RawValue;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

/// How long a server is asked to keep a watch.
const WATCH_SECONDS: u64 = 60;
/// A watch that outlives that by so much is taken for dead.
const GRACE: Duration = Duration::from_secs(5);
/// Objects of a page, where the server does not stream lists.
const PAGE: usize = 500;
/// Pages of a list at most: fifty million objects.
const PAGES_MAX: usize = 100_000;
/// News in one message at most.
const BATCH_MAX: usize = 256;
/// Shortest and longest pause after a failure.
const PAUSES: [Duration; 2] = [Duration::from_millis(800), Duration::from_secs(30)];

/// What a watch tells.
#[derive(Debug)]
pub enum News {
    /// A list begins, in this term of the lead.
    Listing(u64),
    /// An object is there, new or changed; with its text, if that is kept.
    Applied(Box<Object>, Option<Box<RawValue>>),
    /// An object is gone.
    Deleted(Box<Object>),
    /// An object that cannot be read is there: its namespace and name, and why.
    Unreadable(String, String, String),
    /// The list is over: what it did not name is gone.
    Listed,
}

/// News of one kind, in order.
#[derive(Debug)]
pub struct Batch {
    /// Place in [`RESOURCES`](super::resources::RESOURCES).
    pub resource: usize,
    pub news: Vec<News>,
}

/// What others may ask of a watch.
#[derive(Debug, Default)]
pub struct Health {
    /// Whether the last request was refused or not answered.
    pub fails: AtomicBool,
}

/// One kind's watch.
pub struct Watch {
    api: Api,
    resource: Resource,
    place: usize,
    to: Sender<Batch>,
    health: Arc<Health>,
    /// The version that the model has.
    version: Option<String>,
    /// Whether the server streams lists, as far as is known.
    streams: bool,
    /// At most two lists a minute, but for those that a new lead asks for.
    lists: Limiter,
    /// How often the lead was taken.
    terms: watch::Receiver<u64>,
    news: Vec<News>,
    /// Objects that keep their text.
    keeps: Keeps,
}

/// Why a watch ended.
enum End {
    /// It goes on from the last version.
    Closed,
    /// The version is too old, or the stream makes no sense: list anew.
    Expired,
    Failed(ApiError),
    /// Nobody listens any more.
    Stopped,
}

impl Watch {
    /// `place` is that of the resource in the table of them. With each of the `terms` the kind is listed anew.
    pub fn new(
        api: Api,
        resource: Resource,
        place: usize,
        to: Sender<Batch>,
        health: Arc<Health>,
        terms: watch::Receiver<u64>,
        keeps: Keeps,
    ) -> Self {
        Self {
            api,
            resource,
            place,
            to,
            health,
            version: None,
            streams: true,
            lists: Limiter::new(2.0 / 60.0, 2),
            terms,
            news: Vec::new(),
            keeps,
        }
    }

    /// Runs until nobody listens.
    pub async fn run(mut self) {
        let mut pause = PAUSES[0];
        loop {
            let began = Instant::now();
            let end = self.once().await;
            self.health
                .fails
                .store(matches!(end, End::Failed(_)), Ordering::Relaxed);
            match end {
                End::Stopped => return,
                End::Closed => {
                    // Before its time, or in silence: perhaps it is not the server that it was.
                    let time = Duration::from_secs(WATCH_SECONDS);
                    let is_in_time = began.elapsed().abs_diff(time) < GRACE;
                    if !is_in_time && self.has_gone_back().await {
                        self.version = None;
                    }
                }
                End::Expired => self.version = None,
                End::Failed(error) => {
                    let kind = self.resource.kind;
                    tracing::warn!(target: "watch", kind, %error, "Failed to list or watch");
                    if matches!(error.code(), 404 | 410) {
                        self.version = None;
                    }
                    let asked = error.retry_after().unwrap_or_default();
                    tokio::select! {
                        () = sleep(jittered(pause.max(asked), 0.5)) => {}
                        // Who leads now waits for a list, and somebody answers the lead's requests.
                        () = changed(&self.terms) => {}
                    }
                    pause = (pause * 2).min(PAUSES[1]);
                }
            }
            // A server that ends watches at once is not asked again at once.
            if began.elapsed() > Duration::from_secs(5) {
                pause = PAUSES[0];
            } else if self.version.is_some() {
                sleep(Duration::from_millis(100)).await;
            }
        }
    }

    /// Whether the server's versions are older than what it said before, as after a restored backup.
    async fn has_gone_back(&self) -> bool {
        let Some(known) = self.version.as_deref().and_then(number) else {
            return false;
        };
        let path = self.path("limit=1");
        let Ok(bytes) = self.api.get(&path, LIST_TIME).await else {
            return false;
        };
        let version =
            Page::read(self.resource.kind, &bytes, Keeps::default()).map(|page| page.version);
        let has = version.is_ok_and(|version| number(&version).is_some_and(|now| now < known));
        if has {
            let kind = self.resource.kind;
            tracing::warn!(target: "watch", kind, "The server's versions went back; listing anew");
        }
        has
    }

    /// A list if there is no version to go on from, and a watch.
    async fn once(&mut self) -> End {
        if self.terms.has_changed().unwrap_or(false) {
            // Also after a list that failed.
            self.version = None;
        } else if self.version.is_some() {
            return self.watch(false).await;
        } else {
            self.lists.turn().await;
        }
        if self.streams {
            match self.watch(true).await {
                End::Failed(ApiError::Refused(refusal)) if matches!(refusal.code, 400 | 422) => {
                    self.streams = false;
                }
                end => return end,
            }
        }
        match self.list().await {
            Ok(()) => self.watch(false).await,
            Err(end) => end,
        }
    }

    /// Page by page, for servers that do not stream lists.
    async fn list(&mut self) -> Result<(), End> {
        let term = *self.terms.borrow_and_update();
        self.tell(News::Listing(term)).await?;
        let mut token = String::new();
        for _ in 0..PAGES_MAX {
            let path = self.path(&format!("limit={PAGE}&continue={}", escaped(&token)));
            let bytes = self.api.get(&path, LIST_TIME).await;
            let bytes = bytes.map_err(|error| match error.code() {
                410 => End::Expired,
                _ => End::Failed(error),
            })?;
            let page = Page::read(self.resource.kind, &bytes, self.keeps)
                .map_err(|error| End::Failed(ApiError::Unclear(error)))?;
            for news in page.news {
                self.tell(news).await?;
            }
            token = page.next;
            if token.is_empty() {
                self.version = Some(page.version);
                return self.listed().await;
            }
        }
        let error = "the list has no end".to_owned();
        Err(End::Failed(ApiError::Unclear(error)))
    }

    /// Until the server ends it, or its time is over; with `lists`, the list comes first.
    async fn watch(&mut self, lists: bool) -> End {
        let from = if lists {
            // Without a version the list is as new as the server's own state.
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600"
                .to_owned()
        } else {
            let version = self.version.as_deref().unwrap_or_default();
            format!(
                "resourceVersion={}&timeoutSeconds={WATCH_SECONDS}",
                escaped(version)
            )
        };
        let path = self.path(&format!("watch=true&allowWatchBookmarks=true&{from}"));
        // As of the request, not of the answer.
        let term = lists.then(|| *self.terms.borrow_and_update());
        let mut body = match self.api.stream(&path, LIST_TIME).await {
            Ok(body) => body,
            Err(error) if error.code() == 410 => return End::Expired,
            Err(error) => return End::Failed(error),
        };
        if let Some(term) = term
            && let Err(end) = self.tell(News::Listing(term)).await
        {
            return end;
        }
        let mut lines = Lines::new(self.keeps);
        let mut is_listing = lists;
        let mut deadline = watch_deadline();
        loop {
            if is_listing {
                deadline = Instant::now() + LIST_TIME;
            }
            let frame = tokio::select! {
                () = changed(&self.terms) => return End::Expired,
                frame = timeout_at(deadline, body.frame()) => frame,
            };
            let frame = match frame {
                Ok(Some(Ok(frame))) => frame,
                Ok(None | Some(Err(_))) | Err(_) if !is_listing => return self.close(),
                failed => {
                    // A server that streams no lists, and does not say so, is silent at the end.
                    self.streams &= failed.is_ok();
                    let error = "the list broke off".to_owned();
                    return End::Failed(ApiError::Unclear(error));
                }
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            lines.push(&data);
            while let Some(line) = lines.next(self.resource.kind) {
                let was_listing = is_listing;
                if let Err(end) = self.take(line, &mut is_listing).await {
                    return end;
                }
                if was_listing && !is_listing {
                    deadline = watch_deadline();
                }
            }
            if let Err(end) = self.flush().await {
                return end;
            }
        }
    }

    /// One line of a watch.
    async fn take(&mut self, line: Line, is_listing: &mut bool) -> Result<(), End> {
        match line {
            Line::Object {
                is_deleted,
                object,
                version,
                text,
            } => {
                if !*is_listing && !self.moves_to(&version) {
                    return Ok(());
                }
                let news = if is_deleted {
                    News::Deleted(object)
                } else {
                    News::Applied(object, text)
                };
                self.tell(news).await
            }
            Line::Unreadable {
                namespace,
                name,
                version,
                why,
            } => {
                if !*is_listing && !version.is_empty() && !self.moves_to(&version) {
                    return Ok(());
                }
                self.tell(News::Unreadable(namespace, name, why)).await
            }
            Line::Bookmark { version, ends_list } => {
                if version.is_empty() {
                    return Ok(());
                }
                self.version = Some(version);
                if ends_list && *is_listing {
                    *is_listing = false;
                    return self.listed().await;
                }
                Ok(())
            }
            Line::Error { code, message } => {
                if code == 410 {
                    return Err(End::Expired);
                }
                Err(End::Failed(ApiError::Unclear(message)))
            }
            Line::Nonsense(why) => {
                let kind = self.resource.kind;
                tracing::warn!(target: "watch", kind, why, "Dropped a line of a watch");
                Ok(())
            }
        }
    }

    /// Takes the version of an event; `false` for one that is not newer than what is known.
    fn moves_to(&mut self, version: &str) -> bool {
        let known = self.version.as_deref().and_then(number);
        if let (Some(known), Some(new)) = (known, number(version))
            && new <= known
        {
            return false;
        }
        self.version = Some(version.to_owned());
        true
    }

    async fn listed(&mut self) -> Result<(), End> {
        self.tell(News::Listed).await?;
        self.flush().await
    }

    fn close(&self) -> End {
        if self.version.is_some() {
            End::Closed
        } else {
            End::Expired
        }
    }

    async fn tell(&mut self, news: News) -> Result<(), End> {
        self.news.push(news);
        if self.news.len() < BATCH_MAX {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), End> {
        if self.news.is_empty() {
            return Ok(());
        }
        let batch = Batch {
            resource: self.place,
            news: std::mem::take(&mut self.news),
        };
        self.to.send(batch).await.map_err(|_| End::Stopped)
    }

    fn path(&self, query: &str) -> String {
        self.resource.with_query(query)
    }
}

/// A version's number; versions that are none are not compared.
fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

/// Waits until the lead was taken since the last list began.
async fn changed(terms: &watch::Receiver<u64>) {
    if terms.clone().changed().await.is_err() {
        // Nobody takes the lead any more.
        std::future::pending::<()>().await;
    }
}

fn watch_deadline() -> Instant {
    Instant::now() + Duration::from_secs(WATCH_SECONDS) + GRACE
}

/// A query's value.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
