//! Topology domains: for each topology key in use, every row's (key, value) pair.

use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::id::{DomainId, KeyId};
use crate::intern::{Word, hash_pair, index_bytes, reserved_index};
use crate::node_set;
use crate::table::{Count, Table, Vacant, occupy};
use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashTable;

/// Stands for a row without the key.
pub(crate) const NO_DOMAIN: u32 = 0;

#[derive(Clone, Copy, Default)]
struct Domain {
    key: u32,
    value: Word,
    /// Rows in the domain; 0 is vacant.
    rows: u32,
    /// Of [`Topology::sets`].
    set: u32,
    /// The next and the previous domain of the key.
    next: u32,
    previous: u32,
}

#[derive(Clone, Copy, Default)]
struct Key {
    label: Word,
    references: u32,
    /// Domains of more than one row.
    shared: u32,
    /// The first domain, [`NO_DOMAIN`] without any.
    first: u32,
}

/// No set of rows.
const NO_SET: u32 = u32::MAX;
/// Domains of more than one row whose rows are kept as a set, at most.
const SETS: usize = 64;

impl Vacant for Domain {
    const VACANT: &'static Self = &Self {
        key: 0,
        value: 0,
        rows: 0,
        set: NO_SET,
        next: NO_DOMAIN,
        previous: NO_DOMAIN,
    };
}

impl Vacant for Key {
    const VACANT: &'static Self = &Self {
        label: 0,
        references: 0,
        shared: 0,
        first: NO_DOMAIN,
    };
}

/// Keys, their columns of domains by row, and the domains. Domain 0 stands for "no such label".
#[derive(Clone)]
pub(crate) struct Topology {
    keys: FixedVec<Key>,
    columns: Vec<u32>,
    rows: usize,
    domains: FixedVec<Domain>,
    vacant: FixedVec<u32>,
    index: HashTable<u32>,
    /// By key, one bit a row that has it.
    keyed: Vec<u64>,
    /// Rows of domains that share them, as sets.
    sets: Vec<u64>,
    vacant_sets: FixedVec<u32>,
    keys_limit: u32,
    domains_limit: u32,
}

impl Topology {
    pub(crate) fn new(rows: u32, keys: u32, domains: u32) -> Self {
        let mut columns = Vec::new();
        columns.resize((rows as usize).saturating_mul(keys as usize), NO_DOMAIN);
        let mut table = FixedVec::with_capacity(Self::domains_bound(domains));
        table.push(*Domain::VACANT);
        let mut vacant_sets = FixedVec::with_capacity(SETS);
        vacant_sets.extend((0..SETS as u32).rev());
        Self {
            keys: FixedVec::with_capacity(keys as usize),
            columns,
            rows: rows as usize,
            domains: table,
            vacant: FixedVec::with_capacity(domains as usize),
            index: reserved_index(domains),
            keyed: vec![0; (rows as usize / 64).saturating_mul(keys as usize)],
            sets: vec![0; (rows as usize / 64).saturating_mul(SETS)],
            vacant_sets,
            keys_limit: keys,
            domains_limit: domains,
        }
    }

    pub(crate) const fn bytes(rows: u64, keys: u64, domains: u64) -> u64 {
        sum(&[
            bytes_of::<u32>(rows.saturating_mul(keys)),
            bytes_of::<Key>(keys),
            bytes_of::<Domain>(domains.saturating_add(1)),
            bytes_of::<u32>(domains),
            index_bytes(domains),
            bytes_of::<[u64; SETS]>(rows / 64),
            bytes_of::<u64>((rows / 64).saturating_mul(keys)),
            bytes_of::<u32>(SETS as u64),
        ])
    }

    /// The key of this label, if in use.
    pub(crate) fn find(&self, label: Word) -> Option<KeyId> {
        self.keys
            .iter()
            .position(|key| key.references > 0 && key.label == label)
            .map(KeyId::from_index)
    }

