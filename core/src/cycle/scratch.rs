//! Room for one attempt, taken once: node sets, score columns, domain sums.

use super::external::ExternalScratch;
use super::{Attempt, Fault, VolumeScratch};
use crate::capacity::{bytes_of, sum};
use crate::cluster::Cluster;
use crate::decision::AttemptError;
use crate::fixed_vec::FixedVec;
use crate::node_set::{self, NodeSet};
use crate::plugins::{Plugin, node_volume_limits, volume_binding};
use crate::table::{Count, Table, Vacant};
use alloc::vec::Vec;

/// Why a node was refused: a plugin and which of its reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Refusal {
    Unschedulable,
    Taints,
    AddedAffinity,
    Affinity,
    Ports,
    /// One or several of NodeResourcesFit's reasons, found anew when they are asked for.
    Fit,
    /// Of the volume plugins the row's reason is noted beside it.
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    SpreadLabel,
    SpreadSkew,
    PodAffinity,
    PodAntiAffinity,
    ExistingAntiAffinity,
    Features,
}

impl Refusal {
    pub(crate) const ALL: [Self; 16] = [
        Self::Unschedulable,
        Self::Taints,
        Self::AddedAffinity,
        Self::Affinity,
        Self::Ports,
        Self::Fit,
        Self::VolumeRestrictions,
        Self::NodeVolumeLimits,
        Self::VolumeBinding,
        Self::VolumeZone,
        Self::SpreadLabel,
        Self::SpreadSkew,
        Self::PodAffinity,
        Self::PodAntiAffinity,
        Self::ExistingAntiAffinity,
        Self::Features,
    ];

    /// Whether a row's reason is noted in [`VolumeScratch::reasons`].
    pub(crate) const fn is_of_volumes(self) -> bool {
        matches!(
            self,
            Self::VolumeRestrictions
                | Self::NodeVolumeLimits
                | Self::VolumeBinding
                | Self::VolumeZone
        )
    }
}

/// Why PreFilter of a plugin leaves no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreFilterRefusal {
    /// The pod's node affinity names no node.
    Affinity,
    Volumes(Plugin, Fault),
}

impl PreFilterRefusal {
    /// The plugin that refuses.
    pub(crate) const fn plugin(self) -> Plugin {
        match self {
            Self::Affinity => Plugin::NodeAffinity,
            Self::Volumes(plugin, _) => plugin,
        }
    }
}

/// Reasons of NodeResourcesFit at one time, a bit a place; the last bit stands for all further ones.
/// Of a volume plugin: which of its reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lacks {
    pub(crate) bits: u64,
    pub(crate) unresolvable: bool,
}

impl Lacks {
    pub(crate) const LAST: usize = 63;
}

/// A plugin's scores of the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// The plugin skipped itself or is not configured.
    Absent,
    /// The same for every feasible node.
    Constant(u8),
    /// In the plugin's column of [`Scratch::scores`].
    Rows,
    /// Kept by the class' live slot.
    Kept,
}

#[derive(Clone)]
pub(crate) struct Scratch {
    words: usize,
    rows: usize,
    /// Nodes that no filter has refused so far.
    pub(crate) alive: NodeSet,
    /// Nodes that the filters ran on.
    pub(crate) searched: NodeSet,
    /// One node set a [`Refusal`].
    refused: Vec<u64>,
    /// Scratch set of the plugin that is running.
    pub(crate) set: NodeSet,
    /// Rows that PodTopologySpread scores if they are found.
    pub(crate) keyed: NodeSet,
    /// Whether an attempt wrote to the sets of refused and searched rows.
    pub(crate) is_marked: bool,
    /// PreFilter narrowed the search.
    pub(crate) narrowed: bool,
    /// PreFilter found that no node is left, and why.
    pub(crate) pre_filter_refusal: Option<PreFilterRefusal>,
    /// PreFilter of InterPodAffinity skipped the plugin.
    pub(crate) skips_pod_affinity: bool,
    /// A plugin of the Filter point that PreFilter did not prepare; nodes that are alive reach it.
    pub(crate) unprepared: Option<Plugin>,
    /// The refusal of the nominated node, which was asked first; it stands unless the search meets
    /// the node too.
    pub(crate) kept: Option<(u32, Refusal)>,
    /// Fit's reasons of rows that it refused with nominated pods counted.
    pub(crate) lacks: FixedVec<(u32, Lacks)>,
    /// Feasible rows, while they are scored.
    pub(crate) found: NodeSet,
    /// Feasible rows in the order in which they were found.
    pub(crate) list: FixedVec<u32>,
    /// Normalised scores, a column of all rows for each plugin that scores.
    scores: Vec<u8>,
    pub(crate) columns: [Column; Plugin::COUNT],
    /// Raw scores of the plugin that is running, by row.
    pub(crate) raw: Vec<i64>,
    /// By block: the sum of PodTopologySpread and the raw score of InterPodAffinity that score best among
    /// the found rows.
    pub(crate) best_sums: Vec<f64>,
    pub(crate) best_raw: Vec<i64>,
    /// Sums of floats by row.
    pub(crate) sums: Vec<f64>,
    /// Sum by weight of each entry of `list`.
    pub(crate) totals: FixedVec<i64>,
    /// The live slot of the attempt that was scored.
    slot: usize,
    /// Rows of a narrowed search.
    pub(crate) narrow: FixedVec<u32>,
    pub(crate) domains: DomainSums,
    /// The same by row.
    pub(crate) row_sums: DomainSums,
    /// Topology keys that the running plugin needs, by id.
    pub(crate) keys: Vec<bool>,
    pub(crate) volumes: VolumeScratch,
    pub(crate) external: ExternalScratch,
}

