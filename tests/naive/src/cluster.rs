//! What the scheduler knows of the cluster. Mirrors `pkg/scheduler/backend/cache`.

use crate::requests::{self, Amounts, Requested};
use crate::storage::Storage;
use berth_core::object::{
    Labels, Node, Object, ObjectMeta, Pod, ReplicationController, Service, Workload,
};
use berth_core::{Change, object};
use std::collections::{BTreeMap, BTreeSet};

/// Namespace and name.
pub type Key = (String, String);

/// Nodes with their pods, and the objects that select pods.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// In the order of their arrival.
    pub nodes: Vec<NodeState>,
    /// Labels by namespace.
    pub namespaces: BTreeMap<String, Labels>,
    pub services: BTreeMap<Key, Service>,
    pub replication_controllers: BTreeMap<Key, ReplicationController>,
    pub replica_sets: BTreeMap<Key, Workload>,
    pub stateful_sets: BTreeMap<Key, Workload>,
    pub storage: Storage,
    /// Pods on nodes that are not known, or not any more.
    homeless: Vec<Placed>,
    /// Zones in order of appearance, each with its nodes in order of arrival.
    zones: Vec<(String, Vec<String>)>,
    /// The search order of the last attempt, by node name.
    order: Vec<String>,
    /// Where in the search order the next search begins.
    pub start: usize,
    /// By image name: its size as first reported, and the nodes that have it.
    images: BTreeMap<String, (i64, BTreeSet<String>)>,
}

/// A node and what is on it.
#[derive(Clone, Debug)]
pub struct NodeState {
    pub node: Node,
    pub pods: Vec<Placed>,
    /// Images on the node, as counted when an attempt first saw the node's last change.
    pub images: BTreeMap<String, Image>,
    changed: bool,
    allocatable: Amounts,
}

/// An image that a node holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    pub bytes: i64,
    /// Nodes that hold it.
    pub nodes: usize,
}

/// A pod on a node.
#[derive(Clone, Debug)]
pub struct Placed {
    pub pod: Pod,
    pub requested: Requested,
}

impl NodeState {
    /// The node's name.
    pub fn name(&self) -> &str {
        &self.node.metadata.name
    }

    /// The node's labels.
    pub fn labels(&self) -> &Labels {
        &self.node.metadata.labels
    }

    /// Milli-cores, bytes or units of `resource`; 0 where it is absent, negative or not tracked.
    pub fn allocatable(&self, resource: &str) -> i128 {
        requests::amount(&self.allocatable, resource)
    }

    /// Sum over the node's pods.
    pub fn requested(&self, resource: &str) -> i128 {
        self.pods
            .iter()
            .map(|placed| requests::amount(&placed.requested.exact, resource))
            .sum()
    }

    /// Sum over the node's pods, where a container without a request counts as a small one. Only
    /// cpu and memory have such defaults.
    pub fn non_zero_requested(&self, resource: &str) -> i128 {
        if resource != "cpu" && resource != "memory" {
            return self.requested(resource);
        }
        self.pods
            .iter()
            .map(|placed| requests::amount(&placed.requested.non_zero, resource))
            .sum()
    }
}

impl Cluster {
    /// Takes in an object as the engine does. Pods without a node and finished pods leave no trace;
    /// kinds that no rule reads change nothing.
    pub fn apply(&mut self, change: Change, object: &Object) {
        let gone = change == Change::Deleted;
        match object {
            Object::Node(node) if gone => self.remove_node(&node.metadata.name),
            Object::Node(node) => self.put_node((**node).clone()),
            Object::Pod(pod) => {
                self.remove_pod(&pod.metadata.namespace, &pod.metadata.name);
                if !gone {
                    self.add_pod((**pod).clone());
                }
            }
            Object::Namespace(namespace) if gone => {
                self.namespaces.remove(&namespace.metadata.name);
            }
            Object::Namespace(namespace) => {
                let meta = &namespace.metadata;
                self.namespaces
                    .insert(meta.name.clone(), meta.labels.clone());
            }
            Object::Service(object) => put(&mut self.services, gone, object, &object.metadata),
            Object::ReplicationController(object) => put(
                &mut self.replication_controllers,
                gone,
                object,
                &object.metadata,
            ),
            Object::ReplicaSet(object) => {
                put(&mut self.replica_sets, gone, object, &object.metadata);
            }
            Object::StatefulSet(object) => {
                put(&mut self.stateful_sets, gone, object, &object.metadata);
            }
            _ => self.apply_storage(gone, object),
        }
    }

