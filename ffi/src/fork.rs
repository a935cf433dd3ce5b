//! What-if: changes and decisions that are taken back.

use crate::boundary::{self, State, berth_scheduler_t};
use crate::result::{Failure, berth_result_t};

fn no_fork() -> Failure {
    Failure::new(berth_result_t::BERTH_RESULT_BAD_STATE, "there is no fork")
}

/// Remembers the present state, to which `berth_rollback` returns. Forks nest, 64 deep. Each takes
/// as much memory as the scheduler, until it ends, and time in proportion to it.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, CAPACITY, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_fork(scheduler: *mut berth_scheduler_t) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        state.intake.fork()?;
        state.saved.push(state.templates.clone());
        state.callbacks.fork();
        Ok(())
    })
}

/// Takes back everything since the last fork, and ends it: ids, queue, time and the next random
/// number are what they were.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_STATE (there is no fork), BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_rollback(scheduler: *mut berth_scheduler_t) -> berth_result_t {
    boundary::enter(scheduler, |state: &mut State| {
        if !state.intake.rollback() {
            return Err(no_fork());
        }
        state.templates = state.saved.pop().unwrap_or_default();
        state.callbacks.rollback();
        Ok(())
    })
}

/// Keeps everything since the last fork, and ends it.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_STATE (there is no fork), BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_commit(scheduler: *mut berth_scheduler_t) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        if !state.intake.commit() {
            return Err(no_fork());
        }
        state.saved.pop();
        state.callbacks.commit();
        Ok(())
    })
}
