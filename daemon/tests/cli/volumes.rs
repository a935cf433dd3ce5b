//! Pods with claims, by what the command shows of them.

use crate::run::{in_terminal, simulate_text};
use serde_json::{Value, json};

/// Two nodes in zones of their own; a set whose claims wait, one of them for a volume that is there; a
/// claim that binds at once; and a claim that a real cluster has left unbound.
const INPUT: &str = r"
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: a, labels: {topology.kubernetes.io/zone: za}}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
- {apiVersion: v1, kind: Node, metadata: {name: b, labels: {topology.kubernetes.io/zone: zb}}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: wait}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: now}, provisioner: csi.example.com}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: disk-7}
  spec:
    capacity: {storage: 5Gi}
    accessModes: [ReadWriteOnce]
    storageClassName: wait
    csi: {driver: csi.example.com, volumeHandle: disk-7}
    nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zb]}]}]}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: db}
  spec:
    replicas: 2
    selector: {matchLabels: {app: db}}
    template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c}]}}
    volumeClaimTemplates:
    - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: wait, resources: {requests: {storage: 4Gi}}}}
    - {metadata: {name: logs}, spec: {accessModes: [ReadWriteOnce], storageClassName: wait, resources: {requests: {storage: 9Gi}}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: now}, spec: {accessModes: [ReadWriteOnce], storageClassName: now, resources: {requests: {storage: 1Gi}}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: left}, spec: {accessModes: [ReadWriteOnce], storageClassName: now, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}
- {apiVersion: v1, kind: Pod, metadata: {name: quick}, spec: {containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: now}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: stuck}, spec: {containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: left}}]}}
";

#[test]
fn claims_that_are_bound_are_shown() {
    for form in ["table", "wide", "json"] {
        let run = simulate_text("volumes.yaml", INPUT, &["-o", form]);
        assert_eq!((run.code, run.stderr.as_str()), (1, ""), "{form}");
        insta::assert_snapshot!(format!("volumes_{form}"), run.stdout);
    }
}

#[test]
fn at_eighty_columns_claims_are_wrapped() {
    let folder = tempfile::tempdir().expect("a folder for the input");
    let file = folder.path().join("volumes.yaml");
    std::fs::write(&file, INPUT).expect("the input is written");
    let file = file.to_str().expect("the path is UTF-8");
    for form in ["table", "wide"] {
        let Some(shown) = in_terminal(&["simulate", "-f", file, "-o", form]) else {
            return;
        };
        let widest = shown.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{shown}");
        insta::assert_snapshot!(format!("volumes_{form}_80"), shown);
    }
}

fn decisions(input: &Value, flags: &[&str]) -> Vec<Value> {
    let mut all = vec!["-o", "jsonl"];
    all.extend(flags);
    let run = simulate_text("input.json", input.to_string(), &all);
    assert_eq!(run.stderr, "");
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

fn class(name: &str, created: &Value, mark: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "creationTimestamp": created, "annotations": {mark: "true"}},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
    })
}

/// Each class has a volume of its name; which one the claim gets tells its class.
fn class_taken(classes: &[Value], flags: &[&str]) -> Value {
    let volume = |class: &Value| {
        let name = &class["metadata"]["name"];
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "storageClassName": name, "csi": {"driver": "d", "volumeHandle": name},
            },
        })
    };
    let mut items: Vec<Value> = classes.iter().map(volume).collect();
    items.extend(classes.iter().cloned());
    items.push(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "1", "pods": "10"}},
    }));
    items.push(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }));
    items.push(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        },
    }));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    decisions(&list, flags)[0]["volumes"][0]["volume"].clone()
}

#[test]
fn of_several_default_classes_the_newest_is_taken_then_the_first_by_name() {
    const MARK: &str = "storageclass.kubernetes.io/is-default-class";
    const BETA: &str = "storageclass.beta.kubernetes.io/is-default-class";
    let at = |year: u32| json!(format!("{year}-01-01T00:00:00Z"));
    for flags in [&[][..], &["--order", "file"]] {
        let taken = |classes: &[Value]| class_taken(classes, flags);
        let (old, new) = (class("a", &at(2001), MARK), class("b", &at(2002), MARK));
        assert_eq!(taken(&[old.clone(), new.clone()]), "b");
        let (same, beta) = (class("c", &at(2002), MARK), class("d", &at(2003), BETA));
        assert_eq!(taken(&[same.clone(), new.clone(), old]), "b");
        assert_eq!(taken(&[beta, same, new.clone()]), "d");
        let unmarked = class("z", &at(2009), "other");
        assert_eq!(taken(&[unmarked, class("0", &json!(null), MARK), new]), "b");
    }
}
