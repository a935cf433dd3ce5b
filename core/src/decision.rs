//! What one attempt at a pod came to, and upstream's words for it.

mod diagnosis;
mod record;

pub use record::{DecisionRecord, NodeScore, PodResult};

pub(crate) use diagnosis::record;

use crate::capacity::CapacityExceeded;
use crate::id::{NodeId, PodId, ProfileId};
use crate::plugins::Plugin;
use core::fmt;

/// Outcome of one attempt. Details are asked of the scheduler, by
/// [`Scheduler::record`](crate::Scheduler::record), until its next attempt or evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub pod: PodId,
    /// Absent when no profile has the pod's scheduler name.
    pub profile: Option<ProfileId>,
    pub outcome: Outcome,
    /// Nodes that passed every filter, of those that were looked at.
    pub feasible: u32,
    /// Nodes that were looked at.
    pub evaluated: u32,
}

impl Decision {
    /// An attempt that came to nothing before a profile was looked at.
    pub(crate) const fn failed(pod: PodId, error: AttemptError) -> Self {
        Self {
            pod,
            profile: None,
            outcome: Outcome::Error(error),
            feasible: 0,
            evaluated: 0,
        }
    }

    /// Whether the feasible nodes have scores: one alone is not scored.
    pub const fn is_scored(&self) -> bool {
        self.feasible > 1
    }
}

/// What became of the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Placed on this node (or, for an evaluation, would be).
    Scheduled(NodeId),
    /// Fits nowhere now.
    Unschedulable,
    /// Has a scheduling gate.
    Gated,
    /// Uses this field, which Berth does not implement yet.
    Unsupported(&'static str),
    /// The attempt failed with an error.
    Error(AttemptError),
}

/// Why an attempt failed rather than found no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptError {
    /// There is no node.
    NoNodes,
    /// No profile has the pod's scheduler name.
    NoProfile,
    /// No pod has this id, perhaps no more.
    NoPod,
    /// The pod has a node.
    NotPending,
    /// The pod is being deleted.
    Deleting,
    /// A preferred node affinity term does not parse.
    PreferredTerm,
    /// A plugin's score left 0..=100.
    InvalidScore { plugin: Plugin, score: i64 },
    /// A plugin runs at Filter or Score, but not at the stage that prepares it.
    MissingState { plugin: Plugin },
    /// A table is full.
    Capacity(CapacityExceeded),
}

impl fmt::Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes => f.write_str("no nodes available to schedule pods"),
            Self::NoProfile => f.write_str("no profile has the pod's scheduler name"),
            Self::NoPod => f.write_str("no pod has this id; it may have been deleted"),
            Self::NotPending => f.write_str("the pod has a node already"),
            Self::Deleting => f.write_str("the pod is being deleted"),
            Self::PreferredTerm => {
                f.write_str("a preferred node affinity term of the pod does not parse")
            }
            Self::InvalidScore { plugin, score } => write!(
                f,
                "plugin \"{}\" returns an invalid score {score}, it should in the range of [0, 100] after normalizing",
                plugin.name()
            ),
            Self::MissingState { plugin } => write!(
                f,
                "plugin \"{}\" runs without the PreFilter or PreScore stage that prepares it",
                plugin.name()
            ),
            Self::Capacity(full) => full.fmt(f),
        }
    }
}

impl core::error::Error for AttemptError {}

/// How much a record carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Detail {
    /// Neither scores, ties nor refusals.
    None,
    /// Refusals.
    #[default]
    Reasons,
    /// Refusals, ties and scores.
    Full,
}
