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
    ConfigError, KubeSchedulerConfiguration, KubeSchedulerProfile, PluginSet, Plugins,
};
use crate::plugins::{Plugin, Point};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;

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

    /// The profiles of a defaulted configuration; what keeps one from being built joins `errors`,
    /// which holds what validation found. `given` are the profiles before defaults were filled in.
    ///
    /// Upstream stops at the first such error; here all are told at once.
    pub(crate) fn resolve_all(
        config: &KubeSchedulerConfiguration,
        given: &[KubeSchedulerProfile],
        errors: &mut Vec<ConfigError>,
    ) -> Vec<Self> {
        let mut profiles = Vec::with_capacity(config.profiles.len());
        let sort = Plugin::PrioritySort.name();
        let first_sort_args = config
            .profiles
            .first()
            .and_then(|first| first.undecoded_args(sort));
        for (index, profile) in config.profiles.iter().enumerate() {
            let mut building = Building {
                profile,
                given: given.get(index).map(|profile| &profile.plugins.multi_point),
                path: format!("profiles[{index}]"),
                errors: Vec::new(),
            };
            profiles.extend(building.build(config));
            if profile.undecoded_args(sort) != first_sort_args {
                let name = profile.scheduler_name.as_deref().unwrap_or_default();
                building.error(
                    "pluginConfig",
                    format!("different queue sort plugin args for profile {name:?}"),
                );
            }
            for error in building.errors {
                // Validation may have refused the same entry, or what is below it, already.
                let told = errors.iter().any(|told| {
                    told.field == error.field
                        || told.field.strip_prefix(&*error.field) == Some(".args")
                });
                if !told {
                    errors.push(error);
                }
            }
        }
        profiles
    }
}

/// A profile that is being built, and what keeps it from being.
struct Building<'a> {
    profile: &'a KubeSchedulerProfile,
    /// Its multi-point set before the defaults were merged in.
    given: Option<&'a PluginSet>,
    path: String,
    errors: Vec<ConfigError>,
}

impl Building<'_> {
    fn error(&mut self, below: impl Display, problem: String) {
        let field = format!("{}.{below}", self.path);
        self.errors.push(ConfigError { field, problem });
    }

    fn build(&mut self, config: &KubeSchedulerConfiguration) -> Option<Profile> {
        let profile = self.profile;
        let own = BUILD_ORDER.map(|point| (point, self.explicit(point)));
        let mut plugins = [const { Vec::new() }; Point::ALL.len()];
        let mut told = BTreeSet::new();
        for (point, own) in own {
            let expanded = self.expand(point, own, &mut told);
            if let Some(slot) = plugins.get_mut(point as usize) {
                *slot = expanded;
            }
        }
        if !self.errors.is_empty() {
            return None;
        }
        let name = profile.scheduler_name.clone().unwrap_or_default();
        let count = |point: Point| plugins.get(point as usize).map_or(0, Vec::len);
        let sorts = count(Point::QueueSort);
        if sorts != 1 {
            self.error(
                "plugins.queueSort",
                format!(
                    "only one queue sort plugin required for profile with scheduler name {name:?}, but got {sorts}"
                ),
            );
        }
        if count(Point::Bind) == 0 {
            self.error(
                "plugins.bind",
                format!(
                    "at least one bind plugin is needed for profile with scheduler name {name:?}"
                ),
            );
        }
        let weights = weights(&profile.plugins)
            .map_err(|problem| self.error("plugins.score", problem))
            .ok()?;
        self.errors.is_empty().then(|| Profile {
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

    /// The plugins that a point's own set switches on.
    fn explicit(&mut self, point: Point) -> Vec<Plugin> {
        let mut plugins = Vec::new();
        for (index, entry) in self.profile.plugins.at(point).enabled.iter().enumerate() {
            let plugin = known(&entry.name, point).and_then(|plugin| {
                if plugin.extends(point) {
                    return register(&mut plugins, plugin, point);
                }
                let (name, point) = (&entry.name, point.name());
                Err(format!(
                    "plugin {name:?} does not extend {point}Plugin plugin"
                ))
            });
            if let Err(problem) = plugin {
                let point = point.field_name();
                self.error(format_args!("plugins.{point}.enabled[{index}]"), problem);
            }
        }
        plugins
    }

    /// All plugins of a point: those of its own set that are in multi-point too, in the own set's
    /// order; then the rest of multi-point, in its order; then the rest of the own set. `told` are
    /// the places in multi-point of which an error was told at an earlier point.
    fn expand(
        &mut self,
        point: Point,
        own: Vec<Plugin>,
        told: &mut BTreeSet<usize>,
    ) -> Vec<Plugin> {
        let profile = self.profile;
        let set = profile.plugins.at(point);
        if set.disables("*") {
            return own;
        }
        let mut overriding = Vec::new();
        let mut added = Vec::new();
        for (place, entry) in profile.plugins.multi_point.enabled.iter().enumerate() {
            let taken = known(&entry.name, point).and_then(|plugin| {
                if !plugin.extends(point) || set.disables(&entry.name) {
                    Ok(())
                } else if own.contains(&plugin) {
                    overriding.push(plugin);
                    Ok(())
                } else {
                    register(&mut added, plugin, point)
                }
            });
            if let Err(problem) = taken
                && told.insert(place)
            {
                let entries = self.given.map_or(&[][..], |set| &set.enabled);
                let mut names = entries.iter().map(|entry| &entry.name);
                match names.rposition(|name| *name == entry.name) {
                    Some(index) => {
                        let below = format_args!("plugins.multiPoint.enabled[{index}]");
                        self.error(below, problem);
                    }
                    None => self.error("plugins.multiPoint", problem),
                }
            }
        }
        let (mut plugins, rest): (Vec<_>, Vec<_>) = own
            .into_iter()
            .partition(|plugin| overriding.contains(plugin));
        plugins.extend(added);
        plugins.extend(rest);
        plugins
    }
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
