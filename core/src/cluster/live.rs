//! Live classes: what one class makes of every node, kept between its pods.
//!
//! A class goes live when one of its pods is decided on. Then its verdicts that only node objects
//! decide become one bit a node and plugin, its own terms are counted, and both are repaired when
//! something changes. The coldest class makes room for a new one.

pub(crate) mod peaks;
pub(crate) mod room;
mod terms;

use super::{Cluster, NONE, NodeState};
use crate::arena::Arena;
use crate::capacity::{Capacities, CapacityExceeded, bytes_of, sum};
use crate::class::{ClassView, SPREAD_HARD, Section, flag};
use crate::fixed_vec::FixedVec;
use crate::id::{ClassId, KeyId, TermId};
use crate::plugins::{node_affinity, node_unschedulable, taint_toleration};
use crate::selector::{self, TermNames};
use crate::table::{Count, Table, Vacant};
use alloc::vec;
use alloc::vec::Vec;
use room::Room;

/// Bits that a live class has for every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Static {
    /// Refused by NodeUnschedulable.
    Unschedulable,
    /// Refused by TaintToleration.
    Taints,
    /// Refused by the profile's added affinity.
    AddedAffinity,
    /// Refused by node selector or required node affinity, the pin aside.
    Affinity,
    /// Refused by NodeDeclaredFeatures.
    Features,
    /// Named by a term of required node affinity.
    Named,
}

const STATICS: usize = Static::Named as usize + 1;

/// Whether PreFilter of NodeAffinity narrows the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Narrowing {
    None,
    /// To the rows of [`Static::Named`], or the pod's pin.
    Names,
    /// To no node at all: the terms' names contradict each other.
    Conflict,
}

/// A live class. Its lists lie in one block of the arena, one after another.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    class: ClassId,
    /// When the class took the slot, of which there are no two.
    pub(crate) made_at: u64,
    used_at: u64,
    block: (u32, u32),
    felt: (u32, u32),
    felt_version: u64,
    selectors_version: u64,
    /// Number of spread constraints, affinity groups, anti-affinity and preferred terms.
    lengths: [u32; 4],
    pub(crate) default_spread: bool,
    pub(crate) narrowing: Narrowing,
    /// The pod matches all of its own required affinity terms.
    pub(crate) self_affine: bool,
    /// A preferred node affinity term does not parse.
    pub(crate) preferred_invalid: bool,
    /// Some node has taints that count against the class.
    pub(crate) has_taint_counts: bool,
}

impl Slot {
    /// Whether the class neither spreads nor names other pods.
    pub(crate) fn has_no_terms(&self) -> bool {
        self.lengths == [0; 4]
    }

    /// Whether it requires other pods near or apart from it.
    pub(crate) fn requires_pods(&self) -> bool {
        let [_, affinity, anti_affinity, _] = self.lengths;
        affinity > 0 || anti_affinity > 0
    }
}

impl Vacant for Slot {
    const VACANT: &'static Self = &Self {
        class: ClassId(NONE),
        made_at: 0,
        used_at: 0,
        block: (0, 0),
        felt: (0, 0),
        felt_version: u64::MAX,
        selectors_version: 0,
        lengths: [0; 4],
        default_spread: false,
        narrowing: Narrowing::None,
        self_affine: false,
        preferred_invalid: false,
        has_taint_counts: false,
    };
}

/// A spread constraint in force, as stored: see [`Constraint::read`].
const CONSTRAINT_WORDS: usize = 7;
const GROUP_WORDS: usize = 2;
const PREFERRED_WORDS: usize = 3;

/// A spread constraint in force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constraint {
    pub(crate) max_skew: i64,
    pub(crate) key: KeyId,
    flags: u32,
    pub(crate) min_domains: u32,
    /// Counts of matching pods by row; an empty selector counts nobody.
    pub(crate) term: Option<TermId>,
    /// The same by domain, unless the key is the host name.
    pub(crate) by_domain: Option<TermId>,
    /// 1 if the selector matches the pod itself.
    pub(crate) self_match: i64,
}

