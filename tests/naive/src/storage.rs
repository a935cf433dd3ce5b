//! Volumes, claims and what drivers tell, and what in-tree plugins are to CSI drivers. Mirrors
//! `csi-translation-lib` and the listers that the volume plugins share.

use crate::cluster::Key;
use crate::reserve::Promises;
use berth_core::object::{
    CsiDriver, CsiNode, CsiStorageCapacity, Labels, NodeSelector, NodeSelectorTerm, ObjectMeta,
    PersistentVolume, PersistentVolumeClaim, Pod, Requirement, StorageClass, Volume,
    VolumeAttachment, VolumeSource,
};
use std::collections::BTreeMap;

/// All of it, by namespace and name.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    pub volumes: BTreeMap<Key, PersistentVolume>,
    pub claims: BTreeMap<Key, PersistentVolumeClaim>,
    pub classes: BTreeMap<Key, StorageClass>,
    pub csi_nodes: BTreeMap<Key, CsiNode>,
    pub csi_drivers: BTreeMap<Key, CsiDriver>,
    pub capacities: BTreeMap<Key, CsiStorageCapacity>,
    pub attachments: BTreeMap<Key, VolumeAttachment>,
    pub promises: Promises,
}

/// A claim that a pod names.
#[derive(Clone, Debug)]
pub struct Named {
    pub key: Key,
    /// Of a generic ephemeral volume.
    pub is_ephemeral: bool,
}

impl Storage {
    /// The volume of this name.
    pub fn volume(&self, name: &str) -> Option<&PersistentVolume> {
        self.volumes.get(&outside_namespaces(name))
    }

    /// The class of this name.
    pub fn class(&self, name: &str) -> Option<&StorageClass> {
        self.classes.get(&outside_namespaces(name))
    }

    /// The CSINode of a node.
    pub fn csi_node(&self, node: &str) -> Option<&CsiNode> {
        self.csi_nodes.get(&outside_namespaces(node))
    }

    /// The CSI driver of this name.
    pub fn csi_driver(&self, name: &str) -> Option<&CsiDriver> {
        self.csi_drivers.get(&outside_namespaces(name))
    }
}

fn outside_namespaces(name: &str) -> Key {
    (String::new(), name.to_owned())
}

/// The claim of a pod's volume, if it has one.
pub fn named(pod: &Pod, volume: &Volume) -> Option<Named> {
    let (kind, source) = volume.source.first_key_value()?;
    let (name, is_ephemeral) = match kind.as_str() {
        "persistentVolumeClaim" => (source.claim_name.clone(), false),
        "ephemeral" => (format!("{}-{}", pod.metadata.name, volume.name), true),
        _ => return None,
    };
    let key = (pod.metadata.namespace.clone(), name);
    Some(Named { key, is_ephemeral })
}

/// The claims of a pod, in the order of its volumes.
pub fn claims_of(pod: &Pod) -> impl Iterator<Item = Named> {
    let volumes = pod.spec.volumes.iter();
    volumes.filter_map(|volume| named(pod, volume))
}

/// Whether the claim was made for the pod.
pub fn is_made_for(claim: &PersistentVolumeClaim, pod: &Pod) -> bool {
    let owner = claim.metadata.controller();
    owner.is_some_and(|owner| owner.uid == pod.metadata.uid)
}

/// An in-tree plugin: the field of its volumes, its name, its driver and the driver's zone label.
#[derive(Clone, Copy, Debug)]
pub struct InTree {
    field: &'static str,
    pub name: &'static str,
    pub driver: &'static str,
    zone_key: Option<&'static str>,
    /// Whether its volumes are counted as those of its driver.
    pub is_migrated: bool,
}

const fn plugin(
    field: &'static str,
    name: &'static str,
    driver: &'static str,
    zone_key: Option<&'static str>,
    is_migrated: bool,
) -> InTree {
    InTree {
        field,
        name,
        driver,
        zone_key,
        is_migrated,
    }
}

const PLUGINS: [InTree; 7] = [
    plugin(
        "awsElasticBlockStore",
        "kubernetes.io/aws-ebs",
        "ebs.csi.aws.com",
        Some("topology.ebs.csi.aws.com/zone"),
        true,
    ),
    plugin(
        "gcePersistentDisk",
        "kubernetes.io/gce-pd",
        "pd.csi.storage.gke.io",
        Some("topology.gke.io/zone"),
        true,
    ),
    plugin(
        "azureDisk",
        "kubernetes.io/azure-disk",
        "disk.csi.azure.com",
        None,
        true,
    ),
    plugin(
        "cinder",
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        Some("topology.cinder.csi.openstack.org/zone"),
        true,
    ),
    plugin(
        "portworxVolume",
        "kubernetes.io/portworx-volume",
        "pxd.portworx.com",
        None,
        true,
    ),
    plugin(
        "azureFile",
        "kubernetes.io/azure-file",
        "file.csi.azure.com",
        None,
        false,
    ),
    plugin(
        "vsphereVolume",
        "kubernetes.io/vsphere-volume",
        "csi.vsphere.vmware.com",
        None,
        false,
    ),
];

/// The plugin with this name.
pub fn in_tree(name: &str) -> Option<InTree> {
    PLUGINS.into_iter().find(|plugin| plugin.name == name)
}

/// The in-tree source of a pod's own volume.
pub fn inline(volume: &Volume) -> Option<(InTree, &VolumeSource)> {
    let (kind, source) = volume.source.first_key_value()?;
    let plugin = PLUGINS.into_iter().find(|plugin| plugin.field == kind)?;
    Some((plugin, source))
}

