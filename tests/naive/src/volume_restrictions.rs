//! `VolumeRestrictions`. Mirrors `plugins/volumerestrictions/volume_restrictions.go`.

use crate::storage::claims_of;
use crate::{Cluster, NodeState, Refusal, Verdict};
use berth_core::object::{Pod, Volume, VolumeSource};
use std::collections::BTreeSet;

/// What keeps the pod from some node, or from all.
pub struct Conflicts {
    claim_in_use: bool,
}

/// `Ok(None)`: nothing to ask; an error is the reason of a refusal.
pub fn pre_filter(cluster: &Cluster, pod: &Pod) -> Result<Option<Conflicts>, String> {
    let mut exclusive = BTreeSet::new();
    for named in claims_of(pod).filter(|named| !named.is_ephemeral) {
        let claim = cluster.storage.claims.get(&named.key);
        let claim =
            claim.ok_or_else(|| format!("persistentvolumeclaim {:?} not found", named.key.1))?;
        let modes = &claim.spec.access_modes;
        if modes.iter().any(|mode| mode == "ReadWriteOncePod") {
            exclusive.insert(named.key);
        }
    }
    let claim_in_use = cluster.placed().any(|(_, placed)| {
        let mut used = claims_of(&placed.pod).filter(|named| !named.is_ephemeral);
        used.any(|named| exclusive.contains(&named.key))
    });
    let has_disk = pod.spec.volumes.iter().any(is_restricted);
    Ok((has_disk || claim_in_use).then_some(Conflicts { claim_in_use }))
}

pub fn filter(conflicts: &Conflicts, pod: &Pod, node: &NodeState) -> Verdict {
    let there = || node.pods.iter().flat_map(|placed| &placed.pod.spec.volumes);
    for own in &pod.spec.volumes {
        if there().any(|other| conflict(own, other)) {
            return Err(Refusal::unschedulable("node(s) had no available disk"));
        }
    }
    if conflicts.claim_in_use {
        return Err(Refusal::unschedulable(
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
             already in-use by another pod",
        ));
    }
    Ok(())
}

fn is_restricted(volume: &Volume) -> bool {
    let fields = ["gcePersistentDisk", "awsElasticBlockStore", "rbd", "iscsi"];
    fields
        .iter()
        .any(|field| volume.source.contains_key(*field))
}

/// Mirrors `isVolumeConflict`.
fn conflict(own: &Volume, other: &Volume) -> bool {
    let both = |field: &str, meet: fn(&VolumeSource, &VolumeSource) -> bool| {
        let pair = own.source.get(field).zip(other.source.get(field));
        pair.is_some_and(|(own, other)| meet(own, other))
    };
    both("gcePersistentDisk", |own, other| {
        own.pd_name == other.pd_name && !(own.read_only && other.read_only)
    }) || both("awsElasticBlockStore", |own, other| {
        own.volume_id == other.volume_id
    }) || both("iscsi", |own, other| {
        own.iqn == other.iqn && !(own.read_only && other.read_only)
    }) || both("rbd", |own, other| {
        // Pool and image have defaults, which an API server fills in.
        own.monitors.iter().any(|one| other.monitors.contains(one))
            && own.pool == other.pool
            && own.image == other.image
            && !(own.read_only && other.read_only)
    })
}
