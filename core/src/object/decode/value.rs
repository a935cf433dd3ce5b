//! Any document as a tree, for what must be looked at before it can be read as a type.

use crate::object::path::Segment;
use alloc::string::{String, ToString};
use alloc::vec::{self, Vec};
use core::fmt::{self, Display, Formatter};
use serde::de::value::StringDeserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

/// JSON's data model; maps keep their order and their duplicate keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    String(String),
    Seq(Vec<Value>),
    Map(Vec<(String, Value)>),
}

/// What did not fit the type, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// Path of the field from the value's root; empty for the root itself.
    pub field: String,
    pub problem: String,
}

impl ValueError {
    pub(super) fn under(mut self, segment: Segment<'_>) -> Self {
        let mut field = String::new();
        // Writing to a String cannot fail.
        let _ = segment.write(&mut field, true);
        if !self.field.is_empty() && !self.field.starts_with('[') {
            field.push('.');
        }
        field.push_str(&self.field);
        self.field = field;
        self
    }
}

impl Display for ValueError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "{}: {}", self.field, self.problem)
        }
    }
}

impl core::error::Error for ValueError {}

impl de::Error for ValueError {
    fn custom<T: Display>(problem: T) -> Self {
        Self {
            field: String::new(),
            problem: problem.to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tree;

        impl<'de> Visitor<'de> for Tree {
            type Value = Value;

            fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
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

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Unsigned(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Signed(value))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::String(value.into()))
            }

            fn visit_string<E>(self, value: String) -> Result<Value, E> {
                Ok(Value::String(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = seq.next_element()? {
                    elements.push(element);
                }
                Ok(Value::Seq(elements))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Value::Map(entries))
            }
        }

        deserializer.deserialize_any(Tree)
    }
}

impl<'de> Deserializer<'de> for Value {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Float(value) => visitor.visit_f64(value),
            Self::String(value) => visitor.visit_string(value),
            Self::Seq(elements) => visitor.visit_seq(Elements {
                elements: elements.into_iter(),
                index: 0,
            }),
            Self::Map(entries) => visitor.visit_map(Entries::new(entries)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Self::Null => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The elements of a list that are still to be read.
struct Elements {
    elements: vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some(element) = self.elements.next() else {
            return Ok(None);
        };
        let index = self.index;
        self.index = index.saturating_add(1);
        seed.deserialize(element)
            .map(Some)
            .map_err(|error| error.under(Segment::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len())
    }
}

/// The entries of a map that are still to be read.
pub(super) struct Entries {
    entries: vec::IntoIter<(String, Value)>,
    value: Option<(String, Value)>,
}

impl Entries {
    pub(super) fn new(entries: Vec<(String, Value)>) -> Self {
        Self {
            entries: entries.into_iter(),
            value: None,
        }
    }

    /// Steps to the next entry and gives its key.
    pub(super) fn next_name(&mut self) -> Option<String> {
        self.value = self.entries.next();
        self.value.as_ref().map(|(key, _)| key.clone())
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        let Some(name) = self.next_name() else {
            return Ok(None);
        };
        let name: StringDeserializer<ValueError> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ValueError> {
        // `None` only if a visitor asks for a value without having asked for its key.
        let (key, value) = self.value.take().unwrap_or((String::new(), Value::Null));
        seed.deserialize(value)
            .map_err(|error| error.under(Segment::Key(&key)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}
