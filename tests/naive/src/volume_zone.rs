//! `VolumeZone`. Mirrors `plugins/volumezone/volume_zone.go`.

use crate::storage::claims_of;
use crate::{Cluster, NodeState, Refusal, Verdict};
use berth_core::object::Pod;

const LABELS: [(&str, &str); 4] = [
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    (
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
];

/// A label of a bound volume: its place among [`LABELS`], and the zones.
pub type Topology = (usize, Vec<String>);

/// `Ok(None)`: no bound volume is in a zone; an error is the reason of a refusal.
pub fn pre_filter(cluster: &Cluster, pod: &Pod) -> Result<Option<Vec<Topology>>, String> {
    let storage = &cluster.storage;
    let mut topologies = Vec::new();
    for named in claims_of(pod).filter(|named| !named.is_ephemeral) {
        let claim = storage.claims.get(&named.key);
        let claim =
            claim.ok_or_else(|| format!("persistentvolumeclaim {:?} not found", named.key.1))?;
        let name = &claim.spec.volume_name;
        if name.is_empty() {
            let class = claim.class();
            if class.is_empty() {
                return Err("PersistentVolumeClaim had no pv name and storageClass name".into());
            }
            let found = storage.class(class);
            let found =
                found.ok_or_else(|| format!("storageclass.storage.k8s.io {class:?} not found"))?;
            match found.volume_binding_mode.as_deref() {
                None => {
                    return Err(format!(
                        "VolumeBindingMode not set for StorageClass {class:?}"
                    ));
                }
                Some("WaitForFirstConsumer") => continue,
                Some(_) => return Err("PersistentVolume had no name".into()),
            }
        }
        let volume = storage.volume(name);
        let volume = volume.ok_or_else(|| format!("persistentvolume {name:?} not found"))?;
        for (place, (key, _)) in LABELS.iter().enumerate() {
            let Some(value) = volume.metadata.labels.get(*key) else {
                continue;
            };
            let zones: Vec<String> = value.split("__").map(|zone| zone.trim().into()).collect();
            if zones.iter().all(|zone| !zone.is_empty()) {
                topologies.push((place, zones));
            }
        }
    }
    Ok((!topologies.is_empty()).then_some(topologies))
}

pub fn filter(topologies: &[Topology], node: &NodeState) -> Verdict {
    let labels = node.labels();
    if LABELS.iter().all(|(key, _)| !labels.contains_key(*key)) {
        return Ok(());
    }
    for (place, zones) in topologies {
        let (key, stable) = LABELS[*place];
        let own = labels.get(key).or_else(|| labels.get(stable));
        if !own.is_some_and(|own| zones.contains(own)) {
            return Err(Refusal::unresolvable(
                "node(s) had no available volume zone",
            ));
        }
    }
    Ok(())
}
