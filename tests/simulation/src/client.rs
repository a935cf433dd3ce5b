//! The scheduler's view of the server, as a client library keeps it: events of a watch and lists go
//! in; what is older than what is known of an object is dropped.

use crate::server::{Id, Seen, Server, Versioned, id_of};
use berth_core::object::Object;
use std::collections::{BTreeMap, BTreeSet};

/// What the client holds.
#[derive(Default)]
pub struct Client {
    /// Objects as last seen.
    pub store: BTreeMap<Id, Object>,
    /// Version of what was last seen of an object, also of one that is gone.
    versions: BTreeMap<Id, u64>,
    /// Version of the last list of a kind: events up to it say nothing new.
    listed: BTreeMap<&'static str, u64>,
    /// Events that are late, by the kind's stream.
    pub late: Vec<Seen>,
    /// Objects as the scheduler was told of them.
    pub told: BTreeMap<Id, Object>,
    /// What the scheduler refused to hear because a table was full.
    pub refused: BTreeSet<Id>,
}

impl Client {
    /// Takes an event in; `None` if it is stale.
    pub fn take(&mut self, event: Seen) -> Option<Id> {
        let id = id_of(&event.object);
        let listed = self.listed.get(id.0).copied().unwrap_or(0);
        let known = self.versions.get(&id).copied().unwrap_or(0).max(listed);
        if event.version <= known {
            return None;
        }
        self.versions.insert(id.clone(), event.version);
        if event.gone {
            self.store.remove(&id);
        } else {
            self.store.insert(id.clone(), event.object);
        }
        Some(id)
    }

    /// Takes over a list of a kind; gives all that may have changed. `None` if it is older than what
    /// is known: it is not taken.
    pub fn relist<'a>(
        &mut self,
        kind: &'static str,
        version: u64,
        list: impl Iterator<Item = (&'a Id, &'a Versioned)>,
    ) -> Option<Vec<Id>> {
        let listed = self.listed.get(kind).copied().unwrap_or(0);
        let of_kind = |id: &&Id| id.0 == kind;
        let known = self.versions.iter().filter(|(id, _)| of_kind(id));
        let known = known.map(|(_, version)| *version).max().unwrap_or(0);
        if version < known.max(listed) {
            return None;
        }
        let mut changed: BTreeSet<Id> = self.store.keys().filter(of_kind).cloned().collect();
        self.store.retain(|id, _| id.0 != kind);
        for (id, own) in list {
            self.versions.insert(id.clone(), own.version);
            self.store.insert(id.clone(), own.object.clone());
            changed.insert(id.clone());
        }
        self.listed.insert(kind, version);
        Some(changed.into_iter().collect())
    }

    /// Takes over what the server holds of one object, as after reading it.
    pub fn reread(&mut self, server: &Server, id: &Id) {
        self.versions.insert(id.clone(), server.version);
        match server.objects.get(id) {
            Some(own) => self.store.insert(id.clone(), own.object.clone()),
            None => self.store.remove(id),
        };
    }

    /// The version that was last seen of an object.
    pub fn version(&self, id: &Id) -> u64 {
        self.versions.get(id).copied().unwrap_or(0)
    }

    /// What the scheduler is to know of an object: finished pods are gone for it.
    pub fn wanted(&self, id: &Id) -> Option<&Object> {
        let object = self.store.get(id)?;
        match object {
            Object::Pod(pod) if pod.status.is_finished() => None,
            object => Some(object),
        }
    }
}
