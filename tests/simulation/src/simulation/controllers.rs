//! The model's controllers of volumes: they bind claims, provision, attach, and clean up. They know
//! the server alone.

use super::Simulation;
use crate::fault::Fault;
use crate::random::Random;
use crate::server::Key;
use crate::storage::{self, BY_HAND, HOST, ZONE};
use berth_core::object::{
    BIND_COMPLETED, ClaimReference, Object, PersistentVolume, PersistentVolumeClaim, Pod,
    SELECTED_NODE, VolumeAttachment,
};
use std::collections::BTreeSet;

/// Rounds after which controllers that are left alone have nothing to do.
const ROUNDS: usize = 20;

impl Simulation {
    /// One controller looks at everything, and acts on some of it.
    pub(super) fn control(&mut self, random: &mut Random) {
        match random.below(7) {
            0 | 1 => self.bind_claims(random),
            2 => self.provision(random),
            3 => self.lose_claims(),
            4 => self.own_claims(random),
            5 => self.attach(random),
            _ => self.register(random),
        }
    }

    /// All controllers act until none has anything to do.
    pub(super) fn control_all(&mut self, random: &mut Random) {
        for _ in 0..ROUNDS {
            let before = self.server.version;
            self.bind_claims(random);
            self.provision(random);
            self.lose_claims();
            self.own_claims(random);
            self.attach(random);
            self.register(random);
            if self.server.version == before {
                break;
            }
        }
    }

    fn acts(&self, random: &mut Random) -> bool {
        self.calm || random.one_in(2)
    }

    /// Volumes that name a claim are bound to it, or given back.
    fn bind_claims(&mut self, random: &mut Random) {
        let volumes: Vec<PersistentVolume> = self.server.volumes().cloned().collect();
        for mut volume in volumes {
            let Some(kept) = volume.spec.claim_ref.clone() else {
                continue;
            };
            if !self.acts(random) {
                continue;
            }
            let name = volume.metadata.name.clone();
            let key: Key = (kept.namespace, kept.name);
            let claim = self.server.claim(&key);
            let claim = claim
                .filter(|claim| claim.metadata.uid == kept.uid)
                .cloned();
            let own = |claim: &PersistentVolumeClaim| claim.spec.volume_name.clone();
            match claim.as_ref().map(own) {
                Some(other) if other.is_empty() || other == name => {
                    if volume.status.phase != "Bound" {
                        "Bound".clone_into(&mut volume.status.phase);
                        self.server.put(Object::PersistentVolume(Box::new(volume)));
                    }
                    let Some(mut claim) = claim.filter(|claim| claim.status.phase != "Bound")
                    else {
                        continue;
                    };
                    claim.spec.volume_name = name;
                    let annotations = &mut claim.metadata.annotations;
                    annotations.insert(BIND_COMPLETED.into(), "yes".into());
                    claim.status.phase = "Bound".into();
                    self.server
                        .put(Object::PersistentVolumeClaim(Box::new(claim)));
                }
                // Of a claim that is gone, or has another volume.
                _ if name.starts_with("pvc-") => {
                    self.server.delete(&volume_id(&name));
                }
                None if volume.status.phase == "Bound" => {
                    volume.status.phase = "Released".into();
                    self.server.put(Object::PersistentVolume(Box::new(volume)));
                }
                _ => {
                    volume.spec.claim_ref = None;
                    volume.status.phase = "Available".into();
                    self.server.put(Object::PersistentVolume(Box::new(volume)));
                }
            }
        }
    }

