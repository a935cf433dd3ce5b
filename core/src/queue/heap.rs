//! Heaps of pods, with every pod's place known: `O(log n)` to add, change or remove one.
//!
//! Mirrors Go's `container/heap` step by step, and `backend/heap/heap.go` of kube-scheduler: of
//! equal pods the shape of the heap decides which comes first, so the shape is upstream's.

use super::item::Item;
use crate::fixed_vec::FixedVec;

/// Whether the first item comes before the second.
pub(super) type Less = fn(&Item, &Item) -> bool;

/// Pods by their row, the first one at the root; [`Item::position`] is a pod's place in it.
#[derive(Clone)]
pub(super) struct Heap {
    pub(super) list: FixedVec<u32>,
    less: Less,
}

impl Heap {
    /// Room for `limit` pods.
    pub(super) fn new(limit: u32, less: Less) -> Self {
        Self {
            list: FixedVec::with_capacity(limit as usize),
            less,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The pods, in the order of the heap's array.
    pub(super) fn list(&self) -> &[u32] {
        &self.list
    }

    /// The pod that comes first.
    pub(super) fn peek(&self) -> Option<u32> {
        self.list.first().copied()
    }

    pub(super) fn push(&mut self, items: &mut [Item], pod: u32) {
        let last = self.list.len();
        self.list.push(pod);
        self.set_position(items, last);
        self.up(items, last);
    }

    pub(super) fn pop(&mut self, items: &mut [Item]) -> Option<u32> {
        let last = self.list.len().checked_sub(1)?;
        self.swap(items, 0, last);
        self.down(items, 0, last);
        self.list.pop()
    }

    /// Puts a pod whose order changed where it belongs.
    pub(super) fn fix(&mut self, items: &mut [Item], pod: u32) {
        let at = position(items, pod);
        if !self.down(items, at, self.list.len()) {
            self.up(items, at);
        }
    }

    pub(super) fn remove(&mut self, items: &mut [Item], pod: u32) {
        let at = position(items, pod);
        let Some(last) = self.list.len().checked_sub(1) else {
            return;
        };
        if at != last {
            self.swap(items, at, last);
            if !self.down(items, at, last) {
                self.up(items, at);
            }
        }
        self.list.pop();
    }

    pub(super) fn is_less(&self, items: &[Item], a: usize, b: usize) -> bool {
        let item = |at: usize| items.get(*self.list.get(at)? as usize);
        match (item(a), item(b)) {
            (Some(a), Some(b)) => (self.less)(a, b),
            _ => false,
        }
    }

    fn up(&mut self, items: &mut [Item], from: usize) {
        let mut child = from;
        while child > 0 {
            let parent = child.saturating_sub(1) / 2;
            if !self.is_less(items, child, parent) {
                return;
            }
            self.swap(items, parent, child);
            child = parent;
        }
    }

    /// Lets a pod sink among the first `count`; whether it moved.
    fn down(&mut self, items: &mut [Item], from: usize, count: usize) -> bool {
        let mut parent = from;
        loop {
            let left = parent.saturating_mul(2).saturating_add(1);
            if left >= count {
                break;
            }
            let right = left.saturating_add(1);
            let child = if right < count && self.is_less(items, right, left) {
                right
            } else {
                left
            };
            if !self.is_less(items, child, parent) {
                break;
            }
            self.swap(items, parent, child);
            parent = child;
        }
        parent > from
    }

    fn swap(&mut self, items: &mut [Item], a: usize, b: usize) {
        self.list.swap(a, b);
        self.set_position(items, a);
        self.set_position(items, b);
    }

    pub(super) fn set_position(&self, items: &mut [Item], at: usize) {
        if let Some(pod) = self.list.get(at)
            && let Some(item) = items.get_mut(*pod as usize)
        {
            item.position = at as u32;
        }
    }
}

fn position(items: &[Item], pod: u32) -> usize {
    items
        .get(pod as usize)
        .map_or(0, |item| item.position as usize)
}