/// Plugins with a column in [`Scratch::scores`].
const SCORERS: [Plugin; 6] = [
    Plugin::TaintToleration,
    Plugin::NodeAffinity,
    Plugin::VolumeBinding,
    Plugin::PodTopologySpread,
    Plugin::InterPodAffinity,
    Plugin::ImageLocality,
];

impl Vacant for Column {
    const VACANT: &'static Self = &Self::Absent;
}

impl Scratch {
    pub(crate) fn new(rows: usize, domains: usize, keys: usize, volumes: VolumeScratch) -> Self {
        let words = rows / 64;
        Self {
            words,
            rows,
            alive: NodeSet::new(rows),
            searched: NodeSet::new(rows),
            refused: filled(words.saturating_mul(Refusal::ALL.len()), 0),
            set: NodeSet::new(rows),
            keyed: NodeSet::new(rows),
            is_marked: false,
            narrowed: false,
            pre_filter_refusal: None,
            skips_pod_affinity: false,
            unprepared: None,
            kept: None,
            lacks: FixedVec::with_capacity(rows),
            found: NodeSet::new(rows),
            list: FixedVec::with_capacity(rows),
            scores: filled(rows.saturating_mul(SCORERS.len()), 0),
            columns: [Column::Absent; Plugin::COUNT],
            raw: filled(rows, 0),
            best_sums: filled(words, 0.0),
            best_raw: filled(words, 0),
            sums: filled(rows, 0.0),
            totals: FixedVec::with_capacity(rows),
            slot: 0,
            narrow: FixedVec::with_capacity(rows),
            domains: DomainSums::new(domains),
            row_sums: DomainSums::new(rows),
            keys: filled(keys, false),
            volumes,
            external: ExternalScratch::new(rows),
        }
    }

    pub(crate) const fn bytes(rows: u64, domains: u64, keys: u64) -> u64 {
        sum(&[
            bytes_of::<[u64; 5]>(rows / 64),
            bytes_of::<[i64; 2]>(rows / 64),
            bytes_of::<[u64; Refusal::ALL.len()]>(rows / 64),
            bytes_of::<[u8; SCORERS.len()]>(rows),
            bytes_of::<[i64; 3]>(rows),
            bytes_of::<[u32; 2]>(rows),
            bytes_of::<(u32, Lacks)>(rows),
            bytes_of::<[u64; 2]>(domains.saturating_add(rows)),
            bytes_of::<bool>(keys),
            ExternalScratch::bytes(rows),
        ])
    }

    /// Forgets the last attempt.
    pub(crate) fn begin(&mut self, cluster: &Cluster) {
        debug_assert_eq!(self.rows, cluster.rows());
        if self.is_marked {
            self.refused.fill(0);
            self.searched.clear();
            self.is_marked = false;
        }
        self.narrowed = false;
        self.pre_filter_refusal = None;
        self.volumes.clear();
        self.skips_pod_affinity = false;
        self.unprepared = None;
        self.kept = None;
        self.lacks.clear();
        self.list.clear();
        self.totals.clear();
        self.columns = [Column::Absent; Plugin::COUNT];
        self.external.clear();
    }

    /// Refuses the nodes of `set` that are still alive.
    pub(crate) fn refuse(&mut self, refusal: Refusal, set: &[u64]) {
        let refused = self.refused.column_mut(self.words, refusal as usize);
        for ((refused, alive), set) in refused.iter_mut().zip(self.alive.words_mut()).zip(set) {
            *refused |= *alive & set;
            *alive &= !set;
        }
    }

    /// The same for one block.
    pub(crate) fn refuse_word(&mut self, refusal: Refusal, block: usize, set: u64) {
        let refused = self.refused.column_mut(self.words, refusal as usize);
        let alive = self.alive.words_mut();
        if let (Some(refused), Some(alive)) = (refused.at_mut(block), alive.at_mut(block)) {
            *refused |= *alive & set;
            *alive &= !set;
        }
    }

