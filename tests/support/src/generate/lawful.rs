//! Random objects as an API server lets them pass: what it would refuse is mended, and amounts are
//! kept where no sum of theirs leaves 64 bits.
//!
//! The rules are those of `pkg/apis/core/validation/validation.go`. They need not be complete:
//! what still does not pass is left out by the program that asks upstream, and counted.

use super::pool;
use berth_core::Quantity;
use berth_core::object::{
    Affinity, Container, LabelSelector, Labels, Node, NodeSelectorTerm, Object, Pod, PodAffinity,
    PodTemplate, Requirement, ResourceList, Toleration, Volume, VolumeSource,
};
use std::collections::BTreeSet;

/// The largest amount in units of its resource (milli for cpu): 80 of them times 100 fit.
const AMOUNT_MAX: i64 = (1 << 46) + 1;

/// What huge pages come in.
const PAGE: i64 = 2 << 20;

/// Mends an object; `None` when there is nothing that could be saved.
pub fn lawful(mut object: Object) -> Option<Object> {
    match &mut object {
        Object::Node(node) => mend_node(node),
        Object::Pod(pod) => mend_pod(pod),
        Object::ReplicationController(controller) => {
            let labels = controller
                .spec
                .selector
                .clone()
                .filter(|own| !own.is_empty())?;
            controller.spec.replicas = Some(0);
            controller.spec.template = Some(template(labels));
        }
        Object::ReplicaSet(workload) | Object::StatefulSet(workload) => {
            let selector = workload.spec.selector.as_ref();
            let selector = selector.filter(|own| **own != LabelSelector::default())?;
            workload.spec.template = Some(template(labels_for(selector)?));
            workload.spec.replicas = Some(0);
        }
        _ => {}
    }
    Some(object)
}

/// A workload's template; the pods stand beside the workload, which asks for none.
fn template(labels: Labels) -> Box<PodTemplate> {
    let mut template = PodTemplate::default();
    template.metadata.labels = labels;
    template.spec.containers.push(Container {
        name: "c".into(),
        image: "other".into(),
        ..Container::default()
    });
    Box::new(template)
}

/// Labels that a selector selects, if there are any.
fn labels_for(selector: &LabelSelector) -> Option<Labels> {
    let mut labels = selector.match_labels.clone();
    for own in &selector.match_expressions {
        let value = match own.operator.as_str() {
            "In" => own.values.first()?.clone(),
            "Exists" => pool::VALUES[0].into(),
            _ => continue,
        };
        labels.entry(own.key.clone()).or_insert(value);
    }
    let holds = |own: &Requirement| {
        let value = labels.get(&own.key);
        let listed = value.is_some_and(|value| own.values.contains(value));
        match own.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            _ => value.is_none(),
        }
    };
    let all = selector.match_expressions.iter().all(holds);
    all.then_some(labels)
}

fn mend_node(node: &mut Node) {
    let mut seen = BTreeSet::new();
    for taint in &mut node.spec.taints {
        if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&taint.effect.as_str()) {
            taint.effect = "PreferNoSchedule".into();
        }
    }
    node.spec
        .taints
        .retain(|taint| seen.insert((taint.key.clone(), taint.effect.clone())));
    node.status.allocatable.iter_mut().for_each(mend_amounts);
    for image in &mut node.status.images {
        image.size_bytes = image.size_bytes.min(5 << 30);
    }
    node.status.declared_features.sort_unstable();
    node.status.declared_features.dedup();
}

/// Whole numbers where fractions are refused, and none that is too large.
fn mend_amounts(list: &mut ResourceList) {
    for (name, amount) in list {
        let units = if name == "cpu" {
            amount.milli_value()
        } else {
            amount.value()
        };
        if units > AMOUNT_MAX {
            *amount = Quantity::from_integer(1);
        }
        if name.contains('/') {
            *amount = Quantity::from_integer(amount.value());
        }
    }
}

/// Amounts of a container: without names that only nodes have, huge pages whole and beside cpu.
fn mend_requests(list: &mut ResourceList) {
    mend_amounts(list);
    list.retain(|name, _| name != "foo" && !name.starts_with("attachable-volumes-"));
    let mut pages = false;
    for (_, amount) in list
        .iter_mut()
        .filter(|(name, _)| name.starts_with("hugepages-"))
    {
        pages = true;
        if amount.value() % PAGE != 0 || amount.nanos() % 1_000_000_000 != 0 {
            *amount = Quantity::from_integer(2 * PAGE);
        }
    }
    if pages && !list.contains_key("memory") {
        list.entry("cpu".into())
            .or_insert_with(|| Quantity::from_integer(1));
    }
}

fn mend_container(container: &mut Container, ports: &mut BTreeSet<(i32, String, String)>) {
    if container.image.is_empty() {
        container.image = "other".into();
    }
    if let Some(requests) = &mut container.resources.requests {
        mend_requests(requests);
        // What cannot be shared out twice needs a limit, and the same one.
        let fixed = requests
            .iter()
            .filter(|(name, _)| name.contains('/') || name.starts_with("hugepages-"));
        container.resources.limits = fixed.map(|(name, own)| (name.clone(), *own)).collect();
    }
    container.ports.retain(|port| {
        let key = (
            port.host_port,
            port.protocol.replace("TCP", ""),
            port.host_ip.clone(),
        );
        port.host_port == 0 || ports.insert(key)
    });
    for port in &mut container.ports {
        if port.host_port != 0 {
            port.container_port = port.host_port;
        }
    }
    if !container.restart_policy_rules.is_empty() {
        container.restart_policy = "Never".into();
    }
}

