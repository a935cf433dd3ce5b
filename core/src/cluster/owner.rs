//! Namespaces, Services and the owners of pods: what selectors are resolved against.

use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::class::{ClassView, OwnerKind};
use crate::fixed_vec::FixedVec;
use crate::id::TextId;
use crate::intern::{
    Records, Texts, Word, Writer, hash_words, index_bytes, reserved_index, text_word,
};
use crate::object::Object;
use crate::selector::{self, LabelsView};
use crate::table::{Count, Table, Vacant, occupy};
use hashbrown::HashTable;
#[cfg(feature = "state-file")]
use {
    crate::intern::word_text,
    crate::state_file::{StateError, check, check_vacant},
    alloc::string::String,
    alloc::vec::Vec,
};

/// Kinds in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub(crate) enum ObjectKind {
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PodDisruptionBudget,
}

impl ObjectKind {
    #[cfg(feature = "state-file")]
    const ALL: [Self; 6] = [
        Self::Namespace,
        Self::Service,
        Self::ReplicationController,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::PodDisruptionBudget,
    ];

    /// The kind of an object that is kept in the table.
    pub(crate) const fn of(object: &Object) -> Option<Self> {
        Some(match object {
            Object::Namespace(_) => Self::Namespace,
            Object::Service(_) => Self::Service,
            Object::ReplicationController(_) => Self::ReplicationController,
            Object::PodDisruptionBudget(_) => Self::PodDisruptionBudget,
            Object::ReplicaSet(_) => Self::ReplicaSet,
            Object::StatefulSet(_) => Self::StatefulSet,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy)]
struct Entry {
    /// Kind, namespace and name.
    key: [Word; 3],
    record: u32,
    used: bool,
}

/// An object in a state file.
#[cfg(feature = "state-file")]
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct SavedObject {
    kind: ObjectKind,
    namespace: Word,
    name: Word,
    pub(crate) record: u32,
}

impl Vacant for Entry {
    const VACANT: &'static Self = &Self {
        key: [0; 3],
        record: u32::MAX,
        used: false,
    };
}

/// A PodDisruptionBudget.
#[derive(Clone, Copy)]
pub(crate) struct Budget<'a> {
    namespace: Word,
    /// Disruptions that it allows now.
    pub(crate) allowed: i64,
    /// Names of pods whose eviction it has taken in already.
    disrupted: &'a [Word],
    selector: &'a [Word],
}

impl Budget<'_> {
    /// Whether it counts the eviction of a pod of this class and name. An empty selector selects
    /// nothing.
    pub(crate) fn counts(&self, class: ClassView<'_>, name: Word, texts: &Texts) -> bool {
        self.namespace == text_word(class.class.namespace)
            && !selector::is_everything(self.selector)
            && selector::selects(self.selector, class.labels(), texts)
            && !self.disrupted.contains(&name)
    }
}

/// Objects by kind, namespace and name, each with one record: a namespace's labels, a Service's
/// or ReplicationController's pairs as a selector, another owner's selector, a budget.
#[derive(Clone)]
pub(crate) struct Objects {
    entries: FixedVec<Entry>,
    vacant: FixedVec<u32>,
    index: HashTable<u32>,
    pub(crate) records: Records,
    limit: u32,
    /// Services in the table, which every default selector has to look through.
    services: u32,
    /// Moves whenever a Service or an owner changes.
    pub(crate) selectors_version: u64,
}

impl Objects {
    pub(crate) fn new(limit: u32, words: u64) -> Self {
        Self {
            entries: FixedVec::with_capacity(limit as usize),
            vacant: FixedVec::with_capacity(limit as usize),
            index: reserved_index(limit),
            records: Records::new(["objects", "object_words"], limit, words),
            limit,
            services: 0,
            selectors_version: 0,
        }
    }

    pub(crate) const fn bytes(limit: u64) -> u64 {
        sum(&[
            bytes_of::<Entry>(limit),
            bytes_of::<u32>(limit),
            index_bytes(limit),
        ])
    }

