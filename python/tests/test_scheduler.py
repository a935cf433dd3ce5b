"""The class as a user meets it."""

import datetime
import json
import threading

import numpy as np
import pytest
from objects import node, pod

import berth

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "mine"}],
}
CONFIG_YAML = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mine
"""


def small() -> berth.Scheduler:
    scheduler = berth.Scheduler()
    scheduler.load([node("n1", "4"), node("n2", "8"), node("n3", "1")])
    return scheduler


def test_pods_are_placed_by_priority_and_told_why_not():
    scheduler = small()
    pending = [pod("a", "3"), pod("big", "9"), pod("b", "6", priority=5)]
    assert scheduler.load(pending) == ["web/a", "web/big", "web/b"]
    decisions = scheduler.schedule_all()
    assert [(d.pod, d.node) for d in decisions] == [
        ("web/b", "n2"),
        ("web/a", "n1"),
        ("web/big", None),
    ]
    last = decisions[-1]
    assert last.result == "unschedulable"
    assert last.message == (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: "
        "0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    assert last.to_dict()["rejected"]["n1"] == ["NodeResourcesFit", "Insufficient cpu"]
    assert repr(last) == "<Decision web/big: unschedulable>"
    # What fits nowhere waits for an event that may help.
    assert scheduler.schedule_all() == []
    scheduler.apply(node("n4", "16"))
    assert [(d.pod, d.node, d.attempt) for d in scheduler.schedule_all()] == [
        ("web/big", "n4", 2)
    ]


def test_an_evaluation_has_every_node_and_changes_nothing():
    scheduler = small()
    scheduler.load([pod("a", "2")])
    before = scheduler.state_hash()
    for question in ("web/a", pod("other", "2"), json.dumps(pod("other", "2"))):
        evaluation = scheduler.evaluate(question)
        assert evaluation.nodes == ["n1", "n2", "n3"]
        assert evaluation.feasible.dtype == np.bool_
        assert evaluation.feasible.tolist() == [True, True, False]
        assert evaluation.scores.dtype == np.int64
        record = scheduler.explain(question).to_dict()
        totals = {score["node"]: score["total"] for score in record["scores"]}
        assert dict(zip(evaluation.nodes, evaluation.scores.tolist())) == {**totals, "n3": 0}
        assert evaluation.node == record["node"]
    assert scheduler.state_hash() == before
    assert scheduler.schedule("web/a").node == scheduler.evaluate("web/a").node


def test_arrays_cannot_be_written_to():
    evaluation = small().evaluate(pod("a"))
    for array in (evaluation.feasible, evaluation.scores):
        with pytest.raises(ValueError):
            array[0] = 0


def test_the_only_feasible_node_is_not_scored():
    evaluation = small().evaluate(pod("a", "7"))
    assert evaluation.feasible.tolist() == [False, True, False]
    assert evaluation.scores.tolist() == [0, 0, 0]
    assert evaluation.node == "n2"


@pytest.mark.parametrize("form", ["dict", "yaml", "json", "path", "str path"])
def test_a_configuration_comes_in_any_form(form, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG_YAML)
    forms = {
        "dict": CONFIG,
        "yaml": CONFIG_YAML,
        "json": json.dumps(CONFIG),
        "path": path,
        "str path": str(path),
    }
    scheduler = berth.Scheduler(forms[form])
    scheduler.load([node("n1"), pod("a", schedulerName="mine")])
    assert [d.to_dict()["profile"] for d in scheduler.schedule_all()] == ["mine"]


@pytest.mark.parametrize("form", ["list", "List", "json", "yaml", "two documents"])
def test_a_cluster_comes_in_any_form(form, tmp_path):
    objects = [node("n1"), pod("a")]
    whole = {"apiVersion": "v1", "kind": "List", "items": objects}
    forms = {
        "json": json.dumps(whole),
        # JSON is YAML, after a line that is no JSON.
        "yaml": "---\n" + json.dumps(whole),
        "two documents": "".join("---\n" + json.dumps(item) + "\n" for item in objects),
    }
    scheduler = berth.Scheduler()
    if form in forms:
        path = tmp_path / "cluster"
        path.write_text(forms[form])
        assert scheduler.load(path) == ["web/a"]
    else:
        assert scheduler.load(objects if form == "list" else whole) == ["web/a"]
    assert [d.node for d in scheduler.schedule_all()] == ["n1"]


def test_dicts_as_yaml_libraries_make_them_are_read():
    stamped = pod("a")
    stamped["metadata"]["creationTimestamp"] = datetime.datetime(2026, 1, 1)
    assert small().load((stamped,)) == ["web/a"]


def test_changes_are_upserts_unless_they_say_what_they_are():
    scheduler = small()
    scheduler.apply(pod("a", "9"))
    assert scheduler.schedule("web/a").node is None
    scheduler.apply(pod("a", "2"))
    assert scheduler.schedule("web/a").node == "n2"
    scheduler.apply(pod("a"), "DELETED")
    with pytest.raises(berth.NotFoundError, match='there is no pod "web/a"'):
        scheduler.schedule("web/a")
    with pytest.raises(berth.NotFoundError, match="Pod web/a"):
        scheduler.apply(pod("a"), "MODIFIED")
    with pytest.raises(berth.AlreadyExistsError, match="Node n1"):
        scheduler.apply(node("n1"), "ADDED")
    with pytest.raises(ValueError, match="change"):
        scheduler.apply(node("n1"), "added")


def test_all_that_is_wrong_with_a_load_is_told_and_nothing_goes_in():
    scheduler = small()
    before = scheduler.state_hash()
    bad = [node("n4"), pod("a", "2 cores"), pod("b", "-1"), {"kind": "Pod"}]
    with pytest.raises(berth.ObjectError) as caught:
        scheduler.load(bad)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert any(line.startswith("Pod web/b: spec.containers[0].resources") for line in lines)
    assert scheduler.state_hash() == before
    assert isinstance(caught.value, berth.BerthError)


def test_what_is_left_out_is_warned_of():
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    with pytest.warns(berth.BerthWarning, match="Secret 1"):
        small().load([secret])
    with pytest.warns(berth.BerthWarning, match="PriorityClass"):
        small().apply(pod("a", priorityClassName="absent"))


def test_what_python_hands_in_is_checked():
    scheduler = small()
    itself: dict = {}
    itself["itself"] = itself
    with pytest.raises(ValueError, match="deeper"):
        scheduler.load(itself)
    for wrong in ({1: "x"}, {"a": object()}, [{"a": {1, 2}}]):
        with pytest.raises(TypeError, match="expected what JSON has"):
            scheduler.load(wrong)
    with pytest.raises(berth.ObjectError, match="No such file"):
        scheduler.load("no/such/file.json")
    with pytest.raises(berth.ObjectError, match="line 1"):
        scheduler.load("{")
    with pytest.raises(berth.ConfigError, match="profil"):
        berth.Scheduler({**CONFIG, "profil": []})
    with pytest.raises(berth.ConfigError):
        berth.Scheduler({**CONFIG, "parallelism": -1})
    for argument in ("fidelity", "ties", "node_search"):
        with pytest.raises(ValueError, match=argument):
            berth.Scheduler(**{argument: "x"})


def test_capacities_are_kept_to():
    scheduler = berth.Scheduler(capacities={"nodes": 1, "pods": 1})
    with pytest.raises(berth.CapacityError, match="nodes"):
        scheduler.load([node("n1"), node("n2")])
    scheduler.load([node("n1"), pod("a")])
    with pytest.raises(berth.CapacityError, match="pods"):
        scheduler.apply(pod("b"))
    with pytest.raises(berth.CapacityError):
        berth.Scheduler(capacities={"nodes": 10**9, "pods": 1})
    with pytest.raises(ValueError, match="pods"):
        berth.Scheduler(capacities={"nodes": 1})


def test_ties_and_seed_are_heard():
    def places(**options):
        scheduler = berth.Scheduler(**options)
        scheduler.load([node(f"n{n}") for n in range(9)])
        scheduler.load([pod(f"p{n}") for n in range(9)])
        return [decision.node for decision in scheduler.schedule_all()]

    assert places(ties="first-name") == [f"n{n}" for n in range(9)]
    assert places(ties="random", seed=1) == places(ties="random", seed=1)
    assert places(ties="random", seed=1) != places(ties="random", seed=2)


def test_threads_take_turns():
    scheduler = small()
    scheduler.load([pod(f"p{n}", "10m") for n in range(200)])
    answers = []

    def ask(number):
        for n in range(number, 200, 4):
            answers.append(scheduler.schedule(f"web/p{n}").node)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 200
    assert None not in answers
