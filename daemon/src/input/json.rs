//! JSON: documents one after another, and the objects of a List.

use super::bytes::newlines;
use super::duplicate::check_keys;
use super::header::{Header, HeaderMeta};
use super::{Input, Place, Problem, decode};
use berth_core::object::decode::{Identity, Kind};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

/// Whether a text is JSON rather than YAML: a brace, and a quoted key or nothing in it.
pub fn is_json(text: &str) -> bool {
    let inside = text.trim_start().strip_prefix('{');
    inside.is_some_and(|inside| inside.trim_start().starts_with(['"', '}']))
}

/// Reads documents until the first that is no JSON: what follows it cannot be found.
pub fn read(input: &mut Input, file: &Rc<Path>, text: &str) {
    let mut lines = Lines::new(text);
    let mut rest = text;
    for document in 1.. {
        rest = rest.trim_start();
        // As between YAML documents.
        while let Some(after) = rest.strip_prefix("---") {
            rest = after.trim_start();
        }
        if rest.is_empty() {
            return;
        }
        input.documents += 1;
        let place = Place {
            file: Some(file.clone()),
            document: Some(document),
            item: None,
            line: Some(lines.of(rest)),
        };
        if !rest.starts_with('{') {
            return input.problems.add(place, "expected an object");
        }
        let (length, shallow) = document_at(rest);
        match shallow {
            Ok(shallow) => {
                let raw = rest.get(..length).unwrap_or(rest);
                read_shallow(input, &mut lines, &place, raw, shallow, None);
            }
            Err(error) => input.problems.push(problem(&place, &error)),
        }
        if length == 0 {
            return;
        }
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// The document at the start of `text` and its length; 0 if it is no JSON.
fn document_at(text: &str) -> (usize, serde_json::Result<Shallow<'_>>) {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Shallow>();
    match documents.next() {
        Some(Ok(shallow)) => (documents.byte_offset(), Ok(shallow)),
        Some(Err(error)) => {
            // Of a wrong type, but perhaps JSON, so that what follows can be read.
            let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
            let is_json = documents.next().is_some_and(|document| document.is_ok());
            let length = if is_json { documents.byte_offset() } else { 0 };
            (length, Err(error))
        }
        None => (0, Ok(Shallow::default())),
    }
}

/// An object's header and, of a List, the entries; all else is unread.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shallow<'a> {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    metadata: Option<HeaderMeta>,
    #[serde(borrow, default)]
    items: Entries<'a>,
}

/// The entries of `items`; none if it is no list, as in a custom resource.
#[derive(Default)]
struct Entries<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Entries::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Entries::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = sequence.next_element()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

/// An entry of a List; `entry_kind` is what the List says of it.
fn read_entry<'a>(
    input: &mut Input,
    lines: &mut Lines<'a>,
    place: &Place,
    raw: &'a str,
    entry_kind: Option<&'static Kind>,
) {
    if !raw.starts_with('{') {
        return input.problems.add(place.clone(), "expected an object");
    }
    match serde_json::from_str(raw) {
        Ok(shallow) => read_shallow(input, lines, place, raw, shallow, entry_kind),
        Err(error) => input.problems.push(problem(place, &error)),
    }
}

/// One object, or the objects of a List, whose text is `raw`.
fn read_shallow<'a>(
    input: &mut Input,
    lines: &mut Lines<'a>,
    place: &Place,
    raw: &'a str,
    shallow: Shallow<'a>,
    entry_kind: Option<&'static Kind>,
) {
    let header = Header {
        api_version: shallow.api_version,
        kind: shallow.kind,
        metadata: shallow.metadata,
    };
    let header = header.or_kind(entry_kind);
    match input.identify(place, &header, entry_kind) {
        Some(Identity::Known(kind)) => {
            let object = check_keys(raw).and_then(|()| decode::text(kind, raw));
            let object = object.map_err(|error| {
                let line = error.line.unwrap_or(1);
                error.at(place, line, &header)
            });
            input.take(place, object);
        }
        Some(Identity::List(entry_kind)) => {
            for (item, raw) in (1..).zip(shallow.items.0) {
                let place = Place {
                    item: Some(item),
                    line: Some(lines.of(raw.get())),
                    ..place.clone()
                };
                read_entry(input, lines, &place, raw.get(), entry_kind);
            }
        }
        _ => {}
    }
}

/// The problem of a text that begins at `place`.
fn problem(place: &Place, error: &serde_json::Error) -> Problem {
    let place = place.line_below(error.line() as u32);
    let message = format!("column {}: {}", error.column(), decode::json_message(error));
    Problem::of_place(place, message)
}

/// Lines of parts of a text, asked for from its start to its end.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
        }
    }

    /// Line on which `part`, a slice of the text, begins.
    fn of(&mut self, part: &str) -> u32 {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        if let Some(between) = self.text.as_bytes().get(self.offset..offset) {
            self.line += newlines(between);
            self.offset = offset;
        }
        self.line
    }
}
