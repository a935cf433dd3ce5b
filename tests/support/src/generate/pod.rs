//! Recipes of pods: what they are made of. Where they may go is in `placement`.

use super::placement::{self, NearRecipe, SpreadRecipe, TermRecipe, TolerationRecipe};
use super::pool::{self, Amounts, NAMESPACES, Pairs, pick};
use super::storage::UseRecipe;
use super::{few, rarely};
use berth_core::object::{
    Affinity, Container, ContainerPort, ContainerRestartRule, ContainerStatus, NodeAffinity,
    Object, OwnerReference, Pod, PodAffinity, PodCondition, PodSchedulingGate,
    ResourceRequirements, Volume, VolumeMount, VolumeSource,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Scheduler names of profiles; the last is nobody's.
pub const SCHEDULERS: [&str; 3] = ["default-scheduler", "second", "nobody"];

/// Names of images, as pods name them.
const IMAGES: [&str; 5] = [
    "web",
    "registry.example:5000/web",
    "db:1",
    "registry.example:5000/db@sha256:0",
    "absent",
];

/// A container: requests, image, host ports as (port, protocol, address).
#[derive(Clone, Debug, Default)]
pub struct ContainerRecipe {
    pub requests: Amounts,
    pub image: Option<u8>,
    pub ports: Vec<(u8, u8, u8)>,
    /// Of an init container.
    pub sidecar: bool,
}

/// What a node reports of a pod that is being resized: of the whole pod, of its first container
/// (allocated, in force), and whether the resize is infeasible.
#[derive(Clone, Debug, Default)]
pub struct ResizeRecipe {
    pub pod: Option<(Option<Amounts>, Option<Amounts>)>,
    pub container: Option<(Option<Amounts>, Option<Amounts>)>,
    pub infeasible: bool,
}

/// Where a pod wants to be.
#[derive(Clone, Debug, Default)]
pub struct PlaceRecipe {
    pub node_selector: Option<Pairs>,
    pub required: Option<Vec<TermRecipe>>,
    pub preferred: Option<Vec<(i32, TermRecipe)>>,
    pub near: Vec<NearRecipe>,
    pub far: Vec<NearRecipe>,
    pub rather_near: Vec<(i32, NearRecipe)>,
    pub rather_far: Vec<(i32, NearRecipe)>,
    pub spread: Vec<SpreadRecipe>,
    pub tolerations: Vec<TolerationRecipe>,
}

/// What a pod is like; its name comes with the event that adds it.
#[derive(Clone, Debug, Default)]
pub struct PodRecipe {
    pub namespace: u8,
    pub scheduler: u8,
    pub labels: Pairs,
    pub containers: Vec<ContainerRecipe>,
    pub init: Vec<ContainerRecipe>,
    pub overhead: Option<Amounts>,
    pub pod_level: Option<Amounts>,
    pub resize: Option<ResizeRecipe>,
    pub place: PlaceRecipe,
    /// Kind and number of the controller.
    pub owner: Option<(u8, u8)>,
    /// A feature that the node must declare.
    pub feature: Option<u8>,
    pub image_volume: Option<u8>,
    pub volumes: Vec<UseRecipe>,
    pub terminating: bool,
    pub gated: bool,
}

fn container() -> impl Strategy<Value = ContainerRecipe> {
    let port = (pool::number(3, 1), pool::number(3, 1), pool::number(4, 2));
    (
        pool::requests(),
        rarely(2, 0..5_u8),
        few(8, 2, port),
        any::<bool>(),
    )
        .prop_map(|(requests, image, ports, sidecar)| ContainerRecipe {
            requests,
            image,
            ports,
            sidecar,
        })
}

fn place() -> impl Strategy<Value = PlaceRecipe> {
    let weight = || prop_oneof![8 => 1..=100, 1 => Just(0)];
    let affinity = (
        rarely(6, pool::pairs(1)),
        rarely(5, vec(placement::any_term(), 0..=2)),
        rarely(5, vec((weight(), placement::any_term()), 0..=2)),
    );
    let pods = (
        few(5, 2, placement::near()),
        few(5, 2, placement::near()),
        few(5, 2, (weight(), placement::near())),
        few(5, 2, (weight(), placement::near())),
    );
    (
        affinity,
        pods,
        few(3, 3, placement::spread()),
        few(3, 2, placement::toleration()),
    )
        .prop_map(
            |(
                (node_selector, required, preferred),
                (near, far, rather_near, rather_far),
                spread,
                tolerations,
            )| {
                PlaceRecipe {
                    node_selector,
                    required,
                    preferred,
                    near,
                    far,
                    rather_near,
                    rather_far,
                    spread,
                    tolerations,
                }
            },
        )
}

fn resize() -> impl Strategy<Value = ResizeRecipe> {
    let both = || {
        let one = || proptest::option::of(pool::requests());
        proptest::option::of((one(), one()))
    };
    (both(), both(), any::<bool>()).prop_map(|(pod, container, infeasible)| ResizeRecipe {
        pod,
        container,
        infeasible,
    })
}

/// Most pods are plain in most ways.
pub fn pod() -> impl Strategy<Value = PodRecipe> {
    let identity = (
        pool::number(NAMESPACES.len(), 2),
        prop_oneof![9 => Just(0_u8), 2 => Just(1), 1 => Just(2)],
        pool::pairs(2),
    );
    let amounts = (
        prop_oneof![6 => vec(container(), 1), 2 => vec(container(), 2..=3), 1 => Just(vec![])],
        few(6, 3, container()),
        rarely(10, pool::requests()),
        rarely(10, pool::requests()),
        rarely(10, resize()),
    );
    let rest = (
        rarely(3, (0..4_u8, 0..2_u8)),
        rarely(10, 0..3_u8),
        rarely(10, 0..5_u8),
        rarely(20, Just(())),
        rarely(30, Just(())),
    );
    (identity, amounts, place(), rest).prop_map(|(identity, amounts, place, rest)| PodRecipe {
        namespace: identity.0,
        scheduler: identity.1,
        labels: identity.2,
        containers: amounts.0,
        init: amounts.1,
        overhead: amounts.2,
        pod_level: amounts.3,
        resize: amounts.4,
        place,
        owner: rest.0,
        feature: rest.1,
        image_volume: rest.2,
        volumes: Vec::new(),
        terminating: rest.3.is_some(),
        gated: rest.4.is_some(),
    })
}

impl ContainerRecipe {
    fn container(&self, name: String, is_init: bool) -> Container {
        let port = |(port, protocol, address): &(u8, u8, u8)| ContainerPort {
            host_port: [80, 81, 0][usize::from(*port)],
            container_port: 80,
            protocol: pick(&["TCP", "UDP", ""], *protocol).into(),
            host_ip: pick(&["", "127.0.0.1", "0.0.0.0", "::"], *address).into(),
        };
        Container {
            name,
            image: self.image.map_or("", |image| pick(&IMAGES, image)).into(),
            resources: requirements(Some(&self.requests)),
            ports: self.ports.iter().map(port).collect(),
            restart_policy: if is_init && self.sidecar {
                "Always"
            } else {
                ""
            }
            .into(),
            ..Container::default()
        }
    }
}

fn requirements(requests: Option<&Amounts>) -> ResourceRequirements {
    ResourceRequirements {
        requests: requests.map(Amounts::list),
        ..ResourceRequirements::default()
    }
}

impl PlaceRecipe {
    fn affinity(&self) -> Option<Affinity> {
        let node = NodeAffinity {
            required: self.required.as_deref().map(placement::selector),
            preferred: self
                .preferred
                .as_ref()
                .map(|terms| terms.iter().map(placement::preferred).collect()),
        };
        let side = |required: &[NearRecipe], preferred: &[(i32, NearRecipe)]| {
            let affinity = PodAffinity {
                required: required.iter().map(NearRecipe::term).collect(),
                preferred: preferred
                    .iter()
                    .map(|(weight, term)| term.weighted(*weight))
                    .collect(),
            };
            (affinity != PodAffinity::default()).then_some(affinity)
        };
        let affinity = Affinity {
            node_affinity: (node != NodeAffinity::default()).then_some(node),
            pod_affinity: side(&self.near, &self.rather_near),
            pod_anti_affinity: side(&self.far, &self.rather_far),
        };
        (affinity != Affinity::default()).then_some(affinity)
    }
}

fn volume_name(at: usize) -> String {
    format!("own{at}")
}

impl PodRecipe {
    /// The pending pod of this name.
    pub fn pod(&self, name: &str) -> Pod {
        let mut pod = Pod::default();
        let meta = &mut pod.metadata;
        name.clone_into(&mut meta.name);
        meta.namespace = pick(&NAMESPACES, self.namespace).into();
        meta.uid = format!("{}-{name}", meta.namespace);
        meta.labels = pool::labels(&self.labels);
        meta.deletion_timestamp = self.terminating.then(|| "2026-01-01T00:00:00Z".into());
        if let Some((kind, number)) = self.owner {
            let kinds = ["ReplicaSet", "StatefulSet", "ReplicationController", "Job"];
            let versions = ["apps/v1", "apps/v1", "v1", "batch/v1"];
            meta.owner_references = vec![OwnerReference {
                api_version: pick(&versions, kind).into(),
                kind: pick(&kinds, kind).into(),
                name: format!("owner{number}"),
                controller: true,
                ..OwnerReference::default()
            }];
        }
        let spec = &mut pod.spec;
        spec.scheduler_name = pick(&SCHEDULERS, self.scheduler).into();
        let containers = self.containers.iter().enumerate();
        spec.containers = containers
            .map(|(at, recipe)| recipe.container(format!("c{at}"), false))
            .collect();
        let init = self.init.iter().enumerate();
        spec.init_containers = init
            .map(|(at, recipe)| recipe.container(format!("i{at}"), true))
            .collect();
        spec.overhead = self
            .overhead
            .as_ref()
            .map(Amounts::list)
            .unwrap_or_default();
        spec.resources = self
            .pod_level
            .as_ref()
            .map(|amounts| requirements(Some(amounts)));
        spec.node_selector = self.place.node_selector.as_deref().map(pool::labels);
        spec.affinity = self.place.affinity();
        spec.tolerations = self
            .place
            .tolerations
            .iter()
            .map(placement::tolerated)
            .collect();
        let spread = self.place.spread.iter().map(SpreadRecipe::constraint);
        spec.topology_spread_constraints = spread.collect();
        if self.gated {
            spec.scheduling_gates = vec![PodSchedulingGate {
                name: "wait".into(),
            }];
        }
        if let Some(image) = self.image_volume {
            let source = VolumeSource {
                reference: pick(&IMAGES, image).into(),
                ..VolumeSource::default()
            };
            spec.volumes = vec![Volume {
                name: "v".into(),
                source: [("image".into(), source)].into(),
            }];
        }
        let volumes = self.volumes.iter().enumerate();
        pod.spec
            .volumes
            .extend(volumes.map(|(at, own)| own.volume(volume_name(at))));
        self.need_feature(&mut pod);
        self.report_resize(&mut pod);
        pod
    }

    /// Claims that are made with the pod.
    pub fn own_claims<'a>(&'a self, pod: &'a Pod) -> impl Iterator<Item = Object> + 'a {
        let volumes = self.volumes.iter().enumerate();
        volumes.filter_map(|(at, own)| own.own_claim(pod, &volume_name(at)))
    }

    fn need_feature(&self, pod: &mut Pod) {
        let first = pod.spec.containers.first_mut();
        match (self.feature, first) {
            (Some(0), Some(container)) => {
                let action = "RestartAllContainers".into();
                container.restart_policy_rules = vec![ContainerRestartRule { action }];
            }
            (Some(1), _) => {
                pod.spec.host_network = true;
                pod.spec.host_users = Some(false);
            }
            (Some(2), Some(container)) => {
                let bind_mount_options = vec!["ro".into()];
                container.volume_mounts = vec![VolumeMount { bind_mount_options }];
            }
            _ => {}
        }
    }

    fn report_resize(&self, pod: &mut Pod) {
        let Some(resize) = &self.resize else {
            return;
        };
        if let Some((allocated, in_force)) = &resize.pod {
            pod.status.allocated_resources = allocated.as_ref().map(Amounts::list);
            pod.status.resources = Some(requirements(in_force.as_ref()));
        }
        if let Some((allocated, in_force)) = &resize.container {
            let status =
                |name: &str, (allocated, in_force): (&Option<Amounts>, &Option<Amounts>)| {
                    ContainerStatus {
                        name: name.into(),
                        allocated_resources: allocated.as_ref().map(Amounts::list),
                        resources: Some(requirements(in_force.as_ref())),
                    }
                };
            pod.status.container_statuses = vec![status("c0", (allocated, in_force))];
            if !pod.spec.init_containers.is_empty() {
                // The other way round, so that each counts where it is the larger.
                pod.status.init_container_statuses = vec![status("i0", (in_force, allocated))];
            }
        }
        if resize.infeasible {
            pod.status.conditions = vec![PodCondition {
                type_: "PodResizePending".into(),
                status: "True".into(),
                reason: "Infeasible".into(),
                ..PodCondition::default()
            }];
        }
    }
}
