//! Nodes as structs.

use crate::boundary::{self, berth_scheduler_t};
use crate::object::{berth_node_id_t, id_of, unknown};
use crate::pod::list;
use crate::pointer::{Buffer, Out, Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use crate::scheduler::bad_value;
use crate::text::{self, berth_string_t};
use berth_core::Change;
use berth_core::Quantity;
use berth_core::id::NodeId;
use berth_core::object::decode::Decoded;
use berth_core::object::{ContainerImage, Labels, Node, Object, ResourceList, Taint};
use std::ffi::c_char;

/// Refuses pods that do not tolerate it.
pub const BERTH_EFFECT_NO_SCHEDULE: i32 = 1;
/// Costs the node score for pods that do not tolerate it.
pub const BERTH_EFFECT_PREFER_NO_SCHEDULE: i32 = 2;
/// Refuses pods that do not tolerate it, and evicts them.
pub const BERTH_EFFECT_NO_EXECUTE: i32 = 3;

/// A label, or a pair of a selector.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_label_t {
    /// Its key.
    pub key: berth_string_t,
    /// Its value; may be empty.
    pub value: berth_string_t,
}

/// An amount of a resource.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_amount_t {
    /// As Kubernetes names it: `cpu`, `memory`, `pods`, `nvidia.com/gpu`.
    pub resource: berth_string_t,
    /// Thousandths of a cpu; all else in whole units: bytes, devices, pods.
    pub amount: i64,
}

/// A taint of a node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_taint_t {
    /// Its key.
    pub key: berth_string_t,
    /// Its value; may be empty.
    pub value: berth_string_t,
    /// One of BERTH_EFFECT_.
    pub effect: i32,
}

/// An image that a node holds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_image_t {
    /// One of its names; an image of several names is listed with each.
    pub name: berth_string_t,
    /// Its size.
    pub bytes: i64,
}

/// A node, as far as scheduling reads it. All 0 but size and name is a node without room.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_node_t {
    /// `sizeof(berth_node_t)`.
    pub size: usize,
    /// Its name.
    pub name: berth_string_t,
    /// What it has for pods; may be NULL with length 0, as the other arrays.
    pub allocatable: *const berth_amount_t,
    /// Their number.
    pub allocatable_length: usize,
    /// Its labels. `kubernetes.io/hostname` is not added.
    pub labels: *const berth_label_t,
    /// Their number.
    pub labels_length: usize,
    /// Its taints.
    pub taints: *const berth_taint_t,
    /// Their number.
    pub taints_length: usize,
    /// Images that it holds.
    pub images: *const berth_image_t,
    /// Their number.
    pub images_length: usize,
    /// Features that it declares.
    pub declared_features: *const berth_string_t,
    /// Their number.
    pub declared_features_length: usize,
    /// 1 if it is cordoned, else 0.
    pub unschedulable: u32,
}

impl Versioned for berth_node_t {
    const NAME: &'static str = "node";

    fn size(&self) -> usize {
        self.size
    }
}

/// A number that is 0 or 1.
pub(crate) fn flag(name: &str, value: u32) -> Result<bool, Failure> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(bad_value(name, other)),
    }
}

/// An effect as Kubernetes spells it.
pub(crate) fn effect(name: &str, value: i32) -> Result<String, Failure> {
    let text = match value {
        BERTH_EFFECT_NO_SCHEDULE => "NoSchedule",
        BERTH_EFFECT_PREFER_NO_SCHEDULE => "PreferNoSchedule",
        BERTH_EFFECT_NO_EXECUTE => "NoExecute",
        other => return Err(bad_value(name, other)),
    };
    Ok(text.to_owned())
}

/// Pairs by key; a key that comes twice is an error.
///
/// # Safety
/// The array is NULL or readable for its length, and so are the strings in it.
pub(crate) unsafe fn labels(
    name: &str,
    start: *const berth_label_t,
    length: usize,
) -> Result<Labels, Failure> {
    let mut labels = Labels::new();
    for label in borrow!(Slice(start, length)).read(name)? {
        let (key, value) = (string!(name, label.key), string!(name, label.value));
        if labels.insert(key.clone(), value).is_some() {
            return Err(twice(name, &key));
        }
    }
    Ok(labels)
}

/// Amounts by resource; one that comes twice is an error.
///
/// # Safety
/// As [`labels`].
pub(crate) unsafe fn amounts(
    name: &str,
    start: *const berth_amount_t,
    length: usize,
) -> Result<ResourceList, Failure> {
    let mut amounts = ResourceList::new();
    for given in borrow!(Slice(start, length)).read(name)? {
        let resource = string!(name, given.resource);
        let amount = if resource == "cpu" {
            Quantity::from_nanos(i128::from(given.amount) * 1_000_000)
        } else {
            Quantity::from_integer(given.amount)
        };
        if amounts.insert(resource.clone(), amount).is_some() {
            return Err(twice(name, &resource));
        }
    }
    Ok(amounts)
}

