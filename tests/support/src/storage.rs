//! The volume controllers' part: claims of placed pods are bound at once.

use berth_core::object::{Object, PersistentVolume, PersistentVolumeClaim, bind};
use berth_core::{Change, VolumeAction};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const ZONE: &str = "topology.kubernetes.io/zone";

/// What the controllers know of the objects.
#[derive(Debug, Default)]
pub struct Storage {
    volumes: BTreeMap<String, PersistentVolume>,
    claims: BTreeMap<(String, String), PersistentVolumeClaim>,
    /// Provisioners by class.
    provisioners: BTreeMap<String, String>,
    /// Zones by node.
    zones: BTreeMap<String, String>,
}

/// A claim that got its volume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct BoundClaim {
    /// `NAMESPACE/NAME`.
    pub claim: String,
    pub volume: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisioned: bool,
}

impl Storage {
    /// Takes in what happened to an object.
    pub fn hear(&mut self, change: Change, object: &Object) {
        let metadata = object.metadata();
        let name = metadata.name.clone();
        let gone = change == Change::Deleted;
        match object {
            Object::PersistentVolume(volume) => {
                put(&mut self.volumes, gone, name, (**volume).clone());
            }
            Object::PersistentVolumeClaim(claim) => {
                let key = (metadata.namespace.clone(), name);
                put(&mut self.claims, gone, key, (**claim).clone());
            }
            Object::StorageClass(class) => {
                put(
                    &mut self.provisioners,
                    gone,
                    name,
                    class.provisioner.clone(),
                );
            }
            Object::Node(_) => {
                self.zones.remove(&name);
                if let Some(zone) = metadata.labels.get(ZONE).filter(|_| !gone) {
                    self.zones.insert(name, zone.clone());
                }
            }
            _ => {}
        }
    }

    /// What follows from the calls for a placed pod, in its order.
    pub fn bind<'a>(
        &mut self,
        actions: impl Iterator<Item = VolumeAction<'a>>,
    ) -> (Vec<(Change, Object)>, Vec<BoundClaim>) {
        let (mut changes, mut bound) = (Vec::new(), Vec::new());
        for action in actions {
            let (namespace, name) = match action {
                VolumeAction::BindVolume {
                    namespace, claim, ..
                }
                | VolumeAction::SelectNode {
                    namespace, claim, ..
                } => (namespace, claim),
            };
            let key = (namespace.to_owned(), name.to_owned());
            let mut claim = self.claims[&key].clone();
            let (change, volume) = match action {
                VolumeAction::BindVolume { volume, .. } => {
                    let mut volume = self.volumes[volume].clone();
                    bind::bind(&mut volume, &mut claim);
                    (Change::Modified, volume)
                }
                VolumeAction::SelectNode { node, .. } => {
                    let provisioner = &self.provisioners[claim.class()];
                    let zone = self.zones.get(node).map(String::as_str);
                    let volume = bind::provision(&mut claim, provisioner, node, zone);
                    (Change::Added, volume)
                }
            };
            bound.push(BoundClaim {
                claim: format!("{namespace}/{name}"),
                volume: volume.metadata.name.clone(),
                provisioned: change == Change::Added,
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
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, gone: bool, key: K, value: V) {
    if gone {
        map.remove(&key);
    } else {
        map.insert(key, value);
    }
}
