//! Maps of labels and amounts, read as Kubernetes reads them.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::String;
use core::fmt::{self, Formatter};
use core::marker::PhantomData;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::path::Quoted;

/// Reads a map in which no key stands twice; a `null` value is the type's default, and a `null`
/// map is empty.
pub(super) fn map<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Default + Deserialize<'de>,
{
    Ok(optional_map(deserializer)?.unwrap_or_default())
}

/// The same where absent and empty differ.
pub(super) fn optional_map<'de, D, V>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, V>>, D::Error>
where
    D: Deserializer<'de>,
    V: Default + Deserialize<'de>,
{
    deserializer.deserialize_option(Unique(PhantomData))
}

struct Unique<V>(PhantomData<V>);

impl<'de, V: Default + Deserialize<'de>> Visitor<'de> for Unique<V> {
    type Value = Option<BTreeMap<String, V>>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
        inner.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = access.next_value::<Option<V>>()?.unwrap_or_default();
            match map.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(entry) => {
                    let key = Quoted(entry.key());
                    return Err(A::Error::custom(format_args!("duplicate key {key}")));
                }
            }
        }
        Ok(Some(map))
    }
}

#[cfg(test)]
mod tests {
    use crate::object::ObjectMeta;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn b55_a_key_that_stands_twice_is_an_error() {
        let read = serde_json::from_str::<ObjectMeta>;
        let error = read(r#"{"labels": {"a": "1", "a": "1"}}"#).unwrap_err();
        assert!(
            error.to_string().starts_with("duplicate key \"a\""),
            "{error}"
        );
        let metadata = read(r#"{"labels": {"a": null, "b": "1"}}"#).unwrap();
        assert_eq!(metadata.labels["a"], "");
        assert!(read(r#"{"labels": null}"#).unwrap().labels.is_empty());
    }

    #[test]
    fn b36_a_label_value_that_is_no_text_is_an_error() {
        for value in ["1", "true", "[]"] {
            let text = format!(r#"{{"labels": {{"a": {value}}}}}"#);
            assert!(
                serde_json::from_str::<ObjectMeta>(&text).is_err(),
                "{value}"
            );
        }
    }
}
