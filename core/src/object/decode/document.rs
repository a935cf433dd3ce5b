//! One document as it streams by.

use super::kind::{Identity, Kind, identify, row};
use super::{Decoded, Refused, object};
use crate::object::path::{Quoted, Segment};
use crate::object::value::{Map, Value, ValueError};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Formatter};
use serde::Deserializer;
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{
    DeserializeSeed, Error as _, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

pub(super) type Fields = BTreeMap<String, Value>;

/// The elements of the field `items`, if it is a list.
pub(super) fn take_items(fields: &mut Fields) -> Option<Vec<Value>> {
    match fields.get_mut("items") {
        Some(Value::List(items)) => Some(core::mem::take(items)),
        _ => None,
    }
}

/// The text of a field, if it is there and is one.
fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    match fields.get(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Kind, namespace and name, as far as they are there.
pub(super) fn subject(kind: &str, fields: &Fields) -> String {
    let of_metadata = |name| match fields.get("metadata") {
        Some(Value::Map(metadata)) => text(metadata, name).unwrap_or_default(),
        _ => "",
    };
    crate::object::subject(kind, of_metadata("namespace"), of_metadata("name"))
}

/// `apiVersion` and `kind`, as far as they have come by.
#[derive(Default)]
pub(super) struct Header {
    pub(super) api_version: Option<String>,
    pub(super) kind: Option<String>,
}

impl Header {
    pub(super) fn of(fields: &Fields) -> Self {
        Self {
            api_version: text(fields, "apiVersion").map(str::to_owned),
            kind: text(fields, "kind").map(str::to_owned),
        }
    }

    pub(super) fn identity(&self) -> Option<Identity> {
        Some(identify(
            self.api_version.as_deref()?,
            self.kind.as_deref()?,
        ))
    }

    /// Whether an item of a list of this kind says the same of itself, or nothing.
    fn is_of_list(&self, kind: &Kind) -> Result<(), ValueError> {
        for (field, given, expected) in [
            ("kind", &self.kind, kind.name),
            ("apiVersion", &self.api_version, kind.api_version),
        ] {
            if let Some(given) = given {
                agree(field, given, expected)?;
            }
        }
        Ok(())
    }

    /// What to say of a document that is no object of a known kind.
    fn verdict(self, fields: &Fields) -> Decoded {
        let refused = |kind: &str, field: &str, problem| {
            Decoded::Refused(Refused {
                object: subject(kind, fields),
                field: field.to_owned(),
                problem,
            })
        };
        let Some(kind) = self.kind else {
            return refused("", "kind", "is missing; write for example Pod".to_owned());
        };
        let Some(api_version) = self.api_version else {
            let expected = row(&kind).map_or("v1", |row| row.api_version);
            let problem = format!("is missing; write for example {expected}");
            return refused(&kind, "apiVersion", problem);
        };
        match identify(&api_version, &kind) {
            Identity::WrongVersion(expected) => {
                let version = Quoted(&api_version);
                let problem = format!("{version} is no version that is read; write {expected}");
                refused(&kind, "apiVersion", problem)
            }
            _ => Decoded::Foreign { api_version, kind },
        }
    }
}

/// A document or item, or its fields if nothing has said yet what it is.
pub(super) enum Item {
    Read(Decoded),
    Kept(Header, Fields),
}

impl Item {
    pub(super) fn into_decoded(self) -> Decoded {
        match self {
            Self::Read(decoded) => decoded,
            Self::Kept(header, fields) => header.verdict(&fields),
        }
    }
}

/// One document, or one item of a list that says what its items are.
#[derive(Clone, Copy)]
pub(super) struct Document {
    pub(super) inherited: Option<&'static Kind>,
}

impl<'de> DeserializeSeed<'de> for Document {
    type Value = Item;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document {
    type Value = Item;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item::Read(Decoded::Empty))
    }

    fn visit_none<E>(self) -> Result<Item, E> {
        Ok(Item::Read(Decoded::Empty))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Item, D::Error> {
        self.deserialize(inner)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        let read = |object| Item::Read(Decoded::Object(Box::new(object)));
        if let Some(kind) = self.inherited {
            return object(kind, MapAccessDeserializer::new(Entry { map, kind })).map(read);
        }
        let mut header = Header::default();
        let mut before = Fields::new();
        let mut items = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => header.api_version = map.next_value()?,
                "kind" => header.kind = map.next_value()?,
                "items" => items = map.next_value_seed(Items { kind: None })?,
                _ => {
                    before.insert(key, map.next_value()?);
                }
            }
            match header.identity() {
                // After a wrong version, what follows is read only for the object's name.
                None | Some(Identity::WrongVersion(_)) => {}
                Some(Identity::Known(kind)) => {
                    let fields = Chained {
                        before: Map::new(before),
                        rest: map,
                        in_rest: false,
                    };
                    return object(kind, MapAccessDeserializer::new(fields)).map(read);
                }
                Some(Identity::List(kind)) => {
                    return list(kind, items, map).map(Item::Read);
                }
                Some(Identity::Foreign) => {
                    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                    break;
                }
            }
        }
        Ok(Item::Kept(header, before))
    }
}

