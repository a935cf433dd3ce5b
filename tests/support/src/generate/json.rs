//! Objects of the core as the JSON that an API client would send: the other way of its decoding.
//!
//! What an object does not have is left out. Amounts are spelt in one of several ways that mean
//! the same, so that whoever reads them has to know all of them.

use berth_core::Quantity;
use berth_core::object::{
    Affinity, Container, ContainerImage, ContainerPort, ContainerRestartRule, ContainerStatus,
    LabelSelector, Labels, Node, NodeAffinity, NodeSelector, NodeSelectorTerm, Object, ObjectMeta,
    OwnerReference, Pod, PodAffinity, PodAffinityTerm, PodCondition, PodStatus, PodTemplate,
    PreferredSchedulingTerm, Requirement, ResourceList, ResourceRequirements, Taint, Toleration,
    TopologySpreadConstraint, Volume, VolumeMount, WeightedPodAffinityTerm,
};
use serde_json::{Map, Value, json};

/// The object's JSON, without kind and apiVersion.
pub fn json(object: &Object) -> Value {
    match object {
        Object::Node(node) => of_node(node),
        Object::Pod(pod) => of_pod(pod),
        Object::Namespace(namespace) => fields([("metadata", metadata(&namespace.metadata))]),
        Object::Service(service) => {
            let selector = optional(service.spec.selector.as_ref(), kept_labels);
            with_spec(&service.metadata, fields([("selector", selector)]))
        }
        Object::ReplicationController(controller) => {
            let (meta, spec) = (&controller.metadata, &controller.spec);
            let selector = optional(spec.selector.as_ref(), kept_labels);
            workload(meta, spec.replicas, selector, spec.template.as_deref())
        }
        Object::ReplicaSet(own) | Object::StatefulSet(own) => {
            let (meta, spec) = (&own.metadata, &own.spec);
            let selector = optional(spec.selector.as_ref(), label_selector);
            workload(meta, spec.replicas, selector, spec.template.as_deref())
        }
        other => panic!("{} is not generated", other.kind()),
    }
}

/// An object of those fields that are not null.
fn fields<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let present = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(present.map(|(key, value)| (key.into(), value)).collect())
}

fn with_spec(meta: &ObjectMeta, spec: Value) -> Value {
    fields([("metadata", metadata(meta)), ("spec", spec)])
}

fn workload(
    meta: &ObjectMeta,
    replicas: Option<i32>,
    selector: Value,
    template: Option<&PodTemplate>,
) -> Value {
    let template = optional(template, |own| {
        let spec = fields([("containers", list(&own.spec.containers, container))]);
        fields([("metadata", metadata(&own.metadata)), ("spec", spec)])
    });
    let spec = fields([
        ("replicas", json!(replicas)),
        ("selector", selector),
        ("template", template),
    ]);
    with_spec(meta, spec)
}

fn text(text: &str) -> Value {
    optional((!text.is_empty()).then_some(text), |text| json!(text))
}

fn flag(flag: bool) -> Value {
    optional(flag.then_some(&flag), |flag| json!(flag))
}

fn number(number: i32) -> Value {
    optional((number != 0).then_some(&number), |number| json!(number))
}

fn optional<T: ?Sized>(value: Option<&T>, json: impl Fn(&T) -> Value) -> Value {
    value.map_or(Value::Null, json)
}

/// Null when empty.
fn list<T>(values: &[T], json: impl Fn(&T) -> Value) -> Value {
    optional((!values.is_empty()).then_some(values), |values: &[T]| {
        values.iter().map(&json).collect()
    })
}

fn kept_labels(labels: &Labels) -> Value {
    json!(labels)
}

/// Null when nothing is in it.
fn present(object: Value) -> Value {
    if object == json!({}) {
        Value::Null
    } else {
        object
    }
}

/// Null when empty.
fn labels(labels: &Labels) -> Value {
    optional((!labels.is_empty()).then_some(labels), kept_labels)
}

