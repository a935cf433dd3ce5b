//! The cluster as far as it was heard of, in the core.
//!
//! The stage before is the watches, the one after the loop. Nothing keeps whole objects, but for those
//! that extenders get: a pod has a row in the core, and here what the API server knows of it that
//! scheduling does not read.

use super::compare::{Held, pod_line};
use super::kept::Kept;
use super::resources::{NODES, PODS, RESOURCES};
use super::shadow::Judged;
use super::watcher::{Batch, News};
use berth_core::id::{NodeId, PodId};
use berth_core::intake::{Intake, IntakeError, ObjectId};
use berth_core::object::decode::decode;
use berth_core::object::{Object, PodCondition};
use berth_core::plugins::Plugin;
use berth_core::{Change, PluginSet, Scheduler};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// What the API server says of a pod beside what scheduling reads.
#[derive(Clone, Debug, Default)]
pub struct PodFacts {
    /// The list that named it last.
    list: u32,
    /// `metadata.resourceVersion`, for events.
    pub version: u64,
    /// `metadata.generation`, for conditions.
    pub generation: i64,
    /// Its conditions that the scheduler writes; most pods have none.
    pub conditions: Option<Box<[PodCondition]>>,
    /// When it was first seen waiting, for the time until it is bound; 0: never.
    pub since: u64,
    /// When its last attempt began.
    pub tried: u64,
}

/// Something that was heard and could not be taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    pub why: String,
    /// Whether a table is full.
    pub is_full: bool,
}

/// The core with what the daemon keeps beside it.
pub struct Model {
    pub intake: Intake,
    /// Scheduler names of the profiles.
    profiles: BTreeSet<String>,
    pods: Vec<PodFacts>,
    /// By node, the list that named it last.
    nodes: Vec<u32>,
    /// The same of other kinds, by name.
    others: Vec<HashMap<(String, String), u32>>,
    /// By kind, how often it was listed.
    lists: Vec<u32>,
    /// By kind, the term of the lead in which the last list began.
    terms: Vec<u64>,
    /// By kind, the term of the last list that came to its end.
    listed: Vec<Option<u64>>,
    /// What could not be taken in since it was last asked.
    pub refused: Vec<Refused>,
    /// Whether others' choices are judged.
    pub judges: bool,
    /// Those that were since it was last asked.
    pub judged: Vec<Judged>,
    /// What extenders get.
    pub kept: Kept,
}

impl Model {
    /// `profiles` are the scheduler names that are served.
    pub fn new(intake: Intake, profiles: impl IntoIterator<Item = String>) -> Self {
        Self {
            intake,
            profiles: profiles.into_iter().collect(),
            pods: Vec::new(),
            nodes: Vec::new(),
            others: vec![HashMap::new(); RESOURCES.len()],
            lists: vec![0; RESOURCES.len()],
            terms: vec![0; RESOURCES.len()],
            listed: vec![None; RESOURCES.len()],
            refused: Vec::new(),
            judges: false,
            judged: Vec::new(),
            kept: Kept::default(),
        }
    }

    /// The core.
    pub const fn scheduler(&self) -> &Scheduler {
        self.intake.scheduler()
    }

    /// The core, for attempts.
    pub const fn scheduler_mut(&mut self) -> &mut Scheduler {
        self.intake.scheduler_mut()
    }

    /// Whether a list of each kind is in that began in this term of the lead, or later.
    pub fn has_listed_all(&self, term: u64) -> bool {
        self.listed.iter().all(|listed| *listed >= Some(term))
    }

    /// What the API server says of a pod.
    pub fn facts(&self, pod: PodId) -> Option<&PodFacts> {
        self.pods.get(pod.index())
    }

    /// Scheduler name of the profile that a pod asks for; empty if there is none.
    pub fn profile_of(&self, pod: PodId) -> &str {
        self.scheduler().profile_name_of(pod)
    }

