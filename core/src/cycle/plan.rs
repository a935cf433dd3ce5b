//! Plan: what a profile comes to in a cycle, with its names interned.

use super::volumes;
use crate::capacity::CapacityExceeded;
use crate::cluster::Cluster;
use crate::cluster::live::Static;
use crate::id::ResourceId;
use crate::kernel::{CPU, EPHEMERAL, MEMORY, word};
use crate::plugins::{Plugin, Point};
use crate::profile::{Profile, ScoringKind};
use crate::requests::{self, ResourceClass};
use crate::table::Table;
use alloc::string::String;
use alloc::vec::Vec;

/// A resource that a score is configured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Cpu, memory or ephemeral storage, by its place in the columns.
    Main(usize),
    Scalar(ResourceId),
    /// Neither native nor scalar: no node has any.
    Nothing,
}

/// How the fit score turns use into a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Least,
    Most,
    /// Points of utilisation and score times 10.
    Ratio(Vec<(i64, i64)>),
}

/// A profile, ready to run.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) scheduler_name: String,
    /// Percentage of feasible nodes to find; 0 adapts.
    pub(crate) percentage: u32,
    /// Plugins of the Filter point, in order.
    pub(crate) filters: Vec<Plugin>,
    /// Plugins of the Score point with their weights, in order.
    pub(crate) scores: Vec<(Plugin, i64)>,
    /// Plugins of the PostFilter point, in order.
    pub(crate) post_filters: Vec<Plugin>,
    /// Nodes that preemption tries at least: a percentage, and a number.
    pub(crate) candidates: (u32, u32),
    /// Plugins that sign its pods for batching: see `batch.rs`.
    pub(crate) signers: Option<u32>,
    /// Whether a plugin runs at the point.
    pre_enqueues: [bool; Plugin::COUNT],
    pre_filters: [bool; Plugin::COUNT],
    pre_scores: [bool; Plugin::COUNT],
    /// Plugins of the PreFilter point that may refuse every node, in order.
    pub(crate) refusing_pre_filters: Vec<Plugin>,
    /// All plugins of the PreFilter point, in order.
    pre_filter_order: Vec<Plugin>,
    /// Whether VolumeBinding runs at Reserve.
    pub(crate) reserves_volumes: bool,
    /// Points of used room in percent and score.
    pub(crate) volume_shape: Vec<(i64, i64)>,
    /// Nanoseconds for which a pod waits for its volumes.
    pub(crate) volume_timeout: u64,
    pub(crate) strategy: Strategy,
    pub(crate) fit_resources: Vec<(Target, i64)>,
    /// Set where the block kernel can score the fit: cpu and memory alone.
    pub(crate) fit_weights: Option<(word::Strategy, [i64; 2])>,
    pub(crate) ignored_resources: Vec<String>,
    pub(crate) ignored_groups: Vec<String>,
    pub(crate) balanced: Vec<Target>,
    pub(crate) hard_pod_affinity_weight: i64,
    pub(crate) ignore_preferred_terms_of_existing_pods: bool,
    pub(crate) has_added_preferred: bool,
    /// Set where the best node of a class can be kept up to date.
    pub(crate) kept: Option<KeptPlan>,
}

/// What peaks are made of, see `cycle/best.rs`.
#[derive(Clone)]
pub(crate) struct KeptPlan {
    /// Verdicts of the profile's filters that node objects decide.
    pub(crate) refusing: Vec<Static>,
    /// Weights of NodeResourcesFit and NodeResourcesBalancedAllocation, 0 where one does not score.
    pub(crate) weights: [i16; 2],
}

