//! Upstream's node order: zones in turn, rebuilt only when the set of nodes changes.
//!
//! Mirrors `backend/cache/node_tree.go` and `Cache.UpdateSnapshot` of kube-scheduler: a node that
//! changes its zone, or is deleted and added again between two cycles, moves in the tree at once
//! but keeps its place in the list until the next rebuild.

#[cfg(feature = "state-file")]
use super::NodeState;
use crate::capacity::{bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::intern::Word;
#[cfg(feature = "state-file")]
use crate::state_file::{StateError, check};
use crate::table::{Table, Vacant, occupy};
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Zone {
    /// Region and zone, 0 for an absent or empty one.
    key: [Word; 2],
    first: u32,
    last: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct Place {
    zone: u32,
    previous: u32,
    next: u32,
    /// Next row of the zone while the list is built.
    cursor_of_zone: u32,
    listed: bool,
}

impl Vacant for Zone {
    const VACANT: &'static Self = &Self {
        key: [0; 2],
        first: NONE,
        last: NONE,
        next: NONE,
    };
}

impl Place {
    const EMPTY: Self = Self {
        zone: NONE,
        previous: NONE,
        next: NONE,
        cursor_of_zone: NONE,
        listed: false,
    };
}

impl Vacant for Place {
    const VACANT: &'static Self = &Self::EMPTY;
}

/// The tree of zones and the list made from it.
#[derive(Clone)]
pub(crate) struct Order {
    places: Vec<Place>,
    zones: FixedVec<Zone>,
    vacant_zones: FixedVec<u32>,
    first_zone: u32,
    last_zone: u32,
    /// Rows in snapshot order.
    list: FixedVec<u32>,
    preview: FixedVec<u32>,
    previewed: bool,
    /// A row is in the tree but not in the list, or the reverse.
    stale: bool,
}

impl Order {
    pub(crate) fn new(rows: u32) -> Self {
        let mut places = Vec::new();
        places.resize(rows as usize, Place::EMPTY);
        Self {
            places,
            zones: FixedVec::with_capacity(rows as usize),
            vacant_zones: FixedVec::with_capacity(rows as usize),
            first_zone: NONE,
            last_zone: NONE,
            list: FixedVec::with_capacity(rows as usize),
            preview: FixedVec::with_capacity(rows as usize),
            previewed: false,
            stale: false,
        }
    }

    pub(crate) const fn bytes(rows: u64) -> u64 {
        sum(&[
            bytes_of::<Place>(rows),
            bytes_of::<Zone>(rows),
            bytes_of::<[u32; 3]>(rows),
        ])
    }

    /// Rows in snapshot order: as of the last [`Self::rebuild`], or of the preview that a question
    /// is asked on.
    pub(crate) fn list(&self) -> &[u32] {
        if self.previewed {
            &self.preview
        } else {
            &self.list
        }
    }

    /// Whether the row stands in the list, though perhaps no more in the tree.
    pub(crate) fn is_listed(&self, row: u32) -> bool {
        self.places.at(row).listed
    }

    /// Whether the list must be rebuilt before the next cycle.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale && !self.is_settled()
    }

    /// Adds a row at the end of its zone.
    pub(crate) fn add(&mut self, row: u32, key: [Word; 2]) {
        let zone = self.zone(key);
        let (Some(entry), Some(place)) = (self.zones.at_mut(zone), self.places.at_mut(row)) else {
            return;
        };
        let last = core::mem::replace(&mut entry.last, row);
        place.zone = zone;
        place.previous = last;
        place.next = NONE;
        self.stale |= !place.listed;
        match self.places.get_mut(last as usize) {
            Some(last) => last.next = row,
            None => entry.first = row,
        }
    }

    /// Takes a row out of the tree; an emptied zone loses its place.
    pub(crate) fn remove(&mut self, row: u32) {
        let Place {
            zone,
            previous,
            next,
            listed,
            ..
        } = *self.places.at(row);
        let Some(entry) = self.zones.at_mut(zone) else {
            return;
        };
        self.stale |= listed;
        match self.places.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => entry.first = next,
        }
        match self.places.get_mut(next as usize) {
            Some(next) => next.previous = previous,
            None => entry.last = previous,
        }
        let is_empty = entry.first == NONE;
        if let Some(place) = self.places.at_mut(row) {
            place.zone = NONE;
        }
        if is_empty {
            self.remove_zone(zone);
        }
    }

    /// Moves a row to the end of another zone; the list stays.
    pub(crate) fn relocate(&mut self, row: u32, key: [Word; 2]) {
        let stale = self.stale;
        self.remove(row);
        self.add(row, key);
        self.stale = stale;
    }

    /// Zone of a row: region and zone.
    pub(crate) fn zone_of(&self, row: u32) -> [Word; 2] {
        self.zones
            .get(self.places.at(row).zone as usize)
            .map_or([0; 2], |zone| zone.key)
    }

    /// Whether every listed row is in the tree and the reverse; then the list may stay.
    pub(crate) fn is_settled(&self) -> bool {
        self.places
            .iter()
            .all(|place| place.listed == (place.zone != NONE))
    }

    /// Makes the list anew.
    pub(crate) fn rebuild(&mut self) {
        let mut list = core::mem::take(&mut self.list);
        self.mark_listed(&list, false);
        self.write_list(&mut list);
        self.mark_listed(&list, true);
        self.list = list;
        self.stale = false;
    }

    fn mark_listed(&mut self, list: &[u32], listed: bool) {
        for row in list {
            if let Some(place) = self.places.at_mut(*row) {
                place.listed = listed;
            }
        }
    }

    /// Shows the list as the next rebuild would make it, until [`Self::end_preview`]: for a
    /// question that must change nothing.
    pub(crate) fn preview(&mut self) {
        let mut list = core::mem::take(&mut self.preview);
        self.write_list(&mut list);
        self.preview = list;
        self.previewed = true;
    }

    pub(crate) fn end_preview(&mut self) {
        self.previewed = false;
    }

    fn write_list(&mut self, list: &mut Vec<u32>) {
        list.clear();
        let mut zone = self.first_zone;
        while let Some(entry) = self.zones.get(zone as usize) {
            // The zone's cursor lives in its first row's place.
            if let Some(first) = self.places.at_mut(entry.first) {
                first.cursor_of_zone = entry.first;
            }
            zone = entry.next;
        }
        loop {
            let before = list.len();
            let mut zone = self.first_zone;
            while let Some(entry) = self.zones.get(zone as usize).copied() {
                let row = self.places.at(entry.first).cursor_of_zone;
                let next = self.places.get(row as usize).map(|place| place.next);
                if let (Some(next), Some(first)) = (next, self.places.at_mut(entry.first)) {
                    first.cursor_of_zone = next;
                    list.push(row);
                }
                zone = entry.next;
            }
            if list.len() == before {
                break;
            }
        }
    }

    /// What a state file holds of it.
    #[cfg(feature = "state-file")]
    pub(super) fn saved(&self) -> SavedOrder {
        let mut tree = Vec::new();
        let mut zone = self.first_zone;
        while let Some(entry) = self.zones.get(zone as usize) {
            let mut row = entry.first;
            while let Some(place) = self.places.get(row as usize) {
                tree.push(row);
                row = place.next;
            }
            zone = entry.next;
        }
        SavedOrder {
            tree,
            list: self.list.to_vec(),
            stale: self.stale,
        }
    }

    /// Sets the list of an order to whose tree the rows have been added.
    #[cfg(feature = "state-file")]
    pub(super) fn restore(&mut self, saved: &SavedOrder) {
        self.list.extend_from_slice(&saved.list);
        self.mark_listed(&saved.list, true);
        self.stale = saved.stale;
    }

    fn zone(&mut self, key: [Word; 2]) -> u32 {
        let mut zone = self.first_zone;
        while let Some(entry) = self.zones.get(zone as usize) {
            if entry.key == key {
                return zone;
            }
            zone = entry.next;
        }
        let new = Zone {
            key,
            first: NONE,
            last: NONE,
            next: NONE,
        };
        let id = occupy(&mut self.zones, &mut self.vacant_zones, new);
        match self.zones.get_mut(self.last_zone as usize) {
            Some(last) => last.next = id,
            None => self.first_zone = id,
        }
        self.last_zone = id;
        id
    }

    fn remove_zone(&mut self, zone: u32) {
        let next = self.zones.at(zone).next;
        let mut previous = NONE;
        let mut at = self.first_zone;
        while at != zone
            && let Some(entry) = self.zones.get(at as usize)
        {
            previous = at;
            at = entry.next;
        }
        match self.zones.get_mut(previous as usize) {
            Some(entry) => entry.next = next,
            None => self.first_zone = next,
        }
        if self.last_zone == zone {
            self.last_zone = previous;
        }
        self.vacant_zones.push(zone);
    }
}

