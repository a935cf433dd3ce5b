//! Terms: interned selectors of pods whose matches are counted per topology domain or row.
//!
//! A pod that lands on a node raises one count of every term that its class matches or carries;
//! which ones is found once, when class or term is new. So no decision's cost depends on the pods
//! that are there already.

use super::columns::{Columns, NO_COLUMN, TermRows};
use super::count::Counts;
use super::owner::Objects;
use crate::capacity::{Capacities, CapacityExceeded};
use crate::class::{ClassView, flag};
use crate::fixed_vec::FixedVec;
use crate::id::{KeyId, TermId};
use crate::intern::{Records, Texts, Word, text_word};
use crate::selector::{self, LabelsView};

/// What a term counts, the first word of its record.
pub(crate) mod kind {
    use super::Word;
    /// Pods of a namespace that a selector matches, per row: `[kind, namespace, selector..]`.
    pub(crate) const SPREAD: Word = 0;
    /// Pods that match the term, per domain: `[kind, key, term item]`.
    pub(crate) const GROUP: Word = 1;
    /// Pods that carry the term, per domain: `[kind, key, role, weight, term..]`.
    pub(crate) const CARRIED: Word = 2;
    /// Pods that match all terms of a list, per domain: `[kind, key, id of the list]`, which holds a
    /// reference to it.
    pub(crate) const JOINT: Word = 3;
    /// The list of a [`JOINT`], which it has in common with those of other keys: `[kind, term
    /// items..]`. Counts nothing itself.
    pub(crate) const LIST: Word = 4;
    /// What [`SPREAD`] counts, per domain: `[kind, key, namespace, selector..]`.
    pub(crate) const SPREAD_BY: Word = 5;
}

/// What a carried term means to the pod that carries it.
pub(crate) mod role {
    use super::Word;
    pub(crate) const REQUIRED_AFFINITY: Word = 0;
    pub(crate) const REQUIRED_ANTI_AFFINITY: Word = 1;
    pub(crate) const PREFERRED_AFFINITY: Word = 2;
    pub(crate) const PREFERRED_ANTI_AFFINITY: Word = 3;
}

/// A term of pod affinity: `[key, count, namespaces.., namespace selector item, selector item]`.
#[derive(Clone, Copy)]
pub(crate) struct AffinityTermView<'a> {
    pub(crate) key: Word,
    namespaces: &'a [Word],
    namespace_selector: &'a [Word],
    selector: &'a [Word],
}

impl<'a> AffinityTermView<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        let [key, count, rest @ ..] = words else {
            return None;
        };
        let (namespaces, rest) = rest.split_at_checked(*count as usize)?;
        let (namespace_selector, rest) = selector::split_item(rest)?;
        let (selector, _) = selector::split_item(rest)?;
        Some(Self {
            key: *key,
            namespaces,
            namespace_selector,
            selector,
        })
    }

    /// Whether pods of `class` match. A namespace that is no object counts as one without labels
    /// for a term that an existing pod carries, and as no namespace for the incoming pod's own.
    pub(crate) fn matches(
        self,
        class: ClassView<'_>,
        own: bool,
        objects: &Objects,
        texts: &Texts,
    ) -> bool {
        let namespace = class.class.namespace;
        let in_namespace = self.namespaces.contains(&text_word(namespace)) || {
            match objects.namespace_labels(namespace) {
                Some(labels) => selector::selects(self.namespace_selector, labels, texts),
                None if own => selector::is_everything(self.namespace_selector),
                None => selector::selects(self.namespace_selector, LabelsView(&[]), texts),
            }
        };
        in_namespace && selector::selects(self.selector, class.labels(), texts)
    }

    /// Whether pods of `class` match where the labels of namespaces are not known, as in hints.
    pub(crate) fn matches_without_namespaces(self, class: ClassView<'_>, texts: &Texts) -> bool {
        let namespace = text_word(class.class.namespace);
        let in_namespace = self.namespaces.contains(&namespace)
            || selector::selects(self.namespace_selector, LabelsView(&[]), texts);
        in_namespace && selector::selects(self.selector, class.labels(), texts)
    }
}

/// Columns at least, if there are as many terms.
const COLUMNS_MIN: u32 = 8;

#[derive(Clone, Copy)]
struct Term {
    key: Option<KeyId>,
    /// Of [`Terms::columns`].
    column: u32,
}

/// All terms and their counts.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) records: Records,
    entries: FixedVec<Term>,
    pub(crate) counts: Counts,
    columns: Columns,
    /// Moves whenever a carried term comes or goes, or could match differently.
    pub(crate) carried_version: u64,
}

impl Terms {
    pub(crate) fn new(capacities: &Capacities, rows: u32) -> Self {
        let limit = capacities.terms;
        Self {
            records: Records::new(["terms", "term_words"], limit, capacities.term_words),
            entries: FixedVec::with_capacity(limit as usize),
            counts: Counts::new("term_counts", limit, capacities.term_counts),
            columns: Columns::new(Self::columns_of(capacities), rows),
            carried_version: 0,
        }
    }

