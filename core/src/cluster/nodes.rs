//! Nodes: their rows, and what follows when one comes, changes or goes.

use super::{Cluster, NONE};
use crate::capacity::CapacityExceeded;
use crate::id::NodeId;
use crate::intern::{Word, hash_bytes, text_word, word_text};
use crate::kernel::{CPU, EPHEMERAL, MEMORY};
use crate::object::{Node, ResourceList};
use crate::planted::{self, Bug};
use crate::plugins::node_declared_features;
use crate::quantity::Quantity;
use crate::requests::{self, ResourceClass};
use crate::scheduler::ApplyError;
use crate::selector::{LabelsView, NodeFacts, write_labels};
use crate::table::{Count, Table, Vacant, occupy};
use crate::toleration::effect;

/// Whether a row holds a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeState {
    Vacant,
    Present,
    /// Deleted, but still in the list of the last cycle: a node of its name takes the row again.
    Departed,
}

/// What is known of a node beside the columns.
#[derive(Clone, Copy)]
pub(crate) struct NodeRow {
    pub(crate) state: NodeState,
    /// Word of the name.
    pub(crate) name: Word,
    pub(crate) labels: u32,
    pub(crate) taints: u32,
    /// Block of image ids: start and length.
    pub(super) images: (u32, u32),
    /// Version of image counts as of the last copy.
    pub(super) images_version: u64,
    pub(super) dirty: bool,
    pub(crate) unschedulable: bool,
    pub(crate) features: u32,
    /// Hash of the declared features in their order, known or not.
    pub(crate) features_hash: u32,
    /// First pod on the node.
    pub(crate) first_pod: u32,
}

impl NodeRow {
    const EMPTY: Self = Self {
        state: NodeState::Vacant,
        name: 0,
        labels: NONE,
        taints: NONE,
        images: (0, 0),
        images_version: 0,
        dirty: false,
        unschedulable: false,
        features: 0,
        features_hash: 0,
        first_pod: NONE,
    };
}

impl Vacant for NodeRow {
    const VACANT: &'static Self = &Self::EMPTY;
}

/// What was interned for a node that is being applied.
#[derive(Clone, Copy)]
struct Interned {
    labels: u32,
    taints: u32,
    images: (u32, u32),
}

impl Cluster {
    pub(crate) fn find_node(&self, name: &str) -> Option<NodeId> {
        let row = self.find_row(name)?;
        (self.nodes.at(row).state == NodeState::Present).then_some(NodeId(row))
    }

    /// Row of the node whose name this word refers to, if it is there.
    pub(crate) fn row_of_word(&self, name: Word) -> Option<u32> {
        let name = self.texts.text(word_text(name)?);
        self.find_node(name).map(|node| node.0)
    }

    /// Word of the name of the node on a row.
    pub(crate) fn name_of(&self, row: u32) -> Word {
        self.nodes.at(row).name
    }

