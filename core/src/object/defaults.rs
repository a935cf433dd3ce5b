//! What API server defaulting and admission set, as far as scheduling reads it.
//!
//! Stage before: [`validate`](super::validate). Stage after: [`expand`](super::expand) for the
//! pods of workloads, then [`Scheduler::apply`](crate::Scheduler::apply). Mirrors
//! `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/pod/strategy.go`, `pkg/api/pod/util.go` and the plugins
//! `LimitRanger`, `Priority`, `DefaultTolerationSeconds` and `RuntimeClass` of
//! `plugin/pkg/admission`. A pod that has been through all that once is not changed.

mod resources;
pub(crate) mod storage;

pub(super) use resources::container_requests;
pub use storage::DefaultClass;

use super::path::{Path, Quoted};
use super::validate::{Invalid, invalid};
use super::{
    Container, LabelSelector, Labels, Object, Pod, PodAffinity, PriorityClass, Requirement,
    RuntimeClass, Toleration,
};
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use resources::ContainerDefaults;

/// The scheduler of pods that name none.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";
/// The namespace of objects that name none.
pub const DEFAULT_NAMESPACE: &str = "default";
/// The label by which selectors find a namespace by its name.
pub const NAMESPACE_NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Priority classes that every cluster has.
const SYSTEM_PRIORITY_CLASSES: [(&str, i32); 2] = [
    ("system-node-critical", 2_000_001_000),
    ("system-cluster-critical", 2_000_000_000),
];

/// Taints that every pod tolerates for a while, and that therefore do not keep it from a node.
const TOLERATED_FOR_A_WHILE: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];

/// The objects of the input that decide what is set in pods.
#[derive(Debug, Default)]
pub struct Defaults {
    priority_classes: BTreeMap<String, Priority>,
    global_priority: Option<(String, Priority)>,
    runtime_classes: BTreeMap<String, RuntimeClass>,
    /// By namespace.
    containers: BTreeMap<String, ContainerDefaults>,
    /// The class of claims that name none.
    storage_class: Option<DefaultClass>,
    absent_priority_classes: BTreeSet<String>,
    absent_runtime_classes: BTreeSet<String>,
    notes: Vec<String>,
}

/// What a priority class gives.
#[derive(Clone, Debug)]
struct Priority {
    value: i32,
    preemption_policy: String,
}

