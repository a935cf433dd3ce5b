//! The loop over the queue: one turn or many, what became of bindings, and time.

use crate::boundary::{self, State, berth_scheduler_t};
use crate::decision::{berth_decision_t, check_room};
use crate::object::berth_pod_id_t;
use crate::pod::known;
use crate::pointer::{Buffer, Out, borrow};
use crate::result::{Failure, berth_result_t};
use crate::scheduler::bad_value;
use berth_core::{BindOutcome, Decision, QueuePart, VictimKind};
use std::mem::size_of;

/// The binding is written; the pod stays, and comes again with its node.
pub const BERTH_BIND_BOUND: i32 = 1;
/// A rule refused it, before or at the write; the pod is tried again.
pub const BERTH_BIND_REJECTED: i32 = 2;
/// It failed; the pod is tried again.
pub const BERTH_BIND_FAILED: i32 = 3;
/// Nobody knows, as when no answer came; the pod keeps its room until more is known.
pub const BERTH_BIND_UNKNOWN: i32 = 4;

/// The caller evicts it.
pub const BERTH_VICTIM_EVICT: i32 = 1;
/// It is being deleted already.
pub const BERTH_VICTIM_TERMINATING: i32 = 2;
/// It was not bound yet: its place was taken back, and it is in the queue again.
pub const BERTH_VICTIM_IN_MEMORY: i32 = 3;

/// A pod that goes for another one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_victim_t {
    /// The pod.
    pub pod: berth_pod_id_t,
    /// One of BERTH_VICTIM_.
    pub kind: i32,
}

/// The clock that nobody needs to wait for.
const NEVER: u64 = u64::MAX;

fn turn(state: &mut State, now_ns: u64) -> Option<Decision> {
    state.intake.scheduler_mut().advance(now_ns);
    state.make_room();
    let State {
        intake, callbacks, ..
    } = state;
    let decision = intake.scheduler_mut().schedule_one_with(now_ns, callbacks);
    callbacks.tell_forgotten(intake.scheduler());
    decision
}

/// One turn: timers that are due, then an attempt at the first pod of the queue. A pod that is placed
/// is assumed; the caller binds it and says `berth_bound`. One that is not is back in the queue; the
/// caller sets its nomination, if there is one, and evicts `berth_victims`.
///
/// @param now_ns         nanoseconds since 1970; a time before the last one is taken for the last
/// @param out_decision   the caller's, with its size set; BERTH_OUTCOME_NONE if no pod can be tried
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_schedule_one(
    scheduler: *mut berth_scheduler_t,
    now_ns: u64,
    out_decision: *mut berth_decision_t,
) -> berth_result_t {
    let mut out = borrow!(Struct(out_decision));
    boundary::enter(scheduler, |state| {
        out.check()?;
        let decision = turn(state, now_ns);
        out.write(|size| berth_decision_t::of(size, decision.as_ref(), state.intake.scheduler()))
    })
}

/// Turns until no pod can be tried, the array is full, or pods are to be evicted. Called again until
/// it fills less than the array, it empties the queue.
///
/// @param now_ns             as for `berth_schedule_one`
/// @param out_decisions      the caller's; one element a turn, with its size
/// @param decisions_length   elements of the array, at least 1
/// @param decision_size      `sizeof(berth_decision_t)`
/// @param out_count          turns made
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE (of an element),
/// SMALL_BUFFER (an array of length 0), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_schedule_all(
    scheduler: *mut berth_scheduler_t,
    now_ns: u64,
    out_decisions: *mut berth_decision_t,
    decisions_length: usize,
    decision_size: usize,
    out_count: *mut usize,
) -> berth_result_t {
    let mut decisions: Buffer<'_, berth_decision_t> =
        borrow!(Buffer(out_decisions, decisions_length));
    let mut out_count: Out<'_, usize> = borrow!(Out(out_count));
    boundary::enter(scheduler, |state| {
        decisions.check("out_decisions")?;
        out_count.check("out_count")?;
        if decision_size != size_of::<berth_decision_t>() {
            let expected = size_of::<berth_decision_t>();
            let text = format_args!("decision_size is {decision_size}, expected {expected}");
            return Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_SIZE, text));
        }
        if decisions.length() == 0 {
            let text = "out_decisions has no place";
            return Err(Failure::new(
                berth_result_t::BERTH_RESULT_SMALL_BUFFER,
                text,
            ));
        }
        let mut count = 0;
        while count < decisions.length() {
            let Some(decision) = turn(state, now_ns) else {
                break;
            };
            let scheduler = state.intake.scheduler();
            let told = berth_decision_t::of(decision_size, Some(&decision), scheduler);
            decisions.write(count, told);
            count += 1;
            if told.victims > 0 {
                break;
            }
        }
        out_count.write(count);
        Ok(())
    })
}

