//! Pods in flight, and the events that happen meanwhile.
//!
//! Mirrors `inFlightPods` and `inFlightEvents` of `backend/queue/active_queue.go`. Upstream keeps
//! one list in which pods mark where they were popped; here a pod remembers the number of the next
//! event, and pods are chained in the order in which they were popped. Events that no pod in flight
//! was popped before are dropped at once.

use super::event::{Event, NodeSide, PodSide, Resource, Side};
use super::item::{Item, NONE};
use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::id::ClassId;
use crate::intern::Word;
use crate::table::Count;
use alloc::vec;
use alloc::vec::Vec;
#[cfg(feature = "state-file")]
use {
    crate::cluster::Cluster,
    crate::intern::retain_texts,
    crate::state_file::{StateError, check},
};

/// Most events that one change of an object makes.
pub(super) const EVENTS_OF_A_CHANGE: usize = 8;

/// A kept event; the words of its nodes lie in the ring.
#[derive(Clone, Copy)]
struct Kept {
    resource: Resource,
    action: u16,
    pods: [Option<PodSide>; 2],
    /// Start in the ring, length.
    nodes: [Option<(u32, u32)>; 2],
    /// Words that go with the event, padding included.
    words: u32,
}

impl Kept {
    const EMPTY: Self = Self {
        resource: Resource::Any,
        action: 0,
        pods: [None; 2],
        nodes: [None; 2],
        words: 0,
    };
}

/// Pods in flight, and events, in a state file.
#[cfg(feature = "state-file")]
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedFlight {
    /// In the order in which they were popped.
    pub(crate) pods: Vec<u32>,
    pub(crate) base: u64,
    events: Vec<SavedEvent>,
    missed: Option<u64>,
}

#[cfg(all(test, feature = "state-file"))]
impl SavedFlight {
    /// Kept events.
    pub(crate) fn events(&self) -> usize {
        self.events.len()
    }
}

#[cfg(feature = "state-file")]
#[derive(serde::Serialize, serde::Deserialize)]
struct SavedEvent {
    resource: Resource,
    action: u16,
    pods: [Option<PodSide>; 2],
    nodes: [Option<Vec<Word>>; 2],
}

/// Pods in flight and kept events.
#[derive(Clone)]
pub(super) struct Flight {
    first: u32,
    last: u32,
    pub(super) count: u32,
    /// A ring.
    events: Vec<Kept>,
    head: usize,
    len: usize,
    /// Number of the event at the head.
    base: u64,
    /// A ring.
    words: Vec<Word>,
    words_head: usize,
    words_len: usize,
    /// Pods popped before the event of this number have missed one that there was no room for.
    missed: Option<u64>,
}

impl Flight {
    /// Room for `events` events and `words` words of the nodes in them.
    pub(super) fn new(events: u32, words: u32) -> Self {
        Self {
            first: NONE,
            last: NONE,
            count: 0,
            events: vec![Kept::EMPTY; events as usize],
            head: 0,
            len: 0,
            base: 0,
            words: vec![0; words as usize],
            words_head: 0,
            words_len: 0,
            missed: None,
        }
    }

    pub(super) const fn bytes(events: u64, words: u64) -> u64 {
        sum(&[bytes_of::<Kept>(events), bytes_of::<Word>(words)])
    }

    /// Takes a pod in that was just popped.
    pub(super) fn push(&mut self, items: &mut [Item], pod: u32) {
        let since = self.end();
        let last = core::mem::replace(&mut self.last, pod);
        match items.get_mut(last as usize) {
            Some(last) => last.next = pod,
            None => self.first = pod,
        }
        if let Some(item) = items.get_mut(pod as usize) {
            item.since = since;
            item.next = NONE;
            item.previous = last;
        }
        self.count.count_up();
    }

    /// Lets a pod go; [`Self::drop_events`] follows.
    pub(super) fn remove(&mut self, items: &mut [Item], pod: u32) {
        let Some(item) = items.get(pod as usize).copied() else {
            return;
        };
        match items.get_mut(item.previous as usize) {
            Some(previous) => previous.next = item.next,
            None => self.first = item.next,
        }
        match items.get_mut(item.next as usize) {
            Some(next) => next.previous = item.previous,
            None => self.last = item.previous,
        }
        self.count.count_down();
        if self.count == 0 {
            self.missed = None;
        }
    }