const HOSTNAME: u32 = 1 << 8;

impl Constraint {
    fn read(words: &[u32; CONSTRAINT_WORDS]) -> Self {
        let [
            max_skew,
            key,
            flags,
            min_domains,
            term,
            by_domain,
            self_match,
        ] = *words;
        Self {
            max_skew: i64::from(max_skew),
            key: KeyId(key),
            flags,
            min_domains,
            term: term.checked_sub(1).map(TermId),
            by_domain: by_domain.checked_sub(1).map(TermId),
            self_match: i64::from(self_match),
        }
    }

    pub(crate) const fn is_hard(&self) -> bool {
        self.flags & SPREAD_HARD != 0
    }

    pub(crate) const fn is_hostname(&self) -> bool {
        self.flags & HOSTNAME != 0
    }

    pub(crate) const fn honors_affinity(&self) -> bool {
        self.flags & crate::class::SPREAD_HONOR_AFFINITY != 0
    }

    pub(crate) const fn honors_taints(&self) -> bool {
        self.flags & crate::class::SPREAD_HONOR_TAINTS != 0
    }
}

#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) slots: FixedVec<Slot>,
    of_class: Vec<u32>,
    bits: Vec<u64>,
    taint_counts: Vec<u32>,
    preferred: Vec<u32>,
    pub(crate) room: Room,
    words: Arena<u32>,
    scratch: FixedVec<u32>,
    clock: u64,
    rows: usize,
    limit: u32,
    words_limit: u32,
}

impl Live {
    pub(crate) fn new(capacities: &Capacities, rows: u32) -> Self {
        let (slots, rows) = (capacities.live_classes as usize, rows as usize);
        let mut of_class = Vec::new();
        of_class.resize(capacities.classes as usize, NONE);
        let cells = slots.saturating_mul(rows);
        let bits = vec![0; cells.saturating_mul(STATICS) / 64];
        let taint_counts = vec![0; cells];
        let preferred = vec![0; cells];
        Self {
            slots: FixedVec::with_capacity(slots),
            of_class,
            bits,
            taint_counts,
            preferred,
            room: Room::new(capacities, rows),
            words: Arena::new(capacities.live_words as usize),
            scratch: FixedVec::with_capacity(capacities.live_words as usize),
            clock: 0,
            rows,
            limit: capacities.live_classes,
            words_limit: capacities.live_words,
        }
    }

    pub(crate) const fn bytes(capacities: &Capacities, rows: u64) -> u64 {
        let slots = capacities.live_classes as u64;
        let cells = slots.saturating_mul(rows);
        sum(&[
            bytes_of::<Slot>(slots),
            bytes_of::<[u64; STATICS]>(cells / 64),
            bytes_of::<[u32; 2]>(cells),
            Room::bytes(capacities, rows),
            bytes_of::<u32>(capacities.classes as u64),
            bytes_of::<[u32; 2]>(capacities.live_words as u64),
        ])
    }

    /// One bit a node.
    pub(crate) fn bits(&self, slot: usize, kind: Static) -> &[u64] {
        let column = slot.saturating_mul(STATICS).saturating_add(kind as usize);
        self.bits.column(self.rows / 64, column)
    }

    /// Taints that count against the class in its score, by row.
    pub(crate) fn taint_counts(&self, slot: usize) -> &[u32] {
        self.taint_counts.column(self.rows, slot)
    }

    /// Sum of the weights of matching preferred node affinity terms, by row.
    pub(crate) fn preferred(&self, slot: usize) -> &[u32] {
        self.preferred.column(self.rows, slot)
    }

    fn list(&self, slot: usize, list: List) -> &[u32] {
        let entry = self.slots.at(slot);
        let (start, len) = entry.block;
        list.of(self.words.slice(start, len as usize), entry.lengths)
    }

