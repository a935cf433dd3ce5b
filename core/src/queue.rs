//! The queue: which pod is tried next, which ones wait, and what wakes them.
//!
//! Mirrors `pkg/scheduler/backend/queue` of kube-scheduler 1.37.2. Stage before:
//! [`Scheduler::apply`](crate::Scheduler::apply), which turns changes of objects into events. Stage
//! after: `scheduler/turn.rs`, which pops a pod and brings it back when it failed.
//!
//! - `item.rs`: what is known of a pod, and the drawing of its states;
//! - `heap.rs`: active and both backoff parts; `backoff.rs`: for how long;
//! - `waiting.rs`: pods that wait for an event, grouped;
//! - `flight.rs`: pods that are being decided on, and the events since;
//! - `nominator.rs`: nominations; `event.rs`, `side.rs`, `hint.rs`: events and who reads them.
//!
//! Every table is as long as the pods or events that it may hold, taken once. Nothing here knows
//! objects or the clock: [`Rules`] answers for the plugins, and `now` is what the caller said last.

mod backoff;
pub(crate) mod event;
mod flight;
mod heap;
pub(crate) mod hint;
mod incoming;
mod item;
mod nominator;
mod plugin_set;
#[cfg(feature = "state-file")]
pub(crate) mod saved;
pub(crate) mod side;
#[cfg(test)]
mod tests;
mod waiting;
mod wake;

pub use plugin_set::PluginSet;

pub(crate) use backoff::Durations;
pub(crate) use item::{Item, Place};

use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::id::{ClassId, PodId};
use crate::intern::{Texts, Word};
use crate::planted::{self, Bug};
use crate::plugins::Plugin;
use crate::table::Count;
use alloc::vec::Vec;
use event::Event;
use flight::Flight;
use heap::Heap;
use incoming::{Cause, Incoming, Part};
use item::{NONE, comes_first, ends_first, error_ends_first};
use nominator::Nominator;
use waiting::Waiting;

/// The plugins' answers that the queue needs.
pub(crate) trait Rules {
    /// The plugin that keeps the pod from being tried, at PreEnqueue. `is_preempting`: the pod's
    /// own preemption is under way.
    fn gate(&self, pod: PodId, item: &Item, is_preempting: bool) -> Option<Plugin>;
    /// Whether the event may lift what the plugin said of pods of this class and pin.
    fn hint(&self, plugin: Plugin, class: ClassId, pin: Word, event: &Event<'_>) -> bool;
}

/// Where a pod goes that waits or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Move {
    Stay,
    AfterBackoff,
    Immediately,
}

/// Pods by part of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Ready to be tried.
    pub active: u32,
    /// Failed not long ago.
    pub backoff: u32,
    /// Wait for an event; gated ones are not among them.
    pub unschedulable: u32,
    /// Held at PreEnqueue.
    pub gated: u32,
    /// Being decided on, or waiting at Permit.
    pub in_flight: u32,
    /// Nominated to a node.
    pub nominated: u32,
}

/// All pods of the queue, by their row.
#[derive(Clone)]
pub(crate) struct Queue {
    items: Vec<Item>,
    active: Heap,
    backoff: Heap,
    errors: Heap,
    waiting: Waiting,
    flight: Flight,
    nominator: Nominator,
    durations: Durations,
    /// The latest time that the queue was told, in nanoseconds since 1970.
    pub(crate) now: u64,
    /// Pods popped.
    pub(crate) cycle: u64,
    /// Pods that an event moves, and where to.
    moved: FixedVec<(u32, Move)>,
    /// What came since the scheduler was made.
    pub(crate) incoming: Incoming,
}

