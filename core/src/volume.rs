//! Volumes, claims and the kinds of storage: the state that the four volume plugins read.
//!
//! Stage before: decoded objects, and the volumes of classes. Stage after: the plugins
//! VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone. Objects are records by name;
//! what a placed pod promises its claims and volumes before the API server knows stands beside them,
//! as in upstream's `passive_assume_cache.go`. All tables are empty and take nothing where no pod
//! names a volume.

mod assume;
mod bound;
pub(crate) mod item;
pub(crate) mod migration;
pub(crate) mod record;
mod referring;
#[cfg(feature = "state-file")]
mod saved;
pub(crate) mod storage;
mod uses;

pub(crate) use assume::{Progress, Reservation};
#[cfg(feature = "state-file")]
pub(crate) use saved::SavedVolumes;

use crate::capacity::{Capacities, CapacityExceeded, bytes_of, records_bytes, sum};
use crate::cluster::count::Counts;
use crate::cluster::object_table::{Key, ObjectTable};
use crate::fixed_vec::FixedVec;
use crate::intern::{Records, Texts, Word, Writer, word_text};
use crate::object::Object;
use crate::planted::{self, Bug};
use crate::scheduler::ApplyError;
use crate::selector;
use crate::table::Count;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use assume::Binding;
use record::{ClaimRef, ClaimView, VolumeView};
use referring::{Reference, Referring, reference};
use storage::{BindingMode, CapacityView, CsiDriverView, CsiNodeView, StorageClassView};
use uses::RowUses;

/// Kinds of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub(crate) enum VolumeKind {
    Volume = 1,
    Claim,
    Class,
    CsiNode,
    CsiDriver,
    Capacity,
    Attachment,
}

impl VolumeKind {
    #[cfg(feature = "state-file")]
    const ALL: [Self; 7] = [
        Self::Volume,
        Self::Claim,
        Self::Class,
        Self::CsiNode,
        Self::CsiDriver,
        Self::Capacity,
        Self::Attachment,
    ];

    /// The kind of an object that is kept here.
    pub(crate) const fn of(object: &Object) -> Option<Self> {
        Some(match object {
            Object::PersistentVolume(_) => Self::Volume,
            Object::PersistentVolumeClaim(_) => Self::Claim,
            Object::StorageClass(_) => Self::Class,
            Object::CsiNode(_) => Self::CsiNode,
            Object::CsiDriver(_) => Self::CsiDriver,
            Object::CsiStorageCapacity(_) => Self::Capacity,
            Object::VolumeAttachment(_) => Self::Attachment,
            _ => return None,
        })
    }

    const fn is_namespaced(self) -> bool {
        matches!(self, Self::Claim | Self::Capacity)
    }
}

/// Words of a use at most, on the average: a block of 8, and as blocks do not merge, what smaller ones
/// leave behind, so that room does not depend on what was there before.
const WORDS_PER_USE: u64 = 12;
/// Words of what is assumed of an object.
const WORDS_PER_BINDING: u64 = 4;

/// The state.
#[derive(Clone)]
pub(crate) struct Volumes {
    /// Objects as the API server has them.
    pub(crate) table: ObjectTable,
    /// Of volumes the claim, of claims the selected node, until the object changes.
    assumed: ObjectTable,
    bindings: FixedVec<Binding>,
    /// What pods name, by the words of their items.
    uses: Records,
    /// By row: pods on it that name the use.
    use_counts: Counts,
    /// By use: pods on nodes that name it.
    use_totals: Vec<u32>,
    row_uses: Vec<RowUses>,
    referring: Referring,
    /// Claims that are not bound and that no API server has seen.
    open_claims: u32,
    /// Name of the class of claims that name none; 0: there is none.
    default_class: Word,
}

