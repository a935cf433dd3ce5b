//! What the `berth` command reads: files to objects and configurations, and what extenders answer.
//!
//! A library only so that fuzz targets and tests reach the readers without a process; the command
//! in `main.rs` is its one user.
#![forbid(unsafe_code)]
// They panic when the reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod extender_answer;
pub mod input;
