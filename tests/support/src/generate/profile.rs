//! Recipes of configurations.

use super::placement::{self, TermRecipe};
use super::pod::SCHEDULERS;
use super::pool::{KEYS, RESOURCES, pick};
use super::{few, rarely};
use berth_core::object::Requirement;
use berth_core::object::config::KubeSchedulerConfiguration;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Plugins that may be switched off or weigh differently.
const PLUGINS: [&str; 12] = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "NodeUnschedulable",
    "NodePorts",
    "NodeDeclaredFeatures",
    "SchedulingGates",
    "NodeName",
];

/// Those of them that score.
const SCORING: u8 = 7;

/// Points at which a plugin alone may be switched off.
const POINTS: [&str; 4] = ["score", "filter", "preScore", "preFilter"];

/// Type, resources with weights, and points of the shape.
pub type FitRecipe = (u8, Vec<(u8, u8)>, Vec<u8>);

/// One profile. The default is upstream's.
#[derive(Clone, Debug, Default)]
pub struct ProfileRecipe {
    pub percentage: Option<u8>,
    pub disabled: Vec<u8>,
    /// Plugin and point.
    pub disabled_at: Vec<(u8, u8)>,
    pub weights: Vec<(u8, u8)>,
    /// Type, resources with weights, and points of the shape.
    pub fit: Option<FitRecipe>,
    pub ignored: Vec<u8>,
    pub ignored_groups: Vec<u8>,
    pub balanced: Option<Vec<u8>>,
    pub hard_weight: Option<u8>,
    pub ignore_preferred: bool,
    /// Default spread constraints: key, skew, whether hard.
    pub spread: Option<Vec<(u8, u8, bool)>>,
    pub added_required: Option<Vec<TermRecipe>>,
    pub added_preferred: Option<Vec<(i32, TermRecipe)>>,
}

/// Profiles that upstream accepts.
pub fn profile() -> impl Strategy<Value = ProfileRecipe> {
    let plugins = (
        rarely(3, 0..=100_u8),
        few(4, 3, 0..PLUGINS.len() as u8),
        few(8, 2, (0..10_u8, 0..POINTS.len() as u8)),
        few(3, 3, (0..SCORING, 1..=100_u8)),
    );
    let resource = || 0..RESOURCES.len() as u8 + 2;
    let fit = (
        rarely(
            2,
            (
                0..3_u8,
                vec((resource(), 1..=100_u8), 0..=3),
                vec(0..=10_u8, 1..=4),
            ),
        ),
        few(8, 2, resource()),
        few(8, 2, 0..3_u8),
        rarely(3, vec(resource(), 0..=4)),
    );
    let pods = (
        rarely(3, prop_oneof![Just(0_u8), Just(100), 0..=100_u8]),
        rarely(5, Just(())),
        rarely(2, vec((0..KEYS.len() as u8, 1..4_u8, any::<bool>()), 0..=2)),
    );
    // Upstream refuses a term that does not parse at its start.
    let term = || placement::term(false);
    let added = (
        rarely(5, vec(term(), 0..=2)),
        rarely(4, vec((1..=100, term()), 0..=2)),
    );
    (plugins, fit, pods, added).prop_map(|(plugins, fit, pods, added)| ProfileRecipe {
        percentage: plugins.0,
        disabled: plugins.1,
        disabled_at: plugins.2,
        weights: plugins.3,
        fit: fit.0,
        ignored: fit.1,
        ignored_groups: fit.2,
        balanced: fit.3,
        hard_weight: pods.0,
        ignore_preferred: pods.1.is_some(),
        spread: pods.2,
        added_required: added.0,
        added_preferred: added.1,
    })
}

/// The configuration with these profiles, under the first names of [`SCHEDULERS`].
pub fn configuration(profiles: &[ProfileRecipe]) -> KubeSchedulerConfiguration {
    let config = configuration_json(profiles);
    serde_json::from_value(config.clone()).unwrap_or_else(|error| panic!("{error}: {config}"))
}

/// The same as it would be written.
pub fn configuration_json(profiles: &[ProfileRecipe]) -> Value {
    let profiles: Vec<Value> = profiles
        .iter()
        .zip(SCHEDULERS)
        .map(|(profile, name)| profile.json(name))
        .collect();
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    })
}

fn resource(at: u8) -> &'static str {
    match at {
        0 => "cpu",
        1 => "memory",
        at => pick(&RESOURCES, at - 2),
    }
}

fn names(plugins: &[u8]) -> Vec<Value> {
    let mut plugins = plugins.to_vec();
    plugins.sort_unstable();
    plugins.dedup();
    plugins
        .iter()
        .map(|plugin| json!({"name": pick(&PLUGINS, *plugin)}))
        .collect()
}

