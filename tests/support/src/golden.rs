//! The golden verdicts: inputs, and what kube-scheduler said of each pod.
//!
//! The files and their format are described in `tests/golden/README.md`.

use crate::answer::Scores;
use crate::read;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One cluster and the pods that were judged on it, one after another.
#[derive(Debug)]
pub struct Scenario {
    /// `SET.STRATEGY` or `SET/NUMBER`.
    pub name: String,
    /// A whole KubeSchedulerConfiguration, when the defaults were not used.
    pub config: Option<Value>,
    pub input: Input,
    /// One a pod of `input.pods_in_order`, in that order.
    pub verdicts: Vec<Verdict>,
}

/// A claim that got its volume.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct BoundClaim {
    /// `NAMESPACE/NAME`.
    pub claim: String,
    pub volume: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub provisioned: bool,
}

/// Lists of Kubernetes objects; `kind` and `apiVersion` may be missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    pub namespaces: Vec<Value>,
    pub nodes: Vec<Value>,
    pub services: Vec<Value>,
    pub replication_controllers: Vec<Value>,
    pub replica_sets: Vec<Value>,
    pub stateful_sets: Vec<Value>,
    pub storage_classes: Vec<Value>,
    pub persistent_volumes: Vec<Value>,
    pub persistent_volume_claims: Vec<Value>,
    pub csi_nodes: Vec<Value>,
    pub csi_drivers: Vec<Value>,
    pub csi_storage_capacities: Vec<Value>,
    pub volume_attachments: Vec<Value>,
    pub bound_pods: Vec<Value>,
    pub pods_in_order: Vec<Value>,
}

impl Input {
    /// Everything but the pods to be placed, with its kind, in the order in which it is applied.
    pub fn cluster(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        [
            ("Namespace", &self.namespaces),
            ("Service", &self.services),
            ("ReplicationController", &self.replication_controllers),
            ("ReplicaSet", &self.replica_sets),
            ("StatefulSet", &self.stateful_sets),
            ("StorageClass", &self.storage_classes),
            ("PersistentVolume", &self.persistent_volumes),
            ("PersistentVolumeClaim", &self.persistent_volume_claims),
            ("CSINode", &self.csi_nodes),
            ("CSIDriver", &self.csi_drivers),
            ("CSIStorageCapacity", &self.csi_storage_capacities),
            ("VolumeAttachment", &self.volume_attachments),
            ("Node", &self.nodes),
            ("Pod", &self.bound_pods),
        ]
        .into_iter()
        .flat_map(|(kind, list)| list.iter().map(move |object| (kind, object)))
    }
}

/// What kube-scheduler said of one pod.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Verdict {
    pub pod: String,
    pub chosen: Option<String>,
    pub feasible: u32,
    /// Nodes with the best total; absent when at most one node is feasible.
    pub ties: Option<Vec<String>>,
    /// Instead of `ties`, when there are many.
    pub ties_count: Option<usize>,
    pub scores: Option<Scores>,
    /// Instead of `scores`, when brief.
    pub best_total: Option<i64>,
    #[serde(default)]
    pub rejected: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub unresolvable: Vec<String>,
    pub message: Option<String>,
    /// The attempt failed; the pod is not placed.
    pub error: Option<String>,
    /// Held by a scheduling gate.
    #[serde(default)]
    pub gated: bool,
    /// What was bound for it.
    #[serde(default)]
    pub volumes: Vec<BoundClaim>,
    /// May rest on integers that overflowed.
    #[serde(default)]
    pub wraps: bool,
    /// Scores and refusals were left out when it was recorded.
    #[serde(skip)]
    pub brief: bool,
    /// Upstream scored the pod with its overhead counted more than once: see `OVERHEAD_TWICE`.
    #[serde(skip)]
    pub overhead_twice: bool,
}

/// Pods of `random-resources` whose balance score upstream got wrong.
///
/// Its `PodRequests` adds the overhead to the quantity of the pod's own pod-level request where that
/// is kept as a big decimal, so that each further call adds it once more (DIFFERENCES.md). All else
/// about these pods is compared.
const OVERHEAD_TWICE: [(u64, &str); 3] = [
    (22034, "default/p18"),
    (22042, "default/p01"),
    (22065, "default/p05"),
];