impl Queue {
    pub(crate) fn new(pods: u32, events: u32, event_words: u32, durations: Durations) -> Self {
        let mut items = Vec::new();
        items.resize(pods as usize, Item::VACANT);
        Self {
            items,
            active: Heap::new(pods, comes_first),
            backoff: Heap::new(pods, ends_first),
            errors: Heap::new(pods, error_ends_first),
            waiting: Waiting::new(pods),
            flight: Flight::new(events, event_words),
            nominator: Nominator::new(),
            durations,
            now: 0,
            cycle: 0,
            moved: FixedVec::with_capacity(pods as usize),
            incoming: Incoming::new(),
        }
    }

    pub(crate) const fn bytes(pods: u64, events: u64, event_words: u64) -> u64 {
        sum(&[
            bytes_of::<Item>(pods),
            // The heaps.
            bytes_of::<[u32; 3]>(pods),
            Waiting::bytes(pods),
            Flight::bytes(events, event_words),
            bytes_of::<(u32, Move)>(pods),
        ])
    }

    pub(crate) fn item(&self, pod: PodId) -> Item {
        self.items.get(pod.index()).copied().unwrap_or(Item::VACANT)
    }

    pub(crate) fn item_mut(&mut self, pod: PodId) -> Option<&mut Item> {
        self.items.get_mut(pod.index())
    }

    /// Counts of all parts.
    pub(crate) fn counts(&self) -> QueueCounts {
        QueueCounts {
            active: self.active.len() as u32,
            backoff: self.backoff.len().saturating_add(self.errors.len()) as u32,
            unschedulable: self.waiting.count.saturating_sub(self.waiting.gated),
            gated: self.waiting.gated,
            in_flight: self.flight.count,
            nominated: self.nominator.count,
        }
    }

    /// Pods of the active part and of the backoff parts, in the order of their heaps' arrays.
    pub(crate) fn heaps(&self) -> [&[u32]; 3] {
        [&self.active, &self.backoff, &self.errors].map(Heap::list)
    }

    /// Whether no event can change anything.
    pub(crate) const fn ignores_events(&self) -> bool {
        self.waiting.count == 0 && self.flight.is_empty()
    }

    /// See [`Flight::check_room`].
    pub(crate) fn check_room(&self, words: usize) -> Result<(), CapacityExceeded> {
        if self.flight.is_empty() {
            return Ok(());
        }
        self.flight.check_room(words)
    }

    /// A new pod: to the active part, unless a plugin holds it.
    pub(crate) fn add(&mut self, rules: &impl Rules, pod: PodId) {
        if let Some(item) = self.items.get_mut(pod.index()) {
            item.timestamp = self.now;
        }
        self.incoming.because(Cause::Added);
        self.enter_active(rules, pod.0, false);
    }

    /// Takes a pod out of the part that it is in; what is known of it stays. Pods in flight stay.
    pub(crate) fn take_out(&mut self, pod: PodId) {
        let at = pod.0;
        let items = &mut self.items;
        match items.get(at as usize).map(|item| item.place) {
            Some(Place::Active) => self.active.remove(items, at),
            Some(Place::Backoff) => self.backoff.remove(items, at),
            Some(Place::Errors) => self.errors.remove(items, at),
            Some(Place::Waiting) => self.waiting.remove(items, at),
            _ => return,
        }
        self.set_place(at, Place::Nowhere);
    }

    /// Forgets a pod that is gone. It must not be in flight.
    pub(crate) fn forget(&mut self, texts: &mut Texts, pod: PodId) {
        self.take_out(pod);
        self.nominator.remove(&mut self.items, texts, pod.0);
        if let Some(item) = self.items.get_mut(pod.index()) {
            crate::intern::release_texts(&[item.status_nomination], texts);
            *item = Item {
                generation: item.generation.wrapping_add(1),
                ..Item::VACANT
            };
        }
    }

    /// The pod that [`pop`](Self::pop) would take.
    pub(crate) fn peek(&self) -> Option<PodId> {
        let pod = self.active.peek().or_else(|| self.backoff.peek());
        pod.map(PodId)
    }