/// An order in a state file.
#[cfg(feature = "state-file")]
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedOrder {
    /// Rows zone by zone.
    pub(crate) tree: Vec<u32>,
    pub(crate) list: Vec<u32>,
    stale: bool,
}

#[cfg(feature = "state-file")]
impl SavedOrder {
    /// Refuses an order that rows in these states cannot have.
    pub(super) fn check(&self, states: &[NodeState]) -> Result<(), StateError> {
        let mut seen = alloc::vec![[false; 2]; states.len()];
        let lists = [("tree", &self.tree), ("list", &self.list)];
        for (at, (part, rows)) in lists.into_iter().enumerate() {
            for (place, row) in rows.iter().enumerate() {
                let there = match states.get(*row as usize) {
                    Some(NodeState::Present) => true,
                    Some(NodeState::Departed) => part == "list",
                    _ => false,
                };
                let seen = seen
                    .get_mut(*row as usize)
                    .and_then(|seen| seen.get_mut(at));
                let first = seen.is_some_and(|seen| !core::mem::replace(seen, true));
                check(there && first, part, place, "no such node, or twice")?;
            }
        }
        for (row, (state, seen)) in states.iter().zip(seen).enumerate() {
            let right = match state {
                NodeState::Present => seen[0] && (seen[1] || self.stale),
                NodeState::Departed => seen[1] && self.stale,
                NodeState::Vacant => true,
            };
            check(right, "order", row, "this node is not in it")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(order: &mut Order) -> Vec<u32> {
        order.rebuild();
        order.list().to_vec()
    }

    #[test]
    fn zones_take_turns_and_an_emptied_zone_returns_at_the_end() {
        let mut order = Order::new(8);
        for (row, zone) in [(0, 1), (1, 1), (2, 2), (3, 1)] {
            order.add(row, [0, zone]);
        }
        assert_eq!(list(&mut order), [0, 2, 1, 3]);
        order.remove(2);
        order.remove(0);
        order.add(0, [0, 1]);
        order.add(2, [0, 2]);
        assert_eq!(order.list(), [0, 2, 1, 3]);
        assert_eq!(list(&mut order), [1, 2, 3, 0]);
    }
}
