//! `KubeSchedulerConfiguration` v1: what a scheduler is set up with.
//!
//! Stage before: a face's bytes (JSON, YAML). Stage after: [`Profile`], in which plugin sets and
//! args are resolved. The flow is decode (strict: unknown and repeated fields are errors),
//! [`defaulted`](KubeSchedulerConfiguration::defaulted),
//! [`validate`](KubeSchedulerConfiguration::validate),
//! [`profiles`](KubeSchedulerConfiguration::profiles), which does all of it.
//!
//! Mirrors `pkg/scheduler/apis/config` and `staging/src/k8s.io/kube-scheduler/config/v1`. Fields
//! stand in alphabetical order because kube-scheduler's `--write-config-to` writes them so.

mod args;
mod defaults;
mod duration;
mod error;
mod extender;
mod node_affinity;
mod plugin_sets;
mod type_meta;
mod validate;

pub use super::value::Value;
pub use args::*;
pub use duration::Duration;
pub use error::{ConfigError, ConfigErrors};
pub use extender::{Extender, ExtenderManagedResource, ExtenderTlsConfig, PemData};
pub use node_affinity::*;
pub use plugin_sets::{PluginEntry, PluginSet, Plugins};
pub use type_meta::{ApiVersion, ConfigurationKind};

use super::nullable;
use crate::profile::Profile;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Name of the profile whose pods name no scheduler.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

/// A scheduler's configuration.
///
/// `Option` marks what is filled in by [`defaulted`](Self::defaulted) and may be set to zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KubeSchedulerConfiguration {
    /// Always `kubescheduler.config.k8s.io/v1`.
    pub api_version: ApiVersion,
    /// How the API server is reached.
    pub client_connection: ClientConnection,
    /// Whether followers leave their caches empty.
    pub delay_cache_until_active: bool,
    /// Whether lock contention is profiled.
    pub enable_contention_profiling: Option<bool>,
    /// Whether profiles are served.
    pub enable_profiling: Option<bool>,
    /// Other processes that are asked over HTTP.
    pub extenders: Vec<Extender>,
    /// Always `KubeSchedulerConfiguration`.
    pub kind: ConfigurationKind,
    /// How one scheduler of several is made the active one.
    pub leader_election: LeaderElection,
    /// Number of workers.
    pub parallelism: Option<i32>,
    /// Percentage of feasible nodes after which the search ends; 0 adapts to the cluster.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// First back-off of a pod that failed, in seconds.
    pub pod_initial_backoff_seconds: Option<i64>,
    /// Longest back-off of a pod, in seconds.
    pub pod_max_backoff_seconds: Option<i64>,
    /// What pods are scheduled by, chosen by their schedulerName.
    pub profiles: Vec<KubeSchedulerProfile>,
}

/// The same fields with their encoding. It is apart, so that there is one way to decode a
/// configuration from outside: the one that reads the args too.
#[derive(Deserialize, Serialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    remote = "KubeSchedulerConfiguration"
)]
struct Fields {
    api_version: ApiVersion,
    #[serde(default, deserialize_with = "nullable")]
    client_connection: ClientConnection,
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "is_false"
    )]
    delay_cache_until_active: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enable_contention_profiling: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enable_profiling: Option<bool>,
    #[serde(
        default,
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    extenders: Vec<Extender>,
    kind: ConfigurationKind,
    #[serde(default, deserialize_with = "nullable")]
    leader_election: LeaderElection,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parallelism: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    percentage_of_nodes_to_score: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod_initial_backoff_seconds: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod_max_backoff_seconds: Option<i64>,
    #[serde(
        default,
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    profiles: Vec<KubeSchedulerProfile>,
}

/// Decodes any value first and the fields from it, as kube-scheduler goes from YAML through JSON:
/// no text passes for a number and no list for a map, and errors name the field's path.
impl<'de> Deserialize<'de> for KubeSchedulerConfiguration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(value).map_err(de::Error::custom)
    }
}

impl Serialize for KubeSchedulerConfiguration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields::serialize(self, serializer)
    }
}

/// One way of scheduling.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct KubeSchedulerProfile {
    /// Overrides the configuration's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage_of_nodes_to_score: Option<i32>,
    /// Args of plugins.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub plugin_config: Vec<PluginConfig>,
    /// Changes to the default plugins; once defaulted, all plugins.
    #[serde(deserialize_with = "nullable")]
    pub plugins: Plugins,
    /// Which pods it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
}