fn metadata(meta: &ObjectMeta) -> Value {
    let owner = |owner: &OwnerReference| {
        fields([
            ("apiVersion", text(&owner.api_version)),
            ("kind", text(&owner.kind)),
            ("name", text(&owner.name)),
            ("uid", text(&owner.uid)),
            ("controller", flag(owner.controller)),
        ])
    };
    fields([
        ("name", text(&meta.name)),
        ("namespace", text(&meta.namespace)),
        ("uid", text(&meta.uid)),
        ("labels", labels(&meta.labels)),
        ("ownerReferences", list(&meta.owner_references, owner)),
        ("deletionTimestamp", json!(meta.deletion_timestamp)),
    ])
}

/// Null when empty.
fn resources(list: &ResourceList) -> Value {
    optional((!list.is_empty()).then_some(list), kept_resources)
}

fn kept_resources(list: &ResourceList) -> Value {
    let amounts = list
        .iter()
        .map(|(name, amount)| (name.clone(), spelt(*amount, name.len())));
    Value::Object(amounts.collect::<Map<_, _>>())
}

/// An amount in a spelling that depends on the amount and on `turn`.
fn spelt(amount: Quantity, turn: usize) -> Value {
    const UNIT: i128 = 1_000_000_000;
    let nanos = amount.nanos();
    let whole = nanos % UNIT == 0;
    let number = nanos / UNIT;
    let way = usize::try_from(number.rem_euclid(7)).expect("below 7") + turn;
    match way % 7 {
        0 if whole => json!(number.to_string()),
        1 if whole && number < 1 << 40 => json!(format!("{number}000m")),
        2 if whole && number % 1000 == 0 => json!(format!("{}e3", number / 1000)),
        3 if whole && number % 1024 == 512 => json!(format!("{}.5Ki", number / 1024)),
        4 if whole => json!(format!("0{number}.0")),
        5 if whole && number < 1 << 40 => json!(i64::try_from(number).expect("small")),
        _ => json!(amount),
    }
}

fn requirements(resources: &ResourceRequirements) -> Value {
    let requests = optional(resources.requests.as_ref(), kept_resources);
    let limits = self::resources(&resources.limits);
    present(fields([("requests", requests), ("limits", limits)]))
}

fn requirement(requirement: &Requirement) -> Value {
    fields([
        ("key", text(&requirement.key)),
        ("operator", text(&requirement.operator)),
        ("values", list(&requirement.values, |value| json!(value))),
    ])
}

fn label_selector(selector: &LabelSelector) -> Value {
    fields([
        ("matchLabels", labels(&selector.match_labels)),
        (
            "matchExpressions",
            list(&selector.match_expressions, requirement),
        ),
    ])
}

fn node_term(term: &NodeSelectorTerm) -> Value {
    fields([
        (
            "matchExpressions",
            list(&term.match_expressions, requirement),
        ),
        ("matchFields", list(&term.match_fields, requirement)),
    ])
}

fn of_node(node: &Node) -> Value {
    let taint = |taint: &Taint| {
        fields([
            ("key", text(&taint.key)),
            ("value", text(&taint.value)),
            ("effect", text(&taint.effect)),
        ])
    };
    let image =
        |image: &ContainerImage| json!({"names": image.names, "sizeBytes": image.size_bytes});
    let (spec, status) = (&node.spec, &node.status);
    fields([
        ("metadata", metadata(&node.metadata)),
        (
            "spec",
            fields([
                ("unschedulable", flag(spec.unschedulable)),
                ("taints", list(&spec.taints, taint)),
            ]),
        ),
        (
            "status",
            fields([
                ("capacity", resources(&status.capacity)),
                (
                    "allocatable",
                    optional(status.allocatable.as_ref(), kept_resources),
                ),
                ("images", list(&status.images, image)),
                (
                    "declaredFeatures",
                    list(&status.declared_features, |name| json!(name)),
                ),
            ]),
        ),
    ])
}

