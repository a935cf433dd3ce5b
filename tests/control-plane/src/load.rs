//! Nodes and a mixture of pods, the same for the same numbers.

use crate::api::{Api, NODES, PODS, pods};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;

/// Where the pods are.
pub const NAMESPACE: &str = "default";

/// The class of the important pods.
pub const IMPORTANT: &str = "important";

/// Calls at a time.
const TASKS: usize = 16;

/// How large. Up to 4 pods a node there is room for every pod that fits anywhere, in whatever order they
/// are placed, and up to 8 where the default scores place them. Every tenth pod is held by a gate or
/// fits nowhere.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// At least 20.
    pub nodes: usize,
    /// Of all kinds.
    pub pods: usize,
}

/// What pod number `index` is, by its last digit; of the odd ones by the digit before it too.
enum Kind {
    Plain,
    Initialised,
    Selecting,
    Spread,
    Apart,
    HostPort,
    Important,
    Tolerating,
    Large,
    Gated,
    TooLarge,
    NowhereSelected,
}

impl Load {
    /// Makes the nodes and then the pods.
    pub async fn create(&self, api: &Api) {
        self.create_nodes(api).await;
        self.create_pods(api, 0..self.pods).await;
    }

    /// Makes the nodes, and the priority class that pods name.
    pub async fn create_nodes(&self, api: &Api) {
        self.create_class(api).await;
        create_all(api, NODES, (0..self.nodes).map(node).collect()).await;
    }

    /// The same, the nodes one after the other in order.
    pub async fn create_nodes_in_order(&self, api: &Api) {
        self.create_class(api).await;
        for index in 0..self.nodes {
            create_all(api, NODES, vec![node(index)]).await;
        }
    }

    async fn create_class(&self, api: &Api) {
        let class = json!({"metadata": {"name": IMPORTANT}, "value": 1_000});
        create_all(
            api,
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            vec![class],
        )
        .await;
    }

    /// Makes the pods of these numbers.
    pub async fn create_pods(&self, api: &Api, numbers: std::ops::Range<usize>) {
        create_all(api, &pods(NAMESPACE), numbers.map(pod).collect()).await;
    }

    /// Makes pod number `index`, and says its name.
    pub async fn create_pod(&self, api: &Api, index: usize) -> String {
        self.create_pods(api, index..index + 1).await;
        pod_name(index)
    }

    /// How many of the pods have a place.
    pub fn fitting(&self) -> usize {
        (0..self.pods).filter(|index| !is_odd(*index)).count()
    }

    /// The pods that fit nowhere, as `namespace/name`, with what kube-scheduler says of them.
    pub fn hopeless(&self) -> Vec<(String, String)> {
        let tainted = (0..self.nodes).filter(|index| is_dedicated(*index)).count();
        let count = self.nodes;
        let odd = (0..self.pods).filter_map(|index| {
            let reason = match kind(index) {
                Kind::TooLarge => "Insufficient cpu",
                Kind::NowhereSelected => "node(s) didn't match Pod's node affinity/selector",
                _ => return None,
            };
            let mut reasons = [
                format!("{tainted} node(s) had untolerated taint(s)"),
                format!("{} {reason}", count - tainted),
            ];
            reasons.sort();
            let reasons = reasons.join(", ");
            let message = format!(
                "0/{count} nodes are available: {reasons}. preemption: 0/{count} nodes are \
                 available: {count} Preemption is not helpful for scheduling."
            );
            Some((format!("{NAMESPACE}/{}", pod_name(index)), message))
        });
        odd.collect()
    }
}

