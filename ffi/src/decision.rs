//! Answers: where a pod goes, where it could go, and why.

use crate::boundary::{self, State, berth_scheduler_t};
use crate::object::{BERTH_ID_NONE, berth_node_id_t, berth_pod_id_t};
use crate::pod::known;
use crate::pointer::{Buffer, Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use crate::text;
use berth_core::{Decision, Detail, Nomination, Outcome, Scheduler};
use std::ffi::c_char;

/// No pod can be tried now.
pub const BERTH_OUTCOME_NONE: i32 = 0;
/// The pod was placed, or would be.
pub const BERTH_OUTCOME_SCHEDULED: i32 = 1;
/// The pod fits nowhere now, or a plugin of the caller refused the chosen node.
pub const BERTH_OUTCOME_UNSCHEDULABLE: i32 = 2;
/// The pod has a scheduling gate.
pub const BERTH_OUTCOME_GATED: i32 = 3;
/// The pod uses a field that Berth does not implement yet; the record names it.
pub const BERTH_OUTCOME_UNSUPPORTED: i32 = 4;
/// The attempt failed; the record has the error.
pub const BERTH_OUTCOME_ERROR: i32 = 5;

/// What one attempt at a pod came to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_decision_t {
    /// `sizeof(berth_decision_t)`, set by the caller.
    pub size: usize,
    /// One of BERTH_OUTCOME_.
    pub outcome: i32,
    /// The pod, else BERTH_ID_NONE.
    pub pod: berth_pod_id_t,
    /// Where the pod was placed, else BERTH_ID_NONE.
    pub node: berth_node_id_t,
    /// The node that the pod is nominated to, as its victims make room there, else BERTH_ID_NONE.
    pub nominated_node: berth_node_id_t,
    /// Pods that are to go for it: see `berth_victims`.
    pub victims: u32,
    /// Which attempt at the pod it was; 0: not one of the queue's.
    pub attempt: u32,
    /// Nodes that passed every filter, of those that were looked at.
    pub feasible: u32,
    /// Nodes that were looked at.
    pub evaluated: u32,
}

impl berth_decision_t {
    /// What a decision is to C.
    pub fn of(size: usize, decision: Option<&Decision>, scheduler: &Scheduler) -> Self {
        let Some(decision) = decision else {
            return Self {
                size,
                outcome: BERTH_OUTCOME_NONE,
                pod: BERTH_ID_NONE,
                node: BERTH_ID_NONE,
                nominated_node: BERTH_ID_NONE,
                victims: 0,
                attempt: 0,
                feasible: 0,
                evaluated: 0,
            };
        };
        Self {
            size,
            outcome: outcome(decision),
            pod: decision.pod.0,
            node: match decision.outcome {
                Outcome::Scheduled(node) => node.0,
                _ => BERTH_ID_NONE,
            },
            nominated_node: match decision.nomination {
                Nomination::Node(node) => node.0,
                _ => BERTH_ID_NONE,
            },
            victims: scheduler.victims().len() as u32,
            attempt: decision.attempt,
            feasible: decision.feasible,
            evaluated: decision.evaluated,
        }
    }
}

impl Versioned for berth_decision_t {
    const NAME: &'static str = "out_decision";

    fn size(&self) -> usize {
        self.size
    }
}

/// What an evaluation came to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_counts_t {
    /// `sizeof(berth_counts_t)`, set by the caller.
    pub size: usize,
    /// One of BERTH_OUTCOME_.
    pub outcome: i32,
    /// One more than the largest id of a node: scores that are written, one of 64 of the words of
    /// bits.
    pub rows: u32,
    /// Nodes that passed every filter.
    pub feasible: u32,
    /// Nodes that were looked at; those outside were ruled out before, by the pod's node affinity.
    pub evaluated: u32,
    /// 1 if the feasible nodes have scores, 0 if not: one alone is not scored.
    pub scored: u32,
}

impl Versioned for berth_counts_t {
    const NAME: &'static str = "out_counts";

    fn size(&self) -> usize {
        self.size
    }
}

const fn outcome(decision: &Decision) -> i32 {
    match decision.outcome {
        Outcome::Scheduled(_) => BERTH_OUTCOME_SCHEDULED,
        Outcome::Unschedulable | Outcome::Refused(_) => BERTH_OUTCOME_UNSCHEDULABLE,
        Outcome::Gated => BERTH_OUTCOME_GATED,
        Outcome::Unsupported(_) => BERTH_OUTCOME_UNSUPPORTED,
        _ => BERTH_OUTCOME_ERROR,
    }
}

