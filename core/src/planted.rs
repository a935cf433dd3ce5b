//! Bugs on purpose, for the test that shows that the simulation finds them. Test-only: without the
//! feature `planted-bugs` every question is the constant `false`, and the compiler leaves the bugs
//! out.

/// A bug that can be planted. Each is asked for at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// The end of a pod that had a node wakes nobody.
    LostWakeUp = 1,
    /// The end of a taint wakes nobody.
    TaintUnheard,
    /// Events since a pod was popped are not weighed when it comes back.
    EventsNotReplayed,
    /// A failed pod that is woken is tried without its backoff.
    BackoffIgnored,
    /// Every backoff is as long as the first.
    BackoffNotDoubled,
    /// A pod in backoff after an error is tried early.
    ErrorTriedEarly,
    /// Priority does not matter in the active part.
    PriorityIgnored,
    /// A gated pod becomes active.
    GateIgnored,
    /// Pods that waited too long are not tried.
    FlushForgotten,
    /// A wait at Permit has no end.
    PermitForEver,
    /// A preemptor does not wait for its victims.
    PreemptorNotHeld,
    /// A pod of equal priority is a victim.
    EqualVictim,
    /// Budgets do not count.
    BudgetIgnored,
    /// Room is given away that a nominated pod waits for.
    NominationIgnored,
    /// A pod that was placed stays nominated.
    StaleNomination,
    /// A failed binding keeps its room.
    RoomKept,
    /// Forgetting frees the room twice.
    FreedTwice,
    /// An update that changes nothing, as after a list, counts a pod twice.
    CountedTwice,
    /// A host port stays taken.
    PortKept,
    /// Counts of terms only rise.
    TermKept,
    /// Assumed pods lose their room after a while.
    AssumedExpires,
    /// A node that comes back does not get its pods.
    PodsNotAdopted,
    /// What is kept of a node's verdicts is not renewed when the node changes.
    VerdictKept,
    /// A pod that has finished keeps its room.
    FinishedKept,
    /// Another pod under the same name is taken for the old one.
    UidIgnored,
    /// Events wake nobody whom spreading rejected.
    SpreadUnheard,
    /// Events wake nobody whom other pods' terms rejected.
    AffinityUnheard,
    /// Events wake nobody who waits for a host port.
    PortUnheard,
    /// All pods of lower priority are victims.
    NoReprieve,
    /// The first candidate is taken, not the best.
    FirstCandidate,
    /// What a pod promised its claims stays when it loses its place.
    PromiseKept,
    /// What is assumed of a volume or claim outlives the object's next change.
    PromiseNotExpired,
    /// A volume that is promised to one claim is promised to another.
    PromisedTwice,
    /// Volumes of a pod that is gone count on its node.
    VolumeUseKept,
    /// A claim that one pod alone may use is given to two.
    ExclusiveIgnored,
    /// Events of claims wake nobody.
    ClaimUnheard,
    /// A pod waits for its volumes for ever.
    VolumesForEver,
    /// That a volume could not be provisioned is not noticed.
    SelectionIgnored,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 38] = [
        Self::LostWakeUp,
        Self::TaintUnheard,
        Self::EventsNotReplayed,
        Self::BackoffIgnored,
        Self::BackoffNotDoubled,
        Self::ErrorTriedEarly,
        Self::PriorityIgnored,
        Self::GateIgnored,
        Self::FlushForgotten,
        Self::PermitForEver,
        Self::PreemptorNotHeld,
        Self::EqualVictim,
        Self::BudgetIgnored,
        Self::NominationIgnored,
        Self::StaleNomination,
        Self::RoomKept,
        Self::FreedTwice,
        Self::CountedTwice,
        Self::PortKept,
        Self::TermKept,
        Self::AssumedExpires,
        Self::PodsNotAdopted,
        Self::VerdictKept,
        Self::FinishedKept,
        Self::UidIgnored,
        Self::SpreadUnheard,
        Self::AffinityUnheard,
        Self::PortUnheard,
        Self::NoReprieve,
        Self::FirstCandidate,
        Self::PromiseKept,
        Self::PromiseNotExpired,
        Self::PromisedTwice,
        Self::VolumeUseKept,
        Self::ExclusiveIgnored,
        Self::ClaimUnheard,
        Self::VolumesForEver,
        Self::SelectionIgnored,
    ];
}

/// Whether the bug is planted now.
#[cfg(not(feature = "planted-bugs"))]
#[inline]
pub(crate) const fn is(_: Bug) -> bool {
    false
}

#[cfg(feature = "planted-bugs")]
static PLANTED: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0);

/// Whether the bug is planted now.
#[cfg(feature = "planted-bugs")]
pub(crate) fn is(bug: Bug) -> bool {
    PLANTED.load(core::sync::atomic::Ordering::Relaxed) == bug as u8
}

/// Plants one bug in every scheduler of the process, or none.
#[cfg(feature = "planted-bugs")]
pub fn plant(bug: Option<Bug>) {
    let number = bug.map_or(0, |bug| bug as u8);
    PLANTED.store(number, core::sync::atomic::Ordering::Relaxed);
}
