//! The spec of a pod or pod template.

use super::{Problems, name};
use crate::object::path::{Path, Quoted};
use crate::object::{
    Container, ContainerPort, Labels, PodSpec, ResourceRequirements, Toleration,
    TopologySpreadConstraint, defaults,
};
use alloc::collections::BTreeSet;

impl Problems {
    /// `labels` are those of the pod.
    pub(super) fn pod_spec(&mut self, field: &Path<'_>, spec: &PodSpec, labels: &Labels) {
        self.containers(&field.key("containers"), &spec.containers);
        self.containers(&field.key("initContainers"), &spec.init_containers);
        self.containers(
            &field.key("ephemeralContainers"),
            &spec.ephemeral_containers,
        );
        if spec.host_network {
            self.host_network_ports(&field.key("containers"), &spec.containers);
        }
        if let Some(resources) = &spec.resources {
            let field = field.key("resources");
            self.resources(&field, resources);
            self.pod_level(&field.key("requests"), spec, resources);
        }
        self.amounts(&field.key("overhead"), &spec.overhead);
        if let Some(selector) = &spec.node_selector {
            self.labels(&field.key("nodeSelector"), selector);
        }
        if let Some(affinity) = &spec.affinity {
            self.affinity(&field.key("affinity"), affinity, labels);
        }
        self.tolerations(&field.key("tolerations"), &spec.tolerations);
        self.spreading(
            &field.key("topologySpreadConstraints"),
            &spec.topology_spread_constraints,
            labels,
        );
        self.volumes(&field.key("volumes"), &spec.volumes);
        if !spec.node_name.is_empty() {
            let form = name::dns_subdomain(&spec.node_name);
            self.form(&field.key("nodeName"), &spec.node_name, form);
        }
        if !matches!(
            spec.preemption_policy.as_str(),
            "" | "Never" | "PreemptLowerPriority"
        ) {
            let policy = Quoted(&spec.preemption_policy);
            self.add(
                &field.key("preemptionPolicy"),
                format_args!("{policy} must be Never or PreemptLowerPriority"),
            );
        }
    }

    /// What holds of pods only: a workload whose template has no containers makes none.
    pub(super) fn is_a_pod(&mut self, field: &Path<'_>, spec: &PodSpec) {
        if spec.containers.is_empty() {
            self.add(&field.key("containers"), "must have at least one container");
        }
    }

    fn containers(&mut self, field: &Path<'_>, containers: &[Container]) {
        for (index, container) in containers.iter().enumerate() {
            let field = field.index(index);
            self.resources(&field.key("resources"), &container.resources);
            let ports = field.key("ports");
            for (index, port) in container.ports.iter().enumerate() {
                self.port(&ports.index(index), port);
            }
        }
    }

    fn resources(&mut self, field: &Path<'_>, resources: &ResourceRequirements) {
        if let Some(requests) = &resources.requests {
            self.amounts(&field.key("requests"), requests);
        }
        self.amounts(&field.key("limits"), &resources.limits);
    }

    /// A pod's own requests must cover those of its containers.
    fn pod_level(&mut self, field: &Path<'_>, spec: &PodSpec, resources: &ResourceRequirements) {
        let Some(requests) = &resources.requests else {
            return;
        };
        let containers = defaults::container_requests(spec);
        for (resource, request) in requests {
            if containers.get(resource).is_some_and(|sum| sum > request) {
                self.add(
                    &field.key(resource),
                    "must not be below what the containers request together",
                );
            }
        }
    }

    fn port(&mut self, field: &Path<'_>, port: &ContainerPort) {
        let numbers = [
            ("hostPort", port.host_port),
            ("containerPort", port.container_port),
        ];
        for (name, number) in numbers {
            if !(0..=65535).contains(&number) {
                self.add(
                    &field.key(name),
                    format_args!("{number} must be in the range 1 to 65535"),
                );
            }
        }
        if !matches!(port.protocol.as_str(), "" | "TCP" | "UDP" | "SCTP") {
            let protocol = Quoted(&port.protocol);
            self.add(
                &field.key("protocol"),
                format_args!("{protocol} must be TCP, UDP or SCTP"),
            );
        }
    }