impl Defaults {
    /// Takes the priority classes, runtime classes and limit ranges among the objects; a limit
    /// range without a namespace is one of the namespace `default`.
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut defaults = Self::default();
        for (name, value) in SYSTEM_PRIORITY_CLASSES {
            let priority = Priority {
                value,
                preemption_policy: String::new(),
            };
            defaults.priority_classes.insert(name.to_owned(), priority);
        }
        for object in objects {
            match object {
                Object::PriorityClass(class) => defaults.add_priority_class(class),
                Object::StorageClass(class) => defaults.add_storage_class(class),
                Object::RuntimeClass(class) => {
                    let name = class.metadata.name.clone();
                    defaults.runtime_classes.insert(name, class.clone());
                }
                Object::LimitRange(range) => {
                    let namespace = match range.metadata.namespace.as_str() {
                        "" => DEFAULT_NAMESPACE,
                        namespace => namespace,
                    };
                    let containers = defaults.containers.entry(namespace.to_owned());
                    containers.or_default().add(range);
                }
                _ => {}
            }
        }
        defaults
    }

    fn add_priority_class(&mut self, class: &PriorityClass) {
        let priority = Priority {
            value: class.value,
            preemption_policy: class.preemption_policy.clone(),
        };
        let name = class.metadata.name.clone();
        // Of several, the lowest counts.
        let lower = |(_, other): &(String, Priority)| class.value < other.value;
        if class.global_default && self.global_priority.as_ref().is_none_or(lower) {
            self.global_priority = Some((name.clone(), priority.clone()));
        }
        self.priority_classes.insert(name, priority);
    }

    /// Sets in the pod what the API server and its admission would set.
    ///
    /// What is set in a pod that has been admitted (it has a node or a phase) stays.
    ///
    /// # Errors
    ///
    /// If admission would refuse the pod; then it is half set.
    pub fn apply(&mut self, pod: &mut Pod) -> Result<(), Invalid> {
        set_if_empty(&mut pod.metadata.namespace, DEFAULT_NAMESPACE);
        set_if_empty(&mut pod.spec.scheduler_name, DEFAULT_SCHEDULER_NAME);
        drop_what_is_not_kept(pod);
        let host_network = pod.spec.host_network;
        let spec = &mut pod.spec;
        for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
            resources::requests_from_limits(&mut container.resources);
            set_ports(container, host_network);
        }
        if let Some(defaults) = self.containers.get(&pod.metadata.namespace) {
            for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
                defaults.apply(&mut container.resources);
            }
        }
        self.set_priority(pod);
        tolerate_for_a_while(&mut pod.spec.tolerations);
        self.set_runtime(pod)?;
        merge_label_keys(pod);
        resources::pod_level_from_limits(&mut pod.spec);
        Ok(())
    }

    /// What was missing: one note for each absent class.
    pub fn into_notes(self) -> Vec<String> {
        self.notes
    }

    fn set_priority(&mut self, pod: &mut Pod) {
        let spec = &mut pod.spec;
        let named = !spec.priority_class_name.is_empty();
        if spec.priority.is_some() && !named {
            return set_if_empty(&mut spec.preemption_policy, "PreemptLowerPriority");
        }
        let class = if named {
            self.priority_classes.get(&spec.priority_class_name)
        } else {
            None
        };
        let fallback = self.global_priority.as_ref();
        if let Some(class) = class {
            spec.priority.get_or_insert(class.value);
            set_if_empty(&mut spec.preemption_policy, &class.preemption_policy);
        } else if spec.priority.is_none() {
            let priority = fallback.map_or(0, |(_, class)| class.value);
            spec.priority = Some(priority);
            if let Some((name, class)) = fallback {
                set_if_empty(&mut spec.preemption_policy, &class.preemption_policy);
                set_if_empty(&mut spec.priority_class_name, name);
            }
            if named
                && !self
                    .absent_priority_classes
                    .contains(&spec.priority_class_name)
            {
                let name = Quoted(&spec.priority_class_name);
                self.notes.push(format!(
                    "PriorityClass {name} is not in the input: its pods get priority {priority}"
                ));
                let name = spec.priority_class_name.clone();
                self.absent_priority_classes.insert(name);
            }
        }
        set_if_empty(&mut spec.preemption_policy, "PreemptLowerPriority");
    }

    fn set_runtime(&mut self, pod: &mut Pod) -> Result<(), Invalid> {
        let Some(name) = &pod.spec.runtime_class_name else {
            return Ok(());
        };
        let admitted = is_admitted(pod);
        let field = Path::root("spec");
        let Some(class) = self.runtime_classes.get(name) else {
            let problem = format!("RuntimeClass {} is not in the input", Quoted(name));
            if !admitted {
                return Err(invalid(&field.key("runtimeClassName"), problem));
            }
            if !self.absent_runtime_classes.contains(name) {
                self.absent_runtime_classes.insert(name.clone());
                self.notes
                    .push(format!("{problem}: its pods stay as they were admitted"));
            }
            return Ok(());
        };
        if let Some(overhead) = &class.overhead {
            if pod.spec.overhead.is_empty() {
                pod.spec.overhead.clone_from(&overhead.pod_fixed);
            } else if pod.spec.overhead != overhead.pod_fixed && !admitted {
                let name = Quoted(name);
                let problem = format!("differs from that of RuntimeClass {name}; leave it out");
                return Err(invalid(&field.key("overhead"), problem));
            }
        }
        if let Some(scheduling) = &class.scheduling {
            let selector = pod.spec.node_selector.get_or_insert_default();
            for (key, value) in &scheduling.node_selector {
                let there = selector.entry(key.clone()).or_insert_with(|| value.clone());
                if there != value && !admitted {
                    let (value, name) = (Quoted(value), Quoted(name));
                    let problem = format!("must be {value}, as RuntimeClass {name} says");
                    let field = field.key("nodeSelector");
                    return Err(invalid(&field.key(key), problem));
                }
            }
            let there: BTreeSet<_> = pod.spec.tolerations.iter().map(parts).collect();
            // Upstream also leaves out what another toleration covers; no verdict depends on it.
            let new = scheduling.tolerations.iter();
            let new = new.filter(|toleration| !there.contains(&parts(toleration)));
            let new: Vec<_> = new.cloned().collect();
            pod.spec.tolerations.extend(new);
        }
        Ok(())
    }
}