    /// The pod to be tried now: the first active one, else the first of those in backoff that were
    /// rejected. It is in flight then.
    pub(crate) fn pop(&mut self) -> Option<PodId> {
        let items = &mut self.items;
        let mut pod = self.active.pop(items);
        if pod.is_none() {
            pod = self.backoff.pop(items);
            if pod.is_some() {
                self.incoming.because(Cause::TakenFromBackoff);
                self.incoming.count(Part::Active);
            }
        }
        if planted::is(Bug::ErrorTriedEarly) {
            pod = pod.or_else(|| self.errors.pop(items));
        }
        let pod = pod?;
        if let Some(item) = items.get_mut(pod as usize) {
            item.attempts = item.attempts.saturating_add(1);
            item.place = Place::InFlight;
        }
        self.flight.push(items, pod);
        self.cycle.count_up();
        Some(PodId(pod))
    }

    /// A pod in flight needs no events any more; [`Self::drop_events`] follows.
    pub(crate) fn done(&mut self, pod: PodId, place: Place) {
        if matches!(self.item(pod).place, Place::InFlight | Place::Permit) {
            self.flight.remove(&mut self.items, pod.0);
        }
        self.set_place(pod.0, place);
    }

    /// See [`Flight::drop_events`].
    pub(crate) fn drop_events(&mut self, release: impl FnMut([Option<ClassId>; 2], [&[Word]; 2])) {
        self.flight.drop_events(&self.items, release);
    }

    /// A failed pod comes back: to where the events since it was popped send it.
    ///
    /// Mirrors `AddUnschedulablePodIfNotPresent`.
    pub(crate) fn fail(
        &mut self,
        rules: &impl Rules,
        pod: PodId,
        (class, pin): (ClassId, Word),
        rejectors: PluginSet,
        pending: PluginSet,
    ) {
        let (now, durations) = (self.now, self.durations);
        let Some(item) = self.items.get_mut(pod.index()) else {
            return;
        };
        item.class = class;
        item.pin = pin;
        item.rejectors = rejectors;
        item.pending = pending;
        if item.is_rejected() {
            item.rejections = item.rejections.saturating_add(1);
            item.errors = 0;
        } else {
            item.errors = item.errors.saturating_add(1);
        }
        item.timestamp = now;
        item.flushed = 0;
        item.expiry = durations.expiry(item.rejections, item.errors, now);
        let item = *item;
        let in_flight = matches!(item.place, Place::InFlight | Place::Permit);
        let verdict = if in_flight {
            self.replay(rules, pod, &item)
        } else {
            Move::AfterBackoff
        };
        self.done(pod, Place::Nowhere);
        self.incoming.because(Cause::AttemptFailed);
        if verdict == Move::Stay {
            self.enter_waiting(pod.0);
        } else {
            self.requeue(rules, pod.0, verdict);
        }
    }

    /// Keeps an event for the pods in flight, whose nodes have these words; whether it was kept.
    pub(crate) fn keep(&mut self, event: &Event<'_>, nodes: [&[Word]; 2]) -> bool {
        if self.flight.is_empty() {
            return false;
        }
        let kept = self.flight.keep(event, nodes);
        if !kept {
            self.flight.miss();
        }
        kept
    }

    /// A pod's priority or class changed: it is put where it belongs now.
    pub(crate) fn changed(&mut self, pod: PodId, priority: i32, class: ClassId, pin: Word) {
        let at = pod.0;
        let place = self.item(pod).place;
        if place == Place::Waiting {
            self.waiting.remove(&mut self.items, at);
        }
        if let Some(item) = self.items.get_mut(pod.index()) {
            item.priority = priority;
            item.class = class;
            item.pin = pin;
        }
        match place {
            Place::Waiting => self.waiting.insert(&mut self.items, at),
            Place::Active => self.active.fix(&mut self.items, at),
            Place::Backoff => self.backoff.fix(&mut self.items, at),
            Place::Errors => self.errors.fix(&mut self.items, at),
            _ => {}
        }
    }

