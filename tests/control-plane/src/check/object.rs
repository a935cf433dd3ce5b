//! What the rules read of objects.

// The names are Kubernetes'.
#![allow(clippy::struct_field_names)]

use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) type Labels = BTreeMap<String, String>;
type Amounts = BTreeMap<String, String>;

macro_rules! object {
    ($name:ident { $($(#[$rename:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(super) struct $name { $($(#[$rename])* pub(super) $field: $type,)* }
    };
}

object!(Metadata {
    name: String,
    namespace: String,
    uid: String,
    labels: Labels,
    deletion_timestamp: Option<String>,
});
object!(Namespace { metadata: Metadata });
object!(Node {
    metadata: Metadata,
    spec: NodeSpec,
    status: NodeStatus,
});
object!(NodeSpec {
    unschedulable: bool,
    taints: Vec<Taint>,
});
object!(NodeStatus {
    allocatable: Amounts,
});
object!(Taint {
    key: String,
    value: String,
    effect: String,
});
object!(Pod {
    metadata: Metadata,
    spec: PodSpec,
    status: PodStatus,
});
object!(PodSpec {
    node_name: String,
    scheduler_name: String,
    scheduling_gates: Vec<serde::de::IgnoredAny>,
    containers: Vec<Container>,
    init_containers: Vec<Container>,
    resources: Resources,
    overhead: Amounts,
    node_selector: Labels,
    affinity: Affinity,
    tolerations: Vec<Toleration>,
    topology_spread_constraints: Vec<Spread>,
});
object!(PodStatus {
    phase: String,
    conditions: Vec<Condition>,
});
object!(Condition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
});
object!(Container {
    ports: Vec<Port>,
    resources: Resources,
    restart_policy: String,
});
object!(Port {
    host_port: u16,
    protocol: String,
    #[serde(rename = "hostIP")]
    host_ip: String,
});
object!(Resources { requests: Amounts });
object!(Affinity {
    node_affinity: NodeAffinity,
    pod_affinity: PodAffinity,
    pod_anti_affinity: PodAffinity,
});
object!(NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<NodeSelector>,
});
object!(NodeSelector { node_selector_terms: Vec<NodeTerm>, });
object!(NodeTerm {
    match_expressions: Vec<Requirement>,
    match_fields: Vec<Requirement>,
});
object!(PodAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Vec<PodTerm>,
});
object!(PodTerm {
    topology_key: String,
    namespaces: Vec<String>,
    label_selector: Option<Selector>,
    namespace_selector: Option<Selector>,
});
object!(Selector {
    match_labels: Labels,
    match_expressions: Vec<Requirement>,
});
object!(Requirement {
    key: String,
    operator: String,
    values: Vec<String>,
});
object!(Toleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
});
object!(Spread {
    max_skew: usize,
    min_domains: usize,
    topology_key: String,
    when_unsatisfiable: String,
    label_selector: Option<Selector>,
    match_label_keys: Vec<String>,
    node_affinity_policy: String,
    node_taints_policy: String,
});
object!(Event {
    reason: String,
    note: String,
    regarding: Regarding,
});
object!(Regarding { uid: String });
