//! What is there after some events of a case, kept as plain objects; each further event becomes
//! steps for the schedulers that are compared.

use super::Case;
use super::event::Event;
use super::placement::node_name;
use super::pool::{self, NAMESPACES, SelectorRecipe, pick};
use super::storage;
use berth_core::object::{
    Namespace, Node, Object, ObjectMeta, Pod, ReplicationController, Service, Workload,
};
use berth_core::{Change, VolumeAction};
use berth_naive::bind;
use std::collections::BTreeMap;

/// Namespace and name of a pod.
pub type Key = (String, String);

/// Node names are numbered up to here.
const NODES_MAX: u32 = 256;

/// One thing to do to each scheduler.
#[derive(Clone, Debug)]
pub enum Step {
    Apply(Change, Box<Object>),
    /// Decide on a pod that waits.
    Schedule(Key),
    /// Ask about any pod.
    Ask(Key),
    Forget(Key),
}

/// A pod and where it is.
#[derive(Clone, Debug)]
pub struct WorldPod {
    pub pod: Pod,
    /// The node that the pod takes room on, or waits for.
    pub node: Option<String>,
}

impl WorldPod {
    /// Namespace and name.
    pub fn key(&self) -> Key {
        let meta = &self.pod.metadata;
        (meta.namespace.clone(), meta.name.clone())
    }

    /// The pod with its node's name, whether or not the API server knows it yet.
    pub fn placed(&self) -> Pod {
        let mut pod = self.pod.clone();
        pod.spec.node_name = self.node.clone().unwrap_or_default();
        pod
    }
}

/// All objects of a cluster.
#[derive(Clone, Debug)]
pub struct World {
    case: Case,
    /// In the order of arrival.
    pub nodes: Vec<Node>,
    removed: Vec<String>,
    nodes_ever: u32,
    pub pods: Vec<WorldPod>,
    pods_ever: u32,
    /// Namespaces, Services, owners and storage, by kind, namespace and name.
    others: BTreeMap<(&'static str, String, String), Object>,
}

impl World {
    /// An empty cluster.
    pub fn new(case: &Case) -> Self {
        Self {
            case: case.clone(),
            nodes: Vec::new(),
            removed: Vec::new(),
            nodes_ever: 0,
            pods: Vec::new(),
            pods_ever: 0,
            others: BTreeMap::new(),
        }
    }

    /// Every object that is there: nodes in the order of arrival, before the pods.
    pub fn objects(&self) -> Vec<Object> {
        let nodes = self
            .nodes
            .iter()
            .map(|node| Object::Node(Box::new(node.clone())));
        let pods = self
            .pods
            .iter()
            .map(|pod| Object::Pod(Box::new(pod.placed())));
        self.others
            .values()
            .cloned()
            .chain(nodes)
            .chain(pods)
            .collect()
    }

    /// The pod of this key.
    pub fn pod(&self, key: &Key) -> &WorldPod {
        let found = self.pods.iter().find(|pod| pod.key() == *key);
        found.unwrap_or_else(|| panic!("no pod {key:?}"))
    }

    /// Notes that a pod was placed.
    pub fn assume(&mut self, key: &Key, node: &str) {
        let found = self.pods.iter_mut().find(|pod| pod.key() == *key);
        found.expect("a pod that was decided on").node = Some(node.to_owned());
    }

    /// Whether a node is there.
    pub fn has_node(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.metadata.name == name)
    }

    /// A pod of each recipe, under a name of its own, waiting.
    pub fn samples(&self) -> Vec<Pod> {
        let recipes = self.case.pods.iter().enumerate();
        recipes
            .map(|(at, recipe)| recipe.pod(&format!("sample{at}")))
            .collect()
    }

