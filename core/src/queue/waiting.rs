//! Pods that wait for an event: in groups that every event treats alike.
//!
//! A group is the pods of one class (and pin) with the same rejectors and the same gate. Groups lie
//! on shelves, one a set of rejectors and gate, so an event costs the shelves, plus the groups
//! whose rejectors read it, plus the pods that it moves. The naive twin asks every pod.

use super::item::{Item, NONE};
use super::plugin_set::PluginSet;
use crate::capacity::{bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::id::ClassId;
use crate::intern::{Word, hash_words, index_bytes, reserved_index};
use crate::plugins::Plugin;
use crate::table::{Count, occupy};
#[cfg(feature = "state-file")]
use alloc::vec::Vec;
use hashbrown::HashTable;

/// Pods that every event treats alike, but for their priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) class: ClassId,
    pub(crate) pin: Word,
    pub(crate) rejectors: PluginSet,
    pub(crate) pending: PluginSet,
    pub(crate) gating: Option<Plugin>,
    first: u32,
    last: u32,
    /// Neighbours on the shelf.
    next: u32,
    previous: u32,
    shelf: u32,
}

/// Groups with the same rejectors and gate.
#[derive(Clone, Copy)]
struct Shelf {
    rejectors: PluginSet,
    gating: Option<Plugin>,
    /// [`NONE`]: the shelf is free.
    first: u32,
    last: u32,
}

/// All pods that wait.
#[derive(Clone)]
pub(super) struct Waiting {
    groups: FixedVec<Group>,
    vacant: FixedVec<u32>,
    index: HashTable<u32>,
    shelves: FixedVec<Shelf>,
    pub(super) count: u32,
    /// Of these, gated ones.
    pub(super) gated: u32,
}

impl Waiting {
    /// Room for `limit` pods.
    pub(super) fn new(limit: u32) -> Self {
        Self {
            groups: FixedVec::with_capacity(limit as usize),
            vacant: FixedVec::with_capacity(limit as usize),
            index: reserved_index(limit),
            shelves: FixedVec::with_capacity(limit as usize),
            count: 0,
            gated: 0,
        }
    }

    pub(super) const fn bytes(limit: u64) -> u64 {
        sum(&[
            bytes_of::<Group>(limit),
            bytes_of::<u32>(limit),
            index_bytes(limit),
            bytes_of::<Shelf>(limit),
        ])
    }

    pub(super) fn insert(&mut self, items: &mut [Item], pod: u32) {
        self.insert_on(items, pod, None);
    }

    fn insert_on(&mut self, items: &mut [Item], pod: u32, shelf: Option<u32>) {
        let Some(item) = items.get(pod as usize).copied() else {
            return;
        };
        let at = self.group_of(&item, shelf);
        let Some(group) = self.groups.get_mut(at as usize) else {
            return;
        };
        let last = core::mem::replace(&mut group.last, pod);
        match items.get_mut(last as usize) {
            Some(last) => last.next = pod,
            None => group.first = pod,
        }
        if let Some(item) = items.get_mut(pod as usize) {
            item.group = at;
            item.next = NONE;
            item.previous = last;
        }
        self.count.count_up();
        if item.gating.is_some() {
            self.gated.count_up();
        }
    }

    pub(super) fn remove(&mut self, items: &mut [Item], pod: u32) {
        let Some(item) = items.get(pod as usize).copied() else {
            return;
        };
        let Some(group) = self.groups.get_mut(item.group as usize) else {
            return;
        };
        match items.get_mut(item.previous as usize) {
            Some(previous) => previous.next = item.next,
            None => group.first = item.next,
        }
        match items.get_mut(item.next as usize) {
            Some(next) => next.previous = item.previous,
            None => group.last = item.previous,
        }
        let gated = group.gating.is_some();
        if group.first == NONE {
            self.free_group(item.group);
        }
        if let Some(item) = items.get_mut(pod as usize) {
            item.group = NONE;
            item.next = NONE;
            item.previous = NONE;
        }
        self.count.count_down();
        if gated {
            self.gated.count_down();
        }
    }

    /// Groups that `reads` wants, asked once a shelf by its rejectors and gate.
    pub(super) fn groups(
        &self,
        reads: impl Fn(PluginSet, Option<Plugin>) -> bool,
    ) -> impl Iterator<Item = Group> {
        let shelves = self
            .shelves
            .iter()
            .filter(move |shelf| shelf.first != NONE && reads(shelf.rejectors, shelf.gating));
        shelves.flat_map(move |shelf| {
            let mut at = shelf.first;
            core::iter::from_fn(move || {
                let group = self.groups.get(at as usize)?;
                at = group.next;
                Some(*group)
            })
        })
    }

