//! A table of objects in a state file.

use super::{Entry, Key, ObjectTable};
use crate::capacity::CapacityExceeded;
use crate::cluster::saved::{SavedRecords, restore_records, saved_records};
use crate::intern::{Texts, Word, word_text};
use crate::state_file::{StateError, check, check_vacant};
use crate::table::{Table, Vacant};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Records by id; entries by place: key and record.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedTable {
    records: SavedRecords,
    pub(crate) entries: Vec<Option<(Key, u32)>>,
    vacant: Vec<u32>,
}

impl ObjectTable {
    /// The content of a state file.
    pub(crate) fn saved(&self) -> SavedTable {
        let entry = |entry: &Entry| entry.used.then_some((entry.key, entry.record));
        SavedTable {
            records: saved_records(&self.records),
            entries: self.entries.iter().map(entry).collect(),
            vacant: self.vacant.to_vec(),
        }
    }

    /// Fills an empty table, whose records are held once more until [`Self::let_go`]. `is_right` says
    /// whether an object of this key can have this record.
    pub(crate) fn restore(
        &mut self,
        saved: &SavedTable,
        texts: &mut Texts,
        part: &'static str,
        is_right: impl Fn(Key, &[Word]) -> bool,
    ) -> Result<(), StateError> {
        restore_records(&mut self.records, texts, &saved.records, part)?;
        for (place, entry) in saved.entries.iter().enumerate() {
            let Some((key, record)) = *entry else {
                if self.entries.len() >= self.limit as usize {
                    let (which, limit) = (self.which, u64::from(self.limit));
                    return Err(CapacityExceeded { which, limit }.into());
                }
                self.entries.push(*Entry::VACANT);
                continue;
            };
            let [_, namespace, name] = key;
            let is_text = |word: Word| word_text(word).is_some_and(|text| texts.contains(text));
            let named = is_text(name) && (namespace == 0 || is_text(namespace));
            check(named, part, place, "its names are no texts")?;
            check(
                self.find(key).is_none(),
                part,
                place,
                "this object is there already",
            )?;
            let right = self.records.contains(record) && is_right(key, self.records.words(record));
            check(right, part, place, "its record is none of its kind")?;
            self.records.retain(record);
            self.insert(key, record, texts)?;
        }
        let is_vacant = |at: usize| !self.entries.at(at).used;
        check_vacant(&saved.vacant, self.entries.len(), is_vacant, part)?;
        self.vacant.extend_from_slice(&saved.vacant);
        Ok(())
    }

    /// Lets go of the records.
    pub(crate) fn let_go(&mut self, saved: &SavedTable, texts: &mut Texts) {
        for id in crate::cluster::saved::ids(&saved.records) {
            self.records.release(id, texts);
        }
    }
}
