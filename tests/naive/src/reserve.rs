//! What placed pods promise to claims and volumes before the API server knows. Mirrors Reserve and
//! Unreserve of `volumebinding/volume_binding.go`, and `passive_assume_cache.go`.

use crate::Cluster;
use crate::cluster::Key;
use crate::storage::{self, Storage};
use berth_core::BoundClaim;
use berth_core::object::{
    ClaimReference, Object, PersistentVolume, PersistentVolumeClaim, Pod, SELECTED_NODE,
};
use std::collections::BTreeMap;

/// A claim that a placed pod waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    pub pod: Key,
    pub claim: Key,
    /// Absent: one is provisioned.
    pub volume: Option<String>,
    pub node: String,
}

/// All of them, and what is assumed of objects until they change.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    /// Claims, by the name of their volume.
    volumes: BTreeMap<String, ClaimReference>,
    /// Nodes for which claims are provisioned.
    claims: BTreeMap<Key, String>,
    /// In the order of the calls.
    pub waiting: Vec<Promise>,
}

impl Promises {
    /// Whether the object is taken for something that the API server does not know.
    pub fn is_assumed(&self, promise: &Promise) -> bool {
        match &promise.volume {
            Some(volume) => self.volumes.contains_key(volume),
            None => self.claims.contains_key(&promise.claim),
        }
    }

    /// Whether nothing is assumed of any object.
    pub fn are_kept(&self) -> bool {
        self.volumes.is_empty() && self.claims.is_empty()
    }

    /// Those of a pod.
    pub fn of(&self, pod: &Key) -> impl Iterator<Item = &Promise> {
        self.waiting.iter().filter(move |own| own.pod == *pod)
    }
}

impl Storage {
    /// The claim that a volume is kept for.
    pub fn claim_of<'a>(&'a self, volume: &'a PersistentVolume) -> Option<&'a ClaimReference> {
        let assumed = self.promises.volumes.get(&volume.metadata.name);
        assumed.or(volume.spec.claim_ref.as_ref())
    }

    /// The node that a claim is to be provisioned for.
    pub fn selected_node<'a>(&'a self, claim: &'a PersistentVolumeClaim) -> Option<&'a str> {
        let assumed = self.promises.claims.get(&storage::key_of(&claim.metadata));
        let own = assumed.or_else(|| claim.metadata.annotations.get(SELECTED_NODE));
        own.map(String::as_str)
    }

    /// What was assumed of an object ends with its next change.
    pub(crate) fn expire(&mut self, object: &Object) {
        let metadata = object.metadata();
        match object {
            Object::PersistentVolume(_) => {
                self.promises.volumes.remove(&metadata.name);
            }
            Object::PersistentVolumeClaim(_) => {
                self.promises.claims.remove(&storage::key_of(metadata));
            }
            _ => {}
        }
    }
}

impl Cluster {
    /// Promises a pod's claims what [`Cluster::claims_on`] says.
    pub fn reserve(&mut self, pod: &Pod, node: &str, claims: &[BoundClaim]) {
        for own in claims {
            let (namespace, name) = own.claim.split_once('/').unwrap_or_default();
            let key: Key = (namespace.to_owned(), name.to_owned());
            if let Some(name) = &own.volume {
                let claim = self.storage.claims.get(&key);
                let wanted = ClaimReference {
                    namespace: key.0.clone(),
                    name: key.1.clone(),
                    uid: claim.map_or(String::new(), |claim| claim.metadata.uid.clone()),
                };
                let there = self.storage.volume(name);
                let there = there.and_then(|volume| self.storage.claim_of(volume));
                if there != Some(&wanted) {
                    self.storage.promises.volumes.insert(name.clone(), wanted);
                }
            } else {
                let claims = &mut self.storage.promises.claims;
                claims.insert(key.clone(), node.to_owned());
            }
            self.storage.promises.waiting.push(Promise {
                pod: storage::key_of(&pod.metadata),
                claim: key,
                volume: own.volume.clone(),
                node: node.to_owned(),
            });
        }
    }

    /// Takes back what was promised for a pod, also where another one promised the same; whether
    /// anything was still assumed of it.
    pub fn unreserve(&mut self, pod: &Key) -> bool {
        let mut was_assumed = false;
        for own in self.end_promises(pod) {
            let promises = &mut self.storage.promises;
            was_assumed |= match &own.volume {
                Some(volume) => promises.volumes.remove(volume).is_some(),
                None => promises.claims.remove(&own.claim).is_some(),
            };
        }
        was_assumed
    }

    /// The pod waits for its claims no more; what is assumed stays until the objects change.
    pub fn end_promises(&mut self, pod: &Key) -> Vec<Promise> {
        let waiting = &mut self.storage.promises.waiting;
        let (own, others) = std::mem::take(waiting)
            .into_iter()
            .partition(|own| own.pod == *pod);
        *waiting = others;
        own
    }
}