impl Volumes {
    pub(crate) fn new(c: &Capacities, rows: u32) -> Self {
        let owners = if c.volume_use_counts == 0 { 0 } else { rows };
        let words = |count: u32, each: u64| u64::from(count).saturating_mul(each);
        Self {
            table: ObjectTable::new(["volumes", "volume_words"], c.volumes, c.volume_words),
            assumed: ObjectTable::new(
                ["volume_bindings", "volume_bindings"],
                c.volume_bindings,
                words(c.volume_bindings, WORDS_PER_BINDING),
            ),
            bindings: FixedVec::with_capacity(c.volume_bindings as usize),
            uses: Records::new(
                ["volume_uses", "volume_uses"],
                c.volume_uses,
                words(c.volume_uses, WORDS_PER_USE),
            ),
            use_counts: Counts::new("volume_use_counts", owners, c.volume_use_counts),
            use_totals: vec![0; c.volume_uses as usize],
            row_uses: vec![RowUses::default(); owners as usize],
            referring: Referring::new(c),
            open_claims: 0,
            default_class: 0,
        }
    }

    pub(crate) const fn bytes(c: &Capacities, rows: u64) -> u64 {
        let (uses, bindings) = (c.volume_uses as u64, c.volume_bindings as u64);
        let owners = if c.volume_use_counts == 0 { 0 } else { rows };
        sum(&[
            ObjectTable::bytes(c.volumes as u64),
            records_bytes(c.volumes as u64, c.volume_words),
            ObjectTable::bytes(bindings),
            records_bytes(bindings, bindings.saturating_mul(WORDS_PER_BINDING)),
            bytes_of::<Binding>(bindings),
            records_bytes(uses, uses.saturating_mul(WORDS_PER_USE)),
            Counts::bytes(owners, c.volume_use_counts as u64),
            bytes_of::<u32>(uses),
            bytes_of::<RowUses>(owners),
            Referring::bytes(c),
        ])
    }

    /// The key of an object, if its texts are known.
    pub(crate) fn key_of(
        kind: VolumeKind,
        namespace: &str,
        name: &str,
        texts: &Texts,
    ) -> Option<Key> {
        let namespace = if kind.is_namespaced() {
            selector::word_of(texts, namespace)?
        } else {
            0
        };
        Some([kind as Word, namespace, selector::word_of(texts, name)?])
    }

    /// Takes an object in that is new or replaces the one of its name; returns what changed. `buffer`
    /// is for handles that are put together.
    pub(crate) fn set(
        &mut self,
        kind: VolumeKind,
        object: &Object,
        writer: &mut Writer,
        texts: &mut Texts,
        buffer: &mut String,
    ) -> Result<u32, ApplyError> {
        let metadata = object.metadata();
        if metadata.name.is_empty() {
            return Err(ApplyError::NoName);
        }
        if let Object::PersistentVolumeClaim(claim) = object
            && !claim.spec.selector.as_ref().is_none_or(selector::is_valid)
        {
            return Err(ApplyError::Selector("spec.selector"));
        }
        if let Err(full) = write(object, writer, texts, buffer) {
            writer.clear(texts);
            return Err(full.into());
        }
        let key = Self::key_of(kind, &metadata.namespace, &metadata.name, texts);
        let old = key.and_then(|key| self.table.get(key));
        let changes = changes(kind, old, writer.words());
        // The same object once more tells nothing; any other is newer than what was assumed.
        let is_other = old.is_some_and(|old| old != writer.words());
        let is_open = kind == VolumeKind::Claim && record::is_open_claim(writer.words());
        let was_open = key.is_some_and(|key| self.is_open_claim(key));
        let before = old.and_then(|old| reference(key?, old));
        let namespace = kind.is_namespaced().then_some(metadata.namespace.as_str());
        self.table
            .set(kind as Word, namespace, &metadata.name, writer, texts)?;
        if let Some(key) = key.filter(|_| is_other && !planted::is(Bug::PromiseNotExpired)) {
            self.assumed.remove(key, texts);
        }
        self.count_open(was_open, is_open);
        self.find_default_class(kind as Word, texts);
        let key = Self::key_of(kind, &metadata.namespace, &metadata.name, texts);
        if let Some((key, place)) = key.and_then(|key| Some((key, self.table.find(key)?))) {
            self.refer(before, reference(key, self.table.at(place)), place, texts);
        }
        Ok(changes)
    }

    /// Takes an object out; whether it was there.
    pub(crate) fn remove(&mut self, key: Key, texts: &mut Texts) -> bool {
        let was_open = self.is_open_claim(key);
        let before = self.table.find(key);
        let before = before.and_then(|place| Some((reference(key, self.table.at(place))?, place)));
        let removed = self.table.remove(key, texts);
        if removed {
            self.assumed.remove(key, texts);
            self.count_open(was_open, false);
            if let Some((before, place)) = before {
                self.referring.leave(before, place, texts);
            }
            let [kind, ..] = key;
            self.find_default_class(kind, texts);
        }
        removed
    }