    /// Makes a waiting or backing-off pod active; `false` if it is neither. Mirrors `Activate`.
    pub(crate) fn activate(&mut self, rules: &impl Rules, pod: PodId) -> bool {
        let place = self.item(pod).place;
        if !matches!(place, Place::Waiting | Place::Backoff | Place::Errors) {
            return false;
        }
        self.take_out(pod);
        self.incoming.because(Cause::Activated);
        self.enter_active(rules, pod.0, place != Place::Waiting);
        true
    }

    /// Moves pods whose backoff is over at `now`.
    pub(crate) fn flush_backoff(&mut self, rules: &impl Rules) {
        let now = backoff::window(self.now);
        self.incoming.because(Cause::BackoffOver);
        loop {
            let items = &mut self.items;
            let is_over = |pod: &u32| {
                let item = items.get(*pod as usize);
                item.is_some_and(|item| item.expiry < now)
            };
            let pod = if self.backoff.peek().as_ref().is_some_and(is_over) {
                self.backoff.pop(items)
            } else if self.errors.peek().as_ref().is_some_and(is_over) {
                self.errors.pop(items)
            } else {
                return;
            };
            if let Some(pod) = pod {
                self.enter_active(rules, pod, true);
            }
        }
    }

    /// Moves pods that have waited for more than the longest time at `now`.
    pub(crate) fn flush_waiting(&mut self, rules: &impl Rules) {
        let mut moved = core::mem::take(&mut self.moved);
        let (now, mut longest) = (self.now, self.durations.longest_wait);
        if planted::is(Bug::FlushForgotten) {
            longest = u64::MAX;
        }
        for group in self.waiting.groups(|_, _| true) {
            let pods = Waiting::pods(&self.items, &group).filter(|pod| {
                let item = self.items.get(*pod as usize);
                item.is_some_and(|item| {
                    now.saturating_sub(item.timestamp.max(item.flushed)) > longest
                })
            });
            moved.extend(pods.map(|pod| (pod, Move::AfterBackoff)));
        }
        self.incoming.because(Cause::WaitedLongest);
        for (pod, verdict) in moved.drain(..) {
            if let Some(item) = self.items.get_mut(pod as usize) {
                item.flushed = now;
            }
            self.waiting.remove(&mut self.items, pod);
            self.requeue(rules, pod, verdict);
        }
        self.moved = moved;
    }

    /// When the backoff of some pod ends, at the earliest.
    pub(crate) fn next_expiry(&self) -> Option<u64> {
        let expiry = |heap: &Heap| Some(self.items.get(heap.peek()? as usize)?.expiry);
        let ends = [expiry(&self.backoff), expiry(&self.errors)];
        ends.into_iter().flatten().min()
    }

    /// Whether pods wait for an event.
    pub(crate) const fn has_waiting(&self) -> bool {
        self.waiting.count > 0
    }

    /// Nominates a pod to the node of this name; 0 takes its nomination back.
    pub(crate) fn nominate(&mut self, texts: &mut Texts, pod: PodId, node: Word) {
        self.nominator.set(&mut self.items, texts, pod.0, node);
    }

