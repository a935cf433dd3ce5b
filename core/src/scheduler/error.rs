//! Why an object is not taken in, or a scheduler not made.

use crate::capacity::CapacityExceeded;
use crate::object::config::ConfigErrors;
use core::fmt;

/// Why an object was not applied; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    /// A table is full.
    Capacity(CapacityExceeded),
    /// An object of this kind and name is there already.
    AlreadyExists,
    /// No object of this kind and name is there.
    NotFound,
    /// The object has no name.
    NoName,
    /// A label selector in this field does not parse.
    Selector(&'static str),
}

impl From<CapacityExceeded> for ApplyError {
    fn from(full: CapacityExceeded) -> Self {
        Self::Capacity(full)
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(full) => full.fmt(f),
            Self::AlreadyExists => f.write_str("an object of this kind and name is there already"),
            Self::NotFound => f.write_str("no object of this kind and name is there"),
            Self::NoName => f.write_str("metadata.name: is required"),
            Self::Selector(field) => write!(f, "{field}: is no valid label selector"),
        }
    }
}

impl core::error::Error for ApplyError {}

/// Why a scheduler was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreateError {
    /// What is wrong with the configuration.
    Config(ConfigErrors),
    /// The capacities do not hold the profiles.
    Capacity(CapacityExceeded),
}

impl From<CapacityExceeded> for CreateError {
    fn from(full: CapacityExceeded) -> Self {
        Self::Capacity(full)
    }
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(errors) => errors.fmt(f),
            Self::Capacity(full) => full.fmt(f),
        }
    }
}

impl core::error::Error for CreateError {}