    /// Pods that wait for an event, by the plugin that refused them and the profile.
    pub fn unschedulable(&self) -> BTreeMap<(String, String), i64> {
        let scheduler = self.scheduler();
        let mut counts = BTreeMap::new();
        for pod in scheduler.pods() {
            let rejectors = scheduler.rejected_by(pod);
            // The only rules outside the core here.
            let is_extended = !rejectors.intersection(PluginSet::EXTERNAL).is_empty();
            let names = rejectors.iter().map(Plugin::name);
            for plugin in names.chain(is_extended.then_some("Extender")) {
                let key = (plugin.to_owned(), self.profile_of(pod).to_owned());
                *counts.entry(key).or_insert(0) += 1;
            }
        }
        counts
    }

    /// `kube_pod_resource_request`, a line a pod and resource.
    pub fn resource_metrics(&self) -> String {
        let scheduler = self.scheduler();
        let mut text = String::from("# TYPE kube_pod_resource_request gauge\n");
        for pod in scheduler.pods() {
            let (namespace, name) = scheduler.pod_name(pod);
            let node = scheduler
                .node_of(pod)
                .map_or("", |node| scheduler.node(node).name);
            let profile = self.profile_of(pod);
            let priority = scheduler.priority(pod);
            for (resource, amount) in scheduler.requests_of(pod) {
                let (value, unit) = match resource {
                    "cpu" => (format!("{}", amount as f64 / 1000.0), "cores"),
                    "memory" | "ephemeral-storage" => (amount.to_string(), "bytes"),
                    _ => (amount.to_string(), "integer"),
                };
                let _ = writeln!(
                    text,
                    "kube_pod_resource_request{{namespace=\"{namespace}\",pod=\"{name}\",\
                     node=\"{node}\",scheduler=\"{profile}\",priority=\"{priority}\",\
                     resource=\"{resource}\",unit=\"{unit}\"}} {value}"
                );
            }
        }
        text
    }

    /// Which nodes and pods there are.
    pub fn held(&self) -> Held {
        let scheduler = self.scheduler();
        let nodes = scheduler
            .nodes()
            .map(|node| scheduler.node(node).name.to_owned());
        let pods = scheduler.pods().map(|pod| {
            let (namespace, name) = scheduler.pod_name(pod);
            let node = scheduler
                .node_of(pod)
                .filter(|_| !scheduler.is_assumed(pod));
            let node = node.map_or("", |node| scheduler.node(node).name);
            pod_line(namespace, name, scheduler.pod_uid(pod), node)
        });
        Held {
            nodes: nodes.collect(),
            pods: pods.collect(),
            profiles: self.profiles.clone(),
        }
    }

    /// What cache and queue hold, in words; nothing of it is secret.
    pub fn dump(&self) -> String {
        let scheduler = self.scheduler();
        let mut text = String::new();
        for node in scheduler.nodes() {
            let view = scheduler.node(node);
            let _ = writeln!(text, "node {}: {} pods", view.name, view.pods);
        }
        for pod in scheduler.pods() {
            let (namespace, name) = scheduler.pod_name(pod);
            let place = match (scheduler.node_of(pod), scheduler.queue_part(pod)) {
                (Some(node), _) => format!("on {}", scheduler.node(node).name),
                (None, Some(part)) => format!("{part:?}, attempt {}", scheduler.attempts(pod)),
                (None, None) => "nowhere".to_owned(),
            };
            let _ = writeln!(text, "pod {namespace}/{name}: {place}");
        }
        text
    }

    /// An attempt at a pod began at this time.
    pub fn tried(&mut self, pod: PodId, now: u64) {
        if let Some(facts) = self.pods.get_mut(pod.index()) {
            facts.tried = now;
        }
    }

    /// Takes in news of one kind.
    pub fn take(&mut self, batch: Batch) {
        let place = batch.resource;
        for news in batch.news {
            match news {
                News::Listing(term) => {
                    if let Some(list) = self.lists.get_mut(place) {
                        *list += 1;
                    }
                    if let Some(own) = self.terms.get_mut(place) {
                        *own = term;
                    }
                }
                News::Applied(object, text) => self.apply(place, *object, text),
                News::Deleted(object) => self.delete(place, *object),
                News::Unreadable(namespace, name, why) => {
                    self.remove_named(place, &namespace, &name);
                    self.refuse(place, namespace, name, why, false);
                }
                News::Listed => self.sweep(place),
            }
        }
    }

