//! `SimKube` traces, in JSON and in MessagePack (`.sktrace`): whole objects that were applied and
//! deleted, with the second in which that was.
//!
//! Times count from the first event. After the last one, time passes until nothing can wake a pod.
//! What the trace says of single pods' lives is not replayed.

use super::Trace;
use crate::input::{Place, Problem, decode};
use crate::world::{Put, Step};
use berth_core::object::decode::Value;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use std::path::Path;

#[derive(Deserialize)]
struct File {
    events: Vec<Event>,
    #[serde(default)]
    pod_lifecycles: Entries,
}

/// How many entries a map has, whatever they are.
#[derive(Default)]
struct Entries(usize);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;
        impl<'de> Visitor<'de> for Count {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut count = 0;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Entries(count))
            }
        }
        deserializer.deserialize_map(Count)
    }
}

#[derive(Deserialize)]
struct Event {
    /// Seconds since 1970.
    ts: i64,
    #[serde(default)]
    applied_objs: Vec<Value>,
    #[serde(default)]
    deleted_objs: Vec<Value>,
}

/// Whether a file begins as a MessagePack map does.
pub(super) fn is_packed(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(0x80..=0x8f | 0xde | 0xdf))
}

/// Whether a text is a trace rather than steps: its only value has a list of events.
pub(super) fn is_json(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "events")]
        _events: Vec<IgnoredAny>,
    }
    serde_json::from_str::<Head>(text).is_ok()
}

pub(super) fn read_packed(trace: &mut Trace, path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let file = rmp_serde::from_slice(bytes).map_err(|error| {
        let message = format!("is no SimKube trace: {error}");
        Problem::of_place(Place::file(path), message)
    })?;
    read(trace, path, file);
    Ok(())
}

pub(super) fn read_json(trace: &mut Trace, path: &Path, text: &str) -> Result<(), Problem> {
    let file = serde_json::from_str(text).map_err(|error| {
        let place = Place::file(path).at_line(error.line() as u32);
        let message = format!(
            "column {}: {}",
            error.column(),
            decode::json_message(&error)
        );
        Problem::of_place(place, message)
    })?;
    read(trace, path, file);
    Ok(())
}

fn read(trace: &mut Trace, path: &Path, file: File) {
    let first = file.events.first().map_or(0, |event| event.ts);
    let mut last = first;
    for (event, number) in file.events.into_iter().zip(1..) {
        let place = Place {
            document: Some(number),
            ..Place::file(path)
        };
        if event.ts < last {
            let message = format!("event of second {} after one of {last}", event.ts);
            trace.problems.add(place.clone(), message);
        }
        last = event.ts.max(last);
        let seconds = u64::try_from(last.saturating_sub(first)).unwrap_or(0);
        trace.steps.push(Step::Until(seconds.saturating_mul(1000)));
        let mut objects = Vec::new();
        for (object, item) in event.applied_objs.into_iter().zip(1..) {
            let place = Place {
                item: Some(item),
                ..place.clone()
            };
            if let Some((api_version, kind)) = head(trace, &place, &object)
                && let Some(kind) = trace.kind(Some(&api_version), &kind, &place)
            {
                trace.check(&mut objects, &place, decode::tree(kind, object));
            }
        }
        if !objects.is_empty() {
            trace.steps.push(Step::Put {
                how: Put::Apply,
                objects,
                runs: None,
            });
        }
        for object in &event.deleted_objs {
            let Some((api_version, kind)) = head(trace, &place, object) else {
                continue;
            };
            let Some(kind) = trace.kind(Some(&api_version), &kind, &place) else {
                continue;
            };
            let metadata = field(object, "metadata");
            let text = |name| metadata.and_then(|metadata| text(metadata, name));
            let name = text("name").unwrap_or_default();
            let namespace = text("namespace").unwrap_or_else(|| "default".to_owned());
            let namespace = if kind.namespaced {
                namespace
            } else {
                String::new()
            };
            let key = (kind.name, namespace, name);
            trace.steps.push(Step::Delete(key));
        }
    }
    trace.steps.push(Step::RunOut);
    if file.pod_lifecycles.0 > 0 {
        let note = "the trace's pod_lifecycles are not replayed: pods run until they are deleted";
        trace.notes.push(note.to_owned());
    }
}

/// `apiVersion` and `kind`; a problem if one is missing.
fn head(trace: &mut Trace, place: &Place, object: &Value) -> Option<(String, String)> {
    let head = text(object, "apiVersion").zip(text(object, "kind"));
    if head.is_none() {
        trace
            .problems
            .add(place.clone(), "an object without apiVersion or kind");
    }
    head
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Map(fields) => fields.get(name),
        _ => None,
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    match field(value, name) {
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    }
}