fn mend_pod(pod: &mut Pod) {
    let spec = &mut pod.spec;
    if spec.containers.is_empty() {
        spec.containers.push(Container {
            name: "c".into(),
            ..Container::default()
        });
    }
    if spec.host_network {
        spec.host_users = None;
    }
    let has_mounts = |own: &Container| !own.volume_mounts.is_empty();
    if spec.containers.iter().any(has_mounts) && spec.volumes.is_empty() {
        spec.volumes.push(Volume {
            name: "v".into(),
            source: [("emptyDir".into(), VolumeSource::default())].into(),
        });
    }
    let mut ports = BTreeSet::new();
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        mend_container(container, &mut ports);
    }
    mend_requests(&mut spec.overhead);
    mend_pod_level(pod);
    let spec = &mut pod.spec;
    spec.tolerations.iter_mut().for_each(mend_toleration);
    if let Some(affinity) = &mut spec.affinity {
        mend_affinity(affinity);
    }
    let mut seen = BTreeSet::new();
    spec.topology_spread_constraints
        .retain(|own| seen.insert((own.topology_key.clone(), own.when_unsatisfiable.clone())));
    for constraint in &mut spec.topology_spread_constraints {
        let mut keys = BTreeSet::new();
        let selector = constraint.label_selector.as_ref();
        constraint.match_label_keys.retain(|key| {
            selector.is_some_and(|selector| !names(selector, key)) && keys.insert(key.clone())
        });
    }
    for owner in &mut pod.metadata.owner_references {
        owner.uid = "owner".into();
    }
    let status = &mut pod.status;
    status
        .allocated_resources
        .iter_mut()
        .for_each(mend_requests);
    let of_containers = status
        .container_statuses
        .iter_mut()
        .chain(&mut status.init_container_statuses);
    for own in of_containers {
        own.allocated_resources.iter_mut().for_each(mend_requests);
        let in_force = own.resources.iter_mut().flat_map(|own| &mut own.requests);
        in_force.for_each(mend_requests);
    }
    let in_force = status
        .resources
        .iter_mut()
        .flat_map(|own| &mut own.requests);
    in_force.for_each(mend_requests);
    // A pod on its node has been let go; one that is going is not tried.
    if spec.node_name.is_empty() {
        pod.metadata.deletion_timestamp = None;
    } else {
        spec.scheduling_gates.clear();
    }
}

/// Pod-level requests cover those of the containers, and are of few resources.
fn mend_pod_level(pod: &mut Pod) {
    let spec = &mut pod.spec;
    let Some(requests) = spec
        .resources
        .as_mut()
        .and_then(|own| own.requests.as_mut())
    else {
        return;
    };
    mend_amounts(requests);
    requests.retain(|name, _| matches!(name.as_str(), "cpu" | "memory"));
    for (name, amount) in requests {
        let containers = spec.containers.iter().chain(&spec.init_containers);
        let asked = containers.filter_map(|own| own.resources.requests.as_ref()?.get(name));
        let sum = asked.fold(Quantity::ZERO, |sum, own| sum.saturating_add(*own));
        *amount = (*amount).max(sum);
    }
}

fn mend_toleration(toleration: &mut Toleration) {
    if toleration.effect == "Odd" {
        toleration.effect.clear();
    }
    if toleration.key.is_empty() || !["", "Equal", "Exists"].contains(&toleration.operator.as_str())
    {
        toleration.operator = "Exists".into();
    }
    if toleration.operator == "Exists" {
        toleration.value.clear();
    }
}

fn mend_affinity(affinity: &mut Affinity) {
    if let Some(node) = &mut affinity.node_affinity {
        node.required
            .take_if(|own| own.node_selector_terms.is_empty());
        let required = node.required.iter_mut();
        required
            .flat_map(|own| &mut own.node_selector_terms)
            .for_each(mend_term);
        for own in node.preferred.iter_mut().flatten() {
            own.weight = own.weight.max(1);
            mend_term(&mut own.preference);
        }
    }
    let mend_weights = |pods: &mut PodAffinity| {
        for own in &mut pods.preferred {
            own.weight = own.weight.max(1);
        }
    };
    affinity.pod_affinity.iter_mut().for_each(mend_weights);
    affinity.pod_anti_affinity.iter_mut().for_each(mend_weights);
}

fn mend_term(term: &mut NodeSelectorTerm) {
    for own in &mut term.match_fields {
        own.key = "metadata.name".into();
        if own.operator != "NotIn" {
            own.operator = "In".into();
        }
    }
    term.match_expressions.iter_mut().for_each(mend_requirement);
}

fn mend_requirement(requirement: &mut Requirement) {
    match requirement.operator.as_str() {
        "Exists" | "DoesNotExist" => requirement.values.clear(),
        "Gt" | "Lt" => {
            requirement.values.truncate(1);
            if requirement
                .values
                .iter()
                .all(|own| own.parse::<i64>().is_err())
            {
                requirement.values = vec!["5".into()];
            }
        }
        operator => {
            if operator != "NotIn" {
                requirement.operator = "In".into();
            }
            if requirement.values.is_empty() {
                requirement.values.push(pool::VALUES[0].into());
            }
        }
    }
}

fn names(selector: &LabelSelector, key: &str) -> bool {
    let labels: &Labels = &selector.match_labels;
    labels.contains_key(key) || selector.match_expressions.iter().any(|own| own.key == key)
}
