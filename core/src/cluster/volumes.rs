//! Volumes, claims and the kinds of storage coming and going, and what classes name of them.

use super::Cluster;
use crate::capacity::CapacityExceeded;
use crate::class::Section;
use crate::id::ClassId;
use crate::object::Object;
use crate::scheduler::ApplyError;
use crate::volume::{VolumeKind, Volumes, item};

impl Cluster {
    /// Takes in an object that is new or replaces the one of its name; returns what changed, as bits
    /// of [`crate::volume::change`].
    pub(crate) fn set_volume(
        &mut self,
        kind: VolumeKind,
        object: &Object,
    ) -> Result<u32, ApplyError> {
        let (writer, texts) = (&mut self.writer, &mut self.texts);
        let buffer = self.compiler.buffer();
        self.volumes.set(kind, object, writer, texts, buffer)
    }

    pub(crate) fn remove_volume(
        &mut self,
        kind: VolumeKind,
        namespace: &str,
        name: &str,
    ) -> Result<(), ApplyError> {
        let key = Volumes::key_of(kind, namespace, name, &self.texts);
        if key.is_some_and(|key| self.volumes.remove(key, &mut self.texts)) {
            Ok(())
        } else {
            Err(ApplyError::NotFound)
        }
    }

    /// Whether an object of this kind and name is there.
    pub(crate) fn has_volume(&self, kind: VolumeKind, namespace: &str, name: &str) -> bool {
        let key = Volumes::key_of(kind, namespace, name, &self.texts);
        key.is_some_and(|key| self.volumes.table.get(key).is_some())
    }

    /// How many volumes of a class are counted on nodes.
    pub(super) fn counted_volumes(&self, class: ClassId) -> usize {
        item::counted(self.class(class).section(Section::Volumes)).count()
    }

    /// Holds what a new class names.
    pub(super) fn hold_volumes(&mut self, class: ClassId) -> Result<(), CapacityExceeded> {
        let items = item::counted(self.classes.view(class).section(Section::Volumes));
        self.volumes.hold(items, &mut self.writer, &mut self.texts)
    }

    pub(super) fn release_volumes(&mut self, class: ClassId) {
        let items = item::counted(self.classes.view(class).section(Section::Volumes));
        self.volumes.release(items, &mut self.texts);
    }
}
