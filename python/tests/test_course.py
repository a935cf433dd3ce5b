"""The loop takes the course that `berth simulate` takes: both drive the core, each in its own way."""

import json
import os
import random
import subprocess

import pytest
from objects import node, pod

import berth

COMMAND = os.environ.get("BERTH_COMMAND")


def storage(draw: random.Random, pods: list[dict]) -> list[dict]:
    """Classes, volumes and claims of some of the pods; an API server has seen none of them."""
    kinds = {"wait": "WaitForFirstConsumer", "now": "Immediate", "hand": "WaitForFirstConsumer"}
    made = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "kubernetes.io/no-provisioner" if name == "hand" else "csi.example.com",
            "volumeBindingMode": mode,
        }
        for name, mode in kinds.items()
    ]
    made[0]["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    for at in range(draw.randint(0, 6)):
        spec = {
            "capacity": {"storage": f"{draw.randint(1, 5)}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": draw.choice(list(kinds)),
            "csi": {"driver": "csi.example.com", "volumeHandle": f"v{at}"},
        }
        if draw.random() < 0.5:
            zone = {"key": "zone", "operator": "In", "values": [draw.choice("ab")]}
            terms = [{"matchExpressions": [zone]}]
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        made.append({"kind": "PersistentVolume", "metadata": {"name": f"v{at}"}, "spec": spec})
    for own in pods:
        if draw.random() > 0.3 or "nodeName" in own["spec"]:
            continue
        name = own["metadata"]["name"]
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{draw.randint(1, 5)}Gi"}},
        }
        if draw.random() < 0.7:
            spec["storageClassName"] = draw.choice(list(kinds))
        if draw.random() < 0.3:
            volume = {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
        else:
            volume = {"name": "own", "persistentVolumeClaim": {"claimName": name}}
            claim = {"name": name, "namespace": "web"}
            made.append({"kind": "PersistentVolumeClaim", "metadata": claim, "spec": spec})
        own["spec"]["volumes"] = [volume]
    return [{"apiVersion": "v1", **own} for own in made]


def cluster(draw: random.Random) -> list[dict]:
    """Too many pods of three priorities, some with budgets, some with volumes, in random order."""
    nodes = [node(f"n{at}", str(draw.randint(2, 8))) for at in range(draw.randint(2, 9))]
    for own in nodes:
        own["metadata"]["labels"] = {"zone": draw.choice("ab")}
    pods = []
    for at in range(draw.randint(10, 60)):
        own = pod(f"p{at}", f"{draw.randint(1, 30) * 100}m", priority=draw.choice((0, 0, 5, 10)))
        own["metadata"]["labels"] = {"app": draw.choice("xyz")}
        if draw.random() < 0.3:
            own["spec"]["nodeSelector"] = {"zone": draw.choice("ab")}
        if draw.random() < 0.2:
            own["spec"]["schedulingGates"] = [{"name": "g"}]
        if draw.random() < 0.2:
            own["spec"]["preemptionPolicy"] = "Never"
        if draw.random() < 0.4:
            own["spec"]["nodeName"] = draw.choice(nodes)["metadata"]["name"]
            own["spec"].pop("schedulingGates", None)
        pods.append(own)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "web"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1},
        "status": {"disruptionsAllowed": draw.randint(0, 2)},
    }
    return [*nodes, budget, *storage(draw, pods), *pods]


def seeded() -> tuple[int, random.Random]:
    """A generator, whose seed is printed."""
    seed = int(os.environ.get("BERTH_PYTHON_SEED") or random.SystemRandom().randrange(2**32))
    print(f"BERTH_PYTHON_SEED={seed}")
    return seed, random.Random(seed)


def test_tables_that_grow_on_the_way_change_nothing():
    """Objects come one by one, with attempts in between, to tables of one row and to large ones."""
    seed, draw = seeded()
    attempts = 0
    for case in range(25):
        objects = cluster(draw)
        draw.shuffle(objects)
        small = berth.Scheduler(capacities={"nodes": 1, "pods": 1}, grow=True)
        large = berth.Scheduler(capacities={"nodes": 64, "pods": 512})
        for own in objects:
            for scheduler in (small, large):
                scheduler.apply(own)
            if draw.random() < 0.1:
                pairs = zip(small.schedule_all(), large.schedule_all(), strict=True)
            elif own["kind"] == "Pod" and draw.random() < 0.3:
                asked = {**own, "metadata": {**own["metadata"], "name": "asked"}}
                pairs = [(small.explain(asked), large.explain(asked))]
            else:
                continue
            for one, other in pairs:
                assert one.to_dict() == other.to_dict(), f"seed {seed}, case {case}"
                attempts += 1
        assert small.state_hash() == large.state_hash(), f"seed {seed}, case {case}"
        assert small.pods.to_dicts() == large.pods.to_dicts(), f"seed {seed}, case {case}"
    assert attempts > 200


@pytest.mark.skipif(COMMAND is None, reason="run by `cargo test --test python`")
def test_attempts_are_those_of_the_command(tmp_path):
    seed, draw = seeded()
    attempts, again, victims, volumes, case = 0, 0, 0, 0, 0
    # No number of clusters holds enough of each for every seed; the bound is for a kind that ended.
    while case < 40 or (min(again, victims, volumes) <= 50 and case < 1000):
        case += 1
        objects = cluster(draw)
        file = tmp_path / f"{case}.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        command = [COMMAND, "simulate", "-f", file, "-o", "jsonl", "--attempts"]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        assert told.returncode in (0, 1), told.stderr
        expected = [json.loads(line) for line in told.stdout.splitlines()]
        # What was not attempted is told at the end, without a time.
        expected = [own for own in expected if own["attempt"] > 0]
        scheduler = berth.Scheduler()
        scheduler.load(file)
        decisions = scheduler.schedule_all()
        surroundings = ("ms", "reason", "plugins", "patches")
        wanted = [
            {key: value for key, value in own.items() if key not in surroundings}
            for own in expected
        ]
        assert [own.to_dict() for own in decisions] == wanted, f"seed {seed}, case {case}"
        times = [round(own.seconds * 1000) for own in decisions]
        assert times == [own["ms"] for own in expected], f"seed {seed}, case {case}"
        attempts += len(decisions)
        again += sum(own.attempt > 1 for own in decisions)
        victims += sum(len(own.victims) for own in decisions)
        volumes += sum(len(own.volumes) for own in decisions)
    print(f"{attempts} attempts, {again} not the first, {victims} victims, {volumes} claims")
    assert again > 50 and victims > 50 and volumes > 50
