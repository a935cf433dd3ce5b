//! From the server to the scheduler: watches, lists, and a scheduler that starts anew.

use super::calls::{Binding, Call};
use super::{Simulation, new_scheduler};
use crate::client::Client;
use crate::expected::Place;
use crate::fault::Fault;
use crate::random::Random;
use crate::server::{Id, Seen};
use crate::violation::{Check, ensure};
use berth_core::object::Object;
use berth_core::{ApplyError, Change};
use std::collections::VecDeque;

/// Kinds that the scheduler watches.
pub(crate) const KINDS: [&str; 15] = [
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "ReplicaSet",
    "ReplicationController",
    "Service",
    "StatefulSet",
    "StorageClass",
    "VolumeAttachment",
];

impl Simulation {
    /// Some events of some watch.
    pub(super) fn deliver(&mut self, random: &mut Random) -> Check {
        if random.one_in(3) && !self.client.late.is_empty() {
            let at = random.below(self.client.late.len());
            let event = self.client.late.remove(at);
            self.hand_over(event, random)?;
        }
        let streams = self.server.streams.iter();
        let busy: Vec<&'static str> = streams
            .filter(|(_, events)| !events.is_empty())
            .map(|(kind, _)| *kind)
            .collect();
        let Some(kind) = random.pick(&busy).copied() else {
            return Ok(());
        };
        for _ in 0..=random.below(6) {
            let event = self
                .server
                .streams
                .get_mut(kind)
                .and_then(VecDeque::pop_front);
            let Some(event) = event else {
                break;
            };
            if self.strikes(random, Fault::EventLost) {
                continue;
            }
            if self.strikes(random, Fault::EventDelayed) {
                self.client.late.push(event);
                continue;
            }
            let again = self.strikes(random, Fault::EventDoubled);
            self.hand_over(event.clone(), random)?;
            if again {
                self.repeat(&event, random)?;
            }
        }
        Ok(())
    }

    /// All events of all watches.
    pub(super) fn deliver_all(&mut self, random: &mut Random) -> Check {
        for event in std::mem::take(&mut self.client.late) {
            self.hand_over(event, random)?;
        }
        for kind in KINDS {
            let events = self.server.streams.remove(kind).unwrap_or_default();
            for event in events {
                self.hand_over(event, random)?;
            }
        }
        Ok(())
    }

    fn hand_over(&mut self, event: Seen, random: &mut Random) -> Check {
        match self.client.take(event) {
            Some(id) => self.tell(&id, random),
            None => Ok(()),
        }
    }

    /// The same event again: the client drops it; a scheduler that hears it all the same refuses it
    /// or finds nothing new.
    fn repeat(&mut self, event: &Seen, random: &mut Random) -> Check {
        let stale = self.client.take(event.clone()).is_none();
        ensure(stale, "client", || format!("took {event:?} twice"))?;
        let id = crate::server::id_of(&event.object);
        let Some(known) = self.client.told.get(&id).cloned() else {
            return Ok(());
        };
        let before = self.engine.state_hash();
        if random.one_in(2) {
            let result = self.engine.apply(Change::Added, &known);
            let refused = matches!(
                result,
                Err(ApplyError::AlreadyExists | ApplyError::Capacity(_))
            );
            ensure(refused, "F11", || {
                format!("{id:?} was added twice: {result:?}")
            })?;
        } else {
            self.apply(Change::Modified, &known)?;
        }
        ensure(self.engine.state_hash() == before, "F11", || {
            format!("the same event twice changed the state: {known:?}")
        })
    }

    /// Brings the scheduler up to date with what the client knows of an object.
    pub(crate) fn tell(&mut self, id: &Id, random: &mut Random) -> Check {
        let old = self.client.told.get(id).cloned();
        let stored = self.client.store.get(id).cloned();
        let wanted = self.client.wanted(id).is_some();
        match (old, stored) {
            (None, None) => {
                self.client.refused.remove(id);
                Ok(())
            }
            // A finished pod that nobody knew: no news.
            (None, Some(new)) => self.apply(Change::Added, &new),
            (Some(old), None) => self.apply(Change::Deleted, &old),
            (Some(_), Some(new)) if !wanted && random.one_in(2) => {
                self.apply(Change::Modified, &new)
            }
            (Some(old), Some(_)) if !wanted => self.apply(Change::Deleted, &old),
            (Some(old), Some(new)) => {
                let recreated = old.metadata().uid != new.metadata().uid;
                if recreated && !self.setup.merges_recreation {
                    self.apply(Change::Deleted, &old)?;
                    if self.client.told.contains_key(id) {
                        // Refused: all of it is told later.
                        return Ok(());
                    }
                    return self.apply(Change::Added, &new);
                }
                if old == new && random.one_in(2) {
                    self.client.refused.remove(id);
                    return Ok(());
                }
                self.apply(Change::Modified, &new)
            }
        }
    }