    /// Labels of a namespace that is there as an object.
    pub(crate) fn namespace_labels(&self, name: TextId) -> Option<LabelsView<'_>> {
        let at = self.find(ObjectKind::Namespace, 0, text_word(name))?;
        Some(LabelsView(self.records.words(self.entries.at(at).record)))
    }

    /// Budgets, in the order of the table.
    pub(crate) fn budgets(&self) -> impl Iterator<Item = Budget<'_>> {
        let entries = self.entries.iter().filter(|entry| {
            entry.used && entry.key.first() == Some(&(ObjectKind::PodDisruptionBudget as Word))
        });
        entries.filter_map(|entry| {
            let [_, namespace, _] = entry.key;
            match self.records.words(entry.record) {
                [allowed, rest @ ..] => {
                    let (disrupted, selector) = selector::split_item(rest)?;
                    Some(Budget {
                        namespace,
                        allowed: i64::from(*allowed),
                        disrupted,
                        selector,
                    })
                }
                [] => None,
            }
        })
    }

    /// Kind, namespace and name of every object, with its record.
    pub(crate) fn all(&self) -> impl Iterator<Item = ([Word; 3], &[Word])> {
        let used = self.entries.iter().filter(|entry| entry.used);
        used.map(|entry| (entry.key, self.records.words(entry.record)))
    }

    /// Whether the object is there.
    pub(crate) fn contains(&self, kind: ObjectKind, namespace: Word, name: Word) -> bool {
        self.find(kind, namespace, name).is_some()
    }

    /// Stores what `writer` holds as the object's record. Texts of the key are held by the entry.
    pub(crate) fn set(
        &mut self,
        kind: ObjectKind,
        namespace: &str,
        name: &str,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        let (record, _) = writer.finish(&mut self.records, texts)?;
        let result = self.insert(kind, namespace, name, record, texts);
        if result.is_err() {
            self.records.release(record, texts);
        }
        result
    }

    fn insert(
        &mut self,
        kind: ObjectKind,
        namespace: &str,
        name: &str,
        record: u32,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        let namespace = if kind == ObjectKind::Namespace {
            0
        } else {
            text_word(texts.intern(namespace)?)
        };
        let name = match texts.intern(name) {
            Ok(name) => text_word(name),
            Err(full) => {
                crate::intern::release_texts(&[namespace], texts);
                return Err(full);
            }
        };
        if let Some(at) = self.find(kind, namespace, name) {
            crate::intern::release_texts(&[namespace, name], texts);
            if let Some(entry) = self.entries.at_mut(at) {
                let old = core::mem::replace(&mut entry.record, record);
                self.records.release(old, texts);
            }
        } else {
            let entry = Entry {
                key: [kind as Word, namespace, name],
                record,
                used: true,
            };
            if self.vacant.is_empty() && self.entries.len() >= self.limit as usize {
                crate::intern::release_texts(&[namespace, name], texts);
                return Err(CapacityExceeded {
                    which: "objects",
                    limit: u64::from(self.limit),
                });
            }
            let at = occupy(&mut self.entries, &mut self.vacant, entry);
            if kind == ObjectKind::Service {
                self.services.count_up();
            }
            let entries = &self.entries;
            self.index.insert_unique(hash_words(&entry.key), at, |at| {
                hash_words(&entries.at(*at).key)
            });
        }
        self.touch(kind);
        Ok(())
    }

    /// Removes an object; whether it was there.
    pub(crate) fn remove(
        &mut self,
        kind: ObjectKind,
        namespace: Word,
        name: Word,
        texts: &mut Texts,
    ) -> bool {
        let Some(at) = self.find(kind, namespace, name) else {
            return false;
        };
        let entry = *self.entries.at(at);
        if let Ok(found) = self
            .index
            .find_entry(hash_words(&entry.key), |other| *other as usize == at)
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
        self.vacant.push(at as u32);
        if kind == ObjectKind::Service {
            self.services.count_down();
        }
        self.records.release(entry.record, texts);
        crate::intern::release_texts(&entry.key, texts);
        self.touch(kind);
        true
    }

    /// Writes the selector that default spreading uses for `class`, as requirements without their
    /// count: pairs of every Service that selects its pods, then its owner's selector.
    ///
    /// Mirrors `DefaultSelector` in `plugins/helper/spread.go`. Services cannot disagree on a key:
    /// each of their pairs is one of the pod's labels.
    pub(crate) fn write_default_selector(
        &self,
        class: ClassView<'_>,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        let start = writer.len();
        selector::write_requirements_header(writer)?;
        let namespace = text_word(class.class.namespace);
        if self.services > 0 {
            for entry in &self.entries {
                let [kind, own_namespace, _] = entry.key;
                if !entry.used || (kind, own_namespace) != (ObjectKind::Service as Word, namespace)
                {
                    continue;
                }
                match self.records.words(entry.record) {
                    [1, pairs @ ..] if selector::pairs_hold(pairs, class.labels()) => {
                        Self::merge_pairs(pairs, start, writer, texts)?;
                    }
                    _ => {}
                }
            }
        }
        let (kind, name) = class.class.owner;
        let Some(name) = name else {
            return Ok(());
        };
        let kind = match kind {
            OwnerKind::ReplicationController => ObjectKind::ReplicationController,
            OwnerKind::ReplicaSet => ObjectKind::ReplicaSet,
            OwnerKind::StatefulSet => ObjectKind::StatefulSet,
            OwnerKind::Other => return Ok(()),
        };
        let Some(at) = self.find(kind, namespace, text_word(name)) else {
            return Ok(());
        };
        let record = self.records.words(self.entries.at(at).record);
        match record.split_first() {
            Some((1, words)) if kind == ObjectKind::ReplicationController => {
                Self::merge_pairs(words, start, writer, texts)
            }
            Some((1, words)) => writer.copy(texts, words),
            _ => Ok(()),
        }
    }

    /// Whether the selector that default spreading uses for `class` selects these labels; `None`
    /// where it is empty. The same as [`Self::write_default_selector`], without a copy.
    pub(crate) fn default_selector_selects(
        &self,
        class: ClassView<'_>,
        labels: LabelsView<'_>,
        texts: &Texts,
    ) -> Option<bool> {
        let namespace = text_word(class.class.namespace);
        let (kind, name) = class.class.owner;
        let kind = match kind {
            OwnerKind::ReplicationController => Some(ObjectKind::ReplicationController),
            OwnerKind::ReplicaSet => Some(ObjectKind::ReplicaSet),
            OwnerKind::StatefulSet => Some(ObjectKind::StatefulSet),
            OwnerKind::Other => None,
        };
        let owner = kind
            .zip(name)
            .and_then(|(kind, name)| self.find(kind, namespace, text_word(name)))
            .and_then(|at| self.entries.get(at))
            .map(|entry| self.records.words(entry.record));
        let owner = owner.and_then(|words| match words.split_first() {
            Some((1, words)) => Some(words),
            _ => None,
        });
        let by_pairs = kind == Some(ObjectKind::ReplicationController);
        // A controller's pair stands instead of a Service's under the same key.
        let overrides = owner.filter(|_| by_pairs).unwrap_or_default();
        let is_overridden = |key: &Word| {
            overrides
                .chunks_exact(2)
                .any(|pair| pair.first() == Some(key))
        };
        let mut selected = true;
        let mut is_empty = true;
        let services = self.entries.iter().filter(|entry| {
            entry.used && entry.key.get(..2) == Some(&[ObjectKind::Service as Word, namespace])
        });
        for entry in services.take(if self.services > 0 { usize::MAX } else { 0 }) {
            let pairs = match self.records.words(entry.record).split_first() {
                Some((1, pairs)) if selector::pairs_hold(pairs, class.labels()) => pairs,
                _ => continue,
            };
            for pair in pairs.chunks_exact(2) {
                is_empty = false;
                selected &=
                    pair.first().is_some_and(is_overridden) || selector::pairs_hold(pair, labels);
            }
        }
        if let Some(words) = owner {
            is_empty &= words.is_empty();
            selected &= if by_pairs {
                selector::pairs_hold(words, labels)
            } else {
                selector::all_hold(words, labels, texts)
            };
        }
        (!is_empty).then_some(selected)
    }

    /// Adds pairs as requirements; one whose key stands there already replaces its value.
    fn merge_pairs(
        pairs: &[Word],
        start: usize,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        // `[key, In, 1, value]` after the header's one word.
        let first = start.saturating_add(1);
        for [key, value] in pairs.as_chunks::<2>().0 {
            let requirements = writer.words().get(first..).unwrap_or_default();
            let mut values = (first.saturating_add(3)..)
                .step_by(4)
                .zip(requirements.as_chunks::<4>().0);
            let there = values.find(|(_, [own, ..])| own == key).map(|(at, _)| at);
            if let Some(at) = there {
                writer.replace_text(texts, at, *value);
            } else {
                writer.copy(texts, &[*key])?;
                writer.number(0)?;
                writer.number(1)?;
                writer.copy(texts, &[*value])?;
            }
        }
        Ok(())
    }

    /// What a state file holds of the table, records aside: entries, and vacant places.
    #[cfg(feature = "state-file")]
    pub(super) fn saved(&self) -> (Vec<Option<SavedObject>>, Vec<u32>) {
        let entries = self.entries.iter().map(|entry| {
            let [kind, namespace, name] = entry.key;
            entry.used.then_some(SavedObject {
                kind: ObjectKind::ALL
                    .into_iter()
                    .find(|own| *own as Word == kind)?,
                namespace,
                name,
                record: entry.record,
            })
        });
        (entries.collect(), self.vacant.to_vec())
    }

    /// Fills an empty table whose records are there.
    #[cfg(feature = "state-file")]
    pub(super) fn restore(
        &mut self,
        saved: &[Option<SavedObject>],
        vacant: &[u32],
        texts: &mut Texts,
    ) -> Result<(), StateError> {
        let part = "objects";
        for (place, object) in saved.iter().enumerate() {
            let Some(object) = object else {
                let limit = self.limit as usize;
                if self.entries.len() >= limit {
                    let limit = u64::from(self.limit);
                    return Err(CapacityExceeded { which: part, limit }.into());
                }
                self.entries.push(*Entry::VACANT);
                continue;
            };
            let own = |word| {
                let text = word_text(word).filter(|text| texts.contains(*text));
                text.map(|text| String::from(texts.text(text)))
            };
            let is_namespace = object.kind == ObjectKind::Namespace;
            let namespace = if is_namespace && object.namespace == 0 {
                Some(String::new())
            } else {
                own(object.namespace).filter(|_| !is_namespace)
            };
            let (Some(namespace), Some(name)) = (namespace, own(object.name)) else {
                return check(false, part, place, "its names are no texts");
            };
            let new = !self.contains(object.kind, object.namespace, object.name);
            check(new, part, place, "this object is there already")?;
            let right = self.records.contains(object.record)
                && (!is_namespace || selector::is_sorted(self.records.words(object.record)));
            check(right, part, place, "its record is none of its kind")?;
            self.records.retain(object.record);
            self.insert(object.kind, &namespace, &name, object.record, texts)?;
        }
        let is_vacant = |at: usize| !self.entries.at(at).used;
        check_vacant(vacant, self.entries.len(), is_vacant, "vacant_objects")?;
        self.vacant.extend_from_slice(vacant);
        Ok(())
    }

    fn touch(&mut self, kind: ObjectKind) {
        if !matches!(
            kind,
            ObjectKind::Namespace | ObjectKind::PodDisruptionBudget
        ) {
            self.selectors_version.count_up();
        }
    }

    fn find(&self, kind: ObjectKind, namespace: Word, name: Word) -> Option<usize> {
        let key = [kind as Word, namespace, name];
        let at = self
            .index
            .find(hash_words(&key), |at| self.entries.at(*at).key == key)?;
        Some(*at as usize)
    }
}
