//! The built `berth` command, by what it writes and its exit codes.

mod bad_input;
mod config;
mod explain;
mod help;
mod pipe;
mod run;
mod simulate;
mod state;
mod trace;
mod volumes;
