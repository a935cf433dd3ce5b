//! What one attempt at a pod came to.

mod record;

pub use record::{DecisionRecord, NodeScore, PodResult};

use crate::id::{NodeId, PodId, ProfileId};

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
    /// Uses a field that Berth does not implement yet; named by the record.
    Unsupported(&'static str),
    /// The attempt failed with an error.
    Error(AttemptError),
}

/// Why an attempt failed rather than found no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptError {
    /// `no nodes available to schedule pods`
    NoNodes,
    /// A preferred node affinity term does not parse.
    PreferredTerm,
    /// A plugin's score left 0..=100.
    InvalidScore {
        plugin: crate::plugins::Plugin,
        score: i64,
    },
    /// A score plugin runs whose stage before it is disabled.
    MissingState { plugin: crate::plugins::Plugin },
}

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
