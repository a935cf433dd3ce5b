//! Recipes of storage: classes, volumes, claims, and what drivers say of nodes. A seed draws a few
//! numbers, from which all objects follow.

use crate::random::Random;
use berth_core::Quantity;
use berth_core::object::{
    ClaimTemplate, CsiDriver, CsiNode, CsiNodeDriver, CsiStorageCapacity, LabelSelector,
    NodeSelector, NodeSelectorTerm, ObjectMeta, OwnerReference, PersistentVolume,
    PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, Requirement, StorageClass,
    TopologySelectorLabelRequirement, TopologySelectorTerm, Volume, VolumeSource,
};
use berth_test_support::generate::pool::{KEYS, VALUES};

/// Label of a node's own name.
pub const HOST: &str = KEYS[0];
/// Label of a node's zone.
pub const ZONE: &str = KEYS[1];
/// A driver that says how much room it has.
pub const COUNTED: &str = "counted.example.com";
/// A driver without which a node takes no pod with its volumes.
pub const MUST: &str = "must.example.com";
/// Provisioner of volumes that are made by hand.
pub const BY_HAND: &str = "kubernetes.io/no-provisioner";

/// Name and provisioner of each class; volumes of the last are not bound to wait for a pod.
pub const CLASSES: [(&str, &str); 5] = [
    ("wait", "csi.example.com"),
    ("local", BY_HAND),
    ("counted", COUNTED),
    ("must", MUST),
    ("now", "csi.example.com"),
];
/// Drivers, each with a limit of its own on a node.
pub const DRIVERS: [&str; 4] = ["csi.example.com", COUNTED, MUST, "pd.csi.storage.gke.io"];

/// What a seed draws of storage.
#[derive(Clone, Debug)]
pub struct StorageSetup {
    /// Pods that use some, in percent.
    pub share: u8,
    /// Volumes of a driver that a node takes; `None`: any number.
    pub limit: Option<i32>,
    /// Claims of one namespace that several pods may use.
    pub shared_claims: usize,
    /// Claims that one pod alone may use, in percent.
    pub exclusive: u8,
    /// Classes in use, by their places in [`CLASSES`], as often as they are asked for.
    pub classes: Vec<usize>,
    /// Seconds that a pod waits for its volumes.
    pub timeout: u64,
    /// Classes may name zones.
    pub zones: bool,
    /// Volumes on the server at most.
    pub most: usize,
}

impl StorageSetup {
    /// Two of three seeds have storage.
    pub fn draw(random: &mut Random) -> Option<Self> {
        if random.one_in(3) {
            return None;
        }
        let mut classes: Vec<usize> = (0..CLASSES.len()).filter(|_| random.one_in(3)).collect();
        // One whose volumes are mostly there in the end.
        if classes.is_empty() || !random.one_in(4) {
            classes.extend([0, 0]);
        }
        Some(Self {
            share: random.choose(&[40, 80, 100]),
            limit: random.choose(&[None, Some(1), Some(2), Some(3)]),
            shared_claims: random.choose(&[1, 2, 4]),
            exclusive: random.choose(&[0, 20, 60]),
            classes,
            timeout: random.choose(&[1, 5, 30, 120]),
            zones: random.one_in(2),
            most: random.choose(&[2, 4, 8]),
        })
    }

    /// A class that is in use.
    pub fn class(&self, random: &mut Random) -> (&'static str, &'static str) {
        CLASSES[random.choose(&self.classes)]
    }

    /// The class of this name, in whatever zone it is now.
    pub fn storage_class(&self, name: &str, random: &mut Random) -> StorageClass {
        let row = CLASSES.iter().find(|(own, _)| *own == name);
        let mut class = StorageClass::default();
        name.clone_into(&mut class.metadata.name);
        row.map_or("", |(_, own)| own)
            .clone_into(&mut class.provisioner);
        let waits = name != "now";
        let mode = if waits {
            "WaitForFirstConsumer"
        } else {
            "Immediate"
        };
        class.volume_binding_mode = Some(mode.into());
        if self.zones && waits && random.one_in(3) {
            class.allowed_topologies = vec![TopologySelectorTerm {
                match_label_expressions: vec![TopologySelectorLabelRequirement {
                    key: ZONE.into(),
                    values: vec![zone(random).into()],
                }],
            }];
        }
        class
    }

    /// A claim that nobody has a volume for.
    pub fn claim(&self, namespace: &str, name: &str, random: &mut Random) -> PersistentVolumeClaim {
        let mut claim = PersistentVolumeClaim {
            metadata: meta(namespace, name),
            spec: self.claim_spec(random),
            ..PersistentVolumeClaim::default()
        };
        claim.status.phase = "Pending".into();
        claim
    }

    fn claim_spec(&self, random: &mut Random) -> PersistentVolumeClaimSpec {
        let mode = if random.percent(self.exclusive) {
            "ReadWriteOncePod"
        } else {
            "ReadWriteOnce"
        };
        let mut spec = PersistentVolumeClaimSpec {
            access_modes: vec![mode.into()],
            storage_class_name: Some(self.class(random).0.into()),
            ..PersistentVolumeClaimSpec::default()
        };
        let size = gibibytes(1 + random.below(4));
        spec.resources.requests.insert("storage".into(), size);
        spec
    }

