//! Volumes, claims and the kinds of storage coming and going, and what classes name of them.

use super::Cluster;
use crate::capacity::CapacityExceeded;
use crate::class::Section;
use crate::id::ClassId;
use crate::object::Object;
use crate::scheduler::ApplyError;
use crate::volume::{VolumeKind, Volumes, item};
#[cfg(feature = "state-file")]
use {
    super::NONE,
    crate::intern::{Word, word_text},
    crate::state_file::{StateError, check},
    crate::volume::SavedVolumes,
};

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

    /// Refuses if what a pod of the class promises to its claims may not fit.
    pub(crate) fn check_bindings(&self, class: ClassId) -> Result<(), CapacityExceeded> {
        let volumes = item::volumes(self.class(class).section(Section::Volumes));
        self.volumes.check_bindings(volumes.count())
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

    /// Adds the claims that pods of a state file wait for.
    #[cfg(feature = "state-file")]
    pub(super) fn restore_bindings(&mut self, saved: &SavedVolumes) -> Result<(), StateError> {
        let part = "volume_bindings";
        for (place, binding) in saved.bindings.iter().enumerate() {
            let pod = self.pod(binding.pod);
            let is_placed = pod.is_some_and(|pod| pod.row != NONE || pod.node_name != 0);
            check(is_placed, part, place, "its pod has no node")?;
            let [namespace, name] = binding.claim;
            let words = [namespace, name, binding.volume, binding.node];
            self.check_words(&words, part, place)?;
            let is_text = |word: Word| word_text(word).is_some();
            let named = is_text(namespace) && is_text(name) && is_text(binding.node);
            let right = named && (binding.volume == 0 || is_text(binding.volume));
            check(right, part, place, "a name is no text")?;
        }
        Ok(self
            .volumes
            .restore_bindings(&saved.bindings, &mut self.texts)?)
    }
}