/// The sets of whole clusters, each with its two strategies.
pub const CLUSTERS: [&str; 4] = [
    "hypershift-13nodes",
    "platform-mix-12nodes",
    "dsb-6nodes",
    "openb-gpuspec33-120nodes",
];

/// The sets of random clusters.
pub const RANDOM: [&str; 5] = [
    "random-120-scenarios",
    "random-config",
    "random-resources",
    "random-resources-huge",
    "random-volumes",
];

/// The scenarios of a set.
pub fn scenarios(set: &str) -> Vec<Scenario> {
    let scenarios = if CLUSTERS.contains(&set) {
        cluster_scenarios(set)
    } else {
        random_scenarios(set)
    };
    for scenario in &scenarios {
        let pods = scenario.input.pods_in_order.iter().map(full_name);
        let judged = scenario.verdicts.iter().map(|verdict| verdict.pod.clone());
        assert!(
            pods.eq(judged),
            "{}: input and verdicts name different pods",
            scenario.name
        );
    }
    scenarios
}

fn cluster_scenarios(set: &str) -> Vec<Scenario> {
    let input: Input = parse(&read(&format!("golden/{set}.input.json")));
    [("default", None), ("mostallocated", Some("MostAllocated"))]
        .into_iter()
        .map(|(suffix, strategy)| Scenario {
            name: format!("{set}.{suffix}"),
            config: strategy.map(with_strategy),
            input: input.clone(),
            verdicts: read(&format!("golden/{set}.{suffix}.golden.jsonl"))
                .lines()
                .map(|line| Verdict {
                    brief: set.starts_with("openb"),
                    ..parse(line)
                })
                .collect(),
        })
        .collect()
}

fn random_scenarios(set: &str) -> Vec<Scenario> {
    let inputs = read(&format!("golden/{set}.inputs.jsonl"));
    let golden = read(&format!("golden/{set}.golden.jsonl"));
    let pairs = inputs.lines().zip(golden.lines());
    assert_eq!(inputs.lines().count(), golden.lines().count(), "{set}");
    pairs
        .map(|(input, golden)| scenario(set, input, golden))
        .collect()
}

/// The scenario of an input's line and of the line with its verdicts.
pub fn scenario(set: &str, input: &str, golden: &str) -> Scenario {
    #[derive(Deserialize)]
    struct InputLine {
        scenario: u64,
        strategy: Option<String>,
        config: Option<Value>,
        #[serde(default)]
        input: Input,
    }
    #[derive(Deserialize)]
    struct GoldenLine {
        scenario: u64,
        #[serde(default)]
        pods: Vec<Verdict>,
    }
    let input: InputLine = parse(input);
    let mut golden: GoldenLine = parse(golden);
    for verdict in &mut golden.pods {
        verdict.overhead_twice = OVERHEAD_TWICE.contains(&(golden.scenario, verdict.pod.as_str()));
    }
    assert_eq!(input.scenario, golden.scenario, "{set}");
    let strategy = input.strategy.as_deref();
    Scenario {
        name: format!("{set}/{}", input.scenario),
        config: match (input.config, strategy) {
            (Some(config), _) => Some(whole_configuration(config)),
            (None, Some("MostAllocated")) => Some(with_strategy("MostAllocated")),
            (None, _) => None,
        },
        input: input.input,
        verdicts: golden.pods,
    }
}

/// A configuration that only makes NodeResourcesFit score with `strategy`.
fn with_strategy(strategy: &str) -> Value {
    whole_configuration(json!({"profiles": [{"pluginConfig": [{
        "name": "NodeResourcesFit",
        "args": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "NodeResourcesFitArgs",
            "scoringStrategy": {"type": strategy},
        },
    }]}]}))
}

/// Adds the `apiVersion` and `kind` that golden files leave out.
pub(crate) fn whole_configuration(mut config: Value) -> Value {
    config["apiVersion"] = json!("kubescheduler.config.k8s.io/v1");
    config["kind"] = json!("KubeSchedulerConfiguration");
    config
}

/// `NAMESPACE/NAME` of an object.
pub fn full_name(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |key: &str| metadata[key].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

pub(crate) fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> T {
    serde_json::from_str(text).expect("golden files are as their README says")
}
