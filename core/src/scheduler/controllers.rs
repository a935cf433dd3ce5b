//! The volume controllers' part, for callers that play the API server: claims are bound at once.
//!
//! Mirrors what `pkg/controller/volume/persistentvolume` and a CSI driver's provisioner leave behind: a
//! claim and a volume that name each other. Provisioning always succeeds; objects that say how much
//! room there is stay as they are. Claims that have a phase have been through a real API server, and
//! without a pod they stay as its controllers left them.

use super::{ApplyError, Change, Scheduler, VolumeAction};
use crate::decision::BoundClaim;
use crate::id::PodId;
use crate::intern::{Word, word_text};
use crate::object::defaults::DefaultClass;
use crate::object::{
    ClaimReference, NodeSelector, NodeSelectorTerm, Object, ObjectMeta, PersistentVolume,
    PersistentVolumeSpec, Requirement, VolumeNodeAffinity, VolumeSource, VolumeStatus,
};
use crate::quantity::Quantity;
use crate::queue::event::VolumeSide;
use crate::selector::{LabelsView, word_of};
use crate::volume::VolumeKind;
use crate::volume::record::{ClaimView, VolumeView};
use crate::volume::storage::BindingMode;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

const ZONE: &str = "topology.kubernetes.io/zone";

/// Namespace and name.
type ClaimKey = [Word; 2];

impl Scheduler {
    /// The StorageClass of claims that name none.
    pub fn default_class(&self) -> Option<DefaultClass> {
        let (name, since) = self.cluster.volumes.default_class()?;
        let name = self.text(name).to_owned();
        Some(DefaultClass { name, since })
    }

    /// What [`volume_actions`](Self::volume_actions) bind, in their order; the name of a volume that
    /// is provisioned is there once the claim is bound.
    pub fn volumes_of(&self, pod: PodId) -> impl Iterator<Item = BoundClaim> {
        let cluster = &self.cluster;
        let text = |word: Word| word_text(word).map_or("", |text| cluster.texts.text(text));
        cluster.volumes.bindings_of(pod).map(move |binding| {
            let [namespace, name] = binding.claim;
            let provisioned = binding.volume == 0;
            let volume = if provisioned {
                let claim = cluster.volumes.claim(namespace, name);
                claim.map_or(0, |claim| claim.volume)
            } else {
                binding.volume
            };
            BoundClaim {
                claim: format!("{}/{}", text(namespace), text(name)),
                volume: (volume != 0).then(|| text(volume).to_owned()),
                provisioned,
            }
        })
    }

    /// Does what [`volume_actions`](Self::volume_actions) ask for, and what the controllers make of it:
    /// the claims of a placed pod are bound. Claims that are bound already stay so.
    ///
    /// # Errors
    /// A table is full. What was bound stays bound, and a second call does the rest.
    pub fn bind_volumes(&mut self, pod: PodId) -> Result<(), ApplyError> {
        let bindings: Vec<_> = self.cluster.volumes.bindings_of(pod).collect();
        let mut bindings = bindings.into_iter();
        bindings.try_for_each(|own| self.bind_delayed(own.claim, own.volume, own.node))
    }

    /// The same for one action, whichever pod it is for. One that names what is not there has no
    /// effect.
    ///
    /// # Errors
    /// As [`bind_volumes`](Self::bind_volumes).
    pub fn carry_out(&mut self, action: VolumeAction<'_>) -> Result<(), ApplyError> {
        let (VolumeAction::BindVolume {
            namespace, claim, ..
        }
        | VolumeAction::SelectNode {
            namespace, claim, ..
        }) = action;
        let word = |text: &str| word_of(&self.cluster.texts, text);
        let claim = word(namespace).zip(word(claim));
        let target = match action {
            VolumeAction::BindVolume { volume, .. } => word(volume).map(|volume| (volume, 0)),
            VolumeAction::SelectNode { node, .. } => word(node).map(|node| (0, node)),
        };
        let Some(((namespace, claim), (volume, node))) = claim.zip(target) else {
            return Ok(());
        };
        self.bind_delayed([namespace, claim], volume, node)
    }

