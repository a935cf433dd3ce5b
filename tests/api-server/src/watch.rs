//! One watch: what it has been told, and what comes next.

use crate::kind::Target;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::select::Selection;
use crate::state::State;
use crate::store::Change;
use serde_json::{Value, json};

/// A watch that is open.
#[derive(Debug)]
pub(crate) struct Watch {
    target: Target,
    selection: Selection,
    /// What it knows.
    version: u64,
    /// The objects of now are still to be told; whether a bookmark ends them.
    initial: Option<bool>,
    /// Lines of [`State::said`] that it has heard.
    said: usize,
    /// How often watches of this kind had been cut when it was opened.
    cuts: u64,
}

impl Watch {
    pub(crate) fn open(state: &State, target: &Target, query: &Query) -> Result<Self, Refusal> {
        let version = query.version()?;
        let streams_list = query.is_set("sendInitialEvents");
        if streams_list && query.get("resourceVersionMatch") != "NotOlderThan" {
            let why = "resourceVersionMatch: Forbidden: sendInitialEvents needs NotOlderThan";
            return Err(Refusal::invalid(target, why));
        }
        if streams_list && version > state.store.version() {
            return Err(Refusal::too_new(version, state.store.version()));
        }
        let bookmark = streams_list && query.is_set("allowWatchBookmarks");
        Ok(Self {
            selection: Selection::new(&target.namespace, query.get("fieldSelector"))?,
            target: target.clone(),
            version,
            initial: (streams_list || version == 0).then_some(bookmark),
            said: state.said.len(),
            cuts: state.cuts(target.kind.resource),
        })
    }

    /// Lines since the last time, and whether the stream goes on.
    pub(crate) fn next(&mut self, state: &State) -> (Vec<u8>, bool) {
        let resource = self.target.kind.resource;
        let mut lines = Vec::new();
        if state.cuts(resource) != self.cuts {
            return (lines, false);
        }
        if state.silent.contains(resource) {
            return (lines, true);
        }
        if let Some(bookmark) = self.initial.take() {
            let all = state.store.all(self.target.kind);
            for object in all.filter(|object| self.selection.holds(object)) {
                write(&mut lines, "ADDED", object);
            }
            self.version = state.store.version();
            if bookmark {
                let mut end = bookmark_at(&self.target, self.version);
                end["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
                write(&mut lines, "BOOKMARK", &end);
            }
        }
        let Some(changes) = state.store.since(self.version) else {
            write(&mut lines, "ERROR", &Refusal::expired().status());
            return (lines, false);
        };
        let own = changes
            .iter()
            .filter(|change| change.key.0 == self.target.kind);
        for change in own.filter(|change| !change.lost) {
            self.tell(change, &mut lines);
        }
        self.version = self.version.max(state.store.version());
        for (to, line) in state.said.get(self.said..).unwrap_or_default() {
            if to == resource {
                lines.extend_from_slice(line);
            }
        }
        self.said = state.said.len();
        (lines, true)
    }

    /// A change as one who sees only a selection sees it.
    fn tell(&self, change: &Change, lines: &mut Vec<u8>) {
        let selected = |object: &&Value| self.selection.holds(object);
        let before = change.before.as_ref().filter(selected);
        let after = change.after.as_ref().filter(selected);
        match (before, after) {
            (None, None) => {}
            (None, Some(after)) => write(lines, "ADDED", after),
            (Some(_), Some(after)) => write(lines, "MODIFIED", after),
            (Some(before), None) => {
                let mut last = before.clone();
                last["metadata"]["resourceVersion"] = json!(change.version.to_string());
                write(lines, "DELETED", &last);
            }
        }
    }
}

/// A bookmark's object.
pub(crate) fn bookmark_at(target: &Target, version: u64) -> Value {
    json!({
        "kind": target.kind.kind,
        "apiVersion": target.kind.api_version(),
        "metadata": {"resourceVersion": version.to_string()},
    })
}

/// A line of a watch.
pub(crate) fn write(lines: &mut Vec<u8>, what: &str, object: &Value) {
    let event = json!({"type": what, "object": object});
    lines.extend_from_slice(event.to_string().as_bytes());
    lines.push(b'\n');
}
