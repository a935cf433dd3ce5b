//! In-tree plugins, and what their volumes are to the CSI drivers that stand in for them.
//!
//! Mirrors `csi-translation-lib` as far as placement reads it: driver, handle and node affinity.

use crate::capacity::CapacityExceeded;
use crate::intern::{Texts, Writer};
use crate::object::{
    NodeSelectorTerm, PersistentVolume, PersistentVolumeSpec, Requirement, VolumeSource,
};
use crate::selector::{TermChange, write_changed_term};
use alloc::string::String;

/// Between the zones of one label.
pub(super) const ZONE_DELIMITER: &str = "__";

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";

/// A plugin that volumes may still be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum InTree {
    AwsEbs,
    GcePd,
    AzureDisk,
    Cinder,
    Portworx,
    AzureFile,
    Vsphere,
}

/// Field of a volume's source, plugin, its name, driver, and the driver's topology key.
const TABLE: [(&str, InTree, &str, &str, &str); 7] = [
    (
        "awsElasticBlockStore",
        InTree::AwsEbs,
        "kubernetes.io/aws-ebs",
        "ebs.csi.aws.com",
        "topology.ebs.csi.aws.com/zone",
    ),
    (
        "gcePersistentDisk",
        InTree::GcePd,
        "kubernetes.io/gce-pd",
        "pd.csi.storage.gke.io",
        "topology.gke.io/zone",
    ),
    (
        "azureDisk",
        InTree::AzureDisk,
        "kubernetes.io/azure-disk",
        "disk.csi.azure.com",
        "",
    ),
    (
        "cinder",
        InTree::Cinder,
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
    ),
    (
        "portworxVolume",
        InTree::Portworx,
        "kubernetes.io/portworx-volume",
        "pxd.portworx.com",
        "",
    ),
    (
        "azureFile",
        InTree::AzureFile,
        "kubernetes.io/azure-file",
        "file.csi.azure.com",
        "",
    ),
    (
        "vsphereVolume",
        InTree::Vsphere,
        "kubernetes.io/vsphere-volume",
        "csi.vsphere.vmware.com",
        "",
    ),
];

impl InTree {
    /// The plugin whose volumes stand under this field of a pod's volume.
    pub(crate) fn of_field(field: &str) -> Option<Self> {
        let row = TABLE.iter().find(|(own, ..)| *own == field);
        row.map(|(_, plugin, ..)| *plugin)
    }

    /// The plugin of this name.
    pub(crate) fn of_provisioner(name: &str) -> Option<Self> {
        let row = TABLE.iter().find(|(_, _, own, ..)| *own == name);
        row.map(|(_, plugin, ..)| *plugin)
    }

    pub(crate) fn driver(self) -> &'static str {
        self.row().map_or("", |(_, _, _, driver, _)| driver)
    }

    /// Empty: the plugin's topology is not translated.
    fn topology_key(self) -> &'static str {
        self.row().map_or("", |(.., key)| key)
    }

    fn row(
        self,
    ) -> Option<&'static (&'static str, Self, &'static str, &'static str, &'static str)> {
        TABLE.iter().find(|(_, plugin, ..)| *plugin == self)
    }

    /// Whether scheduling ever counts its volumes as those of its driver.
    pub(crate) const fn is_migrated(self) -> bool {
        !matches!(self, Self::AzureFile | Self::Vsphere)
    }

    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// 0 stands for none.
    pub(crate) const fn number(self) -> u32 {
        (self as u32).saturating_add(1)
    }

    pub(crate) fn of_number(number: u32) -> Option<Self> {
        let row = TABLE
            .iter()
            .find(|(_, plugin, ..)| plugin.number() == number);
        row.map(|(_, plugin, ..)| *plugin)
    }
}

/// A volume that no driver can stand in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Untranslatable;

/// The in-tree source of a PersistentVolume.
pub(super) fn source_of(spec: &PersistentVolumeSpec) -> Option<(InTree, &VolumeSource)> {
    let sources = [
        (InTree::AwsEbs, &spec.aws_elastic_block_store),
        (InTree::GcePd, &spec.gce_persistent_disk),
        (InTree::AzureDisk, &spec.azure_disk),
        (InTree::Cinder, &spec.cinder),
        (InTree::Portworx, &spec.portworx_volume),
        (InTree::AzureFile, &spec.azure_file),
        (InTree::Vsphere, &spec.vsphere_volume),
    ];
    let mut sources = sources.into_iter();
    sources.find_map(|(plugin, source)| Some((plugin, source.as_ref()?)))
}

/// Writes the handle by which the driver knows the volume into `handle`, cut where that is full.
pub(super) fn translate(
    plugin: InTree,
    source: &VolumeSource,
    volume: &PersistentVolume,
    handle: &mut String,
) -> Result<(), Untranslatable> {
    if plugin != InTree::GcePd {
        return translate_inline(plugin, source, handle);
    }
    let label = |key| {
        volume
            .metadata
            .labels
            .get(key)
            .filter(|own| !own.is_empty())
    };
    let zones = label(BETA_ZONE).or_else(|| volume.metadata.labels.get(ZONE));
    let zones = zones.map_or("", String::as_str);
    handle.clear();
    match zones.split_once(ZONE_DELIMITER) {
        None => gce_handle(handle, "zones", zones, &source.pd_name),
        Some((first, _)) => {
            let region = gce_region(first);
            let same = |zone| gce_region(zone) == region;
            if region.is_none() || !zones.split(ZONE_DELIMITER).all(same) {
                return Err(Untranslatable);
            }
            gce_handle(handle, "regions", region.unwrap_or(""), &source.pd_name);
        }
    }
    Ok(())
}