    /// Binds claims that no pod has to wait for and no API server has seen: one that names a volume,
    /// one that a volume is kept for, and those of classes that bind at once, each to the smallest
    /// volume that fits or to one that is provisioned. `only` is namespace and name of the claim that
    /// is looked at; without it all are, by name.
    ///
    /// Of volumes with equally few access modes the smallest is taken, of equal ones the first by name.
    /// A volume is provisioned in the zone of some node that the class allows, in none if it allows all.
    ///
    /// # Errors
    /// As [`bind_volumes`](Self::bind_volumes).
    pub fn bind_claims(&mut self, only: Option<(&str, &str)>) -> Result<(), ApplyError> {
        let mut claims = self.new_claims(only);
        if claims.is_empty() {
            return Ok(());
        }
        claims.sort_unstable_by(|a, b| self.texts_of(*a).cmp(&self.texts_of(*b)));
        let mut free = self.free_volumes();
        for claim in claims {
            if let Some(place) = self.volume_for(claim, &free) {
                let [.., volume] = self.cluster.volumes.table.key(place);
                self.bind_both(claim, volume, 0)?;
                free.retain(|own| *own != place);
            } else {
                self.provision_at_once(claim)?;
            }
        }
        Ok(())
    }

    fn texts_of(&self, [namespace, name]: ClaimKey) -> [&str; 2] {
        [namespace, name].map(|word| self.text(word))
    }

    fn text(&self, word: Word) -> &str {
        word_text(word).map_or("", |text| self.cluster.texts.text(text))
    }

