//! Chains of numbers in one fixed pool.

use crate::capacity::{CapacityExceeded, bytes_of};
use crate::fixed_vec::FixedVec;
use crate::table::{Count, Table};

/// Head of an empty chain.
pub(crate) const EMPTY: u32 = u32::MAX;

/// A pool of links; each chain is named by its head.
#[derive(Clone)]
pub(crate) struct Links {
    /// Value and next link.
    entries: FixedVec<(u32, u32)>,
    vacant: u32,
    used: usize,
    limit: u32,
}

impl Links {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            entries: FixedVec::with_capacity(limit as usize),
            vacant: EMPTY,
            used: 0,
            limit,
        }
    }

    pub(crate) const fn bytes(limit: u64) -> u64 {
        bytes_of::<(u32, u32)>(limit)
    }

    pub(crate) fn push(&mut self, head: &mut u32, value: u32) -> Result<(), CapacityExceeded> {
        let at = if let Some(vacant) = self.entries.get_mut(self.vacant as usize) {
            let at = self.vacant;
            self.vacant = vacant.1;
            *vacant = (value, *head);
            at
        } else if self.entries.len() < self.limit as usize {
            let at = self.entries.len() as u32;
            self.entries.push((value, *head));
            at
        } else {
            return Err(CapacityExceeded {
                which: "links",
                limit: u64::from(self.limit),
            });
        };
        self.used.count_up();
        *head = at;
        Ok(())
    }

    pub(crate) fn values(&self, head: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = head;
        core::iter::from_fn(move || {
            let (value, next) = *self.entries.get(at as usize)?;
            at = next;
            Some(value)
        })
    }

    /// Value and next link, to walk a chain without holding the pool.
    pub(crate) fn link(&self, at: u32) -> Option<(u32, u32)> {
        self.entries.get(at as usize).copied()
    }

    /// Removes the first link with this value.
    pub(crate) fn remove(&mut self, head: &mut u32, value: u32) {
        let mut previous = EMPTY;
        let mut at = *head;
        while let Some((found, next)) = self.entries.get(at as usize).copied() {
            if found == value {
                match self.entries.get_mut(previous as usize) {
                    Some(link) => link.1 = next,
                    None => *head = next,
                }
                self.give_back(at);
                return;
            }
            previous = at;
            at = next;
        }
    }

    fn give_back(&mut self, at: u32) {
        if let Some(link) = self.entries.at_mut(at) {
            link.1 = self.vacant;
            self.vacant = at;
            self.used.count_down();
        }
    }
}