    /// Takes a pod out that cannot be dealt with; it comes again when it changes.
    pub fn set_aside(&mut self, namespace: &str, name: &str, why: String) {
        self.remove_named(PODS, namespace, name);
        self.refuse(PODS, namespace.to_owned(), name.to_owned(), why, false);
    }

    fn list(&self, place: usize) -> u32 {
        self.lists.get(place).copied().unwrap_or_default()
    }

    fn apply(&mut self, place: usize, mut object: Object, text: Option<Box<RawValue>>) {
        let key = key_of(&object);
        if let Object::Pod(pod) = &object {
            let is_ours = self.profiles.contains(&pod.spec.scheduler_name);
            if pod.status.is_finished() || (pod.spec.node_name.is_empty() && !is_ours) {
                self.remove_named(place, &key.0, &key.1);
                return;
            }
            // Of the same name, but another pod: the old one is gone, and nobody said so.
            let known = self.scheduler().find_pod(&key.0, &key.1);
            if known.is_some_and(|known| self.scheduler().pod_uid(known) != pod.metadata.uid) {
                self.remove_named(place, &key.0, &key.1);
            }
            let node = pod.spec.node_name.clone();
            if self.judges
                && !node.is_empty()
                && let Some(waiting) = known.filter(|known| self.scheduler().waits(*known))
            {
                let judged = self.judge(waiting, &node);
                self.judged.push(judged);
            }
        }
        if let Object::Namespace(namespace) = &mut object {
            let name = namespace.metadata.name.clone();
            let label = "kubernetes.io/metadata.name".to_owned();
            namespace.metadata.labels.entry(label).or_insert(name);
        }
        let facts = facts_of(&object);
        let change = self.intake.change_of(&object);
        let put = self.intake.put(change, object);
        match put {
            Ok(applied) => {
                match applied.id {
                    Some(ObjectId::Pod(pod)) => self.kept.put_pod(pod, text),
                    Some(ObjectId::Node(node)) => self.kept.put_node(node, text),
                    None => {}
                }
                self.note(place, key, applied.id, facts);
            }
            Err(error) => {
                let is_full = is_full(&error);
                // What it was before would be wrong.
                if change == Change::Modified {
                    self.remove_named(place, &key.0, &key.1);
                }
                self.refuse(place, key.0, key.1, error.to_string(), is_full);
            }
        }
    }

    /// Remembers that an object was named by the present list.
    fn note(
        &mut self,
        place: usize,
        key: (String, String),
        id: Option<ObjectId>,
        facts: Option<PodFacts>,
    ) {
        let list = self.list(place);
        match id {
            Some(ObjectId::Pod(pod)) => {
                if self.pods.len() <= pod.index() {
                    self.pods.resize_with(pod.index() + 1, PodFacts::default);
                }
                let now = self.scheduler().now();
                let waits = self.scheduler().waits(pod);
                if let Some(entry) = self.pods.get_mut(pod.index()) {
                    let since = if waits && entry.since == 0 {
                        now
                    } else {
                        entry.since
                    };
                    *entry = PodFacts {
                        list,
                        since,
                        tried: entry.tried,
                        ..facts.unwrap_or_default()
                    };
                }
            }
            Some(ObjectId::Node(node)) => {
                if self.nodes.len() <= node.index() {
                    self.nodes.resize(node.index() + 1, 0);
                }
                if let Some(entry) = self.nodes.get_mut(node.index()) {
                    *entry = list;
                }
            }
            None => {
                if let Some(others) = self.others.get_mut(place) {
                    others.insert(key, list);
                }
            }
        }
    }

    fn delete(&mut self, place: usize, object: Object) {
        let key = key_of(&object);
        if let Object::Pod(pod) = &object
            && let Some(known) = self.scheduler().find_pod(&key.0, &key.1)
            && self.scheduler().pod_uid(known) != pod.metadata.uid
        {
            // Another pod has come under its name.
            return;
        }
        self.remove(place, &key.0, &key.1, Some(object));
    }

