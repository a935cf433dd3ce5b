//! Claims and volumes as the volume controllers leave them: bound to each other.
//!
//! Stage before: [`assume`](super::assume), or a claim that no pod has to wait for. The records are
//! written once more with what changes in them.

use super::record::{self, Written};
use super::referring::reference;
use super::{VolumeKind, Volumes};
use crate::capacity::CapacityExceeded;
use crate::cluster::object_table::Key;
use crate::intern::{Texts, Word, Writer};

impl Volumes {
    /// Binds a volume that is there to a claim that is.
    pub(crate) fn bind_volume(
        &mut self,
        volume: Word,
        claim: [Word; 2],
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        let [namespace, name] = claim;
        let uid = self.claim(namespace, name).map_or(0, |claim| claim.uid);
        let key = [VolumeKind::Volume as Word, 0, volume];
        self.rewrite(key, writer, texts, |writer, texts, words| {
            record::write_bound_volume(writer, texts, words, [namespace, name, uid])
        })
    }

    /// The other half of [`bind_volume`](Self::bind_volume); `node` is the one that the volume was
    /// provisioned for, 0: it was not for any.
    pub(crate) fn bind_claim(
        &mut self,
        claim: [Word; 2],
        volume: Word,
        node: Word,
        writer: &mut Writer,
        texts: &mut Texts,
    ) -> Result<(), CapacityExceeded> {
        let [namespace, name] = claim;
        let key = [VolumeKind::Claim as Word, namespace, name];
        self.rewrite(key, writer, texts, |writer, texts, words| {
            record::write_bound_claim(writer, texts, words, volume, node)
        })
    }

    /// Replaces the record of an object that is there; nothing is assumed of it any more.
    fn rewrite(
        &mut self,
        key: Key,
        writer: &mut Writer,
        texts: &mut Texts,
        write: impl FnOnce(&mut Writer, &mut Texts, &[Word]) -> Written,
    ) -> Result<(), CapacityExceeded> {
        let Some(place) = self.table.find(key) else {
            return Ok(());
        };
        let words = self.table.at(place);
        let before = reference(key, words);
        if let Err(full) = write(writer, texts, words) {
            writer.clear(texts);
            return Err(full);
        }
        let was_open = self.is_open_claim(key);
        self.table.set_at(key, writer, texts)?;
        self.refer(before, reference(key, self.table.at(place)), place, texts);
        self.assumed.remove(key, texts);
        self.count_open(was_open, false);
        Ok(())
    }
}
