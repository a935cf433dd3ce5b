//! From a parser's document to objects, by `apiVersion` and `kind`.
//!
//! Stage before: a face's parser, any serde [`Deserializer`]. Stage after:
//! [`prepare`](super::input::prepare). A document is read as it streams by once its `apiVersion`
//! and `kind` are known; what stands before them is kept as a [`Value`] for that long.

mod document;
mod kind;
mod maps;

pub use super::value::{Value, ValueError};
pub(super) use kind::row;
pub use kind::{Identity, KINDS, Kind, identify};

use super::Object;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use document::{Document, Header, Item, subject, take_items};
use maps::Maps;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer};

/// Reads one object whose kind is known from elsewhere; its own `kind` and `apiVersion` may be
/// missing.
///
/// `None` if `kind` is not taken in.
///
/// # Errors
///
/// Those of the deserializer, and fields that do not exist inside the blocks that scheduling
/// reads.
pub fn decode<'de, D>(kind: &str, deserializer: D) -> Result<Option<Object>, D::Error>
where
    D: Deserializer<'de>,
{
    row(kind).map(|row| object(row, deserializer)).transpose()
}

fn object<'de, D: Deserializer<'de>>(kind: &'static Kind, d: D) -> Result<Object, D::Error> {
    let d = Maps(d);
    Ok(match kind.name {
        "Node" => Object::Node(Box::deserialize(d)?),
        "Pod" => Object::Pod(Box::deserialize(d)?),
        "Namespace" => Object::Namespace(Deserialize::deserialize(d)?),
        "Service" => Object::Service(Deserialize::deserialize(d)?),
        "ReplicationController" => Object::ReplicationController(Deserialize::deserialize(d)?),
        "LimitRange" => Object::LimitRange(Deserialize::deserialize(d)?),
        "ReplicaSet" => Object::ReplicaSet(Deserialize::deserialize(d)?),
        "StatefulSet" => Object::StatefulSet(Deserialize::deserialize(d)?),
        "Deployment" => Object::Deployment(Deserialize::deserialize(d)?),
        "DaemonSet" => Object::DaemonSet(Deserialize::deserialize(d)?),
        "Job" => Object::Job(Deserialize::deserialize(d)?),
        "CronJob" => Object::CronJob(Deserialize::deserialize(d)?),
        "PriorityClass" => Object::PriorityClass(Deserialize::deserialize(d)?),
        "RuntimeClass" => Object::RuntimeClass(Deserialize::deserialize(d)?),
        "PodDisruptionBudget" => Object::PodDisruptionBudget(Deserialize::deserialize(d)?),
        "PersistentVolume" => Object::PersistentVolume(Box::deserialize(d)?),
        "PersistentVolumeClaim" => Object::PersistentVolumeClaim(Box::deserialize(d)?),
        "StorageClass" => Object::StorageClass(Deserialize::deserialize(d)?),
        "CSINode" => Object::CsiNode(Deserialize::deserialize(d)?),
        "CSIDriver" => Object::CsiDriver(Deserialize::deserialize(d)?),
        "CSIStorageCapacity" => Object::CsiStorageCapacity(Deserialize::deserialize(d)?),
        // Every kind of the table stands above but this last one.
        _ => Object::VolumeAttachment(Deserialize::deserialize(d)?),
    })
}

/// What one document holds.
///
/// Deserialize it from each document of a file. That stops at the first field of a wrong type or
/// name, with the parser's position; [`Decoded::from_value`] then finds the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// Nothing: `null`, or only comments.
    Empty,
    Object(Box<Object>),
    /// In order; a list in a list stays one.
    List(Vec<Decoded>),
    /// Of a kind that is not taken in; nothing else is kept of it.
    Foreign {
        api_version: String,
        kind: String,
    },
    /// Cannot be read as an object.
    Refused(Refused),
}

/// An object that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Kind, namespace and name as far as they are known: `Pod web/api-7`; may be empty.
    pub object: String,
    /// Path from the object's root.
    pub field: String,
    pub problem: String,
}

impl Decoded {
    /// Reads a document of which every part that can be read is to be read: what has a wrong type
    /// or an unknown field becomes [`Decoded::Refused`], and the other objects of a list stay.
    pub fn from_value(document: Value) -> Self {
        Self::each(document, None)
    }

    fn each(document: Value, inherited: Option<&'static Kind>) -> Self {
        let (document, subject) = match document {
            Value::Map(mut fields) => {
                let header = Header::of(&fields);
                if let Some(Identity::List(item_kind)) = header.identity()
                    && let Some(items) = take_items(&mut fields)
                {
                    let items = items.into_iter();
                    return Self::List(items.map(|item| Self::each(item, item_kind)).collect());
                }
                let kind = header.kind.or(inherited.map(|row| row.name.to_owned()));
                let subject = subject(&kind.unwrap_or_default(), &fields);
                (Value::Map(fields), subject)
            }
            document => (document, String::new()),
        };
        match (Document { inherited }.deserialize(document)) {
            Ok(item) => item.into_decoded(),
            Err(error) => Self::Refused(Refused {
                object: subject,
                field: error.field,
                problem: error.problem,
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Decoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let document = Document { inherited: None };
        document.deserialize(deserializer).map(Item::into_decoded)
    }
}

#[cfg(test)]
mod tests;
