"""What is there, as Arrow, numpy arrays and dicts."""

import numpy as np
import pytest
from objects import node, pod

import berth


@pytest.fixture
def scheduler() -> berth.Scheduler:
    own = berth.Scheduler()
    gpu = node("n2", "2500m")
    gpu["status"]["allocatable"]["nvidia.com/gpu"] = "4"
    gpu["spec"] = {"unschedulable": True}
    own.load([node("n1"), gpu, pod("a", "1500m"), pod("b", "9", priority=3)])
    own.schedule_all()
    return own


def test_nodes_have_their_sums(scheduler):
    nodes = scheduler.nodes
    assert len(nodes) == 2
    assert nodes.columns == [
        "name", "pods", "pods_allocatable", "unschedulable",
        "cpu_requested", "cpu_allocatable", "memory_requested", "memory_allocatable",
        "nvidia.com/gpu_requested", "nvidia.com/gpu_allocatable",
    ]  # fmt: skip
    assert nodes.to_dicts()[0] == {
        "name": "n1", "pods": 1, "pods_allocatable": 110, "unschedulable": False,
        "cpu_requested": 1500, "cpu_allocatable": 4000,
        "memory_requested": 0, "memory_allocatable": 8 << 30,
        "nvidia.com/gpu_requested": 0, "nvidia.com/gpu_allocatable": 0,
    }  # fmt: skip
    assert nodes["nvidia.com/gpu_allocatable"].tolist() == [0, 4]
    assert nodes["unschedulable"].tolist() == [False, True]
    with pytest.raises(KeyError, match="cpu_requested"):
        nodes["cpu"]


def test_pods_and_decisions_tell_where_and_why(scheduler):
    assert [list(row.values()) for row in scheduler.pods.to_dicts()] == [
        ["web", "a", "n1", "bound", 0, 1, None],
        ["web", "b", None, "unschedulable", 3, 1, None],
    ]
    rows = scheduler.decisions.to_dicts()
    assert [(row["pod"], row["result"], row["node"]) for row in rows] == [
        ("web/b", "unschedulable", None),
        ("web/a", "scheduled", "n1"),
    ]
    assert rows[0]["message"].startswith("0/2 nodes are available: ")
    assert rows[1]["message"] is None
    assert scheduler.decisions["seconds"].tolist() == [0.002, 0.003]


def test_a_table_is_of_its_time_and_cannot_be_written_to(scheduler):
    before = scheduler.nodes
    scheduler.apply(pod("c", "2"))
    scheduler.schedule_all()
    assert before["cpu_requested"].tolist() == [1500, 0]
    assert scheduler.nodes["cpu_requested"].tolist() == [3500, 0]
    for column in ("name", "pods", "unschedulable"):
        with pytest.raises(ValueError):
            before[column][0] = before[column][1]
    assert before["name"].dtype == object
    assert before["pods"].dtype == np.int64
    assert scheduler.decisions["seconds"].dtype == np.float64


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
@pytest.mark.parametrize("name", ["nodes", "pods", "decisions"])
def test_frames_read_a_table_as_it_is(scheduler, library, name):
    frames = pytest.importorskip(library)
    for own in (scheduler, berth.Scheduler()):
        table = getattr(own, name)
        if library == "pyarrow":
            read = frames.table(table).to_pylist()
            batch = frames.record_batch(table)
            assert batch.to_pylist() == read
            assert batch.schema == frames.schema(table)
        elif library == "polars":
            read = frames.DataFrame(table).to_dicts()
        else:
            pytest.importorskip("pyarrow")
            if not hasattr(frames.DataFrame, "from_arrow"):
                pytest.skip("pandas before 3")
            read = frames.DataFrame.from_arrow(table)
            read = read.astype(object).where(read.notna(), None).to_dict("records")
        assert read == table.to_dicts()


def test_notebooks_show_what_is_there(scheduler):
    scheduler.load([node(f"m{n}") for n in range(40)])
    html = scheduler._repr_html_()
    assert html.count("<tr>") == 21
    assert "42 nodes, 2 pods (1 waiting)" in html and "and 22 more rows" in html
    assert repr(scheduler) == f"<Scheduler: 42 nodes, 2 pods (1 waiting), {scheduler.now} s>"
    assert repr(scheduler.pods).startswith("<Table of 2 rows: namespace, name, node")
    html = scheduler.explain("web/b")._repr_html_()
    assert "<b>web/b</b>: 0/42 nodes are available" in html
    assert "<td>n1</td><td>NodeResourcesFit, Insufficient cpu</td>" in html
    html = scheduler.evaluate("web/b")._repr_html_()
    assert "<tr><td>n1</td><td>false</td><td>0</td></tr>" in html and "and 22 more rows" in html
    # Nothing of the input becomes HTML.
    odd = node("odd")
    odd["spec"] = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
    odd["status"]["allocatable"]["example.com/a"] = "1"
    scheduler.apply(odd)
    html = scheduler._repr_html_()
    assert html.count("<") == html.count(">") and "example.com/a_requested" in html