impl ProfileRecipe {
    fn json(&self, name: &str) -> Value {
        let mut plugins = json!({"multiPoint": {"disabled": names(&self.disabled)}});
        for (at, point) in POINTS.iter().enumerate() {
            let here = self
                .disabled_at
                .iter()
                .filter(|(_, own)| usize::from(*own) == at);
            let here: Vec<u8> = here.map(|(plugin, _)| *plugin).collect();
            plugins[*point] = json!({"disabled": names(&here)});
        }
        let mut weights = self.weights.clone();
        weights.sort_unstable();
        weights.dedup_by_key(|(plugin, _)| *plugin);
        let weight = |(plugin, weight): &(u8, u8)| json!({"name": pick(&PLUGINS, *plugin), "weight": weight});
        plugins["score"]["enabled"] = weights.iter().map(weight).collect();
        let mut profile = json!({
            "schedulerName": name,
            "plugins": plugins,
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": self.fit_args()},
                {"name": "NodeResourcesBalancedAllocation", "args": self.balance_args()},
                {"name": "InterPodAffinity", "args": {
                    "hardPodAffinityWeight": self.hard_weight,
                    "ignorePreferredTermsOfExistingPods": self.ignore_preferred,
                }},
                {"name": "PodTopologySpread", "args": self.spread_args()},
                {"name": "NodeAffinity", "args": self.affinity_args()},
            ],
        });
        if let Some(percentage) = self.percentage {
            profile["percentageOfNodesToScore"] = json!(percentage);
        }
        profile
    }

    fn fit_args(&self) -> Value {
        let mut args = json!({
            "ignoredResources": self.ignored.iter().map(|at| resource(*at)).collect::<Vec<_>>(),
            "ignoredResourceGroups": self
                .ignored_groups
                .iter()
                .map(|at| pick(&["nvidia.com", "example.com", "example.kubernetes.io"], *at))
                .collect::<Vec<_>>(),
        });
        if let Some((kind, resources, shape)) = &self.fit {
            let kinds = [
                "LeastAllocated",
                "MostAllocated",
                "RequestedToCapacityRatio",
            ];
            let kind = pick(&kinds, *kind);
            let resources = resources.iter();
            let mut strategy = json!({
                "type": kind,
                "resources": resources
                    .map(|(at, weight)| json!({"name": resource(*at), "weight": weight}))
                    .collect::<Vec<_>>(),
            });
            if kind == kinds[2] {
                let last = shape.len().saturating_sub(1).max(1);
                let points = shape
                    .iter()
                    .enumerate()
                    .map(|(at, score)| json!({"utilization": at * 100 / last, "score": score}));
                strategy["requestedToCapacityRatio"] = json!({"shape": points.collect::<Vec<_>>()});
            }
            args["scoringStrategy"] = strategy;
        }
        args
    }

    fn balance_args(&self) -> Value {
        let Some(resources) = &self.balanced else {
            return json!({});
        };
        let mut resources = resources.clone();
        resources.sort_unstable();
        resources.dedup();
        let resource = |at: &u8| json!({"name": resource(*at), "weight": 1});
        json!({"resources": resources.iter().map(resource).collect::<Vec<_>>()})
    }

    fn spread_args(&self) -> Value {
        let Some(constraints) = &self.spread else {
            return json!({"defaultingType": "System"});
        };
        let mut constraints = constraints.clone();
        constraints.sort_unstable_by_key(|(key, _, hard)| (*key, *hard));
        constraints.dedup_by_key(|(key, _, hard)| (*key, *hard));
        let constraint = |(key, skew, hard): &(u8, u8, bool)| {
            json!({
                "topologyKey": pick(&KEYS, *key),
                "maxSkew": skew,
                "whenUnsatisfiable": if *hard { "DoNotSchedule" } else { "ScheduleAnyway" },
            })
        };
        json!({
            "defaultingType": "List",
            "defaultConstraints": constraints.iter().map(constraint).collect::<Vec<_>>(),
        })
    }

    fn affinity_args(&self) -> Value {
        let requirement = |own: &Requirement| json!({"key": own.key, "operator": own.operator, "values": own.values});
        let term = |recipe: &TermRecipe| {
            let term = recipe.term();
            json!({
                "matchExpressions": term.match_expressions.iter().map(requirement).collect::<Vec<_>>(),
                "matchFields": term.match_fields.iter().map(requirement).collect::<Vec<_>>(),
            })
        };
        let mut added = json!({});
        if let Some(terms) = &self.added_required {
            added["requiredDuringSchedulingIgnoredDuringExecution"] =
                json!({"nodeSelectorTerms": terms.iter().map(term).collect::<Vec<_>>()});
        }
        if let Some(terms) = &self.added_preferred {
            let weighted = terms
                .iter()
                .map(|(weight, own)| json!({"weight": weight, "preference": term(own)}));
            added["preferredDuringSchedulingIgnoredDuringExecution"] = weighted.collect();
        }
        if added == json!({}) {
            json!({})
        } else {
            json!({"addedAffinity": added})
        }
    }
}
