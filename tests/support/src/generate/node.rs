//! Recipes of nodes.

use super::pool::{self, Amounts, KEYS, NAMESPACES, Pairs, VALUES, pick};
use super::{few, rarely};
use berth_core::object::{ContainerImage, Node, Taint};
use proptest::collection::vec;
use proptest::prelude::*;

/// Names of images, as nodes report them.
pub const IMAGES: [&str; 5] = [
    "web:latest",
    "registry.example:5000/web:latest",
    "db:1",
    "registry.example:5000/db@sha256:0",
    "web",
];

/// Sizes of images in bytes.
const SIZES: [i64; 8] = [
    100 << 20,
    30 << 20,
    900 << 20,
    5 << 30,
    0,
    23 << 20,
    i64::MAX,
    1000 << 20,
];

/// Features that nodes may declare and pods may need; the last is needed by none.
const FEATURES: [&str; 4] = [
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
    "Other",
];

/// Effects of taints and tolerations.
pub const EFFECTS: [&str; 5] = ["NoSchedule", "PreferNoSchedule", "NoExecute", "", "Odd"];

/// Keys of taints and tolerations.
pub const TAINTS: [&str; 3] = ["dedicated", "gpu", "node.kubernetes.io/unschedulable"];

/// What a node is like; its name comes with the event that adds it.
#[derive(Clone, Debug, Default)]
pub struct NodeRecipe {
    /// Whether the hostname label is missing.
    pub nameless: bool,
    pub zone: Option<u8>,
    pub region: Option<u8>,
    /// Zone labels under the old names.
    pub beta: bool,
    pub labels: Pairs,
    pub taints: Vec<(u8, u8, u8)>,
    pub unschedulable: bool,
    /// Absent: no `allocatable` at all.
    pub amounts: Option<Amounts>,
    pub pods: Option<u8>,
    /// Each with a size; every second name is listed with the one before.
    pub images: Vec<(u8, u8)>,
    pub features: Vec<u8>,
}

/// Most nodes have room, few have anything odd.
pub fn node() -> impl Strategy<Value = NodeRecipe> {
    let place = (
        rarely(12, Just(())),
        proptest::option::weighted(0.8, 0..4_u8),
        rarely(3, 0..3_u8),
        rarely(8, Just(())),
    );
    let amounts = proptest::option::weighted(0.95, pool::amounts(2));
    let taint = (
        pool::number(TAINTS.len(), 2),
        0..2_u8,
        pool::number(EFFECTS.len(), 3),
    );
    (
        place,
        pool::pairs(2),
        few(3, 2, taint),
        rarely(15, Just(())),
        amounts,
        proptest::option::weighted(0.95, pool::number(6, 3)),
        few(3, 3, (0..IMAGES.len() as u8, pool::number(SIZES.len(), 3))),
        few(4, 3, 0..FEATURES.len() as u8),
    )
        .prop_map(
            |(
                (nameless, zone, region, beta),
                labels,
                taints,
                cordoned,
                amounts,
                pods,
                images,
                features,
            )| {
                NodeRecipe {
                    nameless: nameless.is_some(),
                    zone,
                    region,
                    beta: beta.is_some(),
                    labels,
                    taints,
                    unschedulable: cordoned.is_some(),
                    amounts,
                    pods,
                    images,
                    features,
                }
            },
        )
}

impl NodeRecipe {
    /// The node of this name.
    pub fn node(&self, name: &str) -> Node {
        let mut node = Node::default();
        name.clone_into(&mut node.metadata.name);
        node.metadata.labels = pool::labels(&self.labels);
        let labels = &mut node.metadata.labels;
        if !self.nameless {
            labels.insert(KEYS[0].into(), name.into());
        }
        let keys = if self.beta {
            [
                "failure-domain.beta.kubernetes.io/zone",
                "failure-domain.beta.kubernetes.io/region",
            ]
        } else {
            [KEYS[1], KEYS[2]]
        };
        for (key, value) in keys.into_iter().zip([self.zone, self.region]) {
            if let Some(value) = value {
                labels.insert(key.into(), VALUES[usize::from(value)].into());
            }
        }
        node.spec.unschedulable = self.unschedulable;
        let taint = |(key, value, effect): &(u8, u8, u8)| Taint {
            key: pick(&TAINTS, *key).into(),
            value: pick(&VALUES, *value).into(),
            effect: pick(&EFFECTS, *effect).into(),
        };
        node.spec.taints = self.taints.iter().map(taint).collect();
        node.status.allocatable = self.amounts.as_ref().map(|amounts| {
            let mut list = amounts.list();
            if let Some(pods) = self.pods {
                let most = ["110", "3", "8", "0", "1", "1e19"];
                list.insert("pods".into(), pool::amount(&most, pods));
            }
            list
        });
        for (at, (name, size)) in self.images.iter().enumerate() {
            let name: String = pick(&IMAGES, *name).into();
            match node.status.images.last_mut() {
                Some(image) if at % 2 == 1 => image.names.push(name),
                _ => node.status.images.push(ContainerImage {
                    names: vec![name],
                    size_bytes: SIZES[usize::from(*size) % SIZES.len()],
                }),
            }
        }
        let features = self
            .features
            .iter()
            .map(|feature| pick(&FEATURES, *feature).into());
        node.status.declared_features = features.collect();
        node
    }
}

/// Labels of a namespace.
pub fn namespace_labels() -> impl Strategy<Value = (u8, Pairs)> {
    (
        0..NAMESPACES.len() as u8 - 1,
        vec((3..5_u8, 0..2_u8), 0..=2),
    )
}
