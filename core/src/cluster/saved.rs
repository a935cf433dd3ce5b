//! The cluster in a state file: what cannot be found out otherwise, under the ids that it has.
//!
//! Stages, in order: [`Cluster::restore_names`], before profiles intern theirs; [`Cluster::restore`];
//! [`Cluster::let_go`], once everything that refers to texts and records is there.

mod node;
mod pod;

pub(crate) use node::SavedNode;
pub(crate) use pod::SavedPod;

use super::order::SavedOrder;
use super::owner::SavedObject;
use super::{Cluster, NodeState};
use crate::id::{ClassId, TextId};
use crate::intern::{Records, Texts, Word, retain_texts, word_text};
use crate::state_file::{StateError, check, check_vacant};
use crate::table::Table;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Records by id.
pub(crate) type SavedRecords = Vec<Option<Vec<Word>>>;

/// See the module.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedCluster {
    pub(crate) texts: Vec<Option<String>>,
    /// Texts of their names.
    pub(crate) resources: Vec<TextId>,
    pub(crate) node_records: SavedRecords,
    pub(crate) images: SavedRecords,
    pub(crate) image_sizes: Vec<i64>,
    pub(crate) images_version: u64,
    pub(crate) nodes: Vec<Option<SavedNode>>,
    pub(crate) vacant_nodes: Vec<u32>,
    /// Rows whose image counts are copied before the next cycle.
    pub(crate) dirty: Vec<u32>,
    pub(crate) order: SavedOrder,
    pub(crate) object_records: SavedRecords,
    pub(crate) objects: Vec<Option<SavedObject>>,
    pub(crate) vacant_objects: Vec<u32>,
    pub(crate) classes: SavedRecords,
    pub(crate) pods: Vec<Option<SavedPod>>,
    pub(crate) vacant_pods: Vec<u32>,
    /// Pods that are on nodes; those of one node from its chain's end on.
    pub(crate) placed: Vec<u32>,
}

impl SavedCluster {
    /// Rows of nodes and of pods.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.nodes.len(), self.pods.len())
    }
}

impl Cluster {
    /// The content of a state file.
    pub(crate) fn saved(&self) -> SavedCluster {
        let rows = 0..self.nodes.len();
        let placed = rows.clone().flat_map(|row| {
            let mut pods: Vec<u32> = self.pods_on(row).map(|pod| pod.0).collect();
            pods.reverse();
            pods
        });
        let names = self.resources.ids().map(|id| self.resources.name(id));
        let (objects, vacant_objects) = self.objects.saved();
        SavedCluster {
            texts: self
                .texts
                .saved()
                .map(|text| text.map(String::from))
                .collect(),
            resources: names.collect(),
            node_records: saved_records(&self.node_records),
            images: saved_records(&self.images),
            image_sizes: self
                .image_sizes
                .iter()
                .copied()
                .take(self.images.bound())
                .collect(),
            images_version: self.images_version,
            nodes: rows.map(|row| self.saved_node(row)).collect(),
            vacant_nodes: self.vacant_nodes.to_vec(),
            dirty: self.dirty.to_vec(),
            order: self.order.saved(),
            object_records: saved_records(&self.objects.records),
            objects,
            vacant_objects,
            classes: saved_records(&self.classes.records),
            pods: self.pods.iter().map(pod::saved_pod).collect(),
            vacant_pods: self.vacant_pods.to_vec(),
            placed: placed.collect(),
        }
    }

    /// Fills an empty cluster with the texts and resources, each text held once.
    pub(crate) fn restore_names(&mut self, saved: &SavedCluster) -> Result<(), StateError> {
        for (place, text) in saved.texts.iter().enumerate() {
            let new = self.texts.restore(text.as_deref())?;
            check(new, "texts", place, "this text is there already")?;
        }
        for (place, text) in saved.resources.iter().enumerate() {
            let there = self.texts.contains(*text);
            check(there, "resources", place, "its name is no text")?;
            // The name is held by the table then.
            let name = String::from(self.texts.text(*text));
            let id = self.resources.intern(&name, &mut self.texts)?;
            check(
                id.index() == place,
                "resources",
                place,
                "this resource is there already",
            )?;
        }
        Ok(())
    }

