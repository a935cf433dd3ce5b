//! How much of everything fits. (Interface fixed; body being written.)

/// Limits of every table; `N` holds `N`. Given once, at construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capacities {
    pub nodes: u32,
    pub pods: u32,
}

/// A table that is full. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityExceeded {
    /// Field of [`Capacities`].
    pub which: &'static str,
    pub limit: u64,
}