    /// The key of this label with one more reference, and whether its column is new (and empty).
    pub(crate) fn retain(&mut self, label: Word) -> Result<(KeyId, bool), CapacityExceeded> {
        if let Some(key) = self.find(label) {
            if let Some(entry) = self.keys.at_mut(key) {
                entry.references.count_up();
            }
            return Ok((key, false));
        }
        let new = Key {
            label,
            references: 1,
            ..*Key::VACANT
        };
        if let Some(vacant) = self.keys.iter().position(|key| key.references == 0) {
            self.keys.set(vacant, new);
            return Ok((KeyId::from_index(vacant), true));
        }
        if self.keys.len() >= self.keys_limit as usize {
            return Err(CapacityExceeded {
                which: "topology_keys",
                limit: u64::from(self.keys_limit),
            });
        }
        let key = KeyId::from_index(self.keys.len());
        self.keys.push(new);
        Ok((key, true))
    }

    /// Drops a reference; the last one empties the column. Returns whether it did.
    pub(crate) fn release(&mut self, key: KeyId) -> bool {
        let Some(entry) = self.keys.at_mut(key) else {
            return false;
        };
        entry.references.count_down();
        if entry.references > 0 {
            return false;
        }
        for row in 0..self.rows {
            self.unset(key, row);
        }
        true
    }

