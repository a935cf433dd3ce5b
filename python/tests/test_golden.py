"""kube-scheduler's verdicts: the record of each pod before it is placed, and where it then goes.

`tests/python.rs` writes the inputs in the form that an API server has, one file a set, into the
folder that BERTH_GOLDEN names.
"""

import json
import os
from pathlib import Path

import pytest

import berth

FOLDER = os.environ.get("BERTH_GOLDEN")

# Set: verdicts that are compared.
SETS = {
    "hypershift-13nodes": 142,
    "platform-mix-12nodes": 324,
    "dsb-6nodes": 108,
    "openb-gpuspec33-120nodes": 1400,
    "random-120-scenarios": 2593,
    "random-config": 1260,
    "random-resources": 1265,
    "random-resources-huge": 92,
    "random-volumes": 1295,
}


def expected(verdict, record):
    """The record that the verdict asks for, in as far as it was recorded."""
    want = {
        "pod": verdict["pod"],
        "node": verdict["chosen"],
        "feasible": verdict["feasible"],
        "message": verdict["message"],
        "ties": verdict["ties"],
        "scores": verdict["scores"],
        "rejected": verdict["rejected"] or None,
    }
    if verdict["ties_count"] is not None:
        assert len(record["ties"]) == verdict["ties_count"]
        want["ties"] = record["ties"]
    if verdict["brief"]:
        scores = record.get("scores")
        best = max(score["total"] for score in scores) if scores else None
        assert best == verdict["best_total"]
        want["scores"] = scores
        want["rejected"] = record.get("rejected")
    return want


@pytest.mark.skipif(FOLDER is None, reason="run by `cargo test --test python`")
# The inputs name priority classes that they do not hold, and the loader says so.
@pytest.mark.filterwarnings("ignore::berth.BerthWarning")
@pytest.mark.parametrize("name", SETS)
def test_verdicts_are_those_of_kube_scheduler(name):
    compared = 0
    for line in Path(FOLDER, f"{name}.jsonl").read_text().splitlines():
        scenario = json.loads(line)
        scheduler = berth.Scheduler(
            scenario["config"], ties="first-name", node_search="all"
        )
        scheduler.load(scenario["list"])
        for verdict in scenario["verdicts"]:
            if verdict["wraps"] or verdict["error"]:
                break
            if verdict["pod"] in scenario["replaced"]:
                if verdict["chosen"]:
                    assert scheduler.schedule(verdict["pod"]).node == verdict["chosen"]
                continue
            record = scheduler.explain(verdict["pod"]).to_dict()
            want = expected(verdict, record)
            where = f"{scenario['name']} {verdict['pod']}"
            assert {key: record.get(key) for key in want} == want, where
            evaluation = scheduler.evaluate(verdict["pod"])
            assert evaluation.node == verdict["chosen"], where
            assert evaluation.feasible.sum() == verdict["feasible"], where
            placed = scheduler.schedule(verdict["pod"])
            assert placed.node == verdict["chosen"], where
            assert placed.volumes == verdict["volumes"], where
            compared += 1
    assert compared == SETS[name]
