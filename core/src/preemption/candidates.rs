//! Candidates of preemption, as extenders choose among them.

use crate::capacity::{bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::id::{NodeId, PodId};

/// Nodes on which evictions make room, in the order in which they were tried, each with its victims.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    list: FixedVec<Candidate>,
    /// Victims of all, one candidate after the other.
    victims: FixedVec<PodId>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    node: NodeId,
    /// Where its victims begin and how many they are.
    begin: u32,
    count: u32,
    violations: i64,
}

impl Candidates {
    pub(super) fn new(rows: usize, pods: usize) -> Self {
        Self {
            list: FixedVec::with_capacity(rows),
            victims: FixedVec::with_capacity(pods),
        }
    }

    pub(super) const fn bytes(rows: u64, pods: u64) -> u64 {
        sum(&[bytes_of::<Candidate>(rows), bytes_of::<PodId>(pods)])
    }

    /// Node, victims in order of importance, and how many of them violate a PodDisruptionBudget.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &[PodId], i64)> {
        self.list.iter().map(|own| {
            let rest = self.victims.get(own.begin as usize..).unwrap_or_default();
            let victims = rest.get(..own.count as usize).unwrap_or_default();
            (own.node, victims, own.violations)
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.list.clear();
        self.victims.clear();
    }

    /// Adds one. `false` when there are as many as nodes, or as many victims as pods; nothing is changed
    /// then. Victims that are not on the node make it none.
    pub fn push(&mut self, node: NodeId, victims: &[PodId], violations: i64) -> bool {
        let free = self.victims.capacity().saturating_sub(self.victims.len());
        if self.list.len() >= self.list.capacity() || victims.len() > free {
            return false;
        }
        self.list.push(Candidate {
            node,
            begin: self.victims.len() as u32,
            count: victims.len() as u32,
            violations,
        });
        self.victims.extend_from_slice(victims);
        true
    }
}
