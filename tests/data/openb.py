"""Turns the openb trace's CSV files into the List that `kubectl get nodes,pods -o json` prints.

    python3 openb.py NODES.csv PODS.csv > cluster.json

A node's GPUs become `nvidia.com/gpu`, their type the label `gpu-model`. A pod's share of one GPU
counts as a whole one, since Kubernetes knows no shares; its accepted types (`gpu_spec`) become
required node affinity to that label. Pods come in the file's order; times and phases of the trace
are left out. The namespace is `default`; a node holds up to 1001 pods, as in the published
experiment. Only the standard library is used.
"""

import csv
import json
import sys

GPU = "nvidia.com/gpu"
GPU_MODEL = "gpu-model"


def node(row):
    """The Node of one line of a node list."""
    labels = {
        "kubernetes.io/hostname": row["sn"],
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    amounts = {
        "cpu": row["cpu_milli"] + "m",
        "memory": row["memory_mib"] + "Mi",
        "pods": "1001",
        "ephemeral-storage": "100Gi",
    }
    if int(row["gpu"]) > 0:
        labels[GPU_MODEL] = row["model"]
        amounts[GPU] = row["gpu"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(row):
    """The Pod of one line of a pod list; the multigpu lists have only the first five columns."""
    resources = {
        "requests": {"cpu": row["cpu_milli"] + "m", "memory": row["memory_mib"] + "Mi"}
    }
    if int(row["num_gpu"]) > 0:
        resources["requests"][GPU] = row["num_gpu"]
        resources["limits"] = {GPU: row["num_gpu"]}
    spec = {
        "containers": [
            {"name": "main", "image": "example.invalid/x", "resources": resources}
        ]
    }
    if row.get("gpu_spec"):
        term = {
            "key": GPU_MODEL,
            "operator": "In",
            "values": row["gpu_spec"].split("|"),
        }
        spec["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [term]}]
                }
            }
        }
    metadata = {"name": row["name"], "namespace": "default", "uid": row["name"]}
    if row.get("qos"):
        metadata["labels"] = {"qos": row["qos"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    nodes, pods = arguments
    items = [node(row) for row in rows(nodes)] + [pod(row) for row in rows(pods)]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
