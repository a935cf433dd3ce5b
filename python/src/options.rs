//! The words that name a choice.

use berth_core::intake::Size;
use berth_core::{BindOutcome, Change, Detail, Fidelity, NodeSearch, Ties, VolumesBound};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const FIDELITIES: [(&str, Fidelity); 2] = [("exact", Fidelity::Exact), ("best", Fidelity::Best)];
const TIES: [(&str, Ties); 4] = [
    ("heap", Ties::Heap),
    ("first-name", Ties::FirstName),
    ("first", Ties::First),
    ("random", Ties::Random),
];
const SEARCHES: [(&str, NodeSearch); 2] =
    [("all", NodeSearch::All), ("sampled", NodeSearch::Sampled)];
const CHANGES: [(&str, Change); 3] = [
    ("ADDED", Change::Added),
    ("MODIFIED", Change::Modified),
    ("DELETED", Change::Deleted),
];
const DETAILS: [(&str, Detail); 3] = [
    ("none", Detail::None),
    ("reasons", Detail::Reasons),
    ("full", Detail::Full),
];
const OUTCOMES: [(&str, BindOutcome); 4] = [
    ("bound", BindOutcome::Bound),
    ("rejected", BindOutcome::Rejected),
    ("failed", BindOutcome::Failed),
    ("unknown", BindOutcome::Unknown),
];

pub fn fidelity(word: &str) -> PyResult<Fidelity> {
    choice("fidelity", word, &FIDELITIES)
}

pub fn ties(word: &str) -> PyResult<Ties> {
    choice("ties", word, &TIES)
}

pub fn node_search(word: &str) -> PyResult<NodeSearch> {
    choice("node_search", word, &SEARCHES)
}

pub fn change(word: &str) -> PyResult<Change> {
    choice("change", word, &CHANGES)
}

pub fn detail(word: &str) -> PyResult<Detail> {
    choice("detail", word, &DETAILS)
}

/// The word of how far claims are.
pub const fn progress(volumes: VolumesBound) -> &'static str {
    match volumes {
        VolumesBound::Yes => "bound",
        VolumesBound::NotYet => "pending",
        VolumesBound::Failed => "failed",
        VolumesBound::TimedOut => "timed out",
    }
}

pub fn outcome(word: &str) -> PyResult<BindOutcome> {
    choice("outcome", word, &OUTCOMES)
}

fn choice<T: Copy>(argument: &str, word: &str, known: &[(&str, T)]) -> PyResult<T> {
    if let Some((_, meant)) = known.iter().find(|(own, _)| *own == word) {
        return Ok(*meant);
    }
    let words: Vec<String> = known.iter().map(|(own, _)| format!("{own:?}")).collect();
    let words = words.join(", ");
    Err(PyValueError::new_err(format!(
        "{argument}: expected one of {words}, not {word:?}"
    )))
}

/// A number that is too large, or below zero, is a wrong value, and not an overflow of Python's.
pub fn whole<T: TryFrom<u64>>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let py = value.py();
    let refused = || PyValueError::new_err(format!("{value} is out of range"));
    let number: u64 = value.extract().map_err(|error: PyErr| {
        let is_large = error.is_instance_of::<PyOverflowError>(py);
        if is_large { refused() } else { error }
    })?;
    T::try_from(number).map_err(|_| refused())
}

/// `{"nodes": N, "pods": N}`.
pub fn size(capacities: &Bound<'_, PyDict>) -> PyResult<Size> {
    let wanted = |name: &str| -> PyResult<u32> {
        let count = capacities.get_item(name)?;
        let absent = || PyValueError::new_err(format!("capacities: {name:?} is missing"));
        count.ok_or_else(absent)?.extract().map_err(|_| {
            let text = format!("capacities: {name:?} is no whole number from 0 to 2^32 - 1");
            PyValueError::new_err(text)
        })
    };
    let size = Size {
        nodes: wanted("nodes")?,
        pods: wanted("pods")?,
    };
    if capacities.len() > 2 {
        let text = "capacities: expected \"nodes\" and \"pods\" only";
        return Err(PyValueError::new_err(text));
    }
    Ok(size)
}