    fn claim(&self, [namespace, name]: ClaimKey) -> Option<ClaimView<'_>> {
        self.cluster.volumes.claim(namespace, name)
    }

    fn bind_delayed(
        &mut self,
        claim: ClaimKey,
        volume: Word,
        node: Word,
    ) -> Result<(), ApplyError> {
        let Some(view) = self.claim(claim) else {
            return Ok(());
        };
        if view.is_bound() {
            // A pod may name a claim twice. What was promised the second time is written all the same;
            // the claim keeps its volume.
            let own = view.volume;
            return match volume {
                0 if view.selected_node() == Some(node) => Ok(()),
                0 => self.bind_both(claim, own, node),
                _ if volume == own => Ok(()),
                _ => self.bind_half(VolumeKind::Volume, claim, volume, 0),
            };
        }
        if volume != 0 {
            return self.bind_both(claim, volume, 0);
        }
        let row = self.cluster.row_of_word(node);
        let zone = row.and_then(|row| self.zone_of(self.cluster.labels_of(row)));
        self.provision(claim, zone, node)
    }

    /// Writes a claim's name into a volume, then the volume's into the claim.
    fn bind_both(&mut self, claim: ClaimKey, volume: Word, node: Word) -> Result<(), ApplyError> {
        self.bind_half(VolumeKind::Volume, claim, volume, node)?;
        self.bind_half(VolumeKind::Claim, claim, volume, node)
    }

    /// One of the two; nothing if the volume is not there.
    fn bind_half(
        &mut self,
        kind: VolumeKind,
        claim: ClaimKey,
        volume: Word,
        node: Word,
    ) -> Result<(), ApplyError> {
        if self.cluster.volumes.find_volume(volume).is_none() {
            return Ok(());
        }
        self.queue.check_room(VolumeSide::WORDS)?;
        let cluster = &mut self.cluster;
        let (volumes, writer) = (&mut cluster.volumes, &mut cluster.writer);
        let texts = &mut cluster.texts;
        let [namespace, name] = if kind == VolumeKind::Volume {
            volumes.bind_volume(volume, claim, writer, texts)?;
            [0, volume]
        } else {
            volumes.bind_claim(claim, volume, node, writer, texts)?;
            claim
        };
        let side = VolumeSide {
            namespace,
            name,
            changes: 0,
        };
        self.tell_volume(Change::Modified, kind, side);
        Ok(())
    }

    /// A volume of the claim's class, size and access modes is made for it, in a zone.
    fn provision(
        &mut self,
        claim: ClaimKey,
        zone: Option<String>,
        node: Word,
    ) -> Result<(), ApplyError> {
        let Some(volume) = self.provisioned(claim, zone) else {
            return Ok(());
        };
        let name = volume.metadata.name.clone();
        let change = if self.cluster.has_volume(VolumeKind::Volume, "", &name) {
            Change::Modified
        } else {
            Change::Added
        };
        let volume = Object::PersistentVolume(Box::new(volume));
        self.apply_volume(change, VolumeKind::Volume, &volume)?;
        match word_of(&self.cluster.texts, &name) {
            Some(volume) => self.bind_both(claim, volume, node),
            None => Ok(()),
        }
    }

    fn provisioned(&self, key: ClaimKey, zone: Option<String>) -> Option<PersistentVolume> {
        let claim = self.claim(key)?;
        let class = self.cluster.volumes.class(claim.class)?;
        let [namespace, claim_name] = self.texts_of(key);
        let name = format!("dyn-{namespace}-{claim_name}");
        let mut metadata = ObjectMeta {
            uid: name.clone(),
            name: name.clone(),
            ..ObjectMeta::default()
        };
        let mut node_affinity = VolumeNodeAffinity::default();
        if let Some(zone) = zone {
            metadata.labels.insert(ZONE.to_owned(), zone.clone());
            node_affinity.required = Some(in_zone(zone));
        }
        let request = ("storage".to_owned(), Quantity::from_nanos(claim.request));
        let named = |word: Word| (word != 0).then(|| self.text(word).to_owned());
        Some(PersistentVolume {
            metadata,
            spec: PersistentVolumeSpec {
                capacity: claim.has_request().then_some(request).into_iter().collect(),
                access_modes: claim.access_mode_names().map(str::to_owned).collect(),
                claim_ref: Some(ClaimReference {
                    namespace: namespace.to_owned(),
                    name: claim_name.to_owned(),
                    uid: self.text(claim.uid).to_owned(),
                }),
                storage_class_name: self.text(claim.class).to_owned(),
                volume_mode: named(claim.mode),
                volume_attributes_class_name: named(claim.attributes_class),
                node_affinity,
                csi: Some(VolumeSource {
                    driver: self.text(class.provisioner).to_owned(),
                    volume_handle: name,
                    ..VolumeSource::default()
                }),
                ..PersistentVolumeSpec::default()
            },
            status: VolumeStatus {
                phase: "Bound".to_owned(),
            },
        })
    }

    fn zone_of(&self, labels: LabelsView<'_>) -> Option<String> {
        let key = word_of(&self.cluster.texts, ZONE)?;
        Some(self.text(labels.value(key)?).to_owned())
    }

    /// Claims that are not bound and that no API server has seen.
    fn new_claims(&self, only: Option<(&str, &str)>) -> Vec<ClaimKey> {
        let volumes = &self.cluster.volumes;
        if !volumes.has_open_claims() {
            return Vec::new();
        }
        if let Some((namespace, name)) = only {
            let word = |text: &str| word_of(&self.cluster.texts, text);
            let key = word(namespace).zip(word(name));
            let key = key.filter(|(namespace, name)| {
                let claim = volumes.claim(*namespace, *name);
                claim.is_some_and(|claim| claim.is_open())
            });
            return key.into_iter().map(<[Word; 2]>::from).collect();
        }
        let claims = volumes.table.of_kind(VolumeKind::Claim as Word);
        let claims =
            claims.filter(|(_, words)| ClaimView::read(words).is_some_and(|claim| claim.is_open()));
        let keys = claims.map(|(place, _)| volumes.table.key(place));
        keys.map(|[_, namespace, name]| [namespace, name]).collect()
    }

    /// Places of volumes that a claim may get: fewest access modes first, then the smallest, then by
    /// name.
    fn free_volumes(&self) -> Vec<u32> {
        let volumes = &self.cluster.volumes;
        let free = volumes.volumes().filter(|(_, own)| own.is_available());
        let mut free: Vec<_> = free
            .map(|(place, own)| {
                let [.., name] = volumes.table.key(place);
                let modes = own.access_modes.count_ones();
                ((modes, own.capacity, self.text(name)), place)
            })
            .collect();
        free.sort_unstable();
        free.into_iter().map(|(_, place)| place).collect()
    }

    /// The place of the volume that is there for a claim. Mirrors `syncUnboundClaim`.
    fn volume_for(&self, key: ClaimKey, free: &[u32]) -> Option<u32> {
        let (state, texts) = (&self.cluster.volumes, &self.cluster.texts);
        let claim = self.claim(key)?;
        // `None`: it is nobody's.
        let is_kept = |place: u32, volume: &VolumeView<'_>| {
            let [namespace, name, uid] = state.claim_of(place, volume)?;
            Some([namespace, name] == key && (uid == 0 || uid == claim.uid))
        };
        let is_free = |volume: &VolumeView<'_>| {
            volume.class == claim.class && volume.fits(&claim, false, texts)
        };
        if claim.volume != 0 {
            let place = state.find_volume(claim.volume)?;
            let volume = state.volume_at(place)?;
            let may = is_kept(place, &volume).unwrap_or_else(|| is_free(&volume));
            return may.then_some(place);
        }
        let delayed = self.waits_for_pod(&claim);
        let rank = |place: u32| {
            let volume = state.volume_at(place)?;
            let kept = is_kept(place, &volume);
            let may = match kept {
                Some(kept) => {
                    kept && volume.has_modes_of(&claim) && volume.fits(&claim, true, texts)
                }
                None => !delayed && is_free(&volume),
            };
            may.then(|| (volume.access_modes.count_ones(), kept.is_none()))
        };
        let ranked = free
            .iter()
            .filter_map(|place| Some((rank(*place)?, *place)));
        let first = ranked.min_by_key(|(rank, _)| *rank);
        first.map(|(_, place)| place)
    }

    fn waits_for_pod(&self, claim: &ClaimView<'_>) -> bool {
        let class = self.cluster.volumes.class(claim.class);
        class.is_some_and(|class| class.mode == BindingMode::WaitForFirstConsumer)
    }

    /// Provisions for a claim whose class does so without a pod.
    fn provision_at_once(&mut self, key: ClaimKey) -> Result<(), ApplyError> {
        let Some(claim) = self.claim(key) else {
            return Ok(());
        };
        let class = self.cluster.volumes.class(claim.class);
        let Some(class) = class.filter(|class| class.provisions && claim.volume == 0) else {
            return Ok(());
        };
        if self.waits_for_pod(&claim) {
            return Ok(());
        }
        let mut zone = None;
        if !class.topologies.is_empty() {
            let nodes = self.nodes().map(|node| self.cluster.labels_of(node.0));
            let mut allowed = nodes.filter(|labels| class.allows(*labels, &self.cluster.texts));
            let Some(labels) = allowed.next() else {
                return Ok(());
            };
            zone = self.zone_of(labels);
        }
        self.provision(key, zone, 0)
    }
}

fn in_zone(zone: String) -> NodeSelector {
    NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_expressions: vec![Requirement {
                key: ZONE.to_owned(),
                operator: "In".to_owned(),
                values: vec![zone],
            }],
            ..NodeSelectorTerm::default()
        }],
    }
}
