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
//! out), `state` (what the cluster is). `pointer` has all unsafe code, `boundary` stops panics and
//! finds handles, `result` has the results, `text` the parsers.

// Names are C's.
#![allow(non_camel_case_types)]
#![deny(missing_docs)]

mod boundary;
mod decision;
mod object;
mod pointer;
mod result;
mod scheduler;
mod state;
mod text;

pub use boundary::berth_scheduler_t;
pub use decision::*;
pub use object::*;
pub use result::berth_result_t;
pub use scheduler::*;
pub use state::*;
