//! Variable-length slices in one fixed allocation.
//!
//! Blocks are powers of two; a freed block joins the free list of its size and is split when a
//! smaller one is wanted. The links of the free lists live in the freed blocks.

use crate::capacity::bytes_of;
use crate::fixed_vec::FixedVec;
use crate::table::Table;
use core::ops::Range;

/// What an arena holds: plain numbers, two of which can keep a link.
pub(crate) trait Cell: Copy + Default {
    /// Cells of the smallest block, enough for one link.
    const BLOCK_MIN: usize;
    fn write_link(block: &mut [Self], link: u32);
    fn read_link(block: &[Self]) -> u32;
}

impl Cell for u8 {
    const BLOCK_MIN: usize = 4;
    fn write_link(block: &mut [Self], link: u32) {
        if let Some(bytes) = block.first_chunk_mut::<4>() {
            *bytes = link.to_le_bytes();
        }
    }
    fn read_link(block: &[Self]) -> u32 {
        block
            .first_chunk::<4>()
            .map_or(NONE, |bytes| u32::from_le_bytes(*bytes))
    }
}

impl Cell for u32 {
    const BLOCK_MIN: usize = 1;
    fn write_link(block: &mut [Self], link: u32) {
        if let Some(first) = block.first_mut() {
            *first = link;
        }
    }
    fn read_link(block: &[Self]) -> u32 {
        block.first().copied().unwrap_or(NONE)
    }
}

const NONE: u32 = u32::MAX;

/// Slices of `T`, named by their start.
#[derive(Clone)]
pub(crate) struct Arena<T> {
    cells: FixedVec<T>,
    /// First free block by the exponent of its size.
    free: [u32; 32],
    /// Cells in blocks that are handed out.
    used: usize,
    capacity: usize,
}

impl<T: Cell> Arena<T> {
    /// Room for `capacity` cells, rounded blocks included.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            cells: FixedVec::with_capacity(capacity),
            free: [NONE; 32],
            used: 0,
            // Starts are 32 bits, of which the last means that there is none.
            capacity: capacity.min(u32::MAX as usize),
        }
    }

    /// Bytes taken for `capacity` cells.
    pub(crate) const fn bytes(capacity: u64) -> u64 {
        bytes_of::<T>(capacity)
    }

    #[cfg(test)]
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// Copies `slice` in; `None` when no block of its size is left.
    pub(crate) fn insert(&mut self, slice: &[T]) -> Option<u32> {
        let exponent = exponent::<T>(slice.len());
        let start = self.take(exponent)?;
        self.used = self.used.saturating_add(cells(exponent));
        if let Some(block) = self.cells.get_mut(range(start, slice.len())) {
            block.copy_from_slice(slice);
        }
        Some(start)
    }

    /// Gives back the block of a slice of `len` cells that starts at `start`.
    pub(crate) fn remove(&mut self, start: u32, len: usize) {
        let exponent = exponent::<T>(len);
        self.used = self.used.saturating_sub(cells(exponent));
        self.put(start, exponent);
    }

    pub(crate) fn slice(&self, start: u32, len: usize) -> &[T] {
        self.cells.get(range(start, len)).unwrap_or_default()
    }

    fn take(&mut self, exponent: usize) -> Option<u32> {
        let mut free = self.free.iter().copied().enumerate().skip(exponent);
        let larger = free.find(|(_, start)| *start != NONE);
        let fresh = range(self.cells.len() as u32, cells(exponent));
        // A fresh block before a larger freed one is split: splits never grow back.
        if larger.is_none_or(|(size, _)| size != exponent) && fresh.end <= self.capacity {
            self.cells.resize(fresh.end, T::default());
            return Some(fresh.start as u32);
        }
        let (size, start) = larger?;
        let link = T::read_link(self.slice(start, cells(size)));
        self.free.set(size, link);
        for half in (exponent..size).rev() {
            self.put(start.saturating_add(cells(half) as u32), half);
        }
        Some(start)
    }

    fn put(&mut self, start: u32, exponent: usize) {
        let block = self.cells.get_mut(range(start, cells(exponent)));
        if let (Some(block), Some(free)) = (block, self.free.at_mut(exponent)) {
            T::write_link(block, *free);
            *free = start;
        }
    }
}

/// Cells of a block.
fn cells(exponent: usize) -> usize {
    1_usize.checked_shl(exponent as u32).unwrap_or(usize::MAX)
}

fn range(start: u32, len: usize) -> Range<usize> {
    let start = start as usize;
    start..start.saturating_add(len)
}

fn exponent<T: Cell>(len: usize) -> usize {
    len.max(T::BLOCK_MIN).next_power_of_two().trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_block_is_used_again_and_a_full_arena_says_so() {
        let mut arena: Arena<u32> = Arena::new(8);
        let first = arena.insert(&[1, 2, 3]).unwrap();
        let second = arena.insert(&[4, 5, 6, 7]).unwrap();
        assert_eq!(arena.insert(&[8]), None);
        arena.remove(first, 3);
        let third = arena.insert(&[9]).unwrap();
        assert_eq!(arena.slice(third, 1), [9]);
        assert_eq!(arena.slice(second, 4), [4, 5, 6, 7]);
        assert_eq!(arena.used(), 5);
    }
}
