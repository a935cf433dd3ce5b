//! Real manifests and a real cluster's dump through the command: each pod that a controller would
//! make is placed, or refused with a message in which every node is counted.

use berth_test_support::answer::Answer;
use berth_test_support::command::{Simulation, berth, empty_folder, simulate};
use berth_test_support::golden::BoundClaim;
use berth_test_support::tests_folder;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

fn data(file: &str) -> PathBuf {
    tests_folder().join("data").join(file)
}

fn simulate_files(files: &[&Path], flags: &[&str]) -> Simulation {
    let mut all: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    for file in files {
        all.extend([OsStr::new("-f"), file.as_os_str()]);
    }
    simulate(&all)
}

/// A workload folder on a node file.
fn workloads(folder: &str, nodes: &str, flags: &[&str]) -> Simulation {
    let workloads = data(&format!("manifests/{folder}/workloads.yaml"));
    let nodes = data(&format!("nodes/{nodes}.json"));
    simulate_files(&[&nodes, &workloads], flags)
}

/// What keeps a pod whose claims no class provides for.
const UNBOUND: &str = "pod has unbound immediate PersistentVolumeClaims";

/// Numbers of pods and of those placed; panics when a refusal is not explained.
fn placed(simulation: &Simulation, nodes: usize) -> (usize, usize) {
    let answers = &simulation.answers;
    let names: BTreeSet<&String> = answers.iter().map(|answer| &answer.pod).collect();
    assert_eq!(names.len(), answers.len(), "a pod has two records");
    for answer in answers.iter().filter(|answer| answer.node.is_none()) {
        assert_eq!(answer.result, "unschedulable", "{answer:?}");
        let message = answer.message.as_deref().unwrap_or_default();
        if message.contains(UNBOUND) {
            continue;
        }
        assert_eq!(answer.rejected.len(), nodes, "{answer:?}");
        assert_eq!(answer.message.as_ref(), Some(&answer.message_of_refusals()));
    }
    let placed = answers.iter().filter(|answer| answer.node.is_some());
    (answers.len(), placed.count())
}

/// The records of the pods whose name begins with `NAMESPACE/WORKLOAD-`.
fn of_workload<'a>(simulation: &'a Simulation, workload: &str) -> Vec<&'a Answer> {
    let prefix = format!("{workload}-");
    let answers = simulation.answers.iter();
    answers
        .filter(|answer| answer.pod.starts_with(&prefix))
        .collect()
}

#[test]
fn a_hosted_control_plane_without_storage_is_placed_but_for_the_pods_with_claims() {
    let simulation = workloads("hypershift-control-plane", "hypershift-13nodes", &[]);
    assert_eq!(placed(&simulation, 13), (71, 68));
    for answer in of_workload(&simulation, "hcp-namespace/etcd") {
        let message = answer.message.as_deref().unwrap_or_default();
        assert!(message.contains(UNBOUND), "{answer:?}");
    }
    assert_eq!(of_workload(&simulation, "hcp-namespace/etcd").len(), 3);
}

#[test]
fn a_hosted_control_plane_with_storage_is_placed_whole() {
    let files = [
        data("nodes/hypershift-13nodes.json"),
        data("nodes/hypershift-storage.yaml"),
        data("manifests/hypershift-control-plane/workloads.yaml"),
    ];
    let simulation = simulate_files(&files.each_ref().map(PathBuf::as_path), &[]);
    assert_eq!(placed(&simulation, 13), (71, 71));
    // Its disks are attached to three nodes only, one in each zone.
    let etcd = of_workload(&simulation, "hcp-namespace/etcd");
    let nodes: Vec<&str> = etcd.iter().filter_map(|pod| pod.node.as_deref()).collect();
    assert_eq!(nodes, ["cp-a-0", "cp-b-0", "cp-c-0"]);
    for (number, pod) in etcd.iter().enumerate() {
        let claims = [provisioned("hcp-namespace", &format!("data-etcd-{number}"))];
        assert_eq!(pod.volumes.as_deref(), Some(claims.as_slice()));
        let reason = "disk.csi.example.com CSI driver is not installed on the node";
        assert_eq!(pod.rejected["cp-a-1"], ["NodeVolumeLimits", reason]);
    }
}

/// A claim for which the simulated provisioner made a volume.
fn provisioned(namespace: &str, name: &str) -> BoundClaim {
    BoundClaim {
        claim: format!("{namespace}/{name}"),
        volume: format!("dyn-{namespace}-{name}"),
        provisioned: true,
    }
}

