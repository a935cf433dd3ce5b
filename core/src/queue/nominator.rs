//! Which pods are nominated to which nodes, in memory.
//!
//! Mirrors `backend/queue/nominator.go`. All nominated pods are one chain in the order of their
//! nomination; those of one node are found by walking it, as few pods are nominated at a time.

use super::item::{Item, NONE};
use crate::intern::{Texts, Word, word_text};
use crate::table::Count;

/// The chain of nominated pods; each holds the text of its node's name.
#[derive(Clone)]
pub(super) struct Nominator {
    first: u32,
    last: u32,
    pub(super) count: u32,
}

impl Nominator {
    pub(super) const fn new() -> Self {
        Self {
            first: NONE,
            last: NONE,
            count: 0,
        }
    }

    /// Nominates a pod to the node of this name, as the last one; 0 takes its nomination back.
    pub(super) fn set(&mut self, items: &mut [Item], texts: &mut Texts, pod: u32, node: Word) {
        let Some(text) = word_text(node) else {
            return self.remove(items, texts, pod);
        };
        // Held first: the old nomination may be the only one that keeps the text.
        texts.retain(text);
        self.remove(items, texts, pod);
        let last = core::mem::replace(&mut self.last, pod);
        match items.get_mut(last as usize) {
            Some(last) => last.nominated_next = pod,
            None => self.first = pod,
        }
        if let Some(item) = items.get_mut(pod as usize) {
            item.nomination = node;
            item.nominated_next = NONE;
            item.nominated_previous = last;
        }
        self.count.count_up();
    }

    pub(super) fn remove(&mut self, items: &mut [Item], texts: &mut Texts, pod: u32) {
        let Some(item) = items.get(pod as usize).copied() else {
            return;
        };
        let Some(text) = word_text(item.nomination) else {
            return;
        };
        match items.get_mut(item.nominated_previous as usize) {
            Some(previous) => previous.nominated_next = item.nominated_next,
            None => self.first = item.nominated_next,
        }
        match items.get_mut(item.nominated_next as usize) {
            Some(next) => next.nominated_previous = item.nominated_previous,
            None => self.last = item.nominated_previous,
        }
        if let Some(item) = items.get_mut(pod as usize) {
            item.nomination = 0;
            item.nominated_next = NONE;
            item.nominated_previous = NONE;
        }
        texts.release(text);
        self.count.count_down();
    }

    /// Nominated pods and the names of their nodes, in the order of their nomination.
    pub(super) fn pods<'a>(
        &self,
        items: &'a [Item],
    ) -> impl Iterator<Item = (u32, Word)> + use<'a> {
        let mut at = self.first;
        core::iter::from_fn(move || {
            let item = items.get(at as usize)?;
            let pod = core::mem::replace(&mut at, item.nominated_next);
            Some((pod, item.nomination))
        })
    }
}
