//! A hash of the state's content, whatever ids and rows it happens to have.

use super::owner::ObjectKind;
use super::term::kind;
use super::{Cluster, NodeState, PodState};
use crate::class::Section;
use crate::id::ClassId;
use crate::intern::{Word, hash_bytes, word_text};
use crate::selector;
use crate::table::Table;
use crate::volume::VolumeKind;

impl Cluster {
    /// Parts are added up, so their order does not matter.
    pub(crate) fn state_hash(&self) -> u64 {
        let mut sum = 0u64;
        for (row, node) in self.nodes.iter().enumerate() {
            if node.state == NodeState::Present {
                sum = sum.wrapping_add(self.node_hash(row));
            }
        }
        for pod in &self.pods {
            if pod.state == PodState::Vacant {
                continue;
            }
            let mut hash = Fold::new(1);
            hash.words(self, &[pod.namespace, pod.name, pod.uid, pod.pin]);
            hash.class(self, pod.class);
            hash.number(u64::from(pod.priority.cast_unsigned()));
            if pod.row != super::NONE {
                hash.words(self, &[self.nodes.at(pod.row).name]);
            } else if pod.state == PodState::Orphan {
                hash.words(self, &[pod.node_name]);
            }
            sum = sum.wrapping_add(hash.0);
        }
        for term in self.terms.ids() {
            // Terms that only live classes keep are a cache; carried ones belong to the state.
            if self.terms.kind(term) != kind::CARRIED {
                continue;
            }
            for (slot, count) in self.terms.counts.slots(term.0) {
                let mut hash = Fold::new(2);
                hash.words(self, self.terms.words(term));
                hash.words(self, &[self.topology.value(crate::id::DomainId(slot))]);
                hash.number(u64::from(count));
                sum = sum.wrapping_add(hash.0);
            }
        }
        for (key, record) in self.objects.all() {
            let mut hash = Fold::new(7);
            hash.words(self, &key);
            if key[0] == ObjectKind::Namespace as u32 {
                hash.set::<2>(self, record);
            } else {
                hash.words(self, record);
            }
            sum = sum.wrapping_add(hash.0);
        }
        for (key, record) in self.volumes.table.all() {
            let mut hash = Fold::new(10);
            hash.words(self, &key);
            match selector::split_item(record) {
                Some((labels, rest)) if key[0] == VolumeKind::Volume as u32 => {
                    hash.set::<2>(self, labels);
                    hash.words(self, rest);
                }
                _ => hash.words(self, record),
            }
            sum = sum.wrapping_add(hash.0);
        }
        for (key, assumed) in self.volumes.assumptions() {
            let mut hash = Fold::new(11);
            hash.words(self, &key);
            hash.words(self, assumed);
            sum = sum.wrapping_add(hash.0);
        }
        sum
    }

    fn node_hash(&self, row: usize) -> u64 {
        let node = self.nodes.at(row);
        let (block, lane) = self.block(row);
        let mut hash = Fold::new(3);
        hash.words(self, &[node.name]);
        hash.set::<2>(self, self.node_records.words(node.labels));
        hash.words(self, self.node_records.words(node.taints));
        hash.number(u64::from(node.unschedulable) << 32 | u64::from(node.features));
        for (allocatable, requested) in block.allocatable.iter().zip(&block.requested) {
            hash.number(allocatable.at(lane).cast_unsigned());
            hash.wide(*requested.at(lane));
        }
        for non_zero in &block.non_zero {
            hash.wide(*non_zero.at(lane));
        }
        hash.number(u64::from(*block.pods.at(lane)));
        hash.number(block.pods_allocatable.at(lane).cast_unsigned());
        for id in self.resources.ids() {
            let mut part = Fold::new(4);
            let amounts = (
                self.resources.allocatable(id, row),
                self.resources.requested(id, row),
            );
            if amounts != (0, 0) {
                part.bytes(self.texts.text(self.resources.name(id)).as_bytes());
                part.number(amounts.0.cast_unsigned());
                part.wide(amounts.1);
                hash.0 = hash.0.wrapping_add(part.0);
            }
        }
        let (start, len) = node.images;
        for image in self.image_lists.slice(start, len as usize) {
            let mut part = Fold::new(8);
            part.words(self, self.images.words(*image));
            hash.0 = hash.0.wrapping_add(part.0);
        }
        for port in 0..self.ports.bound() as u32 {
            if self.ports.contains(port) && self.port_counts.count(port, row as u32) > 0 {
                let mut part = Fold::new(5);
                part.words(self, self.ports.words(port));
                part.number(u64::from(self.port_counts.count(port, row as u32)));
                hash.0 = hash.0.wrapping_add(part.0);
            }
        }
        hash.0
    }
}

/// Folds numbers and texts into one hash.
pub(crate) struct Fold(u64);

impl Fold {
    pub(crate) fn new(kind: u64) -> Self {
        Self(kind.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) const fn finish(&self) -> u64 {
        self.0
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.0 = (self.0 ^ number)
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(29);
    }

    /// Resources by name: their ids follow the order in which they came.
    fn class(&mut self, cluster: &Cluster, id: ClassId) {
        let view = cluster.classes.view(id);
        for section in Section::ALL {
            let words = view.section(section);
            match section {
                Section::Scalars => {}
                Section::Labels => self.set::<2>(cluster, words),
                Section::Ports => self.set::<3>(cluster, words),
                Section::Tolerations => self.set::<4>(cluster, words),
                _ => self.words(cluster, words),
            }
        }
        let mut sum = 0u64;
        for scalar in view.scalars() {
            let mut part = Self::new(6);
            part.bytes(
                cluster
                    .texts
                    .text(cluster.resources.name(scalar.resource))
                    .as_bytes(),
            );
            for amount in [scalar.spec, scalar.status, scalar.score] {
                part.number(amount.cast_unsigned());
            }
            sum = sum.wrapping_add(part.0);
        }
        self.number(sum);
    }

    fn wide(&mut self, number: i128) {
        self.number(number as u64);
        self.number((number >> 64) as u64);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(hash_bytes(bytes));
    }

    /// Entries of `N` words each, which are sorted by ids and so in any order.
    fn set<const N: usize>(&mut self, cluster: &Cluster, words: &[Word]) {
        let (entries, _) = words.as_chunks::<N>();
        let parts = entries.iter().map(|entry| {
            let mut part = Self::new(9);
            part.words(cluster, entry);
            part.0
        });
        self.number(parts.fold(0, u64::wrapping_add));
    }

    /// Texts by what they say, not by their ids.
    pub(crate) fn words(&mut self, cluster: &Cluster, words: &[Word]) {
        self.number(words.len() as u64);
        for word in words {
            match word_text(*word) {
                Some(text) => self.bytes(cluster.texts.text(text).as_bytes()),
                None => self.number(u64::from(*word)),
            }
        }
    }
}