#[test]
fn stateful_sets_go_where_their_volumes_are_or_can_be_made() {
    let cluster = data("manifests/stateful-sets/cluster.yaml");
    let simulation = simulate_files(&[&cluster], &[]);
    assert_eq!(placed(&simulation, 6), (6, 5));
    let pods = &simulation.answers;
    let nodes: Vec<(&str, Option<&str>)> = pods
        .iter()
        .map(|pod| (pod.pod.as_str(), pod.node.as_deref()))
        .collect();
    let expected = [
        ("default/db-0", Some("b-0")),
        ("default/db-1", Some("a-0")),
        ("default/db-2", Some("a-1")),
        ("default/log-0", Some("c-1")),
        ("default/log-1", Some("a-1")),
        ("default/log-2", None),
    ];
    assert_eq!(nodes, expected);

    // Its volume is in zone b since before.
    let conflict = "node(s) didn't match PersistentVolume's node affinity";
    for node in ["a-0", "a-1", "c-0", "c-1"] {
        assert_eq!(pods[0].rejected[node], ["VolumeBinding", conflict]);
    }
    let bound_before = pods[0].volumes.as_deref();
    assert_eq!(bound_before, Some([].as_slice()));
    // One disk fits on b-0; zone c has no room for such a disk.
    let full = "node(s) exceed max volume count";
    assert_eq!(pods[1].rejected["b-0"], ["NodeVolumeLimits", full]);
    let no_room = "node(s) did not have enough free storage";
    assert_eq!(pods[1].rejected["c-0"], ["VolumeBinding", no_room]);
    let made = [provisioned("default", "data-db-1")];
    assert_eq!(pods[1].volumes.as_deref(), Some(made.as_slice()));
    // Disks of the nodes themselves are there already, two of them.
    for (pod, volume) in [(3, "local-c-1"), (4, "local-a-1")] {
        let taken = BoundClaim {
            claim: format!("default/store-log-{}", pod - 3),
            volume: volume.to_owned(),
            provisioned: false,
        };
        assert_eq!(pods[pod].volumes.as_deref(), Some([taken].as_slice()));
    }
    let none_left = "node(s) didn't find available persistent volumes to bind";
    for reasons in pods[5].rejected.values() {
        assert_eq!(reasons, &["VolumeBinding", none_left]);
    }
}

#[test]
fn explain_tells_which_volume_keeps_a_pod_from_a_node() {
    let output = berth()
        .args(["explain", "default/db-0", "-f"])
        .arg(data("manifests/stateful-sets/cluster.yaml"))
        .output()
        .expect("the command runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.starts_with("default/db-0 fits on 2 of 6 nodes.\n"),
        "{text}"
    );
    let reason = "VolumeBinding  node(s) didn't match PersistentVolume's node affinity";
    let refusals = text.lines().filter(|line| line.ends_with(reason));
    assert_eq!(refusals.count(), 4, "{text}");
}

#[test]
fn replicas_with_required_anti_affinity_go_to_different_hosts() {
    let simulation = workloads("linkerd-ha", "platform-mix-12nodes", &[]);
    assert_eq!(placed(&simulation, 12), (10, 10));
    for workload in ["identity", "destination", "proxy-injector"] {
        let pods = of_workload(&simulation, &format!("linkerd/linkerd-{workload}"));
        let nodes: BTreeSet<&String> = pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
        assert_eq!((pods.len(), nodes.len()), (3, 3), "{workload}: {pods:?}");
    }
}

#[test]
fn a_daemon_set_gets_one_pod_a_node_and_custom_resources_are_reported() {
    let simulation = workloads("kube-prometheus", "platform-mix-12nodes", &[]);
    assert_eq!(placed(&simulation, 12), (18, 18));
    let pods = of_workload(&simulation, "monitoring/node-exporter");
    let nodes: BTreeSet<&String> = pods.iter().filter_map(|pod| pod.node.as_ref()).collect();
    assert_eq!((pods.len(), nodes.len()), (12, 12));
    for kind in ["Alertmanager", "Prometheus"] {
        assert!(simulation.notes.contains(kind), "{}", simulation.notes);
    }
}

#[test]
fn workloads_scaled_to_five_replicas_are_placed_as_far_as_nodes_suit_them() {
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "karpenter-workloads");
    let source = data("manifests/karpenter-workloads/workloads.yaml");
    let source = fs::read_to_string(source).expect("the manifests are there");
    let scaled: Vec<String> = source.split("\n---\n").map(with_five_replicas).collect();
    let file = folder.join("workloads.yaml");
    fs::write(&file, scaled.join("\n---\n")).expect("the manifests are written");
    let nodes = data("nodes/platform-mix-12nodes.json");
    let simulation = simulate_files(&[&nodes, &file], &[]);
    let (pods, _) = placed(&simulation, 12);
    assert_eq!(pods, 55);
    for (workload, resource) in [
        ("gpu-amd", "amd.com/gpu"),
        ("gpu-nvidia", "nvidia.com/gpu"),
        ("neuron", "aws.amazon.com/neuron"),
    ] {
        let refused = of_workload(&simulation, &format!("default/{workload}"));
        assert_eq!(refused.len(), 5);
        for answer in refused {
            let message = answer.message.as_deref().unwrap_or_default();
            let reason = format!("Insufficient {resource}");
            assert!(message.contains(&reason), "{workload}: {message}");
        }
    }
}

