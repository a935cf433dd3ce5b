//! The naive twin against upstream's recorded decisions.
//!
//! The files lie in `tests/golden` of the workspace, or where `BERTH_GOLDEN` says; the procedure is
//! that of their README.

mod config;
mod files;
mod runs;
mod verdicts;