    /// Terms that are counted in a column too.
    pub(crate) const fn columns_of(capacities: &Capacities) -> u32 {
        let half = capacities.live_classes / 2;
        let wanted = if half > COLUMNS_MIN {
            half
        } else {
            COLUMNS_MIN
        };
        if wanted < capacities.terms {
            wanted
        } else {
            capacities.terms
        }
    }

    /// Begins a term, which counts nothing yet.
    pub(crate) fn begin(&mut self, term: TermId) {
        let column = match self.kind(term) {
            kind::LIST | kind::SPREAD_BY => NO_COLUMN,
            _ => self.columns.take(),
        };
        let entry = Term { key: None, column };
        match self.entries.get_mut(term.index()) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    /// Sets the key whose domains are counted.
    pub(crate) fn set_key(&mut self, term: TermId, key: KeyId) {
        if let Some(entry) = self.entries.get_mut(term.index()) {
            entry.key = Some(key);
        }
    }

    /// Forgets all counts of a term that goes.
    pub(crate) fn end(&mut self, term: TermId) {
        self.counts.clear(term.0);
        self.drop_column(term);
    }

    fn drop_column(&mut self, term: TermId) {
        if let Some(entry) = self.entries.get_mut(term.index()) {
            self.columns
                .give_back(core::mem::replace(&mut entry.column, NO_COLUMN));
        }
    }

    /// Counts of the term by row, where it has a column: what pods on the row itself add to it.
    pub(crate) fn rows(&self, term: TermId) -> Option<TermRows<'_>> {
        self.columns.get(self.entries.get(term.index())?.column)
    }

    /// Counts a pod on `row`, which is in `slot` of the term, or takes it out.
    pub(crate) fn raise(&mut self, term: TermId, slot: u32, row: u32, add: bool) {
        if add {
            self.counts.increment(term.0, slot);
        } else {
            self.counts.decrement(term.0, slot);
        }
        let column = self.entries.get(term.index()).map(|entry| entry.column);
        if let Some(column) = column
            && column != NO_COLUMN
            && !self.columns.raise(column, row, add)
        {
            self.drop_column(term);
        }
    }

    pub(crate) fn words(&self, term: TermId) -> &[Word] {
        self.records.words(term.0)
    }

    pub(crate) fn kind(&self, term: TermId) -> Word {
        self.words(term).first().copied().unwrap_or(kind::SPREAD)
    }

    /// The list that the record of a joint term holds a reference to.
    pub(crate) fn list_of(&self, term: TermId) -> Option<TermId> {
        match self.words(term) {
            [kind::JOINT, _, list] => Some(TermId(*list)),
            _ => None,
        }
    }

    /// Key whose domains are counted; `None`: rows are.
    pub(crate) fn key(&self, term: TermId) -> Option<KeyId> {
        self.entries.get(term.index())?.key
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = TermId> + '_ {
        let ids = (0..self.records.bound() as u32).filter(|id| self.records.contains(*id));
        ids.map(TermId)
    }

    /// Whether pods of `class` are counted by the term because they match it.
    pub(crate) fn counts_class(
        &self,
        term: TermId,
        class: ClassView<'_>,
        objects: &Objects,
        texts: &Texts,
    ) -> bool {
        let match_all = |items| {
            selector::items(items).all(|item| {
                AffinityTermView::read(item)
                    .is_some_and(|term| term.matches(class, true, objects, texts))
            })
        };
        match self.words(term) {
            [kind::SPREAD, namespace, selector @ ..]
            | [kind::SPREAD_BY, _, namespace, selector @ ..] => {
                *namespace == text_word(class.class.namespace)
                    && !class.class.has(flag::TERMINATING)
                    && selector::selects(selector, class.labels(), texts)
            }
            [kind::GROUP, _, item @ ..] => match_all(item),
            [kind::JOINT, _, list] => {
                match_all(self.words(TermId(*list)).get(1..).unwrap_or_default())
            }
            _ => false,
        }
    }

    /// Refuses if `wanted` further counts do not fit.
    pub(crate) fn check_room(&self, wanted: usize) -> Result<(), CapacityExceeded> {
        self.counts.check_room(wanted)
    }
}

/// A carried term, read from its record.
#[derive(Clone, Copy)]
pub(crate) struct CarriedView<'a> {
    pub(crate) role: Word,
    pub(crate) weight: u32,
    pub(crate) term: AffinityTermView<'a>,
}

impl<'a> CarriedView<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        match words {
            [kind::CARRIED, _, role, weight, term @ ..] => Some(Self {
                role: *role,
                weight: *weight,
                term: AffinityTermView::read(term)?,
            }),
            _ => None,
        }
    }
}
