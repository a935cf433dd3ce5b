//! Which plugins run at which point, before they are merged into a profile.
//!
//! Mirrors `mergePlugins` in `pkg/scheduler/apis/config/v1/default_plugins.go`.

use super::{nullable, nullable_list};
use crate::plugins::{Plugin, Point};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Plugins by extension point. `multi_point` stands for every point that a plugin implements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "each field is the set of the point it is named after"
)]
pub struct Plugins {
    #[serde(deserialize_with = "nullable")]
    pub bind: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub filter: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub multi_point: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub permit: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub placement_generate: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub placement_score: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub pod_group_post_filter: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub post_bind: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub post_filter: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub pre_bind: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub pre_enqueue: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub pre_filter: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub pre_score: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub queue_sort: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub reserve: PluginSet,
    #[serde(deserialize_with = "nullable")]
    pub score: PluginSet,
}

/// Plugins switched on and off at a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginSet {
    /// Switched off; `*` stands for all.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub disabled: Vec<PluginEntry>,
    /// Switched on, in this order.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub enabled: Vec<PluginEntry>,
}

/// A plugin in a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginEntry {
    /// The plugin's name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Factor of its score; 0 counts as 1.
    #[serde(deserialize_with = "nullable")]
    pub weight: i32,
}

impl Plugins {
    /// The set of one point.
    pub fn at(&self, point: Point) -> &PluginSet {
        match point {
            Point::PreEnqueue => &self.pre_enqueue,
            Point::QueueSort => &self.queue_sort,
            Point::PreFilter => &self.pre_filter,
            Point::Filter => &self.filter,
            Point::PostFilter => &self.post_filter,
            Point::PreScore => &self.pre_score,
            Point::Score => &self.score,
            Point::Reserve => &self.reserve,
            Point::Permit => &self.permit,
            Point::PreBind => &self.pre_bind,
            Point::Bind => &self.bind,
            Point::PostBind => &self.post_bind,
            Point::PlacementGenerate => &self.placement_generate,
            Point::PlacementScore => &self.placement_score,
            Point::PodGroupPostFilter => &self.pod_group_post_filter,
        }
    }

    /// Whether a plugin is switched on anywhere.
    pub fn enables(&self, name: &str) -> bool {
        Point::ALL
            .iter()
            .map(|point| self.at(*point))
            .chain([&self.multi_point])
            .flat_map(|set| &set.enabled)
            .any(|entry| entry.name == name)
    }

    /// The default plugins with these changes. All defaults are in `multi_point`, so the other
    /// sets stay as they are.
    pub(super) fn merged_into_defaults(self) -> Self {
        Self {
            multi_point: self.multi_point.merged_into(default_plugins()),
            ..self
        }
    }
}

fn default_plugins() -> Vec<PluginEntry> {
    Plugin::ALL
        .iter()
        .map(|plugin| PluginEntry {
            name: plugin.name().to_string(),
            weight: plugin.default_weight(),
        })
        .collect()
}

impl PluginSet {
    /// Whether a plugin, or `*`, is switched off by name.
    pub fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|entry| entry.name == name)
    }

    /// The default entries that are not switched off keep their places, with this set's weight
    /// if it has them too; the rest of this set follows. Mirrors `mergePluginSet`.
    fn merged_into(self, defaults: Vec<PluginEntry>) -> Self {
        let mut replaced = vec![false; self.enabled.len()];
        let mut enabled = Vec::new();
        if !self.disables("*") {
            for default in defaults {
                if self.disables(&default.name) {
                    continue;
                }
                // Upstream keeps entries by name in a map: of two the last one counts. The
                // first is then appended below and refused as registered twice.
                let own = self
                    .enabled
                    .iter()
                    .zip(&mut replaced)
                    .rfind(|(entry, _)| entry.name == default.name);
                if let Some((entry, replaced)) = own {
                    *replaced = true;
                    enabled.push(entry.clone());
                } else {
                    enabled.push(default);
                }
            }
        }
        let appended = self.enabled.iter().zip(&replaced);
        enabled.extend(
            appended
                .filter(|(_, replaced)| !**replaced)
                .map(|(entry, _)| entry.clone()),
        );
        Self {
            disabled: self.disabled,
            enabled,
        }
    }
}