/// Judges a pod on every node, with nothing changed; a pod that has a node is judged as if it had
/// none.
///
/// @param out_bits       bit n % 64 of word n / 64 is whether node n is feasible; the caller's, may
///                       be NULL with length 0
/// @param out_scores     by node the sum of all plugins' normalised scores times weight, 0 for
///                       nodes that are not feasible; the caller's, may be NULL with length 0
/// @param out_counts     the caller's, with its size set; `rows` is written also with
///                       BERTH_RESULT_SMALL_BUFFER
///
/// Words of bits and scores beyond those of `rows` are left alone.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no pod has
/// the id), SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_evaluate(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    out_bits: *mut u64,
    bits_length: usize,
    out_scores: *mut i64,
    scores_length: usize,
    out_counts: *mut berth_counts_t,
) -> berth_result_t {
    let mut bits = borrow!(Buffer(out_bits, bits_length));
    let mut scores = borrow!(Buffer(out_scores, scores_length));
    let mut counts = borrow!(Struct(out_counts));
    boundary::enter(scheduler, |state| {
        bits.check("out_bits")?;
        scores.check("out_scores")?;
        counts.check()?;
        let id = known(state, pod)?;
        let (decision, ()) = state.attempt_with_room(|state| {
            let State {
                intake, callbacks, ..
            } = state;
            (intake.evaluate_with(id, callbacks), ())
        });
        let scheduler = state.intake.scheduler();
        let rows = scheduler.node_rows();
        counts.write(|size| berth_counts_t {
            size,
            outcome: outcome(&decision),
            rows: rows as u32,
            feasible: decision.feasible,
            evaluated: decision.evaluated,
            scored: u32::from(decision.is_scored()),
        })?;
        check_room(&bits, "out_bits", rows.div_ceil(64))?;
        check_room(&scores, "out_scores", rows)?;
        scores.write_all((0..rows).map(|row| (row, 0)));
        // The nodes come in the order of the search; the caller's buffer is only written to.
        let words = &mut state.words;
        words.clear();
        words.resize(rows.div_ceil(64), 0);
        scores.write_all(scheduler.feasible(&decision).map(|(node, total)| {
            words[node.index() / 64] |= 1 << (node.index() % 64);
            (node.index(), total)
        }));
        bits.write_all(words.iter().copied().enumerate());
        Ok(())
    })
}

/// Fails unless a buffer that is there has so many places.
pub(crate) fn check_room<T: Copy>(
    buffer: &Buffer<'_, T>,
    name: &str,
    needed: usize,
) -> Result<(), Failure> {
    if buffer.is_null() || buffer.length() >= needed {
        return Ok(());
    }
    let text = format_args!("{name} has {} places, {needed} are needed", buffer.length());
    Err(Failure::new(
        berth_result_t::BERTH_RESULT_SMALL_BUFFER,
        text,
    ))
}

/// One attempt at a pod that the caller picks: decides, and counts it on the chosen node from then
/// on. Nobody is evicted for it. A pod that has a node already keeps it, and the outcome is an error.
/// The loop over the queue is `berth_schedule_one`.
///
/// @param out_decision   the caller's, with its size set
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no pod has
/// the id), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_schedule_pod(
    scheduler: *mut berth_scheduler_t,
    pod: berth_pod_id_t,
    out_decision: *mut berth_decision_t,
) -> berth_result_t {
    let mut out = borrow!(Struct(out_decision));
    boundary::enter(scheduler, |state| {
        out.check()?;
        let id = known(state, pod)?;
        let (decision, ()) = state.attempt_with_room(|state| {
            let State {
                intake, callbacks, ..
            } = state;
            (intake.scheduler_mut().schedule_with(id, callbacks), ())
        });
        let scheduler = state.intake.scheduler();
        out.write(|size| berth_decision_t::of(size, Some(&decision), scheduler))
    })
}

/// The whole decision record of `berth_evaluate`, as JSON: the node that would be chosen, every
/// feasible node's scores by plugin, why each of the others is refused.
///
/// @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
///                       for the length, which the same question has until the cluster changes
/// @param out_length     bytes of the text, written also with BERTH_RESULT_SMALL_BUFFER
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
/// SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_explain_json(
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
        let (_, record) = state.attempt_with_room(|state| {
            let State {
                intake, callbacks, ..
            } = state;
            intake.explain_with(id, Detail::Full, callbacks)
        });
        let json = serde_json::to_string(&record)
            .map_err(|error| Failure::new(berth_result_t::BERTH_RESULT_PANIC, error))?;
        text::write(&json, buffer, out_length)
    })
}
