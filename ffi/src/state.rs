//! What the cluster is.

use crate::boundary::{self, berth_scheduler_t};
use crate::pointer::borrow;
use crate::result::berth_result_t;

/// Hash of all objects and placements: the same for the same content on every machine, whatever
/// the history that led to it. The queue and the time are not part of it.
///
/// @param out_hash   the hash
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_state_hash(
    scheduler: *mut berth_scheduler_t,
    out_hash: *mut u64,
) -> berth_result_t {
    let mut out = borrow!(Out(out_hash));
    boundary::enter(scheduler, |state| {
        out.check("out_hash")?;
        out.write(state.intake.scheduler().state_hash());
        Ok(())
    })
}
