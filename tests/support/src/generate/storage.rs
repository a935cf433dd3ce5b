//! Recipes of storage for random histories: classes, volumes, claims, and what CSI drivers tell. Few
//! names, so that they meet.

use super::placement::node_name;
use super::pool::{KEYS, NAMESPACES, VALUES, pick};
use super::{few, rarely};
use berth_core::Quantity;
use berth_core::object::{
    BIND_COMPLETED, ClaimReference, CsiDriver, CsiNode, CsiNodeDriver, CsiStorageCapacity,
    LabelSelector, MIGRATED_PLUGINS, NodeSelector, NodeSelectorTerm, Object, ObjectMeta,
    OwnerReference, PersistentVolume, PersistentVolumeClaim, Pod, Requirement, SELECTED_NODE,
    StorageClass, TopologySelectorLabelRequirement, TopologySelectorTerm, Volume, VolumeAttachment,
    VolumeSource,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Classes: name and provisioner. Only volumes of the last do not wait for a pod.
const CLASSES: [(&str, &str); 5] = [
    ("wait", DRIVERS[0]),
    ("local", "kubernetes.io/no-provisioner"),
    ("counted", DRIVERS[1]),
    ("old", "kubernetes.io/gce-pd"),
    ("now", DRIVERS[0]),
];
const DRIVERS: [&str; 3] = [
    "csi.example.com",
    "counted.example.com",
    "pd.csi.storage.gke.io",
];
const MODES: [&str; 3] = ["ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany"];
/// Kinds of these objects.
pub const KINDS: [&str; 7] = [
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "VolumeAttachment",
];

/// A volume of a pod.
#[derive(Clone, Debug)]
pub enum UseRecipe {
    /// A claim by its number.
    Claim(u8),
    /// A claim of the pod's own, with its class if it is made with the pod.
    Ephemeral(Option<u8>),
    /// A disk by its number, and whether it is only read.
    Disk(u8, bool),
}

/// An object of storage. Numbers and names are counted round.
#[derive(Clone, Debug)]
pub enum StorageRecipe {
    Class {
        class: u8,
        zone: Option<u8>,
    },
    Volume {
        number: u8,
        class: u8,
        gibibytes: u8,
        place: PlaceRecipe,
        mode: u8,
        in_tree: bool,
        /// Number and namespace of the claim that it is kept for, and whether it has its UID.
        kept_for: Option<(u8, u8, bool)>,
    },
    Claim {
        number: u8,
        namespace: u8,
        class: u8,
        gibibytes: u8,
        mode: u8,
        state: ClaimState,
    },
    CsiNode {
        node: u8,
        /// Drivers with their limits.
        drivers: Vec<(u8, Option<u8>)>,
        migrated: bool,
    },
    CsiDriver {
        driver: u8,
        counts: bool,
        must: bool,
    },
    Capacity {
        zone: u8,
        gibibytes: u8,
    },
    Attachment {
        volume: u8,
        node: u8,
        driver: u8,
    },
}

/// From where a volume can be reached.
#[derive(Clone, Copy, Debug)]
pub enum PlaceRecipe {
    Anywhere,
    Zone(u8),
    Node(u8),
}

/// How far a claim is.
#[derive(Clone, Copy, Debug)]
pub enum ClaimState {
    Open,
    /// To the volume of this number, there or not.
    Bound(u8),
    Lost,
    Deleting,
    /// A volume is to be provisioned for it there.
    Selected(u8),
}

/// Most pods have no volumes.
pub fn uses() -> impl Strategy<Value = Vec<UseRecipe>> {
    let one = prop_oneof![
        6 => (0..4_u8).prop_map(UseRecipe::Claim),
        2 => rarely(2, 0..5_u8).prop_map(UseRecipe::Ephemeral),
        1 => (0..2_u8, any::<bool>()).prop_map(|(disk, reads)| UseRecipe::Disk(disk, reads)),
    ];
    few(2, 3, one)
}

/// Any object.
pub fn storage() -> impl Strategy<Value = StorageRecipe> {
    let class = || 0..CLASSES.len() as u8;
    let volume = (0..5_u8, class(), 1..6_u8, place(), 0..6_u8, any::<bool>());
    let volume = (volume, rarely(4, (0..4_u8, 0..2_u8, any::<bool>())));
    let state = prop_oneof![
        5 => Just(ClaimState::Open),
        3 => (0..6_u8).prop_map(ClaimState::Bound),
        1 => Just(ClaimState::Lost),
        1 => Just(ClaimState::Deleting),
        1 => (0..6_u8).prop_map(ClaimState::Selected),
    ];
    let claim = (0..4_u8, 0..2_u8, class(), 1..5_u8, 0..6_u8, state);
    let limit = proptest::option::weighted(0.8, 0..3_u8);
    let driver = (0..DRIVERS.len() as u8, limit);
    prop_oneof![
        3 => (class(), rarely(4, 0..3_u8))
            .prop_map(|(class, zone)| StorageRecipe::Class { class, zone }),
        6 => volume.prop_map(|((number, class, gibibytes, place, mode, in_tree), kept_for)| {
            StorageRecipe::Volume { number, class, gibibytes, place, mode, in_tree, kept_for }
        }),
        8 => claim.prop_map(|(number, namespace, class, gibibytes, mode, state)| {
            StorageRecipe::Claim { number, namespace, class, gibibytes, mode, state }
        }),
        3 => (0..8_u8, vec(driver, 0..=3), any::<bool>())
            .prop_map(|(node, drivers, migrated)| StorageRecipe::CsiNode { node, drivers, migrated }),
        1 => (0..DRIVERS.len() as u8, any::<bool>(), any::<bool>())
            .prop_map(|(driver, counts, must)| StorageRecipe::CsiDriver { driver, counts, must }),
        1 => (0..3_u8, 0..5_u8)
            .prop_map(|(zone, gibibytes)| StorageRecipe::Capacity { zone, gibibytes }),
        1 => (0..6_u8, 0..8_u8, 0..DRIVERS.len() as u8)
            .prop_map(|(volume, node, driver)| StorageRecipe::Attachment { volume, node, driver }),
    ]
}

fn place() -> impl Strategy<Value = PlaceRecipe> {
    prop_oneof![
        2 => Just(PlaceRecipe::Anywhere),
        2 => (0..3_u8).prop_map(PlaceRecipe::Zone),
        1 => (0..6_u8).prop_map(PlaceRecipe::Node),
    ]
}

impl UseRecipe {
    /// The volume of the pod.
    pub fn volume(&self, name: String) -> Volume {
        let mut source = VolumeSource::default();
        let kind = match self {
            Self::Claim(number) => {
                source.claim_name = format!("c{number}");
                "persistentVolumeClaim"
            }
            Self::Ephemeral(_) => {
                source.volume_claim_template = Some(Box::default());
                "ephemeral"
            }
            Self::Disk(number, read_only) => {
                source.pd_name = format!("d{number}");
                source.read_only = *read_only;
                "gcePersistentDisk"
            }
        };
        Volume {
            name,
            source: [(kind.into(), source)].into(),
        }
    }

    /// The claim that is made for the volume of this name, if one is.
    pub fn own_claim(&self, pod: &Pod, volume: &str) -> Option<Object> {
        let Self::Ephemeral(Some(class)) = self else {
            return None;
        };
        let owner = &pod.metadata;
        let name = format!("{}-{volume}", owner.name);
        let mut claim = claim(&name, &owner.namespace, *class, 1, 0);
        claim.metadata.owner_references = vec![OwnerReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            controller: true,
        }];
        Some(Object::PersistentVolumeClaim(Box::new(claim)))
    }
}