fn of_pod(pod: &Pod) -> Value {
    let spec = &pod.spec;
    let spread = list(&spec.topology_spread_constraints, spread_constraint);
    let spec = fields([
        ("nodeName", text(&spec.node_name)),
        ("schedulerName", text(&spec.scheduler_name)),
        ("priority", json!(spec.priority)),
        (
            "schedulingGates",
            list(&spec.scheduling_gates, |gate| json!({"name": gate.name})),
        ),
        (
            "nodeSelector",
            optional(spec.node_selector.as_ref(), kept_labels),
        ),
        ("affinity", optional(spec.affinity.as_ref(), affinity)),
        ("tolerations", list(&spec.tolerations, toleration)),
        ("topologySpreadConstraints", spread),
        ("containers", list(&spec.containers, container)),
        ("initContainers", list(&spec.init_containers, container)),
        (
            "resources",
            optional(spec.resources.as_ref(), pod_level_requirements),
        ),
        ("overhead", resources(&spec.overhead)),
        ("hostNetwork", flag(spec.host_network)),
        ("hostUsers", json!(spec.host_users)),
        ("volumes", list(&spec.volumes, volume)),
    ]);
    fields([
        ("metadata", metadata(&pod.metadata)),
        ("spec", spec),
        ("status", present(status(&pod.status))),
    ])
}

/// In canonical spelling: upstream counts overhead more than once where a pod-level request is one
/// of its big decimals (DIFFERENCES.md).
fn pod_level_requirements(resources: &ResourceRequirements) -> Value {
    json!({"requests": resources.requests.clone().unwrap_or_default()})
}

fn container(container: &Container) -> Value {
    let port = |port: &ContainerPort| {
        fields([
            ("hostPort", number(port.host_port)),
            ("containerPort", number(port.container_port)),
            ("hostIP", text(&port.host_ip)),
            ("protocol", text(&port.protocol)),
        ])
    };
    // The other fields of rules and mounts are what an API server insists on.
    let rule = |rule: &ContainerRestartRule| {
        let exit_codes = json!({"operator": "In", "values": [42]});
        json!({"action": rule.action, "exitCodes": exit_codes})
    };
    let mount = |mount: &VolumeMount| {
        let options = &mount.bind_mount_options;
        json!({"name": "v", "mountPath": "/v", "bindMountOptions": options})
    };
    fields([
        ("name", text(&container.name)),
        ("image", text(&container.image)),
        ("resources", requirements(&container.resources)),
        ("ports", list(&container.ports, port)),
        ("restartPolicy", text(&container.restart_policy)),
        (
            "restartPolicyRules",
            list(&container.restart_policy_rules, rule),
        ),
        ("volumeMounts", list(&container.volume_mounts, mount)),
    ])
}

fn volume(volume: &Volume) -> Value {
    let mut json = json!({"name": volume.name});
    for (kind, source) in &volume.source {
        json[kind] = fields([("reference", text(&source.reference))]);
    }
    json
}

fn toleration(toleration: &Toleration) -> Value {
    fields([
        ("key", text(&toleration.key)),
        ("operator", text(&toleration.operator)),
        ("value", text(&toleration.value)),
        ("effect", text(&toleration.effect)),
    ])
}

