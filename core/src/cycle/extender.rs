//! Extenders: processes that the caller asks about the nodes that a search found.
//!
//! Stage before: the search. Stage after: the scores. The caller speaks HTTP and knows names; here stands
//! which nodes are left, and of those that are not which text of the caller's says why. Mirrors
//! `findNodesThatPassExtenders` of `pkg/scheduler/schedule_one.go`.

use crate::capacity::{bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::id::NodeId;
use crate::object::config::Extender;

/// What the extenders of a configuration are asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verbs {
    /// Whether there are extenders at all.
    pub(crate) any: bool,
    pub(crate) filter: bool,
    pub(crate) prioritize: bool,
    pub(crate) preempt: bool,
}

impl Verbs {
    pub(crate) fn of(extenders: &[Extender]) -> Self {
        let has = |verb: fn(&Extender) -> &str| extenders.iter().any(|own| !verb(own).is_empty());
        Self {
            any: !extenders.is_empty(),
            filter: has(|own| &own.filter_verb),
            prioritize: has(|own| &own.prioritize_verb),
            preempt: has(|own| &own.preempt_verb),
        }
    }
}

/// A node that extenders refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtenderRefusal {
    pub(crate) row: u32,
    /// Place among the caller's texts.
    pub(crate) text: u32,
    pub(crate) unresolvable: bool,
}

/// Nodes that extenders are asked about, and what is left of them.
#[derive(Clone, Debug, Default)]
pub struct ExtenderNodes {
    nodes: FixedVec<NodeId>,
    refused: FixedVec<ExtenderRefusal>,
}

impl ExtenderNodes {
    /// The nodes, in the order in which the search found them.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Leaves these nodes alone, in this order, in which they go on. Each must be one of
    /// [`nodes`](Self::nodes), and none stand twice: anything else fails the attempt.
    ///
    /// `false` if they are more than there were; nothing is changed then.
    pub fn keep(&mut self, kept: &[NodeId]) -> bool {
        let fits = kept.len() <= self.nodes.len();
        if fits {
            self.nodes.clear();
            self.nodes.extend_from_slice(kept);
        }
        fits
    }

    /// Says why a node goes: `text` is a place among those that
    /// [`record_with`](crate::Scheduler::record_with) gets; with `unresolvable` no preemption helps.
    /// Of a node that is asked about again the later text counts.
    pub fn refuse(&mut self, node: NodeId, text: u32, unresolvable: bool) {
        let row = node.0;
        let refusal = ExtenderRefusal {
            row,
            text,
            unresolvable,
        };
        // Only the nominated node, which comes first, is asked about twice.
        let has_room = self.refused.len() < self.refused.capacity();
        match self.refused.first_mut() {
            Some(first) if first.row == row => *first = refusal,
            _ if has_room => self.refused.push(refusal),
            _ => {}
        }
    }

    /// Begins with these rows; what was refused stays.
    pub(crate) fn fill(&mut self, rows: &[u32]) {
        self.nodes.clear();
        self.nodes.extend(rows.iter().map(|row| NodeId(*row)));
    }
}

/// What extenders said in an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Extended {
    pub(crate) nodes: ExtenderNodes,
    /// Whether a node that the search found went.
    pub(crate) has_removed: bool,
}

impl Extended {
    pub(crate) fn new(rows: usize) -> Self {
        let nodes = ExtenderNodes {
            nodes: FixedVec::with_capacity(rows),
            refused: FixedVec::with_capacity(rows),
        };
        Self {
            nodes,
            has_removed: false,
        }
    }

    pub(crate) const fn bytes(rows: u64) -> u64 {
        sum(&[bytes_of::<NodeId>(rows), bytes_of::<ExtenderRefusal>(rows)])
    }

    /// Forgets the last attempt.
    pub(crate) fn clear(&mut self) {
        self.nodes.nodes.clear();
        self.nodes.refused.clear();
        self.has_removed = false;
    }

    /// Nodes that went, and why.
    pub(crate) fn refused(&self) -> &[ExtenderRefusal] {
        &self.nodes.refused
    }

    /// What was said of a row.
    pub(crate) fn refusal(&self, row: u32) -> Option<&ExtenderRefusal> {
        self.refused().iter().find(|refused| refused.row == row)
    }

    /// Forgets what was said before `count` nodes.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.nodes.refused.truncate(count);
    }
}
