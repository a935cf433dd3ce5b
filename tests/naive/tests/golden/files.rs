//! Reading the golden files.

use berth_core::object::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, Service, StorageClass, VolumeAttachment, Workload,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A cluster, and pods to place one after another.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    pub namespaces: Vec<Namespace>,
    pub nodes: Vec<Node>,
    pub services: Vec<Service>,
    pub replica_sets: Vec<Workload>,
    pub stateful_sets: Vec<Workload>,
    pub persistent_volumes: Vec<PersistentVolume>,
    pub persistent_volume_claims: Vec<PersistentVolumeClaim>,
    pub storage_classes: Vec<StorageClass>,
    pub csi_nodes: Vec<CsiNode>,
    pub csi_drivers: Vec<CsiDriver>,
    pub csi_storage_capacities: Vec<CsiStorageCapacity>,
    pub volume_attachments: Vec<VolumeAttachment>,
    pub bound_pods: Vec<Pod>,
    pub pods_in_order: Vec<Pod>,
}

/// Upstream's answer for one pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Answer {
    pub pod: String,
    pub chosen: Option<String>,
    pub feasible: u32,
    pub ties: Vec<String>,
    pub scores: Vec<Score>,
    pub rejected: BTreeMap<String, Vec<String>>,
    pub unresolvable: Vec<String>,
    pub message: Option<String>,
    pub error: Option<String>,
    /// The answer may rest on arithmetic that overflowed.
    pub wraps: bool,
    /// In place of scores, in the largest files.
    pub best_total: Option<i64>,
    /// In place of many ties.
    pub ties_count: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Score {
    pub node: String,
    pub total: i64,
    pub plugins: BTreeMap<String, i64>,
}

/// The one document of a file.
pub fn document<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The documents of a file, one a line.
pub fn lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let text = text(name);
    let lines = text.lines().enumerate();
    lines
        .map(|(number, line)| {
            serde_json::from_str(line)
                .unwrap_or_else(|error| panic!("{name}, line {}: {error}", number + 1))
        })
        .collect()
}

fn text(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; BERTH_GOLDEN names the folder of golden files",
            path.display()
        )
    })
}

fn folder() -> PathBuf {
    match std::env::var_os("BERTH_GOLDEN") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden"),
    }
}
