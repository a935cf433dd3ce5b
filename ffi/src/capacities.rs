//! How much fits, and what it takes.

use crate::boundary;
use crate::pointer::{Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use berth_core::intake::Size;
use berth_core::{Capacities, CapacityExceeded};

/// Limits of a scheduler's tables, which do not grow: what does not fit is refused with
/// BERTH_RESULT_CAPACITY, which names the field. A field that is 0 is what is usual for so many
/// nodes and pods; `berth_capacities_default` shows it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_capacities_t {
    /// `sizeof(berth_capacities_t)`.
    pub size: usize,
    /// Nodes at a time; 0: 512.
    pub nodes: u32,
    /// Pods at a time, pending ones included; 0: 16,384.
    pub pods: u32,
    /// Different pod specs at a time.
    pub classes: u32,
    /// Classes whose verdict on every node is kept between pods.
    pub live_classes: u32,
    /// Words of the compiled form of classes.
    pub class_words: u64,
    /// Words of the live classes' lists of terms.
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
    /// Non-zero counts of pods by term and domain or node.
    pub term_counts: u32,
    /// Words of terms.
    pub term_words: u64,
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
    /// Events kept for pods that are being decided on.
    pub in_flight_events: u32,
    /// Words of the nodes in them.
    pub event_words: u32,
}

impl Versioned for berth_capacities_t {
    const NAME: &'static str = "capacities";

    fn size(&self) -> usize {
        self.size
    }
}

/// What an intake is made with.
pub enum Room {
    /// Nodes and pods are given; a first load may take more of the rest.
    Size(Size),
    /// All is given.
    Whole(Capacities),
}

macro_rules! fields {
    ($with:ident) => {
        $with!(
            classes,
            live_classes,
            class_words,
            live_words,
            texts,
            text_bytes,
            node_words,
            record_words,
            resources,
            topology_keys,
            domains,
            terms,
            term_counts,
            term_words,
            links,
            images,
            image_words,
            image_counts,
            ports,
            port_counts,
            objects,
            object_words,
            in_flight_events,
            event_words
        )
    };
}

impl berth_capacities_t {
    /// Nodes and pods, with the usual numbers for those that are 0.
    const fn counts(&self) -> Size {
        Size {
            nodes: if self.nodes == 0 { 512 } else { self.nodes },
            pods: if self.pods == 0 { 16_384 } else { self.pods },
        }
    }

    /// The core's capacities.
    fn whole(&self) -> Capacities {
        let Size { nodes, pods } = self.counts();
        let mut whole = Capacities::for_size(nodes, pods);
        macro_rules! take {
            ($($field:ident),+) => {
                $(if self.$field != 0 { whole.$field = self.$field; })+
            };
        }
        fields!(take);
        whole
    }

    /// What an intake is made with.
    pub fn room(&self) -> Room {
        macro_rules! is_usual {
            ($($field:ident),+) => { true $(&& self.$field == 0)+ };
        }
        if fields!(is_usual) {
            Room::Size(self.counts())
        } else {
            Room::Whole(self.whole())
        }
    }

    fn of(size: usize, whole: Capacities) -> Self {
        macro_rules! show {
            ($($field:ident),+) => {
                Self { size, nodes: whole.nodes, pods: whole.pods, $($field: whole.$field),+ }
            };
        }
        fields!(show)
    }
}

impl From<CapacityExceeded> for Failure {
    fn from(full: CapacityExceeded) -> Self {
        Self::new(berth_result_t::BERTH_RESULT_CAPACITY, full)
    }
}

/// Fills in the fields that are 0: nodes and pods as a scheduler has them that is told nothing, the
/// rest as is usual for so many nodes and pods.
///
/// @param out_capacities the caller's, with its size set
///
/// From any thread. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_capacities_default(
    out_capacities: *mut berth_capacities_t,
) -> berth_result_t {
    let mut out = borrow!(Struct(out_capacities));
    boundary::alone(|| {
        let given = out.required()?;
        out.write(|size| berth_capacities_t::of(size, given.whole()))
    })
}

/// Bytes that a scheduler of these capacities takes, all of it when it is made, its configuration
/// aside; each fork takes as much again until it ends.
///
/// @param capacities the caller's; NULL for the default
/// @param out_bytes  the bytes
///
/// From any thread. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, CAPACITY (more than a scheduler
/// may take), PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_memory_needed(
    capacities: *const berth_capacities_t,
    out_bytes: *mut u64,
) -> berth_result_t {
    let capacities = borrow!(Struct(capacities));
    let mut out = borrow!(Out(out_bytes));
    boundary::alone(|| {
        out.check("out_bytes")?;
        let given = capacities.read()?;
        let whole = given.map_or_else(Capacities::default, |given| given.whole());
        whole.check()?;
        out.write(whole.bytes());
        Ok(())
    })
}
