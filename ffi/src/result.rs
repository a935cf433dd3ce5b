//! How a call ended.

use crate::room::full_of;
use berth_core::intake::IntakeError;
use berth_core::{ApplyError, CapacityExceeded, CreateError, StateError};
use std::fmt::Display;

/// How a call ended. Numbers are never used again for something else.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum berth_result_t {
    /// Done.
    BERTH_RESULT_OK = 0,
    /// A pointer that must not be NULL is.
    BERTH_RESULT_NULL_POINTER = 1,
    /// A pointer is not aligned for its type, or a length is beyond what memory can hold.
    BERTH_RESULT_BAD_POINTER = 2,
    /// A struct's size was not set, or it sets a field that this version of the library lacks.
    BERTH_RESULT_BAD_SIZE = 3,
    /// A number is none of its enumeration, or an id is that of nothing.
    BERTH_RESULT_BAD_VALUE = 4,
    /// A string is not UTF-8.
    BERTH_RESULT_BAD_UTF8 = 5,
    /// The handle is none, or was destroyed.
    BERTH_RESULT_BAD_HANDLE = 6,
    /// Another thread is using the handle.
    BERTH_RESULT_BUSY = 7,
    /// A bug in Berth. The handle can only be destroyed.
    BERTH_RESULT_PANIC = 8,
    /// The configuration does not parse, or kube-scheduler would refuse it.
    BERTH_RESULT_BAD_CONFIG = 9,
    /// A text is no JSON, or an API server would refuse an object in it.
    BERTH_RESULT_BAD_OBJECT = 10,
    /// A table is full.
    BERTH_RESULT_CAPACITY = 11,
    /// An object of this kind and name is there already.
    BERTH_RESULT_ALREADY_EXISTS = 12,
    /// No object of this kind and name is there.
    BERTH_RESULT_NOT_FOUND = 13,
    /// A buffer is too small. The size that is needed was written.
    BERTH_RESULT_SMALL_BUFFER = 14,
    /// The program's header has another BERTH_ABI_VERSION than the library.
    BERTH_RESULT_BAD_VERSION = 15,
    /// The call does not fit the present state: there is no fork to end, no binding to hear of.
    BERTH_RESULT_BAD_STATE = 16,
    /// Bytes are no saved state, or one that was cut or changed or is of another version.
    BERTH_RESULT_BAD_FILE = 17,
}

/// A result other than OK, and why in words.
#[derive(Debug)]
pub struct Failure {
    pub result: berth_result_t,
    pub text: String,
    /// The table that was full.
    pub full: Option<CapacityExceeded>,
}

impl Failure {
    pub fn new(result: berth_result_t, text: impl Display) -> Self {
        let text = text.to_string();
        Self {
            result,
            text,
            full: None,
        }
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        let result = match error {
            CreateError::Capacity(_) => berth_result_t::BERTH_RESULT_CAPACITY,
            _ => berth_result_t::BERTH_RESULT_BAD_CONFIG,
        };
        Self::new(result, error)
    }
}

impl From<IntakeError> for Failure {
    fn from(error: IntakeError) -> Self {
        let result = match &error {
            IntakeError::Apply { error, .. } => applied(error),
            _ => berth_result_t::BERTH_RESULT_BAD_OBJECT,
        };
        Self {
            full: full_of(&error),
            ..Self::new(result, error)
        }
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let result = match &error {
            StateError::Capacity(_) => berth_result_t::BERTH_RESULT_CAPACITY,
            StateError::Config(_) => berth_result_t::BERTH_RESULT_BAD_CONFIG,
            _ => berth_result_t::BERTH_RESULT_BAD_FILE,
        };
        Self::new(result, error)
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        let full = match error {
            ApplyError::Capacity(full) => Some(full),
            _ => None,
        };
        Self {
            full,
            ..Self::new(applied(&error), error)
        }
    }
}

const fn applied(error: &ApplyError) -> berth_result_t {
    match error {
        ApplyError::Capacity(_) => berth_result_t::BERTH_RESULT_CAPACITY,
        ApplyError::AlreadyExists => berth_result_t::BERTH_RESULT_ALREADY_EXISTS,
        ApplyError::NotFound => berth_result_t::BERTH_RESULT_NOT_FOUND,
        _ => berth_result_t::BERTH_RESULT_BAD_OBJECT,
    }
}