/// A Deployment's document with `replicas: 5`, whatever it had.
fn with_five_replicas(document: &str) -> String {
    if !document.contains("kind: Deployment") {
        return document.to_owned();
    }
    let lines = document.lines();
    let rest: Vec<&str> = lines
        .filter(|line| !line.starts_with("  replicas:"))
        .collect();
    rest.join("\n")
        .replacen("\nspec:\n", "\nspec:\n  replicas: 5\n", 1)
}

#[test]
fn objects_that_no_server_takes_are_left_out_and_listed() {
    let simulation = workloads(
        "microshift-assets",
        "platform-mix-12nodes",
        &["--skip-invalid"],
    );
    assert_eq!(placed(&simulation, 12), (60, 54));
    let refused = simulation.answers.iter().filter(|pod| pod.node.is_none());
    let refused: Vec<&str> = refused.map(|pod| pod.pod.as_str()).collect();
    let for_masters = [
        "openshift-c2cc/c2cc-probe-0",
        "kube-system/csi-snapshot-controller-0",
        "openshift-service-ca/service-ca-0",
        "openshift-operator-lifecycle-manager/olm-operator-0",
        "openshift-operator-lifecycle-manager/catalog-operator-0",
        "sriov-network-operator/sriov-network-operator-0",
    ];
    assert_eq!(refused, for_masters);
    for (left_out, times) in [
        ("Deployment kserve/kserve-controller-manager", 5),
        ("Deployment kserve/kserve-localmodel-controller-manager", 2),
        ("DaemonSet kserve/kserve-localmodelnode-agent", 2),
    ] {
        let notes = simulation.notes.lines();
        let notes = notes.filter(|note| note.contains(&format!("{left_out}: ")));
        assert_eq!(notes.count(), times, "{left_out}: {}", simulation.notes);
    }
}

/// The nodes and bound pods of the dump.
fn dump() -> [PathBuf; 2] {
    ["nodes", "pods-on-these-nodes"]
        .map(|file| data(&format!("manifests/openshift-dump/{file}.json")))
}

#[test]
fn a_pod_that_waits_in_a_dump_is_placed_where_its_ports_are_free() {
    let [nodes, pods] = dump();
    let pending = data("manifests/openshift-dump/pending-pod.json");
    let simulation = simulate_files(&[&nodes, &pods, &pending], &[]);
    assert_eq!(placed(&simulation, 2), (1, 1));
    let node = simulation.answers[0].node.as_deref();
    assert_eq!(node, Some("worker-0.lab.example.invalid"));
}

#[test]
fn a_pod_whose_sibling_holds_its_ports_waits_as_it_did_in_the_real_cluster() {
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "openshift-dump");
    let [nodes, pods] = dump();
    let pending = data("manifests/openshift-dump/pending-pod.json");
    let text = fs::read_to_string(&pending).expect("the pending pod is there");
    let mut sibling: Value = serde_json::from_str(&text).expect("the pending pod is JSON");
    let pod = &mut sibling["items"][0];
    pod["metadata"]["name"] = json!("router-default-7bbdcfcf9b-sibling");
    pod["spec"]["nodeName"] = json!("worker-0.lab.example.invalid");
    pod["status"] = json!({"phase": "Running"});
    let file = folder.join("sibling.json");
    fs::write(&file, sibling.to_string()).expect("the sibling is written");
    let simulation = simulate_files(&[&nodes, &pods, &pending, &file], &[]);
    assert_eq!(placed(&simulation, 2), (1, 0));
    assert_eq!(
        simulation.answers[0].message.as_deref(),
        Some(
            "0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod \
             ports, 1 node(s) had untolerated taint(s)."
        )
    );
}

#[test]
fn a_pod_bound_to_a_node_outside_of_the_dump_changes_nothing() {
    let [nodes, pods] = dump();
    let elsewhere = data("manifests/openshift-dump/pod-alertmanager.json");
    let pending = data("manifests/openshift-dump/pending-pod.json");
    let simulation = simulate_files(&[&nodes, &pods, &elsewhere, &pending], &[]);
    assert_eq!(placed(&simulation, 2), (1, 1));
}
