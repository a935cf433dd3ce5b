//! Variable-length slices in one fixed allocation.
//!
//! Blocks are powers of two; a freed block joins the free list of its size and is split when a
//! smaller one is wanted. The links of the free lists live in the freed blocks.

use alloc::vec::Vec;

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
pub(crate) struct Arena<T> {
    cells: Vec<T>,
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
            cells: Vec::with_capacity(capacity),
            free: [NONE; 32],
            used: 0,
            capacity,
        }
    }

    /// Bytes taken for `capacity` cells.
    pub(crate) const fn bytes(capacity: usize) -> usize {
        capacity * size_of::<T>()
    }

    #[cfg(test)]
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// Copies `slice` in; `None` when no block of its size is left.
    pub(crate) fn insert(&mut self, slice: &[T]) -> Option<u32> {
        let exponent = exponent::<T>(slice.len());
        let start = self.take(exponent)?;
        self.used += 1 << exponent;
        if let Some(block) = self
            .cells
            .get_mut(start as usize..start as usize + slice.len())
        {
            block.copy_from_slice(slice);
        }
        Some(start)
    }

    /// Gives back the block of a slice of `len` cells that starts at `start`.
    pub(crate) fn remove(&mut self, start: u32, len: usize) {
        let exponent = exponent::<T>(len);
        self.used -= 1 << exponent;
        self.put(start, exponent);
    }

    pub(crate) fn slice(&self, start: u32, len: usize) -> &[T] {
        self.cells
            .get(start as usize..start as usize + len)
            .unwrap_or_default()
    }

    fn take(&mut self, exponent: usize) -> Option<u32> {
        let larger = (exponent..self.free.len()).find(|&size| self.free[size] != NONE);
        // A fresh block before a larger freed one is split: splits never grow back.
        if larger != Some(exponent) && self.cells.len() + (1 << exponent) <= self.capacity {
            let start = self.cells.len();
            self.cells.resize(start + (1 << exponent), T::default());
            return Some(start as u32);
        }
        let mut size = larger?;
        let start = self.free[size];
        self.free[size] = T::read_link(self.slice(start, 1 << size));
        while size > exponent {
            size -= 1;
            self.put(start + (1 << size), size);
        }
        Some(start)
    }

    fn put(&mut self, start: u32, exponent: usize) {
        let link = self.free[exponent];
        let end = start as usize + (1 << exponent);
        if let Some(block) = self.cells.get_mut(start as usize..end) {
            T::write_link(block, link);
            self.free[exponent] = start;
        }
    }
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
