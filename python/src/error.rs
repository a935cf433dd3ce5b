//! Exceptions: one for each way in which the core refuses.

use crate::guard::Refused;
use berth_core::intake::IntakeError;
use berth_core::{ApplyError, CapacityExceeded, CreateError, StateError as NoState};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use std::ffi::CString;

create_exception!(
    berth,
    BerthError,
    PyException,
    "What every error of Berth is."
);
create_exception!(
    berth,
    ConfigError,
    BerthError,
    "The configuration does not parse, or kube-scheduler would refuse it."
);
create_exception!(
    berth,
    ObjectError,
    BerthError,
    "Objects cannot be read, or an API server would refuse them; one line for each fault."
);
create_exception!(
    berth,
    CapacityError,
    BerthError,
    "A table of the scheduler is full."
);
create_exception!(
    berth,
    AlreadyExistsError,
    BerthError,
    "An object of this kind and name is there already."
);
create_exception!(
    berth,
    NotFoundError,
    BerthError,
    "No object of this kind and name is there."
);
create_exception!(
    berth,
    StateError,
    BerthError,
    "A state cannot be read or written: other bytes than were saved, another version, no such file."
);
create_exception!(
    berth,
    InternalError,
    BerthError,
    "A bug in Berth. The scheduler cannot be used any more."
);
create_exception!(
    berth,
    BerthWarning,
    PyUserWarning,
    "What was left out of a load, or taken for want of an object."
);

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    for (name, exception) in [
        ("BerthError", py.get_type::<BerthError>()),
        ("ConfigError", py.get_type::<ConfigError>()),
        ("ObjectError", py.get_type::<ObjectError>()),
        ("CapacityError", py.get_type::<CapacityError>()),
        ("AlreadyExistsError", py.get_type::<AlreadyExistsError>()),
        ("NotFoundError", py.get_type::<NotFoundError>()),
        ("StateError", py.get_type::<StateError>()),
        ("InternalError", py.get_type::<InternalError>()),
        ("BerthWarning", py.get_type::<BerthWarning>()),
    ] {
        module.add(name, exception)?;
    }
    Ok(())
}

/// Warns of each note, at the caller's line.
pub fn warn(py: Python<'_>, notes: &[String]) -> PyResult<()> {
    let category = py.get_type::<BerthWarning>();
    for note in notes {
        // A warning's text ends at a NUL, and a note may repeat one of the input's.
        let note = CString::new(note.replace('\0', "\\0")).unwrap_or_default();
        PyErr::warn(py, &category, &note, 1)?;
    }
    Ok(())
}

/// Why a call failed, before it is an exception.
#[derive(Debug)]
pub enum Failure {
    Create(CreateError),
    Intake(IntakeError),
    /// A configuration's text.
    Config(String),
    /// The name of a pod that is not there.
    NoPod(String),
    /// The name of a node that is not there.
    NoNode(String),
    /// The name of a plugin that is there already.
    NameTaken(String),
    /// A table, or the forks.
    Full(CapacityExceeded),
    /// A state's bytes.
    State(NoState),
    /// A state's file: which, and what the system says.
    File(String),
    /// Columns that make no table.
    Table(String),
    /// What a plugin of the caller raised.
    Raised(PyErr),
    /// A plugin of the caller asked the scheduler that was asking it.
    Within,
    /// A panic in this call or an earlier one.
    Panic,
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        Self::Create(error)
    }
}

impl From<IntakeError> for Failure {
    fn from(error: IntakeError) -> Self {
        Self::Intake(error)
    }
}

impl From<NoState> for Failure {
    fn from(error: NoState) -> Self {
        Self::State(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Within => Self::Within,
            Refused::Panicked => Self::Panic,
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Create(error) => match error {
                CreateError::Capacity(full) => CapacityError::new_err(full.to_string()),
                _ => ConfigError::new_err(error.to_string()),
            },
            Failure::Intake(error) => {
                let text = error.to_string();
                match error {
                    IntakeError::Apply { error, .. } => match error {
                        ApplyError::Capacity(_) => CapacityError::new_err(text),
                        ApplyError::AlreadyExists => AlreadyExistsError::new_err(text),
                        ApplyError::NotFound => NotFoundError::new_err(text),
                        _ => ObjectError::new_err(text),
                    },
                    _ => ObjectError::new_err(text),
                }
            }
            Failure::Config(text) => ConfigError::new_err(text),
            Failure::NoPod(name) => NotFoundError::new_err(format!("there is no pod {name:?}")),
            Failure::NoNode(name) => NotFoundError::new_err(format!("there is no node {name:?}")),
            Failure::NameTaken(name) => {
                AlreadyExistsError::new_err(format!("there is a plugin {name:?} already"))
            }
            Failure::Full(full) => CapacityError::new_err(full.to_string()),
            Failure::State(error) => match error {
                NoState::Capacity(full) => CapacityError::new_err(full.to_string()),
                NoState::Config(errors) => ConfigError::new_err(errors.to_string()),
                error => StateError::new_err(error.to_string()),
            },
            Failure::File(text) => StateError::new_err(text),
            Failure::Raised(error) => error,
            Failure::Within => PyRuntimeError::new_err(
                "a plugin cannot ask the scheduler that waits for its answer",
            ),
            Failure::Table(text) => InternalError::new_err(text),
            Failure::Panic => InternalError::new_err("Berth panicked; its words are on stderr"),
        }
    }
}
