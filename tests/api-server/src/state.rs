//! All that the server knows, behind one lock.

use crate::call::Call;
use crate::fault::{Fault, Faults};
use crate::kind::Target;
use crate::query::Query;
use crate::read;
use crate::refusal::Refusal;
use crate::review::Reviews;
use crate::store::Store;
use crate::stored::Stored;
use crate::write;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) faults: Faults,
    pub(crate) reviews: Reviews,
    pub(crate) calls: Vec<Call>,
    /// Who is told of requests in place of that.
    pub(crate) listener: Option<Listener>,
    /// Lines for the open watches of a resource, which the test says.
    pub(crate) said: Vec<(String, Vec<u8>)>,
    /// Resources whose watches say nothing.
    pub(crate) silent: BTreeSet<String>,
    /// Changes are not told to watches.
    pub(crate) loses_changes: bool,
    /// Open watches of each resource.
    pub(crate) open: BTreeMap<&'static str, usize>,
    /// What everybody has to say, if anything.
    pub(crate) token: Option<String>,
    cut: BTreeMap<String, u64>,
}

/// Verb, resource and name of a request.
pub(crate) type Hears = dyn FnMut(&str, &str, &str) + Send;

/// Hears of each request; see [`Server::listen`](crate::Server::listen).
pub(crate) struct Listener(pub(crate) Box<Hears>);

impl fmt::Debug for Listener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Listener")
    }
}

/// What a request is, once its path and method were understood.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `None` of a path that names no kind.
    pub(crate) target: Option<Target>,
    pub(crate) path: String,
    pub(crate) verb: &'static str,
    /// Of a patch: merged as the types say.
    pub(crate) strategic: bool,
    pub(crate) query: String,
    pub(crate) body: String,
    /// What the client says who it is.
    pub(crate) token: String,
}

/// What it is answered with.
#[derive(Debug)]
pub(crate) enum Answer {
    Object(u16, Arc<Stored>),
    Json(u16, String),
    Text(String),
    Watch(Target, Query),
}

impl Request {
    /// The resource, as rules and counts name it.
    pub(crate) fn resource(&self) -> String {
        match &self.target {
            None => self.path.clone(),
            Some(target) if target.subresource.is_empty() => target.kind.resource.to_owned(),
            Some(target) => format!("{}/{}", target.kind.resource, target.subresource),
        }
    }

    /// As it is counted; the code comes later.
    pub(crate) fn call(&self) -> Call {
        let text = |of: fn(&Target) -> &String| self.target.as_ref().map(of).cloned();
        Call {
            verb: self.verb.to_owned(),
            resource: self.resource(),
            namespace: text(|target| &target.namespace).unwrap_or_default(),
            name: text(|target| &target.name).unwrap_or_default(),
            query: self.query.clone(),
            body: self.body.clone(),
            code: 0,
        }
    }
}

impl State {
    /// A request has come; where it stands among the calls, if those are kept.
    pub(crate) fn note(&mut self, request: &Request) -> Option<usize> {
        if let Some(listener) = &mut self.listener {
            let name = request.target.as_ref();
            let name = name.map_or("", |target| &target.name);
            (listener.0)(request.verb, &request.resource(), name);
            return None;
        }
        self.calls.push(request.call());
        Some(self.calls.len() - 1)
    }

    pub(crate) fn cuts(&self, resource: &str) -> u64 {
        self.cut.get(resource).copied().unwrap_or_default()
    }

    pub(crate) fn cut(&mut self, resource: &str) {
        self.store.touch_all();
        *self.cut.entry(resource.to_owned()).or_default() += 1;
    }

    /// Ends every watch.
    pub(crate) fn cut_all(&mut self) {
        for kind in &crate::kind::KINDS {
            self.cut(kind.resource);
        }
    }

    /// Carries a request out; what a fault says of lists is followed.
    pub(crate) fn answer(
        &mut self,
        request: &Request,
        fault: Option<&Fault>,
    ) -> Result<Answer, Refusal> {
        let Some(target) = &request.target else {
            return self.answer_path(request);
        };
        let query = Query::new(&request.query)?;
        let lost = self.loses_changes;
        let store = &mut self.store;
        let sub = target.subresource.as_str();
        let is_pod = target.kind.kind == "Pod";
        let answer = match (request.verb, sub) {
            ("get", "" | "status") => read::get(store, target)?,
            ("list", "") => {
                let list = match fault {
                    Some(Fault::Stale(version)) => {
                        let then = store.at(*version).ok_or_else(Refusal::expired)?;
                        read::list(&then, target, &query)?
                    }
                    _ => read::list(store, target, &query)?,
                };
                return Ok(Answer::Json(200, list));
            }
            ("watch", "") => return Ok(Answer::Watch(target.clone(), query)),
            ("create", "") => {
                let object = write::create(store, target, request.json()?, lost)?;
                return Ok(Answer::Object(201, object));
            }
            ("create", "binding") if is_pod => {
                let status = write::bind(store, target, &request.json()?, lost)?;
                return Ok(Answer::Json(201, status.to_string()));
            }
            ("update", "" | "status") => write::replace(store, target, request.json()?, lost)?,
            ("patch", "" | "status") => {
                write::patch(store, target, &request.json()?, request.strategic, lost)?
            }
            ("delete", "") => write::delete(store, target, &request.json()?, lost)?,
            _ => return Err(Refusal::method_not_allowed()),
        };
        Ok(Answer::Object(200, answer))
    }

    fn answer_path(&self, request: &Request) -> Result<Answer, Refusal> {
        match (request.verb, request.path.as_str()) {
            ("get", "/healthz" | "/livez" | "/readyz") => Ok(Answer::Text("ok".to_owned())),
            ("get", "/version") => {
                let version = json!({"major": "1", "minor": "37", "gitVersion": "v1.37.2"});
                Ok(Answer::Json(200, version.to_string()))
            }
            ("create", "/apis/authentication.k8s.io/v1/tokenreviews") => {
                let review = self.reviews.token(request.json()?);
                Ok(Answer::Json(201, review.to_string()))
            }
            ("create", "/apis/authorization.k8s.io/v1/subjectaccessreviews") => {
                let review = self.reviews.access(request.json()?);
                Ok(Answer::Json(201, review.to_string()))
            }
            _ => Err(Refusal::no_such_path()),
        }
    }
}

impl Request {
    /// The body; an empty one is an empty object.
    fn json(&self) -> Result<Value, Refusal> {
        if self.body.is_empty() {
            return Ok(json!({}));
        }
        let value = serde_json::from_str(&self.body);
        value.map_err(|error| Refusal::bad_request(&format!("the body is no JSON: {error}")))
    }
}
