//! The native half of the Python package `berth`: what `berth/__init__.py` hands on.
//!
//! In the order of the flow: `input` (dicts, texts and files to documents), `scheduler`, then what
//! it answers with, `decision` and `evaluation`; `error` has the exceptions.

#![forbid(unsafe_code)]

mod decision;
mod error;
mod evaluation;
mod input;
mod scheduler;

use pyo3::prelude::*;

#[pymodule]
fn _berth(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<scheduler::Scheduler>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<evaluation::Evaluation>()?;
    error::add_to(module)
}
