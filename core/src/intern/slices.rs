//! Slices with an id each: equal ones have the same, and references to it are counted.

use super::reserved_index;
use crate::arena::{Arena, Cell};
use crate::capacity::CapacityExceeded;
use crate::fixed_vec::FixedVec;
use crate::table::{Count, Table, Vacant, occupy};
use hashbrown::HashTable;

/// What interned slices are made of.
pub(super) trait Symbol: Cell + Eq {
    fn hash(slice: &[Self]) -> u64;
}

/// A slice of the arena, and how often it is referred to; 0 is vacant.
#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    len: u32,
    references: u32,
}

impl Vacant for Entry {
    const VACANT: &'static Self = &Self {
        start: 0,
        len: 0,
        references: 0,
    };
}

/// The table of slices.
#[derive(Clone)]
pub(super) struct Slices<T> {
    cells: Arena<T>,
    entries: FixedVec<Entry>,
    vacant: FixedVec<u32>,
    index: HashTable<u32>,
    limit: u32,
    cells_limit: u64,
    /// Names of the two limits in [`Capacities`](crate::Capacities).
    which: [&'static str; 2],
}

impl<T: Symbol> Slices<T> {
    pub(super) fn new(which: [&'static str; 2], limit: u32, cells_limit: u64) -> Self {
        Self {
            cells: Arena::new(cells_limit as usize),
            entries: FixedVec::with_capacity(limit as usize),
            vacant: FixedVec::with_capacity(limit as usize),
            index: reserved_index(limit),
            limit,
            cells_limit,
            which,
        }
    }

    /// Id of `slice` with one more reference, and whether it is new.
    pub(super) fn intern(&mut self, slice: &[T]) -> Result<(u32, bool), CapacityExceeded> {
        if let Some(id) = self.find(slice) {
            self.retain(id);
            return Ok((id, false));
        }
        let [which, which_cells] = self.which;
        if self.vacant.is_empty() && self.entries.len() >= self.limit as usize {
            return Err(CapacityExceeded {
                which,
                limit: u64::from(self.limit),
            });
        }
        let start = self.cells.insert(slice).ok_or(CapacityExceeded {
            which: which_cells,
            limit: self.cells_limit,
        })?;
        let entry = Entry {
            start,
            len: slice.len() as u32,
            references: 1,
        };
        let id = occupy(&mut self.entries, &mut self.vacant, entry);
        let (entries, cells) = (&self.entries, &self.cells);
        self.index.insert_unique(T::hash(slice), id, |id| {
            let entry = entries.at(*id);
            T::hash(cells.slice(entry.start, entry.len as usize))
        });
        Ok((id, true))
    }

    pub(super) fn find(&self, slice: &[T]) -> Option<u32> {
        self.index
            .find(T::hash(slice), |id| self.slice(*id) == slice)
            .copied()
    }

    pub(super) fn slice(&self, id: u32) -> &[T] {
        let entry = self.entries.at(id);
        self.cells.slice(entry.start, entry.len as usize)
    }

    pub(super) fn references(&self, id: u32) -> u32 {
        self.entries
            .get(id as usize)
            .map_or(0, |own| own.references)
    }

    pub(super) fn retain(&mut self, id: u32) {
        if let Some(entry) = self.entries.at_mut(id) {
            entry.references.count_up();
        }
    }

    /// Drops one reference. With the last one the slice goes, once `last` has seen it; returns
    /// whether it went.
    pub(super) fn release(&mut self, id: u32, last: impl FnOnce(&[T])) -> bool {
        let Some(entry) = self.entries.at_mut(id) else {
            return false;
        };
        let is_last = entry.references == 1;
        entry.references.count_down();
        if !is_last {
            return false;
        }
        let Entry { start, len, .. } = *entry;
        let slice = self.cells.slice(start, len as usize);
        if let Ok(found) = self.index.find_entry(T::hash(slice), |other| *other == id) {
            found.remove();
        }
        last(slice);
        self.cells.remove(start, len as usize);
        self.vacant.push(id);
        true
    }

    /// Every slice at its id; `None` where there is none.
    #[cfg(feature = "state-file")]
    pub(super) fn saved(&self) -> impl Iterator<Item = Option<&[T]>> {
        let slice = |entry: &Entry| self.cells.slice(entry.start, entry.len as usize);
        let entries = self.entries.iter();
        entries.map(move |entry| (entry.references > 0).then(|| slice(entry)))
    }

    /// Puts the next slice into a table that is being filled from its first id on, held once; `None`
    /// leaves the id vacant. `false`: the slice is there already.
    #[cfg(feature = "state-file")]
    pub(super) fn restore(&mut self, slice: Option<&[T]>) -> Result<bool, CapacityExceeded> {
        if let Some(slice) = slice {
            // Vacant ids before it stay vacant.
            let vacant = core::mem::take(&mut self.vacant);
            let interned = self.intern(slice);
            self.vacant = vacant;
            return interned.map(|(_, new)| new);
        }
        if self.entries.len() >= self.limit as usize {
            let [which, _] = self.which;
            let limit = u64::from(self.limit);
            return Err(CapacityExceeded { which, limit });
        }
        self.vacant.push(self.entries.len() as u32);
        self.entries.push(*Entry::VACANT);
        Ok(true)
    }

    /// Ids are below this.
    pub(super) fn bound(&self) -> usize {
        self.entries.len()
    }

    /// Slices in use.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }
}
