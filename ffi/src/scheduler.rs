//! A handle's life.

use crate::boundary::{self, berth_scheduler_t};
use crate::capacities::{Room, berth_capacities_t};
use crate::pointer::{Struct, Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use crate::text;
use berth_core::intake::Intake;
use berth_core::{Fidelity, NodeSearch, Options, Ties};
use std::ffi::c_char;
use std::fmt::Display;

/// Version of the C ABI that this header describes. It rises when a function or struct changes in
/// a way that a compiled caller notices.
pub const BERTH_ABI_VERSION: u32 = 2;

/// Sampling, rotation and ties as kube-scheduler with `parallelism: 1`.
pub const BERTH_FIDELITY_EXACT: i32 = 0;
/// Every node is looked at; ties go to the first node at or after the rotation index.
pub const BERTH_FIDELITY_BEST: i32 = 1;

/// Ties as the fidelity has them.
pub const BERTH_TIES_DEFAULT: i32 = 0;
/// Of equally good nodes the root of upstream's heap.
pub const BERTH_TIES_HEAP: i32 = 1;
/// Of equally good nodes the first by name.
pub const BERTH_TIES_FIRST_NAME: i32 = 2;
/// Of equally good nodes the first one met by the search.
pub const BERTH_TIES_FIRST: i32 = 3;
/// Of equally good nodes one that is drawn by a seeded generator.
pub const BERTH_TIES_RANDOM: i32 = 4;

/// As many nodes are looked at as the fidelity has it.
pub const BERTH_NODE_SEARCH_DEFAULT: i32 = 0;
/// All nodes are looked at.
pub const BERTH_NODE_SEARCH_ALL: i32 = 1;
/// As many nodes are looked at as `percentageOfNodesToScore` says.
pub const BERTH_NODE_SEARCH_SAMPLED: i32 = 2;

/// Pods of higher priority may evict others.
pub const BERTH_PREEMPTION_DEFAULT: i32 = 0;
/// Pods of higher priority may evict others.
pub const BERTH_PREEMPTION_ON: i32 = 1;
/// Nobody is evicted.
pub const BERTH_PREEMPTION_OFF: i32 = 2;

/// Choices of `berth_scheduler_create`. All 0 but the size is the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_options_t {
    /// `sizeof(berth_options_t)`.
    pub size: usize,
    /// `BERTH_ABI_VERSION`: a library of another version refuses to make a scheduler. 0: the program
    /// has compared `berth_abi_version()` itself.
    pub abi_version: u32,
    /// One of BERTH_FIDELITY_.
    pub fidelity: i32,
    /// One of BERTH_TIES_.
    pub ties: i32,
    /// One of BERTH_NODE_SEARCH_.
    pub node_search: i32,
    /// One of BERTH_PREEMPTION_.
    pub preemption: i32,
    /// Seed of BERTH_TIES_RANDOM.
    pub seed: u64,
    /// How much fits, the caller's. NULL: what the first `berth_load_json` holds, a quarter more, and
    /// some (512 nodes and 16,384 pods without a load); a table that fills is made anew at twice its
    /// size, which for that moment takes memory of both. Where all but nodes and pods is 0, a first
    /// load may take more of the rest.
    pub capacities: *const berth_capacities_t,
}

impl Versioned for berth_options_t {
    const NAME: &'static str = "options";

    fn size(&self) -> usize {
        self.size
    }
}

/// The library's BERTH_ABI_VERSION, to be compared with the header's. From any thread.
#[unsafe(no_mangle)]
pub extern "C" fn berth_abi_version() -> u32 {
    BERTH_ABI_VERSION
}

