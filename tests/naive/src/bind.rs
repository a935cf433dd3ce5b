//! What the volume controllers make of a placed pod's claims.
//!
//! Mirrors what `pkg/controller/volume/persistentvolume` and a CSI driver's provisioner leave behind:
//! a claim that is bound to its volume. Everything succeeds at once; capacity objects stay as they are.

use berth_core::object::{
    BIND_COMPLETED, ClaimReference, NodeSelector, NodeSelectorTerm, ObjectMeta, PersistentVolume,
    PersistentVolumeClaim, PersistentVolumeSpec, Requirement, SELECTED_NODE, VolumeNodeAffinity,
    VolumeSource, VolumeStatus,
};

const ZONE: &str = "topology.kubernetes.io/zone";

/// Binds the claim and the volume to each other.
pub fn bind(volume: &mut PersistentVolume, claim: &mut PersistentVolumeClaim) {
    let metadata = &claim.metadata;
    volume.spec.claim_ref = Some(ClaimReference {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
    });
    "Bound".clone_into(&mut volume.status.phase);
    claim.spec.volume_name.clone_from(&volume.metadata.name);
    let annotations = &mut claim.metadata.annotations;
    annotations.insert(BIND_COMPLETED.to_owned(), "yes".to_owned());
    "Bound".clone_into(&mut claim.status.phase);
}

/// The volume that is provisioned for a claim, which becomes bound to it: of the claim's class, size
/// and access modes, `provisioner` its driver, in the zone of the selected node if that is in one.
pub fn provision(
    claim: &mut PersistentVolumeClaim,
    provisioner: &str,
    node: &str,
    zone: Option<&str>,
) -> PersistentVolume {
    let annotations = &mut claim.metadata.annotations;
    annotations.insert(SELECTED_NODE.to_owned(), node.to_owned());
    let name = volume_name(claim);
    let mut metadata = ObjectMeta {
        uid: name.clone(),
        name: name.clone(),
        ..ObjectMeta::default()
    };
    let mut affinity = VolumeNodeAffinity::default();
    if let Some(zone) = zone {
        metadata.labels.insert(ZONE.to_owned(), zone.to_owned());
        affinity.required = Some(in_zone(zone));
    }
    let mut volume = PersistentVolume {
        metadata,
        spec: PersistentVolumeSpec {
            capacity: claim.spec.resources.requests.clone(),
            access_modes: claim.spec.access_modes.clone(),
            storage_class_name: claim.class().to_owned(),
            volume_mode: claim.spec.volume_mode.clone(),
            volume_attributes_class_name: claim.spec.volume_attributes_class_name.clone(),
            node_affinity: affinity,
            csi: Some(VolumeSource {
                driver: provisioner.to_owned(),
                volume_handle: name,
                ..VolumeSource::default()
            }),
            ..PersistentVolumeSpec::default()
        },
        status: VolumeStatus::default(),
    };
    bind(&mut volume, claim);
    volume
}

/// The name of the volume that is provisioned for a claim.
pub fn volume_name(claim: &PersistentVolumeClaim) -> String {
    let metadata = &claim.metadata;
    format!("dyn-{}-{}", metadata.namespace, metadata.name)
}

fn in_zone(zone: &str) -> NodeSelector {
    NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_expressions: vec![Requirement {
                key: ZONE.to_owned(),
                operator: "In".to_owned(),
                values: vec![zone.to_owned()],
            }],
            ..NodeSelectorTerm::default()
        }],
    }
}