    /// Claims without a volume get one: at once, or for the node that was selected.
    fn provision(&mut self, random: &mut Random) {
        let claims: Vec<PersistentVolumeClaim> = self.server.claims().cloned().collect();
        for mut claim in claims {
            let meta = &claim.metadata;
            let has_volume = self.server.volumes().any(|volume| {
                let kept = volume.spec.claim_ref.as_ref();
                kept.is_some_and(|kept| kept.uid == meta.uid)
            });
            let is_open = claim.spec.volume_name.is_empty() && meta.deletion_timestamp.is_none();
            if has_volume || !is_open || !self.acts(random) {
                continue;
            }
            let id = ("StorageClass", String::new(), claim.class().to_owned());
            let class = match self.server.objects.get(&id).map(|own| &own.object) {
                Some(Object::StorageClass(class)) => Some(class.clone()),
                _ => None,
            };
            let makes = class.as_ref().is_some_and(|own| own.provisioner != BY_HAND);
            let at_once =
                class.is_some_and(|own| own.volume_binding_mode.as_deref() == Some("Immediate"));
            if at_once {
                self.bind_at_once(&claim, random);
                continue;
            }
            let Some(node) = meta.annotations.get(SELECTED_NODE).cloned() else {
                continue;
            };
            let there = self
                .server
                .node(&node)
                .map(|node| node.metadata.labels.clone());
            // Rare as it is that a claim waits for its volume, every other one fails.
            let fails = random.one_in(2) && self.may(Fault::ProvisioningFailed);
            if fails {
                self.counts.count(Fault::ProvisioningFailed);
            }
            let Some(labels) = there.filter(|_| makes && !fails) else {
                claim.metadata.annotations.remove(SELECTED_NODE);
                self.server
                    .put(Object::PersistentVolumeClaim(Box::new(claim)));
                continue;
            };
            let label = [ZONE, HOST].into_iter().find_map(|label| {
                let value = labels.get(label)?;
                Some((label, value.as_str()))
            });
            self.make_volume(&claim, label);
        }
    }

    fn bind_at_once(&mut self, claim: &PersistentVolumeClaim, random: &mut Random) {
        let request = claim.spec.resources.requests.get("storage");
        let fits = |volume: &&PersistentVolume| {
            volume.spec.claim_ref.is_none()
                && volume.status.phase == "Available"
                && volume.class() == claim.class()
                && volume.spec.capacity.get("storage") >= request
        };
        let found = self.server.volumes().find(fits).cloned();
        if let Some(mut volume) = found {
            volume.spec.claim_ref = Some(reference(claim));
            self.server.put(Object::PersistentVolume(Box::new(volume)));
        } else {
            let zone = storage::zone(random);
            self.make_volume(claim, Some((ZONE, zone)));
        }
    }

    fn make_volume(&mut self, claim: &PersistentVolumeClaim, label: Option<(&str, &str)>) {
        let request = claim.spec.resources.requests.get("storage");
        let name = format!("pvc-{}", claim.metadata.uid);
        let size = request.copied().unwrap_or_default();
        let mut volume = storage::volume(&name, claim.class(), size, label);
        volume.spec.claim_ref = Some(reference(claim));
        self.server.put(Object::PersistentVolume(Box::new(volume)));
    }

    /// Claims whose volume is gone.
    fn lose_claims(&mut self) {
        let is_lost = |claim: &&PersistentVolumeClaim| {
            let name = &claim.spec.volume_name;
            !name.is_empty() && claim.status.phase != "Lost" && self.server.volume(name).is_none()
        };
        let lost: Vec<_> = self.server.claims().filter(is_lost).cloned().collect();
        for mut claim in lost {
            claim.status.phase = "Lost".into();
            self.server
                .put(Object::PersistentVolumeClaim(Box::new(claim)));
        }
    }

    /// Claims of ephemeral volumes are made with their pod and go with it; a claim that is being
    /// deleted goes when no pod uses it.
    fn own_claims(&mut self, random: &mut Random) {
        let Some(setup) = self.setup.storage.clone() else {
            return;
        };
        let pods: Vec<Pod> = self.server.pods().cloned().collect();
        for pod in &pods {
            let namespace = &pod.metadata.namespace;
            for (name, is_own) in storage::claims_of(pod) {
                let key = (namespace.clone(), name.clone());
                if is_own && self.server.claim(&key).is_none() && self.acts(random) {
                    let mut claim = setup.claim(namespace, &name, random);
                    claim.metadata.owner_references = vec![storage::owner(pod)];
                    self.put_claim(claim);
                }
            }
        }
        let is_over = |claim: &&PersistentVolumeClaim| {
            let meta = &claim.metadata;
            let owner = meta.owner_references.first();
            let orphan =
                owner.is_some_and(|own| pods.iter().all(|pod| pod.metadata.uid != own.uid));
            let used = pods.iter().any(|pod| uses(pod, claim));
            orphan || meta.deletion_timestamp.is_some() && !used
        };
        let over: Vec<_> = self.server.claims().filter(is_over).cloned().collect();
        for claim in over {
            self.server
                .delete(&claim_id(&claim.metadata.namespace, &claim.metadata.name));
        }
    }

