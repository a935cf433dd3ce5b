//! Reading and writing tables by id, without a panic.
//!
//! Ids, rows and slots are given out by the tables that they lead into, so a place beyond the end is
//! a broken invariant, never an input. Tests and simulations run with debug assertions and stop
//! there. In a release build such a read gives the type's [`Vacant::VACANT`] and such a write
//! changes nothing. An id that a caller may make up is looked up with `get` instead.

use alloc::vec::Vec;

/// What stands for an entry that is not there.
pub(crate) trait Vacant: 'static {
    const VACANT: &'static Self;
}

macro_rules! vacant_numbers {
    ($($number:ty),+) => {$(
        impl Vacant for $number {
            const VACANT: &'static Self = &(0 as $number);
        }
    )+};
}

vacant_numbers!(u8, u16, i16, u32, u64, usize, i64, i128, f64);

impl Vacant for bool {
    const VACANT: &'static Self = &false;
}

impl Vacant for crate::id::TextId {
    const VACANT: &'static Self = &Self(0);
}

/// What leads to a place in a table: a number, or one of the ids of [`crate::id`].
pub(crate) trait Place: Copy {
    fn place(self) -> usize;
}

impl Place for usize {
    #[inline]
    fn place(self) -> usize {
        self
    }
}

impl Place for u32 {
    #[inline]
    fn place(self) -> usize {
        self as usize
    }
}

macro_rules! place_ids {
    ($($id:ident),+) => {$(
        impl Place for crate::id::$id {
            #[inline]
    fn place(self) -> usize {
                self.index()
            }
        }
    )+};
}

place_ids!(
    ClassId, DomainId, KeyId, NodeId, PodId, ResourceId, TermId, TextId
);

/// Access to entries, and to columns of equal length that lie one after another.
pub(crate) trait Table<T> {
    /// The entry at `place`.
    fn at(&self, place: impl Place) -> &T
    where
        T: Vacant;

    /// The entry at `place`, to be changed; `None` as the module says.
    fn at_mut(&mut self, place: impl Place) -> Option<&mut T>;

    /// Overwrites the entry at `place`.
    fn set(&mut self, place: impl Place, entry: T);

    /// Column `index` of columns of `rows` entries each; empty where there is none.
    fn column(&self, rows: usize, index: impl Place) -> &[T];

    /// The same, to be changed.
    fn column_mut(&mut self, rows: usize, index: impl Place) -> &mut [T];

    /// Copies column `from` over column `to`.
    fn copy_column(&mut self, rows: usize, from: impl Place, to: impl Place)
    where
        T: Copy;
}

impl<T> Table<T> for [T] {
    #[inline]
    #[track_caller]
    fn at(&self, place: impl Place) -> &T
    where
        T: Vacant,
    {
        let entry = self.get(place.place());
        debug_assert!(entry.is_some(), "place {} of {}", place.place(), self.len());
        entry.unwrap_or(T::VACANT)
    }

    #[inline]
    #[track_caller]
    fn at_mut(&mut self, place: impl Place) -> Option<&mut T> {
        debug_assert!(
            place.place() < self.len(),
            "place {} of {}",
            place.place(),
            self.len()
        );
        self.get_mut(place.place())
    }

    #[inline]
    #[track_caller]
    fn set(&mut self, place: impl Place, entry: T) {
        if let Some(old) = self.at_mut(place) {
            *old = entry;
        }
    }

    #[inline]
    #[track_caller]
    fn column(&self, rows: usize, index: impl Place) -> &[T] {
        let start = index.place().saturating_mul(rows);
        let column = self.get(start..start.saturating_add(rows));
        debug_assert!(column.is_some(), "column {} of {rows}", index.place());
        column.unwrap_or_default()
    }

    #[inline]
    #[track_caller]
    fn column_mut(&mut self, rows: usize, index: impl Place) -> &mut [T] {
        let start = index.place().saturating_mul(rows);
        let column = self.get_mut(start..start.saturating_add(rows));
        debug_assert!(column.is_some(), "column {} of {rows}", index.place());
        column.unwrap_or_default()
    }

    #[inline]
    #[track_caller]
    fn copy_column(&mut self, rows: usize, from: impl Place, to: impl Place)
    where
        T: Copy,
    {
        let [from, to] = [from.place(), to.place()].map(|index| index.saturating_mul(rows));
        let whole = from.max(to).saturating_add(rows) <= self.len();
        debug_assert!(whole, "columns of {rows} at {from} and {to}");
        if whole {
            self.copy_within(from..from.saturating_add(rows), to);
        }
    }
}

/// Puts `entry` in the place that became vacant last, or at the end; returns the place.
pub(crate) fn occupy<T>(table: &mut Vec<T>, vacant: &mut Vec<u32>, entry: T) -> u32 {
    if let Some(place) = vacant.pop() {
        table.set(place, entry);
        return place;
    }
    table.push(entry);
    table.len().saturating_sub(1) as u32
}

/// Counts of what tables hold, which the tables' limits keep far from the ends of their type.
pub(crate) trait Count {
    /// One more.
    fn count_up(&mut self);
    /// One less.
    fn count_down(&mut self);
}

macro_rules! counts {
    ($($number:ty),+) => {$(
        impl Count for $number {
            #[inline]
            #[track_caller]
            fn count_up(&mut self) {
                debug_assert!(*self < Self::MAX, "a count is full");
                *self = self.saturating_add(1);
            }

            #[inline]
            #[track_caller]
            fn count_down(&mut self) {
                debug_assert!(*self > 0, "a count is 0 already");
                *self = self.saturating_sub(1);
            }
        }
    )+};
}

counts!(u32, u64, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_lie_one_after_another() {
        let mut table = [1_u32, 2, 3, 4, 5, 6];
        assert_eq!(table.column(2, 1_u32), [3, 4]);
        table.column_mut(3, 1_usize).set(0_u32, 9);
        assert_eq!((*table.at(3_u32), *table.at(5_usize)), (9, 6));
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "place 2 of 2"))]
    fn a_place_beyond_the_end_stops_a_test_and_is_vacant_in_a_release_build() {
        let mut table = [7_u32, 8];
        assert_eq!(*table.at(2_u32), 0);
        table.set(2_u32, 9);
        assert_eq!(table, [7, 8]);
        assert!(table.column(2, 1_u32).is_empty());
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "a count is 0 already"))]
    fn a_count_below_zero_stops_a_test_and_stays_zero_in_a_release_build() {
        let mut count = 1_u32;
        count.count_up();
        count.count_down();
        count.count_down();
        assert_eq!(count, 0);
        count.count_down();
        assert_eq!(count, 0);
    }
}
