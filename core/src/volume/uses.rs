//! Which pods on nodes name which volumes, as counts.

use super::{Volumes, item};
use crate::capacity::CapacityExceeded;
use crate::intern::{Texts, Word, Writer};
use crate::planted::{self, Bug};
use crate::table::{Count, Table, Vacant};

/// How much is named on a row, that of each pod by itself.
#[derive(Clone, Copy, Default)]
pub(super) struct RowUses {
    named: u32,
    /// Of these, what NodeVolumeLimits may fail over.
    doubtful: u32,
}

impl Vacant for RowUses {
    const VACANT: &'static Self = &Self {
        named: 0,
        doubtful: 0,
    };
}

impl Volumes {
    /// Holds what a new class names. On failure nothing is held.
    pub(crate) fn hold<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [Word]> + Clone,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        let mut held = 0_usize;
        for item in items.clone() {
            let result = writer.copy(texts, item);
            let result = result.and_then(|()| writer.finish(&mut self.uses, texts));
            if let Err(full) = result {
                writer.clear(texts);
                self.release(items.take(held), texts);
                return Err(full);
            }
            held.count_up();
        }
        Ok(())
    }

    /// Releases what a class named.
    pub(crate) fn release<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [Word]>,
        texts: &mut Texts,
    ) {
        for item in items {
            if let Some(id) = self.uses.find(item) {
                self.uses.release(id, texts);
            }
        }
    }

    /// Refuses if so many new counts do not fit.
    pub(crate) fn check_room(&self, wanted: usize) -> Result<(), CapacityExceeded> {
        if wanted == 0 {
            return Ok(());
        }
        self.use_counts.check_room(wanted)
    }

    /// Counts what a pod names on its row, or takes it away. Room must have been checked.
    pub(crate) fn count<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [Word]>,
        row: u32,
        add: bool,
    ) {
        if !add && planted::is(Bug::VolumeUseKept) {
            return;
        }
        for item in items {
            let Some(id) = self.uses.find(item) else {
                continue;
            };
            let mut numbers = [self.use_totals.at_mut(id), None, None];
            if let Some(RowUses { named, doubtful }) = self.row_uses.at_mut(row) {
                let doubtful = item::is_doubtful(item).then_some(doubtful);
                let [_, own, in_doubt] = &mut numbers;
                (*own, *in_doubt) = (Some(named), doubtful);
            }
            if add {
                self.use_counts.increment(row, id);
                numbers.into_iter().flatten().for_each(Count::count_up);
            } else {
                self.use_counts.decrement(row, id);
                numbers.into_iter().flatten().for_each(Count::count_down);
            }
        }
    }

    /// Whether a pod on any node names it.
    pub(crate) fn is_used(&self, item: &[Word]) -> bool {
        let id = self.uses.find(item);
        id.is_some_and(|id| *self.use_totals.at(id) > 0)
    }

    /// How many volumes there are on a row at most; `None` if NodeVolumeLimits may fail over some.
    pub(crate) fn most_used_on(&self, row: u32) -> Option<u32> {
        let RowUses { named, doubtful } = *self.row_uses.at(row);
        (doubtful == 0).then_some(named)
    }

    /// What pods on the row name, each once, in no particular order.
    pub(crate) fn used_on(&self, row: u32) -> impl Iterator<Item = &[Word]> {
        let slots = self.use_counts.slots(row);
        slots.map(|(id, _)| self.uses.words(id))
    }
}
