//! Objects by what they refer to, so that a decision looks at no others: attachments by their node,
//! volumes by their claim, capacities by their class.

use super::record::VolumeView;
use super::storage::{self, CapacityView};
use super::{VolumeKind, Volumes};
use crate::capacity::{Capacities, records_bytes, sum};
use crate::cluster::count::Counts;
use crate::cluster::object_table::Key;
use crate::intern::{Records, Texts, Word, retain_texts};

/// Kind of the object, and what it refers to: a node or a class and 0, or namespace and name of a claim,
/// both 0 where the volume has none.
pub(super) type Reference = [Word; 3];

/// Words of a reference.
const WORDS: u64 = 3;

/// Places in the table of objects, by reference.
#[derive(Clone)]
pub(super) struct Referring {
    /// Each is held by the objects that have it.
    references: Records,
    /// By reference: places.
    places: Counts,
}

impl Referring {
    pub(super) fn new(c: &Capacities) -> Self {
        // There are no more references than objects, whose table refuses first.
        Self {
            references: Records::new(["volumes"; 2], c.volumes, words(c)),
            places: Counts::new("volumes", c.volumes, c.volumes),
        }
    }

    pub(super) const fn bytes(c: &Capacities) -> u64 {
        let volumes = c.volumes as u64;
        sum(&[
            records_bytes(volumes, words(c)),
            Counts::bytes(volumes, volumes),
        ])
    }

    pub(super) fn join(&mut self, reference: Reference, place: u32, texts: &mut Texts) {
        let Ok((id, is_new)) = self.references.intern(&reference) else {
            return;
        };
        if is_new {
            retain_texts(&reference, texts);
        }
        self.places.set(id, place, 1);
    }

    pub(super) fn leave(&mut self, reference: Reference, place: u32, texts: &mut Texts) {
        if let Some(id) = self.references.find(&reference) {
            self.places.set(id, place, 0);
            self.references.release(id, texts);
        }
    }

    /// Places of the objects that have a reference, in no particular order.
    fn places(&self, reference: Reference) -> impl Iterator<Item = u32> {
        let id = self.references.find(&reference).into_iter();
        let places = id.flat_map(|id| self.places.slots(id));
        places.map(|(place, _)| place)
    }
}

const fn words(c: &Capacities) -> u64 {
    (c.volumes as u64).saturating_mul(WORDS)
}

/// The reference of an object, if its kind is looked up by it.
pub(super) fn reference([kind, ..]: Key, words: &[Word]) -> Option<Reference> {
    const VOLUME: Word = VolumeKind::Volume as Word;
    const CAPACITY: Word = VolumeKind::Capacity as Word;
    const ATTACHMENT: Word = VolumeKind::Attachment as Word;
    Some(match kind {
        VOLUME => {
            let [namespace, name, _] = VolumeView::read(words)?.claim().unwrap_or_default();
            [kind, namespace, name]
        }
        CAPACITY => [kind, CapacityView::read(words)?.class, 0],
        ATTACHMENT => {
            let [_, node, _] = storage::read_attachment(words)?;
            [kind, node, 0]
        }
        _ => return None,
    })
}

impl Volumes {
    /// Places of the objects that have a reference, in no particular order.
    fn places(&self, own: Reference) -> impl Iterator<Item = u32> {
        debug_assert!(self.has_all(own), "{own:?} is out of date");
        self.referring.places(own)
    }

    /// Whether the places are those that a look at every object finds.
    fn has_all(&self, own: Reference) -> bool {
        let [kind, ..] = own;
        let all = self.table.of_kind(kind);
        let found =
            all.filter(|(place, words)| reference(self.table.key(*place), words) == Some(own));
        let is_there = |place: u32| {
            let (key, words) = (self.table.key(place), self.table.at(place));
            reference(key, words) == Some(own)
        };
        let mut places = self.referring.places(own);
        found.count() == self.referring.places(own).count() && places.all(is_there)
    }

    /// Volumes without a claim of their own, and those of a claim, by their places.
    pub(crate) fn volumes_for(
        &self,
        claim: Option<[Word; 2]>,
    ) -> impl Iterator<Item = (u32, VolumeView<'_>)> {
        let [namespace, name] = claim.unwrap_or_default();
        let places = self.places([VolumeKind::Volume as Word, namespace, name]);
        places.filter_map(|place| Some((place, self.volume_at(place)?)))
    }

    /// Capacity objects of a class, by their places.
    pub(crate) fn capacities(&self, class: Word) -> impl Iterator<Item = (u32, CapacityView<'_>)> {
        let places = self.places([VolumeKind::Capacity as Word, class, 0]);
        places.filter_map(|place| Some((place, CapacityView::read(self.table.at(place))?)))
    }

    /// How many attachments name a node.
    pub(crate) fn attachment_count(&self, node: Word) -> u32 {
        let references = &self.referring.references;
        let id = references.find(&[VolumeKind::Attachment as Word, node, 0]);
        id.map_or(0, |id| references.references(id))
    }

    /// Attacher and volume of the attachments that name a node.
    pub(crate) fn attachments(&self, node: Word) -> impl Iterator<Item = [Word; 2]> {
        let places = self.places([VolumeKind::Attachment as Word, node, 0]);
        let read = places.filter_map(|place| storage::read_attachment(self.table.at(place)));
        read.map(|[attacher, _, volume]| [attacher, volume])
    }
}
