//! Batching in the loop: hints from the last attempt, and what is kept of this one. See `batch.rs`.

use super::Scheduler;
use crate::batch::{self, AGE_LONGEST, KEPT, Owner, Scored};
use crate::cluster::NodeState;
use crate::cycle::{Attempt, Column, Scratch, score};
use crate::id::PodId;
use crate::intern::{release_texts, retain_texts};
use crate::plugins::{Plugin, inter_pod_affinity};

impl Scheduler {
    /// The node that the last attempt's scores name for this pod. Mirrors `GetNodeHint`.
    pub(super) fn batch_hint(&mut self, pod: PodId, profile: usize, slot: usize) -> Option<u32> {
        let row = self.row(pod)?;
        let plan = self.plans.get(profile)?;
        let owner = self.batch.owner?;
        let is_usable = self.batch.enabled
            && self.externals.is_empty()
            && !self.batch.heap.is_empty()
            && owner.profile == profile
            && self.queue.cycle == self.batch.last_cycle.saturating_add(1)
            && self.queue.item(pod).status_nomination == 0
            && self.queue.now.saturating_sub(self.batch.created) <= AGE_LONGEST;
        let class = self.cluster.class(row.class);
        if !is_usable
            || !batch::is_signed(plan, class)
            || owner.pin != row.pin
            || !batch::same_signature(plan, class, self.cluster.class(owner.class))
        {
            return None;
        }
        let last = self.batch.last_row;
        if !self.is_in_snapshot(last) {
            return None;
        }
        match self.probe(pod, profile, slot, |probe| probe.plain(last))? {
            Ok(None) => self.rescore(pod, profile, slot)?,
            Ok(Some(_)) => {}
            Err(_) => return None,
        }
        batch::pop(&mut self.batch.heap).map(|node| node.row)
    }

    /// Keeps what is left of the scores after the best node was taken. Mirrors
    /// `StoreScheduleResults`; `hint` is the node that was named for this attempt.
    pub(super) fn batch_store(
        &mut self,
        pod: PodId,
        profile: usize,
        slot: usize,
        hint: Option<u32>,
        chosen: u32,
    ) {
        if !self.batch.enabled || !self.externals.is_empty() {
            return;
        }
        self.batch.last_cycle = self.queue.cycle;
        self.batch.last_row = chosen;
        if hint == Some(chosen) {
            return;
        }
        self.batch.heap.clear();
        let old = self.batch.owner.take();
        self.keep_scores(pod, profile, slot);
        // Last: with its last pod a class leaves the live ones, which moves the others' slots.
        if let Some(owner) = old {
            self.cluster.release_class(owner.class);
            release_texts(&[owner.pin], &mut self.cluster.texts);
        }
    }

    /// Keeps the scores of the attempt that has just ended, but for the best node's.
    fn keep_scores(&mut self, pod: PodId, profile: usize, slot: usize) {
        let Some(row) = self.row(pod) else {
            return;
        };
        let is_signed = self
            .plans
            .get(profile)
            .is_some_and(|plan| batch::is_signed(plan, self.cluster.class(row.class)));
        if !is_signed || self.scratch.list.len() < 2 {
            return;
        }
        let mut heap = core::mem::take(&mut self.batch.heap);
        self.look(pod, profile, slot, |attempt, scratch| {
            let scored = scratch.list.iter().zip(&scratch.totals);
            heap.extend(scored.map(|(row, total)| Scored {
                row: *row,
                total: *total,
                raw: [0; KEPT.len()],
            }));
            fill_raw(attempt, scratch, &mut heap);
        });
        batch::heapify(&mut heap);
        batch::pop(&mut heap);
        self.batch.heap = heap;
        self.batch.created = self.queue.now;
        self.cluster.classes.records.retain(row.class.0);
        retain_texts(&[row.pin], &mut self.cluster.texts);
        self.batch.owner = Some(Owner {
            class: row.class,
            pin: row.pin,
            profile,
        });
    }

