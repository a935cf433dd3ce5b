//! What NodeResourcesFit lacks on the nodes that it refused: for how many of them each reason holds, and
//! which could not take the pod even if they were empty. Kept until a node's room changes, as pods that fit
//! nowhere come in rows.

use super::{Attempt, Refusal, Scratch};
use crate::capacity::{bytes_of, sum};
use crate::node_set::NodeSet;
use crate::plugins::node_resources_fit::{SCALAR_PLACE, lacking};
use crate::table::Table;
use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Default)]
pub(crate) struct Shortage {
    /// When the class came to live, and the position in the journal; `None` where the next attempt cannot
    /// use what is known.
    known: Option<(u64, u64)>,
    /// The refused rows of which nothing was noted.
    among: NodeSet,
    /// Of these, those that could not take the pod even if they were empty.
    never: NodeSet,
    /// Nodes by the place of a reason.
    counts: Vec<u32>,
}

impl Shortage {
    pub(crate) fn new(rows: usize, resources: u32) -> Self {
        Self {
            known: None,
            among: NodeSet::new(rows),
            never: NodeSet::new(rows),
            counts: vec![0; SCALAR_PLACE.saturating_add(resources as usize)],
        }
    }

    pub(crate) const fn bytes(rows: u64, resources: u64) -> u64 {
        sum(&[
            bytes_of::<[u64; 2]>(rows / 64),
            bytes_of::<u32>(resources.saturating_add(SCALAR_PLACE as u64)),
        ])
    }

    /// Looks at the rows that NodeResourcesFit refused in the attempt, unless they are known.
    pub(crate) fn fill(&mut self, attempt: Attempt<'_>, scratch: &Scratch) {
        let refused = scratch.refused(Refusal::Fit);
        let now = Some(key(attempt));
        let is_plain = scratch.lacks.is_empty();
        if is_plain && self.known == now && self.among.words() == refused {
            return;
        }
        self.known = if is_plain { now } else { None };
        for (word, refused) in self.among.words_mut().iter_mut().zip(refused) {
            *word = *refused;
        }
        for (row, _) in &scratch.lacks {
            self.among.remove(*row);
        }
        self.never.clear();
        self.counts.fill(0);
        let never = self.never.words_mut();
        count(
            attempt,
            self.among.words(),
            &mut self.counts,
            |block, more| {
                if let Some(word) = never.at_mut(block) {
                    *word |= more;
                }
            },
        );
    }

    #[cfg(feature = "testing")]
    pub(crate) fn forget(&mut self) {
        self.known = None;
    }

    /// The rows that could not take the pod even if they were empty.
    pub(crate) fn never(&self) -> &NodeSet {
        &self.never
    }

    /// How many of these rows have each reason, by its place; looked at anew unless it is known.
    pub(crate) fn counts(&self, attempt: Attempt<'_>, among: &[u64]) -> Cow<'_, [u32]> {
        if self.known == Some(key(attempt)) && self.among.words() == among {
            return Cow::Borrowed(&self.counts);
        }
        let mut counts = vec![0; self.counts.len()];
        count(attempt, among, &mut counts, |_, _| ());
        Cow::Owned(counts)
    }
}

/// What the refusals of a class hang on.
fn key(attempt: Attempt<'_>) -> (u64, u64) {
    (attempt.live().made_at, attempt.cluster.journal.head())
}

/// Counts the rows by reason; gives, block by block, those that could never take the pod.
fn count(
    attempt: Attempt<'_>,
    among: &[u64],
    counts: &mut [u32],
    mut never: impl FnMut(usize, u64),
) {
    for (block, among) in among.iter().enumerate().filter(|(_, word)| **word != 0) {
        lacking(attempt, block, *among, |place, now, ever| {
            if let Some(count) = counts.at_mut(place) {
                *count = count.saturating_add(now.count_ones());
            }
            never(block, ever);
        });
    }
}
