//! Rows on which the room changed, in the order of the changes: a ring that live classes follow.

use crate::capacity::{Capacities, bytes_of};
use alloc::vec;
use alloc::vec::Vec;

/// A class that is further behind than this works faster anew.
const LENGTH_MIN: u32 = 64;

/// The latest changes. Positions count from the first change ever.
#[derive(Clone)]
pub(crate) struct Journal {
    rows: Vec<u32>,
    head: u64,
}

impl Journal {
    pub(crate) fn new(capacities: &Capacities) -> Self {
        Self {
            rows: vec![0; Self::length(capacities) as usize],
            head: 0,
        }
    }

    pub(crate) const fn bytes(capacities: &Capacities) -> u64 {
        bytes_of::<u32>(Self::length(capacities) as u64)
    }

    /// A quarter of the rows, as repairing one costs a few times its share of a whole block.
    const fn length(capacities: &Capacities) -> u32 {
        let quarter = capacities.nodes / 4;
        if quarter > LENGTH_MIN {
            quarter
        } else {
            LENGTH_MIN
        }
    }

    /// Position after the latest change.
    pub(crate) const fn head(&self) -> u64 {
        self.head
    }

    pub(crate) fn push(&mut self, row: u32) {
        let place = self.head.checked_rem(self.rows.len() as u64).unwrap_or(0);
        if let Some(slot) = self.rows.get_mut(place as usize) {
            *slot = row;
        }
        self.head = self.head.wrapping_add(1);
    }

    /// Changes from `position` on, the oldest first; `None` where they are no longer known.
    pub(crate) fn since(&self, position: u64) -> Option<impl Iterator<Item = u32> + '_> {
        let length = self.rows.len() as u64;
        let behind = self
            .head
            .checked_sub(position)
            .filter(|behind| *behind <= length)?;
        let from = position.checked_rem(length).unwrap_or(0) as usize;
        let rows = self.rows.iter().cycle().skip(from).take(behind as usize);
        Some(rows.copied())
    }
}

#[cfg(test)]
mod tests {
    use super::{Capacities, Journal, Vec};
    use alloc::vec;

    #[test]
    fn changes_are_told_until_the_ring_overwrites_them() {
        let capacities = Capacities {
            nodes: 3,
            ..Capacities::default()
        };
        let mut journal = Journal::new(&capacities);
        let told = |journal: &Journal, position| -> Option<Vec<u32>> {
            journal.since(position).map(Iterator::collect)
        };
        assert_eq!(told(&journal, 0), Some(vec![]));
        for row in 0..64 {
            journal.push(row);
        }
        assert_eq!(told(&journal, 0), Some((0..64).collect()));
        journal.push(64);
        assert_eq!(told(&journal, 0), None);
        assert_eq!(told(&journal, 1), Some((1..65).collect()));
        assert_eq!(told(&journal, 65), Some(vec![]));
        assert_eq!(told(&journal, 66), None, "a position that is yet to come");
    }
}