    /// Claims get a UID that no other claim ever has.
    pub(super) fn put_claim(&mut self, mut claim: PersistentVolumeClaim) {
        self.uids += 1;
        claim.metadata.uid = format!("u{}", self.uids);
        self.server
            .put(Object::PersistentVolumeClaim(Box::new(claim)));
    }

    /// Volumes of running pods are attached, others detached.
    fn attach(&mut self, random: &mut Random) {
        let mut wanted = BTreeSet::new();
        for pod in self.server.pods() {
            let node = &pod.spec.node_name;
            if node.is_empty() || pod.status.is_finished() {
                continue;
            }
            for (name, _) in storage::claims_of(pod) {
                let key = (pod.metadata.namespace.clone(), name);
                let claim = self.server.claim(&key);
                let volume = claim.and_then(|own| self.server.volume(&own.spec.volume_name));
                let csi = volume.and_then(|own| Some((own, own.spec.csi.as_ref()?)));
                if let Some((volume, csi)) = csi {
                    let volume = volume.metadata.name.clone();
                    wanted.insert((volume, node.clone(), csi.driver.clone()));
                }
            }
        }
        let attachment = |(volume, node, driver): &(String, String, String)| {
            let mut object = VolumeAttachment {
                metadata: storage::meta("", &format!("at-{volume}-{node}")),
                ..VolumeAttachment::default()
            };
            object.spec.attacher.clone_from(driver);
            object.spec.node_name.clone_from(node);
            object.spec.source.persistent_volume_name = Some(volume.clone());
            Object::VolumeAttachment(object)
        };
        let wanted: Vec<Object> = wanted.iter().map(attachment).collect();
        let there = self.server.list("VolumeAttachment");
        let stale: Vec<_> = there
            .filter(|(_, own)| !wanted.contains(&own.object))
            .map(|(id, _)| id.clone())
            .collect();
        for id in stale {
            if self.acts(random) {
                self.server.delete(&id);
            }
        }
        for object in wanted {
            let is_there = self
                .server
                .objects
                .contains_key(&crate::server::id_of(&object));
            if !is_there && self.acts(random) {
                self.server.put(object);
            }
        }
    }

    /// Nodes tell their drivers, some of them late.
    fn register(&mut self, random: &mut Random) {
        let Some(setup) = self.setup.storage.clone() else {
            return;
        };
        let there: Vec<String> = self
            .server
            .list("CSINode")
            .map(|(id, _)| id.2.clone())
            .collect();
        for name in &there {
            if !self.server.has_node(name) {
                self.server
                    .delete(&("CSINode", String::new(), name.clone()));
            }
        }
        let nodes = self.server.nodes().map(|node| node.metadata.name.clone());
        let missing: Vec<String> = nodes.filter(|name| !there.contains(name)).collect();
        for name in missing {
            if !self.strikes(random, Fault::CsiNodeLate) {
                let object = setup.csi_node(&name, random);
                self.server.put(Object::CsiNode(object));
            }
        }
    }
}

fn reference(claim: &PersistentVolumeClaim) -> ClaimReference {
    let meta = &claim.metadata;
    ClaimReference {
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
    }
}

/// Whether the pod runs, or is to, with the claim.
pub(super) fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let meta = &claim.metadata;
    pod.metadata.namespace == meta.namespace
        && !pod.status.is_finished()
        && storage::claims_of(pod).any(|(name, _)| name == meta.name)
}

/// The identity of a volume.
pub(super) fn volume_id(name: &str) -> crate::server::Id {
    ("PersistentVolume", String::new(), name.to_owned())
}

/// The identity of a claim.
pub(super) fn claim_id(namespace: &str, name: &str) -> crate::server::Id {
    (
        "PersistentVolumeClaim",
        namespace.to_owned(),
        name.to_owned(),
    )
}