/// Creates objects in the list at a path, several at a time. Panics when one is refused.
pub async fn create_all(api: &Api, path: &str, objects: Vec<Value>) {
    let next = Arc::new(AtomicUsize::new(0));
    let objects = Arc::new(objects);
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS.min(objects.len()) {
        let (api, path) = (api.clone(), path.to_owned());
        let (objects, next) = (Arc::clone(&objects), Arc::clone(&next));
        tasks.spawn(async move {
            while let Some(object) = objects.get(next.fetch_add(1, Ordering::Relaxed)) {
                let created = api.create(&path, object).await;
                created.unwrap_or_else(|error| panic!("{path}: {error}: {object}"));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("objects are created");
    }
}

/// Does once what kubelets would: pods that are being deleted end. Says how many.
pub async fn end_deleted(api: &Api) -> kube::Result<usize> {
    let all = api.list(PODS).await?;
    let going = all.iter().map(|pod| &pod["metadata"]);
    let going = going.filter(|metadata| !metadata["deletionTimestamp"].is_null());
    let mut ended = 0;
    for metadata in going {
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let path = format!("{}/{}", pods(text("namespace")), text("name"));
        let options = json!({
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": metadata["uid"]},
        });
        match api.delete(&path, &options).await {
            Ok(_) => ended += 1,
            // Gone, or made anew, since it was read.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ended)
}

fn kind(index: usize) -> Kind {
    match index % 10 {
        0 => Kind::Plain,
        1 => Kind::Initialised,
        2 => Kind::Selecting,
        3 => Kind::Spread,
        4 => Kind::Apart,
        5 => Kind::HostPort,
        6 => Kind::Important,
        7 => Kind::Tolerating,
        8 => Kind::Large,
        _ => match index / 10 % 3 {
            0 => Kind::Gated,
            1 => Kind::TooLarge,
            _ => Kind::NowhereSelected,
        },
    }
}

fn is_odd(index: usize) -> bool {
    matches!(
        kind(index),
        Kind::Gated | Kind::TooLarge | Kind::NowhereSelected
    )
}

/// Every seventh node is kept for those that tolerate it.
fn is_dedicated(node: usize) -> bool {
    node % 7 == 3
}

fn node(index: usize) -> Value {
    let name = format!("node-{index}");
    let mut node = json!({
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": format!("zone-{}", index % 4),
        }},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "32"}},
    });
    node["status"]["capacity"] = node["status"]["allocatable"].clone();
    if index.is_multiple_of(5) {
        node["metadata"]["labels"]["disk"] = json!("ssd");
    }
    if is_dedicated(index) {
        node["metadata"]["labels"]["dedicated"] = json!("tests");
        node["spec"]["taints"] =
            json!([{"key": "dedicated", "value": "tests", "effect": "NoSchedule"}]);
    }
    node
}

fn pod_name(index: usize) -> String {
    format!("pod-{index}")
}

fn pod(index: usize) -> Value {
    // Groups are small, so that each fits side by side on the nodes that there are.
    let group = format!("group-{}", index / 50);
    let selector = json!({"matchLabels": {"app": format!("app-{}", index % 10), "group": group}});
    let mut pod = json!({
        "metadata": {"name": pod_name(index), "labels": selector["matchLabels"]},
        "spec": {"containers": [{
            "name": "one",
            "image": "example.com/one:1",
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        }]},
    });
    let spec = &mut pod["spec"];
    match kind(index) {
        Kind::Plain => {}
        Kind::Initialised => {
            let mut first = spec["containers"][0].clone();
            first["name"] = json!("first");
            first["resources"] = json!({"limits": {"cpu": "300m"}});
            spec["initContainers"] = json!([first]);
        }
        Kind::Selecting => spec["nodeSelector"] = json!({"disk": "ssd"}),
        Kind::Spread => {
            spec["topologySpreadConstraints"] = json!([{
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }]);
        }
        Kind::Apart => {
            spec["affinity"]["podAntiAffinity"] = json!({
                "requiredDuringSchedulingIgnoredDuringExecution": [{
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": selector,
                }],
            });
        }
        Kind::HostPort => {
            let port = 1_024 + index / 50;
            spec["containers"][0]["ports"] = json!([{"containerPort": port, "hostPort": port}]);
        }
        Kind::Important => spec["priorityClassName"] = json!(IMPORTANT),
        Kind::Tolerating => {
            spec["nodeSelector"] = json!({"dedicated": "tests"});
            spec["tolerations"] = json!([{"key": "dedicated", "operator": "Exists"}]);
        }
        Kind::Large => spec["containers"][0]["resources"]["requests"]["cpu"] = json!("500m"),
        Kind::Gated => spec["schedulingGates"] = json!([{"name": "example.com/wait"}]),
        Kind::TooLarge => spec["containers"][0]["resources"]["requests"]["cpu"] = json!("1k"),
        Kind::NowhereSelected => spec["nodeSelector"] = json!({"disk": "none"}),
    }
    pod
}