/// Makes a scheduler of an empty cluster.
///
/// @param options    the caller's; NULL for the default
/// @param config     KubeSchedulerConfiguration v1 as JSON or YAML, the caller's; NULL with length
///                   0 for the default
/// @param out        the handle, to be freed by `berth_scheduler_destroy`
///
/// From any thread. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VERSION, BAD_VALUE,
/// BAD_UTF8, BAD_CONFIG, CAPACITY (more than 131,072 nodes or 2,097,152 pods, or 16 GiB), PANIC; the
/// reason in words is the thread's, by `berth_last_error(NULL, ...)`.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_scheduler_create(
    options: *const berth_options_t,
    config: *const c_char,
    config_length: usize,
    out: *mut *mut berth_scheduler_t,
) -> berth_result_t {
    let options = borrow!(Struct(options));
    let config = borrow!(Text(config, config_length));
    let mut out = borrow!(Out(out));
    let checked = out.check("out");
    let new = || {
        checked?;
        let options = options.read()?;
        let config = match config.optional("config", config_length)? {
            Some(config) => text::config(config)?,
            None => berth_core::object::config::KubeSchedulerConfiguration::default(),
        };
        let Some(given) = options else {
            return Ok((Intake::new(config, Options::default(), None)?, true));
        };
        let choice = chosen(&given)?;
        // SAFETY: the caller of this exported function promises what the header says of the struct.
        let capacities = unsafe { Struct::<berth_capacities_t>::borrow(given.capacities) };
        Ok(match capacities.read()?.map(|given| given.room()) {
            None => (Intake::new(config, choice, None)?, true),
            Some(Room::Size(size)) => (Intake::new(config, choice, Some(size))?, false),
            Some(Room::Whole(whole)) => (Intake::with_capacities(config, choice, whole)?, false),
        })
    };
    boundary::create(new, |handle| out.write(handle))
}

fn chosen(options: &berth_options_t) -> Result<Options, Failure> {
    if !matches!(options.abi_version, 0 | BERTH_ABI_VERSION) {
        let text = format_args!(
            "the program's header has ABI version {}, the library {BERTH_ABI_VERSION}",
            options.abi_version
        );
        return Err(Failure::new(berth_result_t::BERTH_RESULT_BAD_VERSION, text));
    }
    Ok(Options {
        fidelity: match options.fidelity {
            BERTH_FIDELITY_EXACT => Fidelity::Exact,
            BERTH_FIDELITY_BEST => Fidelity::Best,
            other => return Err(bad_value("options.fidelity", other)),
        },
        ties: match options.ties {
            BERTH_TIES_DEFAULT => None,
            BERTH_TIES_HEAP => Some(Ties::Heap),
            BERTH_TIES_FIRST_NAME => Some(Ties::FirstName),
            BERTH_TIES_FIRST => Some(Ties::First),
            BERTH_TIES_RANDOM => Some(Ties::Random),
            other => return Err(bad_value("options.ties", other)),
        },
        node_search: match options.node_search {
            BERTH_NODE_SEARCH_DEFAULT => None,
            BERTH_NODE_SEARCH_ALL => Some(NodeSearch::All),
            BERTH_NODE_SEARCH_SAMPLED => Some(NodeSearch::Sampled),
            other => return Err(bad_value("options.node_search", other)),
        },
        seed: options.seed,
        preemption: match options.preemption {
            BERTH_PREEMPTION_DEFAULT => None,
            BERTH_PREEMPTION_ON => Some(true),
            BERTH_PREEMPTION_OFF => Some(false),
            other => return Err(bad_value("options.preemption", other)),
        },
        ..Options::default()
    })
}

/// A number that is none of its enumeration.
pub(crate) fn bad_value(name: &str, value: impl Display) -> Failure {
    let text = format_args!("{name} cannot be {value}");
    Failure::new(berth_result_t::BERTH_RESULT_BAD_VALUE, text)
}

/// Frees a scheduler. The handle must not be used afterwards.
///
/// From any thread. BERTH_RESULT_NULL_POINTER, BAD_HANDLE, BUSY (then it is not freed), PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_scheduler_destroy(
    scheduler: *mut berth_scheduler_t,
) -> berth_result_t {
    boundary::destroy(scheduler)
}

/// Why the last call of this handle that failed did, also after BERTH_RESULT_PANIC. Failures that
/// a result tells whole have none (BERTH_RESULT_BUSY, BAD_HANDLE, a handle that is NULL).
///
/// @param scheduler      NULL: why this thread's last failed call without a handle did, such as
///                       `berth_scheduler_create`
/// @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
///                       for the length
/// @param out_length     bytes of the text
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, SMALL_BUFFER.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_last_error(
    scheduler: *const berth_scheduler_t,
    buffer: *mut c_char,
    buffer_length: usize,
    out_length: *mut usize,
) -> berth_result_t {
    let buffer = borrow!(Buffer(buffer, buffer_length));
    let out_length = borrow!(Out(out_length));
    boundary::last_error(scheduler, |error| text::write(error, buffer, out_length))
}
