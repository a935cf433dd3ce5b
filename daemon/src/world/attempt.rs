//! One attempt, as `--attempts` tells it.

use berth_core::DecisionRecord;
use serde::Serialize;

/// A decision record with what surrounds it: when it was, and what the scheduler writes after it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// Virtual milliseconds since the start.
    pub ms: u64,
    #[serde(flatten)]
    pub record: DecisionRecord,
    /// Of a failed attempt: the reason of the condition `PodScheduled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Plugins that rejected the pod, sorted by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<&'static str>,
    /// Writes to pods' status that change something, sorted by pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// Which pod it is, counted as they came.
    #[serde(skip)]
    pub number: u64,
}

/// A write to a pod's status.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// `NAMESPACE/NAME`.
    pub pod: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// Empty: it is taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node_name: Option<String>,
}

/// A condition as it is written.
#[derive(Clone, Debug, Serialize)]
pub struct Condition {
    #[serde(rename = "type")]
    pub type_: &'static str,
    pub status: &'static str,
    pub reason: &'static str,
    /// Absent where it is the attempt's own message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
