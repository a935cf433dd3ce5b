//! What administrators, users and another scheduler do to storage.

use super::Simulation;
use super::controllers::{claim_id, uses, volume_id};
use crate::fault::Fault;
use crate::random::Random;
use crate::server::Key;
use crate::storage::{self, CLASSES, COUNTED, DRIVERS, HOST, MUST, ZONE};
use berth_core::object::{ClaimReference, Object, PersistentVolumeClaim};
use berth_test_support::generate::pool::NAMESPACES;

impl Simulation {
    /// Classes and drivers are there from the beginning.
    pub(super) fn lay_out(&mut self) {
        let Some(setup) = self.setup.storage.clone() else {
            return;
        };
        let mut random = Random::part(setup.timeout, self.setup.seed);
        for at in &setup.classes {
            let class = setup.storage_class(CLASSES[*at].0, &mut random);
            self.server.put(Object::StorageClass(class));
        }
        for name in DRIVERS {
            let driver = storage::csi_driver(name, name == COUNTED, name == MUST);
            self.server.put(Object::CsiDriver(driver));
        }
    }

    pub(super) fn change_storage(&mut self, random: &mut Random) {
        let Some(setup) = self.setup.storage.clone() else {
            return;
        };
        match random.below(20) {
            0 => {
                let name = setup.class(random).0;
                let class = setup.storage_class(name, random);
                self.put_or_delete(Object::StorageClass(class), 6, random);
            }
            1..=4 => self.create_volume(random),
            5 => {
                let names: Vec<String> = self
                    .server
                    .volumes()
                    .map(|own| own.metadata.name.clone())
                    .collect();
                if let Some(name) = random.pick(&names) {
                    self.server.delete(&volume_id(name));
                }
            }
            6..=10 => self.create_claim(random),
            11 => self.delete_claim(random),
            12 | 13 => {
                if let Some(node) = self.any_node(random) {
                    let object = setup.csi_node(&node.metadata.name, random);
                    self.put_or_delete(Object::CsiNode(object), 6, random);
                }
            }
            14 => {
                let name = random.choose(&DRIVERS);
                let (counts, must) = (random.one_in(2), random.one_in(2));
                let counts = counts && name == COUNTED;
                let driver = storage::csi_driver(name, counts, must && name == MUST);
                self.put_or_delete(Object::CsiDriver(driver), 6, random);
            }
            15..=17 => {
                if let Some(node) = self.any_node(random) {
                    let size = storage::gibibytes(random.below(6));
                    let object = storage::capacity(&node.metadata.name, size);
                    self.put_or_delete(Object::CsiStorageCapacity(object), 5, random);
                }
            }
            _ => {
                let free = self
                    .server
                    .volumes()
                    .filter(|own| own.spec.claim_ref.is_none());
                let names: Vec<String> = free.map(|own| own.metadata.name.clone()).collect();
                if let Some(name) = random.pick(&names) {
                    self.take_volume(name, random);
                }
            }
        }
    }

    fn put_or_delete(&mut self, object: Object, one_in: usize, random: &mut Random) {
        if random.one_in(one_in) {
            self.server.delete(&crate::server::id_of(&object));
        } else {
            self.server.put(object);
        }
    }

    fn create_volume(&mut self, random: &mut Random) {
        let Some(setup) = self.setup.storage.clone() else {
            return;
        };
        if self.server.volumes().count() >= setup.most {
            return;
        }
        self.volumes_ever += 1;
        let name = format!("v{}", self.volumes_ever);
        let node = self.any_node(random).map(|node| node.metadata.name);
        let label = match random.below(4) {
            0 | 1 => node.as_deref().map(|name| (HOST, name)),
            2 => Some((ZONE, storage::zone(random))),
            _ => None,
        };
        let size = storage::gibibytes(1 + random.below(6));
        let volume = storage::volume(&name, setup.class(random).0, size, label);
        self.server.put(Object::PersistentVolume(Box::new(volume)));
    }

    /// A claim that pods may name, or one of a pod that is there.
    fn create_claim(&mut self, random: &mut Random) {
        let Some(setup) = self.setup.storage.clone() else {
            return;
        };
        let named = self.server.pods().flat_map(|pod| {
            let namespace = &pod.metadata.namespace;
            let plain = storage::claims_of(pod).filter(|(_, is_own)| !is_own);
            plain.map(|(name, _)| (namespace.clone(), name))
        });
        let missing: Vec<Key> = named
            .filter(|key| self.server.claim(key).is_none())
            .collect();
        let key = random.pick(&missing).cloned().unwrap_or_else(|| {
            let number = random.below(setup.shared_claims);
            let namespace = random.choose(&NAMESPACES[..2]);
            (namespace.to_owned(), format!("c{number}"))
        });
        if self.server.claim(&key).is_none() {
            let claim = setup.claim(&key.0, &key.1, random);
            self.put_claim(claim);
        }
    }

    /// The claims that a new pod names, mostly.
    pub(super) fn claim_for(&mut self, namespace: &str, names: Vec<String>, random: &mut Random) {
        let Some(setup) = self.setup.storage.clone() else {
            return;
        };
        for name in names {
            let key = (namespace.to_owned(), name);
            if self.server.claim(&key).is_none() && !random.one_in(5) {
                let claim = setup.claim(&key.0, &key.1, random);
                self.put_claim(claim);
            }
        }
    }

    /// A claim that a pod uses is gone with the pod.
    fn delete_claim(&mut self, random: &mut Random) {
        let claims: Vec<PersistentVolumeClaim> = self.server.claims().cloned().collect();
        let Some(mut claim) = random.pick(&claims).cloned() else {
            return;
        };
        let meta = &mut claim.metadata;
        let id = claim_id(&meta.namespace, &meta.name);
        meta.deletion_timestamp = Some("2026-01-01T00:00:00Z".into());
        if self.server.pods().any(|pod| uses(pod, &claim)) {
            self.server
                .put(Object::PersistentVolumeClaim(Box::new(claim)));
        } else {
            self.server.delete(&id);
        }
    }

    /// Another scheduler may keep a free volume for a claim that has none, or for one that nobody knows.
    pub(super) fn take_volume(&mut self, name: &str, random: &mut Random) {
        if !random.percent(self.setup.rate) || !self.may(Fault::VolumeTaken) {
            return;
        }
        let free = self
            .server
            .volume(name)
            .filter(|own| own.spec.claim_ref.is_none());
        let Some(mut volume) = free.cloned() else {
            return;
        };
        self.counts.count(Fault::VolumeTaken);
        let open = self
            .server
            .claims()
            .filter(|own| own.spec.volume_name.is_empty() && own.class() == volume.class());
        let open: Vec<_> = open.map(|own| own.metadata.clone()).collect();
        let mut kept = ClaimReference {
            namespace: "default".into(),
            name: "foreign".into(),
            uid: "foreign".into(),
        };
        if let Some(meta) = random.pick(&open) {
            kept.namespace.clone_from(&meta.namespace);
            kept.name.clone_from(&meta.name);
            kept.uid.clone_from(&meta.uid);
        }
        volume.spec.claim_ref = Some(kept);
        self.server.put(Object::PersistentVolume(Box::new(volume)));
    }
}