    fn is_in_snapshot(&self, row: u32) -> bool {
        let node = self.cluster.nodes.get(row as usize);
        node.is_some_and(|node| node.state == NodeState::Present)
            && self.cluster.order.is_listed(row)
    }

    /// Puts the node taken last back with new scores, and normalises all kept ones anew. `None`: the
    /// heap cannot be used. Mirrors `rescoreHintedNode`.
    fn rescore(&mut self, pod: PodId, profile: usize, slot: usize) -> Option<()> {
        let last = self.batch.last_row;
        let heap = &self.batch.heap;
        if !heap.iter().all(|node| self.is_in_snapshot(node.row)) {
            return None;
        }
        let mut heap = core::mem::take(&mut self.batch.heap);
        heap.push(Scored {
            row: last,
            total: 0,
            raw: [0; KEPT.len()],
        });
        // The main scratch holds nothing yet; PreScore sees all candidates.
        let list = heap.iter().map(|node| node.row);
        self.scratch.list.clear();
        self.scratch.list.extend(list);
        let result = self.look(pod, profile, slot, |attempt, scratch| {
            if score(attempt, scratch, |_, _| {}).is_err() {
                return None;
            }
            if let Some(fresh) = heap.last_mut() {
                fill_raw(attempt, scratch, core::slice::from_mut(fresh));
            }
            sum(attempt, scratch, &mut heap);
            Some(())
        });
        self.scratch.list.clear();
        batch::heapify(&mut heap);
        self.batch.heap = heap;
        result.flatten()
    }
}

/// Raw scores of nodes that were just scored.
fn fill_raw(attempt: Attempt<'_>, scratch: &mut Scratch, nodes: &mut [Scored]) {
    let live = &attempt.cluster.live;
    for (place, plugin) in KEPT.into_iter().enumerate() {
        let column = scratch.columns.get(plugin as usize).copied();
        if column.is_none_or(|column| column == Column::Absent) {
            continue;
        }
        if plugin == Plugin::InterPodAffinity {
            inter_pod_affinity::fill_raw(attempt, scratch);
        }
        for node in nodes.iter_mut() {
            let at = node.row as usize;
            let of = |column: &[u32]| column.get(at).map_or(0, |raw| i64::from(*raw));
            let raw = match plugin {
                Plugin::TaintToleration => of(live.taint_counts(attempt.slot)),
                Plugin::NodeAffinity => of(live.preferred(attempt.slot)),
                Plugin::InterPodAffinity => scratch.raw.get(at).copied().unwrap_or(0),
                _ => i64::from(
                    scratch
                        .score(attempt.cluster, plugin, node.row)
                        .unwrap_or(0),
                ),
            };
            if let Some(slot) = node.raw.get_mut(place) {
                *slot = raw;
            }
        }
    }
}

/// Totals of all nodes from their raw scores; a plugin that skips itself now does not count.
fn sum(attempt: Attempt<'_>, scratch: &Scratch, nodes: &mut [Scored]) {
    for node in nodes.iter_mut() {
        node.total = 0;
    }
    for (plugin, weight) in &attempt.plan.scores {
        let column = scratch.columns.get(*plugin as usize).copied();
        let Some(place) = KEPT.iter().position(|own| own == plugin) else {
            continue;
        };
        if column.is_none_or(|column| column == Column::Absent) {
            continue;
        }
        let raw = |node: &Scored| node.raw.get(place).copied().unwrap_or(0);
        let lowest = nodes.iter().map(raw).min().unwrap_or(0);
        let highest = nodes.iter().map(raw).max().unwrap_or(0);
        for node in nodes.iter_mut() {
            let own = raw(node);
            let score = batch::normalized(*plugin, own, lowest, highest).unwrap_or(own);
            // As in the attempt itself.
            node.total = node.total.wrapping_add(score.wrapping_mul(*weight));
        }
    }
}