    /// Labels of the node on a row.
    pub(crate) fn labels_of(&self, row: u32) -> LabelsView<'_> {
        LabelsView(self.node_records.words(self.nodes.at(row).labels))
    }

    pub(super) fn find_row(&self, name: &str) -> Option<u32> {
        let text = self.texts.find(name)?;
        self.node_index
            .find(hash_bytes(name.as_bytes()), |row| {
                self.nodes.at(*row).name == text_word(text)
            })
            .copied()
    }

    pub(crate) fn node_name(&self, row: usize) -> &str {
        word_text(self.nodes.at(row).name).map_or("", |name| self.texts.text(name))
    }

    /// Labels and name of a node, as selectors read them.
    pub(crate) fn facts(&self, row: usize) -> NodeFacts<'_> {
        let node = self.nodes.at(row);
        NodeFacts {
            name: node.name,
            labels: LabelsView(self.node_records.words(node.labels)),
        }
    }

    pub(crate) fn taint_words(&self, row: usize) -> &[Word] {
        self.node_records.words(self.nodes.at(row).taints)
    }

    pub(crate) fn add_node(&mut self, node: &Node) -> Result<NodeId, ApplyError> {
        let name = node.metadata.name.as_str();
        if name.is_empty() {
            return Err(ApplyError::NoName);
        }
        let known = self.find_row(name);
        if known.is_some_and(|row| self.nodes.at(row).state == NodeState::Present) {
            return Err(ApplyError::AlreadyExists);
        }
        if known.is_none() && self.node_count >= self.capacities.nodes {
            return Err(self.nodes_full());
        }
        if known.is_none()
            && self.vacant_nodes.is_empty()
            && self.nodes.len() >= self.capacities.nodes as usize
        {
            // Only rows of deleted nodes are left; they are free once the order is rebuilt.
            self.refresh_order();
        }
        let interned = self.intern_node(node)?;
        let row = match known {
            Some(row) => row,
            None => match self.new_row(name) {
                Ok(row) => row,
                Err(full) => {
                    self.release_interned(interned);
                    return Err(full);
                }
            },
        };
        if let Err(full) = self.check_orphans(name) {
            self.release_interned(interned);
            if known.is_none() {
                self.free_row(row);
            }
            return Err(full.into());
        }
        self.set_state(row as usize, NodeState::Present);
        self.node_count.count_up();
        self.set_node(row as usize, node, interned);
        let zone = self.zone_key(row as usize);
        self.order.add(row, zone);
        self.adopt_orphans(row);
        self.finish_row(row as usize);
        Ok(NodeId(row))
    }

    pub(crate) fn update_node(&mut self, node: &Node) -> Result<NodeId, ApplyError> {
        let Some(id) = self.find_node(&node.metadata.name) else {
            return Err(ApplyError::NotFound);
        };
        let interned = self.intern_node(node)?;
        let row = id.index();
        // Term counts move with the labels; with room for all pods' counts twice, nothing can fail.
        let moved = interned.labels != self.nodes.at(row).labels;
        if moved {
            let wanted = self.raises_of_row(row);
            if let Err(full) = self.terms.check_room(wanted) {
                self.release_interned(interned);
                return Err(full.into());
            }
            self.lower_row(row);
        }
        self.drop_node_facts(row);
        self.set_node(row, node, interned);
        if moved {
            self.raise_row(row);
        }
        let zone = self.zone_key(row);
        if zone != self.order.zone_of(row as u32) {
            self.order.relocate(row as u32, zone);
        }
        self.finish_row(row);
        Ok(id)
    }

    /// Pods stay known and keep naming the node.
    pub(crate) fn remove_node(&mut self, name: &str) -> Result<NodeId, ApplyError> {
        let Some(id) = self.find_node(name) else {
            return Err(ApplyError::NotFound);
        };
        let row = id.index();
        self.orphan_pods(row);
        self.drop_node_facts(row);
        self.topology.set_row(row, |_| None);
        self.order.remove(id.0);
        self.node_count.count_down();
        self.set_state(row, NodeState::Departed);
        if !self.order.is_listed(id.0) {
            self.free_row(id.0);
        }
        self.live.clear_row(row);
        Ok(id)
    }

    /// Before each cycle: the snapshot order, and the image counts of rows that changed.
    pub(crate) fn refresh_snapshot(&mut self) {
        if self.order.is_stale() {
            self.refresh_order();
        }
        while let Some(row) = self.dirty.pop() {
            if let Some(node) = self.nodes.at_mut(row) {
                node.dirty = false;
            }
            self.copy_image_counts(row);
        }
    }

    /// The same for a question: the next cycle will do it all again.
    pub(crate) fn preview_snapshot(&mut self) {
        if self.order.is_stale() {
            self.order.preview();
        }
        for at in 0..self.dirty.len() {
            let row = *self.dirty.at(at);
            self.copy_image_counts(row);
        }
    }

    fn copy_image_counts(&mut self, row: u32) {
        let Some(node) = self.nodes.at_mut(row) else {
            return;
        };
        if node.state != NodeState::Present || node.images_version == self.images_version {
            return;
        }
        node.images_version = self.images_version;
        let (start, len) = node.images;
        for image in self.image_lists.slice(start, len as usize) {
            let nodes = *self.image_nodes.at(*image);
            self.image_counts.set(*image, row, nodes);
        }
    }

    fn refresh_order(&mut self) {
        self.order.rebuild();
        for row in 0..self.nodes.len() as u32 {
            let departed = self.nodes.at(row).state == NodeState::Departed;
            if departed && !self.order.is_listed(row) {
                self.free_row(row);
            }
        }
    }

    pub(super) fn mark_dirty(&mut self, row: usize) {
        if let Some(node) = self.nodes.at_mut(row)
            && !node.dirty
            && node.images.1 > 0
        {
            node.dirty = true;
            self.dirty.push(row as u32);
        }
    }

    fn intern_node(&mut self, node: &Node) -> Result<Interned, ApplyError> {
        for name in allocatable(node).keys() {
            if requests::class(name).is_scalar() {
                self.resources.intern(name, &mut self.texts)?;
            }
        }
        let (writer, texts) = (&mut self.writer, &mut self.texts);
        let written = write_labels(writer, texts, &node.metadata.labels);
        let labels = finish(written, writer, texts, &mut self.node_records)?;
        let written = node.spec.taints.iter().try_for_each(|taint| {
            writer.text(texts, &taint.key)?;
            writer.text(texts, &taint.value)?;
            writer.number(effect::from_name(&taint.effect))
        });
        let taints = match finish(written, writer, texts, &mut self.node_records) {
            Ok(taints) => taints,
            Err(full) => {
                self.node_records.release(labels, texts);
                return Err(full.into());
            }
        };
        let room = self.topology.check_room(self.topology.keys().count());
        match room.and_then(|()| self.intern_images(node)) {
            Ok(images) => Ok(Interned {
                labels,
                taints,
                images,
            }),
            Err(full) => {
                self.node_records.release(labels, &mut self.texts);
                self.node_records.release(taints, &mut self.texts);
                Err(full.into())
            }
        }
    }

    /// A list of image ids, each with one more reference.
    fn intern_images(&mut self, node: &Node) -> Result<(u32, u32), CapacityExceeded> {
        let names = || node.status.images.iter().flat_map(|image| &image.names);
        self.image_counts.check_room(names().count())?;
        let mut result = Ok(());
        for name in names() {
            // The writer doubles as the list; ids are numbers.
            let id = self.intern_image(name);
            result = id.and_then(|id| {
                self.writer.number(id).inspect_err(|_| {
                    self.images.release(id, &mut self.texts);
                })
            });
            if result.is_err() {
                break;
            }
        }
        let start = result.and_then(|()| {
            let full = CapacityExceeded {
                which: "image_words",
                limit: self.capacities.image_words,
            };
            self.image_lists.insert(self.writer.words()).ok_or(full)
        });
        let len = self.writer.len() as u32;
        if start.is_err() {
            for id in self.writer.words() {
                self.images.release(*id, &mut self.texts);
            }
        }
        self.writer.clear(&mut self.texts);
        start.map(|start| (start, len))
    }

    fn intern_image(&mut self, name: &str) -> Result<u32, CapacityExceeded> {
        let text = self.texts.intern(name)?;
        let word = text_word(text);
        match self.images.intern(&[word]) {
            Ok((id, true)) => Ok(id),
            other => {
                self.texts.release(text);
                other.map(|(id, _)| id)
            }
        }
    }

    fn release_interned(&mut self, interned: Interned) {
        self.node_records.release(interned.labels, &mut self.texts);
        self.node_records.release(interned.taints, &mut self.texts);
        self.release_images(interned.images);
    }

    fn release_images(&mut self, (start, len): (u32, u32)) {
        for image in self.image_lists.slice(start, len as usize) {
            self.images.release(*image, &mut self.texts);
        }
        self.image_lists.remove(start, len as usize);
    }

    /// Writes what the object says into the row; all of it fits.
    fn set_node(&mut self, row: usize, node: &Node, interned: Interned) {
        if let Some(entry) = self.nodes.at_mut(row) {
            let features = &node.status.declared_features;
            entry.labels = interned.labels;
            entry.taints = interned.taints;
            entry.images = interned.images;
            entry.unschedulable = node.spec.unschedulable;
            entry.features = node_declared_features::declared(features);
            entry.features_hash = node_declared_features::hash(features);
        }
        let (mut main, mut pods) = ([0; 3], 0);
        for id in self.resources.ids() {
            self.resources.set_allocatable(id, row, 0);
        }
        for (name, amount) in allocatable(node) {
            let amount = |quantity: fn(Quantity) -> i64| quantity(*amount).max(0);
            match requests::class(name) {
                ResourceClass::Cpu => main[CPU] = amount(Quantity::milli_value),
                ResourceClass::Memory => main[MEMORY] = amount(Quantity::value),
                ResourceClass::EphemeralStorage => main[EPHEMERAL] = amount(Quantity::value),
                ResourceClass::Pods => pods = amount(Quantity::value),
                ResourceClass::Scalar { .. } => {
                    if let Some(id) = self.resources.find(name, &self.texts) {
                        self.resources
                            .set_allocatable(id, row, amount(Quantity::value));
                    }
                }
                ResourceClass::Ignored => {}
            }
        }
        if let Some(block) = self.blocks.at_mut(row / 64) {
            for (column, amount) in block.allocatable.iter_mut().zip(main) {
                column.set(row % 64, amount);
            }
            block.pods_allocatable.set(row % 64, pods);
        }
        let (start, len) = interned.images;
        let sizes = node
            .status
            .images
            .iter()
            .flat_map(|image| image.names.iter().map(|_| image.size_bytes));
        let images = self.image_lists.slice(start, len as usize);
        for (image, size) in images.iter().zip(sizes) {
            if self.image_counts.count(*image, row as u32) == 0
                && let Some(nodes) = self.image_nodes.at_mut(*image)
            {
                // The first node that reports an image decides its size.
                if *nodes == 0 {
                    self.image_sizes.set(*image, size);
                }
                nodes.count_up();
                self.image_counts.set(*image, row as u32, 1);
            }
        }
        if len > 0 {
            self.images_version.count_up();
        }
        let labels = LabelsView(self.node_records.words(interned.labels));
        self.topology.set_row(row, |label| labels.value(label));
    }

    /// Takes back what [`Self::set_node`] interned and counted.
    fn drop_node_facts(&mut self, row: usize) {
        let node = *self.nodes.at(row);
        let (start, len) = node.images;
        for image in self.image_lists.slice(start, len as usize) {
            if self.image_counts.count(*image, row as u32) > 0
                && let Some(nodes) = self.image_nodes.at_mut(*image)
            {
                nodes.count_down();
                self.image_counts.set(*image, row as u32, 0);
            }
        }
        if len > 0 {
            self.images_version.count_up();
        }
        self.release_images(node.images);
        self.node_records.release(node.labels, &mut self.texts);
        self.node_records.release(node.taints, &mut self.texts);
    }

    fn finish_row(&mut self, row: usize) {
        if let Some(block) = self.blocks.at_mut(row / 64) {
            block.refresh(row % 64);
        }
        self.journal.push(row as u32);
        self.mark_dirty(row);
        if !planted::is(Bug::VerdictKept) {
            self.refresh_live_row(row);
        }
    }

    fn new_row(&mut self, name: &str) -> Result<u32, ApplyError> {
        let text = self.texts.intern(name)?;
        if self.vacant_nodes.is_empty() && self.nodes.len() >= self.capacities.nodes as usize {
            self.texts.release(text);
            return Err(self.nodes_full());
        }
        // A row that held another node may still stand in the list of dirty ones.
        let vacant = self
            .vacant_nodes
            .last()
            .map(|row| self.nodes.at(*row).dirty);
        let new = NodeRow {
            name: text_word(text),
            dirty: vacant.unwrap_or(false),
            ..NodeRow::EMPTY
        };
        let row = occupy(&mut self.nodes, &mut self.vacant_nodes, new);
        let (nodes, texts) = (&self.nodes, &self.texts);
        self.node_index
            .insert_unique(hash_bytes(name.as_bytes()), row, |row| {
                let name = word_text(nodes.at(*row).name);
                hash_bytes(name.map_or(&[], |name| texts.text(name).as_bytes()))
            });
        Ok(row)
    }

    fn free_row(&mut self, row: u32) {
        let hash = hash_bytes(self.node_name(row as usize).as_bytes());
        if let Ok(found) = self.node_index.find_entry(hash, |other| *other == row) {
            found.remove();
        }
        let NodeRow { name, dirty, .. } = *self.nodes.at(row);
        if let Some(name) = word_text(name) {
            self.texts.release(name);
        }
        let free = NodeRow {
            dirty,
            ..NodeRow::EMPTY
        };
        self.nodes.set(row, free);
        self.vacant_nodes.push(row);
    }

    pub(super) fn set_state(&mut self, row: usize, state: NodeState) {
        if let Some(node) = self.nodes.at_mut(row) {
            node.state = state;
        }
        self.journal.push(row as u32);
        if let Some(block) = self.blocks.at_mut(row / 64) {
            let bit = 1 << (row % 64);
            block.present = if state == NodeState::Present {
                block.present | bit
            } else {
                block.present & !bit
            };
        }
    }

    /// Region and zone of a row, 0 for an absent or empty one; the beta labels come first.
    ///
    /// Mirrors `GetZoneKey` in `staging/src/k8s.io/component-helpers/node/topology/helpers.go`.
    pub(super) fn zone_key(&self, row: usize) -> [Word; 2] {
        let labels = self.facts(row).labels;
        ["region", "zone"].map(|part| {
            let label = |prefix: &str| {
                let key = match (prefix, part) {
                    ("beta", "region") => "failure-domain.beta.kubernetes.io/region",
                    ("beta", _) => "failure-domain.beta.kubernetes.io/zone",
                    (_, "region") => "topology.kubernetes.io/region",
                    (_, _) => "topology.kubernetes.io/zone",
                };
                labels.value(text_word(self.texts.find(key)?))
            };
            let value = label("beta").or_else(|| label("")).unwrap_or(0);
            match word_text(value) {
                Some(text) if !self.texts.text(text).is_empty() => value,
                _ => 0,
            }
        })
    }

    fn nodes_full(&self) -> ApplyError {
        CapacityExceeded {
            which: "nodes",
            limit: u64::from(self.capacities.nodes),
        }
        .into()
    }
}

/// `status.allocatable`; the API server fills it from `capacity` where it is absent.
fn allocatable(node: &Node) -> &ResourceList {
    node.status
        .allocatable
        .as_ref()
        .unwrap_or(&node.status.capacity)
}

/// Interns what was written, or gives it up.
pub(super) fn finish(
    written: Result<(), CapacityExceeded>,
    writer: &mut crate::intern::Writer,
    texts: &mut crate::intern::Texts,
    records: &mut crate::intern::Records,
) -> Result<u32, CapacityExceeded> {
    if let Err(full) = written {
        writer.clear(texts);
        return Err(full);
    }
    writer.finish(records, texts).map(|(id, _)| id)
}