    /// Drops events that no pod in flight needs; `release` gets the classes and words that they
    /// held.
    pub(super) fn drop_events(
        &mut self,
        items: &[Item],
        mut release: impl FnMut([Option<ClassId>; 2], [&[Word]; 2]),
    ) {
        let needed = items
            .get(self.first as usize)
            .map_or(self.end(), |first| first.since);
        while self.len > 0 && self.base < needed {
            if let Some(kept) = self.events.get(self.head) {
                let nodes = kept.nodes.map(|node| self.node_words(node));
                release(kept.pods.map(|pod| Some(pod?.class)), nodes);
                let words = kept.words as usize;
                self.words_head = around(self.words_head, words, self.words.len());
                self.words_len = self.words_len.saturating_sub(words);
            }
            self.head = around(self.head, 1, self.events.len());
            self.len.count_down();
            self.base.count_up();
        }
    }

    /// Number of the next event.
    const fn end(&self) -> u64 {
        self.base.saturating_add(self.len as u64)
    }

    fn node_words(&self, node: Option<(u32, u32)>) -> &[Word] {
        let (start, len) = node.unwrap_or_default();
        self.words
            .get(start as usize..start.saturating_add(len) as usize)
            .unwrap_or_default()
    }

    /// Pods, in the order in which they were popped.
    pub(super) fn pods<'a>(&self, items: &'a [Item]) -> impl Iterator<Item = u32> + use<'a> {
        let mut at = self.first;
        core::iter::from_fn(move || {
            let item = items.get(at as usize)?;
            Some(core::mem::replace(&mut at, item.next))
        })
    }

    /// Whether events have to be kept.
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Refuses if the events of one change, with nodes of so many words, may not fit.
    pub(super) fn check_room(&self, words: usize) -> Result<(), CapacityExceeded> {
        if self.len.saturating_add(EVENTS_OF_A_CHANGE) > self.events.len() {
            return Err(CapacityExceeded {
                which: "in_flight_events",
                limit: self.events.len() as u64,
            });
        }
        // One event's words may be preceded by the unused end of the ring.
        let wanted = words.saturating_mul(EVENTS_OF_A_CHANGE + 1);
        if wanted > 0 && self.words_len.saturating_add(wanted) > self.words.len() {
            return Err(CapacityExceeded {
                which: "event_words",
                limit: self.words.len() as u64,
            });
        }
        Ok(())
    }

    /// Keeps an event whose nodes have these words; whether there was room. What it refers to is
    /// held for it by the caller.
    pub(super) fn keep(&mut self, event: &Event<'_>, nodes: [&[Word]; 2]) -> bool {
        if self.len >= self.events.len() {
            return false;
        }
        let before = self.words_len;
        let mut kept = Kept {
            resource: event.resource,
            action: event.action,
            ..Kept::EMPTY
        };
        let sides = [event.old, event.new].into_iter().zip(nodes);
        for ((side, words), place) in sides.zip(0..2) {
            match side {
                Side::Pod(pod) => {
                    if let Some(slot) = kept.pods.get_mut(place) {
                        *slot = Some(pod);
                    }
                }
                Side::Node(_) => {
                    let Some(start) = self.store(words) else {
                        self.words_len = before;
                        return false;
                    };
                    if let Some(slot) = kept.nodes.get_mut(place) {
                        *slot = Some((start, words.len() as u32));
                    }
                }
                Side::None => {}
            }
        }
        kept.words = self.words_len.saturating_sub(before) as u32;
        let at = around(self.head, self.len, self.events.len());
        if let Some(slot) = self.events.get_mut(at) {
            *slot = kept;
        }
        self.len.count_up();
        true
    }

    /// Notes that an event could not be kept.
    pub(super) const fn miss(&mut self) {
        self.missed = Some(self.end());
    }

    /// Whether an event since the pod was popped may not have been kept.
    pub(super) fn has_missed(&self, item: &Item) -> bool {
        self.missed.is_some_and(|end| item.since <= end)
    }

    /// Events since the pod was popped, in order.
    pub(super) fn events_of(&self, item: &Item) -> impl Iterator<Item = Event<'_>> {
        let from = item.since.saturating_sub(self.base) as usize;
        (from..self.len).filter_map(move |place| {
            let at = around(self.head, place, self.events.len());
            let kept = self.events.get(at)?;
            let side = |at: usize| match (kept.pods.get(at)?, kept.nodes.get(at)?) {
                (Some(pod), _) => Some(Side::Pod(*pod)),
                (None, Some(node)) => NodeSide::read(self.node_words(Some(*node))).map(Side::Node),
                (None, None) => None,
            };
            Some(Event {
                resource: kept.resource,
                action: kept.action,
                old: side(0).unwrap_or_default(),
                new: side(1).unwrap_or_default(),
            })
        })
    }

    /// What a state file holds of it.
    #[cfg(feature = "state-file")]
    pub(super) fn saved(&self, items: &[Item]) -> SavedFlight {
        let events = (0..self.len).filter_map(|place| {
            let kept = self
                .events
                .get(around(self.head, place, self.events.len()))?;
            Some(SavedEvent {
                resource: kept.resource,
                action: kept.action,
                pods: kept.pods,
                nodes: kept
                    .nodes
                    .map(|node| Some(self.node_words(Some(node?)).to_vec())),
            })
        });
        SavedFlight {
            pods: self.pods(items).collect(),
            base: self.base,
            events: events.collect(),
            missed: self.missed,
        }
    }

    /// Fills an empty one; the pods are checked already.
    #[cfg(feature = "state-file")]
    pub(super) fn restore(
        &mut self,
        items: &mut [Item],
        saved: &SavedFlight,
        cluster: &mut Cluster,
    ) -> Result<(), StateError> {
        self.base = saved.base;
        let part = "in_flight";
        for (place, event) in saved.events.iter().enumerate() {
            let mut sides = [Side::None; 2];
            let nodes = [0, 1].map(|at| event.nodes.get(at)?.as_deref());
            for (at, side) in sides.iter_mut().enumerate() {
                let pod = event.pods.get(at).copied().flatten();
                let node = nodes.get(at).copied().flatten();
                if let Some(pod) = pod {
                    let class = cluster.classes.records.contains(pod.class.0);
                    check(
                        class && node.is_none(),
                        part,
                        place,
                        "one of its pods has no class",
                    )?;
                    cluster.classes.records.retain(pod.class.0);
                    *side = Side::Pod(pod);
                } else if let Some(words) = node {
                    cluster.check_words(words, part, place)?;
                    let node = NodeSide::read(words);
                    check(
                        node.is_some(),
                        part,
                        place,
                        "one of its nodes cannot be read",
                    )?;
                    retain_texts(words, &mut cluster.texts);
                    *side = node.map(Side::Node).unwrap_or_default();
                }
            }
            let [old, new] = sides;
            let event = Event {
                resource: event.resource,
                action: event.action,
                old,
                new,
            };
            if !self.keep(&event, nodes.map(Option::unwrap_or_default)) {
                let which = if self.len < self.events.len() {
                    ("event_words", self.words.len())
                } else {
                    ("in_flight_events", self.events.len())
                };
                let (which, limit) = (which.0, which.1 as u64);
                return Err(CapacityExceeded { which, limit }.into());
            }
        }
        let mut earliest = self.base;
        for (place, pod) in saved.pods.iter().enumerate() {
            let since = items.get(*pod as usize).map_or(0, |item| item.since);
            let right = since >= earliest && since <= self.end();
            check(right, part, place, "it was popped at another time")?;
            earliest = since;
            self.push(items, *pod);
            if let Some(item) = items.get_mut(*pod as usize) {
                item.since = since;
            }
        }
        self.missed = saved.missed;
        Ok(())
    }

    /// Copies words into the ring in one piece; the rest before its end is skipped if need be.
    fn store(&mut self, words: &[Word]) -> Option<u32> {
        let size = self.words.len();
        let next = around(self.words_head, self.words_len, size);
        let rest = size.saturating_sub(next);
        let (start, skipped) = if words.len() > rest {
            (0, rest)
        } else {
            (next, 0)
        };
        let len = self
            .words_len
            .saturating_add(skipped)
            .saturating_add(words.len());
        if len > size {
            return None;
        }
        self.words
            .get_mut(start..start.saturating_add(words.len()))?
            .copy_from_slice(words);
        self.words_len = len;
        Some(start as u32)
    }
}

/// The place so many steps after another one in a ring.
fn around(from: usize, steps: usize, size: usize) -> usize {
    from.saturating_add(steps).checked_rem(size).unwrap_or(0)
}
