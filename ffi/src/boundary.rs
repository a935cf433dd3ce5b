//! Where C calls in: handles are found and locked, panics stopped.

use crate::callback::Callbacks;
use crate::class::Templates;
use crate::result::{Failure, berth_result_t};
use berth_core::intake::Intake;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, RwLock, TryLockError};

/// A scheduler with its cluster. Made by `berth_scheduler_create`, freed by
/// `berth_scheduler_destroy`; a handle may be used by any thread, by one at a time.
pub struct berth_scheduler_t {
    state: Mutex<State>,
}

/// What a handle has.
pub struct State {
    pub intake: Intake,
    /// Whether a full table becomes larger.
    pub grows: bool,
    /// Why the last call that failed did.
    pub error: String,
    /// What the last load or change had to say.
    pub notes: String,
    /// Pods' specs by class.
    pub(crate) templates: Templates,
    /// Plugins of the caller.
    pub callbacks: Callbacks,
    /// What there was beside the intake when each fork began, the oldest first.
    pub(crate) saved: Vec<Templates>,
    /// Room for the nodes of an evaluation, used again by the next one.
    pub(crate) words: Vec<u64>,
}

/// The handles that are not destroyed. What C holds is a number in the form of a pointer, given once
/// and never again: it is looked up here, and no pointer is followed.
static LIVE: RwLock<BTreeMap<usize, Arc<berth_scheduler_t>>> = RwLock::new(BTreeMap::new());
/// The next handle. The first is where no object is, and too large for what a runtime such as Go takes
/// for a pointer that cannot be.
static NEXT: AtomicUsize = AtomicUsize::new(0x1_0000);

thread_local! {
    /// Why this thread's last failed create did.
    static CREATE_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
    /// Whether this thread is in a call, whose panics are not printed.
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
    /// What a panic in the call said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes a handle of what `body` makes, and whether its tables grow. Its failure is kept for this thread.
pub fn create(
    body: impl FnOnce() -> Result<(Intake, bool), Failure>,
    hand_out: impl FnOnce(*mut berth_scheduler_t),
) -> berth_result_t {
    let mut text = String::new();
    let result = stop_panics(|| {
        let (intake, grows) = body().map_err(|failure| {
            text = failure.text;
            failure.result
        })?;
        let state = State {
            intake,
            grows,
            error: String::new(),
            notes: String::new(),
            templates: Templates::default(),
            callbacks: Callbacks::default(),
            saved: Vec::new(),
            words: Vec::new(),
        };
        let scheduler = Arc::new(berth_scheduler_t {
            state: Mutex::new(state),
        });
        let handle = ptr::without_provenance_mut::<berth_scheduler_t>(
            NEXT.fetch_add(0x10, Ordering::Relaxed),
        );
        let mut live = LIVE.write().unwrap_or_else(PoisonError::into_inner);
        live.insert(handle.addr(), scheduler);
        hand_out(handle);
        Ok(())
    });
    keep_error(result, text);
    result
}

/// Runs a call without a handle. Its failure is kept for this thread.
pub fn alone(body: impl FnOnce() -> Result<(), Failure>) -> berth_result_t {
    let mut text = String::new();
    let result = stop_panics(|| {
        body().map_err(|failure| {
            text = failure.text;
            failure.result
        })
    });
    keep_error(result, text);
    result
}

/// Keeps this thread's failure without a handle.
fn keep_error(result: berth_result_t, mut text: String) {
    if result == berth_result_t::BERTH_RESULT_PANIC {
        text = PANIC.take();
    }
    if result != berth_result_t::BERTH_RESULT_OK {
        CREATE_ERROR.set(text);
    }
}

/// Ends a handle.
pub fn destroy(handle: *const berth_scheduler_t) -> berth_result_t {
    stop_panics(|| {
        let scheduler = find(handle)?;
        // Held until the handle is out of the table, so that no other call can begin meanwhile.
        let state = scheduler.state.try_lock();
        if matches!(state, Err(TryLockError::WouldBlock)) {
            return Err(berth_result_t::BERTH_RESULT_BUSY);
        }
        let mut live = LIVE.write().unwrap_or_else(PoisonError::into_inner);
        match live.remove(&handle.addr()) {
            Some(_) => Ok(()),
            None => Err(berth_result_t::BERTH_RESULT_BAD_HANDLE),
        }
    })
}

/// Runs a call on a handle. Its failure is kept in the handle.
pub fn enter(
    handle: *const berth_scheduler_t,
    body: impl FnOnce(&mut State) -> Result<(), Failure>,
) -> berth_result_t {
    let result = stop_panics(|| {
        let scheduler = find(handle)?;
        let mut state = match scheduler.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::WouldBlock) => return Err(berth_result_t::BERTH_RESULT_BUSY),
            Err(TryLockError::Poisoned(_)) => return Err(berth_result_t::BERTH_RESULT_PANIC),
        };
        let done = body(&mut state);
        let State {
            intake, callbacks, ..
        } = &mut *state;
        callbacks.tell_forgotten(intake.scheduler());
        done.map_err(|failure| {
            state.error = failure.text;
            failure.result
        })
    });
    let panic = PANIC.take();
    if !panic.is_empty()
        && let Ok(scheduler) = find(handle)
        && let Err(TryLockError::Poisoned(state)) = scheduler.state.try_lock()
    {
        state.into_inner().error = panic;
    }
    result
}