    /// What a CSINode says of a node.
    pub fn csi_node(&self, node: &str, random: &mut Random) -> CsiNode {
        let mut object = CsiNode {
            metadata: meta("", node),
            ..CsiNode::default()
        };
        for name in DRIVERS {
            if random.one_in(5) {
                continue;
            }
            let mut driver = CsiNodeDriver {
                name: name.into(),
                ..CsiNodeDriver::default()
            };
            let more = i32::from(random.one_in(4));
            driver.allocatable.count = self.limit.map(|limit| limit + more);
            object.spec.drivers.push(driver);
        }
        object
    }

    /// Gives a pod volumes, now and then.
    pub fn give(&self, pod: &mut Pod, random: &mut Random) {
        if !random.percent(self.share) {
            return;
        }
        for at in 0..=random.below(2) {
            let (kind, source) = match random.below(8) {
                0 => self.ephemeral(random),
                1 => disk(random),
                2 | 3 => claim_source(format!("c-{}-{at}", pod.metadata.name)),
                _ => claim_source(format!("c{}", random.below(self.shared_claims))),
            };
            pod.spec.volumes.push(Volume {
                name: format!("own{at}"),
                source: [(kind.into(), source)].into(),
            });
        }
    }

    fn ephemeral(&self, random: &mut Random) -> (&'static str, VolumeSource) {
        let template = ClaimTemplate {
            spec: self.claim_spec(random),
            ..ClaimTemplate::default()
        };
        let source = VolumeSource {
            volume_claim_template: Some(Box::new(template)),
            ..VolumeSource::default()
        };
        ("ephemeral", source)
    }
}

fn claim_source(claim_name: String) -> (&'static str, VolumeSource) {
    let source = VolumeSource {
        claim_name,
        ..VolumeSource::default()
    };
    ("persistentVolumeClaim", source)
}

/// A disk that one node at a time may write.
fn disk(random: &mut Random) -> (&'static str, VolumeSource) {
    let source = VolumeSource {
        pd_name: format!("d{}", random.below(2)),
        read_only: random.one_in(3),
        ..VolumeSource::default()
    };
    ("gcePersistentDisk", source)
}

/// Name and namespace alone.
pub fn meta(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: name.into(),
        namespace: namespace.into(),
        ..ObjectMeta::default()
    }
}

/// So many GiB.
pub fn gibibytes(count: usize) -> Quantity {
    Quantity::from_integer((count as i64) << 30)
}

/// A zone.
pub fn zone(random: &mut Random) -> &'static str {
    VALUES[random.below(2)]
}

/// A volume that nobody has, of a class and of so many GiB; reached from nodes with the label.
pub fn volume(
    name: &str,
    class: &str,
    size: Quantity,
    label: Option<(&str, &str)>,
) -> PersistentVolume {
    let mut volume = PersistentVolume {
        metadata: meta("", name),
        ..PersistentVolume::default()
    };
    volume.metadata.uid = name.into();
    let spec = &mut volume.spec;
    spec.capacity.insert("storage".into(), size);
    spec.access_modes = vec!["ReadWriteOnce".into(), "ReadWriteOncePod".into()];
    class.clone_into(&mut spec.storage_class_name);
    let row = CLASSES.iter().find(|(own, _)| *own == class);
    if let Some((_, driver)) = row.filter(|(_, driver)| *driver != BY_HAND) {
        spec.csi = Some(VolumeSource {
            driver: (*driver).into(),
            volume_handle: name.into(),
            ..VolumeSource::default()
        });
    }
    if let Some((key, value)) = label {
        if key == ZONE {
            volume.metadata.labels.insert(key.into(), value.into());
        }
        let requirement = Requirement {
            key: key.into(),
            operator: "In".into(),
            values: vec![value.into()],
        };
        spec.node_affinity.required = Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: vec![requirement],
                ..NodeSelectorTerm::default()
            }],
        });
    }
    volume.status.phase = "Available".into();
    volume
}

/// What a driver is.
pub fn csi_driver(name: &str, counts: bool, must: bool) -> CsiDriver {
    let mut driver = CsiDriver {
        metadata: meta("", name),
        ..CsiDriver::default()
    };
    driver.spec.storage_capacity = counts;
    driver.spec.prevent_pod_scheduling_if_missing = must;
    driver
}

/// How much room the counted class has on a node.
pub fn capacity(node: &str, size: Quantity) -> CsiStorageCapacity {
    CsiStorageCapacity {
        metadata: meta("default", &format!("room-{node}")),
        storage_class_name: "counted".into(),
        node_topology: Some(LabelSelector {
            match_labels: [(HOST.into(), node.into())].into(),
            ..LabelSelector::default()
        }),
        capacity: Some(size),
        maximum_volume_size: None,
    }
}

/// The pod as a controller.
pub fn owner(pod: &Pod) -> OwnerReference {
    OwnerReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        controller: true,
    }
}

/// Names of the claims of a pod, each with whether it is made for the pod.
pub fn claims_of(pod: &Pod) -> impl Iterator<Item = (String, bool)> {
    pod.spec.volumes.iter().filter_map(|volume| {
        if let Some(source) = volume.source.get("persistentVolumeClaim") {
            return Some((source.claim_name.clone(), false));
        }
        let name = || format!("{}-{}", pod.metadata.name, volume.name);
        volume
            .source
            .contains_key("ephemeral")
            .then(|| (name(), true))
    })
}
