//! What the cluster is.

use crate::boundary::{self, berth_scheduler_t};
use crate::class::Templates;
use crate::decision::check_room;
use crate::pointer::{Buffer, Out, Slice, borrow};
use crate::result::{Failure, berth_result_t};

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

/// Bytes that `berth_state_save` would write now.
///
/// @param out_size   the bytes
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_state_size(
    scheduler: *mut berth_scheduler_t,
    out_size: *mut usize,
) -> berth_result_t {
    let mut out: Out<'_, usize> = borrow!(Out(out_size));
    boundary::enter(scheduler, |state| {
        out.check("out_size")?;
        out.write(state.intake.save_state().len());
        Ok(())
    })
}

/// Writes down objects, placements, queue, time and the next random number, for `berth_state_load` on
/// any machine. Configuration, options, capacities, plugins and forks are not part of it.
///
/// @param buffer         the caller's; NULL with length 0 to ask for the length
/// @param out_length     bytes of the state, written also with BERTH_RESULT_SMALL_BUFFER
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_state_save(
    scheduler: *mut berth_scheduler_t,
    buffer: *mut u8,
    buffer_length: usize,
    out_length: *mut usize,
) -> berth_result_t {
    let mut buffer: Buffer<'_, u8> = borrow!(Buffer(buffer, buffer_length));
    let mut out_length: Out<'_, usize> = borrow!(Out(out_length));
    boundary::enter(scheduler, |state| {
        buffer.check("buffer")?;
        out_length.check("out_length")?;
        let bytes = state.intake.save_state();
        out_length.write(bytes.len());
        check_room(&buffer, "buffer", bytes.len())?;
        buffer.write_all(bytes.into_iter().enumerate());
        Ok(())
    })
}

/// Takes a saved state in the place of everything that is there. With the configuration and options of
/// the scheduler that was saved, this one decides as it would have; ids are the same. Classes of
/// `berth_class_create` have to be created anew, plugins stay.
///
/// @param bytes      what `berth_state_save` wrote, the caller's
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_FILE, CAPACITY, BAD_STATE (in a
/// fork), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_state_load(
    scheduler: *mut berth_scheduler_t,
    bytes: *const u8,
    bytes_length: usize,
) -> berth_result_t {
    let bytes: Slice<'_, u8> = borrow!(Slice(bytes, bytes_length));
    boundary::enter(scheduler, |state| {
        let bytes = bytes.required("bytes")?;
        if state.intake.scheduler().forks() > 0 {
            let text = "a state is loaded before a fork or after its end";
            return Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_STATE, text));
        }
        state.intake.load_state(bytes)?;
        state.templates = Templates::default();
        Ok(())
    })
}
