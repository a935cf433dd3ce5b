//! The native half of the Python package `berth`: what `berth/__init__.py` hands on.
//!
//! In the order of the flow: `input` (dicts, texts and files to documents), `scheduler` with its
//! `options`, which asks the `world` (a scheduler under a virtual clock) of its `fork`'s session
//! behind a `guard`; then what it answers with, `decision`, `evaluation` and `table`, which `tables`
//! fills; `error` has the exceptions.

#![forbid(unsafe_code)]

mod decision;
mod error;
mod evaluation;
mod fork;
mod guard;
mod input;
mod options;
mod scheduler;
mod table;
mod tables;
mod world;

use pyo3::prelude::*;

#[pymodule]
fn _berth(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<scheduler::Scheduler>()?;
    module.add_class::<fork::Fork>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<evaluation::Evaluation>()?;
    module.add_class::<table::Table>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::add_to(module)
}
