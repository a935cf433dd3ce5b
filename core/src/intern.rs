//! Strings end here: texts, and records of words that may refer to texts.
//!
//! Both tables count references; what nobody refers to any more makes room again. A record is a
//! sequence of [`Word`]s; each is a number below 2^31 or the id of a text, so that a record knows
//! by itself which texts it keeps alive.

mod slices;

use crate::capacity::CapacityExceeded;
use crate::fixed_vec::FixedVec;
use crate::id::TextId;
use crate::table::Table;
use core::hash::{BuildHasher, Hasher};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slices::{Slices, Symbol};

/// Fixed, so that tables look the same on every machine.
const SEED: u64 = 0x6265_7274_6800_0137;

/// One word of a record.
pub(crate) type Word = u32;

const TEXT: Word = 1 << 31;

/// The word that refers to `text`.
pub(crate) const fn text_word(text: TextId) -> Word {
    text.0 | TEXT
}

/// The text that `word` refers to, if it is no number.
pub(crate) const fn word_text(word: Word) -> Option<TextId> {
    if word & TEXT == 0 {
        None
    } else {
        Some(TextId(word & !TEXT))
    }
}

pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(SEED).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

pub(crate) fn hash_words(words: &[Word]) -> u64 {
    let mut hasher = FixedState::with_seed(SEED).build_hasher();
    for word in words {
        hasher.write_u32(*word);
    }
    hasher.finish()
}

pub(crate) fn hash_pair(a: u32, b: u32) -> u64 {
    let mut hasher = FixedState::with_seed(SEED).build_hasher();
    hasher.write_u64(u64::from(a) << 32 | u64::from(b));
    hasher.finish()
}

impl Symbol for u8 {
    fn hash(bytes: &[u8]) -> u64 {
        hash_bytes(bytes)
    }
}

impl Symbol for Word {
    fn hash(words: &[Word]) -> u64 {
        hash_words(words)
    }
}

/// Interned texts.
#[derive(Clone)]
pub(crate) struct Texts(Slices<u8>);

impl Texts {
    pub(crate) fn new(limit: u32, bytes_limit: u64) -> Self {
        Self(Slices::new(["texts", "text_bytes"], limit, bytes_limit))
    }

    /// Id of `text`, with one more reference.
    pub(crate) fn intern(&mut self, text: &str) -> Result<TextId, CapacityExceeded> {
        let (id, _) = self.0.intern(text.as_bytes())?;
        Ok(TextId(id))
    }

    /// Id of `text` if it is interned.
    pub(crate) fn find(&self, text: &str) -> Option<TextId> {
        self.0.find(text.as_bytes()).map(TextId)
    }

    pub(crate) fn text(&self, id: TextId) -> &str {
        core::str::from_utf8(self.0.slice(id.0)).unwrap_or_default()
    }

    pub(crate) fn retain(&mut self, id: TextId) {
        self.0.retain(id.0);
    }

    pub(crate) fn release(&mut self, id: TextId) {
        self.0.release(id.0, |_| ());
    }

    /// Every text at its id; `None` where there is none.
    #[cfg(feature = "state-file")]
    pub(crate) fn saved(&self) -> impl Iterator<Item = Option<&str>> {
        let text = |bytes| core::str::from_utf8(bytes).unwrap_or_default();
        self.0.saved().map(move |bytes| bytes.map(text))
    }

    /// Puts the next text into a table that is being filled, held once. `false`: it is there already.
    #[cfg(feature = "state-file")]
    pub(crate) fn restore(&mut self, text: Option<&str>) -> Result<bool, CapacityExceeded> {
        self.0.restore(text.map(str::as_bytes))
    }

    /// Whether a text has this id.
    #[cfg(feature = "state-file")]
    pub(crate) fn contains(&self, id: TextId) -> bool {
        self.0.references(id.0) > 0
    }

