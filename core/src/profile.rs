//! A profile as the cycle uses it: which plugins run at each point, their weights and args.
//!
//! Stage before: a validated [`KubeSchedulerConfiguration`]. Stage after: the scheduler, which
//! is built for the profiles. Mirrors `NewFramework` and `expandMultiPointPlugins` in
//! `pkg/scheduler/framework/runtime/framework.go`.
//!
//! Two of upstream's start-up errors cannot arise with the closed set of plugins and are not
//! looked for: two placement generators (there is none) and profiles that sort by different
//! plugins (there is one).

mod args;

pub use args::{Args, DefaultConstraints, ScoringKind, ScoringStrategy};

use crate::object::config::{
    ConfigError, ConfigErrors, KubeSchedulerConfiguration, KubeSchedulerProfile, PluginSet, Plugins,
};
use crate::plugins::{Plugin, Point};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The order in which upstream builds the points, and so finds errors.
const BUILD_ORDER: [Point; 15] = [
    Point::PreFilter,
    Point::Filter,
    Point::PostFilter,
    Point::Reserve,
    Point::PreScore,
    Point::Score,
    Point::PreBind,
    Point::Bind,
    Point::PostBind,
    Point::Permit,
    Point::PreEnqueue,
    Point::QueueSort,
    Point::PlacementGenerate,
    Point::PlacementScore,
    Point::PodGroupPostFilter,
];

/// One way of scheduling, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Pods that name it are scheduled by this profile.
    pub scheduler_name: String,
    /// Percentage of feasible nodes after which the search ends: the profile's own, else the
    /// configuration's; 0 adapts to the cluster.
    pub percentage_of_nodes_to_score: i32,
    /// Args of the plugins.
    pub args: Args,
    /// By point, in the order of `Point::ALL`.
    plugins: [Vec<Plugin>; Point::ALL.len()],
    /// By plugin, in the order of `Plugin::ALL`.
    weights: [i64; Plugin::COUNT],
}

impl Profile {
    /// The plugins that run at a point, in their order.
    pub fn plugins(&self, point: Point) -> &[Plugin] {
        self.plugins
            .get(point as usize)
            .map_or(&[], |plugins| plugins.as_slice())
    }

    /// The factor of a plugin's score; at least 1 unless a negative one is configured.
    pub fn weight(&self, plugin: Plugin) -> i64 {
        self.weights.get(plugin as usize).copied().unwrap_or(1)
    }

    /// The profiles of a defaulted and validated configuration; else one error a profile.
    pub(crate) fn resolve_all(
        config: &KubeSchedulerConfiguration,
    ) -> Result<Vec<Self>, ConfigErrors> {
        let mut profiles = Vec::with_capacity(config.profiles.len());
        let mut errors = Vec::new();
        // Differs from kube-scheduler: it asks them over HTTP.
        if !config.extenders.is_empty() {
            errors.push(ConfigError {
                field: String::from("extenders"),
                problem: String::from("Forbidden: extenders cannot be asked here, remove them"),
            });
        }
        let sort = Plugin::PrioritySort.name();
        let first_sort_args = config
            .profiles
            .first()
            .and_then(|first| first.undecoded_args(sort));
        for (index, profile) in config.profiles.iter().enumerate() {
            let same_args = profile.undecoded_args(sort) == first_sort_args;
            match Self::resolve(profile, config) {
                Ok(profile) if !same_args => errors.push(ConfigError {
                    field: format!("profiles[{index}].pluginConfig"),
                    problem: format!(
                        "different queue sort plugin args for profile {:?}",
                        profile.scheduler_name
                    ),
                }),
                Ok(profile) => profiles.push(profile),
                Err((below, problem)) => errors.push(ConfigError {
                    field: format!("profiles[{index}]{below}"),
                    problem,
                }),
            }
        }
        if errors.is_empty() {
            Ok(profiles)
        } else {
            Err(ConfigErrors(errors))
        }
    }

