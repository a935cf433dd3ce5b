//! One object's text or tree to the core's type.

use super::header::Header;
use super::{Place, Problem};
use berth_core::object::Object;
use berth_core::object::decode::{Kind, Value, ValueError, decode};
use serde::Deserialize;

/// Why an object could not be decoded.
#[derive(Debug)]
pub struct DecodeError {
    field: Option<String>,
    message: String,
    /// From 1 if known, within the object's own text.
    pub line: Option<u32>,
}

/// Decodes an object's JSON.
///
/// # Errors
/// A text that is none, or a field that is not of its type.
pub fn text(kind: &'static Kind, text: &str) -> Result<Option<Object>, DecodeError> {
    let mut source = serde_json::Deserializer::from_str(text);
    decode(kind.name, &mut source).map_err(|error| {
        // serde_json knows the line, and the core's tree the field.
        let mut source = serde_json::Deserializer::from_str(text);
        let of_tree = Value::deserialize(&mut source)
            .ok()
            .and_then(|value| tree(kind, value).err());
        DecodeError {
            line: line(&error),
            ..of_tree.unwrap_or_else(|| DecodeError::of_json(&error))
        }
    })
}

/// Decodes an object's tree.
///
/// # Errors
/// A field that is not of its type.
pub fn tree(kind: &'static Kind, tree: Value) -> Result<Option<Object>, DecodeError> {
    decode(kind.name, tree).map_err(|ValueError { field, problem }| DecodeError {
        field: (!field.is_empty()).then_some(field),
        message: problem,
        line: None,
    })
}

/// The message without its position, which the place tells.
pub fn json_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

fn line(error: &serde_json::Error) -> Option<u32> {
    (error.line() > 0).then_some(error.line() as u32)
}

impl DecodeError {
    pub fn of_json(error: &serde_json::Error) -> Self {
        Self {
            field: None,
            message: json_message(error),
            line: line(error),
        }
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// The problem, on line `line` of a text that begins at `start`.
    pub fn at(self, start: &Place, line: u32, header: &Header) -> Problem {
        Problem {
            place: start.line_below(line),
            object: header.describe(),
            field: self.field,
            message: self.message,
        }
    }
}
