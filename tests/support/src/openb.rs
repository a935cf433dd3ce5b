//! The openb trace as objects, by the mapping of `tests/data/openb.py`.

use crate::read;
use berth_core::Quantity;
use berth_core::object::{
    Affinity, Container, Node, NodeAffinity, NodeSelector, NodeSelectorTerm, Pod, Requirement,
};
use std::collections::HashMap;

const GPU: &str = "nvidia.com/gpu";
const GPU_MODEL: &str = "gpu-model";

/// Nodes of `all` (1,523) or `gpu` (1,213, those with GPUs).
pub fn nodes(list: &str) -> Vec<Node> {
    rows(&format!("nodes/openb_node_list_{list}_node.csv"), node)
}

/// Pods of one of the lists, in its order.
pub fn pods(list: &str) -> Vec<Pod> {
    rows(&format!("pods/openb_pod_list_{list}.csv"), pod)
}

/// Cells of a line by the name of their column.
type Row<'a> = HashMap<&'a str, &'a str>;

fn rows<T>(file: &str, read_row: impl Fn(&Row<'_>) -> T) -> Vec<T> {
    let text = read(&format!("data/openb/{file}"));
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    lines
        .map(|line| read_row(&header.split(',').zip(line.split(',')).collect()))
        .collect()
}

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

fn node(row: &Row<'_>) -> Node {
    let mut node = Node::default();
    row["sn"].clone_into(&mut node.metadata.name);
    let labels = &mut node.metadata.labels;
    labels.insert("kubernetes.io/hostname".into(), row["sn"].into());
    labels.insert("kubernetes.io/os".into(), "linux".into());
    labels.insert("kubernetes.io/arch".into(), "amd64".into());
    let amounts = &mut node.status.capacity;
    amounts.insert("cpu".into(), quantity(&format!("{}m", row["cpu_milli"])));
    amounts.insert(
        "memory".into(),
        quantity(&format!("{}Mi", row["memory_mib"])),
    );
    amounts.insert("pods".into(), quantity("1001"));
    amounts.insert("ephemeral-storage".into(), quantity("100Gi"));
    if row["gpu"] != "0" {
        labels.insert(GPU_MODEL.into(), row["model"].into());
        amounts.insert(GPU.into(), quantity(row["gpu"]));
    }
    node.status.allocatable = Some(node.status.capacity.clone());
    node
}

fn pod(row: &Row<'_>) -> Pod {
    let mut pod = Pod::default();
    let meta = &mut pod.metadata;
    row["name"].clone_into(&mut meta.name);
    "default".clone_into(&mut meta.namespace);
    row["name"].clone_into(&mut meta.uid);
    if let Some(qos) = row.get("qos").filter(|qos| !qos.is_empty()) {
        meta.labels.insert("qos".into(), (*qos).into());
    }
    let mut container = Container {
        name: "main".into(),
        image: "example.invalid/x".into(),
        ..Container::default()
    };
    let mut requests = berth_core::object::ResourceList::new();
    requests.insert("cpu".into(), quantity(&format!("{}m", row["cpu_milli"])));
    requests.insert(
        "memory".into(),
        quantity(&format!("{}Mi", row["memory_mib"])),
    );
    if row["num_gpu"] != "0" {
        requests.insert(GPU.into(), quantity(row["num_gpu"]));
        container
            .resources
            .limits
            .insert(GPU.into(), quantity(row["num_gpu"]));
    }
    container.resources.requests = Some(requests);
    pod.spec.containers = vec![container];
    pod.spec.scheduler_name = "default-scheduler".into();
    if let Some(models) = row.get("gpu_spec").filter(|models| !models.is_empty()) {
        let term = NodeSelectorTerm {
            match_expressions: vec![Requirement {
                key: GPU_MODEL.into(),
                operator: "In".into(),
                values: models.split('|').map(Into::into).collect(),
            }],
            ..NodeSelectorTerm::default()
        };
        let required = NodeSelector {
            node_selector_terms: vec![term],
        };
        pod.spec.affinity = Some(Affinity {
            node_affinity: Some(NodeAffinity {
                required: Some(required),
                ..NodeAffinity::default()
            }),
            ..Affinity::default()
        });
    }
    pod
}