    /// What the last list did not name is gone.
    fn sweep(&mut self, place: usize) {
        let list = self.list(place);
        let scheduler = self.intake.scheduler();
        let gone: Vec<(String, String)> = match place {
            PODS => {
                let stale = |pod: &PodId| {
                    self.pods
                        .get(pod.index())
                        .is_none_or(|own| own.list != list)
                };
                let stale = scheduler.pods().filter(stale);
                let names = stale.map(|pod| scheduler.pod_name(pod));
                names
                    .map(|(namespace, name)| (namespace.to_owned(), name.to_owned()))
                    .collect()
            }
            NODES => {
                let stale =
                    |node: &NodeId| self.nodes.get(node.index()).is_none_or(|own| *own != list);
                let stale = scheduler.nodes().filter(stale);
                stale
                    .map(|node| (String::new(), scheduler.node(node).name.to_owned()))
                    .collect()
            }
            _ => {
                let others = self.others.get(place).into_iter().flatten();
                let stale = others.filter(|(_, own)| **own != list);
                stale.map(|(key, _)| key.clone()).collect()
            }
        };
        for (namespace, name) in gone {
            self.remove_named(place, &namespace, &name);
        }
        if let Some(listed) = self.listed.get_mut(place) {
            *listed = self.terms.get(place).copied();
        }
    }

    /// Takes an object out of which only the name is known, if it is there.
    fn remove_named(&mut self, place: usize, namespace: &str, name: &str) {
        self.remove(place, namespace, name, None);
    }

    fn remove(&mut self, place: usize, namespace: &str, name: &str, object: Option<Object>) {
        let Some(resource) = RESOURCES.get(place) else {
            return;
        };
        let mut pod = None;
        match place {
            PODS => {
                pod = self.scheduler().find_pod(namespace, name);
                if pod.is_none() {
                    return;
                }
            }
            NODES => {
                let Some(node) = self.scheduler().find_node(name) else {
                    return;
                };
                self.kept.put_node(node, None);
            }
            _ => {
                let key = (namespace.to_owned(), name.to_owned());
                let others = self.others.get_mut(place);
                if others.is_none_or(|others| others.remove(&key).is_none()) {
                    return;
                }
            }
        }
        if let Some(pod) = pod {
            self.kept.put_pod(pod, None);
        }
        if let Some(facts) = pod.and_then(|pod| self.pods.get_mut(pod.index())) {
            *facts = PodFacts::default();
        }
        let metadata = serde_json::json!({"metadata": {"namespace": namespace, "name": name}});
        let bare = || decode(resource.kind, metadata).ok().flatten();
        let Some(object) = object.or_else(bare) else {
            return;
        };
        if let Err(error) = self.intake.put(Change::Deleted, object) {
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            self.refuse(place, namespace, name, error.to_string(), is_full(&error));
        }
    }

    fn refuse(
        &mut self,
        place: usize,
        namespace: String,
        name: String,
        why: String,
        is_full: bool,
    ) {
        let kind = RESOURCES.get(place).map_or("", |resource| resource.kind);
        self.refused.push(Refused {
            kind,
            namespace,
            name,
            why,
            is_full,
        });
    }
}

fn key_of(object: &Object) -> (String, String) {
    let metadata = object.metadata();
    (metadata.namespace.clone(), metadata.name.clone())
}

fn is_full(error: &IntakeError) -> bool {
    matches!(
        error,
        IntakeError::Apply {
            error: berth_core::ApplyError::Capacity(_),
            ..
        }
    )
}

/// Conditions that the scheduler writes.
const WRITTEN: [&str; 2] = ["PodScheduled", "DisruptionTarget"];

fn facts_of(object: &Object) -> Option<PodFacts> {
    let Object::Pod(pod) = object else {
        return None;
    };
    let conditions = pod.status.conditions.iter();
    let kept = conditions.filter(|own| {
        // Of a pod that has a node nobody asks whether it was placed.
        WRITTEN.contains(&own.type_.as_str())
            && (pod.spec.node_name.is_empty() || own.type_ != "PodScheduled")
    });
    let kept: Vec<PodCondition> = kept.cloned().collect();
    Some(PodFacts {
        version: pod.metadata.resource_version.parse().unwrap_or_default(),
        generation: pod.metadata.generation,
        conditions: (!kept.is_empty()).then(|| kept.into()),
        ..PodFacts::default()
    })
}
