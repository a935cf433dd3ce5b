//! Volumes in a state file.

use super::assume::Binding;
use super::record::{ClaimView, VolumeView, is_open_claim};
use super::referring::reference;
use super::storage::{self, CapacityView, CsiDriverView, CsiNodeView, StorageClassView};
use super::{VolumeKind, Volumes};
use crate::capacity::CapacityExceeded;
use crate::cluster::object_table::{Key, SavedTable};
use crate::intern::{Texts, Word, retain_texts};
use crate::state_file::StateError;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Objects, what is assumed of them, and who waits for them; what pods name is counted anew.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedVolumes {
    pub(crate) table: SavedTable,
    assumed: SavedTable,
    pub(crate) bindings: Vec<Binding>,
}

impl Volumes {
    /// The content of a state file.
    pub(crate) fn saved(&self) -> SavedVolumes {
        SavedVolumes {
            table: self.table.saved(),
            assumed: self.assumed.saved(),
            bindings: self.bindings.to_vec(),
        }
    }

    /// Fills empty tables; [`Self::restore_bindings`] follows when the pods are there.
    pub(crate) fn restore(
        &mut self,
        saved: &SavedVolumes,
        texts: &mut Texts,
    ) -> Result<(), StateError> {
        self.table
            .restore(&saved.table, texts, "volumes", is_object)?;
        let claims = self.table.of_kind(VolumeKind::Claim as Word);
        let open = claims.filter(|(_, words)| is_open_claim(words));
        self.open_claims = open.count() as u32;
        self.find_default_class(VolumeKind::Class as Word, texts);
        for kind in VolumeKind::ALL {
            for (place, words) in self.table.of_kind(kind as Word) {
                if let Some(own) = reference(self.table.key(place), words) {
                    self.referring.join(own, place, texts);
                }
            }
        }
        self.assumed
            .restore(&saved.assumed, texts, "volume_bindings", is_assumption)
    }

    /// Adds the claims that pods wait for, which are checked already.
    pub(crate) fn restore_bindings(
        &mut self,
        saved: &[Binding],
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        if saved.len() > self.bindings.capacity() {
            let limit = self.bindings.capacity() as u64;
            let which = "volume_bindings";
            return Err(CapacityExceeded { which, limit });
        }
        for binding in saved {
            retain_texts(&binding.words(), texts);
            self.bindings.push(*binding);
        }
        Ok(())
    }

    /// Lets go of the records.
    pub(crate) fn let_go(&mut self, saved: &SavedVolumes, texts: &mut Texts) {
        self.table.let_go(&saved.table, texts);
        self.assumed.let_go(&saved.assumed, texts);
    }
}

/// Whether the words can be read as an object of the kind.
fn is_object([kind, namespace, _]: Key, words: &[Word]) -> bool {
    let Some(kind) = VolumeKind::ALL.into_iter().find(|own| *own as Word == kind) else {
        return false;
    };
    let is_read = match kind {
        VolumeKind::Volume => VolumeView::read(words).is_some(),
        VolumeKind::Claim => ClaimView::read(words).is_some(),
        VolumeKind::Class => StorageClassView::read(words).is_some(),
        VolumeKind::CsiNode => CsiNodeView::read(words).is_some(),
        VolumeKind::CsiDriver => CsiDriverView::read(words).is_some(),
        VolumeKind::Capacity => CapacityView::read(words).is_some(),
        VolumeKind::Attachment => storage::read_attachment(words).is_some(),
    };
    is_read && kind.is_namespaced() == (namespace != 0)
}

/// Of a volume the claim, of a claim the node.
fn is_assumption([kind, namespace, _]: Key, words: &[Word]) -> bool {
    if kind == VolumeKind::Volume as Word {
        return namespace == 0 && words.len() == 3;
    }
    kind == VolumeKind::Claim as Word && namespace != 0 && words.len() == 1
}
