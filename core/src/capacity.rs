//! How much of everything fits, and the memory that this takes.
//!
//! Given once, at construction; afterwards nothing grows. What does not fit is refused by name.

mod limits;
mod measure;

use crate::arena::Arena;
use crate::batch::Batch;
use crate::class::{Class, Compiler};
use crate::cluster::columns::Columns;
use crate::cluster::count::Counts;
use crate::cluster::journal::Journal;
use crate::cluster::link::Links;
use crate::cluster::live::Live;
use crate::cluster::order::Order;
use crate::cluster::owner::Objects;
use crate::cluster::term::Terms;
use crate::cluster::topology::Topology;
use crate::cluster::{ClassLinks, NodeRow, PROFILE_RECORDS, PROFILE_WORDS, PodRow, Resources};
use crate::cycle::extender::Extended;
use crate::cycle::{Scratch, VolumeScratch};
use crate::intern::index_bytes;
use crate::kernel::NodeBlock;
use crate::preemption::Preemption;
use crate::queue::Queue;
use crate::volume::Volumes;
use core::fmt;

/// Limits of every table; `N` holds `N`.
///
/// [`Capacities::default`] suits a cluster of a few hundred nodes; [`Capacities::for_objects`]
/// measures an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacities {
    /// Nodes.
    pub nodes: u32,
    /// Pods, pending ones included.
    pub pods: u32,
    /// Different pod specs at a time.
    pub classes: u32,
    /// Words of their compiled form.
    pub class_words: u64,
    /// Classes whose verdict on every node is kept between pods; the coldest makes room.
    pub live_classes: u32,
    /// Words of their lists of terms.
    pub live_words: u32,
    /// Different texts: names, label keys and values, images.
    pub texts: u32,
    /// Bytes of them.
    pub text_bytes: u64,
    /// Words of node labels and taints.
    pub node_words: u64,
    /// Words of the largest single object.
    pub record_words: u32,
    /// Resources beside cpu, memory, ephemeral-storage and pods.
    pub resources: u32,
    /// Topology keys in use by constraints and terms.
    pub topology_keys: u32,
    /// Values of those keys on nodes, keys counted apart.
    pub domains: u32,
    /// Selectors that are counted: spread constraints and affinity terms.
    pub terms: u32,
    /// Words of them.
    pub term_words: u64,
    /// Non-zero counts of pods by term and domain or node.
    pub term_counts: u32,
    /// Pairs of class and term, and of class and host port.
    pub links: u32,
    /// Image names on nodes.
    pub images: u32,
    /// Image names on nodes, as often as they are listed.
    pub image_words: u64,
    /// Pairs of image name and node.
    pub image_counts: u32,
    /// Different host ports, by protocol and address.
    pub ports: u32,
    /// Pairs of host port and node.
    pub port_counts: u32,
    /// Namespaces, Services, and owners of pods that default spreading reads.
    pub objects: u32,
    /// Words of their labels and selectors.
    pub object_words: u64,
    /// PersistentVolumes, claims, and the objects of storage. With 0 here and in the next four, pods
    /// with volumes are refused, and nothing is taken for them.
    pub volumes: u32,
    /// Words of them.
    pub volume_words: u64,
    /// Claims that placed pods wait for at a time.
    pub volume_bindings: u32,
    /// Different claims and disks that pods name.
    pub volume_uses: u32,
    /// Pairs of these and node.
    pub volume_use_counts: u32,
    /// Events kept for pods that are being decided on or wait at Permit.
    pub in_flight_events: u32,
    /// Words of the nodes in them.
    pub event_words: u32,
}

/// Bytes that the tables of one scheduler may take; what no machine has is refused before it is
/// asked for. 150,000 pods of as many kinds take a tenth of it.
pub const BYTES_MAX: u64 = 16 << 30;
/// Topology keys at most: each has a column over all nodes, and clusters use a handful.
pub const TOPOLOGY_KEYS_MAX: u32 = 256;

impl Default for Capacities {
    fn default() -> Self {
        Self::for_size(512, 16_384)
    }
}

impl Capacities {
    /// Room for usual objects in a cluster of this many nodes and pods.
    pub const fn for_size(nodes: u32, pods: u32) -> Self {
        let classes = if pods < 4096 {
            narrow(64, &[(pods, 1)])
        } else {
            narrow(4096, &[(pods / 64, 1)])
        };
        Self {
            nodes,
            pods,
            classes,
            class_words: wide(0, &[(classes, 512)]),
            live_classes: 64,
            live_words: 64 * 1024,
            texts: narrow(4096, &[(nodes, 8), (pods, 3)]),
            text_bytes: wide(1 << 20, &[(nodes, 512), (pods, 128)]),
            node_words: wide(4096, &[(nodes, 256)]),
            record_words: 1 << 18,
            resources: 32,
            topology_keys: 16,
            domains: narrow(1024, &[(nodes, 2)]),
            terms: narrow(1024, &[(classes, 1)]),
            term_words: wide(65_536, &[(classes, 128)]),
            term_counts: narrow(4096, &[(pods, 4)]),
            links: narrow(8192, &[(classes, 8)]),
            images: 4096,
            image_words: wide(1024, &[(nodes, 256)]),
            image_counts: narrow(1024, &[(nodes, 100)]),
            ports: 1024,
            port_counts: narrow(1024, &[(pods, 1)]),
            objects: narrow(2048, &[(pods / 4, 1)]),
            object_words: wide(65_536, &[(pods, 8)]),
            volumes: narrow(512, &[(nodes, 2), (pods / 8, 1)]),
            volume_words: wide(32_768, &[(nodes, 64), (pods, 8)]),
            volume_bindings: narrow(64, &[(pods / 16, 1)]),
            volume_uses: narrow(256, &[(pods / 8, 1)]),
            volume_use_counts: narrow(256, &[(pods / 8, 1)]),
            in_flight_events: 4096,
            event_words: 1 << 18,
        }
    }

