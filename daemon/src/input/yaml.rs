//! YAML: documents between `---` lines, and the objects of a List.
//!
//! A document becomes a tree of JSON values first, so that scalars mean what they mean to
//! kubectl (YAML 1.1: `yes` is a boolean, `0755` is octal) whatever type a field has.

use super::header::Header;
use super::tree::{Node, Tree};
use super::{Input, Place, Problem, decode};
use berth_core::object::decode::{Identity, Kind, Value};
use serde::Deserialize;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, MessageFormatter, UserMessageFormatter};
use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;

/// Bytes of a YAML file; a document's tree takes about ten times its text.
const YAML_BYTES_MAX: usize = 256 << 20;
/// Levels of maps and lists.
const DEPTH_MAX: usize = 128;
/// Bytes to which anchors may blow up a document.
const EXPANSION_BYTES_MAX: usize = 1 << 30;
/// Values that anchors may add to a document.
const EXPANSION_VALUES_MAX: usize = 1_000_000;

/// Reads every document, also those after a bad one.
pub fn read(input: &mut Input, file: &Rc<Path>, text: &str) {
    if text.len() > YAML_BYTES_MAX {
        let message = format!(
            "more than {} MiB of YAML; split the file or write it as JSON",
            YAML_BYTES_MAX >> 20
        );
        return input.problems.add(Place::file(file), message);
    }
    let mut number = 0;
    for (line, text) in documents(text) {
        if text.lines().all(is_blank) {
            continue;
        }
        number += 1;
        input.documents += 1;
        let place = Place {
            file: Some(file.clone()),
            document: Some(number),
            item: None,
            line: Some(line),
        };
        match parse(text) {
            // A tree of nothing, as `~`.
            Ok(Tree {
                node: Node::Scalar(Value::Null),
                ..
            }) => {}
            Ok(tree) => {
                let document = Document {
                    text,
                    start: &place,
                };
                let place = place.line_below(tree.line);
                read_object(input, document, &place, &tree, None);
            }
            Err(error) => input.problems.push(problem(&place, &error)),
        }
    }
}

/// The documents with their first lines. A `---` line begins one, and stays with it.
fn documents(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let mut rest = Some(text);
    let mut line = 1;
    std::iter::from_fn(move || {
        let text = rest?;
        let mut end = text.len();
        let mut offset = 0;
        for part in text.split_inclusive('\n') {
            if offset > 0 && is_marker(part) {
                end = offset;
                break;
            }
            offset += part.len();
        }
        let (document, after) = text.split_at(end);
        let first = line;
        line += document.matches('\n').count() as u32;
        rest = (!after.is_empty()).then_some(after);
        Some((first, document))
    })
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|after| after.is_empty() || after.starts_with([' ', '\t', '\r', '\n']))
}

/// Whether a line holds no value: a comment, a marker, a directive.
fn is_blank(line: &str) -> bool {
    let line = line.strip_prefix("---").unwrap_or(line).trim();
    line.is_empty() || line.starts_with(['#', '%']) || line == "..."
}

fn parse(document: &str) -> Result<Tree, Error> {
    serde_saphyr::with_deserializer_from_str_with_options(
        document,
        options(document),
        |deserializer| Tree::deserialize(deserializer),
    )
}

/// A text of one document, such as a configuration, that knows the lines of its fields.
pub struct Whole {
    place: Place,
    text: String,
    tree: Tree,
}

impl Whole {
    /// Reads the text that stands at `place`.
    ///
    /// # Errors
    /// A text that is no YAML, with the line.
    pub fn read(place: Place, text: String) -> Result<Self, Problem> {
        match parse(&text) {
            Ok(tree) => Ok(Self { place, text, tree }),
            Err(error) => Err(problem(&place, &error)),
        }
    }

    /// All of it.
    pub fn value(&self) -> Value {
        self.tree.value(&self.text)
    }

    /// What is wrong with a field, on its line or that of the last part of its path that is there.
    pub fn problem(&self, field: String, message: String) -> Problem {
        Problem {
            place: self.place.line_below(self.tree.line_of(&field)),
            object: None,
            field: (!field.is_empty()).then_some(field),
            message,
        }
    }
}

fn options(document: &str) -> serde_saphyr::Options {
    let replayed = (EXPANSION_BYTES_MAX / document.len().max(1)).min(EXPANSION_VALUES_MAX);
    serde_saphyr::options! {
        // The text's length bounds all that it counts, except what anchors repeat.
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: None,
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_aliases: usize::MAX,
            max_anchors: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_total_comment_bytes: usize::MAX,
            max_merge_keys: usize::MAX,
            enforce_alias_anchor_ratio: false,
            flow_nesting_limit: DEPTH_MAX,
            max_depth: DEPTH_MAX,
        },
        // See `Tree::value`.
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: replayed,
        },
        legacy_octal_numbers: true,
        strict_booleans: false,
        emit_comments: false,
        // A snippet would show lines of a Secret.
        with_snippet: false,
    }
}

/// A document and the file's line on which it begins.
#[derive(Clone, Copy)]
struct Document<'a> {
    text: &'a str,
    start: &'a Place,
}

/// One object, or the objects of a List; `entry_kind` is what the List around it says of it.
fn read_object(
    input: &mut Input,
    document: Document<'_>,
    place: &Place,
    tree: &Tree,
    entry_kind: Option<&'static Kind>,
) {
    if !matches!(tree.node, Node::Map(_)) {
        return input.problems.add(place.clone(), "expected an object");
    }
    let header = Header::of(tree).or_kind(entry_kind);
    match input.identify(place, &header, entry_kind) {
        Some(Identity::Known(kind)) => {
            let object = decode::tree(kind, tree.value(document.text));
            let object = object.map_err(|error| {
                let line = error.field().map_or(tree.line, |field| tree.line_of(field));
                let start = Place {
                    item: place.item,
                    ..document.start.clone()
                };
                error.at(&start, line, &header)
            });
            input.take(place, object);
        }
        Some(Identity::List(entry_kind)) => {
            let Some(Node::List(entries)) = tree.field("items").map(|items| &items.node) else {
                return;
            };
            for (item, entry) in (1..).zip(entries) {
                let place = Place {
                    item: Some(item),
                    ..document.start.line_below(entry.line)
                };
                read_object(input, document, &place, entry, entry_kind);
            }
        }
        _ => {}
    }
}

/// The problem of a document that begins at `place`.
fn problem(place: &Place, error: &Error) -> Problem {
    let message = message(error);
    match error.location() {
        Some(location) => Problem::of_place(
            place.line_below(location.line() as u32),
            format!("column {}: {message}", location.column()),
        ),
        None => Problem::of_place(place.clone(), message),
    }
}

/// The message without its position, which the place tells.
fn message(error: &Error) -> Cow<'_, str> {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => message(error),
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => format!("more than {DEPTH_MAX} levels deep").into(),
        Error::Budget { .. } | Error::AliasReplayLimitExceeded { .. } => {
            "anchors expand to more than is read".into()
        }
        error => UserMessageFormatter.format_message(error),
    }
}

#[cfg(test)]
mod tests {
    use super::documents;

    #[test]
    fn documents_begin_at_their_markers_and_know_their_lines() {
        let text = "# head\n---\na: 1\n--- {b: 2}\n---c: |\n  ---\n---\r\nd: 4";
        let found: Vec<_> = documents(text).collect();
        assert_eq!(
            found,
            [
                (1, "# head\n"),
                (2, "---\na: 1\n"),
                (4, "--- {b: 2}\n---c: |\n  ---\n"),
                (7, "---\r\nd: 4"),
            ]
        );
    }
}