    fn apply_storage(&mut self, gone: bool, object: &Object) {
        let all = &mut self.storage;
        let meta = object.metadata();
        let key = (meta.namespace.clone(), meta.name.clone());
        let is_same = !gone
            && match object {
                Object::PersistentVolume(own) => all.volumes.get(&key) == Some(own),
                Object::PersistentVolumeClaim(own) => all.claims.get(&key) == Some(own),
                _ => true,
            };
        if !is_same {
            all.expire(object);
        }
        match object {
            Object::PersistentVolume(own) => put(&mut all.volumes, gone, &**own, &own.metadata),
            Object::PersistentVolumeClaim(own) => put(&mut all.claims, gone, &**own, &own.metadata),
            Object::StorageClass(own) => put(&mut all.classes, gone, own, &own.metadata),
            Object::CsiNode(own) => put(&mut all.csi_nodes, gone, own, &own.metadata),
            Object::CsiDriver(own) => put(&mut all.csi_drivers, gone, own, &own.metadata),
            Object::CsiStorageCapacity(own) => put(&mut all.capacities, gone, own, &own.metadata),
            Object::VolumeAttachment(own) => put(&mut all.attachments, gone, own, &own.metadata),
            _ => {}
        }
    }

    /// Adds a node, or replaces the one of its name.
    pub fn put_node(&mut self, node: Node) {
        let name = node.metadata.name.clone();
        let allocatable = requests::allocatable(node.status.allocatable.as_ref());
        let zone = zone(&node);
        if let Some(index) = self.position(&name) {
            let old = self.nodes[index].node.clone();
            self.forget_images(&old);
            if self::zone(&old) != zone {
                self.leave_zone(&name);
                self.join_zone(zone, &name);
            }
            let state = &mut self.nodes[index];
            state.node = node;
            state.allocatable = allocatable;
            state.changed = true;
        } else {
            self.join_zone(zone, &name);
            let (pods, homeless) = std::mem::take(&mut self.homeless)
                .into_iter()
                .partition(|placed| placed.pod.spec.node_name == name);
            self.homeless = homeless;
            self.nodes.push(NodeState {
                node,
                pods,
                images: BTreeMap::new(),
                changed: true,
                allocatable,
            });
        }
        self.remember_images(&name);
    }

    /// Removes a node; its pods wait for a node of that name, or for their own removal.
    pub fn remove_node(&mut self, name: &str) {
        if let Some(index) = self.position(name) {
            let state = self.nodes.remove(index);
            self.homeless.extend(state.pods);
            self.forget_images(&state.node);
            self.leave_zone(name);
        }
    }

    /// Adds a pod to the node that it names. One without a node, or finished, takes no room.
    pub fn add_pod(&mut self, pod: Pod) {
        if pod.spec.node_name.is_empty() || pod.status.is_finished() {
            return;
        }
        let index = self.position(&pod.spec.node_name);
        let requested = Requested::of(&pod);
        let placed = Placed { pod, requested };
        if let Some(index) = index {
            self.nodes[index].pods.push(placed);
            self.nodes[index].changed = true;
        } else {
            self.homeless.push(placed);
        }
    }

    /// Places a pod on a node.
    pub fn assume(&mut self, pod: &Pod, node: &str) {
        let mut pod = pod.clone();
        node.clone_into(&mut pod.spec.node_name);
        self.add_pod(pod);
    }

    /// Removes a pod from wherever it is.
    pub fn remove_pod(&mut self, namespace: &str, name: &str) {
        let is_it = |placed: &Placed| {
            placed.pod.metadata.namespace == namespace && placed.pod.metadata.name == name
        };
        self.homeless.retain(|placed| !is_it(placed));
        for state in &mut self.nodes {
            if let Some(index) = state.pods.iter().position(is_it) {
                // As upstream: the last pod moves into the gap.
                state.pods.swap_remove(index);
                state.changed = true;
            }
        }
    }

    /// The pods on all nodes, each with its node.
    pub fn placed(&self) -> impl Iterator<Item = (&NodeState, &Placed)> {
        self.nodes
            .iter()
            .flat_map(|state| state.pods.iter().map(move |placed| (state, placed)))
    }

