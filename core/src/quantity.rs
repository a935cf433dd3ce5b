//! Kubernetes quantities, exact. (Interface fixed; body being written.)

use core::cmp::Ordering;

/// An amount in exact units of 10^-9, saturating at the limits of `i128`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    nanos: i128,
}

/// Why a text is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseQuantityError {
    Format { position: usize },
    Suffix { position: usize },
    Numeric { position: usize },
}

impl Quantity {
    pub const ZERO: Self = Self { nanos: 0 };
    pub const fn from_nanos(nanos: i128) -> Self {
        Self { nanos }
    }
    pub const fn nanos(self) -> i128 {
        self.nanos
    }
    pub const fn from_integer(value: i64) -> Self {
        Self {
            nanos: (value as i128) * 1_000_000_000,
        }
    }
    pub fn parse(_text: &str) -> Result<Self, ParseQuantityError> {
        todo!()
    }
    /// Rounded up in magnitude, saturating.
    pub fn value(self) -> i64 {
        todo!()
    }
    pub fn milli_value(self) -> i64 {
        todo!()
    }
    pub fn saturating_add(self, _other: Self) -> Self {
        todo!()
    }
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }
}
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}
impl Eq for Quantity {}
impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}
#[cfg(feature = "objects")]
impl<'de> serde::Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(_deserializer: D) -> Result<Self, D::Error> {
        todo!()
    }
}
