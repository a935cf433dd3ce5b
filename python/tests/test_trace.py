"""Traces in virtual time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from objects import node, pod

import berth
from berth import trace

DATA = Path(__file__).parents[2] / "tests/data"
NODES = DATA / "openb/nodes/openb_node_list_gpu_node.csv"


def arrivals(*rows):
    return [trace.Arrival(pod(name, cpu), *times) for name, cpu, *times in rows]


def test_pods_come_wait_and_go():
    course = trace.replay(
        trace.Trace(
            [node("n1", "4")],
            arrivals(
                ("a", "3", 0, 50), ("b", "2", 10, 100), ("c", "1", 20), ("d", "4", 30, 40),
                ("e", "1", 60, 60),
            ),
        ),
        berth.Scheduler(),
        every=25,
    )  # fmt: skip
    assert course.nodes == dict.fromkeys(("web/a", "web/b", "web/c", "web/e"), "n1")
    assert course.unplaced == ["web/d"]
    assert course.waits["web/a"] < 1 and course.waits["web/c"] < 1
    assert 40 <= course.waits["web/b"] < 41, "until a leaves"
    assert course.seconds[:-1] == [0, 25, 50, 75, 100]
    assert course.running[:-1] == [0, 2, 2, 2, 2]
    assert course.pending[:-1] == [0, 1, 1, 0, 0]
    assert course.cpu[:-1] == [0, 1, 1, 0.75, 0.75]
    assert course.cpu[-1] == 0.25


def test_a_trace_may_be_two_frames():
    polars = pytest.importorskip("polars")
    nodes = polars.DataFrame({"name": ["n1"], "cpu": [4], "memory": [1 << 30]})
    pods = polars.DataFrame(
        {"name": ["a", "b"], "cpu": [1.5, 1], "arrival": [5, 1], "departure": [None, 9]}
    )
    read = trace.of_frames(nodes, pods)
    assert [(own.arrival, own.departure) for own in read.pods] == [(5, None), (1, 9)]
    course = trace.replay(read, berth.Scheduler())
    assert course.running[-1] == 1
    with pytest.raises(berth.ObjectError, match="row 0: arrival"):
        trace.of_frames(nodes, pods.drop("arrival"))
    with pytest.raises(ValueError, match="every"):
        trace.replay(read, berth.Scheduler(), every=0)


@pytest.mark.parametrize("pods", ["default", "gpuspec33", "multigpu20"])
def test_openb_is_read_as_the_test_data_s_own_program_does(pods):
    path = DATA / f"openb/pods/openb_pod_list_{pods}.csv"
    program = [sys.executable, DATA / "openb.py", NODES, path]
    told = subprocess.run(program, capture_output=True, check=True).stdout
    items = json.loads(told)["items"]
    read = trace.openb(NODES, path)
    assert read.nodes + [own.pod for own in read.pods] == items
    assert len(read.pods) > 8000


def test_the_first_part_of_openb_is_placed():
    whole = trace.openb(NODES, DATA / "openb/pods/openb_pod_list_default.csv")
    assert [(own.arrival, own.departure) for own in whole.pods[:2]] == [
        (0, 12537496),
        (427061, 12902960),
    ]
    part = trace.Trace(whole.nodes, whole.pods[:400])
    course = trace.replay(part, berth.Scheduler())
    assert len(course.nodes) == 400 and course.unplaced == []
    assert course.running[-1] == sum(own.departure is None for own in part.pods)
    assert max(course.running) > 20


def test_a_file_that_is_no_trace_is_refused(tmp_path):
    file = tmp_path / "nodes.csv"
    file.write_text("sn,cpu_milli\nn1,4000\n")
    with pytest.raises(berth.ObjectError, match="nodes.csv: line 2: KeyError"):
        trace.openb(file, file)
