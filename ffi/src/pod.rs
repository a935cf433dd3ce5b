//! Pods as structs, of classes that were created.

use crate::boundary::{self, State, berth_scheduler_t};
use crate::class::berth_class_id_t;
use crate::decision::check_room;
use crate::node::flag;
use crate::object::{BERTH_ID_NONE, berth_node_id_t, berth_pod_id_t, id_of, unknown};
use crate::pointer::{Buffer, Out, Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use crate::text::{self, berth_string_t};
use berth_core::Change;
use berth_core::id::PodId;
use berth_core::object::decode::Decoded;
use berth_core::object::{Object, Pod};
use std::ffi::c_char;

/// A pod of a class.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_pod_t {
    /// `sizeof(berth_pod_t)`.
    pub size: usize,
    /// Of `berth_class_create`.
    pub class_id: berth_class_id_t,
    /// Its priority.
    pub priority: i32,
    /// Its name, in the namespace of its class.
    pub name: berth_string_t,
    /// Its UID; may be empty. Another UID under the same name is another pod.
    pub uid: berth_string_t,
    /// Name of the node that it is on; empty: it waits for one, or keeps the one that it is assumed
    /// on.
    pub node_name: berth_string_t,
    /// 1 if no pod is to be evicted for it, else 0.
    pub never_preempts: u32,
}

impl Versioned for berth_pod_t {
    const NAME: &'static str = "pod";

    fn size(&self) -> usize {
        self.size
    }
}

/// The id of a pod that is there.
pub(crate) fn known(state: &State, pod: berth_pod_id_t) -> Result<PodId, Failure> {
    let id = PodId(pod);
    if state.intake.scheduler().has_pod(id) {
        Ok(id)
    } else {
        Err(unknown("pod", pod))
    }
}

/// Takes in a pod, or its change if a pod of its name is there, as `berth_apply_json` does without a
/// text.
///
/// @param pod        the caller's, with all that it points to
/// @param out_id     its id; may be NULL
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no such class
/// was created), BAD_UTF8, BAD_OBJECT, CAPACITY, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_pod_upsert(
    scheduler: *mut berth_scheduler_t,
    pod: *const berth_pod_t,
    out_id: *mut berth_pod_id_t,
) -> berth_result_t {
    let given = borrow!(Struct(pod));
    let mut out: Out<'_, u32> = borrow!(Out(out_id));
    boundary::enter(scheduler, |state| {
        out.check_optional("out_id")?;
        let given = given.required()?;
        let template = state.templates.pod(given.class_id);
        let mut pod = template.ok_or_else(|| unknown("class", given.class_id))?;
        pod.metadata.name = string!("pod.name", given.name);
        pod.metadata.uid = string!("pod.uid", given.uid);
        pod.spec.node_name = string!("pod.node_name", given.node_name);
        pod.spec.priority = Some(given.priority);
        if flag("pod.never_preempts", given.never_preempts)? {
            "Never".clone_into(&mut pod.spec.preemption_policy);
        }
        let applied = state.with_room(|intake| {
            let object = Object::Pod(Box::new(pod.clone()));
            Ok(intake.apply(None, Decoded::Object(Box::new(object)))?)
        })?;
        state.notes = applied.notes.join("\n");
        out.write(id_of(applied.id));
        Ok(())
    })
}

/// Takes a pod out, and frees its room.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no pod has the id), CAPACITY (of kept
/// events), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_pod_remove(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        let id = known(state, pod)?;
        let (namespace, name) = state.intake.scheduler().pod_name(id);
        let mut gone = Pod::default();
        namespace.clone_into(&mut gone.metadata.namespace);
        name.clone_into(&mut gone.metadata.name);
        let object = Object::Pod(Box::new(gone));
        state.with_room(|intake| Ok(intake.put(Change::Deleted, object.clone())?))?;
        Ok(())
    })
}

/// Takes back a pod's place: it waits again, and is in the queue. Of a pod that runs this is a
/// what-if, as its next update brings it back to its node.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no pod has the id), BAD_STATE (it has
/// no place), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_pod_forget(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        let id = known(state, pod)?;
        let scheduler = state.intake.scheduler_mut();
        if scheduler.waits(id) {
            let text = format_args!("pod {pod} has no place to forget");
            return Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_STATE, text));
        }
        scheduler.forget(id);
        Ok(())
    })
}

/// The pods there are, ascending: bound, assumed, waiting.
///
/// @param out_pods       the caller's; NULL with length 0 to ask for the number
/// @param out_count      pods there are, written also with BERTH_RESULT_SMALL_BUFFER
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_pod_list(
    scheduler: *mut berth_scheduler_t,
    out_pods: *mut berth_pod_id_t,
    pods_length: usize,
    out_count: *mut usize,
) -> berth_result_t {
    let mut pods: Buffer<'_, u32> = borrow!(Buffer(out_pods, pods_length));
    let mut out_count: Out<'_, usize> = borrow!(Out(out_count));
    boundary::enter(scheduler, |state| {
        let ids = state.intake.scheduler().pods();
        list(&mut pods, "out_pods", &mut out_count, ids.map(|id| id.0))
    })
}

/// Hands out ids, and how many there are.
pub(crate) fn list(
    buffer: &mut Buffer<'_, u32>,
    name: &str,
    out_count: &mut Out<'_, usize>,
    ids: impl Iterator<Item = u32>,
) -> Result<(), Failure> {
    buffer.check(name)?;
    out_count.check("out_count")?;
    let ids: Vec<u32> = ids.collect();
    out_count.write(ids.len());
    check_room(buffer, name, ids.len())?;
    buffer.write_all(ids.into_iter().enumerate());
    Ok(())
}

/// `NAMESPACE/NAME` of a pod.
///
/// @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
///                       for the length
/// @param out_length     bytes of the name
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
/// SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_pod_name(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    buffer: *mut c_char,
    buffer_length: usize,
    out_length: *mut usize,
) -> berth_result_t {
    let buffer: Buffer<'_, c_char> = borrow!(Buffer(buffer, buffer_length));
    let out_length = borrow!(Out(out_length));
    boundary::enter(scheduler, |state| {
        let (namespace, name) = state.intake.scheduler().pod_name(known(state, pod)?);
        text::write(&format!("{namespace}/{name}"), buffer, out_length)
    })
}

/// The node that a pod is on or assumed on.
///
/// @param out_node   BERTH_ID_NONE: it has none
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
/// BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_pod_node(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    out_node: *mut berth_node_id_t,
) -> berth_result_t {
    let mut out: Out<'_, u32> = borrow!(Out(out_node));
    boundary::enter(scheduler, |state| {
        out.check("out_node")?;
        let id = known(state, pod)?;
        let node = state.intake.scheduler().node_of(id);
        out.write(node.map_or(BERTH_ID_NONE, |node| node.0));
        Ok(())
    })
}

/// The class of a pod.
///
/// @param out_class  its id
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
/// BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_pod_class(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    out_class: *mut berth_class_id_t,
) -> berth_result_t {
    let mut out: Out<'_, u32> = borrow!(Out(out_class));
    boundary::enter(scheduler, |state| {
        out.check("out_class")?;
        let id = known(state, pod)?;
        let class = state.intake.scheduler().class_of(id);
        out.write(class.map_or(BERTH_ID_NONE, |class| class.0));
        Ok(())
    })
}