fn meta(namespace: &str, name: String) -> ObjectMeta {
    ObjectMeta {
        name,
        namespace: namespace.into(),
        ..ObjectMeta::default()
    }
}

fn size(gibibytes: u8) -> Quantity {
    Quantity::from_integer(i64::from(gibibytes) << 30)
}

fn class_of(class: u8) -> (&'static str, &'static str) {
    CLASSES[usize::from(class) % CLASSES.len()]
}

fn claim(name: &str, namespace: &str, class: u8, gibibytes: u8, mode: u8) -> PersistentVolumeClaim {
    let mut claim = PersistentVolumeClaim {
        metadata: meta(namespace, name.into()),
        ..PersistentVolumeClaim::default()
    };
    claim.metadata.uid = format!("claim-{namespace}-{name}");
    let spec = &mut claim.spec;
    spec.access_modes = vec![mode_of(mode).into()];
    spec.storage_class_name = Some(class_of(class).0.into());
    let requests = &mut spec.resources.requests;
    requests.insert("storage".into(), size(gibibytes));
    claim.status.phase = "Pending".into();
    claim
}

/// Mostly the first.
fn mode_of(mode: u8) -> &'static str {
    MODES.get(usize::from(mode)).unwrap_or(&MODES[0])
}

impl PlaceRecipe {
    fn apply(self, volume: &mut PersistentVolume) {
        let (key, value) = match self {
            Self::Anywhere => return,
            Self::Zone(zone) => (KEYS[1], pick(&VALUES, zone).to_owned()),
            Self::Node(node) => (KEYS[0], node_name(node)),
        };
        if let Self::Zone(_) = self {
            let labels = &mut volume.metadata.labels;
            labels.insert(key.into(), value.clone());
        }
        volume.spec.node_affinity.required = Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: vec![Requirement {
                    key: key.into(),
                    operator: "In".into(),
                    values: vec![value],
                }],
                ..NodeSelectorTerm::default()
            }],
        });
    }
}