    /// Follows what an object refers to now.
    fn refer(
        &mut self,
        before: Option<Reference>,
        now: Option<Reference>,
        place: u32,
        texts: &mut Texts,
    ) {
        if before == now {
            return;
        }
        if let Some(before) = before {
            self.referring.leave(before, place, texts);
        }
        if let Some(now) = now {
            self.referring.join(now, place, texts);
        }
    }

    fn is_open_claim(&self, key: Key) -> bool {
        let [kind, ..] = key;
        let record = self
            .table
            .get(key)
            .filter(|_| kind == VolumeKind::Claim as Word);
        record.is_some_and(record::is_open_claim)
    }

    fn count_open(&mut self, was: bool, is: bool) {
        match (was, is) {
            (false, true) => self.open_claims.count_up(),
            (true, false) => self.open_claims.count_down(),
            _ => {}
        }
    }

    /// Looks for the class of claims that name none, if an object of this kind can be it.
    fn find_default_class(&mut self, kind: Word, texts: &Texts) {
        if kind != VolumeKind::Class as Word {
            return;
        }
        let classes = self.table.of_kind(kind);
        let defaults = classes.filter_map(|(place, words)| {
            let [.., name] = self.table.key(place);
            Some((StorageClassView::read(words)?.default_since?, name))
        });
        let text = |name| word_text(name).map(|text| texts.text(text));
        let first = defaults.max_by(|(one, a), (other, b)| {
            let by_age = one.cmp(other);
            by_age.then_with(|| text(*b).cmp(&text(*a)))
        });
        self.default_class = first.map_or(0, |(_, name)| name);
    }

    /// Name of the class of claims that name none, and since when it is.
    pub(crate) fn default_class(&self) -> Option<(Word, i64)> {
        let since = self.class(self.default_class)?.default_since?;
        Some((self.default_class, since))
    }

    /// Whether a claim is there that is not bound and that no API server has seen.
    pub(crate) const fn has_open_claims(&self) -> bool {
        self.open_claims > 0
    }

    /// A claim by the words of its namespace and name, as the API server has it.
    pub(crate) fn claim(&self, namespace: Word, name: Word) -> Option<ClaimView<'_>> {
        let key = [VolumeKind::Claim as Word, namespace, name];
        ClaimView::read(self.table.get(key)?)
    }

    /// The node that a claim is to be provisioned for, assumed or real.
    pub(crate) fn selected_node(
        &self,
        namespace: Word,
        name: Word,
        claim: &ClaimView<'_>,
    ) -> Option<Word> {
        let key = [VolumeKind::Claim as Word, namespace, name];
        match self.assumed(key) {
            Some([node]) => Some(*node),
            _ => claim.selected_node(),
        }
    }

    /// The place of a volume.
    pub(crate) fn find_volume(&self, name: Word) -> Option<u32> {
        self.table.find([VolumeKind::Volume as Word, 0, name])
    }

    pub(crate) fn volume_at(&self, place: u32) -> Option<VolumeView<'_>> {
        VolumeView::read(self.table.at(place))
    }

    pub(crate) fn volume(&self, name: Word) -> Option<VolumeView<'_>> {
        self.volume_at(self.find_volume(name)?)
    }

    /// The claim of the volume at a place, assumed or real.
    pub(crate) fn claim_of(&self, place: u32, volume: &VolumeView<'_>) -> Option<ClaimRef> {
        match self.assumed(self.table.key(place)) {
            Some(_) if planted::is(Bug::PromisedTwice) => volume.claim(),
            Some([namespace, name, uid]) => Some([*namespace, *name, *uid]),
            _ => volume.claim(),
        }
    }

    /// Volumes, by their places.
    pub(crate) fn volumes(&self) -> impl Iterator<Item = (u32, VolumeView<'_>)> {
        let volumes = self.table.of_kind(VolumeKind::Volume as Word);
        volumes.filter_map(|(place, words)| Some((place, VolumeView::read(words)?)))
    }

    pub(crate) fn class(&self, name: Word) -> Option<StorageClassView<'_>> {
        let key = [VolumeKind::Class as Word, 0, name];
        StorageClassView::read(self.table.get(key)?)
    }

    pub(crate) fn csi_node(&self, name: Word) -> Option<CsiNodeView<'_>> {
        let key = [VolumeKind::CsiNode as Word, 0, name];
        CsiNodeView::read(self.table.get(key)?)
    }

    pub(crate) fn csi_driver(&self, name: Word) -> Option<CsiDriverView> {
        let key = [VolumeKind::CsiDriver as Word, 0, name];
        CsiDriverView::read(self.table.get(key)?)
    }

    /// Every assumption, with the key of its object.
    pub(crate) fn assumptions(&self) -> impl Iterator<Item = (Key, &[Word])> {
        self.assumed.all()
    }

    fn assumed(&self, key: Key) -> Option<&[Word]> {
        if self.assumed.is_empty() {
            return None;
        }
        self.assumed.get(key)
    }
}

