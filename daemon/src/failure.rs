//! How a command ends.

use crate::escape::escape;
use crate::input::{Problem, Problems};
use crate::room::too_large;
use berth_core::ApplyError;
use berth_core::intake::IntakeError;
use std::io::{self, Write};
use std::process::ExitCode;

/// A command's end: the exit code of a whole answer, or why there is none.
pub type Outcome = Result<ExitCode, Failure>;

/// Problems that are told in full; the rest is counted.
const TOLD_MAX: usize = 20;

/// Why there is no whole answer.
#[derive(Debug)]
pub enum Failure {
    /// Wrong use, told in one line.
    Usage(String),
    /// Everything that is wrong with the input.
    Input(Problems),
    /// The answer could not be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<IntakeError> for Failure {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Apply {
                error: ApplyError::Capacity(full),
                ..
            } => too_large(full),
            error => Self::Usage(error.to_string()),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let mut problems = Problems::default();
        problems.push(problem);
        Self::Input(problems)
    }
}

/// Tells a failure on stderr. A reader that closed the pipe has what it wanted: that is no failure.
pub fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => return code,
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return ExitCode::SUCCESS;
        }
        Err(Failure::Output(error)) => tell("error", &format!("writing the result: {error}")),
        Err(Failure::Usage(message)) => tell("error", &message),
        Err(Failure::Input(problems)) => tell_problems("error", &problems),
    }
    exit::bad_input()
}

/// Help and versions on stdout, what is wrong with flags on stderr; kube-scheduler, whose place `run`
/// takes, has another exit code for these.
pub fn wrong_flags(told: &clap::Error, is_run: bool) -> ExitCode {
    // A reader that has gone needs to know nothing.
    let _ = told.print();
    match (told.use_stderr(), is_run) {
        (false, _) => ExitCode::SUCCESS,
        (true, true) => ExitCode::from(1),
        (true, false) => exit::bad_input(),
    }
}

/// Exit codes other than 0.
pub mod exit {
    use std::process::ExitCode;

    /// Some pod was not placed, or the pod fits nowhere.
    pub fn not_placed() -> ExitCode {
        ExitCode::from(1)
    }

    /// Wrong use or bad input.
    pub fn bad_input() -> ExitCode {
        ExitCode::from(2)
    }
}

/// The first problems in full, then how many more there are.
pub fn tell_problems(word: &str, problems: &Problems) {
    for problem in problems.iter().take(TOLD_MAX) {
        tell(word, &problem.to_string());
    }
    if let more @ 1.. = problems.len().saturating_sub(TOLD_MAX) {
        tell(word, &format!("... and {more} more"));
    }
}

/// One line on stderr; a closed stderr is no reason to stop.
pub fn tell(word: &str, message: &str) {
    let _ = writeln!(io::stderr(), "{word}: {}", escape(message));
}