    fn resolve(
        profile: &KubeSchedulerProfile,
        config: &KubeSchedulerConfiguration,
    ) -> Result<Self, (String, String)> {
        let name = profile.scheduler_name.clone().unwrap_or_default();
        let at = |field: &str| format!(".plugins.{field}");
        for point in BUILD_ORDER {
            explicit(profile.plugins.at(point), point)
                .map_err(|problem| (at(point.field_name()), problem))?;
        }
        let mut plugins = [const { Vec::new() }; Point::ALL.len()];
        for point in BUILD_ORDER {
            let expanded =
                expand(&profile.plugins, point).map_err(|problem| (at("multiPoint"), problem))?;
            if let Some(slot) = plugins.get_mut(point as usize) {
                *slot = expanded;
            }
        }
        let count = |point: Point| plugins.get(point as usize).map_or(0, Vec::len);
        let sorts = count(Point::QueueSort);
        if sorts != 1 {
            return Err((
                at("queueSort"),
                format!(
                    "only one queue sort plugin required for profile with scheduler name {name:?}, but got {sorts}"
                ),
            ));
        }
        if count(Point::Bind) == 0 {
            return Err((
                at("bind"),
                format!(
                    "at least one bind plugin is needed for profile with scheduler name {name:?}"
                ),
            ));
        }
        let weights = weights(&profile.plugins).map_err(|problem| (at("score"), problem))?;
        Ok(Self {
            scheduler_name: name,
            percentage_of_nodes_to_score: profile
                .percentage_of_nodes_to_score
                .or(config.percentage_of_nodes_to_score)
                .unwrap_or_default(),
            args: Args::resolve(&profile.plugin_config),
            weights,
            plugins,
        })
    }
}

/// The plugins that a point's own set switches on.
fn explicit(set: &PluginSet, point: Point) -> Result<Vec<Plugin>, String> {
    let mut plugins = Vec::new();
    for entry in &set.enabled {
        let plugin = known(&entry.name, point)?;
        if !plugin.extends(point) {
            let point = point.name();
            return Err(format!(
                "plugin {:?} does not extend {point}Plugin plugin",
                entry.name
            ));
        }
        register(&mut plugins, plugin, point)?;
    }
    Ok(plugins)
}

/// All plugins of a point: those of its own set that are in multi-point too, in the own set's
/// order; then the rest of multi-point, in its order; then the rest of the own set.
fn expand(sets: &Plugins, point: Point) -> Result<Vec<Plugin>, String> {
    let set = sets.at(point);
    let own = explicit(set, point)?;
    if set.disables("*") {
        return Ok(own);
    }
    let mut overriding = Vec::new();
    let mut added = Vec::new();
    for entry in &sets.multi_point.enabled {
        let plugin = known(&entry.name, point)?;
        if !plugin.extends(point) || set.disables(&entry.name) {
            continue;
        }
        if own.contains(&plugin) {
            overriding.push(plugin);
        } else {
            register(&mut added, plugin, point)?;
        }
    }
    let (mut plugins, rest): (Vec<_>, Vec<_>) = own
        .into_iter()
        .partition(|plugin| overriding.contains(plugin));
    plugins.extend(added);
    plugins.extend(rest);
    Ok(plugins)
}

fn known(name: &str, point: Point) -> Result<Plugin, String> {
    Plugin::from_name(name).ok_or_else(|| format!("{}Plugin {name:?} does not exist", point.name()))
}

fn register(plugins: &mut Vec<Plugin>, plugin: Plugin, point: Point) -> Result<(), String> {
    if plugins.contains(&plugin) {
        let (name, point) = (plugin.name(), point.name());
        return Err(format!(
            "plugin {name:?} already registered as \"{point}Plugin\""
        ));
    }
    plugins.push(plugin);
    Ok(())
}

/// The factors of the scores: the first entry of score's own set or multi-point counts. Mirrors
/// `getValidScoreWeights`.
fn weights(sets: &Plugins) -> Result<[i64; Plugin::COUNT], String> {
    let mut weights = [0; Plugin::COUNT];
    let mut total: i64 = 0;
    let entries = sets.score.enabled.iter().chain(&sets.multi_point.enabled);
    for entry in entries {
        let slot = Plugin::from_name(&entry.name)
            .filter(|plugin| plugin.extends(Point::Score))
            .and_then(|plugin| weights.get_mut(plugin as usize));
        let Some(slot @ 0) = slot else {
            continue;
        };
        *slot = match entry.weight {
            0 => 1,
            weight => i64::from(weight),
        };
        // 32-bit weights never overflow, but upstream's check for it does once negative ones
        // made the total negative, and then refuses any further plugin.
        let score_max = slot.saturating_mul(100);
        if score_max > i64::MAX.wrapping_sub(total) {
            return Err(String::from(
                "score plugins: total score of Score plugins could overflow",
            ));
        }
        total = total.saturating_add(score_max);
    }
    Ok(weights.map(|weight| if weight == 0 { 1 } else { weight }))
}
