//! What keeps objects out.

use crate::object::Object;
use crate::object::decode::Refused;
use crate::object::input::Problem;
use crate::object::validate::Invalid;
use crate::scheduler::ApplyError;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Why objects were not taken in; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IntakeError {
    /// Cannot be read, or an API server would refuse it. Everything that is wrong, in the input's
    /// order as far as it could be read.
    Invalid(Vec<Fault>),
    /// The scheduler refuses this object.
    Apply {
        /// Kind, namespace and name.
        subject: String,
        error: ApplyError,
    },
}

/// Something wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind, namespace and name as far as they are known; may be empty.
    pub subject: String,
    /// Path from the object's root; may be empty.
    pub field: String,
    /// What is wrong, and what was expected.
    pub problem: String,
}

impl IntakeError {
    /// One fault of the text itself.
    pub fn of_text(problem: &str) -> Self {
        Self::Invalid(Vec::from([Fault {
            subject: String::new(),
            field: String::new(),
            problem: problem.into(),
        }]))
    }

    pub(super) fn refused(object: &Object, error: ApplyError) -> Self {
        let subject = subject(object);
        Self::Apply { subject, error }
    }
}

impl Fault {
    pub(super) fn new(object: &Object, invalid: Invalid) -> Self {
        Self {
            subject: subject(object),
            field: invalid.field,
            problem: invalid.problem,
        }
    }
}

fn subject(object: &Object) -> String {
    let metadata = object.metadata();
    crate::object::subject(object.kind(), &metadata.namespace, &metadata.name)
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        Self {
            subject: refused.object,
            field: refused.field,
            problem: refused.problem,
        }
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self {
            subject: problem.subject,
            field: problem.invalid.field,
            problem: problem.invalid.problem,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.subject, &self.field] {
            if !part.is_empty() {
                write!(f, "{part}: ")?;
            }
        }
        f.write_str(&self.problem)
    }
}

impl fmt::Display for IntakeError {
    /// One line a fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(faults) => {
                for (index, fault) in faults.iter().enumerate() {
                    if index > 0 {
                        f.write_str("\n")?;
                    }
                    fault.fmt(f)?;
                }
                Ok(())
            }
            Self::Apply { subject, error } => write!(f, "{subject}: {error}"),
        }
    }
}

impl core::error::Error for IntakeError {}
