//! What-if: changes that are taken back.

use crate::error::Failure;
use crate::scheduler::Scheduler;
use crate::world::World;
use berth_core::{CapacityExceeded, FORKS_MAX};
use pyo3::prelude::*;
use pyo3::types::PyAny;

/// A world, and the earlier ones to which it may go back.
pub struct Session {
    pub world: World,
    /// The oldest first, each with its number.
    forks: Vec<(u64, World)>,
    count: u64,
}

impl Session {
    pub const fn new(world: World) -> Self {
        Self {
            world,
            forks: Vec::new(),
            count: 0,
        }
    }

    /// Remembers the present state; the number of the fork.
    pub fn fork(&mut self) -> Result<u64, Failure> {
        if self.forks.len() >= FORKS_MAX {
            return Err(Failure::Full(CapacityExceeded {
                which: "forks",
                limit: FORKS_MAX as u64,
            }));
        }
        let number = self.count;
        self.count += 1;
        self.forks.push((number, self.world.clone()));
        Ok(number)
    }

    /// Ends a fork and those within it; `keep`: with what was done since. `false` if it has ended.
    pub fn end(&mut self, number: u64, keep: bool) -> bool {
        let Some(place) = self.forks.iter().position(|(own, _)| *own == number) else {
            return false;
        };
        let earlier = self.forks.drain(place..).next();
        if let Some((_, earlier)) = earlier.filter(|_| !keep) {
            self.world = earlier;
        }
        true
    }

    /// The number of the innermost fork.
    pub fn innermost(&self) -> Option<u64> {
        self.forks.last().map(|(number, _)| *number)
    }
}

/// A what-if of `Scheduler.fork()`: rolled back at the end of its `with` block unless it was
/// committed. Forks nest; ending one ends those within it.
#[pyclass(frozen, module = "berth")]
pub struct Fork {
    pub scheduler: Py<Scheduler>,
    pub number: u64,
}

impl Fork {
    fn end(&self, py: Python<'_>, keep: bool) -> PyResult<bool> {
        let scheduler = self.scheduler.get();
        scheduler.call(py, |session| Ok(session.end(self.number, keep)))
    }
}

#[pymethods]
impl Fork {
    /// The scheduler, which is in the fork until the block ends.
    fn __enter__(&self, py: Python<'_>) -> Py<Scheduler> {
        self.scheduler.clone_ref(py)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _exc_type: &Bound<'_, PyAny>,
        _exc_value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        self.end(py, false)?;
        Ok(false)
    }

    /// Keeps what was done since the fork. False if it has ended.
    fn commit(&self, py: Python<'_>) -> PyResult<bool> {
        self.end(py, true)
    }

    /// Takes back what was done since the fork. False if it has ended.
    fn rollback(&self, py: Python<'_>) -> PyResult<bool> {
        self.end(py, false)
    }
}
