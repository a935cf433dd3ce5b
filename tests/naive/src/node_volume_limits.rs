//! `NodeVolumeLimits`. Mirrors `plugins/nodevolumelimits/csi.go`.

use crate::storage::{self, inline, named};
use crate::{Cluster, NodeState, Refusal, Verdict};
use berth_core::object::{CsiNode, PersistentVolumeClaim, Pod};

/// Driver, and what tells the volume from the driver's others.
type Unique = (String, String);

/// Whether the pod has any volume that could count.
pub fn pre_filter(pod: &Pod) -> bool {
    let volumes = pod.spec.volumes.iter();
    volumes
        .filter(|volume| named(pod, volume).is_some() || inline(volume).is_some())
        .count()
        > 0
}

/// # Errors
/// What fails the attempt.
pub fn filter(cluster: &Cluster, pod: &Pod, node: &NodeState) -> Result<Verdict, String> {
    let storage = &cluster.storage;
    let csi_node = storage.csi_node(node.name());
    for claim in storage::claims_of(pod) {
        let (namespace, name) = &claim.key;
        if !storage.claims.contains_key(&claim.key) {
            return Ok(Err(Refusal::unresolvable(&format!(
                "looking up PVC {namespace}/{name}: persistentvolumeclaim {name:?} not found"
            ))));
        }
    }
    let mut fresh = attachable(cluster, pod, csi_node)?;
    if fresh.is_empty() {
        return Ok(Ok(()));
    }
    for (driver, _) in &fresh {
        let object = storage.csi_driver(driver);
        let must = object.is_some_and(|own| own.spec.prevent_pod_scheduling_if_missing);
        let mut there = csi_node.iter().flat_map(|node| &node.spec.drivers);
        if must && !there.any(|own| own.name == *driver) {
            let reason = format!("{driver} CSI driver is not installed on the node");
            return Ok(Err(Refusal::unschedulable(&reason)));
        }
    }
    let Some(csi_node) = csi_node else {
        return Ok(Ok(()));
    };
    let mut attached: Vec<Unique> = Vec::new();
    let limited = csi_node.spec.drivers.iter();
    let limited = limited.filter_map(|own| Some((&own.name, own.allocatable.count?)));
    if limited.clone().next().is_none() {
        return Ok(Ok(()));
    }
    for placed in &node.pods {
        attached.extend(attachable(cluster, &placed.pod, Some(csi_node))?);
    }
    fresh.retain(|own| !attached.contains(own));
    for attachment in storage.attachments.values() {
        let spec = &attachment.spec;
        let volume = spec.source.persistent_volume_name.as_ref();
        let volume = volume.and_then(|name| storage.volume(name));
        let csi = volume.and_then(|volume| volume.spec.csi.as_ref());
        if let Some(csi) = csi.filter(|_| spec.node_name == node.name()) {
            attached.push((spec.attacher.clone(), csi.volume_handle.clone()));
        }
    }
    attached.sort();
    attached.dedup();
    for (driver, limit) in limited {
        let of = |list: &[Unique]| list.iter().filter(|own| own.0 == *driver).count();
        let room = usize::try_from(limit).unwrap_or(0);
        if of(&fresh) > 0 && of(&attached) + of(&fresh) > room {
            return Ok(Err(Refusal::unschedulable(
                "node(s) exceed max volume count",
            )));
        }
    }
    Ok(Ok(()))
}

/// Mirrors `filterAttachableVolumes`; each volume once.
fn attachable(
    cluster: &Cluster,
    pod: &Pod,
    csi_node: Option<&CsiNode>,
) -> Result<Vec<Unique>, String> {
    let mut all: Vec<Unique> = Vec::new();
    for volume in &pod.spec.volumes {
        let unique = if let Some(named) = named(pod, volume) {
            let Some(claim) = cluster.storage.claims.get(&named.key) else {
                continue;
            };
            if named.is_ephemeral && !storage::is_made_for(claim, pod) {
                return Err("the claim was not created for the pod".to_owned());
            }
            of_claim(cluster, claim, csi_node)
        } else if let Some((plugin, source)) = inline(volume) {
            if csi_node.is_none() || !plugin.is_migrated {
                continue;
            }
            let handle = storage::handle(plugin, source, None);
            let handle = handle.ok_or("looking up the provisioner of a volume: no translation")?;
            Some((plugin.driver.to_owned(), handle))
        } else {
            None
        };
        all.extend(unique.filter(|own| !all.contains(own)));
    }
    Ok(all)
}

/// Mirrors `getCSIDriverInfo`.
fn of_claim(
    cluster: &Cluster,
    claim: &PersistentVolumeClaim,
    csi_node: Option<&CsiNode>,
) -> Option<Unique> {
    let storage = &cluster.storage;
    let volume = storage.volume(&claim.spec.volume_name);
    if let Some(volume) = volume {
        if let Some(csi) = &volume.spec.csi {
            return Some((csi.driver.clone(), csi.volume_handle.clone()));
        }
        csi_node?;
        let (plugin, source) = storage::source_of(volume).filter(|(own, _)| own.is_migrated)?;
        let handle = storage::handle(plugin, source, Some(&volume.metadata.labels))?;
        return Some((plugin.driver.to_owned(), handle));
    }
    let provisioner = &storage.class(claim.class())?.provisioner;
    let driver = match storage::in_tree(provisioner) {
        None => provisioner.as_str(),
        Some(plugin) => {
            csi_node?;
            plugin.is_migrated.then_some(plugin.driver)?
        }
    };
    let metadata = &claim.metadata;
    // No handle has a line break.
    let unborn = format!("\n{}/{}", metadata.namespace, metadata.name);
    (!driver.is_empty()).then(|| (driver.to_owned(), unborn))
}
