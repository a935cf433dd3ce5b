//! A node as events carry it: words that do not change with the cluster.

use super::event::{NodeSide, VolumeSide};
use crate::cluster::Cluster;
use crate::fixed_vec::FixedVec;
use crate::intern::{Texts, Word, release_texts, retain_texts, word_text};
use crate::kernel::{CPU, EPHEMERAL, MEMORY};
use crate::object::Node;
use alloc::vec::Vec;

/// A number is a word without the mark of a text.
const NUMBER: u32 = (1 << 31) - 1;

/// One end of a node's change. It holds its texts as long as it is filled.
#[derive(Clone)]
pub(crate) struct Side {
    words: FixedVec<Word>,
}

impl Side {
    /// Room for `limit` words.
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            words: FixedVec::with_capacity(limit as usize),
        }
    }

    pub(crate) fn words(&self) -> &[Word] {
        &self.words
    }

    pub(crate) fn read(&self) -> Option<NodeSide<'_>> {
        NodeSide::read(&self.words)
    }

    pub(crate) fn read_volume(&self) -> Option<VolumeSide> {
        VolumeSide::read(&self.words)
    }

    /// Fills it with a volume or an object of storage. It must be empty.
    pub(crate) fn fill_volume(&mut self, texts: &mut Texts, side: VolumeSide) {
        self.words.clear();
        self.words.extend(side.words());
        retain_texts(&self.words, texts);
    }

    /// Empties it.
    pub(crate) fn clear(&mut self, texts: &mut Texts) {
        release_texts(&self.words, texts);
        self.words.clear();
    }

    /// Fills it with a node as the cluster has it now. It must be empty.
    pub(crate) fn fill(&mut self, cluster: &mut Cluster, row: usize) {
        let words = &mut self.words;
        words.clear();
        let Some(node) = cluster.nodes.get(row) else {
            return;
        };
        words.push(node.name);
        words.push(u32::from(node.unschedulable));
        words.push(node.features_hash & NUMBER);
        if let Some(block) = cluster.blocks.get(row / 64) {
            let lane = row % 64;
            let main = [CPU, MEMORY, EPHEMERAL].map(|resource| {
                let column = block.allocatable.get(resource);
                column.and_then(|column| column.get(lane)).copied()
            });
            for amount in main {
                push_amount(words, amount.unwrap_or(0));
            }
            let pods = block.pods_allocatable.get(lane).copied();
            push_amount(words, pods.unwrap_or(0));
        }
        let start = open(words);
        for id in cluster.resources.ids() {
            let amount = cluster.resources.allocatable(id, row);
            if amount > 0 {
                words.push(id.0);
                push_amount(words, amount);
            }
        }
        close(words, start);
        for record in [node.labels, node.taints] {
            let start = open(words);
            words.extend_from_slice(cluster.node_records.words(record));
            close(words, start);
        }
        for text in words.iter().copied().filter_map(word_text) {
            cluster.texts.retain(text);
        }
    }
}

/// Words that a node's side has at most.
pub(crate) fn bound(node: &Node) -> usize {
    let amounts = node
        .status
        .allocatable
        .as_ref()
        .unwrap_or(&node.status.capacity);
    let parts = [
        amounts.len().saturating_mul(4),
        node.metadata.labels.len().saturating_mul(2),
        node.spec.taints.len().saturating_mul(3),
    ];
    parts.into_iter().fold(18, usize::saturating_add)
}

fn push_amount(words: &mut Vec<Word>, amount: i64) {
    let amount = amount.max(0).cast_unsigned();
    words.push((amount >> 62) as u32);
    words.push((amount >> 31) as u32 & NUMBER);
    words.push(amount as u32 & NUMBER);
}

fn open(words: &mut Vec<Word>) -> usize {
    words.push(0);
    words.len()
}

fn close(words: &mut [Word], start: usize) {
    let len = words.len().saturating_sub(start);
    if let Some(count) = words.get_mut(start.saturating_sub(1)) {
        *count = len as u32;
    }
}
