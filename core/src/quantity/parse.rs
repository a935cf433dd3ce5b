//! Reading a quantity.
//!
//! Mirrors `parseQuantityString` and `ParseQuantity` in
//! `k8s.io/apimachinery/pkg/api/resource/quantity.go`, and `suffix.go` beside it.

use super::{Format, NANOS_PER_UNIT, ParseQuantityError, Quantity};

/// The most that a binary suffix can say: upstream caps these, and only these.
const BINARY_NANOS_MAX: u128 = (i64::MAX as u128) * NANOS_PER_UNIT;

/// More decimal places than `u128` has, so that moving by more changes nothing.
const PLACES_MAX: i64 = 39;

/// What a suffix says: the number before it is `unit` x 10^`exponent`.
struct Suffix {
    format: Format,
    /// In units of 10^-9, below 2^90.
    unit: u128,
    exponent: i64,
}

pub(super) fn parse(text: &str) -> Result<Quantity, ParseQuantityError> {
    let text = text.as_bytes();
    let position = |rest: &[u8]| text.len().saturating_sub(rest.len());
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (whole, rest) = split_while(unsigned, u8::is_ascii_digit);
    let (fraction, suffix) = match rest {
        [b'.', rest @ ..] => split_while(rest, u8::is_ascii_digit),
        _ => (&[][..], rest),
    };
    let unplaced = after_suffix(suffix);
    if text.is_empty() || !unplaced.is_empty() {
        return Err(ParseQuantityError::Format {
            position: position(unplaced),
        });
    }
    let Suffix {
        format,
        unit,
        exponent,
    } = read_suffix(suffix).ok_or(ParseQuantityError::Suffix {
        position: position(suffix),
    })?;
    if whole.is_empty() && fraction.is_empty() {
        return Err(ParseQuantityError::Numeric {
            position: position(unsigned),
        });
    }

    let magnitude = nanos(whole, fraction, exponent, unit);
    let (magnitude, format) = match format {
        // Below one, upstream turns to decimal suffixes for good.
        Format::BinarySi if magnitude < NANOS_PER_UNIT => (magnitude, Format::DecimalSi),
        Format::BinarySi => (magnitude.min(BINARY_NANOS_MAX), format),
        _ => (magnitude, format),
    };
    let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
    let nanos = if negative {
        magnitude.saturating_neg()
    } else {
        magnitude
    };
    Ok(Quantity { nanos, format })
}

fn split_while(text: &[u8], wanted: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|byte| !wanted(byte))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// What is left behind the longest text that has a suffix's shape: letters, sign, digits.
fn after_suffix(text: &[u8]) -> &[u8] {
    let (_, rest) = split_while(text, |byte| b"eEinumkKMGTP".contains(byte));
    let rest = match rest {
        [b'+' | b'-', rest @ ..] => rest,
        _ => rest,
    };
    split_while(rest, u8::is_ascii_digit).1
}

fn read_suffix(text: &[u8]) -> Option<Suffix> {
    let decimal = |exponent| Suffix {
        format: Format::DecimalSi,
        unit: NANOS_PER_UNIT,
        exponent,
    };
    let binary = |bits: u32| Suffix {
        format: Format::BinarySi,
        unit: NANOS_PER_UNIT << bits,
        exponent: 0,
    };
    Some(match text {
        b"n" => decimal(-9),
        b"u" => decimal(-6),
        b"m" => decimal(-3),
        b"" => decimal(0),
        b"k" => decimal(3),
        b"M" => decimal(6),
        b"G" => decimal(9),
        b"T" => decimal(12),
        b"P" => decimal(15),
        b"E" => decimal(18),
        b"Ki" => binary(10),
        b"Mi" => binary(20),
        b"Gi" => binary(30),
        b"Ti" => binary(40),
        b"Pi" => binary(50),
        b"Ei" => binary(60),
        // Differs from kube-scheduler, which goes on with the exponent's low 32 bits.
        [b'e' | b'E', exponent @ ..] => Suffix {
            format: Format::DecimalExponent,
            unit: NANOS_PER_UNIT,
            exponent: core::str::from_utf8(exponent).ok()?.parse().ok()?,
        },
        _ => return None,
    })
}