fn twice(name: &str, key: &str) -> Failure {
    let text = format!("{name}: {key:?} stands there twice");
    Failure::new(berth_result_t::BERTH_RESULT_BAD_OBJECT, text)
}

/// # Safety
/// Arrays are NULL or readable for their lengths, and so are the strings in them.
unsafe fn node(given: &berth_node_t) -> Result<Node, Failure> {
    let mut node = Node::default();
    node.metadata.name = string!("node.name", given.name);
    // SAFETY: the caller's promise is the same.
    node.metadata.labels = unsafe { labels("node.labels", given.labels, given.labels_length) }?;
    let allocatable = (given.allocatable, given.allocatable_length);
    // SAFETY: as above.
    let allocatable = unsafe { amounts("node.allocatable", allocatable.0, allocatable.1) }?;
    node.status.allocatable = Some(allocatable);
    let taints = borrow!(Slice(given.taints, given.taints_length));
    for taint in taints.read("node.taints")? {
        node.spec.taints.push(Taint {
            key: string!("node.taints[].key", taint.key),
            value: string!("node.taints[].value", taint.value),
            effect: effect("node.taints[].effect", taint.effect)?,
        });
    }
    let images = borrow!(Slice(given.images, given.images_length));
    for image in images.read("node.images")? {
        node.status.images.push(ContainerImage {
            names: vec![string!("node.images[].name", image.name)],
            size_bytes: image.bytes,
        });
    }
    let features = (given.declared_features, given.declared_features_length);
    // SAFETY: as above.
    node.status.declared_features =
        unsafe { text::strings("node.declared_features", features.0, features.1) }?;
    node.spec.unschedulable = flag("node.unschedulable", given.unschedulable)?;
    Ok(node)
}

/// Takes in a node, or its change if a node of its name is there, as `berth_apply_json` does without
/// a text. Of the node that is there nothing stays that the struct does not say.
///
/// @param node       the caller's, with all that it points to
/// @param out_id     its id; may be NULL
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE, BAD_UTF8,
/// BAD_OBJECT, CAPACITY, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_node_upsert(
    scheduler: *mut berth_scheduler_t,
    node: *const berth_node_t,
    out_id: *mut berth_node_id_t,
) -> berth_result_t {
    let given = borrow!(Struct(node));
    let mut out: Out<'_, u32> = borrow!(Out(out_id));
    boundary::enter(scheduler, |state| {
        out.check_optional("out_id")?;
        // SAFETY: the caller of this exported function promises what the header says of the struct.
        let node = unsafe { self::node(&given.required()?) }?;
        let applied = state.with_room(|intake| {
            let object = Object::Node(Box::new(node.clone()));
            Ok(intake.apply(None, Decoded::Object(Box::new(object)))?)
        })?;
        state.notes = applied.notes.join("\n");
        out.write(id_of(applied.id));
        Ok(())
    })
}

/// Takes a node out. Its pods stay, without a node, as if their deletion followed.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no node has the id), CAPACITY (of
/// kept events), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_node_remove(
    scheduler: *mut berth_scheduler_t,
    node: berth_node_id_t,
) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        let scheduler = state.intake.scheduler();
        let id = NodeId(node);
        if !scheduler.has_node(id) {
            return Err(unknown("node", node));
        }
        let mut gone = Node::default();
        scheduler.node(id).name.clone_into(&mut gone.metadata.name);
        let object = Object::Node(Box::new(gone));
        state.with_room(|intake| Ok(intake.put(Change::Deleted, object.clone())?))?;
        Ok(())
    })
}

/// The nodes there are, ascending.
///
/// @param out_nodes      the caller's; NULL with length 0 to ask for the number
/// @param out_count      nodes there are, written also with BERTH_RESULT_SMALL_BUFFER
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_node_list(
    scheduler: *mut berth_scheduler_t,
    out_nodes: *mut berth_node_id_t,
    nodes_length: usize,
    out_count: *mut usize,
) -> berth_result_t {
    let mut nodes: Buffer<'_, u32> = borrow!(Buffer(out_nodes, nodes_length));
    let mut out_count: Out<'_, usize> = borrow!(Out(out_count));
    boundary::enter(scheduler, |state| {
        let ids = state.intake.scheduler().nodes();
        list(&mut nodes, "out_nodes", &mut out_count, ids.map(|id| id.0))
    })
}

/// The name of a node.
///
/// @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
///                       for the length
/// @param out_length     bytes of the name
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no node has the id),
/// SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_node_name(
    scheduler: *mut berth_scheduler_t,
    node: berth_node_id_t,
    buffer: *mut c_char,
    buffer_length: usize,
    out_length: *mut usize,
) -> berth_result_t {
    let buffer: Buffer<'_, c_char> = borrow!(Buffer(buffer, buffer_length));
    let out_length = borrow!(Out(out_length));
    boundary::enter(scheduler, |state| {
        let scheduler = state.intake.scheduler();
        let id = NodeId(node);
        if !scheduler.has_node(id) {
            return Err(unknown("node", node));
        }
        text::write(scheduler.node(id).name, buffer, out_length)
    })
}
