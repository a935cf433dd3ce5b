//! What one attempt at a pod came to, and upstream's words for it.

mod diagnosis;
mod message;
mod preemption;
mod record;

pub use record::{BoundClaim, DecisionRecord, NodeScore, PodResult};

pub(crate) use diagnosis::record;

use crate::capacity::CapacityExceeded;
use crate::id::{NodeId, PodId, ProfileId};
use crate::plugins::Plugin;
use crate::queue::PluginSet;
use alloc::string::String;
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
    /// Which attempt at the pod it was; 0 outside the queue.
    pub attempt: u32,
    /// Of a pod that the queue brought and that was refused: the plugins whose verdict an event may
    /// lift.
    pub rejectors: PluginSet,
    /// What preemption came to.
    pub post_filter: PostFilter,
    /// What becomes of `status.nominatedNodeName`. Of a placed pod too: it is set where the binding
    /// will take a while, so that others know.
    pub nomination: Nomination,
}

/// What becomes of a pod's nomination after an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nomination {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is taken back.
    Clear,
    /// It is this node.
    Node(NodeId),
}

/// What preemption came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostFilter {
    /// It was not asked.
    #[default]
    Absent,
    /// No plugin of the profile had anything to say.
    Nothing,
    /// PreFilter ended before DynamicResources, which comes first here and then fails.
    Unprepared,
    /// So many victims make room on this node.
    Placed { node: NodeId, victims: u32 },
    /// It helps on no node.
    NoCandidate,
    /// `preemptionPolicy: Never`.
    Never,
    /// A victim on the nominated node is still terminating.
    Terminating,
    /// Rules from outside left no candidate.
    Vetoed,
    /// An extender failed that was to choose among the candidates.
    ExtenderFailed,
    /// On this node the pod fits without any victim, or the node could not be asked.
    Failed(NodeId),
}

/// Reason of the condition `PodScheduled` of a pod that was not placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Unschedulable,
    SchedulerError,
}

impl Reason {
    /// As the API spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::SchedulerError => "SchedulerError",
        }
    }
}

impl Decision {
    pub(crate) const fn new(pod: PodId, profile: Option<ProfileId>) -> Self {
        Self {
            pod,
            profile,
            outcome: Outcome::Unschedulable,
            feasible: 0,
            evaluated: 0,
            attempt: 0,
            rejectors: PluginSet::EMPTY,
            post_filter: PostFilter::Absent,
            nomination: Nomination::Keep,
        }
    }

    /// An attempt that came to nothing before a profile was looked at.
    pub(crate) const fn failed(pod: PodId, error: AttemptError) -> Self {
        let mut decision = Self::new(pod, None);
        decision.outcome = Outcome::Error(error);
        decision
    }

    /// Reason of the condition that a failed attempt writes; `None` where it writes none.
    pub const fn reason(&self) -> Option<Reason> {
        match self.outcome {
            Outcome::Unschedulable
            | Outcome::Refused(_)
            | Outcome::Error(AttemptError::NoNodes) => Some(Reason::Unschedulable),
            Outcome::Error(
                AttemptError::Deleting
                | AttemptError::NoPod
                | AttemptError::NoProfile
                | AttemptError::NotPending,
            )
            | Outcome::Scheduled(_)
            | Outcome::Gated
            | Outcome::Unsupported(_) => None,
            Outcome::Error(_) => Some(Reason::SchedulerError),
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
    /// A rule from outside refused the chosen node.
    Refused(NodeId),
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
    /// A StorageClass of the pod's claims does not say when its volumes are bound.
    NoBindingMode,
    /// The StorageClass of a claim is not there any more.
    NoStorageClass,
    /// The claim of an ephemeral volume on a node belongs to somebody else than its pod.
    ForeignClaim,
    /// A volume of an in-tree plugin cannot be translated to its CSI driver's.
    Untranslatable,
    /// A rule from outside failed.
    External,
    /// An extender failed; what it was is known to the caller who asked it.
    Extender,
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
            Self::NoBindingMode => {
                f.write_str("a StorageClass of the pod's claims has no volumeBindingMode")
            }
            Self::NoStorageClass => f.write_str("the StorageClass of a claim is not there"),
            Self::ForeignClaim => f.write_str(
                "the claim of an ephemeral volume was not created for its pod (pod is not owner)",
            ),
            Self::Untranslatable => f.write_str(
                "a volume of an in-tree plugin cannot be translated to its CSI driver's",
            ),
            Self::External => f.write_str("a rule outside the core failed"),
            Self::Extender => f.write_str("an extender failed"),
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

/// What extenders said in an attempt, by whoever asked them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtenderTexts<'a> {
    /// Why nodes went, by the numbers that [`ExtenderNodes::refuse`](crate::ExtenderNodes::refuse) got.
    pub reasons: &'a [String],
    /// What failed the attempt or its preemption.
    pub error: &'a str,
}
