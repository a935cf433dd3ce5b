//! Defaults. Mirrors `pkg/scheduler/apis/config/v1/defaults.go`.

use super::{
    DEFAULT_SCHEDULER_NAME, Duration, KubeSchedulerConfiguration, KubeSchedulerProfile, PluginArgs,
    PluginConfig, ResourceSpec, ScoringStrategyConfig, ShapePoint, Value,
};
use crate::plugins::Plugin;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

impl KubeSchedulerConfiguration {
    /// The configuration with every default filled in: one profile if there is none, all plugins
    /// of each, the args of each plugin that is switched on.
    #[must_use]
    pub fn defaulted(self) -> Self {
        let Self {
            mut client_connection,
            mut leader_election,
            mut extenders,
            mut profiles,
            ..
        } = self;
        set_if_empty(
            &mut client_connection.content_type,
            "application/vnd.kubernetes.protobuf",
        );
        set_if_zero(&mut client_connection.qps, 50.0);
        set_if_zero(&mut client_connection.burst, 100);

        leader_election.leader_elect.get_or_insert(true);
        set_if_zero(
            &mut leader_election.lease_duration,
            Duration::from_seconds(15),
        );
        set_if_zero(
            &mut leader_election.renew_deadline,
            Duration::from_seconds(10),
        );
        set_if_zero(&mut leader_election.retry_period, Duration::from_seconds(2));
        set_if_empty(&mut leader_election.resource_lock, "leases");
        set_if_empty(&mut leader_election.resource_name, "kube-scheduler");
        set_if_empty(&mut leader_election.resource_namespace, "kube-system");

        // Upstream sets it where it builds the extender.
        for extender in &mut extenders {
            set_if_zero(&mut extender.http_timeout, Duration::from_seconds(5));
        }

        if profiles.is_empty() {
            profiles.push(KubeSchedulerProfile::default());
        }
        if let [profile] = profiles.as_mut_slice() {
            profile
                .scheduler_name
                .get_or_insert_with(|| DEFAULT_SCHEDULER_NAME.to_string());
        }
        for profile in &mut profiles {
            profile.set_defaults();
        }

        let enable_profiling = self.enable_profiling.unwrap_or(true);
        Self {
            client_connection,
            leader_election,
            extenders,
            profiles,
            enable_profiling: Some(enable_profiling),
            enable_contention_profiling: self
                .enable_contention_profiling
                .or(Some(enable_profiling)),
            parallelism: self.parallelism.or(Some(16)),
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score.or(Some(0)),
            pod_initial_backoff_seconds: self.pod_initial_backoff_seconds.or(Some(1)),
            pod_max_backoff_seconds: self.pod_max_backoff_seconds.or(Some(10)),
            api_version: self.api_version,
            kind: self.kind,
            delay_cache_until_active: self.delay_cache_until_active,
        }
    }

    /// The defaulted configuration as `--write-config-to` of kube-scheduler writes it: args by
    /// plugin name, and none of plugins that are switched off.
    #[must_use]
    pub fn completed(self) -> Self {
        let mut config = self.defaulted();
        for profile in &mut config.profiles {
            let plugins = &profile.plugins;
            profile.plugin_config.retain(|config| {
                plugins.enables(&config.name) && config.args != PluginArgs::Undecoded(Value::Null)
            });
            profile
                .plugin_config
                .sort_by(|one, other| one.name.cmp(&other.name));
        }
        config
    }
}

impl KubeSchedulerProfile {
    fn set_defaults(&mut self) {
        self.plugins = mem::take(&mut self.plugins).merged_into_defaults();
        let mut names: Vec<&str> = Plugin::ALL.iter().map(|plugin| plugin.name()).collect();
        names.sort_unstable();
        for name in names {
            let missing = !self.plugin_config.iter().any(|config| config.name == name);
            if missing
                && self.plugins.enables(name)
                && let Some(args) = PluginArgs::empty(name)
            {
                self.plugin_config.push(PluginConfig {
                    args,
                    name: name.to_string(),
                });
            }
        }
        for config in &mut self.plugin_config {
            config.args.set_defaults();
        }
    }
}

impl PluginArgs {
    /// Fills in the defaults of one plugin's args.
    pub(crate) fn set_defaults(&mut self) {
        match self {
            Self::DefaultPreemption(args) => {
                args.min_candidate_nodes_percentage.get_or_insert(10);
                args.min_candidate_nodes_absolute.get_or_insert(100);
            }
            Self::DynamicResources(args) => {
                args.filter_timeout
                    .get_or_insert(Duration::from_seconds(10));
                args.binding_timeout
                    .get_or_insert(Duration::from_seconds(600));
            }
            Self::InterPodAffinity(args) => {
                args.hard_pod_affinity_weight.get_or_insert(1);
            }
            Self::NodeResourcesBalancedAllocation(args) => {
                set_default_resources(&mut args.resources);
            }
            Self::NodeResourcesFit(args) => {
                let strategy = args
                    .scoring_strategy
                    .get_or_insert_with(|| ScoringStrategyConfig {
                        kind: "LeastAllocated".to_string(),
                        ..Default::default()
                    });
                set_default_resources(&mut strategy.resources);
            }
            Self::PodTopologySpread(args) => set_if_empty(&mut args.defaulting_type, "System"),
            Self::VolumeBinding(args) => {
                args.bind_timeout_seconds.get_or_insert(600);
                if args.shape.is_empty() {
                    args.shape = vec![
                        ShapePoint {
                            utilization: 0,
                            score: 10,
                        },
                        ShapePoint {
                            utilization: 100,
                            score: 0,
                        },
                    ];
                }
            }
            Self::NodeAffinity(_) | Self::Undecoded(_) => {}
        }
    }
}

fn set_default_resources(resources: &mut Vec<ResourceSpec>) {
    if resources.is_empty() {
        for name in ["cpu", "memory"] {
            resources.push(ResourceSpec {
                name: name.to_string(),
                weight: 1,
            });
        }
    }
    for resource in resources {
        set_if_zero(&mut resource.weight, 1);
    }
}

fn set_if_empty(text: &mut String, default: &str) {
    if text.is_empty() {
        *text = default.to_string();
    }
}

fn set_if_zero<T: Default + PartialEq>(number: &mut T, default: T) {
    if *number == T::default() {
        *number = default;
    }
}
