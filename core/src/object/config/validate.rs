//! The rules of a configuration.
//!
//! Mirrors `pkg/scheduler/apis/config/validation/validation.go`,
//! `component-base/config/validation` and, for the election, `NewLeaderElector` of client-go.
//! Texts and paths are upstream's; rules of Berth alone are marked.

mod args;
mod extender;
mod findings;
mod names;
mod node_affinity;

use super::{
    ApiVersion, ConfigError, KubeSchedulerConfiguration, KubeSchedulerProfile, LeaderElection,
    PluginArgs, PluginEntry, PluginSet, Value,
};
use crate::plugins::{Plugin, Point};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use findings::Findings;

/// Plugins that are gone, and refused by name at most points.
const REMOVED: [&str; 4] = [
    "AzureDiskLimits",
    "CinderLimits",
    "EBSLimits",
    "GCEPDLimits",
];

/// Points at which removed plugins are not looked for. Multi-point neither.
const REMOVED_NOT_SOUGHT: [Point; 2] = [Point::PlacementGenerate, Point::PlacementScore];

impl KubeSchedulerConfiguration {
    /// Everything that is wrong with a [defaulted](Self::defaulted) configuration; nothing is
    /// wrong if the list is empty. One that is not defaulted misses required fields.
    pub fn validate(&self) -> Vec<ConfigError> {
        let mut findings = Findings::default();
        if self.client_connection.burst < 0 {
            let burst = self.client_connection.burst;
            findings.invalid("clientConnection.burst", burst, "must be non-negative");
        }
        self.leader_election.validate(&mut findings);
        if let Some(parallelism) = self.parallelism
            && parallelism <= 0
        {
            let detail = "should be an integer value greater than zero";
            findings.invalid("parallelism", parallelism, detail);
        }

        if self.profiles.is_empty() {
            findings.required("profiles", "");
        }
        for (index, profile) in self.profiles.iter().enumerate() {
            profile.validate(&format!("profiles[{index}]"), &mut findings);
            let name = profile.scheduler_name.as_deref().unwrap_or_default();
            let mut earlier = self.profiles.iter().take(index);
            if earlier.any(|other| other.scheduler_name.as_deref().unwrap_or_default() == name) {
                // Upstream gives the earlier field's path as the value, whose text is `{}`.
                findings.duplicate(format!("profiles[{index}].schedulerName"), "{}");
            }
        }
        self.validate_common_queue_sort(&mut findings);

        validate_percentage(
            "percentageOfNodesToScore",
            self.percentage_of_nodes_to_score,
            &mut findings,
        );
        let initial = self.pod_initial_backoff_seconds.unwrap_or_default();
        if initial <= 0 {
            let detail = "must be greater than 0";
            findings.invalid("podInitialBackoffSeconds", initial, detail);
        }
        let max = self.pod_max_backoff_seconds.unwrap_or_default();
        if max < initial {
            let detail = "must be greater than or equal to PodInitialBackoffSeconds";
            findings.invalid("podMaxBackoffSeconds", max, detail);
        }
        extender::validate(&self.extenders, &mut findings);
        findings.into_errors()
    }

    /// All pods wait in one queue, so all profiles must sort alike.
    fn validate_common_queue_sort(&self, findings: &mut Findings) {
        let Some((first, others)) = self.profiles.split_first() else {
            return;
        };
        let queue_sort = &first.plugins.queue_sort;
        if queue_sort.enabled.len() > 1 {
            findings.invalid(
                "profiles[0].plugins.queueSort.Enabled",
                queue_sort.enabled.len(),
                "only one queue sort plugin can be enabled",
            );
        }
        let name = queue_sort.enabled.first();
        let name = name.map_or("", |entry| entry.name.as_str());
        let first_args = first.undecoded_args(name);
        for (index, profile) in (1..).zip(others) {
            if profile.plugins.queue_sort != *queue_sort {
                findings.invalid(
                    format!("profiles[{index}].plugins.queueSort"),
                    go_plugin_set(&profile.plugins.queue_sort),
                    "must be the same for all profiles",
                );
            }
            if let Some(args) = profile.undecoded_args(name)
                && first_args != Some(args)
            {
                findings.invalid(
                    format!("profiles[{index}].pluginConfig.args"),
                    args,
                    "queueSort must be the same for all profiles",
                );
            }
        }
    }
}

