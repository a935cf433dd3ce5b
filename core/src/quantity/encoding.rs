//! Quantities in JSON and YAML: a text, or a bare number.
//!
//! Mirrors `UnmarshalJSON` and `MarshalJSON` in
//! `k8s.io/apimachinery/pkg/api/resource/quantity.go`.

use super::{Format, NANOS_PER_UNIT, ParseQuantityError, Quantity};
use core::fmt::{self, Formatter, Write};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How much of a text that is no quantity its error repeats.
const QUOTED_CHARACTERS_MAX: usize = 40;

/// The canonical text.
impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From a text, in which white space at both ends is ignored, a bare number, or null, which is 0.
impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity, as 2, \"100m\" or \"1.5Gi\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::parse(text.trim()).map_err(|error| refusal(text, error))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Quantity, E> {
        Ok(Quantity::from_integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Quantity, E> {
        Ok(Quantity::from_nanos(
            i128::from(value).saturating_mul(NANOS_PER_UNIT as i128),
        ))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Quantity, E> {
        let mut text = FloatText::default();
        // It fits by `FLOAT_TEXT_MAX`; if it did not, what is there would not be read as a number.
        let _ = write!(text, "{value:e}");
        let text = text.as_str();
        let mut quantity = Quantity::parse(text).map_err(|error| refusal(text, error))?;
        // The exponent is this function's, not the author's.
        quantity.format = Format::DecimalSi;
        Ok(quantity)
    }

    fn visit_unit<E: Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::ZERO)
    }
}

fn refusal<E: Error>(text: &str, error: ParseQuantityError) -> E {
    let start = text
        .char_indices()
        .nth(QUOTED_CHARACTERS_MAX)
        .map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    let cut = if start.len() < text.len() { "..." } else { "" };
    E::custom(format_args!("{start:?}{cut} is no quantity: {error}"))
}

/// Longest shortest text of an `f64`: sign, 17 digits, point, `e-308`; 24 bytes.
const FLOAT_TEXT_MAX: usize = 32;

/// The shortest decimal text of a float, written without a heap.
#[derive(Default)]
struct FloatText {
    bytes: [u8; FLOAT_TEXT_MAX],
    length: usize,
}

impl FloatText {
    fn as_str(&self) -> &str {
        let written = self.bytes.get(..self.length).unwrap_or_default();
        core::str::from_utf8(written).unwrap_or_default()
    }
}

impl Write for FloatText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn read(json: &str) -> Result<Quantity, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn texts_numbers_and_null_are_read() {
        for (json, canonical) in [
            (r#"" 1.5Gi\n""#, "1536Mi"),
            ("2", "2"),
            ("-2", "-2"),
            ("18446744073709551615", "18446744073709551615"),
            ("1.5", "1500m"),
            ("0.1", "100m"),
            ("1e3", "1k"),
            ("1e-300", "1n"),
            ("null", "0"),
        ] {
            let quantity = read(json).unwrap();
            assert_eq!(quantity.to_string(), canonical, "{json}");
        }
        assert_eq!(read("1e300").unwrap().nanos(), i128::MAX);
    }

    #[test]
    fn the_canonical_text_is_written() {
        let quantity = read(r#""0.5""#).unwrap();
        assert_eq!(serde_json::to_string(&quantity).unwrap(), r#""500m""#);
    }

    #[test]
    fn b11_an_error_shows_the_text_and_the_reason() {
        let error = read(r#""2 cores""#).unwrap_err().to_string();
        assert!(
            error.starts_with("\"2 cores\" is no quantity: quantities must"),
            "{error}"
        );
        let error = read(&serde_json::to_string(&"x".repeat(100)).unwrap()).unwrap_err();
        assert!(
            error.to_string().contains("x\"... is no quantity"),
            "{error}"
        );
        assert!(
            read("true")
                .unwrap_err()
                .to_string()
                .contains("expected a quantity")
        );
        assert!(read("[]").is_err());
        let nan = serde::de::value::F64Deserializer::<serde_json::Error>::new(f64::NAN);
        assert!(Quantity::deserialize(nan).is_err());
    }
}
