//! What the scheduler's caller does for the volumes of a placed pod: writes to the server, then looks
//! whether the claims are bound.

use super::Simulation;
use super::calls::{Binding, Call};
use super::controllers::{claim_id, volume_id};
use crate::check;
use crate::expected::Place;
use crate::fault::Fault;
use crate::random::Random;
use crate::server::{Id, Key};
use crate::violation::{Check, Violation, ensure};
use berth_core::id::PodId;
use berth_core::object::{ClaimReference, Object, Pod, SELECTED_NODE};
use berth_core::plugins::{Plugin, Point};
use berth_core::{BindOutcome, VolumeAction, VolumesBound};
use std::collections::VecDeque;

/// A plain update of an object, which succeeds only if its version is still the one that was seen.
#[derive(Clone, Debug)]
pub(crate) enum VolumeWrite {
    Bind {
        volume: String,
        claim: ClaimReference,
        version: u64,
    },
    Select {
        claim: Key,
        node: String,
        version: u64,
    },
}

impl Simulation {
    /// The pod gets a place on the node, and its claims what they get there.
    pub(super) fn take_place(&mut self, pod: &Pod, node: &str) {
        let profile = self.setup.profile(&pod.spec.scheduler_name);
        let reserves = |own: &&berth_core::profile::Profile| {
            let plugins = own.plugins(Point::Reserve);
            plugins.contains(&Plugin::VolumeBinding)
        };
        let claims = profile.filter(reserves).map(|profile| {
            let claims = self.shadow.claims_on(pod, profile, node);
            claims.unwrap_or_default()
        });
        self.shadow.assume(pod, node);
        self.shadow.reserve(pod, node, &claims.unwrap_or_default());
    }

    /// What was promised for the pod is taken back; nobody hears of it.
    pub(crate) fn unreserve(&mut self, key: &Key) {
        if self.shadow.unreserve(key) {
            self.excuse_rejected(&[Plugin::VolumeBinding]);
        }
    }

    /// The calls that the scheduler asks for, with what the client knew when it did.
    pub(super) fn list_writes(&self, pod: PodId) -> VecDeque<VolumeWrite> {
        // What the scheduler had no room for it does not know, and decided without.
        let version = |id: Id| {
            let is_known = !self.client.refused.contains(&id);
            if is_known {
                self.client.version(&id)
            } else {
                0
            }
        };
        let write = |action| match action {
            VolumeAction::BindVolume {
                volume,
                namespace,
                claim,
            } => {
                let told = self.client.told.get(&claim_id(namespace, claim));
                VolumeWrite::Bind {
                    volume: volume.to_owned(),
                    claim: ClaimReference {
                        namespace: namespace.to_owned(),
                        name: claim.to_owned(),
                        uid: told.map_or("", |own| &own.metadata().uid).to_owned(),
                    },
                    version: version(volume_id(volume)),
                }
            }
            VolumeAction::SelectNode {
                namespace,
                claim,
                node,
            } => VolumeWrite::Select {
                claim: (namespace.to_owned(), claim.to_owned()),
                node: node.to_owned(),
                version: version(claim_id(namespace, claim)),
            },
        };
        self.engine.volume_actions(pod).map(write).collect()
    }

    /// The next write for a pod's volumes; after the last one, a look at what became of them.
    pub(super) fn work_before_binding(
        &mut self,
        mut binding: Binding,
        pod: PodId,
        random: &mut Random,
    ) -> Check {
        let key = binding.key.clone();
        if let Some(write) = binding.writes.pop_front() {
            if !self.write_volume(&write, random)? {
                return self.told(&key, BindOutcome::Failed);
            }
            self.calls.push(Call::Bind(binding));
            return Ok(());
        }
        let said = self.engine.volumes_bound(pod, self.now);
        let expected = check::volumes_bound(self, &key);
        ensure(said == expected, "volumes", || {
            format!("the volumes of {key:?}: {said:?}, but should be {expected:?}")
        })?;
        self.say(|_| format!("  the volumes of {key:?}: {said:?}"));
        match said {
            VolumesBound::NotYet => {}
            VolumesBound::Failed => return self.told(&key, BindOutcome::Failed),
            VolumesBound::TimedOut => {
                self.counts.count(Fault::VolumesTimedOut);
                return self.told(&key, BindOutcome::Failed);
            }
            VolumesBound::Yes => {
                check::volumes_hold(self, &key)?;
                let done = self.engine.pre_bound(pod);
                ensure(done, "pre-bind", || format!("{key:?} is not at PreBind"))?;
                self.set_place(&key, Place::Binding);
            }
        }
        self.calls.push(Call::Bind(binding));
        Ok(())
    }

    /// Whether the write took effect, as far as its answer says.
    fn write_volume(
        &mut self,
        write: &VolumeWrite,
        random: &mut Random,
    ) -> Result<bool, Violation> {
        self.say(|_| format!("  {write:?}"));
        if self.strikes(random, Fault::VolumeWriteRefused) {
            return Ok(false);
        }
        if self.strikes(random, Fault::ClaimDeleted) {
            let (VolumeWrite::Select {
                claim: (namespace, name),
                ..
            }
            | VolumeWrite::Bind {
                claim: ClaimReference {
                    namespace, name, ..
                },
                ..
            }) = write;
            self.server.delete(&claim_id(namespace, name));
        }
        if let VolumeWrite::Bind { volume, .. } = write {
            self.take_volume(volume, random);
        }
        let done = self.update_volume(write)?;
        Ok(done && !self.strikes(random, Fault::VolumeAnswerLost))
    }

    /// The server refuses what names an older version than its own.
    pub(super) fn update_volume(&mut self, write: &VolumeWrite) -> Result<bool, Violation> {
        let (id, seen): (Id, u64) = match write {
            VolumeWrite::Bind {
                volume, version, ..
            } => (volume_id(volume), *version),
            VolumeWrite::Select { claim, version, .. } => (claim_id(&claim.0, &claim.1), *version),
        };
        let own = self.server.objects.get(&id);
        let Some(mut object) = own
            .filter(|own| own.version == seen)
            .map(|own| own.object.clone())
        else {
            return Ok(false);
        };
        match (write, &mut object) {
            (VolumeWrite::Bind { claim, .. }, Object::PersistentVolume(volume)) => {
                let kept = volume.spec.claim_ref.replace(claim.clone());
                let is_free = kept.as_ref().is_none_or(|kept| kept == claim);
                // Whoever writes looks first; the scheduler had no room to hear who has the volume.
                if !is_free && self.client.refused.contains(&id) {
                    return Ok(false);
                }
                ensure(is_free, "volumes", || {
                    format!("{id:?} of {kept:?} is to be bound to {claim:?}")
                })?;
            }
            (VolumeWrite::Select { node, .. }, Object::PersistentVolumeClaim(claim)) => {
                let annotations = &mut claim.metadata.annotations;
                annotations.insert(SELECTED_NODE.into(), node.clone());
            }
            _ => {}
        }
        if self.server.objects.get(&id).map(|own| &own.object) != Some(&object) {
            self.server.put(object);
        }
        Ok(true)
    }
}
