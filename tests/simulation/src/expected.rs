//! What the scheduler should hold of each pod: told by the rules alone, from what it was told and
//! what it decided.

use crate::server::{Key, id_of};
use berth_core::PluginSet;
use berth_core::object::{Object, Pod};
use std::collections::BTreeMap;

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// Where a pod should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the queue: active, in backoff, unschedulable or gated.
    Queued,
    /// Waits at Permit until then, with an attempt of this number among all; whether work follows before its
    /// binding.
    Permit {
        deadline: u64,
        attempt: u64,
        has_work: bool,
    },
    /// Work before its binding is under way.
    PreBind,
    /// Its binding is under way, or nobody knows.
    Binding,
    /// Bound as far as the caller knows, and not seen so.
    Told,
    /// Seen with its node.
    Bound,
    /// Out of the queue until it changes.
    Dropped,
    /// No profile is responsible for it.
    Foreign,
}

/// What should be known of a pod.
#[derive(Clone, Debug)]
pub struct Expected {
    pub uid: String,
    pub place: Place,
    /// Where it takes room, or would if the node were there.
    pub node: Option<String>,
    pub priority: i32,
    pub attempts: u32,
    pub rejections: u32,
    pub errors: u32,
    /// Time of its creation or last failure.
    pub timestamp: u64,
    /// Plugins that rejected it last.
    pub rejectors: PluginSet,
    /// Node that it is nominated to in memory; empty: none.
    pub nomination: String,
    /// `status.nominatedNodeName` as last told.
    pub status_nomination: String,
    /// When it left the cycle for its binding.
    pub binding_since: u64,
    /// It may be active in spite of its backoff.
    pub activated: bool,
    /// Something happened, while it waited at Permit, that wakes whoever waits.
    pub heard: bool,
    /// It found no node at its last attempt, nominations left out.
    pub fits_nowhere: bool,
    /// Something changed since its last failure that upstream tells nobody; see `excuse.rs`.
    pub excused: bool,
    /// The last pod whose eviction it waits for.
    pub held_for: Option<(Key, String)>,
}

impl Expected {
    /// A pod that was added at `now`.
    pub fn new(pod: &Pod, is_ours: bool, now: u64) -> Self {
        let node = Some(pod.spec.node_name.clone()).filter(|name| !name.is_empty());
        let place = match (&node, is_ours) {
            (Some(_), _) => Place::Bound,
            (None, true) => Place::Queued,
            (None, false) => Place::Foreign,
        };
        let nomination = if place == Place::Queued {
            pod.status.nominated_node_name.clone()
        } else {
            String::new()
        };
        Self {
            uid: pod.metadata.uid.clone(),
            place,
            node,
            priority: pod.spec.priority.unwrap_or(0),
            attempts: 0,
            rejections: 0,
            errors: 0,
            timestamp: now,
            rejectors: PluginSet::EMPTY,
            nomination,
            status_nomination: pod.status.nominated_node_name.clone(),
            binding_since: now,
            activated: false,
            heard: false,
            fits_nowhere: false,
            excused: false,
            held_for: None,
        }
    }

    /// It is new to the queue again.
    pub fn renew(&mut self, now: u64) {
        self.place = Place::Queued;
        self.attempts = 0;
        self.rejections = 0;
        self.errors = 0;
        self.timestamp = now;
        self.rejectors = PluginSet::EMPTY;
        self.activated = false;
    }

    /// It failed and is back in the queue.
    pub fn fail(&mut self, rejectors: PluginSet, now: u64) {
        self.place = Place::Queued;
        self.node = None;
        self.timestamp = now;
        self.rejectors = rejectors;
        self.activated = false;
        self.excused = false;
        self.fits_nowhere = false;
        if rejectors.is_empty() {
            self.errors += 1;
        } else {
            self.errors = 0;
            self.rejections += 1;
        }
    }

    /// Whether it takes room without having been seen on its node.
    pub const fn is_assumed(&self) -> bool {
        matches!(
            self.place,
            Place::Permit { .. } | Place::PreBind | Place::Binding | Place::Told
        )
    }

    /// When its backoff ends, cut to whole seconds; 0: it has none. Mirrors
    /// `calculateBackoffDuration`.
    pub fn expiry(&self, (initial, longest): (u64, u64)) -> u64 {
        let count = if self.errors > 0 {
            self.errors
        } else {
            self.rejections
        };
        if count == 0 {
            return 0;
        }
        let mut duration = initial;
        for _ in 1..count {
            duration = (duration * 2).min(longest);
        }
        whole_seconds(self.timestamp + duration.min(longest) * SECOND)
    }

    /// Whether its backoff is not over at `now`.
    pub fn backs_off(&self, backoff: (u64, u64), now: u64) -> bool {
        let expiry = self.expiry(backoff);
        expiry > 0 && expiry >= whole_seconds(now)
    }
}

/// The start of the second.
pub const fn whole_seconds(time: u64) -> u64 {
    time - time % SECOND
}

/// All pods that the scheduler was told of.
pub type All = BTreeMap<Key, Expected>;

/// Namespace and name of a pod.
pub fn key_of(pod: &Pod) -> Key {
    (pod.metadata.namespace.clone(), pod.metadata.name.clone())
}

/// The pod of an object that is one.
pub fn as_pod(object: &Object) -> Option<&Pod> {
    match object {
        Object::Pod(pod) => Some(pod),
        _ => None,
    }
}

/// Whether two objects are one and the same, by UID.
pub fn is_same(old: &Object, new: &Object) -> bool {
    id_of(old) == id_of(new) && old.metadata().uid == new.metadata().uid
}