/// Says what became of the binding of a pod that `berth_schedule_one` or `berth_schedule_all` placed.
///
/// @param outcome    one of BERTH_BIND_
/// @param now_ns     as for `berth_schedule_one`
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE, BAD_STATE (the pod is not being
/// bound), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_bound(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    outcome: i32,
    now_ns: u64,
) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        let id = known(state, pod)?;
        let outcome = match outcome {
            BERTH_BIND_BOUND => BindOutcome::Bound,
            BERTH_BIND_REJECTED => BindOutcome::Rejected,
            BERTH_BIND_FAILED => BindOutcome::Failed,
            BERTH_BIND_UNKNOWN => BindOutcome::Unknown,
            other => return Err(bad_value("outcome", other)),
        };
        let scheduler = state.intake.scheduler_mut();
        if scheduler.queue_part(id) != Some(QueuePart::Binding) {
            let text = format_args!("pod {pod} is not being bound");
            return Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_STATE, text));
        }
        scheduler.bound(id, outcome, now_ns);
        if outcome == BindOutcome::Bound {
            state.callbacks.bound(id);
        }
        Ok(())
    })
}

/// Lets time pass: pods whose backoff is over can be tried again, and those that waited too long.
///
/// @param now_ns         as for `berth_schedule_one`
/// @param out_next_ns    when the next timer is due if nothing else happens, UINT64_MAX: none is;
///                       may be NULL
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_advance(
    scheduler: *mut berth_scheduler_t,
    now_ns: u64,
    out_next_ns: *mut u64,
) -> berth_result_t {
    let mut out: Out<'_, u64> = borrow!(Out(out_next_ns));
    boundary::enter(scheduler, |state| {
        out.check_optional("out_next_ns")?;
        let scheduler = state.intake.scheduler_mut();
        scheduler.advance(now_ns);
        out.write(scheduler.next_timer().unwrap_or(NEVER));
        Ok(())
    })
}

/// Pods that go for the one of the last turn, in the order in which they are to be evicted; the next
/// turn clears them. The pod waits until the last one is removed.
///
/// @param out_victims    the caller's; NULL with length 0 to ask for the number
/// @param out_count      victims there are, written also with BERTH_RESULT_SMALL_BUFFER
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_victims(
    scheduler: *mut berth_scheduler_t,
    out_victims: *mut berth_victim_t,
    victims_length: usize,
    out_count: *mut usize,
) -> berth_result_t {
    let mut victims: Buffer<'_, berth_victim_t> = borrow!(Buffer(out_victims, victims_length));
    let mut out_count: Out<'_, usize> = borrow!(Out(out_count));
    boundary::enter(scheduler, |state| {
        victims.check("out_victims")?;
        out_count.check("out_count")?;
        let there = state.intake.scheduler().victims();
        out_count.write(there.len());
        check_room(&victims, "out_victims", there.len())?;
        for (place, victim) in there.iter().enumerate() {
            let kind = match victim.kind {
                VictimKind::Evict => BERTH_VICTIM_EVICT,
                VictimKind::Terminating => BERTH_VICTIM_TERMINATING,
                VictimKind::InMemory => BERTH_VICTIM_IN_MEMORY,
            };
            let pod = victim.pod.0;
            victims.write(place, berth_victim_t { pod, kind });
        }
        Ok(())
    })
}

/// Says that the evictions for a pod did not all succeed: it waits for them no more.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no pod has the id), BAD_HANDLE, BUSY,
/// PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_preemption_failed(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        let id = known(state, pod)?;
        state.intake.scheduler_mut().preemption_failed(id);
        Ok(())
    })
}