    /// Refuses the rows that are still alive and for which `ask` gives a reason, which is noted.
    pub(crate) fn refuse_rows(
        &mut self,
        refusal: Refusal,
        mut ask: impl FnMut(&mut VolumeScratch, u32) -> Option<u8>,
    ) {
        let mut volumes = core::mem::take(&mut self.volumes);
        for block in 0..self.words {
            let mut set = 0;
            let alive = *self.alive.words().at(block);
            for lane in node_set::lanes(alive) {
                let row = block.saturating_mul(64).saturating_add(lane) as u32;
                if let Some(reason) = ask(&mut volumes, row) {
                    volumes.set_reason(row, reason);
                    set |= 1 << lane;
                }
            }
            self.refuse_word(refusal, block, set);
        }
        self.volumes = volumes;
    }

    /// Keeps the details of a row's refusal.
    pub(crate) fn note(&mut self, row: u32, refusal: Refusal, details: Lacks) {
        if refusal == Refusal::Fit {
            self.lacks.push((row, details));
        } else if refusal.is_of_volumes() {
            self.volumes.set_reason(row, details.bits as u8);
        }
    }

    /// Which reason a volume plugin refused the row for, as details of the refusal.
    pub(crate) fn volume_details(&self, row: u32, refusal: Refusal) -> Lacks {
        let reason = self.volumes.reason(row);
        let no_claim =
            refusal == Refusal::NodeVolumeLimits && reason == node_volume_limits::NO_CLAIM;
        Lacks {
            bits: u64::from(reason),
            unresolvable: refusal.is_unresolvable() || no_claim,
        }
    }

    /// What a plugin failed with on a row that the search looked at.
    pub(crate) fn failure(&self) -> Option<AttemptError> {
        let failure = self.volumes.failure?;
        let failed = [
            (Refusal::NodeVolumeLimits, node_volume_limits::FAILURE),
            (Refusal::VolumeBinding, volume_binding::FAILURE),
        ];
        let is_met = failed.into_iter().any(|(refusal, reason)| {
            let mut rows = node_set::rows(self.refused(refusal));
            rows.any(|row| self.volumes.reason(row) == reason)
        });
        is_met.then_some(failure)
    }

    /// Begins anew with one row alone, for the filters.
    pub(crate) fn begin_row(&mut self, row: u32) {
        self.refused.fill(0);
        self.is_marked = true;
        self.alive.clear();
        self.unprepared = None;
        self.alive.insert(row);
    }

    /// Why the row was refused.
    pub(crate) fn refusal(&self, row: u32) -> Option<Refusal> {
        let is_refused = |refusal: &Refusal| node_set::contains(self.refused(*refusal), row);
        Refusal::ALL.into_iter().find(is_refused)
    }

    /// Makes this the row's one refusal, whatever the filters said of it.
    pub(crate) fn overrule(&mut self, row: u32, refusal: Refusal) {
        for set in self.refused.chunks_exact_mut(self.words.max(1)) {
            node_set::remove(set, row);
        }
        self.alive.remove(row);
        let refused = self.refused.column_mut(self.words, refusal as usize);
        node_set::insert(refused, row);
    }

    /// Puts the nominated node's refusal back where the search has not met the node; returns
    /// whether it did.
    pub(crate) fn restore_kept(&mut self) -> bool {
        let Some((row, refusal)) = self.kept else {
            return false;
        };
        let missing = self.refusal(row).is_none() && !self.list.contains(&row);
        if missing {
            self.overrule(row, refusal);
        }
        missing
    }

    /// Nodes refused for this reason.
    pub(crate) fn refused(&self, refusal: Refusal) -> &[u64] {
        self.refused.column(self.words, refusal as usize)
    }

    /// Takes back every refusal of nodes outside `searched`: they were never looked at.
    pub(crate) fn forget_unsearched(&mut self) {
        for refused in self.refused.chunks_exact_mut(self.words.max(1)) {
            for (refused, searched) in refused.iter_mut().zip(self.searched.words()) {
                *refused &= searched;
            }
        }
        self.external.keep(&self.searched);
    }

    /// The plugin's column of scores, by row.
    pub(crate) fn column_mut(&mut self, plugin: Plugin) -> &mut [u8] {
        let place = SCORERS.iter().position(|own| *own == plugin).unwrap_or(0);
        self.scores.column_mut(self.rows, place)
    }

    pub(crate) fn column(&self, plugin: Plugin) -> &[u8] {
        let place = SCORERS.iter().position(|own| *own == plugin).unwrap_or(0);
        self.scores.column(self.rows, place)
    }