impl StorageRecipe {
    /// The object.
    pub fn object(&self) -> Object {
        match self {
            Self::Class { class, zone } => Object::StorageClass(storage_class(*class, *zone)),
            Self::Volume { .. } => Object::PersistentVolume(Box::new(self.volume())),
            Self::Claim {
                number,
                namespace,
                class,
                gibibytes,
                mode,
                state,
            } => {
                let namespace = pick(&NAMESPACES, *namespace);
                let name = format!("c{number}");
                let mut claim = claim(&name, namespace, *class, *gibibytes, *mode);
                state.apply(&mut claim);
                Object::PersistentVolumeClaim(Box::new(claim))
            }
            Self::CsiNode {
                node,
                drivers,
                migrated,
            } => Object::CsiNode(csi_node(*node, drivers, *migrated)),
            Self::CsiDriver {
                driver,
                counts,
                must,
            } => {
                let mut object = CsiDriver {
                    metadata: meta("", pick(&DRIVERS, *driver).into()),
                    ..CsiDriver::default()
                };
                object.spec.storage_capacity = *counts;
                object.spec.prevent_pod_scheduling_if_missing = *must;
                Object::CsiDriver(object)
            }
            Self::Capacity { zone, gibibytes } => {
                let zone = pick(&VALUES, *zone);
                Object::CsiStorageCapacity(CsiStorageCapacity {
                    metadata: meta("default", format!("room-{zone}")),
                    storage_class_name: "counted".into(),
                    node_topology: Some(LabelSelector {
                        match_labels: [(KEYS[1].into(), zone.into())].into(),
                        ..LabelSelector::default()
                    }),
                    capacity: Some(size(*gibibytes)),
                    maximum_volume_size: None,
                })
            }
            Self::Attachment {
                volume,
                node,
                driver,
            } => {
                let mut object = VolumeAttachment {
                    metadata: meta("", format!("at-{volume}-{node}")),
                    ..VolumeAttachment::default()
                };
                object.spec.attacher = pick(&DRIVERS, *driver).into();
                object.spec.node_name = node_name(*node);
                object.spec.source.persistent_volume_name = Some(format!("v{volume}"));
                Object::VolumeAttachment(object)
            }
        }
    }

