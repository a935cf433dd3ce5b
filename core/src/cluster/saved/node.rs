//! Nodes and their order in a state file.

use super::super::order::SavedOrder;
use super::super::{Cluster, NodeRow, NodeState};
use crate::capacity::CapacityExceeded;
use crate::id::ResourceId;
use crate::intern::{Word, hash_bytes, word_text};
use crate::selector::is_sorted;
use crate::state_file::{StateError, check};
use crate::table::{Count, Table, Vacant};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum SavedNode {
    Present {
        name: Word,
        labels: u32,
        taints: u32,
        /// Images in the node's order, and how many nodes had them when the row was last copied.
        images: Vec<(u32, u32)>,
        images_version: u64,
        unschedulable: bool,
        features: u32,
        features_hash: u32,
        /// Allocatable cpu, memory, ephemeral storage.
        main: [i64; 3],
        pods: i64,
        /// The same of other resources, by id.
        scalars: Vec<i64>,
    },
    Departed {
        name: Word,
    },
}

impl Cluster {
    pub(super) fn saved_node(&self, row: usize) -> Option<SavedNode> {
        let node = self.nodes.at(row);
        match node.state {
            NodeState::Vacant => None,
            NodeState::Departed => Some(SavedNode::Departed { name: node.name }),
            NodeState::Present => {
                let (block, lane) = self.block(row);
                let (start, len) = node.images;
                let images = self.image_lists.slice(start, len as usize).iter();
                let scalars = self
                    .resources
                    .ids()
                    .map(|id| self.resources.allocatable(id, row));
                Some(SavedNode::Present {
                    name: node.name,
                    labels: node.labels,
                    taints: node.taints,
                    images: images
                        .map(|image| (*image, self.image_counts.count(*image, row as u32)))
                        .collect(),
                    images_version: node.images_version,
                    unschedulable: node.unschedulable,
                    features: node.features,
                    features_hash: node.features_hash,
                    main: [0, 1, 2].map(|at| {
                        block
                            .allocatable
                            .get(at)
                            .map_or(0, |column| *column.at(lane))
                    }),
                    pods: *block.pods_allocatable.at(lane),
                    scalars: scalars.collect(),
                })
            }
        }
    }

    pub(super) fn restore_node(
        &mut self,
        row: usize,
        saved: Option<&SavedNode>,
    ) -> Result<(), StateError> {
        let part = "nodes";
        if row >= self.capacities.nodes as usize {
            let limit = u64::from(self.capacities.nodes);
            return Err(CapacityExceeded {
                which: "nodes",
                limit,
            }
            .into());
        }
        self.nodes.push(*<NodeRow as Vacant>::VACANT);
        let (SavedNode::Present { name, .. } | SavedNode::Departed { name }) = *match saved {
            Some(saved) => saved,
            None => return Ok(()),
        };
        let text = word_text(name).filter(|text| self.texts.contains(*text));
        let Some(text) = text else {
            return check(false, part, row, "its name is no text");
        };
        let own = String::from(self.texts.text(text));
        let new = !own.is_empty() && self.find_row(&own).is_none();
        check(new, part, row, "a node of this name is there already")?;
        self.texts.retain(text);
        if let Some(node) = self.nodes.at_mut(row) {
            node.name = name;
        }
        let (nodes, texts) = (&self.nodes, &self.texts);
        self.node_index
            .insert_unique(hash_bytes(own.as_bytes()), row as u32, |row| {
                let name = word_text(nodes.at(*row).name);
                hash_bytes(name.map_or(&[], |name| texts.text(name).as_bytes()))
            });
        let Some(SavedNode::Present {
            labels,
            taints,
            images,
            images_version,
            unschedulable,
            features,
            features_hash,
            main,
            pods,
            scalars,
            ..
        }) = saved
        else {
            self.set_state(row, NodeState::Departed);
            return Ok(());
        };
        let records = &mut self.node_records;
        let there = records.contains(*labels) && is_sorted(records.words(*labels));
        check(there, part, row, "its labels are no record of labels")?;
        let there = records.contains(*taints) && records.words(*taints).len().is_multiple_of(3);
        check(there, part, row, "its taints are no record of taints")?;
        records.retain(*labels);
        records.retain(*taints);
        let mut list = Vec::new();
        for (image, count) in images {
            let there = self.images.contains(*image) && *count > 0;
            check(
                there,
                part,
                row,
                "one of its images is none, or counted on no node",
            )?;
            self.images.retain(*image);
            list.push(*image);
            if self.image_counts.count(*image, row as u32) == 0 {
                self.image_counts.check_room(1)?;
                self.image_counts.set(*image, row as u32, *count);
                if let Some(nodes) = self.image_nodes.at_mut(*image) {
                    nodes.count_up();
                }
            }
        }
        let full = CapacityExceeded {
            which: "image_words",
            limit: self.capacities.image_words,
        };
        let start = self.image_lists.insert(&list).ok_or(full)?;
        let all = scalars.len() <= self.resources.ids().count();
        check(all, part, row, "it has more resources than there are")?;
        let amounts = main.iter().chain([pods]).chain(scalars);
        check(
            amounts.copied().all(|own| own >= 0),
            part,
            row,
            "an amount is below 0",
        )?;
        for (id, amount) in scalars.iter().enumerate() {
            self.resources
                .set_allocatable(ResourceId::from_index(id), row, *amount);
        }
        if let Some(node) = self.nodes.at_mut(row) {
            node.labels = *labels;
            node.taints = *taints;
            node.images = (start, list.len() as u32);
            node.images_version = *images_version;
            node.unschedulable = *unschedulable;
            node.features = *features;
            node.features_hash = *features_hash;
        }
        if let Some(block) = self.blocks.at_mut(row / 64) {
            for (column, amount) in block.allocatable.iter_mut().zip(main) {
                column.set(row % 64, *amount);
            }
            block.pods_allocatable.set(row % 64, *pods);
            block.refresh(row % 64);
        }
        self.set_state(row, NodeState::Present);
        self.node_count.count_up();
        Ok(())
    }

    pub(super) fn restore_order(&mut self, saved: &SavedOrder) -> Result<(), StateError> {
        let states: Vec<NodeState> = self.nodes.iter().map(|node| node.state).collect();
        saved.check(&states)?;
        for row in &saved.tree {
            let zone = self.zone_key(*row as usize);
            self.order.add(*row, zone);
        }
        self.order.restore(saved);
        Ok(())
    }
}
