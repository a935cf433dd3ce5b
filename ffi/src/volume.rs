//! Volumes of placed pods: handed out to a caller that binds them, or bound as in a simulation.

use crate::boundary::{self, berth_scheduler_t};
use crate::object::berth_pod_id_t;
use crate::pod::known;
use crate::pointer::{Out, borrow};
use crate::result::{Failure, berth_result_t};
use crate::text;
use berth_core::VolumesBound;
use std::ffi::c_char;

/// All claims are bound, or none had to be.
pub const BERTH_VOLUMES_BOUND: i32 = 1;
/// Some are not yet: ask again when objects have changed, or a second has passed.
pub const BERTH_VOLUMES_PENDING: i32 = 2;
/// They will not be: `berth_bound` with BERTH_BIND_FAILED follows.
pub const BERTH_VOLUMES_FAILED: i32 = 3;
/// The profile's `bindTimeoutSeconds` are over: as BERTH_VOLUMES_FAILED.
pub const BERTH_VOLUMES_TIMED_OUT: i32 = 4;

/// The claims that have to be bound before a pod that was placed can be, as JSON:
/// `[{"claim":"NAMESPACE/NAME","volume":"NAME"},{"claim":"NAMESPACE/NAME","provisioned":true}]`, in the
/// order of the calls to the API server. For the first kind the caller sets the volume's
/// `spec.claimRef` to the claim; for the second the claim's annotation
/// `volume.kubernetes.io/selected-node` to the pod's node, and the volume's name is there once the claim
/// is bound. Then it tells the changes that it hears of, until `berth_volumes_bound` says that all are
/// bound. In a simulation `berth_bind_volumes` does all that.
///
/// @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
///                       for the length
/// @param out_length     bytes of the text, written also with BERTH_RESULT_SMALL_BUFFER
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
/// SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_volumes_json(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    buffer: *mut c_char,
    buffer_length: usize,
    out_length: *mut usize,
) -> berth_result_t {
    let buffer = borrow!(Buffer(buffer, buffer_length));
    let out_length = borrow!(Out(out_length));
    boundary::enter(scheduler, |state| {
        let id = known(state, pod)?;
        let volumes: Vec<_> = state.intake.scheduler().volumes_of(id).collect();
        let json = serde_json::to_string(&volumes)
            .map_err(|error| Failure::new(berth_result_t::BERTH_RESULT_PANIC, error))?;
        text::write(&json, buffer, out_length)
    })
}

/// How far the claims of a placed pod are, by the objects that were told.
///
/// @param now_ns         nanoseconds since 1970, for the timeout
/// @param out_progress   one of BERTH_VOLUMES_
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
/// BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_volumes_bound(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    now_ns: u64,
    out_progress: *mut i32,
) -> berth_result_t {
    let mut out: Out<'_, i32> = borrow!(Out(out_progress));
    boundary::enter(scheduler, |state| {
        out.check("out_progress")?;
        let id = known(state, pod)?;
        out.write(match state.intake.scheduler().volumes_bound(id, now_ns) {
            VolumesBound::Yes => BERTH_VOLUMES_BOUND,
            VolumesBound::NotYet => BERTH_VOLUMES_PENDING,
            VolumesBound::Failed => BERTH_VOLUMES_FAILED,
            VolumesBound::TimedOut => BERTH_VOLUMES_TIMED_OUT,
        });
        Ok(())
    })
}

/// For a simulation: binds the claims of a placed pod at once, as scheduler, volume controllers and
/// provisioners do together. `berth_bound` follows.
///
/// A provisioned volume is called `dyn-NAMESPACE-CLAIM`; it is of the claim's class, size and access
/// modes, and in the zone of the pod's node by label and required node affinity if that has the label
/// `topology.kubernetes.io/zone`.
///
/// @param out_count      claims that are bound now for the pod; may be NULL
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
/// CAPACITY (what was bound stays bound), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_bind_volumes(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    out_count: *mut u32,
) -> berth_result_t {
    let mut out: Out<'_, u32> = borrow!(Out(out_count));
    boundary::enter(scheduler, |state| {
        out.check_optional("out_count")?;
        let id = known(state, pod)?;
        let bound = state.with_room(|intake| Ok(intake.bind_volumes(id)?))?;
        out.write(bound.len() as u32);
        Ok(())
    })
}

/// For a simulation: binds the claims that no pod has to wait for, as the volume controllers do. They
/// are those without a `status.phase`, which no API server has seen yet: of classes that bind at once,
/// those that name a volume, and those that a volume is kept for. Each gets the smallest volume that
/// fits, or one is provisioned. `berth_load_json` does it by itself; this is for what came by
/// `berth_apply_json`.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, CAPACITY (what was bound stays bound), BAD_HANDLE,
/// BUSY, PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_bind_claims(scheduler: *mut berth_scheduler_t) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        state.with_room(|intake| Ok(intake.bind_claims()?))
    })
}