    /// Pods of a group, in the order in which they came.
    pub(super) fn pods<'a>(
        items: &'a [Item],
        group: &Group,
    ) -> impl Iterator<Item = u32> + use<'a> {
        let mut at = group.first;
        core::iter::from_fn(move || {
            let item = items.get(at as usize)?;
            Some(core::mem::replace(&mut at, item.next))
        })
    }

    /// What a state file holds: the pods of each shelf, in order.
    #[cfg(feature = "state-file")]
    pub(super) fn saved(&self, items: &[Item]) -> Vec<Vec<u32>> {
        let pods = |shelf: &Shelf| {
            let mut pods = Vec::new();
            let mut at = shelf.first;
            while let Some(group) = self.groups.get(at as usize) {
                pods.extend(Self::pods(items, group));
                at = group.next;
            }
            pods
        };
        self.shelves.iter().map(pods).collect()
    }

    /// Whether pods could lie on one shelf.
    #[cfg(feature = "state-file")]
    pub(super) fn are_alike(items: &[Item], shelf: &[u32]) -> bool {
        let kind = |pod: &u32| {
            let item = items.get(*pod as usize)?;
            Some((item.rejectors.union(item.pending), item.gating))
        };
        let mut kinds = shelf.iter().map(kind);
        let first = kinds.next();
        kinds.all(|kind| Some(kind) == first)
    }

    /// Fills empty shelves.
    #[cfg(feature = "state-file")]
    pub(super) fn restore(&mut self, items: &mut [Item], shelves: &[Vec<u32>]) {
        for pods in shelves {
            let first = pods.first().and_then(|pod| items.get(*pod as usize));
            let first = first.copied().unwrap_or(Item::VACANT);
            let shelf = self.shelves.len() as u32;
            self.shelves.push(Shelf {
                rejectors: first.rejectors.union(first.pending),
                gating: first.gating,
                first: NONE,
                last: NONE,
            });
            for pod in pods {
                self.insert_on(items, *pod, Some(shelf));
            }
        }
    }

    /// The group of such pods, which is made if there is none: on the given shelf, or on theirs.
    fn group_of(&mut self, item: &Item, shelf: Option<u32>) -> u32 {
        let key = key(
            item.class,
            item.pin,
            item.rejectors,
            item.pending,
            item.gating,
        );
        let groups = &self.groups;
        let key_at = |at: &u32| groups.get(*at as usize).map(Group::key);
        if let Some(at) = self
            .index
            .find(hash_words(&key), |at| key_at(at) == Some(key))
        {
            return *at;
        }
        let shelf =
            shelf.unwrap_or_else(|| self.shelf_of(item.rejectors.union(item.pending), item.gating));
        let last = self
            .shelves
            .get(shelf as usize)
            .map_or(NONE, |shelf| shelf.last);
        let group = Group {
            class: item.class,
            pin: item.pin,
            rejectors: item.rejectors,
            pending: item.pending,
            gating: item.gating,
            first: NONE,
            last: NONE,
            next: NONE,
            previous: last,
            shelf,
        };
        let at = occupy(&mut self.groups, &mut self.vacant, group);
        if let Some(last) = self.groups.get_mut(last as usize) {
            last.next = at;
        }
        if let Some(shelf) = self.shelves.get_mut(shelf as usize) {
            shelf.last = at;
            if shelf.first == NONE {
                shelf.first = at;
            }
        }
        let groups = &self.groups;
        self.index.insert_unique(hash_words(&key), at, |at| {
            groups
                .get(*at as usize)
                .map_or(0, |group| hash_words(&group.key()))
        });
        at
    }

    fn shelf_of(&mut self, rejectors: PluginSet, gating: Option<Plugin>) -> u32 {
        let is_wanted = |shelf: &Shelf| {
            shelf.first != NONE && shelf.rejectors == rejectors && shelf.gating == gating
        };
        if let Some(at) = self.shelves.iter().position(is_wanted) {
            return at as u32;
        }
        let shelf = Shelf {
            rejectors,
            gating,
            first: NONE,
            last: NONE,
        };
        let mut free = self.shelves.iter_mut().enumerate();
        if let Some((at, free)) = free.find(|(_, shelf)| shelf.first == NONE) {
            *free = shelf;
            return at as u32;
        }
        let at = self.shelves.len() as u32;
        self.shelves.push(shelf);
        at
    }

    fn free_group(&mut self, at: u32) {
        let Some(group) = self.groups.get(at as usize).copied() else {
            return;
        };
        if let Ok(found) = self
            .index
            .find_entry(hash_words(&group.key()), |other| *other == at)
        {
            found.remove();
        }
        let shelf = self.shelves.get_mut(group.shelf as usize);
        if let Some(shelf) = shelf {
            if shelf.first == at {
                shelf.first = group.next;
            }
            if shelf.last == at {
                shelf.last = group.previous;
            }
        }
        if let Some(previous) = self.groups.get_mut(group.previous as usize) {
            previous.next = group.next;
        }
        if let Some(next) = self.groups.get_mut(group.next as usize) {
            next.previous = group.previous;
        }
        self.vacant.push(at);
    }
}

impl Group {
    fn key(&self) -> [u32; 5] {
        key(
            self.class,
            self.pin,
            self.rejectors,
            self.pending,
            self.gating,
        )
    }
}

fn key(
    class: ClassId,
    pin: Word,
    rejectors: PluginSet,
    pending: PluginSet,
    gating: Option<Plugin>,
) -> [u32; 5] {
    let gating = gating.map_or(0, |plugin| (plugin as u32).saturating_add(1));
    [class.0, pin, rejectors.bits(), pending.bits(), gating]
}