    pub(crate) fn constraints(&self, slot: usize) -> impl Iterator<Item = Constraint> + '_ {
        let constraints = self.list(slot, List::Constraints).as_chunks().0;
        constraints.iter().map(Constraint::read)
    }

    /// Required affinity: for each distinct key, the count of pods that match all terms.
    pub(crate) fn affinity(&self, slot: usize) -> impl Iterator<Item = (TermId, KeyId)> + '_ {
        groups(self.list(slot, List::Affinity))
    }

    /// Required anti-affinity, term by term.
    pub(crate) fn anti_affinity(&self, slot: usize) -> impl Iterator<Item = (TermId, KeyId)> + '_ {
        groups(self.list(slot, List::AntiAffinity))
    }

    /// Preferred terms with their weight, below 0 for anti-affinity.
    pub(crate) fn preferred_terms(
        &self,
        slot: usize,
    ) -> impl Iterator<Item = (TermId, KeyId, i64)> + '_ {
        let preferred = self.list(slot, List::Preferred);
        let terms = preferred.as_chunks::<PREFERRED_WORDS>().0.iter();
        terms.map(|[term, key, weight]| {
            let weight = i64::from(weight.cast_signed());
            (TermId(*term), KeyId(*key), weight)
        })
    }

    /// Terms that other pods carry and that select pods of the class.
    pub(crate) fn felt(&self, slot: usize) -> impl Iterator<Item = TermId> + '_ {
        let (start, len) = self.slots.at(slot).felt;
        self.words
            .slice(start, len as usize)
            .iter()
            .copied()
            .map(TermId)
    }

    /// Some live class.
    pub(super) fn first_class(&self) -> Option<ClassId> {
        self.slots.first().map(|slot| slot.class)
    }

    /// The class' slot; [`NONE`] if it is not live.
    pub(crate) fn slot_of(&self, class: ClassId) -> u32 {
        self.of_class.get(class.index()).copied().unwrap_or(NONE)
    }

    /// Words of all bits of a slot.
    const fn slot_words(&self) -> usize {
        (self.rows / 64).saturating_mul(STATICS)
    }

    /// Forgets what was known of a node that went.
    pub(crate) fn clear_row(&mut self, row: usize) {
        let used = self.slots.len().saturating_mul(STATICS);
        let sets = self.bits.chunks_exact_mut((self.rows / 64).max(1));
        for set in sets.take(used) {
            if let Some(word) = set.at_mut(row / 64) {
                *word &= !(1 << (row % 64));
            }
        }
    }

    /// Stores the scratch list; its block.
    fn insert(&mut self) -> Result<(u32, u32), CapacityExceeded> {
        let start = self.words.insert(&self.scratch).ok_or(self.full())?;
        Ok((start, self.scratch.len() as u32))
    }

    /// Adds an item to the scratch list, whole or not at all.
    fn push(&mut self, item: &[u32]) -> Result<(), CapacityExceeded> {
        if self.scratch.len().saturating_add(item.len()) > self.words_limit as usize {
            return Err(self.full());
        }
        self.scratch.extend_from_slice(item);
        Ok(())
    }

    fn full(&self) -> CapacityExceeded {
        CapacityExceeded {
            which: "live_words",
            limit: u64::from(self.words_limit),
        }
    }
}

/// The lists of a block, which lie one after another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Constraints,
    Affinity,
    AntiAffinity,
    Preferred,
}

impl List {
    /// Each with the words of an item.
    const ALL: [(Self, usize); 4] = [
        (Self::Constraints, CONSTRAINT_WORDS),
        (Self::Affinity, GROUP_WORDS),
        (Self::AntiAffinity, GROUP_WORDS),
        (Self::Preferred, PREFERRED_WORDS),
    ];

