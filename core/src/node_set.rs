//! Sets of nodes: one bit a row, bit `row % 64` of word `row / 64`.
//!
//! The functions here work on borrowed words and need no allocator; hot loops run on whole words.
//! [`NodeSet`] owns its bits.

#[cfg(feature = "alloc")]
pub use owned::NodeSet;

/// Words that hold `rows` bits.
pub const fn words(rows: usize) -> usize {
    rows.div_ceil(64)
}

/// Whether the row is in the set; rows beyond the words are not.
#[inline]
pub fn contains(set: &[u64], row: u32) -> bool {
    let word = set.get(row as usize / 64).copied().unwrap_or(0);
    word >> (row % 64) & 1 != 0
}

/// Puts a row in; `false` if the words end before it.
pub fn insert(set: &mut [u64], row: u32) -> bool {
    let word = set.get_mut(row as usize / 64);
    let fits = word.is_some();
    if let Some(word) = word {
        *word |= 1 << (row % 64);
    }
    fits
}

/// Takes a row out.
pub fn remove(set: &mut [u64], row: u32) {
    if let Some(word) = set.get_mut(row as usize / 64) {
        *word &= !(1 << (row % 64));
    }
}

/// Number of rows in the set.
pub fn count(set: &[u64]) -> u32 {
    set.iter()
        .fold(0, |sum: u32, word| sum.saturating_add(word.count_ones()))
}

/// Rows of the set, ascending.
pub fn rows(set: &[u64]) -> impl Iterator<Item = u32> + '_ {
    let starts = (0..u32::MAX).step_by(64);
    set.iter()
        .zip(starts)
        .flat_map(|(word, start)| lanes(*word).map(move |lane| start | lane as u32))
}

/// Rows of the set from `start` on, ascending, then those before it.
pub fn rows_from(set: &[u64], start: u32) -> impl Iterator<Item = u32> + '_ {
    words_from(set, start).flat_map(|(at, word)| {
        let first = (at as u32).saturating_mul(64);
        lanes(word).map(move |lane| first.saturating_add(lane as u32))
    })
}

/// Words of the set that are not empty, each with its place: those of the rows from `start` on, then those of the
/// rows before it, so that the word that holds both comes twice.
pub fn words_from(set: &[u64], start: u32) -> impl Iterator<Item = (usize, u64)> + '_ {
    let (first, later) = (start as usize / 64, u64::MAX << (start % 64));
    let after = first.saturating_add(1)..set.len();
    let rest = after.chain(0..first.min(set.len()));
    let rest = rest.map(|at| (at, u64::MAX));
    let parts = [(first, later)].into_iter().chain(rest);
    let words = parts.chain([(first, !later)]).map(|(at, part)| {
        let word = set.get(at).copied().unwrap_or(0);
        (at, word & part)
    });
    words.filter(|(_, word)| *word != 0)
}

/// Places of a word's bits, ascending.
#[inline]
pub fn lanes(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lane = word.trailing_zeros();
        // The lowest bit goes; nothing is left of 0.
        word &= word.wrapping_sub(1);
        (lane < 64).then_some(lane as usize)
    })
}

#[cfg(feature = "alloc")]
mod owned {
    use bitvec::order::Lsb0;
    use bitvec::vec::BitVec;
    use core::fmt;

    /// An owned set of nodes, as large as the table of nodes.
    ///
    /// ```
    /// use berth_core::NodeSet;
    ///
    /// let mut set = NodeSet::new(100);
    /// set.insert(3);
    /// set.insert(99);
    /// assert_eq!(set.rows().collect::<Vec<_>>(), [3, 99]);
    /// assert_eq!(set.words(), [1 << 3, 1 << 35]);
    /// ```
    #[derive(Clone, PartialEq, Eq, Default)]
    pub struct NodeSet(BitVec<u64, Lsb0>);

    impl NodeSet {
        /// No node of `rows`. The only function that allocates.
        pub fn new(rows: usize) -> Self {
            let mut bits = BitVec::new();
            bits.resize(super::words(rows).saturating_mul(64), false);
            Self(bits)
        }

        /// The set as words, for loops over 64 nodes at a time.
        pub fn words(&self) -> &[u64] {
            self.0.as_raw_slice()
        }

        /// The words to write to.
        pub fn words_mut(&mut self) -> &mut [u64] {
            self.0.as_raw_mut_slice()
        }

        /// Whether the row is in the set.
        pub fn contains(&self, row: u32) -> bool {
            super::contains(self.words(), row)
        }

        /// Puts a row in; `false` if the set has no such row.
        pub fn insert(&mut self, row: u32) -> bool {
            super::insert(self.words_mut(), row)
        }

        /// Takes a row out.
        pub fn remove(&mut self, row: u32) {
            super::remove(self.words_mut(), row);
        }

        /// Whether no row is in the set.
        pub fn is_empty(&self) -> bool {
            self.words().iter().all(|word| *word == 0)
        }

        /// Becomes the same as `other`, which must be as large.
        pub fn copy_from(&mut self, other: &Self) {
            for (word, other) in self.words_mut().iter_mut().zip(other.words()) {
                *word = *other;
            }
        }

        /// Takes all rows out.
        pub fn clear(&mut self) {
            self.words_mut().fill(0);
        }

        /// Number of rows in the set.
        pub fn count(&self) -> u32 {
            super::count(self.words())
        }

        /// Rows of the set, ascending.
        pub fn rows(&self) -> impl Iterator<Item = u32> + '_ {
            super::rows(self.words())
        }
    }

    impl fmt::Debug for NodeSet {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_set().entries(self.rows()).finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeSet, contains, count, insert, lanes, remove, rows};
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn lanes_are_the_places_of_the_bits() {
        assert_eq!(lanes(0).count(), 0);
        assert_eq!(lanes(u64::MAX).count(), 64);
        let places: Vec<usize> = lanes(1 | 1 << 7 | 1 << 63).collect();
        assert_eq!(places, [0, 7, 63]);
    }

    proptest! {
        #[test]
        fn a_set_is_the_set_of_its_rows(
            changes in proptest::collection::vec((any::<bool>(), 0..200_u32), 0..100),
        ) {
            let mut expected = BTreeSet::new();
            let mut set = NodeSet::new(130);
            let mut words = [0; 3];
            for (add, row) in changes {
                if add {
                    // 130 rows take three words.
                    prop_assert_eq!(set.insert(row), row < 192);
                    prop_assert_eq!(insert(&mut words, row), row < 192);
                    if row < 192 {
                        expected.insert(row);
                    }
                } else {
                    set.remove(row);
                    remove(&mut words, row);
                    expected.remove(&row);
                }
                prop_assert_eq!(set.contains(row), expected.contains(&row));
                prop_assert_eq!(contains(&words, row), expected.contains(&row));
            }
            prop_assert_eq!(set.words(), words);
            prop_assert_eq!(count(&words) as usize, expected.len());
            prop_assert!(rows(&words).eq(expected.iter().copied()));
            set.clear();
            prop_assert_eq!(set, NodeSet::new(130));
        }
    }
}
