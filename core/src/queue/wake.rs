//! What events do to pods that wait.
//!
//! Mirrors `moveAllToActiveOrBackoffQueue` and `isPodWorthRequeuing` of
//! `backend/queue/scheduling_queue.go`.

use super::event::{Event, Resource};
use super::waiting::Waiting;
use super::{Item, Move, Place, PluginSet, Queue, Rules};
use crate::id::{ClassId, PodId};
use crate::intern::Word;
use crate::planted::{self, Bug};

impl Queue {
    /// The verdict of the events since a pod was popped.
    pub(super) fn replay(&self, rules: &impl Rules, pod: PodId, item: &Item) -> Move {
        let mut verdict = Move::Stay;
        if !item.is_rejected() {
            return Move::AfterBackoff;
        }
        if planted::is(Bug::EventsNotReplayed) {
            return verdict;
        }
        // As good as any event.
        if self.flight.has_missed(item) {
            return Move::AfterBackoff;
        }
        for event in self.flight.events_of(item) {
            let worth = worth(rules, &Asked::of(item, Some(pod)), &event);
            verdict = verdict.max(worth);
            if verdict == Move::Immediately
                || verdict == Move::AfterBackoff && item.pending.is_empty()
            {
                break;
            }
        }
        verdict
    }

    /// Lets an event move the pods that it may help: those of at most priority `highest`, but not
    /// `except`. Keeping the event is the caller's.
    pub(crate) fn wake(
        &mut self,
        rules: &impl Rules,
        event: &Event<'_>,
        highest: Option<i32>,
        except: Option<PodId>,
    ) {
        let readers = event.readers();
        let mut moved = core::mem::take(&mut self.moved);
        let groups = self.waiting.groups(|rejectors, gating| {
            event.is_wildcard()
                || gating.is_none_or(|plugin| readers.contains(plugin))
                    && (rejectors.is_empty() || !rejectors.intersection(readers).is_empty())
        });
        for group in groups {
            let asked = Asked {
                class: group.class,
                pin: group.pin,
                rejectors: group.rejectors,
                pending: group.pending,
                pod: None,
            };
            let verdict = worth(rules, &asked, event);
            if verdict == Move::Stay {
                continue;
            }
            let pods = Waiting::pods(&self.items, &group).filter(|pod| {
                let priority = self
                    .items
                    .get(*pod as usize)
                    .map_or(0, |item| item.priority);
                highest.is_none_or(|highest| priority <= highest)
                    && except.is_none_or(|except| except.0 != *pod)
            });
            moved.extend(pods.map(|pod| (pod, verdict)));
        }
        if !moved.is_empty() {
            self.incoming.because_of(event);
        }
        for (pod, verdict) in moved.drain(..) {
            self.waiting.remove(&mut self.items, pod);
            self.requeue(rules, pod, verdict);
        }
        self.moved = moved;
    }

    /// What an event about the pod itself does to it, if it waits: whether it moved.
    pub(crate) fn wake_pod(&mut self, rules: &impl Rules, pod: PodId, event: &Event<'_>) -> bool {
        let item = self.item(pod);
        if item.place != Place::Waiting {
            return false;
        }
        let verdict = worth(rules, &Asked::of(&item, Some(pod)), event);
        if verdict == Move::Stay {
            return false;
        }
        self.waiting.remove(&mut self.items, pod.0);
        self.incoming.because_of(event);
        self.requeue(rules, pod.0, verdict);
        self.item(pod).place != Place::Waiting
    }
}

/// Whom a hint is asked for.
struct Asked {
    class: ClassId,
    pin: Word,
    rejectors: PluginSet,
    pending: PluginSet,
    /// `None`: for a whole group, which a wildcard that carries a pod does not reach.
    pod: Option<PodId>,
}

impl Asked {
    const fn of(item: &Item, pod: Option<PodId>) -> Self {
        Self {
            class: item.class,
            pin: item.pin,
            rejectors: item.rejectors,
            pending: item.pending,
            pod,
        }
    }
}

/// What an event means to pods with these rejectors.
fn worth(rules: &impl Rules, asked: &Asked, event: &Event<'_>) -> Move {
    let all = asked.rejectors.union(asked.pending);
    if all.is_empty() {
        return Move::AfterBackoff;
    }
    if event.resource == Resource::Any {
        let carried = event.pods().1;
        let is_for_it = carried.is_none_or(|carried| asked.pod == Some(carried.pod));
        return if is_for_it {
            Move::AfterBackoff
        } else {
            Move::Stay
        };
    }
    let readers = all.intersection(event.readers());
    if !readers.intersection(PluginSet::EXTERNAL).is_empty() && asked.pending.is_empty() {
        return Move::AfterBackoff;
    }
    let mut verdict = Move::Stay;
    for plugin in readers.iter() {
        if !rules.hint(plugin, asked.class, asked.pin, event) {
            continue;
        }
        if asked.pending.contains(plugin) {
            return Move::Immediately;
        }
        verdict = Move::AfterBackoff;
        if asked.pending.is_empty() {
            break;
        }
    }
    verdict
}
