//! Cluster state: node columns in blocks, pods' rows, counts per term and domain.
//!
//! Stage before: decoded objects, whose strings end here. Stage after: the plugins, which read ids
//! and columns. Everything is allocated in [`Cluster::new`]; a change either fits and is made whole
//! or is refused and changes nothing.

mod chains;
mod classes;
pub(crate) mod columns;
pub(crate) mod count;
pub(crate) mod hash;
pub(crate) mod journal;
pub(crate) mod link;
pub(crate) mod live;
mod nodes;
pub(crate) mod object_table;
mod objects;
pub(crate) mod order;
pub(crate) mod owner;
mod pods;
mod profiles;
mod resource;
#[cfg(feature = "state-file")]
pub(crate) mod saved;
pub(crate) mod term;
mod terms;
pub(crate) mod topology;
mod volumes;

pub(crate) use nodes::{NodeRow, NodeState};
pub(crate) use pods::{PodRow, PodState};
pub(crate) use profiles::{Known, ProfileFacts};
pub(crate) use resource::Resources;

use crate::arena::Arena;
use crate::capacity::Capacities;
use crate::class::{Classes, Compiler};
use crate::fixed_vec::FixedVec;
use crate::id::ClassId;
use crate::intern::{Records, Texts, Writer, reserved_index};
use crate::kernel::NodeBlock;
use crate::table::{Table, Vacant};
use crate::volume::Volumes;
use alloc::vec::Vec;
use count::Counts;
use hashbrown::HashTable;
use journal::Journal;
use link::Links;
use live::Live;
use order::Order;
use owner::Objects;
use term::Terms;
use topology::Topology;

/// "No row", "no text" and the like.
pub(crate) const NONE: u32 = u32::MAX;

/// Records of profiles at most: three a profile.
pub(crate) const PROFILE_RECORDS: u32 = 3 * 64;
/// Words of them at most.
pub(crate) const PROFILE_WORDS: u64 = 1 << 16;

/// What chains a class has.
#[derive(Clone, Copy)]
pub(crate) struct ClassLinks {
    /// Terms whose counts a pod of the class raises: matched ones, then carried ones.
    pub(crate) raises: u32,
    /// Host port triples.
    pub(crate) ports: u32,
    /// First pod of the class that is on a node.
    pub(crate) first_pod: u32,
}

impl ClassLinks {
    const EMPTY: Self = Self {
        raises: link::EMPTY,
        ports: link::EMPTY,
        first_pod: NONE,
    };
}

impl Vacant for ClassLinks {
    const VACANT: &'static Self = &Self::EMPTY;
}

impl Vacant for NodeBlock {
    const VACANT: &'static Self = &Self::EMPTY;
}

#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) capacities: Capacities,
    pub(crate) texts: Texts,
    pub(crate) writer: Writer,
    compiler: Compiler,
    pub(crate) known: Known,
    pub(crate) profiles: Vec<ProfileFacts>,
    profile_records: Records,

    pub(crate) blocks: FixedVec<NodeBlock>,
    pub(crate) nodes: FixedVec<NodeRow>,
    node_index: HashTable<u32>,
    vacant_nodes: FixedVec<u32>,
    pub(crate) node_count: u32,
    /// Label sets and taint lists of nodes.
    pub(crate) node_records: Records,
    pub(crate) resources: Resources,
    pub(crate) order: Order,
    pub(crate) topology: Topology,

    /// Image names; the id is the record's.
    pub(crate) images: Records,
    pub(crate) image_sizes: Vec<i64>,
    /// Nodes that hold the image.
    image_nodes: Vec<u32>,
    image_lists: Arena<u32>,
    /// By image and row: how many nodes held the image when the row was last copied.
    pub(crate) image_counts: Counts,
    images_version: u64,
    /// Rows to copy before the next cycle.
    dirty: FixedVec<u32>,

    pub(crate) classes: Classes,
    pub(crate) class_links: FixedVec<ClassLinks>,
    links: Links,
    pub(crate) terms: Terms,
    /// Host port triples; the id is the record's.
    pub(crate) ports: Records,
    pub(crate) port_counts: Counts,

    pub(crate) pods: FixedVec<PodRow>,
    pod_index: HashTable<u32>,
    vacant_pods: FixedVec<u32>,
    pub(crate) pod_count: u32,
    /// Pods that name a node which is not there.
    orphans: u32,

    pub(crate) objects: Objects,
    pub(crate) volumes: Volumes,
    pub(crate) live: Live,
    /// Rows whose room changed.
    pub(crate) journal: Journal,
}

