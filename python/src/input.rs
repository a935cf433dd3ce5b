//! What Python hands in: dicts, texts and files.

use crate::error::{Failure, ObjectError};
use berth_core::intake::IntakeError;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::{Decoded, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::fs;
use std::path::PathBuf;

/// Levels of maps and lists; a dict may contain itself.
const DEPTH_MAX: usize = 128;

/// Something that holds objects or a configuration.
pub enum Source {
    Value(Value),
    /// JSON or YAML.
    Text(String),
    File(PathBuf),
}

impl Source {
    /// A `str` that begins with a brace or has several lines is text, another one a path.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            let text = text.to_str()?;
            let is_text = text.trim_start().starts_with('{') || text.contains('\n');
            return Ok(if is_text {
                Self::Text(text.to_owned())
            } else {
                Self::File(PathBuf::from(text))
            });
        }
        if object.hasattr("__fspath__")? {
            return Ok(Self::File(object.extract()?));
        }
        value(object, 0).map(Self::Value)
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
            Ok(Value::List(values)) => values,
            Ok(value) => vec![value],
            Err(text) if text.trim_start().starts_with('{') => {
                return from_json(&text).map_err(|error| refuse(error.to_string()));
            }
            Err(text) => {
                let values = serde_saphyr::from_multiple_with_options(&text, yaml_options());
                values.map_err(|error| refuse(error.to_string()))?
            }
        };
        Ok(values.into_iter().map(Decoded::from_value).collect())
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

/// A dict, list or scalar; what has an `isoformat`, as YAML's times have in Python, is its text.
fn value(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        let text = format!("dicts and lists go deeper than {DEPTH_MAX} levels");
        return Err(PyValueError::new_err(text));
    }
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(Value::String(text.to_str()?.to_owned()))
    } else if let Ok(flag) = object.cast::<PyBool>() {
        Ok(Value::Bool(flag.is_true()))
    } else if let Ok(number) = object.cast::<PyInt>() {
        number
            .extract()
            .map(Value::Unsigned)
            .or_else(|_| number.extract().map(Value::Signed))
    } else if let Ok(number) = object.cast::<PyFloat>() {
        Ok(Value::Float(number.value()))
    } else if let Ok(map) = object.cast::<PyDict>() {
        let entries = map.iter().map(|(key, object)| {
            let key = key.cast::<PyString>().map_err(|_| unfit(&key))?;
            Ok((key.to_str()?.to_owned(), value(&object, depth + 1)?))
        });
        entries.collect::<PyResult<_>>().map(Value::Map)
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let entries = object.try_iter()?.map(|entry| value(&entry?, depth + 1));
        entries.collect::<PyResult<_>>().map(Value::List)
    } else if object.hasattr("isoformat")? {
        let text = object.call_method0("isoformat")?;
        text.extract().map(Value::String)
    } else {
        Err(unfit(object))
    }
}

fn unfit(object: &Bound<'_, PyAny>) -> PyErr {
    let name = object.get_type().name();
    let name = name.map_or_else(|_| "another type".into(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "expected what JSON has (dict with str keys, list, str, int, float, bool, None), not {name}"
    ))
}