/// The in-tree source of a PersistentVolume.
pub fn source_of(volume: &PersistentVolume) -> Option<(InTree, &VolumeSource)> {
    let spec = &volume.spec;
    let sources = [
        &spec.aws_elastic_block_store,
        &spec.gce_persistent_disk,
        &spec.azure_disk,
        &spec.cinder,
        &spec.portworx_volume,
        &spec.azure_file,
        &spec.vsphere_volume,
    ];
    let mut pairs = PLUGINS.into_iter().zip(sources);
    pairs.find_map(|(plugin, source)| Some((plugin, source.as_ref()?)))
}

/// The driver's handle of a volume that stands in a pod (`labels` absent) or of a PersistentVolume.
pub fn handle(plugin: InTree, source: &VolumeSource, labels: Option<&Labels>) -> Option<String> {
    match plugin.field {
        "gcePersistentDisk" => gce_handle(&source.pd_name, labels),
        "awsElasticBlockStore" => aws_handle(&source.volume_id),
        "azureDisk" => {
            let kind = source.kind.to_lowercase();
            matches!(kind.as_str(), "" | "managed").then(|| source.disk_uri.clone())
        }
        _ => Some(source.volume_id.clone()),
    }
}

/// Mirrors `TranslateInTreePVToCSI` of `gce_pd.go`.
fn gce_handle(disk: &str, labels: Option<&Labels>) -> Option<String> {
    let label = |key: &str| {
        let value = labels.and_then(|labels| labels.get(key));
        value.map(String::as_str).filter(|value| !value.is_empty())
    };
    let label = label("failure-domain.beta.kubernetes.io/zone")
        .or_else(|| label("topology.kubernetes.io/zone"));
    let zones: Vec<&str> = label.unwrap_or("UNSPECIFIED").split("__").collect();
    if let [zone] = zones.as_slice() {
        return Some(format!("projects/UNSPECIFIED/zones/{zone}/disks/{disk}"));
    }
    let regions: Option<Vec<String>> = zones.iter().map(|zone| gce_region(zone)).collect();
    let regions = regions?;
    let region = regions.first()?;
    let same = regions.iter().all(|other| other == region);
    same.then(|| format!("projects/UNSPECIFIED/regions/{region}/disks/{disk}"))
}

fn gce_region(zone: &str) -> Option<String> {
    match zone.split('-').collect::<Vec<_>>().as_slice() {
        [continent, place, _] => Some(format!("{continent}-{place}")),
        _ => None,
    }
}

/// Mirrors `KubernetesVolumeIDToEBSVolumeID`.
fn aws_handle(id: &str) -> Option<String> {
    let Some(rest) = id.strip_prefix("aws://") else {
        return Some(id.to_owned());
    };
    let name = rest.rsplit('/').next()?;
    name.starts_with("vol-").then(|| name.to_owned())
}

/// The volume as its driver sees it, as far as its node affinity goes. Mirrors
/// `translateTopologyFromInTreeToCSI`.
pub fn translated_affinity(volume: &PersistentVolume) -> Option<NodeSelector> {
    const GA: [&str; 2] = [
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
    ];
    const BETA: [&str; 2] = [
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    ];
    let mut required = volume.spec.node_affinity.required.clone();
    let (plugin, _) = source_of(volume)?;
    let Some(key) = plugin.zone_key else {
        return required;
    };
    let labels = &volume.metadata.labels;
    let [zone, region] = if values(required.as_ref(), GA[0]).is_some() {
        GA
    } else if values(required.as_ref(), BETA[0]).is_some() {
        BETA
    } else if labels.contains_key(GA[0]) {
        GA
    } else if labels.contains_key(BETA[0]) {
        BETA
    } else {
        GA
    };
    if values(required.as_ref(), zone).is_some_and(|values| !values.is_empty()) {
        rename(&mut required, zone, key);
    } else if let Some(label) = labels.get(zone) {
        let zones = label
            .split("__")
            .map(str::trim)
            .filter(|zone| !zone.is_empty());
        let zones: Vec<String> = zones.map(str::to_owned).collect();
        add(&mut required, key, &zones);
    }
    if region == BETA[1] {
        rename(&mut required, BETA[1], GA[1]);
    }
    required
}

/// Values that an affinity gives for a label, if it names it.
fn values(affinity: Option<&NodeSelector>, key: &str) -> Option<Vec<String>> {
    let terms = affinity.iter().flat_map(|all| &all.node_selector_terms);
    let named: Vec<&Requirement> = terms
        .flat_map(|term| &term.match_expressions)
        .filter(|requirement| requirement.key == key)
        .collect();
    let all = named.iter().flat_map(|own| own.values.clone()).collect();
    (!named.is_empty()).then_some(all)
}

fn rename(affinity: &mut Option<NodeSelector>, from: &str, to: &str) {
    let terms = affinity
        .iter_mut()
        .flat_map(|all| &mut all.node_selector_terms);
    for requirement in terms.flat_map(|term| &mut term.match_expressions) {
        if requirement.key == from {
            to.clone_into(&mut requirement.key);
        }
    }
}

fn add(affinity: &mut Option<NodeSelector>, key: &str, zones: &[String]) {
    if zones.is_empty() {
        return;
    }
    let terms = &mut affinity
        .get_or_insert_with(NodeSelector::default)
        .node_selector_terms;
    if terms.is_empty() {
        terms.push(NodeSelectorTerm::default());
    }
    for term in terms {
        term.match_expressions.push(Requirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: zones.to_vec(),
        });
    }
}

/// Key of an object's metadata.
pub fn key_of(meta: &ObjectMeta) -> Key {
    (meta.namespace.clone(), meta.name.clone())
}
