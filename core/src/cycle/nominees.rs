//! Which pods are nominated to which rows, for one attempt.
//!
//! The queue keeps the names of nodes; here they are rows, each with its pods in the order of their
//! nomination.

use crate::capacity::{bytes_of, sum};
use crate::cluster::Cluster;
use crate::fixed_vec::FixedVec;
use crate::id::PodId;
use crate::queue::Queue;
use crate::table::Table;
use alloc::vec;
use alloc::vec::Vec;

/// Ends a chain.
const NONE: u32 = u32::MAX;

/// A nomination.
#[derive(Clone, Copy)]
struct Nominee {
    pod: PodId,
    row: u32,
    /// The next one of the row.
    next: u32,
}

/// Chains of nominees by row.
#[derive(Clone)]
pub(crate) struct Nominees {
    /// The first of each row.
    firsts: Vec<u32>,
    list: FixedVec<Nominee>,
}

impl Nominees {
    pub(crate) fn new(rows: usize, pods: u32) -> Self {
        Self {
            firsts: vec![NONE; rows],
            list: FixedVec::with_capacity(pods as usize),
        }
    }

    pub(crate) const fn bytes(rows: u64, pods: u64) -> u64 {
        sum(&[bytes_of::<u32>(rows), bytes_of::<Nominee>(pods)])
    }

    /// Takes over what the queue knows; nominations to nodes that are not there are left out.
    pub(crate) fn fill(&mut self, cluster: &Cluster, queue: &Queue) {
        for nominee in &self.list {
            self.firsts.set(nominee.row, NONE);
        }
        self.list.clear();
        for (pod, node) in queue.nominated() {
            if let Some(row) = cluster.row_of_word(node) {
                let next = NONE;
                self.list.push(Nominee { pod, row, next });
            }
        }
        // From the last one on, so that each chain begins with the first one.
        for (at, nominee) in self.list.iter_mut().enumerate().rev() {
            if let Some(first) = self.firsts.at_mut(nominee.row) {
                nominee.next = core::mem::replace(first, at as u32);
            }
        }
    }

    /// Pods that are nominated to the row.
    pub(crate) fn of(&self, row: u32) -> impl Iterator<Item = PodId> + '_ {
        let mut at = self.firsts.get(row as usize).copied().unwrap_or(NONE);
        core::iter::from_fn(move || {
            let nominee = self.list.get(at as usize)?;
            at = nominee.next;
            Some(nominee.pod)
        })
    }

    /// Whether a pod is nominated to the row.
    pub(crate) fn any(&self, row: u32) -> bool {
        self.firsts
            .get(row as usize)
            .is_some_and(|first| *first != NONE)
    }

    /// How many nominations there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The row of a nomination, if it is the row's first one.
    pub(crate) fn row(&self, at: usize) -> Option<u32> {
        let nominee = self.list.get(at)?;
        let first = self.firsts.get(nominee.row as usize);
        (first == Some(&(at as u32))).then_some(nominee.row)
    }
}
