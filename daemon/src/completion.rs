//! `berth completion`.

use crate::args::{Cli, CompletionArgs};
use crate::failure::Outcome;
use crate::output::Output;
use clap::CommandFactory;
use std::io::Write;
use std::process::ExitCode;

pub fn run(args: &CompletionArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "berth", &mut script);
    let mut output = Output::stdout();
    output.write_all(&script)?;
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}
