//! Counts of terms by row, as columns: what the pods on a node add to a term, for loops over 64 rows at
//! a time. The same numbers as in [`Counts`](super::count::Counts) wherever a domain is one node.
//!
//! Columns are few; a term that gets none is counted sparsely alone.

use crate::capacity::{bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::node_set;
use crate::table::Table;
use alloc::vec;
use alloc::vec::Vec;

/// No column.
pub(crate) const NO_COLUMN: u32 = u32::MAX;

/// A term's column.
#[derive(Clone, Copy)]
pub(crate) struct TermRows<'a> {
    pub(crate) counts: &'a [u16],
    /// One bit a row with a count above 0.
    pub(crate) set: &'a [u64],
}

#[derive(Clone)]
pub(crate) struct Columns {
    rows: usize,
    counts: Vec<u16>,
    sets: Vec<u64>,
    vacant: FixedVec<u32>,
}

impl Columns {
    pub(crate) fn new(columns: u32, rows: u32) -> Self {
        let (count, rows) = (columns as usize, rows as usize);
        let mut vacant = FixedVec::with_capacity(count);
        vacant.extend((0..columns).rev());
        Self {
            rows,
            counts: vec![0; count.saturating_mul(rows)],
            sets: vec![0; count.saturating_mul(rows / 64)],
            vacant,
        }
    }

    pub(crate) const fn bytes(columns: u64, rows: u64) -> u64 {
        sum(&[
            bytes_of::<u16>(columns.saturating_mul(rows)),
            bytes_of::<u64>(columns.saturating_mul(rows / 64)),
            bytes_of::<u32>(columns),
        ])
    }

    /// An empty column, or [`NO_COLUMN`] where all are in use.
    pub(crate) fn take(&mut self) -> u32 {
        self.vacant.pop().unwrap_or(NO_COLUMN)
    }

    /// Empties a column and gives it back.
    pub(crate) fn give_back(&mut self, column: u32) {
        if column == NO_COLUMN {
            return;
        }
        self.counts.column_mut(self.rows, column).fill(0);
        self.sets.column_mut(self.rows / 64, column).fill(0);
        self.vacant.push(column);
    }

    /// What a column holds.
    pub(crate) fn get(&self, column: u32) -> Option<TermRows<'_>> {
        (column != NO_COLUMN).then(|| TermRows {
            counts: self.counts.column(self.rows, column),
            set: self.sets.column(self.rows / 64, column),
        })
    }

    /// Counts one more on the row, or one less. `false`: the count does not fit, and the column is of
    /// no use any more.
    pub(crate) fn raise(&mut self, column: u32, row: u32, add: bool) -> bool {
        let Some(count) = self.counts.column_mut(self.rows, column).at_mut(row) else {
            return false;
        };
        let changed = if add {
            count.checked_add(1)
        } else {
            count.checked_sub(1)
        };
        let Some(changed) = changed else {
            return false;
        };
        *count = changed;
        let set = self.sets.column_mut(self.rows / 64, column);
        if changed == 0 {
            node_set::remove(set, row);
        } else {
            node_set::insert(set, row);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_counts_until_its_end_and_is_empty_when_it_comes_back() {
        let mut columns = Columns::new(1, 128);
        let own = columns.take();
        assert_eq!((own, columns.take()), (0, NO_COLUMN));
        for _ in 0..u16::MAX {
            assert!(columns.raise(own, 70, true));
        }
        assert!(!columns.raise(own, 70, true));
        assert!(!columns.raise(own, 3, false));
        let rows = columns.get(own).expect("a column");
        assert_eq!((rows.counts[70], rows.set), (u16::MAX, &[0, 1 << 6][..]));
        columns.give_back(own);
        let again = columns.take();
        let rows = columns.get(again).expect("a column");
        assert!(rows.counts.iter().all(|count| *count == 0) && rows.set == [0, 0]);
        assert!(columns.get(NO_COLUMN).is_none());
    }
}
