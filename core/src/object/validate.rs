//! What an API server would refuse, as far as scheduling reads it.
//!
//! Stage before: [`decode`](super::decode). Stage after: [`defaults`](super::defaults). Mirrors
//! `pkg/apis/core/validation/validation.go`, with these differences:
//!
//! - accepted, because the scheduler has an answer: operators `Gt` and `Lt` with values that are
//!   no integers, and on tolerations; resource names without a domain; one host port twice in a
//!   pod; one key under `matchLabelKeys` and `mismatchLabelKeys`; a node's negative amounts;
//!   requests without or above limits, which no plugin reads;
//! - not looked at: whatever decides nothing about where a pod goes.

mod name;
mod pod;
mod selector;
mod storage;

use super::path::{Path, Quoted};
use super::{
    JobSpec, LabelSelector, Labels, Node, Object, PodTemplate, ResourceList, Workload, label,
};
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use name::Form;

/// A field that an API server would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Path from the object's root: `spec.containers[0].resources.requests.cpu`.
    pub field: String,
    /// What is wrong with it, and what was expected.
    pub problem: String,
}

/// Everything that is wrong with the object; empty if nothing is.
pub fn validate(object: &Object) -> Vec<Invalid> {
    let mut problems = Problems::default();
    problems.own(object);
    problems.template(object);
    problems.found
}

/// The same without the pod template of a workload.
pub(super) fn validate_own(object: &Object) -> Vec<Invalid> {
    let mut problems = Problems::default();
    problems.own(object);
    problems.found
}

/// The pod template of a workload alone.
pub(super) fn validate_template(object: &Object) -> Vec<Invalid> {
    let mut problems = Problems::default();
    problems.template(object);
    problems.found
}

/// A problem that is not found by looking at the object alone.
pub(super) fn invalid(field: &Path<'_>, problem: impl Display) -> Invalid {
    Invalid {
        field: field.to_string(),
        problem: problem.to_string(),
    }
}

/// The problems found so far.
#[derive(Default)]
struct Problems {
    found: Vec<Invalid>,
}

impl Problems {
    fn add(&mut self, field: &Path<'_>, problem: impl Display) {
        self.found.push(invalid(field, problem));
    }

    /// Adds a text that is not of its form.
    fn form(&mut self, field: &Path<'_>, text: &str, form: Form) {
        if let Err(expected) = form {
            self.add(field, format_args!("{} {expected}", Quoted(text)));
        }
    }

    fn own(&mut self, object: &Object) {
        self.metadata(object);
        let spec = Path::root("spec");
        match object {
            Object::Node(node) => self.node(node),
            Object::Pod(pod) => {
                self.pod_spec(&spec, &pod.spec, &pod.metadata.labels);
                self.is_a_pod(&spec, &pod.spec);
            }
            Object::Service(service) => {
                let selector = service.spec.selector.iter();
                selector.for_each(|labels| self.labels(&spec.key("selector"), labels));
            }
            Object::ReplicationController(controller) => {
                self.not_negative(&spec.key("replicas"), controller.spec.replicas);
                let selector = controller.spec.selector.iter();
                selector.for_each(|labels| self.labels(&spec.key("selector"), labels));
            }
            Object::ReplicaSet(workload)
            | Object::StatefulSet(workload)
            | Object::Deployment(workload)
            | Object::DaemonSet(workload) => self.workload(&spec, workload),
            Object::Job(job) => self.job(&spec, &job.spec),
            Object::CronJob(job) => {
                let template = spec.key("jobTemplate");
                self.job(&template.key("spec"), &job.spec.job_template.spec);
            }
            Object::RuntimeClass(class) => {
                if let Some(overhead) = &class.overhead {
                    let field = Path::root("overhead");
                    self.amounts(&field.key("podFixed"), &overhead.pod_fixed);
                }
                if let Some(scheduling) = &class.scheduling {
                    let field = Path::root("scheduling");
                    self.labels(&field.key("nodeSelector"), &scheduling.node_selector);
                    self.tolerations(&field.key("tolerations"), &scheduling.tolerations);
                }
            }
            Object::LimitRange(range) => {
                let limits = spec.key("limits");
                for (index, item) in range.spec.limits.iter().enumerate() {
                    let field = limits.index(index);
                    self.amounts(&field.key("default"), &item.default);
                    self.amounts(&field.key("defaultRequest"), &item.default_request);
                    self.amounts(&field.key("max"), &item.max);
                    self.amounts(&field.key("min"), &item.min);
                }
            }
            Object::PersistentVolume(volume) => self.persistent_volume(volume),
            Object::PersistentVolumeClaim(claim) => self.persistent_volume_claim(claim),
            Object::StorageClass(class) => self.storage_class(class),
            Object::CsiNode(node) => self.csi_node(node),
            Object::CsiStorageCapacity(capacity) => self.csi_storage_capacity(capacity),
            Object::VolumeAttachment(attachment) => self.volume_attachment(attachment),
            Object::Namespace(_)
            | Object::PriorityClass(_)
            | Object::PodDisruptionBudget(_)
            | Object::CsiDriver(_) => {}
        }
    }

