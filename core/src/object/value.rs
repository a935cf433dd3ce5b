//! A decoded value of no particular type, from which typed ones are decoded.
//!
//! What stands before the name of its type waits as a value: a plugin's args before the plugin,
//! an object's fields before its kind. Args of plugins that have none stay values.

use super::path::Segment;
use alloc::collections::{BTreeMap, btree_map};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::{self, Vec};
use core::fmt;
use core::iter::Enumerate;
use serde::de::{self, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer, forward_to_deserialize_any};

/// Any value of JSON. Maps are sorted, since kube-scheduler writes them so, and have no key twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Absent or `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number up to 2^63 - 1.
    Signed(i64),
    /// A whole number from 2^63.
    Unsigned(u64),
    /// Any other number.
    Float(f64),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Value>),
    /// A map.
    Map(BTreeMap<String, Value>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_none<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Value, D::Error> {
                Value::deserialize(inner)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Signed(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(i64::try_from(value).map_or(Value::Unsigned(value), Value::Signed))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::String(value.to_string()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Value::List(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    if entries.contains_key(&key) {
                        return Err(A::Error::custom(format!("duplicate field `{key}`")));
                    }
                    entries.insert(key, map.next_value()?);
                }
                Ok(Value::Map(entries))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Signed(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::String(value) => serializer.serialize_str(value),
            Self::List(values) => serializer.collect_seq(values),
            Self::Map(entries) => serializer.collect_map(entries),
        }
    }
}

/// The value as compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Signed(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::String(value) => write!(f, "{value:?}"),
            Self::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str("]")
            }
            Self::Map(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{key:?}:{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Why a [`Value`] is not of a type, and at which field of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// Path of the field from the value; empty for the value itself.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

impl ValueError {
    /// The same error, seen from the value that has the failing one at `segment`.
    pub(super) fn below(self, segment: Segment<'_>) -> Self {
        let mut field = String::new();
        // Writing to a String does not fail.
        let _ = segment.write(&mut field, true);
        if !self.field.is_empty() && !self.field.starts_with('[') {
            field.push('.');
        }
        field.push_str(&self.field);
        Self { field, ..self }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.problem)
    }
}

impl core::error::Error for ValueError {}

impl de::Error for ValueError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self {
            field: String::new(),
            problem: problem.to_string(),
        }
    }

    /// Says in words of JSON what was expected, where serde has those of Rust.
    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = expected.to_string();
        let expected = in_json(&expected);
        match found {
            de::Unexpected::Unit => {
                Self::custom(format_args!("invalid type: null, expected {expected}"))
            }
            de::Unexpected::Seq => {
                Self::custom(format_args!("invalid type: list, expected {expected}"))
            }
            found => Self::custom(format_args!("invalid type: {found}, expected {expected}")),
        }
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = expected.to_string();
        let expected = in_json(&expected);
        Self::custom(format_args!("invalid value: {found}, expected {expected}"))
    }

    /// Names the field itself, not the object that it stands in.
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let problem = match expected {
            [] => Self::custom("unknown field; none is expected here"),
            [only] => Self::custom(format_args!("unknown field, expected `{only}`")),
            [most @ .., last] => {
                let most = most.join("`, `");
                Self::custom(format_args!("unknown field, expected `{most}` or `{last}`"))
            }
        };
        problem.below(Segment::Key(field))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom("is missing").below(Segment::Key(field))
    }
}

/// What serde says that it expects, without Rust's names of types.
fn in_json(expected: &str) -> &str {
    match expected {
        "i32" => "a whole number of 32 bits",
        "i64" => "a whole number of 64 bits",
        "f32" => "a number",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a map",
        other => other,
    }
}

impl<'de> Deserializer<'de> for Value {
    type Error = ValueError;

    fn deserialize_any<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Float(value) => visitor.visit_f64(value),
            Self::String(value) => visitor.visit_string(value),
            Self::List(values) => visitor.visit_seq(List {
                values: values.into_iter().enumerate(),
            }),
            Self::Map(entries) => visitor.visit_map(Map::new(entries)),
        }
    }

    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Self::Null => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: de::Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: de::Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self {
            // Derived visitors would read the fields from it in their order.
            Self::List(_) => Err(ValueError::invalid_type(de::Unexpected::Seq, &visitor)),
            value => value.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct List {
    values: Enumerate<vec::IntoIter<Value>>,
}

impl<'de> SeqAccess<'de> for List {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some((index, value)) = self.values.next() else {
            return Ok(None);
        };
        seed.deserialize(value)
            .map(Some)
            .map_err(|error| error.below(Segment::Index(index)))
    }
}

/// The entries of a map that are still to be read.
pub(super) struct Map {
    entries: btree_map::IntoIter<String, Value>,
    /// The entry whose key was given last.
    value: Option<(String, Value)>,
}

impl Map {
    pub(super) fn new(entries: BTreeMap<String, Value>) -> Self {
        Self {
            entries: entries.into_iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Map {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        self.value = self.entries.next();
        match &self.value {
            None => Ok(None),
            Some((key, _)) => seed.deserialize(key.as_str().into_deserializer()).map(Some),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, ValueError> {
        let (key, value) = self.value.take().unwrap_or_default();
        seed.deserialize(value)
            .map_err(|error| error.below(Segment::Key(&key)))
    }
}
