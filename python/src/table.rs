//! Columns, as Arrow, numpy arrays or dicts.

use crate::evaluation::read_only;
use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, StructArray,
};
use arrow_schema::ArrowError;
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyTuple};
use std::fmt::Write;
use std::sync::Arc;

/// Rows that the HTML of a notebook shows.
const HTML_ROWS_MAX: usize = 20;

/// One column. All have the same length.
pub enum Column {
    Text(Vec<Option<String>>),
    Int(Vec<i64>),
    Float(Vec<f64>),
    Bool(Vec<bool>),
}

impl Column {
    fn into_array(self) -> ArrayRef {
        match self {
            Self::Text(values) => Arc::new(StringArray::from(values)),
            Self::Int(values) => Arc::new(Int64Array::from(values)),
            Self::Float(values) => Arc::new(Float64Array::from(values)),
            Self::Bool(values) => Arc::new(BooleanArray::from(values)),
        }
    }
}

/// Columns of the same length, as they were when they were asked for.
///
/// What reads Arrow's C interface takes it as it is: `polars.DataFrame(table)`,
/// `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)`. `table["name"]` is a read-only numpy
/// array, of str (or None) where the column has texts; `to_dicts()` a list of rows.
#[pyclass(frozen, module = "berth")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// `columns` by name; of equal length and with different names.
    pub fn new(columns: Vec<(String, Column)>) -> Result<Self, ArrowError> {
        let columns = columns.into_iter();
        let columns = columns.map(|(name, column)| {
            let is_nullable = matches!(column, Column::Text(_));
            (name, column.into_array(), is_nullable)
        });
        let batch = RecordBatch::try_from_iter_with_nullable(columns)?;
        Ok(Self { batch })
    }

    /// The first rows as a table of HTML.
    pub fn to_html(&self) -> String {
        let mut html = String::from("<table><thead><tr>");
        for name in self.names() {
            let _ = write!(html, "<th>{}</th>", escaped(name));
        }
        html.push_str("</tr></thead><tbody>");
        for row in 0..self.batch.num_rows().min(HTML_ROWS_MAX) {
            html.push_str("<tr>");
            for column in self.batch.columns() {
                let _ = write!(html, "<td>{}</td>", escaped(&Cell::of(column, row).text()));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table>");
        let more = self.batch.num_rows().saturating_sub(HTML_ROWS_MAX);
        if more > 0 {
            let _ = write!(html, "<p>and {more} more rows</p>");
        }
        html
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let fields = self.batch.schema_ref().fields().iter();
        fields.map(|field| field.name().as_str())
    }
}

/// One value.
enum Cell<'a> {
    None,
    Text(&'a str),
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl<'a> Cell<'a> {
    fn of(column: &'a ArrayRef, row: usize) -> Self {
        let any = column.as_any();
        if column.is_null(row) {
            Self::None
        } else if let Some(array) = any.downcast_ref::<StringArray>() {
            Self::Text(array.value(row))
        } else if let Some(array) = any.downcast_ref::<Int64Array>() {
            Self::Int(array.value(row))
        } else if let Some(array) = any.downcast_ref::<Float64Array>() {
            Self::Float(array.value(row))
        } else if let Some(array) = any.downcast_ref::<BooleanArray>() {
            Self::Bool(array.value(row))
        } else {
            Self::None
        }
    }

    fn text(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Text(text) => (*text).to_owned(),
            Self::Int(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Bool(flag) => flag.to_string(),
        }
    }

    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::None => py.None().into_bound(py),
            Self::Text(text) => text.into_pyobject(py)?.into_any(),
            Self::Int(number) => number.into_pyobject(py)?.into_any(),
            Self::Float(number) => number.into_pyobject(py)?.into_any(),
            Self::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        })
    }
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.names().collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// A column as a read-only numpy array: int64, float64, bool, or object with str and None.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(column) = self.batch.column_by_name(name) else {
            let known: Vec<&str> = self.names().collect();
            let text = format!("no column {name:?}; there are {}", known.join(", "));
            return Err(PyKeyError::new_err(text));
        };
        let any = column.as_any();
        if let Some(array) = any.downcast_ref::<Int64Array>() {
            let array = PyArray1::from_slice(py, array.values());
            return Ok(read_only(array).into_bound(py).into_any());
        }
        if let Some(array) = any.downcast_ref::<Float64Array>() {
            let array = PyArray1::from_slice(py, array.values());
            return Ok(read_only(array).into_bound(py).into_any());
        }
        if let Some(array) = any.downcast_ref::<BooleanArray>() {
            let array = PyArray1::from_vec(py, array.values().iter().collect());
            return Ok(read_only(array).into_bound(py).into_any());
        }
        let rows = 0..column.len();
        let objects = rows.map(|row| Ok(Cell::of(column, row).to_python(py)?.unbind()));
        let objects = objects.collect::<PyResult<Vec<Py<PyAny>>>>()?;
        let array = PyArray1::from_vec(py, objects);
        Ok(read_only(array).into_bound(py).into_any())
    }

    /// The rows, a dict each.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for row in 0..self.batch.num_rows() {
            let dict = PyDict::new(py);
            for (name, column) in self.names().zip(self.batch.columns()) {
                dict.set_item(name, Cell::of(column, row).to_python(py)?)?;
            }
            rows.append(dict)?;
        }
        Ok(rows)
    }

    /// Arrow's C interface: the schema, as a PyCapsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref());
        PyCapsule::new_with_value(py, schema.map_err(|error| failed(&error))?, c"arrow_schema")
    }

    /// Arrow's C interface: all rows as one struct array, as PyCapsules of schema and array. Another
    /// schema cannot be asked for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        let rows = StructArray::from(self.batch.clone()).into_data();
        let (array, schema) = to_ffi(&rows).map_err(|error| failed(&error))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        PyTuple::new(py, [schema, array])
    }

    /// Arrow's C interface: the rows as a stream, as a PyCapsule. Another schema cannot be asked for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let rows = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(rows));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.names().collect();
        format!(
            "<Table of {} rows: {}>",
            self.batch.num_rows(),
            names.join(", ")
        )
    }

    fn _repr_html_(&self) -> String {
        self.to_html()
    }
}

fn failed(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// A text between tags of HTML.
pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