    fn volume(&self) -> PersistentVolume {
        let mut volume = PersistentVolume::default();
        let Self::Volume {
            number,
            class,
            gibibytes,
            place,
            mode,
            in_tree,
            kept_for,
        } = self
        else {
            return volume;
        };
        let name = format!("v{number}");
        volume.metadata = meta("", name.clone());
        let (class, driver) = class_of(*class);
        let spec = &mut volume.spec;
        spec.capacity.insert("storage".into(), size(*gibibytes));
        spec.access_modes = vec![mode_of(*mode).into()];
        spec.storage_class_name = class.into();
        if *in_tree {
            spec.gce_persistent_disk = Some(VolumeSource {
                pd_name: name,
                ..VolumeSource::default()
            });
        } else if class != "local" {
            spec.csi = Some(VolumeSource {
                driver: driver.into(),
                volume_handle: name,
                ..VolumeSource::default()
            });
        }
        volume.status.phase = "Available".into();
        if let Some((claim, namespace, has_uid)) = kept_for {
            let namespace = pick(&NAMESPACES, *namespace);
            let uid = format!("claim-{namespace}-c{claim}");
            volume.spec.claim_ref = Some(ClaimReference {
                namespace: namespace.into(),
                name: format!("c{claim}"),
                uid: if *has_uid { uid } else { String::new() },
            });
        }
        place.apply(&mut volume);
        volume
    }
}

impl ClaimState {
    fn apply(self, claim: &mut PersistentVolumeClaim) {
        let meta = &mut claim.metadata;
        match self {
            Self::Open => {}
            Self::Bound(volume) => {
                claim.spec.volume_name = format!("v{volume}");
                meta.annotations.insert(BIND_COMPLETED.into(), "yes".into());
                claim.status.phase = "Bound".into();
            }
            Self::Lost => {
                claim.spec.volume_name = "gone".into();
                claim.status.phase = "Lost".into();
            }
            Self::Deleting => meta.deletion_timestamp = Some("2026-01-01T00:00:00Z".into()),
            Self::Selected(node) => {
                meta.annotations
                    .insert(SELECTED_NODE.into(), node_name(node));
            }
        }
    }
}

fn storage_class(class: u8, zone: Option<u8>) -> StorageClass {
    let (name, provisioner) = class_of(class);
    let mode = if name == "now" {
        "Immediate"
    } else {
        "WaitForFirstConsumer"
    };
    let term = |zone| TopologySelectorTerm {
        match_label_expressions: vec![TopologySelectorLabelRequirement {
            key: KEYS[1].into(),
            values: vec![pick(&VALUES, zone).into()],
        }],
    };
    StorageClass {
        metadata: meta("", name.into()),
        provisioner: provisioner.into(),
        volume_binding_mode: Some(mode.into()),
        allowed_topologies: zone.map(term).into_iter().collect(),
    }
}

fn csi_node(node: u8, drivers: &[(u8, Option<u8>)], migrated: bool) -> CsiNode {
    let mut object = CsiNode {
        metadata: meta("", node_name(node)),
        ..CsiNode::default()
    };
    if migrated {
        let annotations = &mut object.metadata.annotations;
        annotations.insert(MIGRATED_PLUGINS.into(), "kubernetes.io/gce-pd".into());
    }
    for (driver, limit) in drivers {
        let name = pick(&DRIVERS, *driver);
        if object.spec.drivers.iter().all(|own| own.name != name) {
            let mut driver = CsiNodeDriver {
                name: name.into(),
                ..CsiNodeDriver::default()
            };
            driver.allocatable.count = limit.map(i32::from);
            object.spec.drivers.push(driver);
        }
    }
    object
}
