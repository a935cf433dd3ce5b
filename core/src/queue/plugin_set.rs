//! A set of plugins, such as those that rejected a pod.

use crate::plugins::Plugin;
use core::fmt;

/// A set of plugins; and of one that is none of ours, which stands for rules outside the core.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub struct PluginSet(u32);

impl PluginSet {
    /// No plugin.
    pub const EMPTY: Self = Self(0);
    /// A rule outside the core; every event may lift its verdict, as upstream's `Extender`.
    pub const EXTERNAL: Self = Self(1 << 31);

    /// The set of one plugin.
    pub const fn of(plugin: Plugin) -> Self {
        Self(1 << plugin as u32)
    }

    /// Adds a plugin.
    pub const fn insert(&mut self, plugin: Plugin) {
        self.0 |= Self::of(plugin).0;
    }

    /// Whether the plugin is in the set.
    pub const fn contains(self, plugin: Plugin) -> bool {
        self.0 & Self::of(plugin).0 != 0
    }

    /// Whether the set has no member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The plugins of the core, in upstream's default order.
    pub fn iter(self) -> impl Iterator<Item = Plugin> {
        let all = Plugin::ALL.iter().copied();
        all.filter(move |plugin| self.contains(*plugin))
    }

    /// As a number, for keys.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for PluginSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.iter().map(Plugin::name))
            .finish()
    }
}
