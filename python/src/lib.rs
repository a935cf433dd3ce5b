//! The native half of the Python package `berth`: what `berth/__init__.py` hands on.
//!
//! In the order of the flow: `input` (dicts, texts and files to documents), `scheduler` with its
//! `options`, which asks the `world` (a scheduler under a virtual clock) of its `fork`'s session
//! behind a `guard`, and of the user's own `plugin`s; then what it answers with, `decision`, `evaluation` and `table`, which `tables`
//! fills; `error` has the exceptions; `clusters` steps many at once.

#![forbid(unsafe_code)]

mod clusters;
mod decision;
mod error;
mod evaluation;
mod fork;
mod guard;
mod input;
mod options;
mod plugin;
mod scheduler;
mod table;
mod tables;
mod world;

use pyo3::prelude::*;

#[pymodule]
fn _berth(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<scheduler::Scheduler>()?;
    module.add_class::<clusters::Clusters>()?;
    module.add_class::<fork::Fork>()?;
    module.add_class::<decision::Decision>()?;
    module.add_class::<evaluation::Evaluation>()?;
    module.add_class::<table::Table>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::add_to(module)
}