fn write(
    object: &Object,
    writer: &mut Writer,
    texts: &mut Texts,
    buffer: &mut String,
) -> Result<(), CapacityExceeded> {
    match object {
        Object::PersistentVolume(volume) => record::write_volume(writer, texts, volume, buffer),
        Object::PersistentVolumeClaim(claim) => record::write_claim(writer, texts, claim),
        Object::StorageClass(class) => storage::write_class(writer, texts, class),
        Object::CsiNode(node) => storage::write_node(writer, texts, node),
        Object::CsiDriver(driver) => storage::write_driver(writer, driver),
        Object::CsiStorageCapacity(capacity) => storage::write_capacity(writer, texts, capacity),
        Object::VolumeAttachment(attachment) => {
            storage::write_attachment(writer, texts, attachment)
        }
        _ => Ok(()),
    }
}

/// What an object's change may be to waiting pods, as bits.
pub(crate) mod change {
    /// A CSINode's driver takes more volumes, or a capacity's limit rose.
    pub(crate) const GREW: u32 = 1;
    /// Other plugins of a CSINode are migrated.
    pub(crate) const MIGRATION: u32 = 1 << 1;
    /// A class allows other topologies.
    pub(crate) const TOPOLOGIES: u32 = 1 << 2;
    /// A class' volumes wait for their pod.
    pub(crate) const WAITS: u32 = 1 << 3;
    /// A driver no longer says how much room it has.
    pub(crate) const UNCOUNTED: u32 = 1 << 4;
    /// A volume's zones or regions are others.
    pub(crate) const ZONES: u32 = 1 << 5;
}

fn changes(kind: VolumeKind, old: Option<&[Word]>, new: &[Word]) -> u32 {
    let both = |one: bool, bit: u32| if one { bit } else { 0 };
    match kind {
        VolumeKind::Class => {
            let Some(class) = StorageClassView::read(new) else {
                return 0;
            };
            let waits = class.mode == BindingMode::WaitForFirstConsumer;
            let before = old.and_then(StorageClassView::read);
            let changed = before.is_some_and(|own| own.topologies != class.topologies);
            both(waits, change::WAITS) | both(changed, change::TOPOLOGIES)
        }
        VolumeKind::CsiNode => {
            let pair = old.and_then(CsiNodeView::read).zip(CsiNodeView::read(new));
            pair.map_or(0, |(old, new)| {
                both(new.grew(&old), change::GREW)
                    | both(!new.same_migration(&old), change::MIGRATION)
            })
        }
        VolumeKind::CsiDriver => {
            let pair = old
                .and_then(CsiDriverView::read)
                .zip(CsiDriverView::read(new));
            let lost = pair.is_some_and(|(old, new)| old.storage_capacity && !new.storage_capacity);
            both(lost, change::UNCOUNTED)
        }
        VolumeKind::Capacity => {
            let pair = old
                .and_then(CapacityView::read)
                .zip(CapacityView::read(new));
            both(
                pair.is_some_and(|(old, new)| new.limit > old.limit),
                change::GREW,
            )
        }
        VolumeKind::Volume => {
            let pair = old.and_then(VolumeView::read).zip(VolumeView::read(new));
            both(
                pair.is_some_and(|(old, new)| old.zones != new.zones),
                change::ZONES,
            )
        }
        VolumeKind::Claim | VolumeKind::Attachment => 0,
    }
}
