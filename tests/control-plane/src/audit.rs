//! What the API server has been asked, by its audit log.

use serde::Deserialize;
use std::fs;
use std::path::Path;

/// The log's policy: who asked for what, and of bindings also the node.
pub(crate) const POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  resources: [{group: \"\", resources: [pods/binding]}]
- level: Metadata
";

/// A request that was answered; of a watch also that it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `ResponseStarted` of a watch that began, else `ResponseComplete`.
    pub stage: String,
    /// Who asked.
    pub user: String,
    /// By which program, as it says.
    pub user_agent: String,
    /// Kubernetes' verb: get, list, watch, create, update, patch, delete, ..
    pub verb: String,
    /// In the plural; empty of a path that is none's.
    pub resource: String,
    /// Empty of the object itself.
    pub subresource: String,
    /// Empty of what has none.
    pub namespace: String,
    /// Empty of a whole list.
    pub name: String,
    /// As the request gave it, which a binding should.
    pub uid: String,
    /// Of a binding, the node.
    pub target: String,
    /// HTTP's.
    pub code: u16,
}

impl Row {
    /// Whether it asked to bind a pod.
    pub fn is_binding(&self) -> bool {
        self.verb == "create" && self.resource == "pods" && self.subresource == "binding"
    }
}

/// The rows of a log so far. A line that is being written is left for later.
pub(crate) fn read(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(row).collect()
}

fn row(line: &str) -> Row {
    let event: Event =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("audit log: {error}: {line}"));
    let object = event.object_ref;
    Row {
        stage: event.stage,
        user: event.user.username,
        user_agent: event.user_agent,
        verb: event.verb,
        resource: object.resource,
        subresource: object.subresource,
        namespace: object.namespace,
        name: object.name,
        uid: object.uid,
        target: event.request_object.target.name,
        code: event.response_status.code,
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Event {
    stage: String,
    user: User,
    user_agent: String,
    verb: String,
    object_ref: ObjectRef,
    request_object: Binding,
    response_status: Status,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    uid: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Binding {
    target: Target,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Target {
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    code: u16,
}
