//! C ABI of Berth: kube-scheduler's decision from C, C++ and whatever calls C.
//!
//! The C names, types and comments in `include/berth.h` are those of this crate; the header is
//! written from here. Conventions, which hold for every function but [`berth_abi_version`]:
//!
//! - it returns a [`berth_result_t`]; nothing unwinds, aborts or prints;
//! - where the result is not `BERTH_RESULT_OK`, nothing was changed, and nothing written but the
//!   size that `BERTH_RESULT_SMALL_BUFFER` asks for;
//!   [`berth_last_error`] has the reason in words;
//! - pointers are checked for NULL, and must else be valid for what their function says; results
//!   are written through pointers that come last;
//! - strings are a pointer and a length in bytes, UTF-8, without a terminator;
//! - structs begin with their size, which the caller sets, of those that are written too;
//! - a handle may be used by any thread, by one at a time: a second one gets `BERTH_RESULT_BUSY`.
//!
//! In the order of use: `scheduler` (a handle's life), `object` (objects in), `decision` (answers
//! out), `volume` (their claims), `state` (what the cluster is). `pointer` has all unsafe code, `boundary` stops panics and
//! finds handles, `result` has the results, `text` the parsers.

// Names are C's.
#![allow(non_camel_case_types)]
#![deny(missing_docs)]

#[macro_use]
mod text;

mod boundary;
mod callback;
mod capacities;
mod class;
mod decision;
mod fork;
mod node;
mod object;
mod plugin;
mod pod;
mod pointer;
mod result;
mod room;
mod scheduler;
mod state;
mod turn;
mod volume;

pub use boundary::berth_scheduler_t;
pub use callback::{
    BERTH_PLUGIN_FAILED, BERTH_PLUGIN_OK, BERTH_PLUGIN_REJECTED, berth_filter_callback_t,
    berth_reserve_callback_t, berth_score_callback_t, berth_unreserve_callback_t,
};
pub use capacities::{berth_capacities_default, berth_capacities_t, berth_memory_needed};
pub use class::*;
pub use decision::*;
pub use fork::*;
pub use node::*;
pub use object::*;
pub use plugin::*;
pub use pod::*;
pub use result::berth_result_t;
pub use scheduler::*;
pub use state::*;
pub use text::berth_string_t;
pub use turn::*;
pub use volume::*;
