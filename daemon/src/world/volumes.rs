//! Claims of placed pods: the volume controllers bind them, and a second later their pod is bound.

use super::{Key, Name, Observer, World};
use crate::failure::Failure;
use berth_core::id::PodId;
use berth_core::object::defaults::Defaults;
use berth_core::object::{Object, PersistentVolumeClaim};
use berth_core::{BindOutcome, BoundClaim, Change, VolumesBound};

/// Between two looks of the scheduler at the claims that it waits for, in milliseconds.
const LOOK: u64 = 1000;

/// A pod that is bound when its volumes are.
pub(super) struct Binding {
    pub(super) due: u64,
    name: Name,
    node: String,
    /// Which pod it is: another one of its name is not bound.
    number: u64,
}

impl<O: Observer> World<O> {
    /// Makes the calls that a placed pod needs, and what the controllers make of them; the claims
    /// that are bound.
    pub(super) fn bind_volumes(&mut self, pod: PodId) -> Result<Vec<BoundClaim>, Failure> {
        let actions = self.intake.scheduler().volume_actions(pod);
        let (changes, bound) = self.controller.bind(actions);
        for (change, object) in changes {
            let metadata = object.metadata();
            let key: Key = (
                object.kind(),
                metadata.namespace.clone(),
                metadata.name.clone(),
            );
            if change == Change::Added || self.others.contains_key(&key) {
                self.others.insert(key, object.clone());
            }
            self.take(change, &object)?;
            self.changes += 1;
        }
        Ok(bound)
    }

    /// Makes the claims of a pod that a controller makes, unless they are there.
    pub(super) fn make_claims(
        &mut self,
        claims: Vec<PersistentVolumeClaim>,
    ) -> Result<(), Failure> {
        for mut claim in claims {
            let metadata = &claim.metadata;
            let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
            let key = ("PersistentVolumeClaim", namespace, name);
            if !self.others.contains_key(&key) {
                Defaults::new(self.others.values()).apply_to_claim(&mut claim);
                let claim = Object::PersistentVolumeClaim(Box::new(claim));
                self.add(&key, claim, None)?;
            }
        }
        Ok(())
    }

    pub(super) fn wait_for_volumes(&mut self, name: Name, node: String, number: u64) {
        self.binding.push_back(Binding {
            due: self.ms + LOOK,
            name,
            node,
            number,
        });
    }

    /// Binds a pod whose claims are bound by now.
    pub(super) fn end_binding(&mut self, binding: &Binding) -> Result<(), Failure> {
        let Binding {
            name, node, number, ..
        } = binding;
        let is_same = self.pods.get(name).map(|pod| pod.number) == Some(*number);
        let (namespace, pod) = name;
        let Some(id) = self
            .scheduler()
            .find_pod(namespace, pod)
            .filter(|_| is_same)
        else {
            return Ok(());
        };
        let now = self.now();
        let are_bound = self.scheduler().volumes_bound(id, now) == VolumesBound::Yes;
        if are_bound && self.scheduler_mut().pre_bound(id) {
            return self.bind(id, name, node);
        }
        self.scheduler_mut().bound(id, BindOutcome::Failed, now);
        Ok(())
    }
}
