//! What Python hands in: dicts, texts, files, objects of the kubernetes client and data frames.

mod value;

pub use value::text;

use crate::error::{Failure, ObjectError};
use berth_core::intake::IntakeError;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::{Decoded, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};
use std::fs;
use std::path::PathBuf;
use value::value;

/// Something that holds objects or a configuration.
pub enum Source {
    Value(Value),
    /// JSON or YAML.
    Text(String),
    File(PathBuf),
}

impl Source {
    /// A `str` that begins with a brace or bracket or has several lines is text, another one a path;
    /// bytes are text.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(string) = object.cast::<PyString>() {
            // Names of files may hold what is no text.
            let Ok(text) = string.to_str() else {
                return Ok(Self::File(object.extract()?));
            };
            let start = text.trim_start();
            let is_text = start.starts_with(['{', '[']) || text.contains('\n');
            return Ok(if is_text {
                Self::Text(text.to_owned())
            } else {
                Self::File(PathBuf::from(text))
            });
        }
        if let Some(bytes) = owned_bytes(object) {
            let text = String::from_utf8(bytes);
            let text = text.map_err(|error| ObjectError::new_err(error.to_string()))?;
            return Ok(Self::Text(text));
        }
        if object.hasattr("__fspath__")? {
            return Ok(Self::File(object.extract()?));
        }
        value(object).map(Self::Value)
    }

    /// The same of objects of one kind, which may be the rows of a data frame.
    pub fn of_many(object: &Bound<'_, PyAny>, kind: Option<&str>) -> PyResult<Self> {
        let is_frame = object.hasattr("__arrow_c_stream__")? || object.hasattr("__dataframe__")?;
        match (kind, is_frame) {
            (None, false) => Self::of(object),
            (None, true) => Err(PyTypeError::new_err(
                "a data frame does not say what it holds: add kind=\"Node\" or kind=\"Pod\"",
            )),
            (Some(kind), _) => {
                let frames = object.py().import("berth.frames")?;
                Self::of(&frames.call_method1("objects", (object, kind))?)
            }
        }
    }

    fn read(self) -> Result<Result<Value, String>, String> {
        match self {
            Self::Value(value) => Ok(Ok(value)),
            Self::Text(text) => Ok(Err(text)),
            Self::File(path) => {
                let text = fs::read_to_string(&path);
                let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Err(text.trim_start_matches('\u{feff}').to_owned()))
            }
        }
    }

    /// Its documents; of a list, each element is one.
    pub fn documents(self) -> Result<Vec<Decoded>, Failure> {
        let refuse = |problem: String| Failure::Intake(IntakeError::of_text(&problem));
        let values = match self.read().map_err(refuse)? {
            Ok(value) => vec![value],
            Err(text) if text.trim_start().starts_with('{') => {
                return from_json(&text).map_err(|error| refuse(error.to_string()));
            }
            Err(text) => {
                let values = serde_saphyr::from_multiple_with_options(&text, yaml_options());
                values.map_err(|error| refuse(error.to_string()))?
            }
        };
        let each = values.into_iter().flat_map(|value| match value {
            Value::List(values) => values,
            value => vec![value],
        });
        Ok(each.map(Decoded::from_value).collect())
    }

    /// The configuration that it is.
    pub fn config(self) -> Result<KubeSchedulerConfiguration, Failure> {
        match self.read().map_err(Failure::Config)? {
            Ok(value) => KubeSchedulerConfiguration::from_value(value)
                .map_err(|error| Failure::Config(error.to_string())),
            Err(text) => serde_saphyr::from_str_with_options(&text, yaml_options())
                .map_err(|error| Failure::Config(error.to_string())),
        }
    }
}

/// One document, as a dict or as text.
pub fn document(object: &Bound<'_, PyAny>) -> PyResult<Decoded> {
    let mut documents = Source::of(object)?.documents()?;
    match (documents.pop(), documents.is_empty()) {
        (Some(document), true) => Ok(document),
        _ => Err(ObjectError::new_err("expected one object")),
    }
}

/// Documents that are JSON but not all objects are read part by part, so that all that is wrong
/// with them can be told.
fn from_json(text: &str) -> Result<Vec<Decoded>, serde_json::Error> {
    let documents = serde_json::Deserializer::from_str(text).into_iter();
    documents
        .collect::<Result<Vec<Decoded>, _>>()
        .or_else(|error| {
            let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            let values: Vec<Value> = values.collect::<Result<_, _>>().map_err(|_| error)?;
            Ok(values.into_iter().map(Decoded::from_value).collect())
        })
}

fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        // Documents of any size; aliases have limits of their own.
        budget: None,
        legacy_octal_numbers: true,
        strict_booleans: false,
        with_snippet: false,
    }
}

/// The bytes of a state.
pub enum Bytes {
    Given(Vec<u8>),
    File(PathBuf),
}

impl Bytes {
    pub fn read(self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Given(bytes) => Ok(bytes),
            Self::File(path) => fs::read(&path)
                .map_err(|error| Failure::File(format!("{}: {error}", path.display()))),
        }
    }
}

/// Bytes, or a path of a file that holds them.
pub fn bytes(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    match owned_bytes(object) {
        Some(bytes) => Ok(Bytes::Given(bytes)),
        None => Ok(Bytes::File(object.extract()?)),
    }
}

fn owned_bytes(object: &Bound<'_, PyAny>) -> Option<Vec<u8>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Some(bytes.as_bytes().to_vec());
    }
    let bytes = object.cast::<PyByteArray>().ok()?;
    Some(bytes.to_vec())
}
