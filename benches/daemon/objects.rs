//! Nodes and pods as an API server shows them: with what it fills in, and with who wrote which field.

use serde_json::{Value, json};

/// Of the nodes, how many are in each of three zones.
const ZONES: usize = 3;

/// A node of 4 processors and 32 GiB, as upstream's benchmark has it.
pub fn node(index: usize) -> Value {
    let name = format!("node-{index}");
    let room = json!({"cpu": "4", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    let condition = |type_: &str, status: &str, reason: &str| {
        json!({
            "type": type_,
            "status": status,
            "reason": reason,
            "message": format!("kubelet says so of {type_}"),
            "lastHeartbeatTime": "2026-01-01T00:00:00Z",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    json!({
        "metadata": {
            "name": name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "four",
                "topology.kubernetes.io/region": "here",
                "topology.kubernetes.io/zone": format!("zone-{}", index % ZONES),
            },
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"], "providerID": format!("own://{name}")},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "addresses": [
                {"type": "InternalIP", "address": "10.1.0.1"},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": name, "systemUUID": name, "bootID": name,
                "kernelVersion": "6.12.0", "osImage": "Linux", "architecture": "amd64",
                "containerRuntimeVersion": "containerd://2.1.0", "operatingSystem": "linux",
                "kubeletVersion": "v1.37.2", "kubeProxyVersion": "v1.37.2",
            },
        },
    })
}

/// A pod of 100 thousandths of a processor and 500 MiB, as upstream's benchmark has it.
pub fn pod(group: &str, index: usize) -> Value {
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {
            "f:containers": {"k:{\"name\":\"pause\"}": {
                ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
                "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
                    ".": {}, "f:containerPort": {}, "f:protocol": {}}},
                "f:resources": {".": {},
                    "f:limits": {".": {}, "f:cpu": {}, "f:memory": {}},
                    "f:requests": {".": {}, "f:cpu": {}, "f:memory": {}}},
                "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {}}},
            "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {},
            "f:schedulerName": {}, "f:securityContext": {}, "f:terminationGracePeriodSeconds": {},
        },
    });
    let amounts = json!({"cpu": "100m", "memory": "500Mi"});
    let tolerates = |key: &str| {
        json!({
            "key": format!("node.kubernetes.io/{key}"),
            "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
        })
    };
    json!({
        "metadata": {
            "namespace": "default",
            "name": format!("{group}-{index}"),
            "generateName": format!("{group}-"),
            "generation": 1,
            "labels": {"app": group},
            "managedFields": [{
                "manager": "kubectl-create", "operation": "Update", "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
            }],
        },
        "spec": {
            "containers": [{
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.2",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"limits": amounts, "requests": amounts},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "volumeMounts": [{
                    "name": "kube-api-access", "readOnly": true,
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                }],
            }],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": true,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "serviceAccount": "default",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [tolerates("not-ready"), tolerates("unreachable")],
            "volumes": [{"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{
                    "path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ]}}],
        },
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    })
}

/// A pod that runs on a node.
pub fn bound(group: &str, index: usize, nodes: usize) -> Value {
    let mut pod = pod(group, index);
    pod["spec"]["nodeName"] = json!(format!("node-{}", index % nodes));
    pod["status"]["phase"] = json!("Running");
    pod["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "True", "lastProbeTime": null,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    pod
}

/// A pod that is held by a gate.
pub fn gated(group: &str, index: usize) -> Value {
    let mut pod = pod(group, index);
    pod["spec"]["schedulingGates"] = json!([{"name": "example.com/later"}]);
    pod
}

/// A pod that wants more than a node has.
pub fn too_large(group: &str, index: usize) -> Value {
    let mut pod = pod(group, index);
    let amounts = json!({"cpu": "5", "memory": "500Mi"});
    pod["spec"]["containers"][0]["resources"] = json!({"limits": amounts, "requests": amounts});
    pod
}
