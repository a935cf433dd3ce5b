//! The decision record: one shape for jsonl, the C ABI, Python and the daemon.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::Serialize;

/// Serialises to the record documented in the README; an absent key means none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRecord {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Scheduler name of the profile.
    pub profile: String,
    pub attempt: u32,
    pub result: PodResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The field that is not supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feasible: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluated: Option<u32>,
    /// Nodes with the best total, sorted by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ties: Option<Vec<String>>,
    /// Feasible nodes, sorted by name; absent when at most one is feasible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<NodeScore>>,
    /// By refused node: the first plugin that refused, then its reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejected: Option<BTreeMap<String, Vec<String>>>,
    /// Refused nodes that preemption would not help.
    #[serde(skip)]
    pub unresolvable: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<String>,
    /// Claims that are bound for the placed pod, in the order of the calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<BoundClaim>,
}

/// A claim that gets a volume because its pod was placed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BoundClaim {
    /// `NAMESPACE/NAME`.
    pub claim: String,
    /// Absent where it is provisioned and not there yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub provisioned: bool,
}

/// A feasible node's scores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeScore {
    pub node: String,
    /// Sum over plugins.
    pub total: i64,
    /// Normalised score times weight, by plugin.
    pub plugins: BTreeMap<Cow<'static, str>, i64>,
}

/// `result` of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PodResult {
    Scheduled,
    #[default]
    Unschedulable,
    Gated,
    Unsupported,
    Error,
}
