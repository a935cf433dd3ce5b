//! A plugin that unwinds: the attempt fails, the handle and the process go on.

use berth::*;
use std::ffi::c_void;
use std::ptr;

use berth_result_t::BERTH_RESULT_OK as OK;

unsafe extern "C-unwind" fn panics(
    _: *mut c_void,
    _: berth_class_id_t,
    _: *const u64,
    _: *mut u64,
    _: usize,
) -> i32 {
    panic!("the plugin's own");
}

unsafe extern "C-unwind" fn score_panics(
    _: *mut c_void,
    _: berth_class_id_t,
    _: *const u64,
    _: usize,
    _: *mut i64,
    _: usize,
) -> i32 {
    panic!("the plugin's own");
}

unsafe extern "C-unwind" fn reserve_panics(_: *mut c_void, _: u32, _: u32) -> i32 {
    panic!("the plugin's own");
}

unsafe extern "C-unwind" fn unreserve_panics(_: *mut c_void, _: u32, _: u32) {
    panic!("the plugin's own");
}

/// Two, as one alone is not scored.
const NODES: &str = r#"{"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},
        "status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}},
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"},
        "status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}}]}"#;
const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},
    "spec":{"containers":[{"name":"c"}]}}"#;

/// All zeros, with its size.
fn sized<T>(set: impl FnOnce(&mut T, usize)) -> T {
    // SAFETY: all zeros is a value of every struct of the ABI.
    let mut value = unsafe { std::mem::zeroed() };
    set(&mut value, size_of::<T>());
    value
}

fn string(text: &'static str) -> berth_string_t {
    berth_string_t {
        text: text.as_ptr().cast(),
        length: text.len(),
    }
}

/// A scheduler with two nodes and a pod.
fn scheduler() -> (*mut berth_scheduler_t, berth_pod_id_t) {
    let (mut handle, mut pod) = (ptr::null_mut(), 0);
    // SAFETY: all pointers are of values that outlive the calls.
    unsafe {
        let made = berth_scheduler_create(ptr::null(), ptr::null(), 0, &raw mut handle);
        assert_eq!(made, OK);
        let start = NODES.as_ptr().cast();
        let loaded = berth_load_json(handle, start, NODES.len(), ptr::null_mut());
        assert_eq!(loaded, OK);
        let start = POD.as_ptr().cast();
        let id = &raw mut pod;
        let added = berth_apply_json(handle, BERTH_CHANGE_ADDED, start, POD.len(), id);
        assert_eq!(added, OK);
    }
    (handle, pod)
}

/// An attempt fails and changes nothing, and the handle works on.
fn attempt_fails(handle: *mut berth_scheduler_t, pod: berth_pod_id_t) {
    let mut decision = sized(|decision: &mut berth_decision_t, size| decision.size = size);
    let (mut before, mut after) = (0, 0);
    // SAFETY: as above.
    unsafe {
        assert_eq!(berth_state_hash(handle, &raw mut before), OK);
        for _ in 0..2 {
            assert_eq!(berth_schedule_pod(handle, pod, &raw mut decision), OK);
            assert_eq!(decision.outcome, BERTH_OUTCOME_ERROR);
        }
        assert_eq!(berth_schedule_one(handle, 1, &raw mut decision), OK);
        assert_eq!(decision.outcome, BERTH_OUTCOME_ERROR);
        assert_eq!(berth_state_hash(handle, &raw mut after), OK);
        assert_eq!(before, after);
        assert_eq!(berth_scheduler_destroy(handle), OK);
    }
}

#[test]
fn a_filter_that_unwinds_has_failed() {
    let (handle, pod) = scheduler();
    let filter = sized(|filter: &mut berth_filter_t, size| {
        filter.size = size;
        filter.name = string("Panics");
        filter.callback = Some(panics);
    });
    // SAFETY: as above.
    let registered = unsafe { berth_register_filter(handle, &raw const filter) };
    assert_eq!(registered, OK);
    attempt_fails(handle, pod);
}

#[test]
fn a_score_that_unwinds_has_failed() {
    let (handle, pod) = scheduler();
    let score = sized(|score: &mut berth_score_t, size| {
        score.size = size;
        score.name = string("Panics");
        score.weight = 1;
        score.callback = Some(score_panics);
    });
    // SAFETY: as above.
    let registered = unsafe { berth_register_score(handle, &raw const score) };
    assert_eq!(registered, OK);
    attempt_fails(handle, pod);
}

#[test]
fn a_reserve_that_unwinds_has_failed() {
    let (handle, pod) = scheduler();
    let reserve = sized(|reserve: &mut berth_reserve_t, size| {
        reserve.size = size;
        reserve.reserve = Some(reserve_panics);
        reserve.unreserve = Some(unreserve_panics);
    });
    // SAFETY: as above.
    let registered = unsafe { berth_register_reserve(handle, &raw const reserve) };
    assert_eq!(registered, OK);
    attempt_fails(handle, pod);
}
