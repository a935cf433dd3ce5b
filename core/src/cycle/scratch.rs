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

/// Reasons of NodeResourcesFit at one time, as bits: pods, cpu, memory, ephemeral storage, then the
/// class' other resources in their order (of which the last bit stands for all further ones).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    pub(crate) bits: u64,
    pub(crate) unresolvable: bool,
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
    /// PreFilter of InterPodAffinity skipped the plugin.
    pub(crate) skips_pod_affinity: bool,
    /// A plugin of the Filter point that PreFilter did not prepare; nodes that are alive reach it.
    pub(crate) unprepared: Option<Plugin>,
    /// The refusal of the nominated node, which was asked first; it stands unless the search meets
    /// the node too.
    pub(crate) kept: Option<(u32, Refusal)>,
    /// Fit's reasons of rows that it refused with nominated pods counted.
    pub(crate) lacks: Vec<(u32, Lacks)>,
    /// Feasible rows in the order in which they were found.
    pub(crate) list: Vec<u32>,
    /// Normalised scores, a column of all rows for each plugin that scores.
    scores: Vec<u8>,
    pub(crate) columns: [Column; Plugin::COUNT],
    /// Raw scores of the plugin that is running, by row.
    pub(crate) raw: Vec<i64>,
    /// Sums of floats by row.
    pub(crate) sums: Vec<f64>,
    /// Sum by weight, by row.
    pub(crate) totals: Vec<i64>,
    /// Positions in `list`, as a heap.
    pub(crate) heap: Vec<u32>,
    pub(crate) domains: DomainSums,
    /// The same by row.
    pub(crate) row_sums: DomainSums,
    /// Topology keys that the running plugin needs, by id.
    pub(crate) keys: Vec<bool>,
}

/// Plugins with a column in [`Scratch::scores`].
const SCORERS: [Plugin; 7] = [
    Plugin::TaintToleration,
    Plugin::NodeAffinity,
    Plugin::NodeResourcesFit,
    Plugin::PodTopologySpread,
    Plugin::InterPodAffinity,
    Plugin::NodeResourcesBalancedAllocation,
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
            skips_pod_affinity: false,
            unprepared: None,
            kept: None,
            lacks: Vec::with_capacity(rows),
            list: Vec::with_capacity(rows),
            scores: filled(rows * SCORERS.len(), 0),
            columns: [Column::Absent; Plugin::COUNT],
            raw: filled(rows, 0),
            sums: filled(rows, 0.0),
            totals: filled(rows, 0),
            heap: Vec::with_capacity(rows),
            domains: DomainSums::new(domains),
            row_sums: DomainSums::new(rows),
            keys: filled(keys, false),
        }
    }

    pub(crate) const fn bytes(rows: u64, domains: u64, keys: u64) -> u64 {
        let words = 3 + Refusal::ALL.len() as u64;
        let row =
            SCORERS.len() + 3 * size_of::<i64>() + 2 * size_of::<u32>() + size_of::<(u32, Lacks)>();
        rows / 64 * words * 8 + rows * row as u64 + (domains + rows) * 16 + keys
    }

    /// Forgets the last attempt.
    pub(crate) fn begin(&mut self, cluster: &Cluster) {
        debug_assert_eq!(self.rows, cluster.rows());
        self.refused.fill(0);
        self.searched.fill(0);
        self.narrowed = false;
        self.conflict = false;
        self.skips_pod_affinity = false;
        self.unprepared = None;
        self.kept = None;
        self.lacks.clear();
        self.list.clear();
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

    /// Begins anew with one row alone, for the filters.
    pub(crate) fn begin_row(&mut self, row: u32) {
        self.refused.fill(0);
        self.alive.fill(0);
        self.unprepared = None;
        if let Some(word) = self.alive.get_mut(row as usize / 64) {
            *word = 1 << (row % 64);
        }
    }

    /// Why the row was refused.
    pub(crate) fn refusal(&self, row: u32) -> Option<Refusal> {
        let (word, bit) = (row as usize / 64, 1 << (row % 64));
        let is_refused = |refusal: &Refusal| {
            let set = self.refused(*refusal).get(word);
            set.is_some_and(|set| set & bit != 0)
        };
        Refusal::ALL.into_iter().find(is_refused)
    }

    /// Makes this the row's one refusal, whatever the filters said of it.
    pub(crate) fn overrule(&mut self, row: u32, refusal: Refusal) {
        let (word, bit) = (row as usize / 64, 1 << (row % 64));
        for set in self.refused.chunks_exact_mut(self.words.max(1)) {
            if let Some(set) = set.get_mut(word) {
                *set &= !bit;
            }
        }
        if let Some(alive) = self.alive.get_mut(word) {
            *alive &= !bit;
        }
        let place = refusal as usize * self.words + word;
        if let Some(set) = self.refused.get_mut(place) {
            *set |= bit;
        }
    }

    /// Puts the nominated node's refusal back where the search has not met the node.
    pub(crate) fn restore_kept(&mut self) {
        if let Some((row, refusal)) = self.kept
            && self.refusal(row).is_none()
            && !self.list.contains(&row)
        {
            self.overrule(row, refusal);
        }
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

    pub(crate) fn refused_count(&self) -> u32 {
        self.refused.iter().map(|word| word.count_ones()).sum()
    }

    /// The feasible rows as a set, in the scratch set, which the caller puts back.
    pub(crate) fn feasible_set(&mut self) -> Vec<u64> {
        let mut set = core::mem::take(&mut self.set);
        set.fill(0);
        for row in &self.list {
            set[*row as usize / 64] |= 1 << (row % 64);
        }
        set
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
    pub(crate) fn score(&self, plugin: Plugin, row: u32) -> Option<u8> {
        match self.columns[plugin as usize] {
            Column::Absent => None,
            Column::Constant(score) => Some(score),
            Column::Rows => self.column(plugin).get(row as usize).copied(),
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
        for row in &self.list {
            self.totals[*row as usize] = constant;
        }
        for (plugin, weight) in &attempt.plan.scores {
            if self.columns[*plugin as usize] != Column::Rows {
                continue;
            }
            let place = SCORERS.iter().position(|own| own == plugin).unwrap_or(0);
            let column = &self.scores[place * self.rows..(place + 1) * self.rows];
            for row in &self.list {
                self.totals[*row as usize] += i64::from(column[*row as usize]) * weight;
            }
        }
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