fn spread_constraint(constraint: &TopologySpreadConstraint) -> Value {
    fields([
        ("maxSkew", json!(constraint.max_skew)),
        ("topologyKey", text(&constraint.topology_key)),
        ("whenUnsatisfiable", text(&constraint.when_unsatisfiable)),
        (
            "labelSelector",
            optional(constraint.label_selector.as_ref(), label_selector),
        ),
        ("minDomains", json!(constraint.min_domains)),
        ("nodeAffinityPolicy", json!(constraint.node_affinity_policy)),
        ("nodeTaintsPolicy", json!(constraint.node_taints_policy)),
        (
            "matchLabelKeys",
            list(&constraint.match_label_keys, |key| json!(key)),
        ),
    ])
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn affinity(affinity: &Affinity) -> Value {
    let node = |node: &NodeAffinity| {
        let required = |selector: &NodeSelector| {
            let terms: Value = selector.node_selector_terms.iter().map(node_term).collect();
            json!({"nodeSelectorTerms": terms})
        };
        let preferred = |terms: &Vec<PreferredSchedulingTerm>| {
            let term = |term: &PreferredSchedulingTerm| {
                let preference = node_term(&term.preference);
                json!({"weight": term.weight, "preference": preference})
            };
            terms.iter().map(term).collect::<Value>()
        };
        fields([
            (REQUIRED, optional(node.required.as_ref(), required)),
            (PREFERRED, optional(node.preferred.as_ref(), preferred)),
        ])
    };
    let pods = |pods: &PodAffinity| {
        let weighted = |term: &WeightedPodAffinityTerm| {
            let own = pod_term(&term.pod_affinity_term);
            json!({"weight": term.weight, "podAffinityTerm": own})
        };
        fields([
            (REQUIRED, list(&pods.required, pod_term)),
            (PREFERRED, list(&pods.preferred, weighted)),
        ])
    };
    fields([
        (
            "nodeAffinity",
            optional(affinity.node_affinity.as_ref(), node),
        ),
        (
            "podAffinity",
            optional(affinity.pod_affinity.as_ref(), pods),
        ),
        (
            "podAntiAffinity",
            optional(affinity.pod_anti_affinity.as_ref(), pods),
        ),
    ])
}

fn pod_term(term: &PodAffinityTerm) -> Value {
    fields([
        (
            "labelSelector",
            optional(term.label_selector.as_ref(), label_selector),
        ),
        ("namespaces", list(&term.namespaces, |name| json!(name))),
        (
            "namespaceSelector",
            optional(term.namespace_selector.as_ref(), label_selector),
        ),
        ("topologyKey", text(&term.topology_key)),
        (
            "matchLabelKeys",
            list(&term.match_label_keys, |key| json!(key)),
        ),
        (
            "mismatchLabelKeys",
            list(&term.mismatch_label_keys, |key| json!(key)),
        ),
    ])
}

fn status(status: &PodStatus) -> Value {
    let condition = |condition: &PodCondition| {
        let PodCondition { type_, reason, .. } = condition;
        json!({"type": type_, "status": "True", "reason": reason})
    };
    let of_container = |own: &ContainerStatus| {
        let mut json = fields([
            ("name", text(&own.name)),
            (
                "allocatedResources",
                optional(own.allocated_resources.as_ref(), kept_resources),
            ),
            (
                "resources",
                optional(own.resources.as_ref(), requirements_or_empty),
            ),
        ]);
        // Fields that the type insists on.
        for (field, value) in [("image", json!("x")), ("imageID", json!(""))] {
            json[field] = value;
        }
        json["ready"] = json!(true);
        json["restartCount"] = json!(0);
        json
    };
    fields([
        ("phase", text(&status.phase)),
        ("conditions", list(&status.conditions, condition)),
        (
            "containerStatuses",
            list(&status.container_statuses, of_container),
        ),
        (
            "initContainerStatuses",
            list(&status.init_container_statuses, of_container),
        ),
        (
            "allocatedResources",
            optional(status.allocated_resources.as_ref(), kept_resources),
        ),
        (
            "resources",
            optional(status.resources.as_ref(), requirements_or_empty),
        ),
    ])
}

fn requirements_or_empty(resources: &ResourceRequirements) -> Value {
    optional(Some(&requirements(resources)), |json| {
        if json.is_null() {
            json!({})
        } else {
            json.clone()
        }
    })
}