/// How the API server is reached. Mirrors `component-base/config/v1alpha1`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClientConnection {
    /// `Accept` header.
    #[serde(deserialize_with = "nullable")]
    pub accept_content_types: String,
    /// Requests that may exceed `qps` at once.
    #[serde(deserialize_with = "nullable")]
    pub burst: i32,
    /// `Content-Type` header.
    #[serde(deserialize_with = "nullable")]
    pub content_type: String,
    /// Path of a kubeconfig file.
    #[serde(deserialize_with = "nullable")]
    pub kubeconfig: String,
    /// Requests a second.
    #[serde(deserialize_with = "nullable", serialize_with = "go_float")]
    pub qps: f32,
}

/// How one scheduler of several is made the active one. Mirrors
/// `component-base/config/v1alpha1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LeaderElection {
    /// Whether there is an election at all.
    pub leader_elect: Option<bool>,
    /// After so much silence others may take over.
    pub lease_duration: Duration,
    /// The leader gives up when it could not renew for so long.
    pub renew_deadline: Duration,
    /// Kind of the lock object.
    #[serde(deserialize_with = "nullable")]
    pub resource_lock: String,
    /// Name of the lock object.
    #[serde(deserialize_with = "nullable")]
    pub resource_name: String,
    /// Namespace of the lock object.
    #[serde(deserialize_with = "nullable")]
    pub resource_namespace: String,
    /// Pause between attempts.
    pub retry_period: Duration,
}

impl KubeSchedulerConfiguration {
    /// Decodes a tree strictly: unknown fields, and args that are not their plugin's, are errors.
    ///
    /// # Errors
    /// The first field that cannot be read, with its path.
    pub fn from_value(value: Value) -> Result<Self, ConfigError> {
        let mut config = Fields::deserialize(value).map_err(|error| ConfigError {
            field: error.field,
            problem: error.problem,
        })?;
        config.decode_args()?;
        Ok(config)
    }

    /// Reads args that stand undecoded as those of their plugins: all that were just read, and those
    /// of profiles that a caller put together.
    fn decode_args(&mut self) -> Result<(), ConfigError> {
        for (index, profile) in self.profiles.iter_mut().enumerate() {
            for (place, config) in profile.plugin_config.iter_mut().enumerate() {
                config.decode_args().map_err(|error| {
                    let below = if error.field.starts_with(['[', '.']) || error.field.is_empty() {
                        error.field
                    } else {
                        format!(".{}", error.field)
                    };
                    ConfigError {
                        field: format!("profiles[{index}].pluginConfig[{place}].args{below}"),
                        problem: format!(
                            "decoding args for plugin {}: {}",
                            config.name, error.problem
                        ),
                    }
                })?;
            }
        }
        Ok(())
    }

    /// The profiles in the configuration's order: defaults filled in, everything checked, plugin
    /// sets merged.
    ///
    /// # Errors
    /// All that [`validate`](Self::validate) finds, then all that keeps profiles from being built,
    /// in the words of `framework/runtime/framework.go`. If there is nothing else, extenders are
    /// refused: most callers of the core have nobody to ask.
    pub fn profiles(&self) -> Result<Vec<Profile>, ConfigErrors> {
        let profiles = self.profiles_beside_extenders()?;
        if self.extenders.is_empty() {
            return Ok(profiles);
        }
        // Differs from kube-scheduler: it asks them over HTTP.
        Err(ConfigErrors(vec![ConfigError {
            field: String::from("extenders"),
            problem: String::from("Forbidden: extenders cannot be asked here, remove them"),
        }]))
    }

    /// The same for a caller who asks the extenders: resources that are left to them are ignored by
    /// NodeResourcesFit, in place of those that its args name. Mirrors `buildExtenders` of
    /// `pkg/scheduler/scheduler.go`.
    ///
    /// # Errors
    /// As [`profiles`](Self::profiles), and resources left to extenders where a profile has no
    /// NodeResourcesFit.
    pub fn profiles_beside_extenders(&self) -> Result<Vec<Profile>, ConfigErrors> {
        let mut given = self.clone();
        given
            .decode_args()
            .map_err(|error| ConfigErrors(vec![error]))?;
        let mut config = given.clone().defaulted();
        let mut errors = config.validate();
        config.leave_to_extenders(&mut errors);
        let profiles = Profile::resolve_all(&config, &given.profiles, &mut errors);
        if errors.is_empty() {
            Ok(profiles)
        } else {
            Err(ConfigErrors(errors))
        }
    }
}

/// Reads `null` as an empty list and as the default of an element, as Kubernetes does.
fn nullable_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    let list: Vec<Option<T>> = nullable(deserializer)?;
    Ok(list.into_iter().map(Option::unwrap_or_default).collect())
}

/// Writes whole numbers without a decimal point, as Go does.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn go_float<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    let whole = *number as i64;
    if whole as f32 == *number {
        serializer.serialize_i64(whole)
    } else {
        serializer.serialize_f32(*number)
    }
}

/// Whether a field has the value that is not written.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !*value
}