impl Cluster {
    pub(crate) fn new(capacities: Capacities) -> Self {
        let c = &capacities;
        let blocks = c.nodes.div_ceil(64);
        let rows = blocks.saturating_mul(64);
        let mut block_table = FixedVec::with_capacity(blocks as usize);
        block_table.resize(blocks as usize, NodeBlock::EMPTY);
        let vacant_links = ClassLinks::EMPTY;
        let mut class_links = FixedVec::with_capacity(c.classes as usize);
        class_links.resize(c.classes as usize, vacant_links);
        Self {
            texts: Texts::new(c.texts, c.text_bytes),
            writer: Writer::new(c.record_words),
            compiler: Compiler::new(c.resources),
            known: Known::default(),
            profiles: Vec::new(),
            profile_records: Records::new(
                ["profiles", "profile_words"],
                PROFILE_RECORDS,
                PROFILE_WORDS,
            ),
            blocks: block_table,
            nodes: FixedVec::with_capacity(c.nodes as usize),
            node_index: reserved_index(c.nodes),
            vacant_nodes: FixedVec::with_capacity(c.nodes as usize),
            node_count: 0,
            node_records: Records::new(
                ["node_records", "node_words"],
                c.nodes.saturating_mul(2).saturating_add(2),
                c.node_words,
            ),
            resources: Resources::new(c.resources, rows),
            order: Order::new(rows),
            topology: Topology::new(rows, c.topology_keys, c.domains),
            images: Records::new(["images", "images"], c.images, u64::from(c.images)),
            image_sizes: zeros(c.images),
            image_nodes: zeros(c.images),
            image_lists: Arena::new(c.image_words as usize),
            image_counts: Counts::new("image_counts", c.images, c.image_counts),
            images_version: 0,
            dirty: FixedVec::with_capacity(rows as usize),
            classes: Classes::new(c.classes, c.class_words),
            class_links,
            links: Links::new(c.links),
            terms: Terms::new(c, rows),
            ports: Records::new(["ports", "ports"], c.ports, u64::from(c.ports) * 4),
            port_counts: Counts::new("port_counts", c.ports, c.port_counts),
            pods: FixedVec::with_capacity(c.pods as usize),
            pod_index: reserved_index(c.pods),
            vacant_pods: FixedVec::with_capacity(c.pods as usize),
            pod_count: 0,
            orphans: 0,
            objects: Objects::new(c.objects, c.object_words),
            volumes: Volumes::new(c, rows),
            live: Live::new(c, rows),
            journal: Journal::new(c),
            capacities,
        }
    }

    /// Rows of the node table, in whole blocks.
    pub(crate) fn rows(&self) -> usize {
        self.blocks.len().saturating_mul(64)
    }

    /// The block of a row, and its lane there.
    #[inline]
    pub(crate) fn block(&self, row: usize) -> (&NodeBlock, usize) {
        (self.blocks.at(row / 64), row % 64)
    }

    pub(crate) fn class(&self, id: ClassId) -> crate::class::ClassView<'_> {
        self.classes.view(id)
    }
}

fn zeros<T: Clone + Default>(count: u32) -> Vec<T> {
    let mut table = Vec::new();
    table.resize(count as usize, T::default());
    table
}
