//! Keys that occur twice in a JSON map, which serde's maps would take in silence.

use super::decode::DecodeError;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// Maps up to this size are searched from end to end, which is faster than a set.
const LINEAR_MAX: usize = 16;

/// Refuses an object in which a map has a key twice.
pub fn check_keys(text: &str) -> Result<(), DecodeError> {
    serde_json::from_str::<Unique>(text)
        .map(|_| ())
        .map_err(|error| DecodeError::of_json(&error))
}

/// Any value whose maps have each key once.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut few: Vec<Cow<'de, str>> = Vec::new();
        let mut many: BTreeSet<Cow<'de, str>> = BTreeSet::new();
        while let Some(Key(key)) = map.next_key()? {
            if few.contains(&key) || many.contains(&key) {
                return Err(de::Error::custom(format_args!("duplicate key {key:?}")));
            }
            // Bookkeeping of the API server, long and never read.
            if key == "managedFields" {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value::<Self>()?;
            }
            if few.len() < LINEAR_MAX {
                few.push(key);
            } else {
                many.insert(key);
            }
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self, A::Error> {
        while sequence.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::check_keys;

    #[test]
    fn a_key_twice_is_found_at_any_depth_and_however_it_is_written() {
        assert!(check_keys(r#"{"a":[{"b":{"x":1,"\u0078":2}}]}"#).is_err());
        let many: Vec<_> = (0..40).map(|n| format!("\"k{n}\":0")).collect();
        assert!(check_keys(&format!("{{{},\"k39\":1}}", many.join(","))).is_err());
    }

    #[test]
    fn equal_keys_of_different_maps_are_fine() {
        assert!(check_keys(r#"{"a":{"a":null},"b":[{"a":1.5},{"a":-1}]}"#).is_ok());
    }
}
