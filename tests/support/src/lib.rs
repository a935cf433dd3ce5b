//! What the suites in `tests/` share.
//!
//! - [`golden`]: the sets of verdicts that kube-scheduler gave, with their inputs.
//! - [`run`]: the recorded runs, step by step.
//! - [`object`]: JSON of a known kind to an object of the core.
//! - [`replay`]: a scheduler of the core that is fed with inputs.
//! - [`answer`]: one answer of Berth, from the core or from the command, and how it differs.
//! - [`cluster_list`]: a scenario as the `List` that `kubectl get -o json` would print.
//! - [`virtual_time`]: a run through the whole loop of the core, with an API server beside it.
//! - [`case`]: tables of small cases with what is expected, for the core and the command.
//! - [`generate`]: random clusters and what happens to them.
//! - [`go`]: the Go programs of `tests/kube`, built.
//! - [`kube`]: upstream itself, asked line by line.
//! - [`shrink`]: the least of a JSON document that still has a property.
//! - [`exact`]: requests and free room in arithmetic that cannot overflow.
//! - [`extender`]: an extender over HTTP that does as it is told.
//! - [`openb`]: the openb trace as objects.
//! - [`sample`]: small objects, field by field.
//! - [`tally`]: counts of what is equal, and the first differences.
//! - [`command`]: the built `berth` binary.

// A helper of tests says what it found by panicking; that is its use, not a case to be warned of.
#![allow(clippy::missing_panics_doc)]

pub mod answer;
pub mod case;
pub mod cluster_list;
pub mod command;
pub mod course;
pub mod exact;
pub mod extender;
pub mod generate;
pub mod go;
pub mod golden;
pub mod kube;
pub mod object;
pub mod openb;
pub mod replay;
pub mod run;
pub mod sample;
pub mod shrink;
pub mod tally;
pub mod virtual_time;

use std::path::{Path, PathBuf};

/// The repository's `tests` folder.
pub fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/support lies in tests")
        .to_path_buf()
}

/// A file in `tests/`, as text.
pub fn read(file: &str) -> String {
    let path = tests_folder().join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
