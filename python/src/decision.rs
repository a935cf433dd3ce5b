//! What became of a pod.

use berth_core::DecisionRecord;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

/// What one attempt at a pod came to, or would come to.
#[pyclass(frozen, module = "berth")]
pub struct Decision {
    record: DecisionRecord,
}

impl From<DecisionRecord> for Decision {
    fn from(record: DecisionRecord) -> Self {
        Self { record }
    }
}

impl Decision {
    fn value(&self) -> PyResult<Value> {
        let value = serde_json::to_value(&self.record);
        value.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Decision {
    /// `NAMESPACE/NAME`.
    #[getter]
    fn pod(&self) -> &str {
        &self.record.pod
    }

    /// `scheduled`, `unschedulable`, `gated`, `unsupported` or `error`.
    #[getter]
    fn result(&self) -> PyResult<String> {
        let value = serde_json::to_value(self.record.result);
        match value {
            Ok(Value::String(text)) => Ok(text),
            other => Err(PyRuntimeError::new_err(format!("{other:?}"))),
        }
    }

    /// The chosen node, if there is one.
    #[getter]
    fn node(&self) -> Option<&str> {
        self.record.node.as_deref()
    }

    /// kube-scheduler's text of why a pod fits nowhere.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.record.message.as_deref()
    }

    /// The whole record, as `berth simulate -o jsonl` writes it; an absent key means none.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.value()?)
    }

    fn __repr__(&self) -> PyResult<String> {
        let what = match &self.record.node {
            Some(node) => node.clone(),
            None => self.result()?,
        };
        Ok(format!("<Decision {}: {what}>", self.record.pod))
    }
}

fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, number) => number.unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(list) => {
            let list: Vec<_> = list
                .iter()
                .map(|item| to_python(py, item))
                .collect::<PyResult<_>>()?;
            PyList::new(py, list)?.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
