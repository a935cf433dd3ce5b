//! PodDisruptionBudget: how many pods of a kind may be evicted now.

use super::{LabelSelector, ObjectMeta, nullable};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use serde::Deserialize;

/// A budget, as far as preemption reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudget {
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "nullable")]
    pub spec: PodDisruptionBudgetSpec,
    #[serde(deserialize_with = "nullable")]
    pub status: PodDisruptionBudgetStatus,
}

/// `spec` of a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetSpec {
    /// Absent or empty selects nothing.
    pub selector: Option<LabelSelector>,
}

/// `status` of a budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetStatus {
    #[serde(deserialize_with = "nullable")]
    pub disruptions_allowed: i32,
    /// Pods whose eviction the API server has taken in but that are not gone yet, by name.
    #[serde(deserialize_with = "names")]
    pub disrupted_pods: BTreeSet<String>,
}

fn names<'de, D: serde::Deserializer<'de>>(d: D) -> Result<BTreeSet<String>, D::Error> {
    // Each with the time of its eviction.
    let names: Option<BTreeMap<String, Option<String>>> = Option::deserialize(d)?;
    Ok(names.unwrap_or_default().into_keys().collect())
}