    /// The words of this list in a block whose lists have so many items.
    #[inline]
    fn of(self, mut block: &[u32], lengths: [u32; 4]) -> &[u32] {
        for ((list, words), length) in Self::ALL.into_iter().zip(lengths) {
            let end = words.saturating_mul(length as usize);
            let (own, after) = block.split_at_checked(end).unwrap_or_default();
            if list == self {
                return own;
            }
            block = after;
        }
        &[]
    }
}

fn groups(words: &[u32]) -> impl DoubleEndedIterator<Item = (TermId, KeyId)> + '_ {
    let groups = words.as_chunks::<GROUP_WORDS>().0.iter();
    groups.map(|[term, key]| (TermId(*term), KeyId(*key)))
}

impl Cluster {
    /// The class' slot, which it takes if it has none.
    pub(crate) fn make_live(&mut self, class: ClassId) -> Result<usize, CapacityExceeded> {
        self.live.clock.count_up();
        let mut slot = self.live.slot_of(class);
        if let Some(entry) = self.live.slots.get(slot as usize)
            && entry.default_spread
            && entry.selectors_version != self.objects.selectors_version
        {
            self.drop_live(class);
            slot = NONE;
        }
        if slot == NONE {
            slot = self.take_slot(class)?;
        }
        let slot = slot as usize;
        let clock = self.live.clock;
        if let Some(entry) = self.live.slots.at_mut(slot) {
            entry.used_at = clock;
            if entry.felt_version != self.terms.carried_version {
                self.find_felt(slot)?;
            }
        }
        Ok(slot)
    }

    /// Gives up the class' slot, if it has one.
    pub(super) fn drop_live(&mut self, class: ClassId) {
        let slot = self.live.slot_of(class) as usize;
        let Some(entry) = self.live.slots.get(slot).copied() else {
            return;
        };
        self.live.of_class.set(class, NONE);
        let (start, len) = entry.block;
        self.live.scratch.clear();
        let block = self.live.words.slice(start, len as usize);
        self.live.scratch.extend_from_slice(block);
        self.release_scratch(entry.lengths);
        self.live
            .words
            .remove(entry.block.0, entry.block.1 as usize);
        self.live.words.remove(entry.felt.0, entry.felt.1 as usize);
        // The last slot moves into the gap, so that slots in use stay together.
        let Some(moved) = self.live.slots.pop() else {
            return;
        };
        let last = self.live.slots.len();
        if slot != last {
            self.live.slots.set(slot, moved);
            self.live.of_class.set(moved.class, slot as u32);
            let rows = self.live.rows;
            let words = self.live.slot_words();
            self.live.bits.copy_column(words, last, slot);
            self.live.taint_counts.copy_column(rows, last, slot);
            self.live.preferred.copy_column(rows, last, slot);
            self.live.room.relocate(last, slot);
        }
    }

    /// Repairs all live classes' bits of a node that came or changed.
    pub(super) fn refresh_live_row(&mut self, row: usize) {
        for slot in 0..self.live.slots.len() {
            self.judge_row(slot, row);
        }
    }