    /// Texts in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Interned records: equal sequences of words have one id.
#[derive(Clone)]
pub(crate) struct Records(Slices<Word>);

impl Records {
    /// `which` names the two limits in [`Capacities`](crate::Capacities).
    pub(crate) fn new(which: [&'static str; 2], limit: u32, words_limit: u64) -> Self {
        Self(Slices::new(which, limit, words_limit))
    }

    /// Id of `words` with one more reference, and whether it is new.
    ///
    /// A new record takes over the caller's references to its texts; otherwise, and on failure,
    /// they stay the caller's.
    pub(crate) fn intern(&mut self, words: &[Word]) -> Result<(u32, bool), CapacityExceeded> {
        self.0.intern(words)
    }

    pub(crate) fn find(&self, words: &[Word]) -> Option<u32> {
        self.0.find(words)
    }

    pub(crate) fn words(&self, id: u32) -> &[Word] {
        self.0.slice(id)
    }

    /// Adds a reference to a record in use.
    pub(crate) fn retain(&mut self, id: u32) {
        self.0.retain(id);
    }

    pub(crate) fn references(&self, id: u32) -> u32 {
        self.0.references(id)
    }

    /// Drops one reference; with the last one the record goes, and its references to texts.
    /// Returns whether it went.
    pub(crate) fn release(&mut self, id: u32, texts: &mut Texts) -> bool {
        self.0.release(id, |words| release_texts(words, texts))
    }

    /// Every record at its id; `None` where there is none.
    #[cfg(feature = "state-file")]
    pub(crate) fn saved(&self) -> impl Iterator<Item = Option<&[Word]>> {
        self.0.saved()
    }

    /// Puts the next record into a table that is being filled, held once; it takes over the caller's
    /// references to its texts. `false`: it is there already.
    #[cfg(feature = "state-file")]
    pub(crate) fn restore(&mut self, words: Option<&[Word]>) -> Result<bool, CapacityExceeded> {
        self.0.restore(words)
    }

    /// Ids that may be in use are below this.
    pub(crate) fn bound(&self) -> usize {
        self.0.bound()
    }

    /// Whether `id` is in use.
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.references(id) > 0
    }

    /// Records in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

pub(crate) fn retain_texts(words: &[Word], texts: &mut Texts) {
    for text in words.iter().copied().filter_map(word_text) {
        texts.retain(text);
    }
}

pub(crate) fn release_texts(words: &[Word], texts: &mut Texts) {
    for text in words.iter().copied().filter_map(word_text) {
        texts.release(text);
    }
}

/// A hash index that never grows: tombstones force a resize only above half of the real capacity.
pub(crate) fn reserved_index(limit: u32) -> HashTable<u32> {
    HashTable::with_capacity((limit as usize).saturating_mul(2))
}

/// Bytes of [`reserved_index`].
pub(crate) const fn index_bytes(limit: u64) -> u64 {
    // hashbrown: buckets are a power of two at 7/8 load, 4 bytes of value and 1 of control each.
    let places = match limit.saturating_mul(2) {
        0 => return 0,
        1..4 => 4,
        4..8 => 8,
        8..15 => 16,
        wanted => wanted.saturating_mul(8) / 7,
    };
    let buckets = match places.checked_next_power_of_two() {
        Some(buckets) => buckets,
        None => u64::MAX,
    };
    buckets.saturating_mul(5).saturating_add(16)
}

/// A record being written. What it refers to is held until it is interned or given up.
#[derive(Clone)]
pub(crate) struct Writer {
    words: FixedVec<Word>,
    limit: usize,
}

impl Writer {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            words: FixedVec::with_capacity(limit as usize),
            limit: limit as usize,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn words(&self) -> &[Word] {
        &self.words
    }

    pub(crate) fn number(&mut self, number: u32) -> Result<(), CapacityExceeded> {
        self.push(number & !TEXT)
    }

    /// A number of up to 62 bits, as two words. Negative ones count as 0.
    pub(crate) fn amount(&mut self, amount: i64) -> Result<(), CapacityExceeded> {
        let amount = amount.max(0) as u64;
        self.push((amount >> 62) as u32)?;
        self.push((amount >> 31) as u32 & !TEXT)?;
        self.push(amount as u32 & !TEXT)
    }

    pub(crate) fn text(&mut self, texts: &mut Texts, text: &str) -> Result<(), CapacityExceeded> {
        if self.words.len() >= self.limit {
            return Err(self.full());
        }
        let id = texts.intern(text)?;
        self.push(text_word(id))
    }

    /// Overwrites the number at `at`, such as a count that was not known before.
    pub(crate) fn set(&mut self, at: usize, number: u32) {
        self.words.set(at, number & !TEXT);
    }

    /// Copies words of an interned record, texts included.
    pub(crate) fn copy(
        &mut self,
        texts: &mut Texts,
        words: &[Word],
    ) -> Result<(), CapacityExceeded> {
        for word in words {
            self.push(*word)?;
            if let Some(text) = word_text(*word) {
                texts.retain(text);
            }
        }
        Ok(())
    }