    fn host_network_ports(&mut self, field: &Path<'_>, containers: &[Container]) {
        for (index, container) in containers.iter().enumerate() {
            let field = field.index(index);
            let ports = field.key("ports");
            for (index, port) in container.ports.iter().enumerate() {
                if port.host_port != 0 && port.host_port != port.container_port {
                    let field = ports.index(index);
                    self.add(
                        &field.key("hostPort"),
                        format_args!(
                            "{} must be containerPort ({}) when hostNetwork is set",
                            port.host_port, port.container_port
                        ),
                    );
                }
            }
        }
    }

    pub(super) fn tolerations(&mut self, field: &Path<'_>, tolerations: &[Toleration]) {
        for (index, toleration) in tolerations.iter().enumerate() {
            let field = field.index(index);
            let operator = field.key("operator");
            if !toleration.key.is_empty() {
                let form = name::label_key(&toleration.key);
                self.form(&field.key("key"), &toleration.key, form);
            } else if toleration.operator != "Exists" {
                self.add(&operator, "must be Exists when key is empty");
            }
            match toleration.operator.as_str() {
                "" | "Equal" => {
                    let form = name::label_value(&toleration.value);
                    self.form(&field.key("value"), &toleration.value, form);
                }
                "Exists" if toleration.value.is_empty() => {}
                "Exists" => self.add(&field.key("value"), "must be empty for Exists"),
                // With their feature gate off, as it is by default, they match no taint.
                "Gt" | "Lt" => {}
                unknown => {
                    let unknown = Quoted(unknown);
                    self.add(&operator, format_args!("{unknown} must be Equal or Exists"));
                }
            }
            if !toleration.effect.is_empty() {
                self.taint_effect(&field.key("effect"), &toleration.effect);
            }
        }
    }

    fn spreading(
        &mut self,
        field: &Path<'_>,
        constraints: &[TopologySpreadConstraint],
        labels: &Labels,
    ) {
        let mut seen = BTreeSet::new();
        for (index, constraint) in constraints.iter().enumerate() {
            let field = field.index(index);
            if constraint.max_skew < 1 {
                let skew = constraint.max_skew;
                self.add(
                    &field.key("maxSkew"),
                    format_args!("{skew} must be 1 or more"),
                );
            }
            self.topology_key(&field.key("topologyKey"), &constraint.topology_key);
            let action = constraint.when_unsatisfiable.as_str();
            if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
                let action = Quoted(action);
                self.add(
                    &field.key("whenUnsatisfiable"),
                    format_args!("{action} must be DoNotSchedule or ScheduleAnyway"),
                );
            }
            if !seen.insert((&constraint.topology_key, action)) {
                self.add(
                    &field,
                    "repeats topologyKey and whenUnsatisfiable of another constraint",
                );
            }
            if let Some(domains) = constraint.min_domains {
                let field = field.key("minDomains");
                if domains < 1 {
                    self.add(&field, format_args!("{domains} must be 1 or more"));
                }
                if action != "DoNotSchedule" {
                    self.add(&field, "needs whenUnsatisfiable: DoNotSchedule");
                }
            }
            self.inclusion_policy(
                &field.key("nodeAffinityPolicy"),
                constraint.node_affinity_policy.as_deref(),
            );
            self.inclusion_policy(
                &field.key("nodeTaintsPolicy"),
                constraint.node_taints_policy.as_deref(),
            );
            let selector = constraint.label_selector.as_ref();
            if let Some(selector) = selector {
                self.label_selector(&field.key("labelSelector"), selector);
            }
            let keys = field.key("matchLabelKeys");
            self.label_keys(&keys, &constraint.match_label_keys, selector);
            self.keys_not_selected_twice(&keys, &constraint.match_label_keys, selector, labels);
        }
    }

    fn inclusion_policy(&mut self, field: &Path<'_>, policy: Option<&str>) {
        if let Some(policy) = policy
            && !matches!(policy, "Honor" | "Ignore")
        {
            let policy = Quoted(policy);
            self.add(field, format_args!("{policy} must be Honor or Ignore"));
        }
    }
}