    fn take_slot(&mut self, class: ClassId) -> Result<u32, CapacityExceeded> {
        if self.live.slots.len() >= self.live.limit as usize {
            let coldest = self.live.slots.iter().min_by_key(|slot| slot.used_at);
            match coldest.map(|slot| slot.class) {
                Some(coldest) => self.drop_live(coldest),
                None => {
                    return Err(CapacityExceeded {
                        which: "live_classes",
                        limit: u64::from(self.live.limit),
                    });
                }
            }
        }
        let slot = self.live.slots.len();
        let view = self.classes.view(class);
        let fresh = Slot {
            class,
            made_at: self.live.clock,
            used_at: 0,
            block: (0, 0),
            felt: (0, 0),
            felt_version: u64::MAX,
            selectors_version: self.objects.selectors_version,
            lengths: [0; 4],
            default_spread: view.section(Section::Spread).is_empty(),
            narrowing: narrowing(view),
            self_affine: self.is_self_affine(view),
            preferred_invalid: node_affinity::has_invalid_preferred(view),
            has_taint_counts: false,
        };
        self.live.slots.push(fresh);
        self.live.of_class.set(class, slot as u32);
        self.live.room.clear(slot);
        // Both blocks are there from the start, so that dropping the slot needs no cases.
        self.live.scratch.clear();
        let result = self.live.insert().and_then(|felt| {
            let mut lengths = [0; 4];
            let found = self.find_terms(class, &mut lengths);
            let block = self.live.insert();
            if let (Ok(()), Ok(block)) = (found, block) {
                if let Some(entry) = self.live.slots.at_mut(slot) {
                    entry.felt = felt;
                    entry.block = block;
                    entry.lengths = lengths;
                }
                return Ok(());
            }
            self.release_scratch(lengths);
            if let Ok((start, len)) = block {
                self.live.words.remove(start, len as usize);
            }
            self.live.words.remove(felt.0, felt.1 as usize);
            found.and(block.map(|_| ()))
        });
        if let Err(full) = result {
            self.live.slots.pop();
            self.live.of_class.set(class, NONE);
            return Err(full);
        }
        for row in 0..self.nodes.len() {
            self.judge_row(slot, row);
        }
        Ok(slot as u32)
    }

    /// What the slot's class makes of one node, from the node object alone.
    fn judge_row(&mut self, slot: usize, row: usize) {
        let node = self.nodes.at(row);
        if node.state != NodeState::Present {
            return;
        }
        let class = self.live.slots.at(slot).class;
        let view = self.classes.view(class);
        let profile = view
            .class
            .profile
            .and_then(|profile| self.profiles.get(profile.index()));
        let facts = self.facts(row);
        let taints = self.taint_words(row);
        let added = profile
            .and_then(|profile| profile.added_required)
            .map(|record| self.profile_records.words(record));
        let refused = [
            node_unschedulable::refuses(view, node.unschedulable, &self.known),
            taint_toleration::refuses(view, taints),
            added.is_some_and(|terms| !node_affinity::any_term(terms, facts, &self.texts)),
            node_affinity::refuses(view, facts, &self.texts),
            view.class.features & !node.features != 0,
            node_affinity::names(view, facts.name),
        ];
        let count = taint_toleration::count(view, taints);
        let added = profile
            .and_then(|profile| profile.added_preferred)
            .map_or(&[][..], |record| {
                self.profile_records.words(record).get(1..).unwrap_or(&[])
            });
        let preferred = node_affinity::preferred(view, added, facts, &self.texts);
        let live = &mut self.live;
        let (rows, words) = (live.rows, live.slot_words());
        let bits = live.bits.column_mut(words, slot);
        for (kind, refused) in refused.into_iter().enumerate() {
            if let Some(word) = bits.column_mut(rows / 64, kind).at_mut(row / 64) {
                *word = *word & !(1 << (row % 64)) | u64::from(refused) << (row % 64);
            }
        }
        live.taint_counts.column_mut(rows, slot).set(row, count);
        live.preferred.column_mut(rows, slot).set(row, preferred);
        if let Some(entry) = live.slots.at_mut(slot) {
            entry.has_taint_counts |= count > 0;
        }
    }
}

fn narrowing(view: ClassView<'_>) -> Narrowing {
    if view.class.has(flag::PINNED) {
        return Narrowing::Names;
    }
    let terms = view.section(Section::RequiredNodeAffinity);
    let mut any_name = false;
    for term in selector::items(terms) {
        match selector::term_names(term) {
            TermNames::Any => return Narrowing::None,
            TermNames::Some => any_name = true,
            TermNames::Contradiction => {}
        }
    }
    match (terms.is_empty(), any_name) {
        (true, _) => Narrowing::None,
        (false, true) => Narrowing::Names,
        (false, false) => Narrowing::Conflict,
    }
}