/// Whether an API server has let the pod pass already: then its fields are in force.
fn is_admitted(pod: &Pod) -> bool {
    !pod.spec.node_name.is_empty() || !pod.status.phase.is_empty()
}

/// Takes out what an API server does not keep: fields behind gates that are off, as
/// `DropDisabledPodFields` of `pkg/api/pod/util.go` does, and a list of no preferences, which no
/// encoding tells from none. The scheduler scores by a list that is there, even if it is empty.
fn drop_what_is_not_kept(pod: &mut Pod) {
    let admitted = is_admitted(pod);
    let spec = &mut pod.spec;
    let node_affinity = spec.affinity.as_mut().map(|own| &mut own.node_affinity);
    if let Some(own) = node_affinity.and_then(Option::as_mut) {
        own.preferred.take_if(|terms| terms.is_empty());
    }
    if admitted {
        return;
    }
    let containers = spec.containers.iter_mut().chain(&mut spec.init_containers);
    for mount in containers.flat_map(|container| &mut container.volume_mounts) {
        mount.bind_mount_options.clear();
    }
}

fn parts(toleration: &Toleration) -> [&str; 4] {
    [
        &toleration.key,
        &toleration.operator,
        &toleration.value,
        &toleration.effect,
    ]
}

fn set_if_empty(field: &mut String, value: &str) {
    if field.is_empty() {
        value.clone_into(field);
    }
}

fn set_ports(container: &mut Container, host_network: bool) {
    for port in &mut container.ports {
        set_if_empty(&mut port.protocol, "TCP");
        if host_network && port.host_port == 0 {
            port.host_port = port.container_port;
        }
    }
}

fn tolerate_for_a_while(tolerations: &mut Vec<Toleration>) {
    for taint in TOLERATED_FOR_A_WHILE {
        let tolerated = tolerations.iter().any(|toleration| {
            (toleration.key.is_empty() || toleration.key == taint)
                && matches!(toleration.effect.as_str(), "" | "NoExecute")
        });
        if !tolerated {
            tolerations.push(Toleration {
                key: taint.to_owned(),
                operator: "Exists".to_owned(),
                value: String::new(),
                effect: "NoExecute".to_owned(),
            });
        }
    }
}

/// Adds to each selector what the pod's own labels mean under `matchLabelKeys` and
/// `mismatchLabelKeys`.
fn merge_label_keys(pod: &mut Pod) {
    let labels = &pod.metadata.labels;
    let terms = |affinity: &mut PodAffinity| {
        let preferred = affinity.preferred.iter_mut();
        let preferred = preferred.map(|weighted| &mut weighted.pod_affinity_term);
        for term in preferred.chain(&mut affinity.required) {
            if let Some(selector) = &mut term.label_selector {
                merge(selector, &term.match_label_keys, "In", labels);
                merge(selector, &term.mismatch_label_keys, "NotIn", labels);
            }
        }
    };
    if let Some(affinity) = &mut pod.spec.affinity {
        let both = [&mut affinity.pod_affinity, &mut affinity.pod_anti_affinity];
        both.into_iter().flatten().for_each(terms);
    }
    for constraint in &mut pod.spec.topology_spread_constraints {
        if let Some(selector) = &mut constraint.label_selector {
            merge(selector, &constraint.match_label_keys, "In", labels);
        }
    }
}

fn merge(selector: &mut LabelSelector, keys: &[String], operator: &str, labels: &Labels) {
    let merged = selector.match_expressions.iter().filter(|expression| {
        let value = labels.get(&expression.key);
        value.is_some_and(|value| expression.is_merged(operator, value))
    });
    // A pod from a cluster has them already.
    let merged: BTreeSet<_> = merged.map(|expression| expression.key.clone()).collect();
    for key in keys.iter().filter(|key| !merged.contains(*key)) {
        if let Some(value) = labels.get(key) {
            selector.match_expressions.push(Requirement {
                key: key.clone(),
                operator: operator.to_owned(),
                values: vec![value.clone()],
            });
        }
    }
}

#[cfg(test)]
mod tests;
