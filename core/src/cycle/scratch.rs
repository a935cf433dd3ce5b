//! Room for one attempt, taken once: node sets, score columns, domain sums.

use super::Attempt;
use crate::cluster::Cluster;
use crate::plugins::Plugin;
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
    SpreadLabel,
    SpreadSkew,
    PodAffinity,
    PodAntiAffinity,
    ExistingAntiAffinity,
    Features,
}

impl Refusal {
    pub(crate) const ALL: [Self; 12] = [
        Self::Unschedulable,
        Self::Taints,
        Self::AddedAffinity,
        Self::Affinity,
        Self::Ports,
        Self::Fit,
        Self::SpreadLabel,
        Self::SpreadSkew,
        Self::PodAffinity,
        Self::PodAntiAffinity,
        Self::ExistingAntiAffinity,
        Self::Features,
    ];
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

pub(crate) struct Scratch {
    words: usize,
    rows: usize,
    /// Nodes that no filter has refused so far.
    pub(crate) alive: Vec<u64>,
    /// Nodes that the filters ran on.
    pub(crate) searched: Vec<u64>,
    /// One node set a [`Refusal`].
    refused: Vec<u64>,
    /// Scratch set of the plugin that is running.
    pub(crate) set: Vec<u64>,
    /// PreFilter narrowed the search.
    pub(crate) narrowed: bool,
    /// PreFilter found that the pod's terms leave no node.
    pub(crate) conflict: bool,
    /// A plugin of the Filter point that PreFilter did not prepare; nodes that are alive reach it.
    pub(crate) unprepared: Option<Plugin>,
    /// Feasible rows in the order in which they were found.
    pub(crate) list: Vec<u32>,
    /// Normalised scores, a column of all rows for each plugin that scores.
    scores: Vec<u8>,
    pub(crate) columns: [Column; Plugin::COUNT],
    /// Raw scores of the plugin that is running, by row.
    pub(crate) raw: Vec<i64>,
    /// Sums of floats by row.
    pub(crate) sums: Vec<f64>,
    /// Sum by weight of each entry of `list`.
    pub(crate) totals: Vec<i64>,
    /// The live slot of the attempt that was scored.
    slot: usize,
    /// Rows of a narrowed search.
    pub(crate) narrow: Vec<u32>,
    pub(crate) domains: DomainSums,
    /// The same by row.
    pub(crate) row_sums: DomainSums,
    /// Topology keys that the running plugin needs, by id.
    pub(crate) keys: Vec<bool>,
}

/// Plugins with a column in [`Scratch::scores`].
const SCORERS: [Plugin; 5] = [
    Plugin::TaintToleration,
    Plugin::NodeAffinity,
    Plugin::PodTopologySpread,
    Plugin::InterPodAffinity,
    Plugin::ImageLocality,
];

impl Scratch {
    pub(crate) fn new(rows: usize, domains: usize, keys: usize) -> Self {
        let words = rows / 64;
        Self {
            words,
            rows,
            alive: filled(words, 0),
            searched: filled(words, 0),
            refused: filled(words * Refusal::ALL.len(), 0),
            set: filled(words, 0),
            narrowed: false,
            conflict: false,
            unprepared: None,
            list: Vec::with_capacity(rows),
            scores: filled(rows * SCORERS.len(), 0),
            columns: [Column::Absent; Plugin::COUNT],
            raw: filled(rows, 0),
            sums: filled(rows, 0.0),
            totals: Vec::with_capacity(rows),
            slot: 0,
            narrow: Vec::with_capacity(rows),
            domains: DomainSums::new(domains),
            row_sums: DomainSums::new(rows),
            keys: filled(keys, false),
        }
    }

    pub(crate) const fn bytes(rows: u64, domains: u64, keys: u64) -> u64 {
        let words = 3 + Refusal::ALL.len() as u64;
        let row = SCORERS.len() + 3 * size_of::<i64>() + 2 * size_of::<u32>();
        rows / 64 * words * 8 + rows * row as u64 + (domains + rows) * 16 + keys
    }

    /// Forgets the last attempt.
    pub(crate) fn begin(&mut self, cluster: &Cluster) {
        debug_assert_eq!(self.rows, cluster.rows());
        self.refused.fill(0);
        self.searched.fill(0);
        self.narrowed = false;
        self.conflict = false;
        self.unprepared = None;
        self.list.clear();
        self.totals.clear();
        self.columns = [Column::Absent; Plugin::COUNT];
    }

    /// Refuses the nodes of `set` that are still alive.
    pub(crate) fn refuse(&mut self, refusal: Refusal, set: &[u64]) {
        let start = refusal as usize * self.words;
        let refused = &mut self.refused[start..start + self.words];
        for ((refused, alive), set) in refused.iter_mut().zip(&mut self.alive).zip(set) {
            *refused |= *alive & set;
            *alive &= !set;
        }
    }

    /// The same for one block.
    pub(crate) fn refuse_word(&mut self, refusal: Refusal, block: usize, set: u64) {
        self.refused[refusal as usize * self.words + block] |= self.alive[block] & set;
        self.alive[block] &= !set;
    }

    /// Nodes refused for this reason.
    pub(crate) fn refused(&self, refusal: Refusal) -> &[u64] {
        &self.refused[refusal as usize * self.words..(refusal as usize + 1) * self.words]
    }

