//! Objects by kind, namespace and name, each with one record of words.

#[cfg(feature = "state-file")]
mod saved;

#[cfg(feature = "state-file")]
pub(crate) use saved::SavedTable;

use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::intern::{
    Records, Texts, Word, Writer, hash_words, index_bytes, release_texts, reserved_index, text_word,
};
use crate::table::{Table, Vacant, occupy};
use hashbrown::HashTable;

/// Kind, namespace (0: none) and name.
pub(crate) type Key = [Word; 3];

#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    record: u32,
    used: bool,
}

impl Vacant for Entry {
    const VACANT: &'static Self = &Self {
        key: [0; 3],
        record: u32::MAX,
        used: false,
    };
}

/// The table. An entry holds the texts of its key, and its record.
#[derive(Clone)]
pub(crate) struct ObjectTable {
    entries: FixedVec<Entry>,
    vacant: FixedVec<u32>,
    index: HashTable<u32>,
    records: Records,
    limit: u32,
    which: &'static str,
}

impl ObjectTable {
    /// `which` names the two limits in [`Capacities`](crate::Capacities).
    pub(crate) fn new(which: [&'static str; 2], limit: u32, words: u64) -> Self {
        let [own, _] = which;
        Self {
            entries: FixedVec::with_capacity(limit as usize),
            vacant: FixedVec::with_capacity(limit as usize),
            index: reserved_index(limit),
            records: Records::new(which, limit, words),
            limit,
            which: own,
        }
    }

    /// Bytes of such a table, its records not included.
    pub(crate) const fn bytes(limit: u64) -> u64 {
        sum(&[
            bytes_of::<Entry>(limit),
            bytes_of::<u32>(limit),
            index_bytes(limit),
        ])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The record of an object that is there.
    pub(crate) fn get(&self, key: Key) -> Option<&[Word]> {
        Some(self.at(self.find(key)?))
    }

    /// The place of an object that is there, which it keeps while it is.
    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        let at = self
            .index
            .find(hash_words(&key), |at| self.entries.at(*at).key == key)?;
        Some(*at)
    }

    /// The record at a place.
    pub(crate) fn at(&self, place: u32) -> &[Word] {
        self.records.words(self.entries.at(place).record)
    }

    /// The key at a place.
    pub(crate) fn key(&self, place: u32) -> Key {
        self.entries.at(place).key
    }

    /// Every object in the order of the table: key and record.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Key, &[Word])> {
        let used = self.entries.iter().filter(|entry| entry.used);
        used.map(|entry| (entry.key, self.records.words(entry.record)))
    }

    /// Places and records of the objects of a kind.
    pub(crate) fn of_kind(&self, kind: Word) -> impl Iterator<Item = (u32, &[Word])> {
        let entries = (0_u32..).zip(&self.entries);
        entries
            .filter(move |(_, entry)| entry.used && entry.key.first() == Some(&kind))
            .map(|(at, entry)| (at, self.records.words(entry.record)))
    }

    /// Stores what `writer` holds as the object's record; `namespace` is absent for kinds without.
    /// Returns whether the object is new.
    pub(crate) fn set(
        &mut self,
        kind: Word,
        namespace: Option<&str>,
        name: &str,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<bool, CapacityExceeded> {
        let (record, _) = writer.finish(&mut self.records, texts)?;
        let result = self.insert_named(kind, namespace, name, record, texts);
        if result.is_err() {
            self.records.release(record, texts);
        }
        result
    }

    fn insert_named(
        &mut self,
        kind: Word,
        namespace: Option<&str>,
        name: &str,
        record: u32,
        texts: &mut Texts,
    ) -> Result<bool, CapacityExceeded> {
        let namespace = match namespace {
            Some(namespace) => text_word(texts.intern(namespace)?),
            None => 0,
        };
        let name = match texts.intern(name) {
            Ok(name) => text_word(name),
            Err(full) => {
                release_texts(&[namespace], texts);
                return Err(full);
            }
        };
        let result = self.insert([kind, namespace, name], record, texts);
        // The entry holds them by itself.
        release_texts(&[namespace, name], texts);
        result
    }

    /// The same by the words of a key that somebody holds.
    pub(crate) fn set_at(
        &mut self,
        key: Key,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<bool, CapacityExceeded> {
        let (record, _) = writer.finish(&mut self.records, texts)?;
        let result = self.insert(key, record, texts);
        if result.is_err() {
            self.records.release(record, texts);
        }
        result
    }

    fn insert(
        &mut self,
        key: Key,
        record: u32,
        texts: &mut Texts,
    ) -> Result<bool, CapacityExceeded> {
        if let Some(at) = self.find(key) {
            if let Some(entry) = self.entries.at_mut(at) {
                let old = core::mem::replace(&mut entry.record, record);
                self.records.release(old, texts);
            }
            return Ok(false);
        }
        if self.vacant.is_empty() && self.entries.len() >= self.limit as usize {
            return Err(CapacityExceeded {
                which: self.which,
                limit: u64::from(self.limit),
            });
        }
        crate::intern::retain_texts(&key, texts);
        let entry = Entry {
            key,
            record,
            used: true,
        };
        let at = occupy(&mut self.entries, &mut self.vacant, entry);
        let entries = &self.entries;
        self.index
            .insert_unique(hash_words(&key), at, |at| hash_words(&entries.at(*at).key));
        Ok(true)
    }

    /// Removes an object; whether it was there.
    pub(crate) fn remove(&mut self, key: Key, texts: &mut Texts) -> bool {
        let Some(at) = self.find(key) else {
            return false;
        };
        let entry = *self.entries.at(at);
        if let Ok(found) = self
            .index
            .find_entry(hash_words(&key), |other| *other == at)
        {
            found.remove();
        }
        self.entries.set(
            at,
            Entry {
                used: false,
                ..entry
            },
        );
        self.vacant.push(at);
        self.records.release(entry.record, texts);
        release_texts(&entry.key, texts);
        true
    }
}