    /// Takes the event in; nothing to do when it finds nothing that it could be about.
    pub fn steps(&mut self, event: &Event) -> Vec<Step> {
        match event {
            Event::AddNodes { recipe, count } => {
                (0..*count).filter_map(|_| self.add_node(*recipe)).collect()
            }
            Event::UpdateNode { pick, recipe } => self.update_node(*pick, *recipe),
            Event::RemoveNode { pick } => self.remove_node(*pick),
            Event::ReturnNode { pick, recipe } => self.return_node(*pick, *recipe),
            Event::AddPod { recipe, decide } => {
                let (pod, mut steps) = self.new_pod(*recipe);
                let key = self.pods.last().map(WorldPod::key);
                steps.push(apply(Change::Added, Object::Pod(Box::new(pod))));
                steps.extend(key.filter(|_| *decide).map(Step::Schedule));
                steps
            }
            Event::AddBound { recipe, node } => {
                let name = self.any_node_name(*node);
                let (_, mut steps) = self.new_pod(*recipe);
                let pod = self.pods.last_mut().expect("the new pod");
                pod.pod.spec.node_name.clone_from(&name);
                pod.node = Some(name);
                steps.push(apply(Change::Added, Object::Pod(Box::new(pod.pod.clone()))));
                steps
            }
            Event::Retry { pick } => {
                let waiting: Vec<&WorldPod> =
                    self.pods.iter().filter(|pod| pod.node.is_none()).collect();
                choose(&waiting, *pick)
                    .map(|pod| Step::Schedule(pod.key()))
                    .into_iter()
                    .collect()
            }
            Event::Ask { pick } => choose(&self.pods, *pick)
                .map(|pod| Step::Ask(pod.key()))
                .into_iter()
                .collect(),
            Event::Forget { pick } => self.forget(*pick),
            Event::Bind { pick, node } => self.bind(*pick, *node),
            Event::UpdatePod { pick, recipe } => self.update_pod(*pick, *recipe),
            Event::FinishPod { pick } => self.remove_pod(*pick, Change::Modified),
            Event::RemovePod { pick } => self.remove_pod(*pick, Change::Deleted),
            other => self.other(other),
        }
    }

    fn add_node(&mut self, recipe: u8) -> Option<Step> {
        if self.nodes_ever >= NODES_MAX {
            return None;
        }
        let name = node_name(u8::try_from(self.nodes_ever).ok()?);
        self.nodes_ever += 1;
        let node = self.case.nodes[usize::from(recipe) % self.case.nodes.len()].node(&name);
        self.nodes.push(node.clone());
        Some(apply(Change::Added, Object::Node(Box::new(node))))
    }

    fn update_node(&mut self, pick: u8, recipe: u8) -> Vec<Step> {
        let recipe = &self.case.nodes[usize::from(recipe) % self.case.nodes.len()];
        let count = self.nodes.len();
        let Some(node) = self.nodes.get_mut(usize::from(pick) % count.max(1)) else {
            return Vec::new();
        };
        *node = recipe.node(&node.metadata.name);
        vec![apply(
            Change::Modified,
            Object::Node(Box::new(node.clone())),
        )]
    }

    fn remove_node(&mut self, pick: u8) -> Vec<Step> {
        if self.nodes.is_empty() {
            return Vec::new();
        }
        let node = self.nodes.remove(usize::from(pick) % self.nodes.len());
        self.removed.push(node.metadata.name.clone());
        vec![apply(Change::Deleted, Object::Node(Box::new(node)))]
    }

    fn return_node(&mut self, pick: u8, recipe: u8) -> Vec<Step> {
        if self.removed.is_empty() {
            return Vec::new();
        }
        let name = self.removed.remove(usize::from(pick) % self.removed.len());
        let node = self.case.nodes[usize::from(recipe) % self.case.nodes.len()].node(&name);
        self.nodes.push(node.clone());
        vec![apply(Change::Added, Object::Node(Box::new(node)))]
    }

    /// The pod, and the claims that are made with it.
    fn new_pod(&mut self, recipe: u8) -> (Pod, Vec<Step>) {
        let name = format!("p{}", self.pods_ever);
        self.pods_ever += 1;
        let recipe = &self.case.pods[usize::from(recipe) % self.case.pods.len()];
        let pod = recipe.pod(&name);
        let claims: Vec<Object> = recipe.own_claims(&pod).collect();
        self.pods.push(WorldPod {
            pod: pod.clone(),
            node: None,
        });
        let steps = claims.into_iter().map(|claim| self.put(claim)).collect();
        (pod, steps)
    }

