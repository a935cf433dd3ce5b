//! Writing a quantity in canonical form, and what went wrong when reading one.
//!
//! Mirrors `CanonicalizeBytes` in `k8s.io/apimachinery/pkg/api/resource/quantity.go`.
//!
//! Differs from kube-scheduler: amounts beyond the largest suffix are printed in it (`1000E`,
//! `1024Ei`), where upstream leaves the suffix away and with it the factor.

use super::{Format, NANOS_PER_UNIT, ParseQuantityError, Quantity};
use core::fmt::{self, Display, Formatter};

const SUFFIXES_ABOVE_NANO: [&str; 9] = ["u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Below this, binary suffixes are not used.
const BINARY_NANOS_MIN: u128 = 1024 * NANOS_PER_UNIT;

/// Canonical form: an integer, with the largest suffix of the amount's family that loses nothing.
impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.is_negative() {
            f.write_str("-")?;
        }
        let nanos = self.nanos.unsigned_abs();
        match self.format {
            Format::BinarySi
                if nanos >= BINARY_NANOS_MIN && nanos.is_multiple_of(NANOS_PER_UNIT) =>
            {
                write_with_suffix(f, nanos / NANOS_PER_UNIT, 1024, "", &BINARY_SUFFIXES)
            }
            Format::DecimalSi | Format::BinarySi => {
                write_with_suffix(f, nanos, 1000, "n", &SUFFIXES_ABOVE_NANO)
            }
            Format::DecimalExponent => write_with_exponent(f, nanos),
        }
    }
}

/// Writes `amount`, counted in `suffix`, with the last of the `suffixes` above it, each `base` times
/// the one before, that divides it.
fn write_with_suffix(
    f: &mut Formatter<'_>,
    mut amount: u128,
    base: u128,
    mut suffix: &'static str,
    suffixes: &[&'static str],
) -> fmt::Result {
    for &larger in suffixes {
        let (true, Some(whole)) = (amount.is_multiple_of(base), amount.checked_div(base)) else {
            break;
        };
        amount = whole;
        suffix = larger;
    }
    write!(f, "{amount}{suffix}")
}

fn write_with_exponent(f: &mut Formatter<'_>, nanos: u128) -> fmt::Result {
    let (mut mantissa, mut exponent) = (nanos, -9);
    while mantissa.is_multiple_of(1000) {
        mantissa /= 1000;
        exponent = i32::saturating_add(exponent, 3);
    }
    if exponent == 0 {
        write!(f, "{mantissa}")
    } else {
        write!(f, "{mantissa}e{exponent}")
    }
}

/// Upstream's text, then the position, then what was expected where that text does not say it.
impl Display for ParseQuantityError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format { position } => write!(
                f,
                "quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' (at byte {position})"
            ),
            Self::Suffix { position } => write!(
                f,
                "unable to parse quantity's suffix (at byte {position}): expected none, n, u, m, \
                 k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or e with an integer"
            ),
            Self::Numeric { position } => write!(
                f,
                "unable to parse numeric part of quantity (at byte {position}): expected a digit"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::string::ToString;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn the_largest_suffix_that_loses_nothing_is_taken() {
        for (text, canonical) in [
            ("1.5Gi", "1536Mi"),
            ("2.5Ki", "2560"),
            ("0.1Mi", "104857600m"),
            ("1023Ki", "1023Ki"),
            ("1.0", "1"),
            ("12.001m", "12001u"),
            ("5E3", "5e3"),
            ("1500e0", "1500"),
            ("12.5e19", "125e18"),
            ("-0.5", "-500m"),
            ("-0", "0"),
            ("8Ei", "9223372036854775807"),
        ] {
            assert_eq!(parse(text).to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn amounts_beyond_the_largest_suffix_keep_it() {
        assert_eq!(parse("1000000P").to_string(), "1000E");
        let four = parse("4Ei");
        let sixteen = [four; 4]
            .into_iter()
            .fold(Quantity::ZERO, Quantity::saturating_add);
        assert_eq!(sixteen.to_string(), "16Ei");
        let kibi = [sixteen; 64]
            .into_iter()
            .fold(Quantity::ZERO, Quantity::saturating_add);
        assert_eq!(kibi.to_string(), "1024Ei");
    }

    #[test]
    fn a_sum_is_printed_as_its_first_amount_that_is_not_zero() {
        let sum = Quantity::ZERO.saturating_add(parse("1Gi"));
        assert_eq!(sum.to_string(), "1Gi");
        assert_eq!(sum.saturating_add(parse("1M")).to_string(), "1074741824");
        assert_eq!(
            parse("1M").saturating_sub(parse("1Mi")).to_string(),
            "-48576"
        );
        let below_one = parse(".0005Ki");
        assert_eq!(
            below_one.saturating_add(parse("2047.488")).to_string(),
            "2048"
        );
    }

    #[test]
    fn an_error_tells_place_and_expectation() {
        assert_eq!(
            Quantity::parse("2 cores").unwrap_err().to_string(),
            "quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' (at byte 1)"
        );
        assert_eq!(
            Quantity::parse("-").unwrap_err().to_string(),
            "unable to parse numeric part of quantity (at byte 1): expected a digit"
        );
    }
}
