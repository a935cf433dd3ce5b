//! HTTP around the state: requests in, answers, streams or cuts out.

use crate::fault::{Fault, Order};
use crate::kind::{KINDS, Target};
use crate::query::Query;
use crate::refusal::Refusal;
use crate::state::{Answer, Request, State};
use crate::watch::Watch;
use futures_util::stream::unfold;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The state, and bells.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Rings whenever the state may have changed.
    bell: watch::Sender<()>,
    /// Ring when watches of a kind have something to tell.
    bells: [watch::Sender<()>; KINDS.len()],
}

/// A connection is to be cut.
#[derive(Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("cut, as the test has ordered")
    }
}

impl std::error::Error for Cut {}

impl Shared {
    /// The state, to be read; or to be changed where nobody waits for it.
    pub(crate) fn look(&self) -> MutexGuard<'_, State> {
        // A test that panicked with the lock in hand has failed anyway.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Changes the state and lets everyone look who waits.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.look();
        let done = change(&mut state);
        let touched = state.store.take_touched();
        drop(state);
        for (place, bell) in self.bells.iter().enumerate() {
            if touched & (1 << place) != 0 {
                bell.send_replace(());
            }
        }
        self.bell.send_replace(());
        done
    }

    /// To be taken before the state is looked at, so that no change is missed.
    pub(crate) fn bell(&self) -> watch::Receiver<()> {
        self.bell.subscribe()
    }
}