/// Hands out the last failure: the handle's, also after a panic, or for NULL this thread's last
/// failed create's.
pub fn last_error(
    handle: *const berth_scheduler_t,
    hand_out: impl FnOnce(&str) -> Result<(), Failure>,
) -> berth_result_t {
    stop_panics(|| {
        let hand_out = |text: &str| hand_out(text).map_err(|failure| failure.result);
        if handle.is_null() {
            return CREATE_ERROR.with_borrow(|text| hand_out(text));
        }
        let scheduler = find(handle)?;
        match scheduler.state.try_lock() {
            Ok(state) => hand_out(&state.error),
            Err(TryLockError::Poisoned(state)) => hand_out(&state.into_inner().error),
            Err(TryLockError::WouldBlock) => Err(berth_result_t::BERTH_RESULT_BUSY),
        }
    })
}

fn find(handle: *const berth_scheduler_t) -> Result<Arc<berth_scheduler_t>, berth_result_t> {
    if handle.is_null() {
        return Err(berth_result_t::BERTH_RESULT_NULL_POINTER);
    }
    let live = LIVE.read().unwrap_or_else(PoisonError::into_inner);
    let scheduler = live.get(&handle.addr());
    scheduler
        .cloned()
        .ok_or(berth_result_t::BERTH_RESULT_BAD_HANDLE)
}

/// Turns a panic into a result; what it said is in [`PANIC`].
fn stop_panics(body: impl FnOnce() -> Result<(), berth_result_t>) -> berth_result_t {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IN_CALL.try_with(Cell::get).unwrap_or(false) {
                PANIC.with_borrow_mut(|text| *text = info.to_string());
            } else {
                before(info);
            }
        }));
    });
    let outer = IN_CALL.replace(true);
    // What a panic leaves half done is behind a mutex that it poisons.
    let caught = panic::catch_unwind(AssertUnwindSafe(body));
    IN_CALL.set(outer);
    match caught {
        Ok(Ok(())) => berth_result_t::BERTH_RESULT_OK,
        Ok(Err(result)) => result,
        Err(_) => berth_result_t::BERTH_RESULT_PANIC,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use berth_core::Options;
    use std::ptr;
    use std::sync::mpsc::channel;

    fn handle() -> *mut berth_scheduler_t {
        let mut made = ptr::null_mut();
        let new = || {
            let config = berth_core::object::config::KubeSchedulerConfiguration::default();
            Ok((Intake::new(config, Options::default(), None)?, true))
        };
        assert_eq!(
            create(new, |handle| made = handle),
            berth_result_t::BERTH_RESULT_OK
        );
        made
    }

    fn error_of(handle: *const berth_scheduler_t) -> String {
        let mut text = String::new();
        let result = last_error(handle, |error| {
            error.clone_into(&mut text);
            Ok(())
        });
        assert_eq!(result, berth_result_t::BERTH_RESULT_OK);
        text
    }

    #[test]
    fn a_panic_ends_the_handle_and_not_the_process() {
        let handle = handle();
        let result = enter(handle, |_| panic!("the test's own"));
        assert_eq!(result, berth_result_t::BERTH_RESULT_PANIC);
        assert!(error_of(handle).contains("the test's own"));
        let result = enter(handle, |_| Ok(()));
        assert_eq!(result, berth_result_t::BERTH_RESULT_PANIC);
        assert!(error_of(handle).contains("the test's own"));
        assert_eq!(destroy(handle), berth_result_t::BERTH_RESULT_OK);
    }

    #[test]
    fn a_panic_of_create_is_told_to_its_thread() {
        let result = create(|| panic!("no scheduler"), |_| {});
        assert_eq!(result, berth_result_t::BERTH_RESULT_PANIC);
        assert!(error_of(ptr::null()).contains("no scheduler"));
    }

    #[test]
    fn a_second_thread_is_told_that_the_handle_is_busy() {
        let handle = handle();
        let address = handle.expose_provenance();
        let (entered, wait_entered) = channel();
        let (leave, wait_leave) = channel::<()>();
        let other = std::thread::spawn(move || {
            enter(ptr::with_exposed_provenance(address), |_| {
                entered.send(()).unwrap();
                wait_leave.recv().unwrap();
                Ok(())
            })
        });
        wait_entered.recv().unwrap();
        let busy = berth_result_t::BERTH_RESULT_BUSY;
        assert_eq!(enter(handle, |_| Ok(())), busy);
        assert_eq!(last_error(handle, |_| Ok(())), busy);
        assert_eq!(destroy(handle), busy);
        leave.send(()).unwrap();
        assert_eq!(other.join().unwrap(), berth_result_t::BERTH_RESULT_OK);
        assert_eq!(destroy(handle), berth_result_t::BERTH_RESULT_OK);
    }

    #[test]
    fn a_destroyed_handle_is_not_followed() {
        let handle = handle();
        assert_eq!(destroy(handle), berth_result_t::BERTH_RESULT_OK);
        let bad = berth_result_t::BERTH_RESULT_BAD_HANDLE;
        assert_eq!(enter(handle, |_| Ok(())), bad);
        assert_eq!(destroy(handle), bad);
        assert_eq!(last_error(handle, |_| Ok(())), bad);
    }
}
