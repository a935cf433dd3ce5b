//! Exceptions: one for each way in which the core refuses.

use berth_core::intake::IntakeError;
use berth_core::{ApplyError, CreateError};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyUserWarning};
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
        // A note repeats names, which have no NUL.
        let note = CString::new(note.as_str()).unwrap_or_default();
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
            Failure::Panic => InternalError::new_err("Berth panicked; its words are on stderr"),
        }
    }
}
