//! Kubernetes quantities, exact.
//!
//! Stage before: the text or number of an object's field. Stage after: whole units
//! ([`Quantity::value`]) or thousandths of them ([`Quantity::milli_value`]), which the rules count
//! in. Reading is in `parse`, writing in `print`, both for objects in `encoding`.
//!
//! Mirrors `k8s.io/apimachinery/pkg/api/resource/quantity.go`.
//!
//! Differs from kube-scheduler: sums and conversions saturate, where upstream wraps or gives 0
//! beyond 64 bits, so that no request is ever too large to be refused; negative amounts round away
//! from zero in every size; and a text is printed in canonical form even where upstream repeats
//! one that is not (`1.500`, `+5e3`).

#[cfg(feature = "objects")]
mod encoding;
mod parse;
mod print;

use core::cmp::Ordering;
use core::hash::{Hash, Hasher};

/// Units of 10^-9 in a whole one.
const NANOS_PER_UNIT: u128 = 1_000_000_000;

/// Units of 10^-9 in a thousandth.
const NANOS_PER_MILLI: u128 = 1_000_000;

/// An amount in exact units of 10^-9, saturating at the limits of `i128`.
///
/// Equality, order and hash are of the amount alone; how it was written (`1Ki`, `1024`) only
/// decides how it is printed.
///
/// ```
/// use berth_core::Quantity;
///
/// let memory = Quantity::parse("1.5Gi")?;
/// assert_eq!(memory.value(), 1_610_612_736);
/// assert!(memory > Quantity::parse("1.5G")?);
/// # Ok::<(), berth_core::quantity::ParseQuantityError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// The family of suffixes that an amount was written with.
#[derive(Clone, Copy, Debug, Default)]
enum Format {
    /// `n`, `u`, `m`, none, `k`, `M`, `G`, `T`, `P`, `E`: powers of 1000.
    #[default]
    DecimalSi,
    /// `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`: powers of 1024.
    BinarySi,
    /// `e` and a power of ten.
    DecimalExponent,
}

/// Why a text is no quantity. Each position is a byte's, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseQuantityError {
    /// Nothing at all, or a character that belongs to no quantity.
    Format { position: usize },
    /// What follows the number is no known suffix; the position is where it begins.
    Suffix { position: usize },
    /// There is no digit; the position is where the first was expected.
    ///
    /// Differs from kube-scheduler, which reads `.`, `-` and `m` as 0.
    Numeric { position: usize },
}

impl Quantity {
    pub const ZERO: Self = Self::from_nanos(0);

    /// `nanos` units of 10^-9.
    pub const fn from_nanos(nanos: i128) -> Self {
        Self {
            nanos,
            format: Format::DecimalSi,
        }
    }

    /// The amount in units of 10^-9.
    pub const fn nanos(self) -> i128 {
        self.nanos
    }

    /// `value` whole units.
    pub const fn from_integer(value: i64) -> Self {
        Self::from_nanos((value as i128).saturating_mul(NANOS_PER_UNIT as i128))
    }

    /// Reads a quantity as Kubernetes writes it: `2`, `100m`, `1.5Gi`, `1e3`.
    ///
    /// Amounts finer than 10^-9 round up in magnitude; those with a binary suffix are at most
    /// 2^63 - 1, as upstream; others saturate. White space is not trimmed. The time is linear in
    /// the text, whatever its exponent.
    ///
    /// # Errors
    ///
    /// [`ParseQuantityError`], with the position, if the text is no quantity.
    pub fn parse(text: &str) -> Result<Self, ParseQuantityError> {
        parse::parse(text)
    }

    /// Whole units, rounded up in magnitude, saturating.
    pub fn value(self) -> i64 {
        self.rounded_up(NANOS_PER_UNIT)
    }

    /// Thousandths of a unit, rounded up in magnitude, saturating.
    pub fn milli_value(self) -> i64 {
        self.rounded_up(NANOS_PER_MILLI)
    }

    fn rounded_up(self, nanos_per_step: u128) -> i64 {
        let steps = self.nanos.unsigned_abs().div_ceil(nanos_per_step);
        let steps = i128::try_from(steps).unwrap_or(i128::MAX);
        if self.is_negative() {
            i64::try_from(steps.saturating_neg()).unwrap_or(i64::MIN)
        } else {
            i64::try_from(steps).unwrap_or(i64::MAX)
        }
    }

    /// The sum, at most what `i128` holds. A zero takes the other's way of printing.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            format: self.format_with(other),
        }
    }

    /// The difference, within what `i128` holds. A zero takes the other's way of printing.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            format: self.format_with(other),
        }
    }

    const fn format_with(self, other: Self) -> Format {
        if self.is_zero() {
            other.format
        } else {
            self.format
        }
    }

    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether the amount is below zero, which Kubernetes forbids nearly everywhere.
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
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

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl ParseQuantityError {
    /// The byte of the text at which reading failed.
    pub const fn position(self) -> usize {
        match self {
            Self::Format { position } | Self::Suffix { position } | Self::Numeric { position } => {
                position
            }
        }
    }
}

impl core::error::Error for ParseQuantityError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn whole_units_and_thousandths_round_away_from_zero() {
        for (text, value, milli) in [
            ("0", 0, 0),
            ("1n", 1, 1),
            ("1.1", 2, 1100),
            ("1.0001m", 1, 2),
            ("0.1Mi", 104_858, 104_857_600),
            ("-1.5", -2, -1500),
            ("-1n", -1, -1),
        ] {
            let quantity = parse(text);
            assert_eq!(
                (quantity.value(), quantity.milli_value()),
                (value, milli),
                "{text}"
            );
        }
    }

    #[test]
    fn b1_b2_amounts_beyond_64_bits_saturate() {
        for text in [
            "9.3E",
            "1e19",
            "1e30",
            "9223372036854775808",
            "12345678901234567890123456",
            "50E",
            "16Ei",
        ] {
            assert_eq!(parse(text).value(), i64::MAX, "{text}");
        }
        for text in ["1e16", "18446744073709551616", "9223372036854775807", "8Ei"] {
            assert_eq!(parse(text).milli_value(), i64::MAX, "{text}");
        }
        assert_eq!(parse("-1e30").value(), i64::MIN);
        assert_eq!(parse("9E").value(), 9_000_000_000_000_000_000);
        assert_eq!(parse("9E").milli_value(), i64::MAX);
    }

    #[test]
    fn b3_sums_stay_exact_beyond_64_bits_and_then_saturate() {
        let quarter = parse("4611686018427387904");
        let sum = [quarter; 4]
            .into_iter()
            .fold(Quantity::ZERO, Quantity::saturating_add);
        assert_eq!(sum.nanos(), (1 << 64) * 1_000_000_000);
        assert_eq!(sum.value(), i64::MAX);
        assert_eq!(
            sum.saturating_sub(quarter).saturating_sub(quarter),
            parse("9223372036854775808")
        );

        let most = Quantity::from_nanos(i128::MAX);
        assert_eq!(most.saturating_add(most), most);
        let least = Quantity::from_nanos(i128::MIN);
        assert_eq!(least.saturating_sub(most), least);
        assert_eq!((least.value(), least.milli_value()), (i64::MIN, i64::MIN));
    }

    #[test]
    fn order_and_equality_are_of_the_amount_alone() {
        assert_eq!(parse("1Ki"), parse("1024"));
        assert_eq!(parse("1e3"), parse("1k"));
        assert!(parse("1Ki") > parse("1k"));
        assert!(parse("1n") > Quantity::ZERO);
        assert!(parse("-1").is_negative());
    }
}
