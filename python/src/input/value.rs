//! Python's objects as values: what JSON has, and the classes of the kubernetes client.

use crate::error::ObjectError;
use berth_core::object::decode::{Kind, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::BTreeMap;

/// Levels of maps and lists; a dict may contain itself.
const DEPTH_MAX: usize = 128;

/// Why an object is no value: where in it, the innermost part first, and what is wrong.
struct Unfit {
    path: Vec<String>,
    raise: fn(String) -> PyErr,
    problem: String,
}

impl Unfit {
    const fn new(raise: fn(String) -> PyErr, problem: String) -> Self {
        Self {
            path: Vec::new(),
            raise,
            problem,
        }
    }

    fn within(mut self, part: String) -> Self {
        self.path.push(part);
        self
    }
}

impl From<PyErr> for Unfit {
    /// What the object's own methods raise.
    fn from(error: PyErr) -> Self {
        let refuse = |problem| ObjectError::new_err(problem);
        Self::new(refuse, error.to_string())
    }
}

/// A dict, list or scalar; an object of the kubernetes client; what has an `isoformat`, as YAML's
/// times have in Python, is its text.
///
/// # Errors
/// Names the place in the object.
pub fn value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(object, 0).map_err(|unfit| {
        let mut path = String::new();
        for part in unfit.path.iter().rev() {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path.push_str(part);
        }
        let separator = if path.is_empty() { "" } else { ": " };
        (unfit.raise)(format!("{path}{separator}{}", unfit.problem))
    })
}

/// A text.
///
/// # Errors
/// Half of a surrogate pair is no character; `what` says whose it is.
pub fn text(text: &Bound<'_, PyString>, what: &str) -> PyResult<String> {
    characters(text).map_err(|unfit| (unfit.raise)(format!("{what}: {}", unfit.problem)))
}

fn characters(text: &Bound<'_, PyString>) -> Result<String, Unfit> {
    if let Ok(text) = text.to_str() {
        return Ok(text.to_owned());
    }
    let seen = text
        .repr()
        .map_or_else(|_| String::new(), |repr| repr.to_string());
    let refuse = |problem| ObjectError::new_err(problem);
    let problem = format!("{seen} holds half of a surrogate pair, which is no text");
    Err(Unfit::new(refuse, problem))
}

fn read(object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Unfit> {
    if depth > DEPTH_MAX {
        let refuse = |problem| PyValueError::new_err(problem);
        let problem = format!("dicts and lists go deeper than {DEPTH_MAX} levels");
        return Err(Unfit::new(refuse, problem));
    }
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(text) = object.cast::<PyString>() {
        characters(text).map(Value::String)
    } else if let Ok(flag) = object.cast::<PyBool>() {
        Ok(Value::Bool(flag.is_true()))
    } else if let Ok(number) = object.cast::<PyInt>() {
        whole(number)
    } else if let Ok(number) = object.cast::<PyFloat>() {
        Ok(Value::Float(number.value()))
    } else if let Ok(map) = object.cast::<PyDict>() {
        let entries = map.iter().map(|(key, object)| {
            let name = key.cast::<PyString>().map_err(|_| unfit(&key))?;
            let name = characters(name)?;
            let value = read(&object, depth + 1).map_err(|unfit| unfit.within(name.clone()))?;
            Ok((name, value))
        });
        entries.collect::<Result<_, Unfit>>().map(Value::Map)
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let entries = object.try_iter()?.enumerate().map(|(place, entry)| {
            read(&entry?, depth + 1).map_err(|unfit| unfit.within(format!("[{place}]")))
        });
        entries.collect::<Result<_, Unfit>>().map(Value::List)
    } else if let Ok(fields) = object.getattr("attribute_map") {
        of_client(object, &fields, depth)
    } else if object.hasattr("isoformat")? {
        let text = object.call_method0("isoformat")?;
        let text = text.cast::<PyString>().map_err(|_| unfit(&text))?;
        characters(text).map(Value::String)
    } else {
        Err(unfit(object))
    }
}

fn whole(number: &Bound<'_, PyInt>) -> Result<Value, Unfit> {
    let value = number
        .extract()
        .map(Value::Unsigned)
        .or_else(|_| number.extract().map(Value::Signed));
    value.map_err(|_| {
        let refuse = |problem| ObjectError::new_err(problem);
        Unfit::new(refuse, format!("{number} is beyond 64 bits"))
    })
}

/// A model of the kubernetes client: `attribute_map` gives its fields the API's names. Items of its
/// lists do not say what they are; the class' name does.
fn of_client(
    object: &Bound<'_, PyAny>,
    fields: &Bound<'_, PyAny>,
    depth: usize,
) -> Result<Value, Unfit> {
    let fields = fields.cast::<PyDict>().map_err(|_| unfit(object))?;
    let mut map = BTreeMap::new();
    let (mut has_kind, mut has_metadata) = (false, false);
    for (attribute, name) in fields {
        let attribute = attribute.cast::<PyString>().map_err(|_| unfit(object))?;
        let name = name.cast::<PyString>().map_err(|_| unfit(object))?;
        let name = characters(name)?;
        has_kind |= name == "kind";
        has_metadata |= name == "metadata";
        let field = object.getattr(attribute)?;
        if !field.is_none() {
            let value = read(&field, depth + 1).map_err(|unfit| unfit.within(name.clone()))?;
            map.insert(name, value);
        }
    }
    if has_kind && has_metadata && !map.contains_key("kind") {
        let class = object.get_type().name()?.to_string();
        let kind = without_version(&class);
        let item = kind.strip_suffix("List").unwrap_or(kind);
        let version = Kind::named(item).map_or("v1", |kind| kind.api_version);
        map.insert("kind".to_owned(), Value::String(kind.to_owned()));
        let version = Value::String(version.to_owned());
        map.entry("apiVersion".to_owned()).or_insert(version);
    }
    Ok(Value::Map(map))
}

/// `V1Pod`, `V1beta1Lease`: the class' name after its version.
fn without_version(class: &str) -> &str {
    let Some(rest) = class.strip_prefix('V') else {
        return class;
    };
    rest.trim_start_matches(|char: char| char.is_ascii_digit() || char.is_ascii_lowercase())
}

fn unfit(object: &Bound<'_, PyAny>) -> Unfit {
    let name = object.get_type().name();
    let name = name.map_or_else(|_| "another type".into(), |name| name.to_string());
    let refuse = |problem| PyTypeError::new_err(problem);
    let problem = format!(
        "expected what JSON has (dict with str keys, list, str, int, float, bool, None) or an object \
         of the kubernetes client, not {name}"
    );
    Unfit::new(refuse, problem)
}