/// The same for a volume that stands in a pod.
pub(crate) fn translate_inline(
    plugin: InTree,
    source: &VolumeSource,
    handle: &mut String,
) -> Result<(), Untranslatable> {
    handle.clear();
    match plugin {
        InTree::GcePd => gce_handle(handle, "zones", "", &source.pd_name),
        InTree::AwsEbs => push(handle, aws_volume(&source.volume_id)?),
        InTree::AzureDisk
            if !matches!(source.kind.as_str(), "")
                && !source.kind.eq_ignore_ascii_case("managed") =>
        {
            return Err(Untranslatable);
        }
        InTree::AzureDisk => push(handle, &source.disk_uri),
        InTree::Cinder | InTree::Portworx => push(handle, &source.volume_id),
        InTree::AzureFile | InTree::Vsphere => {}
    }
    Ok(())
}

fn gce_handle(handle: &mut String, kind: &str, place: &str, name: &str) {
    let place = if place.is_empty() {
        "UNSPECIFIED"
    } else {
        place
    };
    for part in ["projects/UNSPECIFIED/", kind, "/", place, "/disks/", name] {
        push(handle, part);
    }
}

/// Appends as far as there is room: the buffer does not grow.
fn push(handle: &mut String, part: &str) {
    let room = handle.capacity().saturating_sub(handle.len());
    let mut end = part.len().min(room);
    while !part.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    handle.push_str(part.get(..end).unwrap_or(""));
}

/// `europe-west4` of `europe-west4-a`.
fn gce_region(zone: &str) -> Option<&str> {
    let (region, _) = zone.rsplit_once('-')?;
    (region.matches('-').count() == 1).then_some(region)
}

/// Mirrors `KubernetesVolumeIDToEBSVolumeID`: `aws://ZONE/vol-1` names the volume `vol-1`.
fn aws_volume(id: &str) -> Result<&str, Untranslatable> {
    let Some(rest) = id.strip_prefix("aws://") else {
        return Ok(id);
    };
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let path = path.split(['?', '#']).next().unwrap_or("");
    let name = path.trim_matches('/');
    if name.starts_with("vol-") && !name.contains('/') {
        Ok(name)
    } else {
        Err(Untranslatable)
    }
}

/// How the affinity of a volume changes where its plugin is migrated.
struct Change<'a> {
    /// The driver's key, which stands instead of this label's.
    key: &'static str,
    zone: &'static str,
    region: &'static str,
    /// Whether the terms name the zone; otherwise the volume's label is added to each.
    in_terms: bool,
    label: Option<&'a str>,
}

/// Mirrors `translateTopologyFromInTreeToCSI` and `getTopologyLabel`.
fn change(volume: &PersistentVolume) -> Option<Change<'_>> {
    let (plugin, _) = source_of(&volume.spec)?;
    let key = plugin.topology_key();
    if key.is_empty() {
        return None;
    }
    let named = |key: &str| requirements(volume).any(|own| own.key == key);
    let labels = &volume.metadata.labels;
    let beta = !named(ZONE)
        && (named(BETA_ZONE) || !labels.contains_key(ZONE) && labels.contains_key(BETA_ZONE));
    let (zone, region) = if beta {
        (BETA_ZONE, BETA_REGION)
    } else {
        (ZONE, REGION)
    };
    let in_terms = requirements(volume).any(|own| own.key == zone && !own.values.is_empty());
    Some(Change {
        key,
        zone,
        region,
        in_terms,
        label: labels.get(zone).map(String::as_str),
    })
}

fn requirements(volume: &PersistentVolume) -> impl Iterator<Item = &Requirement> {
    terms(volume).flat_map(|term| &term.match_expressions)
}

fn terms(volume: &PersistentVolume) -> impl Iterator<Item = &NodeSelectorTerm> {
    let required = volume.spec.node_affinity.required.iter();
    required.flat_map(|required| &required.node_selector_terms)
}

/// Lets a closure be one for texts of every lifetime.
const fn renaming<F: for<'k> Fn(&'k str) -> &'k str>(renamed: F) -> F {
    renamed
}

impl<'a> Change<'a> {
    /// Zones of the label that are added to each term.
    fn added(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        let label = self.label.filter(|_| !self.in_terms);
        let zones = label
            .into_iter()
            .flat_map(|label| label.split(ZONE_DELIMITER));
        zones.map(str::trim).filter(|zone| !zone.is_empty())
    }

    fn renamed<'k>(&self, key: &'k str) -> &'k str {
        if self.in_terms && key == self.zone {
            self.key
        } else if self.region == BETA_REGION && key == BETA_REGION {
            REGION
        } else {
            key
        }
    }
}

/// Whether the volume has an affinity of its own where its plugin is migrated.
pub(super) fn has_terms(volume: &PersistentVolume) -> bool {
    change(volume).is_some_and(|change| {
        volume.spec.node_affinity.required.is_some() || change.added().next().is_some()
    })
}

/// Writes that affinity's terms; nothing where [`has_terms`] is false.
pub(super) fn write_terms(
    writer: &mut Writer,
    texts: &mut Texts,
    volume: &PersistentVolume,
) -> Result<(), CapacityExceeded> {
    let Some(change) = change(volume).filter(|_| has_terms(volume)) else {
        return Ok(());
    };
    let none = NodeSelectorTerm::default();
    let added = change.added();
    let alone = terms(volume).next().is_none() && added.clone().next().is_some();
    for term in terms(volume).chain(alone.then_some(&none)) {
        let renamed = renaming(|key| change.renamed(key));
        let change = TermChange {
            renamed: &renamed,
            added: (change.key, added.clone()),
        };
        write_changed_term(writer, texts, term, change)?;
    }
    Ok(())
}