    /// A node that is there, or for high numbers one that is not.
    fn any_node_name(&self, pick: u8) -> String {
        match choose(&self.nodes, pick) {
            Some(node) if pick < 243 => node.metadata.name.clone(),
            _ => self
                .removed
                .last()
                .map_or("nowhere", String::as_str)
                .to_owned(),
        }
    }

    fn bind(&mut self, pick: u8, node: u8) -> Vec<Step> {
        let name = self.any_node_name(node);
        let count = self.pods.len();
        let Some(pod) = self.pods.get_mut(usize::from(pick) % count.max(1)) else {
            return Vec::new();
        };
        pod.pod.spec.node_name.clone_from(&name);
        pod.node = Some(name);
        vec![apply(
            Change::Modified,
            Object::Pod(Box::new(pod.pod.clone())),
        )]
    }

    /// The pod keeps its identity and its node, also one that it was assumed on and that is gone.
    fn update_pod(&mut self, pick: u8, recipe: u8) -> Vec<Step> {
        let recipe = &self.case.pods[usize::from(recipe) % self.case.pods.len()];
        let count = self.pods.len();
        let Some(entry) = self.pods.get_mut(usize::from(pick) % count.max(1)) else {
            return Vec::new();
        };
        let old = &entry.pod;
        let mut pod = recipe.pod(&old.metadata.name);
        pod.metadata.namespace.clone_from(&old.metadata.namespace);
        pod.metadata.uid.clone_from(&old.metadata.uid);
        pod.spec.node_name.clone_from(&old.spec.node_name);
        entry.pod = pod.clone();
        vec![apply(Change::Modified, Object::Pod(Box::new(pod)))]
    }

    fn remove_pod(&mut self, pick: u8, change: Change) -> Vec<Step> {
        if self.pods.is_empty() {
            return Vec::new();
        }
        let mut pod = self.pods.remove(usize::from(pick) % self.pods.len()).pod;
        if change == Change::Modified {
            pod.status.phase = "Succeeded".into();
        }
        vec![apply(change, Object::Pod(Box::new(pod)))]
    }

    fn forget(&mut self, pick: u8) -> Vec<Step> {
        let mut placed: Vec<&mut WorldPod> = self
            .pods
            .iter_mut()
            .filter(|pod| pod.node.is_some())
            .collect();
        let count = placed.len();
        let Some(pod) = placed.get_mut(usize::from(pick) % count.max(1)) else {
            return Vec::new();
        };
        pod.node = None;
        pod.pod.spec.node_name.clear();
        vec![Step::Forget(pod.key())]
    }

    fn other(&mut self, event: &Event) -> Vec<Step> {
        let meta = |namespace: u8, name: String| ObjectMeta {
            name,
            namespace: pick(&NAMESPACES, namespace).into(),
            ..ObjectMeta::default()
        };
        let (object, gone) = match event {
            Event::Namespace { which, labels } => {
                let mut namespace = Namespace::default();
                namespace.metadata.name = pick(&NAMESPACES, *which).into();
                namespace.metadata.labels = pool::labels(labels);
                (Object::Namespace(namespace), false)
            }
            Event::RemoveNamespace { which } => {
                let mut namespace = Namespace::default();
                namespace.metadata.name = pick(&NAMESPACES, *which).into();
                (Object::Namespace(namespace), true)
            }
            Event::Service {
                number,
                namespace,
                selector,
            } => {
                let mut service = Service {
                    metadata: meta(*namespace, format!("service{number}")),
                    ..Service::default()
                };
                service.spec.selector = selector.as_deref().map(pool::labels);
                (Object::Service(service), false)
            }
            Event::RemoveService { number, namespace } => {
                let metadata = meta(*namespace, format!("service{number}"));
                (
                    Object::Service(Service {
                        metadata,
                        ..Service::default()
                    }),
                    true,
                )
            }
            Event::Owner {
                kind,
                number,
                namespace,
                selector,
            } => {
                let metadata = meta(*namespace, format!("owner{number}"));
                (owner(*kind, metadata, selector.as_ref()), false)
            }
            Event::RemoveOwner {
                kind,
                number,
                namespace,
            } => {
                let metadata = meta(*namespace, format!("owner{number}"));
                (owner(*kind, metadata, None), true)
            }
            Event::Storage(recipe) => (recipe.object(), false),
            Event::RemoveStorage { pick } => {
                let there = self.others.values();
                let there = there.filter(|own| storage::KINDS.contains(&own.kind()));
                let there: Vec<&Object> = there.collect();
                match choose(&there, *pick) {
                    Some(object) => ((*object).clone(), true),
                    None => return Vec::new(),
                }
            }
            _ => return Vec::new(),
        };
        if !gone {
            return vec![self.put(object)];
        }
        if self.others.remove(&key_of(&object)).is_none() {
            return Vec::new();
        }
        vec![apply(Change::Deleted, object)]
    }

