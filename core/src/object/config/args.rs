//! Args of plugins. Mirrors `kube-scheduler/config/v1/types_pluginargs.go`.

use super::type_meta::{
    DefaultPreemptionArgsKind, DynamicResourcesArgsKind, InterPodAffinityArgsKind,
    NodeAffinityArgsKind, NodeResourcesBalancedAllocationArgsKind, NodeResourcesFitArgsKind,
    PodTopologySpreadArgsKind, VolumeBindingArgsKind,
};
use super::{ApiVersion, Duration, NodeAffinity, TopologySpreadConstraint, Value};
use super::{nullable, nullable_list};
use crate::object::value::ValueError;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// Args of one plugin. Decoded alone they stay [`PluginArgs::Undecoded`]; the configuration around
/// them decodes them, and so can say where they stand.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PluginConfig {
    /// The args.
    #[serde(deserialize_with = "undecoded")]
    pub args: PluginArgs,
    /// The plugin's name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

impl PluginConfig {
    /// Reads the args as those of the plugin; the error's path is below them.
    pub(super) fn decode_args(&mut self) -> Result<(), ValueError> {
        if let PluginArgs::Undecoded(args) = &mut self.args {
            self.args = PluginArgs::decode(&self.name, mem::take(args))?;
        }
        Ok(())
    }
}

fn undecoded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PluginArgs, D::Error> {
    Value::deserialize(deserializer).map(PluginArgs::Undecoded)
}

macro_rules! plugin_args {
    ($($plugin:ident $args:ident $kind:ident;)+) => {
        /// Args by plugin.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum PluginArgs {
            $(#[doc = concat!("Of `", stringify!($plugin), "`.")] $plugin($args),)+
            /// Of a plugin without args of its own; kept as they came and not read.
            Undecoded(Value),
        }

        impl PluginArgs {
            /// No args given, for the plugin of this name; `None` if it takes none.
            pub(crate) fn empty(plugin: &str) -> Option<Self> {
                match plugin {
                    $(stringify!($plugin) => Some(Self::$plugin($args::default())),)+
                    _ => None,
                }
            }

            fn decode(plugin: &str, args: Value) -> Result<Self, ValueError> {
                match plugin {
                    $(stringify!($plugin) => {
                        decode_kind(args, $kind::TEXT).map(Self::$plugin)
                    })+
                    _ => Ok(Self::Undecoded(args)),
                }
            }
        }
    };
}

plugin_args! {
    DefaultPreemption DefaultPreemptionArgs DefaultPreemptionArgsKind;
    DynamicResources DynamicResourcesArgs DynamicResourcesArgsKind;
    InterPodAffinity InterPodAffinityArgs InterPodAffinityArgsKind;
    NodeAffinity NodeAffinityArgs NodeAffinityArgsKind;
    NodeResourcesBalancedAllocation NodeResourcesBalancedAllocationArgs
        NodeResourcesBalancedAllocationArgsKind;
    NodeResourcesFit NodeResourcesFitArgs NodeResourcesFitArgsKind;
    PodTopologySpread PodTopologySpreadArgs PodTopologySpreadArgsKind;
    VolumeBinding VolumeBindingArgs VolumeBindingArgsKind;
}

impl Default for PluginArgs {
    fn default() -> Self {
        Self::Undecoded(Value::Null)
    }
}

/// Decodes args whose `apiVersion` and `kind` may be left out, but not be others.
fn decode_kind<T: Default + DeserializeOwned>(args: Value, kind: &str) -> Result<T, ValueError> {
    let mut fields = match args {
        Value::Null => return Ok(T::default()),
        Value::Map(fields) => fields,
        other => return T::deserialize(other),
    };
    for (key, expected) in [("apiVersion", ApiVersion::TEXT), ("kind", kind)] {
        match fields.remove(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(given)) if given == expected => {}
            Some(given) => {
                return Err(ValueError {
                    field: key.to_string(),
                    problem: format!("must be {expected:?}, got {given}"),
                });
            }
        }
    }
    T::deserialize(Value::Map(fields))
}