    /// Overwrites the word at `at`; texts that the two refer to are held and released.
    pub(crate) fn replace(&mut self, texts: &mut Texts, at: usize, word: Word) {
        if let Some(old) = self.words.at_mut(at) {
            retain_texts(&[word], texts);
            release_texts(&[core::mem::replace(old, word)], texts);
        }
    }

    /// Sorts the entries of `N` words each that were written from `at` on, so that they can be
    /// searched, and leaves out those that repeat another.
    pub(crate) fn sort<const N: usize>(&mut self, texts: &mut Texts, at: usize) {
        let (entries, _) = self
            .words
            .get_mut(at..)
            .unwrap_or_default()
            .as_chunks_mut::<N>();
        entries.sort_unstable();
        let mut kept = 0_usize;
        for next in 0..entries.len() {
            let (before, rest) = entries.split_at_mut(next);
            let Some(entry) = rest.first_mut() else {
                break;
            };
            let last = kept.checked_sub(1).and_then(|last| before.get(last));
            if last.is_some_and(|last| last == entry) {
                release_texts(entry, texts);
                continue;
            }
            if let Some(place) = before.get_mut(kept) {
                *place = *entry;
            }
            kept = kept.saturating_add(1);
        }
        self.words
            .truncate(at.saturating_add(kept.saturating_mul(N)));
    }

    /// Interns what was written and starts anew.
    pub(crate) fn finish(
        &mut self,
        records: &mut Records,
        texts: &mut Texts,
    ) -> Result<(u32, bool), CapacityExceeded> {
        let result = records.intern(&self.words);
        if matches!(result, Ok((_, true))) {
            self.words.clear();
        } else {
            self.clear(texts);
        }
        result
    }

    /// Gives up what was written.
    pub(crate) fn clear(&mut self, texts: &mut Texts) {
        release_texts(&self.words, texts);
        self.words.clear();
    }

    fn push(&mut self, word: Word) -> Result<(), CapacityExceeded> {
        if self.words.len() >= self.limit {
            return Err(self.full());
        }
        self.words.push(word);
        Ok(())
    }

    const fn full(&self) -> CapacityExceeded {
        CapacityExceeded {
            which: "record_words",
            limit: self.limit as u64,
        }
    }
}

/// Reads back [`Writer::amount`].
pub(crate) fn amount(words: &[Word]) -> i64 {
    match words {
        [high, middle, low, ..] => {
            (u64::from(*high) << 62 | u64::from(*middle) << 31 | u64::from(*low)) as i64
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_its_texts_until_the_last_reference_goes() {
        let mut texts = Texts::new(4, 64);
        let mut records = Records::new(["records", "words"], 2, 16);
        let mut writer = Writer::new(8);
        for expected_new in [true, false] {
            writer.text(&mut texts, "zone").unwrap();
            writer.amount(i64::MAX).unwrap();
            let (id, new) = writer.finish(&mut records, &mut texts).unwrap();
            assert_eq!(
                (new, amount(&records.words(id)[1..])),
                (expected_new, i64::MAX)
            );
        }
        assert_eq!(texts.text(texts.find("zone").unwrap()), "zone");
        assert!(!records.release(0, &mut texts));
        assert!(records.release(0, &mut texts));
        assert_eq!((texts.len(), records.len()), (0, 0));
    }

    #[test]
    fn sorted_entries_stand_once_and_give_back_the_texts_of_the_others() {
        let mut texts = Texts::new(4, 64);
        let mut writer = Writer::new(16);
        writer.number(7).unwrap();
        for (text, number) in [("b", 2), ("a", 1), ("b", 2), ("b", 1), ("a", 1)] {
            writer.text(&mut texts, text).unwrap();
            writer.number(number).unwrap();
        }
        writer.sort::<2>(&mut texts, 1);
        let [a, b] = ["a", "b"].map(|text| text_word(texts.find(text).unwrap()));
        // "b" came first.
        assert_eq!(writer.words(), [7, b, 1, b, 2, a, 1]);
        writer.clear(&mut texts);
        assert_eq!(texts.len(), 0);
    }

    #[test]
    fn a_full_table_refuses_and_changes_nothing() {
        let mut texts = Texts::new(1, 64);
        texts.intern("a").unwrap();
        assert_eq!(
            texts.intern("b"),
            Err(CapacityExceeded {
                which: "texts",
                limit: 1
            })
        );
        assert_eq!((texts.len(), texts.find("b")), (1, None));
    }
}