impl LeaderElection {
    fn validate(&self, findings: &mut Findings) {
        if self.leader_elect != Some(true) {
            return;
        }
        let times = [
            ("leaseDuration", self.lease_duration),
            ("renewDeadline", self.renew_deadline),
            ("retryPeriod", self.retry_period),
        ];
        for (name, time) in times {
            if time.nanos() <= 0 {
                findings.invalid(
                    format!("leaderElection.{name}"),
                    format!("\"{time}\""),
                    "must be greater than zero",
                );
            }
        }
        if self.lease_duration <= self.renew_deadline {
            findings.invalid(
                "leaderElection.leaseDuration",
                // Not the field's own value: upstream's slip.
                format!("\"{}\"", self.renew_deadline),
                "must be greater than `RenewDeadline`",
            );
        }
        let jittered = (1.2 * self.retry_period.nanos() as f64) as i64;
        if self.renew_deadline.nanos() <= jittered {
            findings.invalid(
                "leaderElection.renewDeadline",
                format!("\"{}\"", self.renew_deadline),
                "renewDeadline must be greater than retryPeriod*JitterFactor",
            );
        }
        let names = [
            ("resourceLock", &self.resource_lock),
            ("resourceNamespace", &self.resource_namespace),
            ("resourceName", &self.resource_name),
        ];
        for (name, value) in names {
            if value.is_empty() {
                findings.required(format!("leaderElection.{name}"), "");
            }
        }
        if self.resource_lock != "leases" {
            findings.invalid(
                "leaderElection.resourceLock",
                format!("{:?}", self.resource_lock),
                "resourceLock value must be \"leases\"",
            );
        }
    }
}

impl KubeSchedulerProfile {
    /// What is configured for a plugin without args of its own, as all plugins that sort are.
    pub(crate) fn undecoded_args(&self, plugin: &str) -> Option<&Value> {
        self.plugin_config
            .iter()
            .find_map(|config| match &config.args {
                PluginArgs::Undecoded(args) if config.name == plugin => Some(args),
                _ => None,
            })
            .filter(|args| **args != Value::Null)
    }

    fn validate(&self, path: &str, findings: &mut Findings) {
        if self.scheduler_name.as_ref().is_none_or(String::is_empty) {
            findings.required(format!("{path}.schedulerName"), "");
        }
        validate_percentage(
            &format!("{path}.percentageOfNodesToScore"),
            self.percentage_of_nodes_to_score,
            findings,
        );
        for point in Point::ALL {
            if REMOVED_NOT_SOUGHT.contains(point) {
                continue;
            }
            for (index, entry) in self.plugins.at(*point).enabled.iter().enumerate() {
                if REMOVED.contains(&entry.name.as_str()) {
                    let field = format!("{path}.plugins.{}.enabled[{index}]", point.field_name());
                    findings.invalid(field, format!("{:?}", entry.name), removed_text());
                }
            }
        }
        for (index, config) in self.plugin_config.iter().enumerate() {
            let path = format!("{path}.pluginConfig[{index}]");
            let quoted = format!("{:?}", config.name);
            if self
                .plugin_config
                .iter()
                .take(index)
                .any(|other| other.name == config.name)
            {
                findings.duplicate(path.clone(), &quoted);
            }
            if REMOVED.contains(&config.name.as_str()) {
                findings.invalid(path, &quoted, removed_text());
            } else if Plugin::from_name(&config.name).is_none() {
                // Differs from kube-scheduler: it keeps args of plugins that it does not know.
                findings.invalid(format!("{path}.name"), &quoted, "is not a plugin of Berth");
            } else if !matches!(config.args, PluginArgs::NodeResourcesFit(_))
                || self.plugins.enables(&config.name)
            {
                // Upstream leaves the args of NodeResourcesFit to the plugin's constructor,
                // which runs only if it is switched on.
                config.args.validate(&format!("{path}.args"), findings);
            }
        }
    }
}

fn removed_text() -> String {
    // Upstream names the version of the core API here.
    let version = ApiVersion::TEXT;
    format!("was invalid in version \"v1\" (KubeSchedulerConfiguration is version \"{version}\")")
}

fn validate_percentage(field: &str, percentage: Option<i32>, findings: &mut Findings) {
    if let Some(percentage) = percentage
        && !(0..=100).contains(&percentage)
    {
        findings.invalid(field, percentage, "not in valid range [0-100]");
    }
}

/// The set as Go prints the type without JSON names.
fn go_plugin_set(set: &PluginSet) -> String {
    let list = |entries: &[PluginEntry]| {
        if entries.is_empty() {
            return String::from("null");
        }
        let entries: Vec<String> = entries
            .iter()
            .map(|entry| format!("{{\"Name\":{:?},\"Weight\":{}}}", entry.name, entry.weight))
            .collect();
        format!("[{}]", entries.join(","))
    };
    let (enabled, disabled) = (list(&set.enabled), list(&set.disabled));
    format!("{{\"Enabled\":{enabled},\"Disabled\":{disabled}}}")
}