/// Accepts connections until it is aborted, and they all end with it.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        // Small answers are to go out at once.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        let serve = service_fn(move |request| serve(Arc::clone(&shared), request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), serve);
        connections.spawn(async move {
            // Clients leave when they like, and cuts are ordered.
            let _ = connection.await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(
    shared: Arc<Shared>,
    request: hyper::Request<Incoming>,
) -> Result<Response<Body>, Cut> {
    let accepts = request.headers().get(ACCEPT).map(HeaderValue::as_bytes);
    if accepts.is_some_and(|forms| !holds(forms, b"json") && !holds(forms, b"*/*")) {
        let refusal = Refusal::new(406, "NotAcceptable", "only application/json is served");
        return Ok(refused(&refusal));
    }
    let request = read(request).await?;
    let (number, fault) = shared.change(|state| {
        let number = state.note(&request);
        let fault = state.faults.take(request.verb, &request.resource());
        let is_unknown = state
            .token
            .as_ref()
            .is_some_and(|own| *own != request.token);
        let unknown = is_unknown.then(|| {
            let refusal = Refusal::new(401, "Unauthorized", "Unauthorized");
            (Order::default(), Fault::Refuse(refusal))
        });
        (number, unknown.or(fault))
    });
    let response = respond(&shared, &request, fault).await?;
    let code = response.status().as_u16();
    if let Some(number) = number {
        shared.change(|state| {
            if let Some(call) = state.calls.get_mut(number) {
                call.code = code;
            }
        });
    }
    Ok(response)
}

async fn respond(
    shared: &Arc<Shared>,
    request: &Request,
    fault: Option<(Order, Fault)>,
) -> Result<Response<Body>, Cut> {
    let (order, fault) = fault.unzip();
    match (&fault, order) {
        (Some(Fault::Refuse(refusal)), _) => return Ok(refused(refusal)),
        (Some(Fault::Cut), _) => return Err(Cut),
        (
            Some(Fault::Answer {
                code,
                content_type,
                body,
            }),
            _,
        ) => {
            return Ok(whole(*code, content_type, body.clone()));
        }
        (Some(Fault::Hold), Some(order)) => lifted(shared, order).await,
        _ => {}
    }
    let answer = shared.change(|state| state.answer(request, fault.as_ref()));
    match (&fault, order) {
        (Some(Fault::LoseAnswer), _) => return Err(Cut),
        (Some(Fault::HoldAnswer), Some(order)) => lifted(shared, order).await,
        _ => {}
    }
    let answer = answer.and_then(|answer| match answer {
        Answer::Object(code, object) => Ok(whole(code, JSON, object.text().clone())),
        Answer::Json(code, text) => Ok(whole(code, JSON, text)),
        Answer::Text(text) => Ok(whole(200, "text/plain", text)),
        Answer::Watch(target, query) => stream(shared, &target, &query),
    });
    Ok(answer.unwrap_or_else(|refusal| refused(&refusal)))
}

const JSON: &str = "application/json";

/// Waits until the test has lifted a fault.
async fn lifted(shared: &Shared, order: Order) {
    let mut bell = shared.bell();
    while shared.look().faults.stands(order) {
        // The bell lives as long as what it rings for.
        let _ = bell.changed().await;
    }
}

/// A request, read whole.
async fn read(request: hyper::Request<Incoming>) -> Result<Request, Cut> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    let query = head.uri.query().unwrap_or_default();
    let path = head.uri.path();
    let target = Target::of(path);
    let is_list = target.as_ref().is_some_and(|target| target.name.is_empty());
    let watches = Query::new(query).is_ok_and(|query| query.is_set("watch"));
    let verb = match head.method {
        Method::GET if is_list && watches => "watch",
        Method::GET if is_list => "list",
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if !is_list => "delete",
        _ => "other",
    };
    let form = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let form = form.unwrap_or_default();
    Ok(Request {
        target,
        path: path.to_owned(),
        verb,
        strategic: holds(form, b"strategic"),
        query: query.to_owned(),
        body: String::from_utf8_lossy(&body).into_owned(),
        token: bearer(&head.headers),
    })
}

fn bearer(headers: &HeaderMap) -> String {
    let value = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let token = value.and_then(|value| value.strip_prefix("Bearer "));
    token.unwrap_or_default().to_owned()
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A watch's answer, which has no end of its own unless the client asked for one.
fn stream(shared: &Arc<Shared>, target: &Target, query: &Query) -> Result<Response<Body>, Refusal> {
    let seconds = query.number("timeoutSeconds")?;
    let watch = Watch::open(&shared.look(), target, query)?;
    let open = Open::new(Arc::clone(shared), target.kind.resource);
    let bell = shared.bells[target.kind.place()].subscribe();
    let end = seconds.map(|seconds| tokio::time::Instant::now() + Duration::from_secs(seconds));
    let lines = unfold(Some((open, watch, bell)), move |watch| async move {
        let (open, mut watch, mut bell) = watch?;
        loop {
            bell.mark_unchanged();
            let (lines, goes_on) = watch.next(&open.shared.look());
            if !lines.is_empty() {
                let frame = Ok::<_, Infallible>(Frame::data(Bytes::from(lines)));
                return Some((frame, goes_on.then_some((open, watch, bell))));
            }
            if !goes_on {
                return None;
            }
            let changed = bell.changed();
            match end {
                Some(end) => tokio::time::timeout_at(end, changed).await.ok()?.ok()?,
                None => changed.await.ok()?,
            }
        }
    });
    let mut response = Response::new(StreamBody::new(lines).boxed_unsync());
    set_content_type(&mut response, JSON);
    Ok(response)
}

/// Counts a stream as long as it is open.
struct Open {
    shared: Arc<Shared>,
    resource: &'static str,
}

impl Open {
    fn new(shared: Arc<Shared>, resource: &'static str) -> Self {
        shared.change(|state| *state.open.entry(resource).or_default() += 1);
        Self { shared, resource }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let resource = self.resource;
        self.shared
            .change(|state| *state.open.entry(resource).or_default() -= 1);
    }
}

fn refused(refusal: &Refusal) -> Response<Body> {
    let mut response = whole(refusal.code, JSON, refusal.status().to_string());
    if let Some(seconds) = refusal.retry_after {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn whole(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).expect("a code of HTTP");
    set_content_type(&mut response, content_type);
    response
}

fn set_content_type(response: &mut Response<Body>, content_type: &str) {
    let value = HeaderValue::from_str(content_type).expect("a header's text");
    response.headers_mut().insert(CONTENT_TYPE, value);
}
