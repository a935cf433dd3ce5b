//! One watch: what it has been told, and what comes next.

use crate::kind::Target;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::select::Selection;
use crate::state::State;
use crate::store::Change;
use crate::stored::Stored;
use serde_json::{Value, json};
use std::sync::Arc;

/// Objects of a list that go out at a time.
const AT_A_TIME: usize = 256;

/// A watch that is open.
#[derive(Debug)]
pub(crate) struct Watch {
    target: Target,
    selection: Selection,
    /// What it knows.
    version: u64,
    /// The objects of now are still to be told; whether a bookmark ends them.
    initial: Option<bool>,
    /// Of those, what is left to be told.
    left: std::vec::IntoIter<Arc<Stored>>,
    /// The version that they are of.
    listed: Option<u64>,
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
            left: Vec::new().into_iter(),
            listed: None,
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
        if let Some(bookmark) = self.initial {
            if self.listed.is_none() {
                let all = state.store.all(self.target.kind).cloned();
                let own: Vec<_> = all.filter(|object| self.selection.holds(object)).collect();
                self.left = own.into_iter();
                self.listed = Some(state.store.version());
            }
            for object in self.left.by_ref().take(AT_A_TIME) {
                write(&mut lines, "ADDED", object.text());
            }
            if self.left.len() > 0 {
                return (lines, true);
            }
            self.initial = None;
            self.version = self.listed.take().unwrap_or_default();
            if bookmark {
                let mut end = bookmark_at(&self.target, self.version);
                end["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
                write(&mut lines, "BOOKMARK", end.to_string().as_bytes());
            }
        }
        let Some(changes) = state.store.since(self.version) else {
            let expired = Refusal::expired().status().to_string();
            write(&mut lines, "ERROR", expired.as_bytes());
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
        let selected = |object: &&Arc<Stored>| self.selection.holds(object);
        let before = change.before.as_ref().filter(selected);
        let after = change.after.as_ref().filter(selected);
        match (before, after) {
            (None, None) => {}
            (None, Some(after)) => write(lines, "ADDED", after.text()),
            (Some(_), Some(after)) => write(lines, "MODIFIED", after.text()),
            (Some(before), None) => {
                let last = before.at_version(change.version);
                write(lines, "DELETED", last.text());
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

/// A line of a watch, with an object that is JSON already.
pub(crate) fn write(lines: &mut Vec<u8>, what: &str, object: &[u8]) {
    lines.extend_from_slice(b"{\"type\":\"");
    lines.extend_from_slice(what.as_bytes());
    lines.extend_from_slice(b"\",\"object\":");
    lines.extend_from_slice(object);
    lines.extend_from_slice(b"}\n");
}