impl Plan {
    pub(crate) fn new(profile: &Profile, cluster: &mut Cluster) -> Result<Self, CapacityExceeded> {
        let args = &profile.args;
        let mut fit_resources = Vec::new();
        for (name, weight) in &args.scoring_strategy.resources {
            fit_resources.push((target(name, cluster)?, *weight));
        }
        let mut balanced = Vec::new();
        for name in &args.balanced_resources {
            balanced.push(target(name, cluster)?);
        }
        let strategy = match args.scoring_strategy.kind {
            ScoringKind::LeastAllocated => Strategy::Least,
            ScoringKind::MostAllocated => Strategy::Most,
            ScoringKind::RequestedToCapacityRatio => {
                Strategy::Ratio(args.scoring_strategy.shape.clone())
            }
        };
        let fit_weights = match (&strategy, fit_resources.as_slice()) {
            (Strategy::Ratio(_), _) => None,
            (strategy, [(Target::Main(CPU), cpu), (Target::Main(MEMORY), memory)]) => {
                let strategy = match strategy {
                    Strategy::Most => word::Strategy::Most,
                    _ => word::Strategy::Least,
                };
                Some((strategy, [*cpu, *memory]))
            }
            _ => None,
        };
        let scores = profile.plugins(Point::Score);
        let kept = super::best::plan(profile);
        let runs_at = |point| -> [bool; Plugin::COUNT] {
            core::array::from_fn(|at| {
                let plugin = Plugin::ALL.get(at);
                plugin.is_some_and(|plugin| profile.plugins(point).contains(plugin))
            })
        };
        Ok(Self {
            scheduler_name: profile.scheduler_name.clone(),
            percentage: profile.percentage_of_nodes_to_score.max(0).cast_unsigned(),
            filters: profile.plugins(Point::Filter).to_vec(),
            scores: scores
                .iter()
                .map(|plugin| (*plugin, profile.weight(*plugin)))
                .collect(),
            post_filters: profile.plugins(Point::PostFilter).to_vec(),
            candidates: (
                args.min_candidate_nodes_percentage.max(0).cast_unsigned(),
                args.min_candidate_nodes_absolute.max(0).cast_unsigned(),
            ),
            signers: crate::batch::signers(profile),
            pre_enqueues: runs_at(Point::PreEnqueue),
            pre_filters: runs_at(Point::PreFilter),
            pre_scores: runs_at(Point::PreScore),
            refusing_pre_filters: profile
                .plugins(Point::PreFilter)
                .iter()
                .copied()
                .filter(|plugin| {
                    *plugin == Plugin::NodeAffinity || volumes::PLUGINS.contains(plugin)
                })
                .collect(),
            pre_filter_order: profile.plugins(Point::PreFilter).to_vec(),
            reserves_volumes: profile
                .plugins(Point::Reserve)
                .contains(&Plugin::VolumeBinding),
            volume_shape: args.volume_shape.clone(),
            volume_timeout: args
                .volume_bind_timeout_seconds
                .max(0)
                .cast_unsigned()
                .saturating_mul(1_000_000_000),
            strategy,
            fit_resources,
            fit_weights,
            ignored_resources: args.ignored_resources.clone(),
            ignored_groups: args.ignored_resource_groups.clone(),
            balanced,
            hard_pod_affinity_weight: i64::from(args.hard_pod_affinity_weight),
            ignore_preferred_terms_of_existing_pods: args.ignore_preferred_terms_of_existing_pods,
            kept,
            has_added_preferred: args.added_affinity.as_ref().is_some_and(|added| {
                added
                    .preferred
                    .as_ref()
                    .is_some_and(|list| !list.is_empty())
            }),
        })
    }

    pub(crate) fn scores(&self, plugin: Plugin) -> bool {
        self.scores.iter().any(|(own, _)| *own == plugin)
    }

    pub(crate) fn pre_enqueues(&self, plugin: Plugin) -> bool {
        *self.pre_enqueues.at(plugin as usize)
    }

    pub(crate) fn pre_filters(&self, plugin: Plugin) -> bool {
        *self.pre_filters.at(plugin as usize)
    }

    /// Whether DynamicResources comes to PostFilter before preemption, and without what it prepares
    /// at PreFilter, where `refuser` ended that point early.
    pub(crate) fn lacks_device_state(&self, refuser: Option<Plugin>) -> bool {
        let mut post_filters = self.post_filters.iter();
        let first = post_filters
            .find(|plugin| matches!(plugin, Plugin::DynamicResources | Plugin::DefaultPreemption));
        let place = |plugin: Plugin| self.pre_filter_order.iter().position(|own| *own == plugin);
        first == Some(&Plugin::DynamicResources)
            && match (place(Plugin::DynamicResources), refuser.and_then(place)) {
                (None, _) => true,
                (Some(devices), Some(refuser)) => refuser < devices,
                (Some(_), None) => false,
            }
    }

    pub(crate) fn pre_scores(&self, plugin: Plugin) -> bool {
        *self.pre_scores.at(plugin as usize)
    }
}

fn target(name: &str, cluster: &mut Cluster) -> Result<Target, CapacityExceeded> {
    Ok(match requests::class(name) {
        ResourceClass::Cpu => Target::Main(CPU),
        ResourceClass::Memory => Target::Main(MEMORY),
        ResourceClass::EphemeralStorage => Target::Main(EPHEMERAL),
        ResourceClass::Scalar { .. } => {
            Target::Scalar(cluster.resources.intern(name, &mut cluster.texts)?)
        }
        ResourceClass::Pods | ResourceClass::Ignored => Target::Nothing,
    })
}
