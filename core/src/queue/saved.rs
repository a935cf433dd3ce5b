//! The queue in a state file.

use super::flight::SavedFlight;
use super::item::{Item, NONE, Place};
use super::waiting::Waiting;
use super::{Heap, Queue};
use crate::cluster::{Cluster, PodState};
use crate::id::PodId;
use crate::intern::{retain_texts, word_text};
use crate::state_file::{StateError, check};
use crate::table::Table;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What cannot be found out otherwise. Chains and places in lists are made anew.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedQueue {
    /// By the pods' rows, vacant ones included.
    pub(crate) items: Vec<Item>,
    pub(crate) active: Vec<u32>,
    pub(crate) backoff: Vec<u32>,
    pub(crate) errors: Vec<u32>,
    /// Waiting pods, shelf by shelf; free shelves are empty.
    pub(crate) shelves: Vec<Vec<u32>>,
    pub(crate) flight: SavedFlight,
    /// Nominated pods, in the order of their nomination.
    pub(crate) nominated: Vec<u32>,
    pub(crate) now: u64,
    pub(crate) cycle: u64,
}

impl Queue {
    /// The content of a state file, for rows below `pods`.
    pub(crate) fn saved(&self, pods: usize) -> SavedQueue {
        let [active, backoff, errors] = self.heaps().map(<[u32]>::to_vec);
        SavedQueue {
            items: self.items.iter().take(pods).map(Item::unlinked).collect(),
            active,
            backoff,
            errors,
            shelves: self.waiting.saved(&self.items),
            flight: self.flight.saved(&self.items),
            nominated: self.nominated().map(|(pod, _)| pod.0).collect(),
            now: self.now,
            cycle: self.cycle,
        }
    }

    /// Fills the queue of an empty scheduler whose cluster is there.
    pub(crate) fn restore(
        &mut self,
        saved: &SavedQueue,
        cluster: &mut Cluster,
    ) -> Result<(), StateError> {
        let part = "items";
        let all = saved.items.len() == cluster.pods.len();
        check(all, part, 0, "there are other than as many as rows of pods")?;
        for (at, item) in saved.items.iter().enumerate() {
            check_item(item, at, cluster)?;
            retain_texts(&[item.status_nomination], &mut cluster.texts);
            self.items.set(at, item.unlinked());
            if let Some(own) = self.items.at_mut(at) {
                own.nomination = 0;
            }
        }
        let heaps = [
            (&mut self.active, &saved.active, Place::Active, "active"),
            (&mut self.backoff, &saved.backoff, Place::Backoff, "backoff"),
            (&mut self.errors, &saved.errors, Place::Errors, "errors"),
        ];
        for (heap, pods, place, part) in heaps {
            check_list(&self.items, pods, &[place], part)?;
            check(
                heap.restore(&mut self.items, pods),
                part,
                0,
                "this is no heap",
            )?;
        }
        let waiting: Vec<u32> = saved.shelves.iter().flatten().copied().collect();
        check_list(&self.items, &waiting, &[Place::Waiting], "shelves")?;
        for (place, shelf) in saved.shelves.iter().enumerate() {
            let alike = Waiting::are_alike(&self.items, shelf);
            check(alike, "shelves", place, "its pods are not alike")?;
        }
        self.waiting.restore(&mut self.items, &saved.shelves);
        let flying = &[Place::InFlight, Place::Permit];
        check_list(&self.items, &saved.flight.pods, flying, "in_flight")?;
        self.flight
            .restore(&mut self.items, &saved.flight, cluster)?;
        for (place, pod) in saved.nominated.iter().enumerate() {
            let item = saved.items.get(*pod as usize);
            let node = item.map_or(0, |item| item.nomination);
            let new = node != 0 && self.item(PodId(*pod)).nomination == 0;
            check(
                new,
                "nominated",
                place,
                "this pod is not nominated, or is there twice",
            )?;
            self.nominate(&mut cluster.texts, PodId(*pod), node);
        }
        let nominated = saved.items.iter().filter(|item| item.nomination != 0);
        let all = nominated.count() == saved.nominated.len();
        check(
            all,
            "nominated",
            saved.nominated.len(),
            "a nominated pod is missing",
        )?;
        self.now = saved.now;
        self.cycle = saved.cycle;
        Ok(())
    }
}

impl Item {
    /// The item without its places in lists.
    fn unlinked(&self) -> Self {
        Self {
            group: NONE,
            next: NONE,
            previous: NONE,
            position: 0,
            nominated_next: NONE,
            nominated_previous: NONE,
            ..*self
        }
    }
}

fn check_item(item: &Item, at: usize, cluster: &Cluster) -> Result<(), StateError> {
    let part = "items";
    cluster.check_words(
        &[item.pin, item.status_nomination, item.nomination],
        part,
        at,
    )?;
    let named = [item.pin, item.status_nomination, item.nomination];
    let texts = named
        .into_iter()
        .all(|word| word == 0 || word_text(word).is_some());
    check(texts, part, at, "a name is no text")?;
    let pod = cluster.pods.at(at);
    let state = pod.state;
    let right = match item.place {
        Place::Nowhere => state != PodState::Vacant || item.nomination == 0,
        Place::Active | Place::Backoff | Place::Errors | Place::InFlight => {
            state == PodState::Pending
        }
        // Those that wait are asked by their class and pin.
        Place::Waiting => {
            state == PodState::Pending && (item.class, item.pin) == (pod.class, pod.pin)
        }
        Place::Permit | Place::PreBind | Place::Bind | Place::Unknown => {
            state != PodState::Pending && state != PodState::Vacant
        }
    };
    check(
        right,
        part,
        at,
        "its place and the state of its pod do not go together",
    )
}

/// Refuses a list of other pods than those in these places, each once.
fn check_list(
    items: &[Item],
    pods: &[u32],
    places: &[Place],
    part: &'static str,
) -> Result<(), StateError> {
    let mut seen = alloc::vec![false; items.len()];
    for (place, pod) in pods.iter().enumerate() {
        let item = items.get(*pod as usize);
        let there = item.is_some_and(|item| places.contains(&item.place));
        let seen = seen.get_mut(*pod as usize);
        let first = seen.is_some_and(|seen| !core::mem::replace(seen, true));
        check(
            there && first,
            part,
            place,
            "this pod is elsewhere, or is there twice",
        )?;
    }
    let all = items
        .iter()
        .filter(|item| places.contains(&item.place))
        .count();
    check(all == pods.len(), part, pods.len(), "a pod is missing")
}

impl Heap {
    /// Fills an empty heap with pods in the order of its array; `false`: that is no heap.
    fn restore(&mut self, items: &mut [Item], pods: &[u32]) -> bool {
        self.list.extend_from_slice(pods);
        for at in 0..pods.len() {
            self.set_position(items, at);
        }
        (1..pods.len()).all(|at| !self.is_less(items, at, at.saturating_sub(1) / 2))
    }
}
