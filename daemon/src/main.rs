//! The `berth` command: kube-scheduler's decisions from files, or in its place in a cluster.
#![forbid(unsafe_code)]
// They panic when the reader has gone; see `output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod completion;
mod config;
mod escape;
mod explain;
mod failure;
mod load;
mod notes;
mod output;
mod progress;
mod room;
mod run;
mod simulate;
mod state;
mod stopwatch;
mod trace;
mod world;

use args::{Cli, Command};
use berth_daemon::input;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = run::normalize(std::env::args_os().collect());
    let is_run = args.get(1).is_some_and(|command| command == "run");
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(told) => return failure::wrong_flags(&told, is_run),
    };
    let outcome = match cli.command {
        Command::Simulate(args) => simulate::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Run(args) => return run::run(*args),
        Command::Config(args) => config::run(&args),
        Command::Completion(args) => completion::run(&args),
    };
    failure::exit_code(outcome)
}