/// The rest of a list, after its kind is known.
fn list<'de, A: MapAccess<'de>>(
    kind: Option<&'static Kind>,
    mut items: Vec<Item>,
    mut map: A,
) -> Result<Decoded, A::Error> {
    while let Some(key) = map.next_key::<String>()? {
        if key == "items" {
            items = map.next_value_seed(Items { kind })?;
        } else {
            map.next_value::<IgnoredAny>()?;
        }
    }
    let items = items.into_iter().enumerate();
    let items = items.map(|(index, item)| {
        let item = match (item, kind) {
            // The kind stood behind the items.
            (Item::Kept(header, fields), Some(kind)) => header
                .is_of_list(kind)
                .and_then(|()| object(kind, Value::Map(fields)))
                .map(|object| Decoded::Object(Box::new(object))),
            (Item::Read(Decoded::Object(object)), Some(kind)) => {
                agree("kind", object.kind(), kind.name).map(|()| Decoded::Object(object))
            }
            (item, _) => Ok(item.into_decoded()),
        };
        item.map_err(|error| error.below(Segment::Index(index)))
    });
    items
        .collect::<Result<_, ValueError>>()
        .map(Decoded::List)
        .map_err(|error| A::Error::custom(error.below(Segment::Key("items"))))
}

/// The items of a list, whose kind may not have come by yet.
struct Items {
    kind: Option<&'static Kind>,
}

impl<'de> DeserializeSeed<'de> for Items {
    type Value = Vec<Item>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Item>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items {
    type Value = Vec<Item>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_unit<E>(self) -> Result<Vec<Item>, E> {
        Ok(Vec::new())
    }

    fn visit_none<E>(self) -> Result<Vec<Item>, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Vec<Item>, D::Error> {
        self.deserialize(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Item>, A::Error> {
        let item = Document {
            inherited: self.kind,
        };
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(item)? {
            items.push(item);
        }
        Ok(items)
    }
}

/// Whether an item says what its list says.
fn agree(field: &str, given: &str, expected: &str) -> Result<(), ValueError> {
    if given == expected {
        return Ok(());
    }
    Err(ValueError {
        field: field.to_owned(),
        problem: format!(
            "{} in a list of {expected}; write {expected} or leave it out",
            Quoted(given)
        ),
    })
}

/// The fields of an item whose list says its kind.
struct Entry<A> {
    map: A,
    kind: &'static Kind,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entry<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<String>()? {
            let expected = match key.as_str() {
                "kind" => self.kind.name,
                "apiVersion" => self.kind.api_version,
                _ => {
                    let key: StringDeserializer<A::Error> = key.into_deserializer();
                    return seed.deserialize(key).map(Some);
                }
            };
            if let Some(given) = self.map.next_value::<Option<String>>()? {
                agree(&key, &given, expected).map_err(A::Error::custom)?;
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// The fields that were kept, then those that still stream by.
struct Chained<A> {
    before: Map,
    rest: A,
    in_rest: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Chained<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        if let Some(key) = self.before.next_key::<String>().map_err(A::Error::custom)? {
            let key: StringDeserializer<A::Error> = key.into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        self.in_rest = true;
        self.rest.next_key_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        if self.in_rest {
            self.rest.next_value_seed(seed)
        } else {
            self.before.next_value_seed(seed).map_err(A::Error::custom)
        }
    }
}
