//! Durations as Go writes and reads them: `15s`, `1m30s`, `100ms`.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::num::NonZeroU64;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A signed span of time in nanoseconds; Go's `time.Duration` in a `metav1.Duration` field.
///
/// Decoded from and encoded to Go's text form. `null` is refused, as Go refuses it; optional
/// fields are `Option<Duration>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration {
    nanos: i64,
}

/// 2^63, the magnitude of the most negative duration.
const MAGNITUDE_MAX: u64 = 1 << 63;

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A duration of whole seconds, saturating.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self {
            nanos: seconds.saturating_mul(1_000_000_000),
        }
    }

    /// Its length in nanoseconds.
    pub const fn nanos(self) -> i64 {
        self.nanos
    }

    /// Reads Go's text form, with the results and error texts of `time.ParseDuration`.
    ///
    /// # Errors
    /// When the text is none, names an unknown unit, or exceeds 2^63 - 1 nanoseconds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("time: invalid duration {text:?}");
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after) = split_digits(rest);
            let (fraction, after) = match after.strip_prefix('.') {
                Some(after) => split_digits(after),
                None => ("", after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let unit_end = after
                .find(|letter: char| letter == '.' || letter.is_ascii_digit())
                .unwrap_or(after.len());
            let (name, after) = after.split_at(unit_end);
            if name.is_empty() {
                return Err(format!("time: missing unit in duration {text:?}"));
            }
            let unit = unit_nanos(name)
                .ok_or_else(|| format!("time: unknown unit {name:?} in duration {text:?}"))?;
            total = whole_number(whole)
                .and_then(|whole| whole.checked_mul(unit))
                .and_then(|nanos| nanos.checked_add(fraction_nanos(fraction, unit)))
                .and_then(|nanos| nanos.checked_add(total))
                .filter(|total| *total <= MAGNITUDE_MAX)
                .ok_or_else(invalid)?;
            rest = after;
        }
        let nanos = if negative {
            0i64.checked_sub_unsigned(total)
        } else {
            i64::try_from(total).ok()
        };
        nanos.map(|nanos| Self { nanos }).ok_or_else(invalid)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// The digits as a number up to 2^63, none of them being 0.
fn whole_number(digits: &str) -> Option<u64> {
    digits
        .bytes()
        .try_fold(0u64, |number, digit| {
            number.checked_mul(10)?.checked_add(u64::from(digit & 0x0f))
        })
        .filter(|number| *number <= MAGNITUDE_MAX)
}

/// What `0.DIGITS` of a unit is in nanoseconds, rounded as Go does; digits that no longer fit
/// into 63 bits are dropped.
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let mut number: u64 = 0;
    let mut scale = 1.0f64;
    for digit in digits.bytes() {
        if number > (MAGNITUDE_MAX - 1) / 10 {
            break;
        }
        let longer = number
            .saturating_mul(10)
            .saturating_add(u64::from(digit & 0x0f));
        if longer > MAGNITUDE_MAX {
            break;
        }
        number = longer;
        scale *= 10.0;
    }
    (number as f64 * (unit as f64 / scale)) as u64
}

fn unit_nanos(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Go's `Duration.String`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.nanos.unsigned_abs();
        if self.nanos < 0 {
            f.write_str("-")?;
        }
        match magnitude {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{magnitude}ns"),
            1_000..1_000_000 => write!(f, "{}\u{b5}s", Decimal(magnitude, 3)),
            1_000_000..1_000_000_000 => write!(f, "{}ms", Decimal(magnitude, 6)),
            _ => {
                let minutes = magnitude / 60_000_000_000;
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write!(f, "{}s", Decimal(magnitude % 60_000_000_000, 9))
            }
        }
    }
}

/// A number with so many decimal places, zeros at the end left out.
struct Decimal(u64, u32);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, places) = *self;
        let one = NonZeroU64::new(10u64.saturating_pow(places)).unwrap_or(NonZeroU64::MIN);
        let width = places as usize;
        write!(f, "{}", number / one)?;
        match number % one {
            0 => Ok(()),
            fraction => {
                let digits = format!("{fraction:0width$}");
                write!(f, ".{}", digits.trim_end_matches('0'))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Duration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"15s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
                Duration::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Duration;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn texts_are_written_as_go_writes_them() {
        // Made with Go 1.26: time.ParseDuration and Duration.String.
        for (text, written) in [
            ("0", "0s"),
            ("15s", "15s"),
            ("90s", "1m30s"),
            ("1h", "1h0m0s"),
            ("600s", "10m0s"),
            ("100ms", "100ms"),
            ("1.5s", "1.5s"),
            ("0.1s", "100ms"),
            ("1500us", "1.5ms"),
            ("1500ns", "1.5\u{b5}s"),
            ("3\u{3bc}s", "3\u{b5}s"),
            ("-1.5h", "-1h30m0s"),
            ("+.5m", "30s"),
            ("1h2m3.004005006s", "1h2m3.004005006s"),
            ("2540400h10m10.000000001s", "2540400h10m10.000000001s"),
            ("9223372036854775807ns", "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ] {
            let duration = Duration::parse(text).expect(text);
            assert_eq!(duration.to_string(), written, "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused_in_its_words() {
        for (text, error) in [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            (".s", "time: invalid duration \".s\""),
            ("s", "time: invalid duration \"s\""),
            (" 1s", "time: invalid duration \" 1s\""),
            ("3", "time: missing unit in duration \"3\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1s ", "time: unknown unit \"s \" in duration \"1s \""),
            (
                "9223372036854775808ns",
                "time: invalid duration \"9223372036854775808ns\"",
            ),
            (
                "99999999999999999999s",
                "time: invalid duration \"99999999999999999999s\"",
            ),
        ] {
            assert_eq!(Duration::parse(text), Err(error.to_string()));
        }
    }

    proptest! {
        #[test]
        fn any_duration_is_read_back_from_its_text(nanos: i64) {
            let duration = Duration { nanos };
            prop_assert_eq!(Duration::parse(&duration.to_string()), Ok(duration));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[-+]?([0-9]{0,25}(\\.[0-9]{0,25})?[a-z]{0,2}){0,4}") {
            let _ = Duration::parse(&text);
        }
    }
}
