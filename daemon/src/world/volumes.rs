//! Claims of placed pods: the intake's volume controllers bind them, and a second later their pod is
//! bound.

use super::{Key, Observer, World};
use crate::failure::Failure;
use berth_core::BoundClaim;
use berth_core::id::PodId;
use berth_core::object::{Object, ObjectMeta, PersistentVolume, PersistentVolumeClaim};

impl<O: Observer> World<O> {
    /// Binds the claims that a placed pod needs; those that are bound.
    pub(super) fn bind_volumes(&mut self, pod: PodId) -> Result<Vec<BoundClaim>, Failure> {
        let bound = self.intake.bind_volumes(pod)?;
        for claim in &bound {
            self.changes += 1;
            if let Some(name) = claim.volume.as_ref().filter(|_| claim.provisioned) {
                // A step may delete it.
                let metadata = ObjectMeta {
                    name: name.clone(),
                    ..ObjectMeta::default()
                };
                let volume = PersistentVolume {
                    metadata,
                    ..PersistentVolume::default()
                };
                let key = ("PersistentVolume", String::new(), name.clone());
                let volume = Object::PersistentVolume(Box::new(volume));
                self.others.insert(key, volume);
            }
        }
        Ok(bound)
    }

    /// Makes the claims of a pod that a controller makes, unless they are there.
    pub(super) fn make_claims(
        &mut self,
        claims: impl IntoIterator<Item = PersistentVolumeClaim>,
    ) -> Result<(), Failure> {
        for claim in claims {
            let metadata = &claim.metadata;
            let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
            let key: Key = ("PersistentVolumeClaim", namespace, name);
            if !self.others.contains_key(&key) {
                let mut claim = Object::PersistentVolumeClaim(Box::new(claim));
                self.notes.extend(self.intake.admit(&mut claim)?);
                self.add(&key, claim, None)?;
            }
        }
        Ok(())
    }

    /// When the next pod that waits for its volumes is looked at, in milliseconds.
    pub(super) fn next_binding(&self) -> Option<u64> {
        self.intake.next_binding().map(|due| self.ms_of(due))
    }

    /// Binds that pod if its claims are bound by now.
    pub(super) fn end_binding(&mut self) -> Result<(), Failure> {
        let Some(pod) = self.intake.end_binding() else {
            return Ok(());
        };
        let scheduler = self.scheduler();
        let node = scheduler.node_of(pod).map(|node| scheduler.node(node).name);
        let node = node.unwrap_or_default().to_owned();
        let name = self.name(pod);
        self.bind(pod, &name, &node)
    }
}