    pub(super) fn relist_one(&mut self, random: &mut Random) -> Check {
        let kind = random.choose(&KINDS);
        if !self.may(Fault::Relist) {
            return Ok(());
        }
        self.counts.count(Fault::Relist);
        let past = self.past.clone();
        let is_old = random.one_in(2) && self.strikes(random, Fault::StaleList);
        if random.one_in(2) {
            self.past = self.server.snapshot();
        }
        if is_old {
            let (version, list) = past.list(kind);
            let changed = self.client.relist(kind, version, list);
            for id in changed.into_iter().flatten() {
                self.tell(&id, random)?;
            }
            return Ok(());
        }
        self.relist(kind, random)
    }

    /// Lists a kind anew. Events on their way are stale then.
    pub(super) fn relist(&mut self, kind: &'static str, random: &mut Random) -> Check {
        let list = self.server.list(kind);
        let changed = self.client.relist(kind, self.server.version, list);
        ensure(changed.is_some(), "F15", || {
            format!("the list of {kind} as it is now was taken for an old one")
        })?;
        for id in changed.into_iter().flatten() {
            self.tell(&id, random)?;
        }
        self.server.streams.remove(kind);
        Ok(())
    }

    pub(super) fn relist_all(&mut self, random: &mut Random) -> Check {
        for kind in KINDS {
            self.relist(kind, random)?;
        }
        Ok(())
    }

    /// Tells again what was refused.
    pub(super) fn retry(&mut self, random: &mut Random) -> Check {
        for id in self.client.refused.clone() {
            self.tell(&id, random)?;
        }
        Ok(())
    }

    /// The scheduler dies between any two of its outputs; the next one knows what the server knows.
    /// The same if the server's versions go back: nothing that was known holds.
    pub(super) fn restart(&mut self, random: &mut Random) -> Check {
        if !self.may(Fault::Restarted) {
            return Ok(());
        }
        self.counts.count(Fault::Restarted);
        for call in std::mem::take(&mut self.calls) {
            let Call::Bind(Binding {
                key,
                uid,
                node,
                is_unclear,
                writes,
            }) = call
            else {
                continue;
            };
            let place = self.expected(&key, &uid).map(|pod| pod.place);
            if let Some(write) = writes.front().filter(|_| place == Some(Place::PreBind))
                && random.one_in(2)
            {
                self.update_volume(write)?;
            }
            let sent = place == Some(Place::Binding);
            if !sent || is_unclear {
                continue;
            }
            match random.below(3) {
                0 => {
                    self.server.bind(&key, &uid, &node);
                }
                1 => self.strays.push((key, uid, node)),
                _ => {}
            }
        }
        if self.strikes(random, Fault::VersionBack) {
            self.server.restore(&self.past);
        }
        self.engine = new_scheduler(&self.setup);
        self.engine.advance(self.now);
        self.client = Client::default();
        self.shadow = berth_naive::Cluster::default();
        self.pods.clear();
        self.returned.clear();
        self.server.streams.clear();
        let mut kinds = KINDS.to_vec();
        while !kinds.is_empty() {
            let kind = kinds.remove(random.below(kinds.len()));
            self.relist(kind, random)?;
        }
        Ok(())
    }

    /// Whether the client knows a node.
    pub(super) fn knows_node(&self, name: &str) -> bool {
        let id = ("Node", String::new(), name.to_owned());
        self.client.store.contains_key(&id)
    }

    /// The pod as the scheduler was told of it last.
    pub(crate) fn told_pod(&self, key: &crate::server::Key) -> Option<&berth_core::object::Pod> {
        match self.client.told.get(&crate::server::pod_id(key))? {
            Object::Pod(pod) => Some(pod),
            _ => None,
        }
    }
}
