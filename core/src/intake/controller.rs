//! The volume controllers' part, for faces that play the API server: claims of placed pods are bound
//! at once.

use crate::decision::BoundClaim;
use crate::object::{Object, PersistentVolume, PersistentVolumeClaim, bind};
use crate::scheduler::{Change, VolumeAction};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const ZONE: &str = "topology.kubernetes.io/zone";

/// Volumes, claims, classes and zones, as the controllers know them.
#[derive(Clone, Debug, Default)]
pub struct VolumeController {
    volumes: BTreeMap<String, PersistentVolume>,
    claims: BTreeMap<(String, String), PersistentVolumeClaim>,
    /// Provisioners by class.
    provisioners: BTreeMap<String, String>,
    /// Zones by node.
    zones: BTreeMap<String, String>,
}

impl VolumeController {
    /// Takes in what happened to an object, of whichever kind.
    pub fn hear(&mut self, change: Change, object: &Object) {
        let metadata = object.metadata();
        let is_gone = change == Change::Deleted;
        let name = metadata.name.clone();
        match object {
            Object::PersistentVolume(volume) => {
                put(&mut self.volumes, name, &**volume, is_gone);
            }
            Object::PersistentVolumeClaim(claim) => {
                let key = (metadata.namespace.clone(), name);
                put(&mut self.claims, key, &**claim, is_gone);
            }
            Object::StorageClass(class) => {
                put(&mut self.provisioners, name, &class.provisioner, is_gone);
            }
            Object::Node(_) => match metadata.labels.get(ZONE) {
                Some(zone) => put(&mut self.zones, name, zone, is_gone),
                None => {
                    self.zones.remove(&name);
                }
            },
            _ => {}
        }
    }

    /// What follows from the calls of [`Scheduler::volume_actions`](crate::Scheduler::volume_actions):
    /// changes of volumes and claims for the caller to apply, in their order, and which claims are
    /// bound by them. A call that names what is not there has no effect.
    pub fn bind<'a>(
        &mut self,
        actions: impl Iterator<Item = VolumeAction<'a>>,
    ) -> (Vec<(Change, Object)>, Vec<BoundClaim>) {
        let (mut changes, mut bound) = (Vec::new(), Vec::new());
        for action in actions {
            let Some((change, volume, claim)) = self.one(action) else {
                continue;
            };
            let metadata = &claim.metadata;
            bound.push(BoundClaim {
                claim: format!("{}/{}", metadata.namespace, metadata.name),
                volume: Some(volume.metadata.name.clone()),
                provisioned: matches!(action, VolumeAction::SelectNode { .. }),
            });
            let volume = Object::PersistentVolume(Box::new(volume));
            let claim = Object::PersistentVolumeClaim(Box::new(claim));
            for (change, object) in [(change, volume), (Change::Modified, claim)] {
                self.hear(change, &object);
                changes.push((change, object));
            }
        }
        (changes, bound)
    }

    fn one(
        &self,
        action: VolumeAction<'_>,
    ) -> Option<(Change, PersistentVolume, PersistentVolumeClaim)> {
        let (VolumeAction::BindVolume {
            namespace, claim, ..
        }
        | VolumeAction::SelectNode {
            namespace, claim, ..
        }) = action;
        let key = (namespace.to_owned(), claim.to_owned());
        let mut claim = self.claims.get(&key)?.clone();
        let (change, volume) = match action {
            VolumeAction::BindVolume { volume, .. } => {
                let mut volume = self.volumes.get(volume)?.clone();
                bind::bind(&mut volume, &mut claim);
                (Change::Modified, volume)
            }
            VolumeAction::SelectNode { node, .. } => {
                let provisioner = self.provisioners.get(claim.class())?;
                let zone = self.zones.get(node).map(String::as_str);
                let volume = bind::provision(&mut claim, provisioner, node, zone);
                let is_there = self.volumes.contains_key(&volume.metadata.name);
                let change = if is_there {
                    Change::Modified
                } else {
                    Change::Added
                };
                (change, volume)
            }
        };
        Some((change, volume, claim))
    }
}

fn put<K: Ord, V: Clone>(map: &mut BTreeMap<K, V>, key: K, value: &V, is_gone: bool) {
    if is_gone {
        map.remove(&key);
    } else {
        map.insert(key, value.clone());
    }
}
