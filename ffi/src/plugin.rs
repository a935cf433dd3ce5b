//! Plugins of the caller.

use crate::boundary::{self, State, berth_scheduler_t};
use crate::callback::{
    Context, berth_filter_callback_t, berth_reserve_callback_t, berth_score_callback_t,
    berth_unreserve_callback_t,
};
use crate::pointer::{Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use crate::scheduler::bad_value;
use crate::text::berth_string_t;
use berth_core::EXTERNAL_PLUGINS_MAX;
use berth_core::plugins::Plugin;
use std::ffi::c_void;

/// A plugin at Filter. It comes after all filters of the profile, in every profile.
///
/// Its callback, as all callbacks, is called from the thread that calls the library; it must not
/// throw, longjmp or keep a pointer that it is given, and calls of the same handle get
/// BERTH_RESULT_BUSY. One that fails, or says what it may not, ends the attempt with
/// BERTH_OUTCOME_ERROR.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_filter_t {
    /// `sizeof(berth_filter_t)`.
    pub size: usize,
    /// Its name in records; not that of another plugin.
    pub name: berth_string_t,
    /// Why it refuses nodes, as a message says it: `node(s) had no licence`.
    pub reason: berth_string_t,
    /// What is asked.
    pub callback: berth_filter_callback_t,
    /// What the callback gets first.
    pub context: *mut c_void,
}

/// A plugin at Score, in every profile; see `berth_filter_t` for callbacks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_score_t {
    /// `sizeof(berth_score_t)`.
    pub size: usize,
    /// Its name in records; not that of another plugin.
    pub name: berth_string_t,
    /// The factor of its scores, 1 to 1,000,000.
    pub weight: u32,
    /// What is asked.
    pub callback: berth_score_callback_t,
    /// What the callback gets first.
    pub context: *mut c_void,
}

/// A plugin at Reserve: hears which pods are assumed, and which are so no more; see
/// `berth_filter_t` for callbacks. Pods that come with their node are not told.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct berth_reserve_t {
    /// `sizeof(berth_reserve_t)`.
    pub size: usize,
    /// Told of a pod that is assumed, and may refuse it; may be NULL.
    pub reserve: berth_reserve_callback_t,
    /// Told of a pod that is forgotten; may be NULL. A rollback tells the opposite of what was told
    /// since the fork.
    pub unreserve: berth_unreserve_callback_t,
    /// What the callbacks get first.
    pub context: *mut c_void,
}

impl Versioned for berth_filter_t {
    const NAME: &'static str = "filter";

    fn size(&self) -> usize {
        self.size
    }
}

impl Versioned for berth_score_t {
    const NAME: &'static str = "score";

    fn size(&self) -> usize {
        self.size
    }
}

impl Versioned for berth_reserve_t {
    const NAME: &'static str = "reserve";

    fn size(&self) -> usize {
        self.size
    }
}

/// The largest weight of a score: no sum of totals comes near its limits.
const WEIGHT_MAX: u32 = 1_000_000;

fn missing(name: &str) -> Failure {
    let text = format_args!("{name} is NULL");
    Failure::new(berth_result_t::BERTH_RESULT_NULL_POINTER, text)
}

fn check_name(state: &State, name: &str) -> Result<(), Failure> {
    if name.is_empty() {
        return Err(bad_value("name", "empty"));
    }
    let is_ours = Plugin::ALL.iter().any(|plugin| plugin.name() == name);
    if is_ours || state.intake.scheduler().has_external(name) {
        let text = format_args!("there is a plugin {name:?} already");
        return Err(Failure::new(
            berth_result_t::BERTH_RESULT_ALREADY_EXISTS,
            text,
        ));
    }
    Ok(())
}

/// What a fork began with could not be gone back to.
fn check_forks(state: &State) -> Result<(), Failure> {
    if state.intake.scheduler().forks() == 0 {
        return Ok(());
    }
    let text = "plugins are registered before a fork or after its end";
    Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_STATE, text))
}

/// Adds a plugin at Filter, until the handle is destroyed. Pods are not batched from then on.
///
/// @param filter     the caller's, with the strings that it points to
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no name),
/// BAD_UTF8, ALREADY_EXISTS, CAPACITY (more than 8), BAD_STATE (in a fork), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_register_filter(
    scheduler: *mut berth_scheduler_t,
    filter: *const berth_filter_t,
) -> berth_result_t {
    let given = borrow!(Struct(filter));
    boundary::enter(scheduler, |state| {
        let given: berth_filter_t = given.required()?;
        let (name, reason) = (
            string!("filter.name", given.name),
            string!("filter.reason", given.reason),
        );
        if given.callback.is_none() {
            return Err(missing("filter.callback"));
        }
        check_name(state, &name)?;
        check_forks(state)?;
        let scheduler = state.intake.scheduler_mut();
        scheduler.add_filter(&name, &reason)?;
        let filters = &mut state.callbacks.filters;
        filters.push((given.callback, Context(given.context)));
        Ok(())
    })
}

/// Adds a plugin at Score, until the handle is destroyed. Pods are not batched from then on.
///
/// @param score      the caller's, with the string that it points to
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no name, a
/// weight out of its range), BAD_UTF8, ALREADY_EXISTS, CAPACITY (more than 8), BAD_STATE (in a
/// fork), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_register_score(
    scheduler: *mut berth_scheduler_t,
    score: *const berth_score_t,
) -> berth_result_t {
    let given = borrow!(Struct(score));
    boundary::enter(scheduler, |state| {
        let given: berth_score_t = given.required()?;
        let name = string!("score.name", given.name);
        if given.callback.is_none() {
            return Err(missing("score.callback"));
        }
        if !(1..=WEIGHT_MAX).contains(&given.weight) {
            return Err(bad_value("score.weight", given.weight));
        }
        check_name(state, &name)?;
        check_forks(state)?;
        let scheduler = state.intake.scheduler_mut();
        scheduler.add_score(&name, given.weight)?;
        let scores = &mut state.callbacks.scores;
        scores.push((given.callback, Context(given.context)));
        Ok(())
    })
}

/// Adds a plugin at Reserve, until the handle is destroyed.
///
/// @param reserve    the caller's
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, CAPACITY (more than 8),
/// BAD_STATE (in a fork), BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_register_reserve(
    scheduler: *mut berth_scheduler_t,
    reserve: *const berth_reserve_t,
) -> berth_result_t {
    let given = borrow!(Struct(reserve));
    boundary::enter(scheduler, |state| {
        let given: berth_reserve_t = given.required()?;
        if given.reserve.is_none() && given.unreserve.is_none() {
            return Err(missing("reserve.reserve, as is reserve.unreserve,"));
        }
        check_forks(state)?;
        let reserves = &mut state.callbacks.reserves;
        if reserves.len() >= EXTERNAL_PLUGINS_MAX {
            let text = format_args!("there are {EXTERNAL_PLUGINS_MAX} plugins at Reserve already");
            return Err(Failure::new(berth_result_t::BERTH_RESULT_CAPACITY, text));
        }
        reserves.push((given.reserve, given.unreserve, Context(given.context)));
        Ok(())
    })
}
