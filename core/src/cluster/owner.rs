//! Namespaces, Services and the owners of pods: what selectors are resolved against.

use super::object_table::{Key, ObjectTable};
use crate::capacity::CapacityExceeded;
use crate::class::{ClassView, OwnerKind};
use crate::id::TextId;
use crate::intern::{Texts, Word, Writer, text_word};
use crate::object::Object;
use crate::selector::{self, LabelsView};
use crate::table::Count;
#[cfg(feature = "state-file")]
use {super::object_table::SavedTable, crate::state_file::StateError};

/// Kinds in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Objects, each with one record: a namespace's labels, a Service's or ReplicationController's pairs
/// as a selector, another owner's selector, a budget.
#[derive(Clone)]
pub(crate) struct Objects {
    table: ObjectTable,
    /// Services in the table, which every default selector has to look through.
    services: u32,
    /// Moves whenever a Service or an owner changes.
    pub(crate) selectors_version: u64,
}

impl Objects {
    pub(crate) fn new(limit: u32, words: u64) -> Self {
        Self {
            table: ObjectTable::new(["objects", "object_words"], limit, words),
            services: 0,
            selectors_version: 0,
        }
    }

    pub(crate) const fn bytes(limit: u64) -> u64 {
        ObjectTable::bytes(limit)
    }

    /// Labels of a namespace that is there as an object.
    pub(crate) fn namespace_labels(&self, name: TextId) -> Option<LabelsView<'_>> {
        let words = self.find(ObjectKind::Namespace, 0, text_word(name))?;
        Some(LabelsView(words))
    }

    /// Budgets, in the order of the table.
    pub(crate) fn budgets(&self) -> impl Iterator<Item = Budget<'_>> {
        let all = self.table.all();
        let budgets =
            all.filter(|([kind, ..], _)| *kind == ObjectKind::PodDisruptionBudget as Word);
        budgets.filter_map(|([_, namespace, _], record)| match record {
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
        })
    }

    /// Kind, namespace and name of every object, with its record.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Key, &[Word])> {
        self.table.all()
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
        let namespace = (kind != ObjectKind::Namespace).then_some(namespace);
        let is_new = self
            .table
            .set(kind as Word, namespace, name, writer, texts)?;
        if is_new && kind == ObjectKind::Service {
            self.services.count_up();
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
        if !self.table.remove([kind as Word, namespace, name], texts) {
            return false;
        }
        if kind == ObjectKind::Service {
            self.services.count_down();
        }
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
            for ([kind, own_namespace, _], record) in self.table.all() {
                if (kind, own_namespace) != (ObjectKind::Service as Word, namespace) {
                    continue;
                }
                match record {
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
        let Some(record) = self.find(kind, namespace, text_word(name)) else {
            return Ok(());
        };
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
            .and_then(|(kind, name)| self.find(kind, namespace, text_word(name)));
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
        let services = self.table.all().filter(|([kind, own_namespace, _], _)| {
            (*kind, *own_namespace) == (ObjectKind::Service as Word, namespace)
        });
        for (_, record) in services.take(if self.services > 0 { usize::MAX } else { 0 }) {
            let pairs = match record.split_first() {
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
                writer.replace(texts, at, *value);
            } else {
                writer.copy(texts, &[*key])?;
                writer.number(0)?;
                writer.number(1)?;
                writer.copy(texts, &[*value])?;
            }
        }
        Ok(())
    }

    /// The content of a state file.
    #[cfg(feature = "state-file")]
    pub(super) fn saved(&self) -> SavedTable {
        self.table.saved()
    }

    /// Fills an empty table.
    #[cfg(feature = "state-file")]
    pub(super) fn restore(
        &mut self,
        saved: &SavedTable,
        texts: &mut Texts,
    ) -> Result<(), StateError> {
        let is_right = |[kind, namespace, _]: Key, words: &[Word]| {
            if kind == ObjectKind::Namespace as Word {
                return namespace == 0 && selector::is_sorted(words);
            }
            kind <= ObjectKind::PodDisruptionBudget as Word && namespace != 0
        };
        self.table.restore(saved, texts, "objects", is_right)?;
        let services = self.table.of_kind(ObjectKind::Service as Word);
        self.services = services.count() as u32;
        Ok(())
    }

    /// See [`ObjectTable::let_go`].
    #[cfg(feature = "state-file")]
    pub(super) fn let_go(&mut self, saved: &SavedTable, texts: &mut Texts) {
        self.table.let_go(saved, texts);
    }

    fn touch(&mut self, kind: ObjectKind) {
        if !matches!(
            kind,
            ObjectKind::Namespace | ObjectKind::PodDisruptionBudget
        ) {
            self.selectors_version.count_up();
        }
    }

    fn find(&self, kind: ObjectKind, namespace: Word, name: Word) -> Option<&[Word]> {
        self.table.get([kind as Word, namespace, name])
    }
}
