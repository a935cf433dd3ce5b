//! Plugins of the caller at Filter and Score: functions over arrays with an entry a node.
//!
//! The core asks once an attempt about all nodes. The functions run while the scheduler is at work,
//! so they cannot ask it; what they raise is raised by the call that asked them.

use crate::evaluation::{Nodes, read_only};
use berth_core::id::ClassId;
use berth_core::{Hooks, node_set};
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A plugin's name and its function.
pub struct Plugin {
    pub name: String,
    /// `None` once the collector has taken it away. Never locked without the interpreter's lock.
    function: Mutex<Option<Py<PyAny>>>,
}

impl Plugin {
    pub fn new(name: String, function: Py<PyAny>) -> Arc<Self> {
        let function = Mutex::new(Some(function));
        Arc::new(Self { name, function })
    }

    fn function(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The plugins of a scheduler as Python's garbage collector sees them, which must not wait for the
/// scheduler: a function may refer to the scheduler that asks it. Never locked without the interpreter's
/// lock.
#[derive(Default)]
pub struct Held(Mutex<Vec<Arc<Plugin>>>);

impl Held {
    fn plugins(&self) -> MutexGuard<'_, Vec<Arc<Plugin>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn push(&self, plugin: Arc<Plugin>) {
        self.plugins().push(plugin);
    }

    /// Shows the collector every function.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let plugins = self.plugins();
        plugins
            .iter()
            .try_for_each(|plugin| visit.call(&*plugin.function()))
    }

    /// Lets go of every function; an attempt that would ask one fails from then on.
    pub fn clear(&self) {
        let plugins = std::mem::take(&mut *self.plugins());
        for plugin in plugins {
            // Its end may run Python's code, and so comes after the lock's.
            let function = plugin.function().take();
            drop(function);
        }
    }
}

/// The plugins of a scheduler, in the order in which they were added.
#[derive(Clone, Default)]
pub struct Plugins {
    filters: Vec<Arc<Plugin>>,
    scores: Vec<Arc<Plugin>>,
}

impl Plugins {
    pub fn push_filter(&mut self, plugin: Arc<Plugin>) {
        self.filters.push(plugin);
    }

    pub fn push_score(&mut self, plugin: Arc<Plugin>) {
        self.scores.push(plugin);
    }

    /// The plugins as attempts ask them.
    pub fn calls(&self, nodes: Arc<Nodes>) -> Calls {
        Calls {
            plugins: self.clone(),
            nodes,
            error: None,
        }
    }
}

/// Plugins that are being asked, and the first error that one of them raised.
pub struct Calls {
    plugins: Plugins,
    /// What the entries of arrays are.
    pub nodes: Arc<Nodes>,
    error: Option<PyErr>,
}

impl Calls {
    /// # Errors
    /// What a plugin raised.
    pub fn end(self) -> PyResult<()> {
        self.error.map_or(Ok(()), Err)
    }

    /// Asks one plugin; `false` if it raised.
    fn ask<T: Element + Copy>(
        &mut self,
        plugin: Option<Arc<Plugin>>,
        class: ClassId,
        feasible: &[u64],
        mut take: impl FnMut(usize, bool, T) -> Result<(), String>,
    ) -> bool {
        let Some(plugin) = plugin else {
            return false;
        };
        let asked = Python::attach(|py| {
            let function = plugin.function().as_ref().map(|own| own.clone_ref(py));
            let wrong = |text: &str| format!("plugin {:?}: {text}", plugin.name);
            let function = function.ok_or_else(|| PyValueError::new_err(wrong("it is gone")))?;
            let rows = &self.nodes.rows;
            let is_feasible = |row: &usize| node_set::contains(feasible, *row as u32);
            let feasible: Vec<bool> = rows.iter().map(is_feasible).collect();
            let given = read_only(PyArray1::from_slice(py, &feasible));
            let answer = function.call1(py, (class.0, given))?;
            let answer = answer.bind(py);
            let Ok(array) = answer.cast::<PyArray1<T>>() else {
                let dtype = T::get_dtype(py);
                let text = format!("expected an array of {dtype}, not {}", answer.get_type());
                return Err(PyTypeError::new_err(wrong(&text)));
            };
            if array.len() != rows.len() {
                let text = format!("expected {} entries, not {}", rows.len(), array.len());
                return Err(PyValueError::new_err(wrong(&text)));
            }
            let array = array.try_readonly()?;
            let entries = rows.iter().zip(&feasible).zip(array.as_array());
            for ((row, is_feasible), value) in entries {
                let taken = take(*row, *is_feasible, *value);
                taken.map_err(|text| PyValueError::new_err(wrong(&text)))?;
            }
            Ok(())
        });
        self.error = self.error.take().or_else(|| asked.err());
        self.error.is_none()
    }
}

impl Hooks for Calls {
    fn filter(
        &mut self,
        filter: usize,
        class: ClassId,
        feasible: &[u64],
        kept: &mut [u64],
    ) -> bool {
        let plugin = self.plugins.filters.get(filter).cloned();
        self.ask(plugin, class, feasible, |row, _, keeps: bool| {
            if !keeps {
                node_set::remove(kept, row as u32);
            }
            Ok(())
        })
    }

    fn score(
        &mut self,
        score: usize,
        class: ClassId,
        feasible: &[u64],
        scores: &mut [i64],
    ) -> bool {
        let plugin = self.plugins.scores.get(score).cloned();
        self.ask(plugin, class, feasible, |row, is_feasible, value: i64| {
            if is_feasible && !(0..=100).contains(&value) {
                return Err(format!("expected scores of 0 to 100, not {value}"));
            }
            if let Some(place) = scores.get_mut(row).filter(|_| is_feasible) {
                *place = value;
            }
            Ok(())
        })
    }
}
