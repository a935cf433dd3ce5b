//! Scores of the nodes that were found, a block of 64 rows at a time.
//!
//! Stage before: [`Scratch::found`] holds them. Plugins fill [`Scratch::raw`] here and scale it to a
//! column of scores.

use super::{Column, Scratch};
use crate::plugins::Plugin;

/// Raw scores are mapped by a table where their range has fewer values than this.
const TABLE: usize = 256;

impl Scratch {
    /// Takes what the search listed as found.
    pub(crate) fn find_listed(&mut self) {
        self.found.clear();
        for row in &self.list {
            self.found.insert(*row);
        }
    }

    /// Lets `fill` write the raw scores of every block in which a row was found.
    pub(crate) fn fill_raw(&mut self, mut fill: impl FnMut(usize, u64, &mut [i64; 64])) {
        let blocks = self.raw.as_chunks_mut().0.iter_mut();
        for ((block, word), raw) in self.found.words().iter().enumerate().zip(blocks) {
            if *word != 0 {
                fill(block, *word, raw);
            }
        }
    }

    /// Takes the raw scores of the found rows from a column of all rows.
    pub(crate) fn copy_raw(&mut self, column: &[u32]) {
        let column = column.as_chunks::<64>().0;
        self.fill_raw(|block, _, raw| {
            for (raw, own) in raw.iter_mut().zip(column.get(block).into_iter().flatten()) {
                *raw = i64::from(*own);
            }
        });
    }

    /// The lowest and the highest raw score of the found rows that are not below 0 where `skips`.
    pub(crate) fn extremes(&self, skips: bool) -> Option<(i64, i64)> {
        let floor = if skips { 0 } else { i64::MIN };
        let (mut lowest, mut highest) = (i64::MAX, i64::MIN);
        for (word, raw) in self.found.words().iter().zip(self.raw.as_chunks::<64>().0) {
            if *word == 0 {
                continue;
            }
            for (lane, raw) in raw.iter().enumerate() {
                let counts = word >> lane & 1 != 0 && *raw >= floor;
                lowest = lowest.min(if counts { *raw } else { i64::MAX });
                highest = highest.max(if counts { *raw } else { i64::MIN });
            }
        }
        (lowest <= highest).then_some((lowest, highest))
    }

    /// Makes a plugin's column of the raw scores, which lie between these extremes.
    pub(crate) fn scale(
        &mut self,
        plugin: Plugin,
        (lowest, highest): (i64, i64),
        mut score: impl FnMut(i64) -> u8,
    ) -> Column {
        let mut table = [0; TABLE];
        let range = highest.checked_sub(lowest).unwrap_or(i64::MAX);
        let is_small = usize::try_from(range).is_ok_and(|range| range < TABLE);
        if is_small {
            for (above, entry) in table
                .iter_mut()
                .enumerate()
                .take((range as usize).saturating_add(1))
            {
                *entry = score(lowest.saturating_add(above as i64));
            }
        }
        let found = core::mem::take(&mut self.found);
        let raw = core::mem::take(&mut self.raw);
        let column = self.column_mut(plugin).as_chunks_mut::<64>().0;
        let blocks = found.words().iter().zip(raw.as_chunks::<64>().0);
        for ((word, raw), scores) in blocks.zip(column) {
            if *word == 0 {
                continue;
            }
            for (score_of, raw) in scores.iter_mut().zip(raw) {
                // Rows that were not found may hold anything.
                let above = raw.wrapping_sub(lowest) as usize;
                *score_of = if is_small {
                    *table.get(above).unwrap_or(&0)
                } else {
                    score((*raw).clamp(lowest, highest))
                };
            }
        }
        self.found = found;
        self.raw = raw;
        Column::Rows
    }

    /// Scales raw scores of the found rows to 0..=100 by their maximum.
    ///
    /// Mirrors `DefaultNormalizeScore` of `plugins/helper/normalize_score.go`.
    pub(crate) fn normalize(&mut self, plugin: Plugin, reverse: bool) -> Column {
        let (lowest, highest) = self.extremes(false).unwrap_or((0, 0));
        if highest <= 0 {
            return Column::Constant(if reverse { 100 } else { 0 });
        }
        self.scale(plugin, (lowest, highest), |raw| {
            let percent = raw.saturating_mul(100).checked_div(highest);
            let scaled = percent.unwrap_or(0) as u8;
            if reverse {
                100_u8.saturating_sub(scaled)
            } else {
                scaled
            }
        })
    }
}