    /// Nominated pods and the names of their nodes, in the order of their nomination.
    pub(crate) fn nominated(&self) -> impl Iterator<Item = (PodId, Word)> + '_ {
        let pods = self.nominator.pods(&self.items);
        pods.map(|(pod, node)| (PodId(pod), node))
    }

    /// Whether some pod is nominated.
    pub(crate) const fn has_nominated(&self) -> bool {
        self.nominator.count > 0
    }

    /// The pod's preemption has begun, of which `victim` is evicted last; `None`: it is over.
    pub(crate) fn set_last_victim(&mut self, pod: PodId, victim: Option<PodId>) {
        let generation = victim.map_or(0, |victim| self.item(victim).generation);
        if let Some(item) = self.items.get_mut(pod.index()) {
            item.last_victim = (victim.map_or(NONE, |victim| victim.0), generation);
        }
    }

    /// Whether the pod's own preemption is under way: its last victim is there and is not yet being
    /// deleted. Mirrors `IsPodRunningPreemption`.
    pub(crate) fn is_preempting(&self, pod: PodId) -> bool {
        let (victim, generation) = self.item(pod).last_victim;
        let victim = self.items.get(victim as usize);
        let victim = victim.filter(|_| !planted::is(Bug::PreemptorNotHeld));
        victim.is_some_and(|victim| victim.generation == generation && !victim.is_terminating)
    }

    /// Pods in flight, in the order in which they were popped.
    pub(crate) fn in_flight(&self) -> impl Iterator<Item = PodId> + '_ {
        self.flight.pods(&self.items).map(PodId)
    }

    /// A pod that was dropped is new again.
    pub(crate) fn renew(&mut self, pod: PodId) {
        if let Some(item) = self.items.get_mut(pod.index()) {
            item.attempts = 0;
            item.rejections = 0;
            item.errors = 0;
            item.expiry = 0;
            item.first_active = 0;
            item.rejectors = PluginSet::EMPTY;
            item.pending = PluginSet::EMPTY;
            item.gating = None;
        }
    }

    pub(super) fn requeue(&mut self, rules: &impl Rules, pod: u32, verdict: Move) {
        let now = backoff::window(self.now);
        let backs_off = self
            .items
            .get(pod as usize)
            .is_some_and(|item| item.expiry >= now && item.expiry > 0);
        match verdict {
            Move::Stay => self.enter_waiting(pod),
            Move::AfterBackoff if backs_off && !planted::is(Bug::BackoffIgnored) => {
                self.enter_backoff(rules, pod);
            }
            _ => self.enter_active(rules, pod, false),
        }
    }

    fn enter_active(&mut self, rules: &impl Rules, pod: u32, from_backoff: bool) {
        if !from_backoff && self.is_gated(rules, pod) {
            return;
        }
        let now = self.now;
        if let Some(item) = self.items.get_mut(pod as usize)
            && item.first_active == 0
        {
            item.first_active = now;
        }
        self.incoming.count(Part::Active);
        self.set_place(pod, Place::Active);
        self.active.push(&mut self.items, pod);
    }

    fn enter_backoff(&mut self, rules: &impl Rules, pod: u32) {
        if self.is_gated(rules, pod) {
            return;
        }
        self.incoming.count(Part::Backoff);
        let rejected = self.items.get(pod as usize).is_some_and(Item::is_rejected);
        if rejected {
            self.set_place(pod, Place::Backoff);
            self.backoff.push(&mut self.items, pod);
        } else {
            self.set_place(pod, Place::Errors);
            self.errors.push(&mut self.items, pod);
        }
    }

    fn enter_waiting(&mut self, pod: u32) {
        // One that is held once more has not left.
        if self.item(PodId(pod)).place != Place::Waiting {
            self.incoming.count(Part::Unschedulable);
        }
        self.set_place(pod, Place::Waiting);
        self.waiting.insert(&mut self.items, pod);
    }

    /// Asks PreEnqueue; a pod that is held waits.
    fn is_gated(&mut self, rules: &impl Rules, pod: u32) -> bool {
        let is_preempting = self.is_preempting(PodId(pod));
        let Some(item) = self.items.get_mut(pod as usize) else {
            return true;
        };
        item.gating = rules.gate(PodId(pod), item, is_preempting);
        if planted::is(Bug::GateIgnored) {
            item.gating = None;
        }
        let Some(plugin) = item.gating else {
            return false;
        };
        item.rejectors.insert(plugin);
        self.enter_waiting(pod);
        true
    }

    fn set_place(&mut self, pod: u32, place: Place) {
        if let Some(item) = self.items.get_mut(pod as usize) {
            item.place = place;
        }
    }
}