/// Args of `DefaultPreemption`: how many candidate nodes are tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DefaultPreemptionArgs {
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    #[serde(skip_deserializing)]
    kind: DefaultPreemptionArgsKind,
    /// At least so many nodes.
    pub min_candidate_nodes_absolute: Option<i32>,
    /// At least this percentage of the nodes.
    pub min_candidate_nodes_percentage: Option<i32>,
}

/// Args of `DynamicResources`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DynamicResourcesArgs {
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    /// Wait for binding conditions of devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding_timeout: Option<Duration>,
    /// Time for filtering one node; zero is none.
    pub filter_timeout: Option<Duration>,
    #[serde(skip_deserializing)]
    kind: DynamicResourcesArgsKind,
}

/// Args of `InterPodAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct InterPodAffinityArgs {
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    /// Score weight of required affinity of existing pods, 0 to 100.
    pub hard_pod_affinity_weight: Option<i32>,
    /// Whether preferred terms of existing pods count only for pods with affinity of their own.
    #[serde(deserialize_with = "nullable")]
    pub ignore_preferred_terms_of_existing_pods: bool,
    #[serde(skip_deserializing)]
    kind: InterPodAffinityArgsKind,
}

/// Args of `NodeAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeAffinityArgs {
    /// Holds for every pod beside the pod's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_affinity: Option<NodeAffinity>,
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    #[serde(skip_deserializing)]
    kind: NodeAffinityArgsKind,
}

/// Args of `NodeResourcesBalancedAllocation`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeResourcesBalancedAllocationArgs {
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    #[serde(skip_deserializing)]
    kind: NodeResourcesBalancedAllocationArgsKind,
    /// What is balanced; every weight is 1.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resources: Vec<ResourceSpec>,
}

/// Args of `NodeResourcesFit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NodeResourcesFitArgs {
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    /// Prefixes before the `/` of resources that the filter does not look at.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub ignored_resource_groups: Vec<String>,
    /// Resources that the filter does not look at.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub ignored_resources: Vec<String>,
    #[serde(skip_deserializing)]
    kind: NodeResourcesFitArgsKind,
    /// How nodes are scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scoring_strategy: Option<ScoringStrategyConfig>,
}

/// How `NodeResourcesFit` scores nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ScoringStrategyConfig {
    /// The function; required for, and only for, the type `RequestedToCapacityRatio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_to_capacity_ratio: Option<RequestedToCapacityRatio>,
    /// What is scored, with weights 1 to 100.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resources: Vec<ResourceSpec>,
    /// `LeastAllocated`, `MostAllocated` or `RequestedToCapacityRatio`.
    #[serde(
        rename = "type",
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub kind: String,
}

/// Score as a function of utilization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestedToCapacityRatio {
    /// Points of the function, straight lines between them.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub shape: Vec<ShapePoint>,
}

/// A point of a function from utilization to score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShapePoint {
    /// 0 to 10.
    #[serde(deserialize_with = "nullable")]
    pub score: i32,
    /// 0 to 100.
    #[serde(deserialize_with = "nullable")]
    pub utilization: i32,
}

/// A resource and its weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceSpec {
    /// The resource's name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Its weight; 0 is replaced by 1.
    #[serde(deserialize_with = "nullable")]
    pub weight: i64,
}

/// Args of `PodTopologySpread`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PodTopologySpreadArgs {
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    /// Constraints of pods that have none themselves.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub default_constraints: Vec<TopologySpreadConstraint>,
    /// `System` (built-in constraints) or `List` (`default_constraints`).
    #[serde(deserialize_with = "nullable")]
    pub defaulting_type: String,
    #[serde(skip_deserializing)]
    kind: PodTopologySpreadArgsKind,
}

/// Args of `VolumeBinding`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct VolumeBindingArgs {
    #[serde(skip_deserializing)]
    api_version: ApiVersion,
    /// Seconds to wait for volumes; 0 does not wait.
    pub bind_timeout_seconds: Option<i64>,
    #[serde(skip_deserializing)]
    kind: VolumeBindingArgsKind,
    /// Score by the share of the volumes' capacity that is requested.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub shape: Vec<ShapePoint>,
}