/// `whole`.`fraction` x 10^`exponent` x `unit`, rounded up and saturating.
fn nanos(whole: &[u8], fraction: &[u8], exponent: i64, unit: u128) -> u128 {
    let digits = whole
        .iter()
        .chain(fraction)
        .map(|byte| u128::from(byte & 0x0f));
    let count = whole.len().saturating_add(fraction.len());
    // How many digits stand before the point once the exponent has moved it.
    let point = (whole.len() as i64).saturating_add(exponent);
    let before = point.clamp(0, count as i64) as usize;

    let mut integer = digits.clone().take(before).fold(0_u128, |sum, digit| {
        sum.saturating_mul(10).saturating_add(digit)
    });
    for _ in 0..point.saturating_sub(count as i64).min(PLACES_MAX) {
        integer = integer.saturating_mul(10);
    }

    // From the last digit on, `part` is the floor of 0.digits x unit, and `inexact` tells
    // whether anything was cut off: exact for any number of digits.
    let mut part = 0_u128;
    let mut inexact = false;
    let mut shift = |digit: u128| {
        let tenths = digit.saturating_mul(unit).saturating_add(part);
        part = tenths / 10;
        inexact |= !tenths.is_multiple_of(10);
    };
    digits
        .rev()
        .take(count.saturating_sub(before))
        .for_each(&mut shift);
    for _ in 0..point.saturating_neg().min(PLACES_MAX) {
        shift(0);
    }

    integer
        .saturating_mul(unit)
        .saturating_add(part.saturating_add(u128::from(inexact)))
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use crate::quantity::ParseQuantityError as Error;
    use alloc::format;
    use alloc::string::String;

    fn parsed_nanos(text: &str) -> Result<i128, Error> {
        parse(text).map(Quantity::nanos)
    }

    #[test]
    fn b6_amounts_finer_than_the_unit_round_up_to_it() {
        for text in ["1e-50", "0.0000000001", "1e-9", "0.000000001", "1n", ".1n"] {
            assert_eq!(parsed_nanos(text), Ok(1), "{text}");
        }
        assert_eq!(parsed_nanos("-0.0000000001"), Ok(-1));
        assert_eq!(parsed_nanos("2.0000000001u"), Ok(2001));
        assert_eq!(parsed_nanos("0e-50"), Ok(0));
    }

    #[test]
    fn b11_what_is_no_quantity_is_refused_at_its_byte() {
        let format = |position| Err(Error::Format { position });
        let suffix = |position| Err(Error::Suffix { position });
        for (text, answer) in [
            ("", format(0)),
            ("1e", suffix(1)),
            ("NaN", format(0)),
            ("Infinity", format(0)),
            ("0x10", format(1)),
            ("1 Gi", format(1)),
            ("1KI", format(2)),
            ("1K", suffix(1)),
            ("1_000", format(1)),
            ("1,5", format(1)),
            ("１", format(0)),
            ("1.2.3", format(3)),
            ("1GiB", format(3)),
            ("-1e+", suffix(2)),
            ("1e9223372036854775808", suffix(1)),
        ] {
            assert_eq!(parsed_nanos(text), answer, "{text:?}");
        }
    }

    #[test]
    fn b12_signs_points_and_leading_zeros_are_read() {
        for (text, nanos) in [
            ("+5", 5_000_000_000),
            (".5", 500_000_000),
            ("1.", 1_000_000_000),
            ("00005", 5_000_000_000),
            ("1E", 1_000_000_000_000_000_000_000_000_000),
            ("1E3", 1_000_000_000_000),
            ("1.5Ki", 1_536_000_000_000),
            ("0.3333333333Ki", 341_333_333_300),
        ] {
            assert_eq!(parsed_nanos(text), Ok(nanos), "{text}");
        }
    }

    #[test]
    fn b13_a_text_without_digits_is_refused() {
        for (text, position) in [
            (".", 0),
            ("+", 1),
            ("-", 1),
            ("m", 0),
            ("Gi", 0),
            ("-.k", 1),
        ] {
            let answer = Err(Error::Numeric { position });
            assert_eq!(parsed_nanos(text), answer, "{text}");
        }
    }

    #[test]
    fn b14_a_text_of_a_megabyte_is_read_or_refused() {
        let nines = "9".repeat(1 << 20);
        let zeros = "0".repeat(1 << 20);
        for (text, answer) in [
            (nines.clone(), Ok(i128::MAX)),
            (zeros.clone(), Ok(0)),
            (format!("-{nines}Ki"), Ok(-(BINARY_NANOS_MAX as i128))),
            (format!("0.{nines}"), Ok(1_000_000_000)),
            (format!("1.{zeros}1Ei"), Ok((1 << 60) * 1_000_000_000 + 1)),
            (format!("{zeros}1e{zeros}3"), Ok(1_000_000_000_000)),
            (format!("1{zeros}e-1048576"), Ok(1_000_000_000)),
            (format!("0.{zeros}1e1048577"), Ok(1_000_000_000)),
            (format!("1e{nines}"), Err(Error::Suffix { position: 1 })),
            (
                format!("{nines}x"),
                Err(Error::Format { position: 1 << 20 }),
            ),
            (String::from("1e9223372036854775807"), Ok(i128::MAX)),
            (String::from("1e-9223372036854775808"), Ok(1)),
            (String::from("0e9223372036854775807"), Ok(0)),
        ] {
            let start: String = text.chars().take(20).collect();
            assert_eq!(parsed_nanos(&text), answer, "{start}");
        }
    }
}