    /// Takes back every refusal of nodes outside `searched`: they were never looked at.
    pub(crate) fn forget_unsearched(&mut self) {
        for refused in self.refused.chunks_exact_mut(self.words.max(1)) {
            for (refused, searched) in refused.iter_mut().zip(&self.searched) {
                *refused &= searched;
            }
        }
    }

    /// The plugin's column of scores, by row.
    pub(crate) fn column_mut(&mut self, plugin: Plugin) -> &mut [u8] {
        let place = SCORERS.iter().position(|own| *own == plugin).unwrap_or(0);
        &mut self.scores[place * self.rows..(place + 1) * self.rows]
    }

    fn column(&self, plugin: Plugin) -> &[u8] {
        let place = SCORERS.iter().position(|own| *own == plugin).unwrap_or(0);
        &self.scores[place * self.rows..(place + 1) * self.rows]
    }

    /// The plugin's normalised score of a feasible row; `None` where it skipped itself.
    pub(crate) fn score(&self, cluster: &Cluster, plugin: Plugin, row: u32) -> Option<u8> {
        match self.columns[plugin as usize] {
            Column::Absent => None,
            Column::Constant(score) => Some(score),
            Column::Rows => self.column(plugin).get(row as usize).copied(),
            Column::Kept => kept(cluster, plugin, self.slot).get(row as usize).copied(),
        }
    }

    /// Sums the columns by weight into `totals`.
    pub(crate) fn sum(&mut self, attempt: Attempt<'_>) {
        // Without any plugin upstream gives each node 1.
        let mut constant = i64::from(attempt.plan.scores.is_empty());
        for (plugin, weight) in &attempt.plan.scores {
            if let Column::Constant(score) = self.columns[*plugin as usize] {
                constant += i64::from(score) * weight;
            }
        }
        self.slot = attempt.slot;
        let mut totals = core::mem::take(&mut self.totals);
        totals.resize(self.list.len(), constant);
        for (plugin, weight) in &attempt.plan.scores {
            let column = match self.columns[*plugin as usize] {
                Column::Absent | Column::Constant(_) => continue,
                Column::Rows => self.column(*plugin),
                Column::Kept => kept(attempt.cluster, *plugin, attempt.slot),
            };
            for (total, row) in totals.iter_mut().zip(&self.list) {
                *total += i64::from(column[*row as usize]) * weight;
            }
        }
        self.totals = totals;
    }

    /// Scales raw scores of the feasible rows to 0..=100 by their maximum.
    ///
    /// Mirrors `DefaultNormalizeScore` of `plugins/helper/normalize_score.go`.
    pub(crate) fn normalize(&mut self, plugin: Plugin, reverse: bool) -> Column {
        let list = core::mem::take(&mut self.list);
        let raw = core::mem::take(&mut self.raw);
        let highest = list
            .iter()
            .map(|row| raw[*row as usize])
            .max()
            .unwrap_or(0)
            .max(0);
        let column = self.column_mut(plugin);
        for row in &list {
            let scaled = if highest == 0 {
                0
            } else {
                (raw[*row as usize] * 100 / highest) as u8
            };
            column[*row as usize] = if reverse { 100 - scaled } else { scaled };
        }
        self.list = list;
        self.raw = raw;
        if highest == 0 {
            Column::Constant(if reverse { 100 } else { 0 })
        } else {
            Column::Rows
        }
    }
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
pub(crate) struct DomainSums {
    sums: Vec<i64>,
    marks: Vec<u32>,
    generation: u32,
    touched: u32,
}

impl DomainSums {
    fn new(places: usize) -> Self {
        Self {
            sums: filled(places, 0),
            marks: filled(places, 0),
            generation: 0,
            touched: 0,
        }
    }

    /// Forgets all sums.
    pub(crate) fn clear(&mut self) {
        self.touched = 0;
        // A mark of an earlier round must never look new.
        if self.generation == u32::MAX {
            self.marks.fill(0);
            self.generation = 0;
        }
        self.generation += 1;
    }

    /// Adds to a sum, which is there from now on, even if it is 0.
    pub(crate) fn add(&mut self, place: u32, amount: i64) {
        let at = place as usize;
        if self.marks[at] != self.generation {
            self.marks[at] = self.generation;
            self.sums[at] = 0;
            self.touched += 1;
        }
        self.sums[at] = self.sums[at].saturating_add(amount);
    }

    pub(crate) fn contains(&self, place: u32) -> bool {
        self.marks[place as usize] == self.generation
    }

    /// 0 where nothing was added.
    pub(crate) fn sum(&self, place: u32) -> i64 {
        if self.contains(place) {
            self.sums[place as usize]
        } else {
            0
        }
    }

    /// Places that are there.
    pub(crate) const fn len(&self) -> u32 {
        self.touched
    }

    /// The smallest sum of those that are there.
    pub(crate) fn minimum(&self) -> Option<i64> {
        let there = self.marks.iter().zip(&self.sums);
        there
            .filter(|(mark, _)| **mark == self.generation)
            .map(|(_, sum)| *sum)
            .min()
    }
}

fn filled<T: Clone>(count: usize, value: T) -> Vec<T> {
    let mut table = Vec::new();
    table.resize(count, value);
    table
}

/// Lanes of a word that are set.
pub(crate) fn lanes(mut word: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let lane = word.trailing_zeros() as usize;
        word &= word - 1;
        Some(lane)
    })
}
