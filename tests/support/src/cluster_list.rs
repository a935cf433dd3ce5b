//! A scenario as the `List` that `kubectl get -o json` would print.
//!
//! The command reads objects as an API server hands them out; the golden scheduler got some that
//! no API server lets pass. Where the two differ, the list says the same thing in a form that
//! both accept:
//!
//! - ReplicationControllers, ReplicaSets and StatefulSets have their pods beside them and ask for no further ones; their
//!   templates, which the golden inputs leave empty, get a container. Spreading reads only their
//!   selectors.
//! - A pod-level request below the sum of the containers, and a fraction of an extended resource,
//!   are refused by the API server. Such a pod is replaced by one that takes the same room, put
//!   where kube-scheduler put the original (or left out where it put it nowhere). Its own verdict
//!   is then not compared, those after it are.

use crate::exact::{Mode, aggregate, amounts, counted, is_pod_level, list, nanos, requests};
use crate::golden::{Scenario, full_name};
use num_bigint::BigInt;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The list, and the pods that stand in it for others.
#[derive(Debug)]
pub struct ClusterList {
    pub json: Value,
    /// `NAMESPACE/NAME` of pods that were replaced or left out.
    pub replaced: BTreeSet<String>,
}

/// The scenario's cluster with its pods, those to be placed in their order.
pub fn cluster_list(scenario: &Scenario) -> ClusterList {
    let mut items = Vec::new();
    let mut replaced = BTreeSet::new();
    for (kind, object) in scenario.input.cluster() {
        let object = match kind {
            "ReplicationController" | "ReplicaSet" | "StatefulSet" => without_replicas(object),
            "Pod" if !is_valid(object) => same_room(object),
            _ => object.clone(),
        };
        items.push(of_kind(kind, object));
    }
    for (pod, verdict) in scenario.input.pods_in_order.iter().zip(&scenario.verdicts) {
        if is_valid(pod) {
            items.push(of_kind("Pod", pod.clone()));
            continue;
        }
        replaced.insert(full_name(pod));
        if let Some(node) = &verdict.chosen {
            let mut pod = same_room(pod);
            pod["spec"]["affinity"] = json!({"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}],
                }]},
            }});
            items.push(of_kind("Pod", pod));
        }
    }
    ClusterList {
        json: json!({"apiVersion": "v1", "kind": "List", "items": items}),
        replaced,
    }
}

fn of_kind(kind: &str, mut object: Value) -> Value {
    object["kind"] = json!(kind);
    object["apiVersion"] = match kind {
        "ReplicaSet" | "StatefulSet" => json!("apps/v1"),
        "StorageClass" | "CSINode" | "CSIDriver" | "CSIStorageCapacity" | "VolumeAttachment" => {
            json!("storage.k8s.io/v1")
        }
        _ => json!("v1"),
    };
    object
}

fn without_replicas(workload: &Value) -> Value {
    let mut workload = workload.clone();
    workload["spec"]["replicas"] = json!(0);
    workload["spec"]["template"]["spec"]["containers"] =
        json!([{"name": "main", "image": "example.invalid/main"}]);
    workload
}

/// Whether an API server accepts what the pod requests.
fn is_valid(pod: &Value) -> bool {
    let spec = &pod["spec"];
    let asked = |container: &Value| amounts(&container["resources"]["requests"]);
    let containers = aggregate(spec, &asked);
    let covers = amounts(&spec["resources"]["requests"])
        .iter()
        .all(|(name, amount)| containers.get(name).is_none_or(|sum| sum <= amount));
    let mut all = list(&spec["containers"])
        .iter()
        .chain(list(&spec["initContainers"]));
    let unit = nanos("1");
    let whole = all.all(|container| {
        asked(container)
            .iter()
            .all(|(name, amount)| !name.contains('/') || amount % &unit == BigInt::ZERO)
    });
    covers && whole
}

/// A pod that takes the same room on a node as `pod` does, without pod-level requests and status.
///
/// What the pod requests in all is moved to its first container; the others ask for 0 of it, so
/// that no default is counted for them where none was counted before. A resource of which the pod
/// requests nothing at all is absent from all containers.
fn same_room(pod: &Value) -> Value {
    let mut pod = pod.clone();
    let mut moved = requests(&pod, Mode::Status);
    for (name, amount) in amounts(&pod["spec"]["overhead"]) {
        *moved.entry(name).or_default() -= amount;
    }
    let has_pod_level = amounts(&pod["spec"]["resources"]["requests"])
        .keys()
        .any(|name| is_pod_level(name));
    if !has_pod_level {
        // Defaults are counted by container then, so cpu and memory stay where they are.
        assert!(
            pod["status"]["containerStatuses"].is_null(),
            "{}: a resized pod needs another rewriting",
            full_name(&pod)
        );
        moved.retain(|name, _| !matches!(name.as_str(), "cpu" | "memory"));
    }
    let mut first = true;
    for field in ["containers", "initContainers"] {
        let containers = pod["spec"][field].as_array_mut().into_iter().flatten();
        for container in containers {
            let mut requests = container["resources"]["requests"].take();
            if has_pod_level || requests.is_null() {
                requests = json!({});
            }
            for (name, amount) in &moved {
                requests[name] = json!(if first {
                    text_of(name, amount)
                } else {
                    "0".to_owned()
                });
            }
            container["resources"] = json!({ "requests": requests });
            first = false;
        }
    }
    let spec = pod["spec"].as_object_mut().expect("a pod has a spec");
    spec.remove("resources");
    if let Some(status) = pod["status"].as_object_mut() {
        status.retain(|field, _| field == "phase");
    }
    pod
}

fn text_of(resource: &str, amount: &BigInt) -> String {
    let unit = nanos("1");
    if resource.contains('/') || amount % &unit == BigInt::ZERO {
        let whole = if resource == "cpu" {
            amount / unit
        } else {
            counted(resource, amount)
        };
        whole.to_string()
    } else {
        format!("{amount}n")
    }
}

#[cfg(test)]
mod tests {
    use super::{is_valid, same_room};
    use crate::exact::{Mode, requests};
    use crate::golden::{RANDOM, scenarios};

    #[test]
    fn a_replaced_pod_is_valid_and_requests_the_same() {
        let mut replaced = 0;
        for set in RANDOM {
            for scenario in scenarios(set) {
                let input = &scenario.input;
                for pod in input.bound_pods.iter().chain(&input.pods_in_order) {
                    if is_valid(pod) {
                        continue;
                    }
                    replaced += 1;
                    let stand_in = same_room(pod);
                    assert!(is_valid(&stand_in), "{pod} became {stand_in}");
                    let mut before = requests(pod, Mode::Status);
                    for (name, amount) in &mut before {
                        if name.contains('/') {
                            *amount = super::counted(name, amount) * super::nanos("1");
                        }
                    }
                    assert_eq!(requests(&stand_in, Mode::Status), before);
                }
            }
        }
        assert!(replaced > 400, "only {replaced} pods were replaced");
    }
}
