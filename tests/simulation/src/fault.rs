//! What goes wrong, how often it may in a seed, and how often it did.

use std::fmt::Write;

/// Kinds of faults. Each can be switched off by its name when a seed is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A watch event never comes.
    EventLost,
    /// It comes after later ones of its kind.
    EventDelayed,
    /// It comes twice.
    EventDoubled,
    /// Many changes come at once.
    Burst,
    /// A kind is listed anew: deletions are inferred, changes between are not seen.
    Relist,
    /// The server refuses a binding for a reason of its own.
    BindRefused,
    /// A binding is written, and its answer is lost.
    BindAnswerLost,
    /// A binding is lost on its way.
    BindRequestLost,
    /// The work before a binding fails.
    PreBindFailed,
    /// A pod is deleted while it is being bound.
    DeletedMidBind,
    /// A pod is deleted and made anew under its name.
    Recreated,
    /// A node goes.
    NodeVanished,
    /// A node that went comes back, smaller.
    NodeReturned,
    /// Another scheduler binds one of our pods, or fills our nodes.
    ForeignBind,
    /// The node refuses a pod that was bound to it.
    KubeletRejected,
    /// A call of a preemption fails.
    PreemptionFailed,
    /// The patch of a nomination is lost.
    PatchLost,
    /// A rule outside the core refuses or fails at Reserve.
    ReserveRefused,
    /// A rule outside the core refuses or fails at Permit, at once or after a wait.
    PermitRefused,
    /// A wait at Permit is over.
    PermitTimedOut,
    /// A rule outside the core lets no victims go.
    Vetoed,
    /// A table of the scheduler is full.
    CapacityFull,
    /// The scheduler dies and starts anew from what the server holds.
    Restarted,
    /// The clock that the scheduler is told goes back.
    ClockBack,
    /// The server refuses a write to a volume or claim.
    VolumeWriteRefused,
    /// Such a write takes effect, and its answer is lost.
    VolumeAnswerLost,
    /// The volumes of a placed pod are not there in time.
    VolumesTimedOut,
    /// Another scheduler keeps a volume for another claim.
    VolumeTaken,
    /// A claim is deleted while its pod is being bound.
    ClaimDeleted,
    /// A volume could not be provisioned: the node that was selected for it is taken back.
    ProvisioningFailed,
    /// A node tells its CSI drivers long after it came.
    CsiNodeLate,
    /// A list is older than what is known.
    StaleList,
    /// The server is made anew from an older state, and its versions go back.
    VersionBack,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 33] = [
        Self::EventLost,
        Self::EventDelayed,
        Self::EventDoubled,
        Self::Burst,
        Self::Relist,
        Self::BindRefused,
        Self::BindAnswerLost,
        Self::BindRequestLost,
        Self::PreBindFailed,
        Self::DeletedMidBind,
        Self::Recreated,
        Self::NodeVanished,
        Self::NodeReturned,
        Self::ForeignBind,
        Self::KubeletRejected,
        Self::PreemptionFailed,
        Self::PatchLost,
        Self::ReserveRefused,
        Self::PermitRefused,
        Self::PermitTimedOut,
        Self::Vetoed,
        Self::CapacityFull,
        Self::Restarted,
        Self::ClockBack,
        Self::VolumeWriteRefused,
        Self::VolumeAnswerLost,
        Self::VolumesTimedOut,
        Self::VolumeTaken,
        Self::ClaimDeleted,
        Self::ProvisioningFailed,
        Self::CsiNodeLate,
        Self::StaleList,
        Self::VersionBack,
    ];

    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|fault| format!("{fault:?}") == name)
    }
}

/// A set of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults(u64);

impl Faults {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self((1 << Fault::ALL.len()) - 1);

    /// Whether the fault is in the set.
    pub const fn has(self, fault: Fault) -> bool {
        self.0 & (1 << fault as u64) != 0
    }

    /// The set with the fault.
    #[must_use]
    pub const fn with(self, fault: Fault) -> Self {
        Self(self.0 | 1 << fault as u64)
    }

    /// The set without the fault.
    #[must_use]
    pub const fn without(self, fault: Fault) -> Self {
        Self(self.0 & !(1 << fault as u64))
    }
}

/// How often each fault happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts(pub [u64; Fault::ALL.len()]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; Fault::ALL.len()])
    }
}

impl Counts {
    /// One more.
    pub fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }

    /// Faults that happened fewer than `least` times.
    pub fn below(&self, least: u64) -> Vec<Fault> {
        let all = Fault::ALL.into_iter();
        all.filter(|fault| self.0[*fault as usize] < least)
            .collect()
    }

    /// One line a fault.
    pub fn table(&self) -> String {
        let mut lines = String::new();
        for fault in Fault::ALL {
            let count = self.0[fault as usize];
            writeln!(lines, "  {:<18}{count:>12}", format!("{fault:?}")).expect("write to text");
        }
        lines
    }
}
