//! Preemption: which pods would have to go so that one pod fits.
//!
//! Mirrors `plugins/defaultpreemption` and `framework/preemption` of kube-scheduler 1.37.2. Stage
//! before: an attempt that found no node. Stage after: the pod is nominated to a node and the
//! caller evicts the victims. Nothing is copied: victims are taken out of the counts, the node is
//! asked, and they are put back; the state afterwards is the state before.
//!
//! Differs from kube-scheduler: nodes are visited in snapshot order from the first one, not from a
//! random one in the order of a map, and of candidates that are equal in everything the first
//! visited one is taken.

mod budget;
mod candidates;
mod dry_run;
mod known;

pub use candidates::Candidates;
pub(crate) use dry_run::Run;
pub(crate) use known::{Known, Question};

use crate::capacity::{Capacities, bytes_of, sum};
use crate::cycle::room::ByRoom;
use crate::cycle::{Lacks, Nominees, Refusal, Scratch, Shortage};
use crate::fixed_vec::FixedVec;
use crate::id::{NodeId, PodId};
use crate::node_set::NodeSet;
use alloc::vec::Vec;

/// How a victim goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimKind {
    /// The caller evicts it.
    Evict,
    /// It is being deleted already.
    Terminating,
    /// It was not bound yet: its place was taken back in memory, and it is in the queue again.
    InMemory,
}

/// A pod that goes for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    pub pod: PodId,
    pub kind: VictimKind,
}

/// Why a node is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dry {
    /// No pod on it is of lower priority.
    NoVictims,
    /// It refuses the pod even without them.
    Refused(Refusal, Lacks),
}

/// Room for one preemption, taken once, and what the last one found.
#[derive(Clone)]
pub(crate) struct Preemption {
    /// For asking nodes one by one.
    pub(crate) scratch: Scratch,
    /// What the refused rows lack.
    pub(crate) shortage: Shortage,
    /// Rows that preemption may help, and these in the order in which they are tried.
    pub(crate) potential: NodeSet,
    pub(crate) rows: FixedVec<u32>,
    /// Pods that are nominated, by row.
    pub(crate) nominees: Nominees,
    /// Where room alone decides on the pod in question.
    pub(crate) by_room: ByRoom,
    /// What dry runs found, as long as it holds.
    pub(crate) known: Known,
    /// Rows that preemption does not help.
    pub(crate) dry: FixedVec<(u32, Dry)>,
    /// Rows that are candidates, with what each costs.
    pub(crate) costs: FixedVec<(u32, Cost)>,
    /// Pods of lower priority on the row in question.
    lower: FixedVec<PodId>,
    /// Of these, those whose eviction violates a budget, then the others.
    ordered: FixedVec<PodId>,
    /// Victims on the row in question.
    current: FixedVec<PodId>,
    /// Victims on the best row so far.
    best: FixedVec<PodId>,
    /// What extenders choose among.
    pub(crate) candidates: Candidates,
    /// Disruptions that each budget still allows.
    allowed: FixedVec<i64>,
    /// What was decided.
    pub(crate) victims: FixedVec<Victim>,
    /// Pods of lower priority whose nomination to the chosen node is to be taken back.
    pub(crate) displaced: FixedVec<PodId>,
}

impl Preemption {
    pub(crate) fn new(rows: usize, capacities: &Capacities, scratch: Scratch) -> Self {
        let (pods, objects, resources) =
            (capacities.pods, capacities.objects, capacities.resources);
        let list = || FixedVec::with_capacity(pods as usize);
        Self {
            scratch,
            shortage: Shortage::new(rows, resources),
            potential: NodeSet::new(rows),
            rows: FixedVec::with_capacity(rows),
            nominees: Nominees::new(rows, pods),
            by_room: ByRoom::default(),
            known: Known::new(rows),
            dry: FixedVec::with_capacity(rows),
            costs: FixedVec::with_capacity(rows),
            lower: list(),
            ordered: list(),
            current: list(),
            best: list(),
            candidates: Candidates::new(rows, pods as usize),
            allowed: FixedVec::with_capacity(objects as usize),
            victims: FixedVec::with_capacity(pods as usize),
            displaced: list(),
        }
    }

    /// Bytes of it, the scratch not included.
    pub(crate) const fn bytes(capacities: &Capacities, rows: u64) -> u64 {
        let (pods, objects) = (capacities.pods as u64, capacities.objects as u64);
        sum(&[
            Shortage::bytes(rows, capacities.resources as u64),
            bytes_of::<u64>(rows / 64),
            Nominees::bytes(rows, pods),
            bytes_of::<u32>(rows),
            Known::bytes(rows),
            bytes_of::<(u32, Dry)>(rows),
            bytes_of::<(u32, Cost)>(rows),
            // Lower, ordered, current, best, displaced.
            bytes_of::<[PodId; 5]>(pods),
            bytes_of::<Victim>(pods),
            bytes_of::<i64>(objects),
            Candidates::bytes(rows, pods),
        ])
    }

    /// Victims on the row asked last, in order of importance.
    pub(crate) fn current_mut(&mut self) -> &mut Vec<PodId> {
        &mut self.current
    }

    /// Takes out the row of the candidate that costs least; of equal ones the first.
    pub(crate) fn pop_cheapest(&mut self) -> Option<u32> {
        let costs = self.costs.iter().enumerate();
        let (at, _) = costs.min_by_key(|(_, (_, cost))| *cost)?;
        Some(self.costs.remove(at).0)
    }

    /// Keeps the victims on the row asked last as the best ones.
    pub(crate) fn keep(&mut self) {
        core::mem::swap(&mut self.best, &mut self.current);
    }

    /// Keeps the row asked last and its victims for extenders to choose among.
    pub(crate) fn add_candidate(&mut self, row: u32, cost: Cost) {
        // There is room: a row is asked once, and a pod is on one row.
        let is_kept = self
            .candidates
            .push(NodeId(row), &self.current, cost.violations);
        debug_assert!(is_kept);
    }

    /// Victims on the best row.
    pub(crate) fn best(&self) -> &[PodId] {
        &self.best
    }

    /// Makes the victims on the best row those of the decision.
    pub(crate) fn settle(&mut self, kind: impl Fn(PodId) -> VictimKind) {
        self.victims.clear();
        let victims = self.best.iter().map(|pod| Victim {
            pod: *pod,
            kind: kind(*pod),
        });
        self.victims.extend(victims);
    }

    /// Forgets what the last attempt found.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.dry.clear();
        self.costs.clear();
        self.candidates.clear();
        self.victims.clear();
        self.displaced.clear();
    }
}

/// How good a candidate is: the smaller, the better. Mirrors `pickOneNodeForPreemption`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    violations: i64,
    /// Priority of the most important victim.
    highest: i32,
    /// Sum of the priorities, each moved to 0 and above.
    sum: i64,
    count: u32,
    /// Later is better: the earliest start among the victims of the highest priority.
    start: core::cmp::Reverse<i64>,
}

impl Cost {
    /// Whether there are no victims.
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether no budget is violated.
    pub(crate) const fn is_clean(&self) -> bool {
        self.violations == 0
    }
}