    /// Refuses what no scheduler is made with.
    ///
    /// # Errors
    /// More than [`BYTES_MAX`] bytes or [`TOPOLOGY_KEYS_MAX`] topology keys.
    pub const fn check(&self) -> Result<(), CapacityExceeded> {
        if self.topology_keys > TOPOLOGY_KEYS_MAX {
            return Err(CapacityExceeded {
                which: "topology_keys",
                limit: TOPOLOGY_KEYS_MAX as u64,
            });
        }
        if self.bytes() > BYTES_MAX {
            return Err(CapacityExceeded {
                which: "bytes",
                limit: BYTES_MAX,
            });
        }
        Ok(())
    }

    /// Bytes that a scheduler of these capacities takes, configuration aside.
    pub const fn bytes(&self) -> u64 {
        let nodes = self.nodes as u64;
        let blocks = nodes.div_ceil(64);
        let rows = blocks.saturating_mul(64);
        let domains = (self.domains as u64).saturating_add(1);
        let keys = self.topology_keys as u64;
        let pods = self.pods as u64;
        let classes = self.classes as u64;
        let terms = self.terms as u64;
        let images = self.images as u64;
        let ports = self.ports as u64;
        sum(&[
            bytes_of::<NodeBlock>(blocks),
            bytes_of::<NodeRow>(nodes),
            bytes_of::<u32>(nodes),
            index_bytes(nodes),
            records_bytes(wide(2, &[(self.nodes, 2)]), self.node_words),
            records_bytes(self.texts as u64, self.text_bytes / 4),
            bytes_of::<u32>(self.record_words as u64),
            Compiler::bytes(self.resources as u64),
            records_bytes(PROFILE_RECORDS as u64, PROFILE_WORDS),
            Resources::bytes(self.resources as u64, rows),
            Order::bytes(rows),
            Topology::bytes(rows, self.topology_keys as u64, self.domains as u64),
            records_bytes(images, images),
            bytes_of::<[u32; 3]>(images),
            Arena::<u32>::bytes(self.image_words),
            Counts::bytes(images, self.image_counts as u64),
            bytes_of::<u32>(rows),
            records_bytes(classes, self.class_words),
            bytes_of::<Class>(classes),
            bytes_of::<ClassLinks>(classes),
            Links::bytes(self.links as u64),
            records_bytes(terms, self.term_words),
            bytes_of::<[u32; 3]>(terms),
            Columns::bytes(Terms::columns_of(self) as u64, rows),
            Counts::bytes(terms, self.term_counts as u64),
            records_bytes(ports, ports.saturating_mul(4)),
            Counts::bytes(ports, self.port_counts as u64),
            bytes_of::<PodRow>(pods),
            bytes_of::<u32>(pods),
            index_bytes(pods),
            Objects::bytes(self.objects as u64),
            records_bytes(self.objects as u64, self.object_words),
            Volumes::bytes(self, rows),
            Live::bytes(self, rows),
            Journal::bytes(self),
            // One for attempts, one for the dry runs of preemption.
            Scratch::bytes(rows, domains, keys),
            Scratch::bytes(rows, domains, keys),
            VolumeScratch::bytes(self, rows),
            VolumeScratch::bytes(self, rows),
            Queue::bytes(pods, self.in_flight_events as u64, self.event_words as u64),
            // Both ends of a node's change.
            bytes_of::<[u32; 2]>(self.side_words() as u64),
            Preemption::bytes(self, rows),
            Batch::bytes(rows),
            Extended::bytes(rows),
        ])
    }

    /// Words of one end of a node's change at most.
    pub(crate) const fn side_words(&self) -> u32 {
        let (record, all) = (
            (self.record_words as u64).saturating_mul(2),
            self.node_words,
        );
        let labels = if record < all { record } else { all };
        (labels as u32)
            .saturating_add(self.resources.saturating_mul(4))
            .saturating_add(32)
    }
}

/// Bytes of an interning table: entries of 12 and a vacancy list of 4 bytes each.
pub(crate) const fn records_bytes(limit: u64, words: u64) -> u64 {
    sum(&[
        bytes_of::<[u32; 4]>(limit),
        bytes_of::<u32>(words),
        index_bytes(limit),
    ])
}

/// Bytes of a table of `count` entries.
pub(crate) const fn bytes_of<T>(count: u64) -> u64 {
    count.saturating_mul(size_of::<T>() as u64)
}

pub(crate) const fn sum(mut parts: &[u64]) -> u64 {
    let mut total = 0_u64;
    while let [first, rest @ ..] = parts {
        total = total.saturating_add(*first);
        parts = rest;
    }
    total
}

/// `base`, and so many for each of the counts.
const fn wide(base: u64, mut counts: &[(u32, u32)]) -> u64 {
    let mut total = base;
    while let [(count, each), rest @ ..] = counts {
        total = total.saturating_add((*count as u64).saturating_mul(*each as u64));
        counts = rest;
    }
    total
}

/// The same where the limit is of 32 bits.
const fn narrow(base: u64, counts: &[(u32, u32)]) -> u32 {
    let total = wide(base, counts);
    if total > u32::MAX as u64 {
        u32::MAX
    } else {
        total as u32
    }
}

/// A table that is full. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityExceeded {
    /// Field of [`Capacities`].
    pub which: &'static str,
    /// What fits.
    pub limit: u64,
}

impl fmt::Display for CapacityExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "capacity `{}` of {} is used up", self.which, self.limit)
    }
}

impl core::error::Error for CapacityExceeded {}
