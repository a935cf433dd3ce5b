//! Objects in, and their ids.

use crate::boundary::{self, berth_scheduler_t};
use crate::pointer::{Out, Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use crate::scheduler::bad_value;
use crate::text;
use berth_core::Change;
use berth_core::intake::{Applied, Loaded, ObjectId};
use std::ffi::c_char;

/// A pod, until it is deleted; its id may then become another's.
pub type berth_pod_id_t = u32;

/// A node, until it is deleted; its id may then become another's. Bit and score arrays are indexed
/// by it.
pub type berth_node_id_t = u32;

/// The id of nothing.
pub const BERTH_ID_NONE: u32 = u32::MAX;

/// The object is new.
pub const BERTH_CHANGE_ADDED: i32 = 1;
/// The object that is there has changed to this.
pub const BERTH_CHANGE_MODIFIED: i32 = 2;
/// The object is gone.
pub const BERTH_CHANGE_DELETED: i32 = 3;

/// The id that C is told.
pub(crate) const fn id_of(id: Option<ObjectId>) -> u32 {
    match id {
        Some(ObjectId::Node(node)) => node.0,
        Some(ObjectId::Pod(pod)) => pod.0,
        None => BERTH_ID_NONE,
    }
}

/// An id that is that of nothing.
pub(crate) fn unknown(kind: &str, id: u32) -> Failure {
    let text = format_args!("no {kind} has the id {id}");
    Failure::new(berth_result_t::BERTH_RESULT_BAD_VALUE, text)
}

/// What a load came to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_loaded_t {
    /// `sizeof(berth_loaded_t)`, set by the caller.
    pub size: usize,
    /// Pods that wait for a node, those made of workloads included.
    pub pending: u32,
    /// Pending pods that were left out: another scheduler's, or being deleted.
    pub skipped: u32,
}

impl Versioned for berth_loaded_t {
    const NAME: &'static str = "out_loaded";

    fn size(&self) -> usize {
        self.size
    }
}

/// Takes in a whole `List`, a list of one kind or a single object: validates and defaults the
/// objects as an API server does, and makes the pods of workloads that have none in the text.
/// Kinds that scheduling does not read are left out, and counted in `berth_notes`.
///
/// All goes in, or nothing. A scheduler without a given size that nothing was put into yet gets
/// that of the load, a quarter more, and some.
///
/// @param json           the caller's
/// @param out_loaded     the caller's, with its size set; may be NULL
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_UTF8, BAD_OBJECT,
/// CAPACITY, ALREADY_EXISTS, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_load_json(
    scheduler: *mut berth_scheduler_t,
    json: *const c_char,
    json_length: usize,
    out_loaded: *mut berth_loaded_t,
) -> berth_result_t {
    let json = borrow!(Text(json, json_length));
    let is_wanted = !out_loaded.is_null();
    let mut out = borrow!(Struct(out_loaded));
    boundary::enter(scheduler, |state| {
        if is_wanted {
            out.check()?;
        }
        let json = json.required("json")?;
        let Loaded {
            pending,
            skipped,
            notes,
        } = state.with_room(|intake| Ok(intake.load(vec![text::document(json)?])?))?;
        state.notes = notes.join("\n");
        if is_wanted {
            out.write(|size| berth_loaded_t {
                size,
                pending: pending.len() as u32,
                skipped: u32::try_from(skipped).unwrap_or(u32::MAX),
            })?;
        }
        Ok(())
    })
}

/// Takes in what happened to one object, as a watch tells of it. It is validated and defaulted; of
/// a workload no pods are made. Kinds that scheduling does not read change nothing.
///
/// @param change     one of BERTH_CHANGE_
/// @param json       the object, the caller's; of a deleted one kind and metadata are enough
/// @param out_id     the id of a node or pod that is there now, else BERTH_ID_NONE; may be NULL
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE, BAD_UTF8, BAD_OBJECT,
/// CAPACITY, ALREADY_EXISTS (added), NOT_FOUND (modified, deleted; a pod that has finished counts
/// as deleted), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_apply_json(
    scheduler: *mut berth_scheduler_t,
    change: i32,
    json: *const c_char,
    json_length: usize,
    out_id: *mut u32,
) -> berth_result_t {
    let json = borrow!(Text(json, json_length));
    let mut out = borrow!(Out(out_id));
    boundary::enter(scheduler, |state| {
        out.check_optional("out_id")?;
        let change = match change {
            BERTH_CHANGE_ADDED => Change::Added,
            BERTH_CHANGE_MODIFIED => Change::Modified,
            BERTH_CHANGE_DELETED => Change::Deleted,
            other => return Err(bad_value("change", other)),
        };
        let json = json.required("json")?;
        let Applied { id, notes } =
            state.with_room(|intake| Ok(intake.apply(Some(change), text::document(json)?)?))?;
        state.notes = notes.join("\n");
        out.write(id_of(id));
        Ok(())
    })
}

/// What the last load or change had to say beside its result, one sentence a line: what was left
/// out, which default was taken for want of an object.
///
/// @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
///                       for the length
/// @param out_length     bytes of the text
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_notes(
    scheduler: *mut berth_scheduler_t,
    buffer: *mut c_char,
    buffer_length: usize,
    out_length: *mut usize,
) -> berth_result_t {
    let buffer = borrow!(Buffer(buffer, buffer_length));
    let out_length = borrow!(Out(out_length));
    boundary::enter(scheduler, |state| {
        text::write(&state.notes, buffer, out_length)
    })
}

/// Finds a pod.
///
/// @param name       `NAMESPACE/NAME`, or `NAME` in the namespace `default`; the caller's
/// @param out_id     its id
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_UTF8, NOT_FOUND, BAD_HANDLE,
/// BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_find_pod(
    scheduler: *mut berth_scheduler_t,
    name: *const c_char,
    name_length: usize,
    out_id: *mut berth_pod_id_t,
) -> berth_result_t {
    let name = borrow!(Text(name, name_length));
    let out = borrow!(Out(out_id));
    boundary::enter(scheduler, |state| {
        let name = name.required("name")?;
        let (namespace, short) = name.split_once('/').unwrap_or(("default", name));
        let pod = state.intake.scheduler().find_pod(namespace, short);
        found(pod.map(|pod| pod.0), "pod", name, out)
    })
}

/// Finds a node.
///
/// @param name       the caller's
/// @param out_id     its id
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_UTF8, NOT_FOUND, BAD_HANDLE,
/// BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_find_node(
    scheduler: *mut berth_scheduler_t,
    name: *const c_char,
    name_length: usize,
    out_id: *mut berth_node_id_t,
) -> berth_result_t {
    let name = borrow!(Text(name, name_length));
    let out = borrow!(Out(out_id));
    boundary::enter(scheduler, |state| {
        let name = name.required("name")?;
        let node = state.intake.scheduler().find_node(name);
        found(node.map(|node| node.0), "node", name, out)
    })
}

fn found(id: Option<u32>, kind: &str, name: &str, mut out: Out<'_, u32>) -> Result<(), Failure> {
    out.check("out_id")?;
    let Some(id) = id else {
        let text = format_args!("there is no {kind} {name:?}");
        return Err(Failure::new(berth_result_t::BERTH_RESULT_NOT_FOUND, text));
    };
    out.write(id);
    Ok(())
}