    fn metadata(&mut self, object: &Object) {
        let metadata = object.metadata();
        let root = Path::root("metadata");
        let name = root.key("name");
        if metadata.name.is_empty() {
            self.add(&name, "is missing");
        } else {
            let form = match object {
                Object::Namespace(_) => name::dns_label,
                _ => name::dns_subdomain,
            };
            self.form(&name, &metadata.name, form(&metadata.name));
        }
        if !metadata.namespace.is_empty() {
            let form = name::dns_label(&metadata.namespace);
            self.form(&root.key("namespace"), &metadata.namespace, form);
        }
        self.labels(&root.key("labels"), &metadata.labels);
    }

    fn node(&mut self, node: &Node) {
        let spec = Path::root("spec");
        let taints = spec.key("taints");
        let mut seen = BTreeSet::new();
        for (index, taint) in node.spec.taints.iter().enumerate() {
            let field = taints.index(index);
            self.form(&field.key("key"), &taint.key, name::label_key(&taint.key));
            self.form(
                &field.key("value"),
                &taint.value,
                name::label_value(&taint.value),
            );
            self.taint_effect(&field.key("effect"), &taint.effect);
            if !seen.insert((&taint.key, &taint.effect)) {
                self.add(
                    &field,
                    "stands twice; key and effect together must be unique",
                );
            }
        }
    }

    fn taint_effect(&mut self, field: &Path<'_>, effect: &str) {
        if !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            let effect = Quoted(effect);
            self.add(
                field,
                format_args!("{effect} must be NoSchedule, PreferNoSchedule or NoExecute"),
            );
        }
    }

    fn workload(&mut self, spec: &Path<'_>, workload: &Workload) {
        self.not_negative(&spec.key("replicas"), workload.spec.replicas);
        let ordinals = spec.key("ordinals");
        self.not_negative(&ordinals.key("start"), Some(workload.spec.ordinals.start));
        if let Some(selector) = &workload.spec.selector {
            self.label_selector(&spec.key("selector"), selector);
        }
        let templates = spec.key("volumeClaimTemplates");
        for (index, template) in workload.spec.volume_claim_templates.iter().enumerate() {
            self.claim_spec(&templates.index(index).key("spec"), &template.spec);
        }
    }

    fn job(&mut self, spec: &Path<'_>, job: &JobSpec) {
        self.not_negative(&spec.key("parallelism"), job.parallelism);
        self.not_negative(&spec.key("completions"), job.completions);
        if let Some(selector) = &job.selector {
            self.label_selector(&spec.key("selector"), selector);
        }
    }

    fn template(&mut self, object: &Object) {
        let spec = Path::root("spec");
        match object {
            Object::ReplicationController(controller) => {
                self.pod_template(&spec, controller.spec.template.as_deref(), None);
            }
            Object::ReplicaSet(workload)
            | Object::StatefulSet(workload)
            | Object::Deployment(workload)
            | Object::DaemonSet(workload) => {
                let selector = workload.spec.selector.as_ref();
                self.pod_template(&spec, workload.spec.template.as_deref(), selector);
            }
            Object::Job(job) => self.pod_template(&spec, job.spec.template.as_deref(), None),
            Object::CronJob(job) => {
                let template = spec.key("jobTemplate");
                let job = &job.spec.job_template.spec;
                self.pod_template(&template.key("spec"), job.template.as_deref(), None);
            }
            _ => {}
        }
    }

    fn pod_template(
        &mut self,
        spec: &Path<'_>,
        template: Option<&PodTemplate>,
        selector: Option<&LabelSelector>,
    ) {
        let field = spec.key("template");
        let Some(template) = template else {
            self.add(&field, "is missing");
            return;
        };
        let metadata = field.key("metadata");
        let labels = metadata.key("labels");
        self.labels(&labels, &template.metadata.labels);
        if selector.is_some_and(|selector| !selector::matches(selector, &template.metadata.labels))
        {
            self.add(&labels, "are not selected by the workload's selector");
        }
        self.pod_spec(
            &field.key("spec"),
            &template.spec,
            &template.metadata.labels,
        );
    }

    fn not_negative(&mut self, field: &Path<'_>, count: Option<i32>) {
        if let Some(count) = count
            && count < 0
        {
            self.add(field, format_args!("{count} must be 0 or more"));
        }
    }

    fn labels(&mut self, field: &Path<'_>, labels: &Labels) {
        for (key, value) in labels {
            let field = field.key(key);
            self.form(&field, key, name::label_key(key));
            self.form(&field, value, name::label_value(value));
        }
    }

    fn amounts(&mut self, field: &Path<'_>, amounts: &ResourceList) {
        for (resource, amount) in amounts {
            let field = field.key(resource);
            self.form(&field, resource, name::label_key(resource));
            if amount.nanos() < 0 {
                self.add(&field, "must not be negative");
            } else if label::is_extended_resource(resource)
                && amount.nanos() % NANOS != 0
                // What saturated is too much, not a fraction: it fits nowhere.
                && amount.nanos() != i128::MAX
            {
                self.add(&field, "must be a whole number");
            }
        }
    }
}

/// Units of a [`Quantity`](crate::Quantity) in one.
const NANOS: i128 = 1_000_000_000;

#[cfg(test)]
mod tests;
