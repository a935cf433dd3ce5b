//! Args of all plugins of a profile, ready for use.

use crate::object::config::{
    Duration, PluginArgs, PluginConfig, ScoringStrategyConfig, ShapePoint,
};
use crate::object::{NodeAffinity, TopologySpreadConstraint};
use crate::plugins::Plugin;
use alloc::string::String;
use alloc::vec::Vec;

/// What the plugins of a profile are set to; defaults where nothing is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Args {
    /// `InterPodAffinity`: score weight of required affinity of existing pods, 0 to 100.
    pub hard_pod_affinity_weight: i32,
    /// `InterPodAffinity`: whether preferred terms of existing pods count only for pods that have
    /// affinity themselves.
    pub ignore_preferred_terms_of_existing_pods: bool,
    /// `NodeAffinity`: holds for every pod beside its own.
    pub added_affinity: Option<NodeAffinity>,
    /// `NodeResourcesFit`: resources that the filter does not look at.
    pub ignored_resources: Vec<String>,
    /// `NodeResourcesFit`: prefixes before the `/` of such resources.
    pub ignored_resource_groups: Vec<String>,
    /// `NodeResourcesFit`: how nodes are scored.
    pub scoring_strategy: ScoringStrategy,
    /// `NodeResourcesBalancedAllocation`: resources that are balanced.
    pub balanced_resources: Vec<String>,
    /// `PodTopologySpread`: constraints of pods that have none.
    pub default_constraints: DefaultConstraints,
    /// `DefaultPreemption`: at least this percentage of nodes is tried.
    pub min_candidate_nodes_percentage: i32,
    /// `DefaultPreemption`: at least so many nodes are tried.
    pub min_candidate_nodes_absolute: i32,
    /// `VolumeBinding`: seconds to wait for volumes.
    pub volume_bind_timeout_seconds: i64,
    /// `VolumeBinding`: points (utilization 0 to 100, score 0 to 100).
    pub volume_shape: Vec<(i64, i64)>,
    /// `DynamicResources`: time for filtering one node; zero is no limit.
    pub device_filter_timeout: Duration,
    /// `DynamicResources`: wait for binding conditions of devices.
    pub device_binding_timeout: Duration,
}

/// How `NodeResourcesFit` scores a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoringStrategy {
    /// The formula.
    pub kind: ScoringKind,
    /// Resources and their weights 1 to 100.
    pub resources: Vec<(String, i64)>,
    /// Points (utilization 0 to 100, score 0 to 100) of `RequestedToCapacityRatio`, else empty.
    pub shape: Vec<(i64, i64)>,
}

/// A formula of `NodeResourcesFit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoringKind {
    /// The emptier the better.
    #[default]
    LeastAllocated,
    /// The fuller the better.
    MostAllocated,
    /// By the shape.
    RequestedToCapacityRatio,
}

/// Constraints of pods that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DefaultConstraints {
    /// Those built into `PodTopologySpread`.
    #[default]
    System,
    /// These.
    List(Vec<TopologySpreadConstraint>),
}

impl Args {
    /// The args of a defaulted and validated profile. Of plugins that are switched off there may
    /// be none; nobody reads them.
    pub(super) fn resolve(configs: &[PluginConfig]) -> Self {
        let mut args = Self {
            hard_pod_affinity_weight: 0,
            ignore_preferred_terms_of_existing_pods: false,
            added_affinity: None,
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            scoring_strategy: ScoringStrategy::default(),
            balanced_resources: Vec::new(),
            default_constraints: DefaultConstraints::System,
            min_candidate_nodes_percentage: 0,
            min_candidate_nodes_absolute: 0,
            volume_bind_timeout_seconds: 0,
            volume_shape: Vec::new(),
            device_filter_timeout: Duration::ZERO,
            device_binding_timeout: Duration::ZERO,
        };
        for plugin in Plugin::ALL {
            if let Some(mut defaults) = PluginArgs::empty(plugin.name()) {
                defaults.set_defaults();
                args.set(&defaults);
            }
        }
        for config in configs {
            args.set(&config.args);
        }
        args
    }

    fn set(&mut self, args: &PluginArgs) {
        match args {
            PluginArgs::DefaultPreemption(args) => {
                self.min_candidate_nodes_percentage =
                    args.min_candidate_nodes_percentage.unwrap_or_default();
                self.min_candidate_nodes_absolute =
                    args.min_candidate_nodes_absolute.unwrap_or_default();
            }
            PluginArgs::DynamicResources(args) => {
                self.device_filter_timeout = args.filter_timeout.unwrap_or_default();
                self.device_binding_timeout = args.binding_timeout.unwrap_or_default();
            }
            PluginArgs::InterPodAffinity(args) => {
                self.hard_pod_affinity_weight = args.hard_pod_affinity_weight.unwrap_or_default();
                self.ignore_preferred_terms_of_existing_pods =
                    args.ignore_preferred_terms_of_existing_pods;
            }
            PluginArgs::NodeAffinity(args) => {
                self.added_affinity = args.added_affinity.as_ref().map(Into::into);
            }
            PluginArgs::NodeResourcesBalancedAllocation(args) => {
                self.balanced_resources = args
                    .resources
                    .iter()
                    .map(|resource| resource.name.clone())
                    .collect();
            }
            PluginArgs::NodeResourcesFit(args) => {
                self.ignored_resources.clone_from(&args.ignored_resources);
                self.ignored_resource_groups
                    .clone_from(&args.ignored_resource_groups);
                if let Some(strategy) = &args.scoring_strategy {
                    self.scoring_strategy = strategy.into();
                }
            }
            PluginArgs::PodTopologySpread(args) => {
                self.default_constraints = match args.defaulting_type.as_str() {
                    "List" => DefaultConstraints::List(
                        args.default_constraints.iter().map(Into::into).collect(),
                    ),
                    _ => DefaultConstraints::System,
                };
            }
            PluginArgs::VolumeBinding(args) => {
                self.volume_bind_timeout_seconds = args.bind_timeout_seconds.unwrap_or_default();
                self.volume_shape = args.shape.iter().copied().map(scaled).collect();
            }
            PluginArgs::Undecoded(_) => {}
        }
    }
}

impl From<&ScoringStrategyConfig> for ScoringStrategy {
    fn from(config: &ScoringStrategyConfig) -> Self {
        Self {
            kind: match config.kind.as_str() {
                "MostAllocated" => ScoringKind::MostAllocated,
                "RequestedToCapacityRatio" => ScoringKind::RequestedToCapacityRatio,
                _ => ScoringKind::LeastAllocated,
            },
            resources: config
                .resources
                .iter()
                .map(|resource| (resource.name.clone(), resource.weight))
                .collect(),
            shape: config
                .requested_to_capacity_ratio
                .iter()
                .flat_map(|ratio| &ratio.shape)
                .copied()
                .map(scaled)
                .collect(),
        }
    }
}

/// Scores of shapes go to 10, those of nodes to 100.
fn scaled(point: ShapePoint) -> (i64, i64) {
    (
        i64::from(point.utilization),
        i64::from(point.score).saturating_mul(10),
    )
}