    /// Fills a cluster that has the names and the profiles with everything else.
    pub(crate) fn restore(&mut self, saved: &SavedCluster) -> Result<(), StateError> {
        let texts = &mut self.texts;
        restore_records(
            &mut self.node_records,
            texts,
            &saved.node_records,
            "node_records",
        )?;
        restore_records(&mut self.images, texts, &saved.images, "images")?;
        let records = &mut self.objects.records;
        restore_records(records, texts, &saved.object_records, "object_records")?;
        restore_records(&mut self.classes.records, texts, &saved.classes, "classes")?;
        let sizes = saved.image_sizes.len() == saved.images.len();
        check(
            sizes,
            "image_sizes",
            0,
            "there are other than as many as images",
        )?;
        for (image, size) in saved.image_sizes.iter().enumerate() {
            self.image_sizes.set(image, *size);
        }
        for (row, node) in saved.nodes.iter().enumerate() {
            self.restore_node(row, node.as_ref())?;
        }
        let is_vacant = |row: usize| self.nodes.at(row).state == NodeState::Vacant;
        check_vacant(
            &saved.vacant_nodes,
            self.nodes.len(),
            is_vacant,
            "vacant_nodes",
        )?;
        self.vacant_nodes.extend_from_slice(&saved.vacant_nodes);
        self.images_version = saved.images_version;
        for (place, row) in saved.dirty.iter().enumerate() {
            let node = self.nodes.get_mut(*row as usize).filter(|node| !node.dirty);
            check(node.is_some(), "dirty", place, "no such row, or twice")?;
            if let Some(node) = node {
                node.dirty = true;
                self.dirty.push(*row);
            }
        }
        self.restore_order(&saved.order)?;
        self.objects
            .restore(&saved.objects, &saved.vacant_objects, &mut self.texts)?;
        self.restore_classes(&saved.classes)?;
        self.restore_pods(saved)
    }

    /// Lets go of texts and records that were held until everything that refers to them was there.
    pub(crate) fn let_go(&mut self, saved: &SavedCluster) {
        let ids = |saved: &SavedRecords| {
            let there = saved
                .iter()
                .enumerate()
                .filter(|(_, words)| words.is_some());
            there.map(|(id, _)| id as u32).collect::<Vec<_>>()
        };
        for id in ids(&saved.classes) {
            self.release_class(ClassId(id));
        }
        for id in ids(&saved.object_records) {
            self.objects.records.release(id, &mut self.texts);
        }
        for id in ids(&saved.images) {
            self.images.release(id, &mut self.texts);
        }
        for id in ids(&saved.node_records) {
            self.node_records.release(id, &mut self.texts);
        }
        for (id, text) in saved.texts.iter().enumerate() {
            if text.is_some() {
                self.texts.release(TextId::from_index(id));
            }
        }
    }

    /// Refuses words that are no texts.
    pub(crate) fn check_words(
        &self,
        words: &[Word],
        part: &'static str,
        place: usize,
    ) -> Result<(), StateError> {
        let mut texts = words.iter().copied().filter_map(word_text);
        let right = texts.all(|text| self.texts.contains(text));
        check(right, part, place, "it names a text that is not there")
    }
}

fn saved_records(records: &Records) -> SavedRecords {
    let words = records.saved().map(|words| words.map(<[Word]>::to_vec));
    words.collect()
}

/// Fills an empty table with records, each held once.
fn restore_records(
    records: &mut Records,
    texts: &mut Texts,
    saved: &SavedRecords,
    part: &'static str,
) -> Result<(), StateError> {
    for (place, words) in saved.iter().enumerate() {
        let words = words.as_deref();
        let mut named = words.into_iter().flatten().copied().filter_map(word_text);
        let right = named.all(|text| texts.contains(text));
        check(right, part, place, "it names a text that is not there")?;
        let new = records.restore(words)?;
        check(new, part, place, "this record is there already")?;
        retain_texts(words.unwrap_or_default(), texts);
    }
    Ok(())
}