    /// The plugin's normalised score of a feasible row; `None` where it skipped itself.
    pub(crate) fn score(&self, cluster: &Cluster, plugin: Plugin, row: u32) -> Option<u8> {
        match *self.columns.at(plugin as usize) {
            Column::Absent => None,
            Column::Constant(score) => Some(score),
            Column::Rows => self.column(plugin).get(row as usize).copied(),
            Column::Kept => kept(cluster, plugin, self.slot).get(row as usize).copied(),
        }
    }

    /// The plugin's scores by row; empty where they are the same for all.
    pub(crate) fn rows_of<'a>(&'a self, attempt: Attempt<'a>, plugin: Plugin) -> &'a [u8] {
        match *self.columns.at(plugin as usize) {
            Column::Absent | Column::Constant(_) => &[],
            Column::Rows => self.column(plugin),
            Column::Kept => kept(attempt.cluster, plugin, attempt.slot),
        }
    }

    /// Sums the columns by weight into `totals`.
    pub(crate) fn sum(&mut self, attempt: Attempt<'_>) {
        // Without any plugin upstream gives each node 1.
        let mut constant = i64::from(attempt.plan.scores.is_empty());
        for (plugin, weight) in &attempt.plan.scores {
            if let Column::Constant(score) = *self.columns.at(*plugin as usize) {
                constant = constant.wrapping_add(weighted(score, *weight));
            }
        }
        self.slot = attempt.slot;
        let mut totals = core::mem::take(&mut self.totals);
        totals.clear();
        totals.resize(self.list.len(), constant);
        for (plugin, weight) in &attempt.plan.scores {
            let column = self.rows_of(attempt, *plugin);
            if column.is_empty() {
                continue;
            }
            for (total, row) in totals.iter_mut().zip(&self.list) {
                *total = total.wrapping_add(weighted(*column.at(*row), *weight));
            }
        }
        self.totals = totals;
    }
}

/// Exact, as are sums over all plugins: a score has 8 bits, a weight 32.
fn weighted(score: u8, weight: i64) -> i64 {
    i64::from(score).wrapping_mul(weight)
}

/// The column that a live slot keeps for the plugin.
fn kept(cluster: &Cluster, plugin: Plugin, slot: usize) -> &[u8] {
    let room = &cluster.live.room;
    match plugin {
        Plugin::NodeResourcesFit => room.fit_scores(slot),
        Plugin::NodeResourcesBalancedAllocation => room.balance_scores(slot),
        _ => &[],
    }
}

/// Sums by topology domain or row, of which few are touched in an attempt.
#[derive(Clone, Default)]
pub(crate) struct DomainSums {
    sums: Vec<i64>,
    marks: Vec<u32>,
    generation: u32,
    /// Places that are there.
    touched: FixedVec<u32>,
}

impl DomainSums {
    fn new(places: usize) -> Self {
        Self {
            sums: filled(places, 0),
            marks: filled(places, 0),
            generation: 0,
            touched: FixedVec::with_capacity(places),
        }
    }

    /// Forgets all sums.
    pub(crate) fn clear(&mut self) {
        self.touched.clear();
        // A mark of an earlier round must never look new.
        if self.generation == u32::MAX {
            self.marks.fill(0);
            self.generation = 0;
        }
        self.generation.count_up();
    }

    /// Adds to a sum, which is there from now on, even if it is 0.
    pub(crate) fn add(&mut self, place: u32, amount: i64) {
        let (Some(mark), Some(sum)) = (self.marks.at_mut(place), self.sums.at_mut(place)) else {
            return;
        };
        if *mark != self.generation {
            *mark = self.generation;
            *sum = 0;
            self.touched.push(place);
        }
        *sum = sum.saturating_add(amount);
    }

    pub(crate) fn contains(&self, place: u32) -> bool {
        *self.marks.at(place) == self.generation
    }

    /// 0 where nothing was added.
    pub(crate) fn sum(&self, place: u32) -> i64 {
        if self.contains(place) {
            *self.sums.at(place)
        } else {
            0
        }
    }

    /// Places that are there.
    pub(crate) fn len(&self) -> u32 {
        self.touched.len() as u32
    }

    /// The places that are there, and their sums to be changed.
    pub(crate) fn each(&mut self, mut change: impl FnMut(&mut i64)) {
        for place in &self.touched {
            if let Some(sum) = self.sums.at_mut(*place) {
                change(sum);
            }
        }
    }

    /// The smallest sum of those that are there.
    pub(crate) fn minimum(&self) -> Option<i64> {
        let there = self.touched.iter();
        there.map(|place| *self.sums.at(*place)).min()
    }
}

fn filled<T: Clone>(count: usize, value: T) -> Vec<T> {
    let mut table = Vec::new();
    table.resize(count, value);
    table
}