    /// Labels of a namespace; none if it is unknown.
    pub fn namespace_labels(&self, namespace: &str) -> Labels {
        self.namespaces.get(namespace).cloned().unwrap_or_default()
    }

    /// What an attempt does first: image counts of changed nodes are taken anew, and the search
    /// order is made anew if a node came or went. A node that changes its zone, or goes and comes
    /// between two attempts, keeps its place. Mirrors `UpdateSnapshot` of `cache.go`.
    pub(crate) fn refresh(&mut self) {
        for state in self.nodes.iter_mut().filter(|state| state.changed) {
            state.changed = false;
            state.images = names_of_images(&state.node)
                .filter_map(|name| {
                    let (bytes, nodes) = self.images.get(name)?;
                    let image = Image {
                        bytes: *bytes,
                        nodes: nodes.len(),
                    };
                    Some((name.clone(), image))
                })
                .collect();
        }
        let now: BTreeSet<&str> = self.nodes.iter().map(NodeState::name).collect();
        let then: BTreeSet<&str> = self.order.iter().map(String::as_str).collect();
        if now != then {
            self.order = self.round_robin();
        }
    }

    /// The cluster as if the pod were not there and its node had never had it.
    #[must_use]
    pub fn without(&self, namespace: &str, name: &str) -> Self {
        let mut rest = self.clone();
        let changed: Vec<bool> = rest.nodes.iter().map(|state| state.changed).collect();
        rest.remove_pod(namespace, name);
        for (state, changed) in rest.nodes.iter_mut().zip(changed) {
            state.changed = changed;
        }
        rest
    }

    /// Indices into `nodes` in search order.
    pub(crate) fn search_order(&self) -> Vec<usize> {
        self.order
            .iter()
            .filter_map(|name| self.position(name))
            .collect()
    }

    /// The first node of each zone, then the second of each, and so on.
    fn round_robin(&self) -> Vec<String> {
        let longest = self.zones.iter().map(|(_, names)| names.len()).max();
        (0..longest.unwrap_or(0))
            .flat_map(|index| {
                self.zones
                    .iter()
                    .filter_map(move |(_, names)| names.get(index).cloned())
            })
            .collect()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|state| state.name() == name)
    }

    fn join_zone(&mut self, zone: String, name: &str) {
        match self.zones.iter_mut().find(|(known, _)| *known == zone) {
            Some((_, names)) => names.push(name.to_owned()),
            None => self.zones.push((zone, vec![name.to_owned()])),
        }
    }

    fn leave_zone(&mut self, name: &str) {
        for (_, names) in &mut self.zones {
            names.retain(|known| known != name);
        }
        self.zones.retain(|(_, names)| !names.is_empty());
    }

    fn remember_images(&mut self, node: &str) {
        let Some(index) = self.position(node) else {
            return;
        };
        for image in &self.nodes[index].node.status.images {
            for name in &image.names {
                self.images
                    .entry(name.clone())
                    .or_insert_with(|| (image.size_bytes, BTreeSet::new()))
                    .1
                    .insert(node.to_owned());
            }
        }
    }

    fn forget_images(&mut self, node: &Node) {
        for name in names_of_images(node) {
            if let Some((_, nodes)) = self.images.get_mut(name) {
                nodes.remove(&node.metadata.name);
                if nodes.is_empty() {
                    self.images.remove(name);
                }
            }
        }
    }
}

fn put<T: Clone>(map: &mut BTreeMap<Key, T>, gone: bool, object: &T, meta: &ObjectMeta) {
    let key = (meta.namespace.clone(), meta.name.clone());
    if gone {
        map.remove(&key);
    } else {
        map.insert(key, object.clone());
    }
}

fn names_of_images(node: &Node) -> impl Iterator<Item = &String> {
    node.status
        .images
        .iter()
        .flat_map(|image: &object::ContainerImage| &image.names)
}

/// Region and zone of a node, the beta labels first; nodes without either share one zone.
fn zone(node: &Node) -> String {
    let labels = &node.metadata.labels;
    let label = |kind: &str| {
        labels
            .get(&format!("failure-domain.beta.kubernetes.io/{kind}"))
            .or_else(|| labels.get(&format!("topology.kubernetes.io/{kind}")))
            .map_or("", String::as_str)
    };
    format!("{}:\0:{}", label("region"), label("zone"))
}