    /// Keys in use and their labels.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (KeyId, Word)> + '_ {
        let used = self
            .keys
            .iter()
            .enumerate()
            .filter(|(_, key)| key.references > 0);
        used.map(|(at, key)| (KeyId::from_index(at), key.label))
    }

    /// Domain of every row, [`NO_DOMAIN`] where the node lacks the key.
    pub(crate) fn column(&self, key: KeyId) -> &[u32] {
        self.columns.column(self.rows, key)
    }

    pub(crate) fn domain(&self, key: KeyId, row: usize) -> u32 {
        self.column(key).get(row).copied().unwrap_or(NO_DOMAIN)
    }

    /// Whether each domain of the key is one row.
    pub(crate) fn is_row_by_row(&self, key: KeyId) -> bool {
        self.keys.at(key).shared == 0
    }

    /// Rows that have the key.
    pub(crate) fn keyed(&self, key: KeyId) -> &[u64] {
        self.keyed.column(self.rows / 64, key)
    }

    /// Gives each domain of the key that rows of `word`, in this block, are in, with those of them.
    /// Several times for one whose rows are not kept as a set; rows without the key are left out.
    #[inline]
    pub(crate) fn each_domain(
        &self,
        key: KeyId,
        block: usize,
        word: u64,
        mut give: impl FnMut(u32, u64),
    ) {
        let column = self.column(key).as_chunks::<64>().0;
        let Some(domains) = column.get(block) else {
            return;
        };
        let mut rest = word & *self.keyed(key).at(block);
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let domain = *domains.at(lane);
            let own = self.rows_of(domain).map_or(0, |rows| *rows.at(block));
            let rows = rest & own | 1 << lane;
            give(domain, rows);
            rest &= !rows;
        }
    }

    /// Domains of the key.
    pub(crate) fn domains_of(&self, key: KeyId) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.keys.at(key).first;
        core::iter::from_fn(move || {
            let domain = at;
            at = self.domains.at(at).next;
            (domain != NO_DOMAIN).then_some(domain)
        })
    }

    /// The rows of a domain that has several, where they are kept as a set.
    pub(crate) fn rows_of(&self, domain: u32) -> Option<&[u64]> {
        let set = self.domains.at(domain).set;
        (set != NO_SET).then(|| self.sets.column(self.rows / 64, set))
    }

    /// The label value of a domain.
    pub(crate) fn value(&self, domain: DomainId) -> Word {
        self.domains.at(domain).value
    }

    /// The domain of this value, if a row is in it.
    pub(crate) fn find_domain(&self, key: KeyId, value: Word) -> Option<u32> {
        self.index
            .find(hash_pair(key.0, value), |id| {
                let domain = self.domains.at(*id);
                domain.key == key.0 && domain.value == value
            })
            .copied()
    }

    /// Puts the row in the domain of `value`. Domains are as many as [`Self::check_room`] allowed.
    pub(crate) fn set(&mut self, key: KeyId, row: usize, value: Option<Word>) {
        self.unset(key, row);
        let Some(value) = value else {
            return;
        };
        let domain = match self.find_domain(key, value) {
            Some(domain) => domain,
            None => self.new_domain(key, value),
        };
        self.columns.column_mut(self.rows, key).set(row, domain);
        node_set::insert(self.keyed.column_mut(self.rows / 64, key), row as u32);
        let Some(entry) = self.domains.at_mut(domain) else {
            return;
        };
        entry.rows.count_up();
        let words = self.rows / 64;
        if entry.rows == 2 {
            if let Some(key) = self.keys.at_mut(key) {
                key.shared.count_up();
            }
            if let Some(set) = self.vacant_sets.pop() {
                entry.set = set;
                let column = self.columns.column(self.rows, key);
                let blocks = self.sets.column_mut(words, set).iter_mut();
                for (word, domains) in blocks.zip(column.chunks_exact(64)) {
                    for (lane, own) in domains.iter().enumerate() {
                        *word |= u64::from(*own == domain) << lane;
                    }
                }
            }
        } else if entry.set != NO_SET {
            node_set::insert(self.sets.column_mut(words, entry.set), row as u32);
        }
    }

    /// Puts the row in the domain of its value under every key.
    pub(crate) fn set_row(&mut self, row: usize, value: impl Fn(Word) -> Option<Word>) {
        for key in 0..self.keys.len() {
            let Key {
                label, references, ..
            } = *self.keys.at(key);
            if references > 0 {
                self.set(KeyId::from_index(key), row, value(label));
            }
        }
    }

    /// Refuses if fewer than `wanted` new domains fit.
    pub(crate) fn check_room(&self, wanted: usize) -> Result<(), CapacityExceeded> {
        let bound = Self::domains_bound(self.domains_limit);
        let unused = bound.saturating_sub(self.domains.len());
        let room = unused.saturating_add(self.vacant.len());
        if wanted > room {
            return Err(CapacityExceeded {
                which: "domains",
                limit: u64::from(self.domains_limit),
            });
        }
        Ok(())
    }

    /// Ids of domains are below this.
    pub(crate) const fn domains_bound(limit: u32) -> usize {
        (limit as usize).saturating_add(1)
    }

    fn new_domain(&mut self, key: KeyId, value: Word) -> u32 {
        let new = Domain {
            key: key.0,
            value,
            next: self.keys.at(key).first,
            ..*Domain::VACANT
        };
        let id = occupy(&mut self.domains, &mut self.vacant, new);
        if new.next != NO_DOMAIN
            && let Some(next) = self.domains.at_mut(new.next)
        {
            next.previous = id;
        }
        if let Some(key) = self.keys.at_mut(key) {
            key.first = id;
        }
        let domains = &self.domains;
        self.index.insert_unique(hash_pair(key.0, value), id, |id| {
            let domain = domains.at(*id);
            hash_pair(domain.key, domain.value)
        });
        id
    }

    fn unset(&mut self, key: KeyId, row: usize) {
        let Some(place) = self.columns.column_mut(self.rows, key).at_mut(row) else {
            return;
        };
        let id = core::mem::replace(place, NO_DOMAIN);
        if id == NO_DOMAIN {
            return;
        }
        node_set::remove(self.keyed.column_mut(self.rows / 64, key), row as u32);
        let Some(domain) = self.domains.at_mut(id) else {
            return;
        };
        domain.rows.count_down();
        let words = self.rows / 64;
        if domain.rows == 1 {
            if let Some(key) = self.keys.at_mut(key) {
                key.shared.count_down();
            }
            let set = core::mem::replace(&mut domain.set, NO_SET);
            if set != NO_SET {
                self.sets.column_mut(words, set).fill(0);
                self.vacant_sets.push(set);
            }
        } else if domain.set != NO_SET {
            node_set::remove(self.sets.column_mut(words, domain.set), row as u32);
        }
        if domain.rows == 0 {
            let Domain { next, previous, .. } = *domain;
            let hash = hash_pair(domain.key, domain.value);
            if let Ok(found) = self.index.find_entry(hash, |other| *other == id) {
                found.remove();
            }
            if next != NO_DOMAIN
                && let Some(next) = self.domains.at_mut(next)
            {
                next.previous = previous;
            }
            if previous == NO_DOMAIN {
                if let Some(key) = self.keys.at_mut(key) {
                    key.first = next;
                }
            } else if let Some(previous) = self.domains.at_mut(previous) {
                previous.next = next;
            }
            self.vacant.push(id);
        }
    }
}
