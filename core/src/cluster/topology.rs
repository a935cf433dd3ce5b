//! Topology domains: for each topology key in use, every row's (key, value) pair.

use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::id::{DomainId, KeyId};
use crate::intern::{Word, hash_pair, index_bytes, reserved_index};
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
}

#[derive(Clone, Copy, Default)]
struct Key {
    label: Word,
    references: u32,
}

/// Keys, their columns of domains by row, and the domains. Domain 0 stands for "no such label".
pub(crate) struct Topology {
    keys: Vec<Key>,
    columns: Vec<u32>,
    rows: usize,
    domains: Vec<Domain>,
    vacant: Vec<u32>,
    index: HashTable<u32>,
    keys_limit: u32,
    domains_limit: u32,
}

impl Topology {
    pub(crate) fn new(rows: u32, keys: u32, domains: u32) -> Self {
        let mut columns = Vec::new();
        columns.resize(rows as usize * keys as usize, NO_DOMAIN);
        let mut table = Vec::with_capacity(domains as usize + 1);
        table.push(Domain::default());
        Self {
            keys: Vec::with_capacity(keys as usize),
            columns,
            rows: rows as usize,
            domains: table,
            vacant: Vec::with_capacity(domains as usize),
            index: reserved_index(domains),
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
            self.keys[key.index()].references += 1;
            return Ok((key, false));
        }
        let new = Key {
            label,
            references: 1,
        };
        if let Some(vacant) = self.keys.iter().position(|key| key.references == 0) {
            self.keys[vacant] = new;
            return Ok((KeyId::from_index(vacant), true));
        }
        if self.keys.len() >= self.keys_limit as usize {
            return Err(CapacityExceeded {
                which: "topology_keys",
                limit: u64::from(self.keys_limit),
            });
        }
        self.keys.push(new);
        Ok((KeyId::from_index(self.keys.len() - 1), true))
    }

    /// Drops a reference; the last one empties the column. Returns whether it did.
    pub(crate) fn release(&mut self, key: KeyId) -> bool {
        self.keys[key.index()].references -= 1;
        if self.keys[key.index()].references > 0 {
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
        let start = key.index() * self.rows;
        self.columns
            .get(start..start + self.rows)
            .unwrap_or_default()
    }

    pub(crate) fn domain(&self, key: KeyId, row: usize) -> u32 {
        self.column(key).get(row).copied().unwrap_or(NO_DOMAIN)
    }

    /// The label value of a domain.
    pub(crate) fn value(&self, domain: DomainId) -> Word {
        self.domains[domain.index()].value
    }

    /// The domain of this value, if a row is in it.
    pub(crate) fn find_domain(&self, key: KeyId, value: Word) -> Option<u32> {
        self.index
            .find(hash_pair(key.0, value), |id| {
                let domain = &self.domains[*id as usize];
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
        self.domains[domain as usize].rows += 1;
        self.columns[key.index() * self.rows + row] = domain;
    }

    /// Puts the row in the domain of its value under every key.
    pub(crate) fn set_row(&mut self, row: usize, value: impl Fn(Word) -> Option<Word>) {
        for key in 0..self.keys.len() {
            if self.keys[key].references > 0 {
                self.set(KeyId::from_index(key), row, value(self.keys[key].label));
            }
        }
    }

    /// Refuses if fewer than `wanted` new domains fit.
    pub(crate) fn check_room(&self, wanted: usize) -> Result<(), CapacityExceeded> {
        let room = self.domains_limit as usize + 1 - self.domains.len() + self.vacant.len();
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
        limit as usize + 1
    }

    fn new_domain(&mut self, key: KeyId, value: Word) -> u32 {
        let new = Domain {
            key: key.0,
            value,
            rows: 0,
        };
        let id = if let Some(id) = self.vacant.pop() {
            self.domains[id as usize] = new;
            id
        } else {
            self.domains.push(new);
            self.domains.len() as u32 - 1
        };
        let domains = &self.domains;
        self.index.insert_unique(hash_pair(key.0, value), id, |id| {
            let domain = &domains[*id as usize];
            hash_pair(domain.key, domain.value)
        });
        id
    }

    fn unset(&mut self, key: KeyId, row: usize) {
        let place = key.index() * self.rows + row;
        let id = self.columns[place];
        if id == NO_DOMAIN {
            return;
        }
        self.columns[place] = NO_DOMAIN;
        let domain = &mut self.domains[id as usize];
        domain.rows -= 1;
        if domain.rows == 0 {
            let hash = hash_pair(domain.key, domain.value);
            if let Ok(found) = self.index.find_entry(hash, |other| *other == id) {
                found.remove();
            }
            self.vacant.push(id);
        }
    }
}