    fn put(&mut self, object: Object) -> Step {
        let old = self.others.insert(key_of(&object), object.clone());
        let change = if old.is_some() {
            Change::Modified
        } else {
            Change::Added
        };
        apply(change, object)
    }

    /// What the controllers make of the claims of a placed pod: the volume and the claim of each, as
    /// far as they are there. Provisioned volumes are in the node's zone.
    pub fn bind_volumes<'a>(
        &mut self,
        actions: impl Iterator<Item = VolumeAction<'a>>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for action in actions {
            let (VolumeAction::BindVolume {
                namespace, claim, ..
            }
            | VolumeAction::SelectNode {
                namespace, claim, ..
            }) = action;
            let key = ("PersistentVolumeClaim", namespace.into(), claim.into());
            let Some(Object::PersistentVolumeClaim(claim)) = self.others.get(&key) else {
                continue;
            };
            let mut claim = claim.clone();
            let volume = match action {
                VolumeAction::BindVolume { volume, .. } => {
                    let key = ("PersistentVolume", String::new(), volume.into());
                    let Some(Object::PersistentVolume(volume)) = self.others.get(&key) else {
                        continue;
                    };
                    let mut volume = volume.clone();
                    bind::bind(&mut volume, &mut claim);
                    volume
                }
                VolumeAction::SelectNode { node, .. } => {
                    let key = ("StorageClass", String::new(), claim.class().to_owned());
                    let Some(Object::StorageClass(class)) = self.others.get(&key) else {
                        continue;
                    };
                    let mut nodes = self.nodes.iter();
                    let there = nodes.find(|own| own.metadata.name == node);
                    let zone = there.and_then(|own| own.metadata.labels.get(pool::KEYS[1]));
                    let zone = zone.map(String::as_str);
                    Box::new(bind::provision(&mut claim, &class.provisioner, node, zone))
                }
            };
            steps.push(self.put(Object::PersistentVolume(volume)));
            steps.push(self.put(Object::PersistentVolumeClaim(claim)));
        }
        steps
    }
}

fn key_of(object: &Object) -> (&'static str, String, String) {
    let meta = object.metadata();
    (object.kind(), meta.namespace.clone(), meta.name.clone())
}

fn owner(kind: u8, metadata: ObjectMeta, selector: Option<&SelectorRecipe>) -> Object {
    if kind == 2 {
        let mut controller = ReplicationController {
            metadata,
            ..Default::default()
        };
        controller.spec.selector = selector.map(|selector| pool::labels(&selector.pairs));
        return Object::ReplicationController(controller);
    }
    let mut workload = Workload {
        metadata,
        ..Workload::default()
    };
    workload.spec.selector = selector.map(SelectorRecipe::selector);
    if kind == 0 {
        Object::ReplicaSet(workload)
    } else {
        Object::StatefulSet(workload)
    }
}

fn apply(change: Change, object: Object) -> Step {
    Step::Apply(change, Box::new(object))
}

fn choose<T>(all: &[T], pick: u8) -> Option<&T> {
    all.get(usize::from(pick) % all.len().max(1))
}
