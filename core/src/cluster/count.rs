//! Sparse counts: (owner, slot) to a number above 0, with all slots of an owner in a chain.
//!
//! Owners are terms, images or host ports; slots are rows or topology domains. Memory follows what
//! is counted, not owners times slots, and reading an owner costs its non-zero slots.

use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::intern::{hash_pair, index_bytes, reserved_index};
use crate::table::{Count, Table, Vacant};
use alloc::vec::Vec;
use hashbrown::HashTable;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    owner: u32,
    slot: u32,
    count: u32,
    next: u32,
    previous: u32,
}

impl Vacant for Entry {
    const VACANT: &'static Self = &Self {
        owner: NONE,
        slot: NONE,
        count: 0,
        next: NONE,
        previous: NONE,
    };
}

/// Counts by owner and slot.
#[derive(Clone)]
pub(crate) struct Counts {
    entries: FixedVec<Entry>,
    /// First entry of each owner.
    heads: Vec<u32>,
    /// First vacant entry, chained by `next`.
    vacant: u32,
    vacant_count: usize,
    index: HashTable<u32>,
    limit: u32,
    which: &'static str,
}

impl Counts {
    /// Room for `limit` counts above 0 of owners below `owners`; `which` names the limit.
    pub(crate) fn new(which: &'static str, owners: u32, limit: u32) -> Self {
        let mut heads = Vec::new();
        heads.resize(owners as usize, NONE);
        Self {
            entries: FixedVec::with_capacity(limit as usize),
            heads,
            vacant: NONE,
            vacant_count: 0,
            index: reserved_index(limit),
            limit,
            which,
        }
    }

    /// Bytes of such a table.
    pub(crate) const fn bytes(owners: u64, limit: u64) -> u64 {
        sum(&[
            bytes_of::<Entry>(limit),
            bytes_of::<u32>(owners),
            index_bytes(limit),
        ])
    }

    /// Refuses if fewer than `wanted` new counts fit.
    pub(crate) fn check_room(&self, wanted: usize) -> Result<(), CapacityExceeded> {
        let unused = (self.limit as usize).saturating_sub(self.entries.len());
        let room = unused.saturating_add(self.vacant_count);
        if wanted > room {
            return Err(CapacityExceeded {
                which: self.which,
                limit: u64::from(self.limit),
            });
        }
        Ok(())
    }

    pub(crate) fn count(&self, owner: u32, slot: u32) -> u32 {
        self.find(owner, slot)
            .map_or(0, |at| self.entries.at(at).count)
    }

    /// Whether the owner has no count above 0.
    pub(crate) fn is_empty(&self, owner: u32) -> bool {
        self.head(owner) == NONE
    }

    /// Slots of the owner whose count is above 0, with it; in no particular order.
    pub(crate) fn slots(&self, owner: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut at = self.head(owner);
        core::iter::from_fn(move || {
            let entry = self.entries.get(at as usize)?;
            at = entry.next;
            Some((entry.slot, entry.count))
        })
    }

    /// Adds one. Room must have been checked; without it nothing happens.
    pub(crate) fn increment(&mut self, owner: u32, slot: u32) {
        let count = self.count(owner, slot);
        self.set(owner, slot, count.saturating_add(1));
    }

    /// Takes one away; the last one makes room.
    pub(crate) fn decrement(&mut self, owner: u32, slot: u32) {
        let count = self.count(owner, slot);
        self.set(owner, slot, count.saturating_sub(1));
    }

    /// Sets the count; 0 removes it. Room for a new one must have been checked.
    pub(crate) fn set(&mut self, owner: u32, slot: u32, count: u32) {
        match self.find(owner, slot) {
            Some(at) if count == 0 => self.unlink(at),
            Some(at) => {
                if let Some(entry) = self.entries.at_mut(at) {
                    entry.count = count;
                }
            }
            None if count > 0 => self.link(owner, slot, count),
            None => {}
        }
    }

    /// Removes all counts of the owner.
    pub(crate) fn clear(&mut self, owner: u32) {
        let mut at = self.head(owner);
        while let Some(entry) = self.entries.get(at as usize).copied() {
            debug_assert_eq!(entry.owner, owner);
            self.unlink(at);
            at = entry.next;
        }
    }

    fn head(&self, owner: u32) -> u32 {
        debug_assert!((owner as usize) < self.heads.len());
        self.heads.get(owner as usize).copied().unwrap_or(NONE)
    }

    fn find(&self, owner: u32, slot: u32) -> Option<u32> {
        self.index
            .find(hash_pair(owner, slot), |at| {
                let entry = self.entries.at(*at);
                entry.owner == owner && entry.slot == slot
            })
            .copied()
    }

    fn link(&mut self, owner: u32, slot: u32, count: u32) {
        let next = self.head(owner);
        let entry = Entry {
            owner,
            slot,
            count,
            next,
            previous: NONE,
        };
        let at = if let Some(vacant) = self.entries.get_mut(self.vacant as usize) {
            let at = self.vacant;
            self.vacant = vacant.next;
            self.vacant_count.count_down();
            *vacant = entry;
            at
        } else if self.entries.len() < self.limit as usize {
            let at = self.entries.len() as u32;
            self.entries.push(entry);
            at
        } else {
            return;
        };
        if let Some(second) = self.entries.get_mut(next as usize) {
            second.previous = at;
        }
        self.heads.set(owner, at);
        let entries = &self.entries;
        self.index.insert_unique(hash_pair(owner, slot), at, |at| {
            let entry = entries.at(*at);
            hash_pair(entry.owner, entry.slot)
        });
    }

    fn unlink(&mut self, at: u32) {
        let entry = *self.entries.at(at);
        if let Ok(found) = self
            .index
            .find_entry(hash_pair(entry.owner, entry.slot), |other| *other == at)
        {
            found.remove();
        }
        match self.entries.get_mut(entry.previous as usize) {
            Some(previous) => previous.next = entry.next,
            None => self.heads.set(entry.owner, entry.next),
        }
        if let Some(next) = self.entries.get_mut(entry.next as usize) {
            next.previous = entry.previous;
        }
        if let Some(entry) = self.entries.at_mut(at) {
            entry.next = self.vacant;
            self.vacant = at;
            self.vacant_count.count_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_an_owner_come_and_go_and_leave_room() {
        let mut counts = Counts::new("counts", 2, 3);
        counts.increment(0, 7);
        counts.increment(0, 7);
        counts.increment(0, 9);
        counts.increment(1, 7);
        assert!(counts.check_room(1).is_err());
        counts.decrement(0, 9);
        assert_eq!(counts.slots(0).collect::<Vec<_>>(), [(7, 2)]);
        counts.increment(1, 1);
        counts.clear(1);
        assert!(counts.is_empty(1) && counts.check_room(2).is_ok());
        assert_eq!(counts.count(0, 7), 2);
    }
}
