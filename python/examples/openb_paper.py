"""Repeats an experiment: GPUs of the openb cluster under six policies, and under kube-scheduler's own.

    python openb_paper.py [--workloads default ..] [--policies FGD ..] [--seeds 10] [--out FOLDER]

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent", USENIX ATC 2023: 1,213 empty nodes get pods in random order until those that came ask for 130 % of
the GPUs. Pods stay, and one that fits nowhere is dropped. Compares with the published seeds the GPUs
that are allocated at the end and those that are fragmented when 80 % have been asked for, both in percent
of all GPUs, and fails if a mean is too far off.

Writes openb_paper.csv (a row a run; those that are in it already are not made again), a table and a figure;
needs matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import functools
import math
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gpu_sharing as gpu
import numpy as np
from matplotlib import pyplot

import berth

DATA = Path(__file__).parents[2] / "tests/data/openb"
# The authors' program was run with these.
SEEDS = range(42, 52)
ARRIVED_MOST = 1.3
PAPER = ("Random", "DotProd", "GpuClustering", "GpuPacking", "BestFit", "FGD")
KUBE = ("default", "MostAllocated")
# Of both measures, where they are compared: percent of all GPUs that have been asked for.
MEASURES = (("alloc", 130), ("frag", 80))
STEPS = range(10, 131, 10)


class Asked(NamedTuple):
    """A line of a pod list."""

    request: gpu.Request
    memory_mib: int


@dataclass(frozen=True)
class Node:
    name: str
    cpu: int
    memory_mib: int
    gpus: int
    model: str


@functools.cache
def read_nodes() -> list[Node]:
    with open(DATA / "nodes/openb_node_list_gpu_node.csv", encoding="utf-8") as file:
        return [
            Node(
                row["sn"],
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["gpu"]),
                row["model"],
            )
            for row in csv.DictReader(file)
        ]


@functools.cache
def read_pods(workload: str) -> list[Asked]:
    """By name."""
    with open(DATA / f"pods/openb_pod_list_{workload}.csv", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    return [
        Asked(
            gpu.Request(
                int(row["cpu_milli"]),
                int(row["gpu_milli"]),
                int(row["num_gpu"]),
                row.get("gpu_spec") or "",
            ),
            int(row["memory_mib"]),
        )
        for row in rows
    ]


def arrivals(pods: Sequence[Asked], most: float, random: np.random.Generator) -> list[Asked]:
    """All pods in random order, and then more of them, or less, until they ask for that much."""
    order = [pods[int(at)] for at in random.permutation(len(pods))]
    total = sum(pod.request.milli * pod.request.gpus for pod in pods)
    if total > most:
        while total > most:
            gone = order.pop(int(random.integers(len(order)))).request
            total -= gone.milli * gone.gpus
        return order
    while True:
        pod = pods[int(random.integers(len(pods)))]
        # One device's part is looked at, as in the authors' program.
        if total + pod.request.milli > most:
            return order
        total += pod.request.milli * pod.request.gpus
        order.append(pod)


def profile(policy: str) -> dict[str, Any]:
    """The configuration: of the paper's policies none of kube-scheduler's scores."""
    own: dict[str, Any] = {}
    if policy in PAPER:
        own["plugins"] = {"score": {"disabled": [{"name": "*"}]}}
    elif policy == "MostAllocated":
        names = ("cpu", "memory", gpu.GPU_MILLI)
        strategy = {
            "type": "MostAllocated",
            "resources": [{"name": name, "weight": 1} for name in names],
        }
        args = {"scoringStrategy": strategy}
        own["pluginConfig"] = [{"name": "NodeResourcesFit", "args": args}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [own],
    }


def policy_of(
    name: str,
    fragmentation: gpu.Fragmentation,
    devices: gpu.Devices,
    random: np.random.Generator,
) -> gpu.Policy:
    match name:
        case "Random":
            return gpu.Random(random)
        case "DotProd":
            return gpu.DotProd()
        case "GpuClustering":
            return gpu.GpuClustering(len(devices.cpu))
        case "GpuPacking":
            return gpu.GpuPacking()
        case "BestFit":
            return gpu.BestFit()
        case "FGD":
            return gpu.FGD(fragmentation, devices)
    return gpu.Policy()


def node_object(node: Node) -> dict[str, Any]:
    amounts = {
        "cpu": f"{node.cpu}m",
        "memory": f"{node.memory_mib}Mi",
        "pods": "1001",
        gpu.GPU_MILLI: str(node.gpus * gpu.WHOLE),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": {"gpu-model": node.model}},
        "status": {"allocatable": amounts},
    }


def pod_object(pod: Asked, at: int) -> dict[str, Any]:
    name = {"name": f"pod-{at}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": name, "spec": pod_spec(pod)}


@functools.cache
def pod_spec(pod: Asked) -> dict[str, Any]:
    cpu, milli, gpus, models = pod.request
    requests = {"cpu": f"{cpu}m", "memory": f"{pod.memory_mib}Mi"}
    if gpus:
        requests[gpu.GPU_MILLI] = str(milli * gpus)
    resources = {"requests": requests, "limits": requests}
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": resources}]}
    if models:
        term = {"key": "gpu-model", "operator": "In", "values": models.split("|")}
        terms = [{"matchExpressions": [term]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    return spec


# A run, or a published one: "alloc_80" and "frag_80" are the means of both after each pod with
# which 80 % of all GPUs had been asked for; "seconds" are ours alone.
Row = dict[str, float]
# By workload, policy and seed.
Rows = dict[tuple[str, str, int], Row]


@dataclass(frozen=True)
class Course:
    """A run: its row, and the node of each pod."""

    row: Row
    nodes: list[str | None]


def run(workload: str, policy: str, seed: int, first: int | None = None) -> Course:
    """One seed of one policy; only the first so many pods, if told so."""
    began = time.perf_counter()
    random = np.random.default_rng(seed)
    listed, pods = read_nodes(), read_pods(workload)
    all_milli = sum(node.gpus for node in listed) * gpu.WHOLE
    order = arrivals(pods, ARRIVED_MOST * all_milli, random)[:first]
    # Of equal nodes the first is taken: which one that is changes from run to run.
    nodes = [listed[int(at)] for at in random.permutation(len(listed))]
    gpus = np.array([node.gpus for node in nodes])
    models = [node.model for node in nodes]
    devices = gpu.Devices(
        np.array([node.cpu for node in nodes]),
        np.where(np.arange(gpu.GPU_MOST // gpu.WHOLE) < gpus[:, None], gpu.WHOLE, 0),
        gpus,
    )
    fragmentation = gpu.Fragmentation((pod.request for pod in pods), models)
    plugin = gpu.GpuSharing(devices, policy_of(policy, fragmentation, devices, random))
    scheduler = berth.Scheduler(
        profile(policy), ties="first", node_search="all", preemption=False
    )
    plugin.register(scheduler)
    # All pods wait in the order in which they come.
    objects = [node_object(node) for node in nodes]
    names = scheduler.load(objects + [pod_object(pod, at) for at, pod in enumerate(order)])
    for name, pod in zip(names, order, strict=True):
        plugin.expect(scheduler.class_of(name), pod.request)
    row_of = {node.name: row for row, node in enumerate(nodes)}
    fragments = np.zeros(len(nodes), np.int64)
    stale = set(range(len(nodes)))

    def fragmented() -> float:
        """Percent of all GPUs."""
        rows = np.array(sorted(stale), np.int64)
        fragments[rows] = fragmentation.of(rows, devices.cpu[rows], devices.gpu[rows])
        stale.clear()
        return 100 * int(fragments.sum()) / (fragmentation.whole * all_milli)

    arrived, used = 0, 0
    values: dict[str, list[float]] = defaultdict(list)
    chosen = []
    for at, pod in enumerate(order):
        request, wanted = pod.request, pod.request.milli * pod.request.gpus
        decision = scheduler.schedule_one(detail="none")
        assert decision is not None and decision.pod == names[at]
        chosen.append(decision.node)
        arrived += wanted
        if decision.node is None:
            scheduler.apply(pod_object(pod, at), "DELETED")
        else:
            row = row_of[decision.node]
            plugin.place(request, row)
            stale.add(row)
            used += wanted
        percent = round(100 * arrived / all_milli)
        if percent in STEPS:
            values[f"alloc_{percent}"].append(100 * used / all_milli)
            values[f"frag_{percent}"].append(fragmented())
    means = {name: sum(own) / len(own) for name, own in values.items()}
    return Course({"seconds": time.perf_counter() - began, **means}, chosen)


def read_rows(path: Path) -> Rows:
    with open(path, encoding="utf-8") as file:
        rows = {}
        for row in csv.DictReader(file):
            key = row.pop("workload"), row.pop("policy"), int(row.pop("seed"))
            rows[key] = {name: float(cell) for name, cell in row.items()}
    return rows


def make_rows(path: Path, keys: Sequence[tuple[str, str, int]], processes: int | None) -> Rows:
    """Those of the file, and those that it lacks, which it gets."""
    names = ["seconds", *(f"{measure}_{at}" for measure, _ in MEASURES for at in STEPS)]
    if path.exists():
        rows = read_rows(path)
    else:
        rows = {}
        head = ",".join(["workload", "policy", "seed", *names])
        path.write_text(head + "\n", encoding="utf-8")
    absent = [key for key in keys if key not in rows]
    with multiprocessing.Pool(processes) as pool, open(path, "a", encoding="utf-8") as file:
        for key, row in pool.imap_unordered(_row, absent):
            rows[key] = row
            cells = [f"{row[name]:.2f}" for name in names]
            print(*key, *cells, sep=",", file=file, flush=True)
    return {key: rows[key] for key in keys}


def _row(key: tuple[str, str, int]) -> tuple[tuple[str, str, int], Row]:
    return key, run(*key).row


def seeds_of(rows: Rows, workload: str, policy: str, name: str) -> list[float]:
    return [row[name] for (*key, _), row in rows.items() if key == [workload, policy]]


class Cell(NamedTuple):
    """A mean over seeds beside the published one, if there is one."""

    mean: float
    published: float | None
    allowed: float

    @property
    def is_met(self) -> bool:
        return self.published is None or abs(self.mean - self.published) <= self.allowed

    def __str__(self) -> str:
        if self.published is None:
            return f"{self.mean:.2f} |  | "
        off = f"{self.mean - self.published:+.2f} of {self.allowed:.2f}"
        return f"{self.mean:.2f} | {self.published:.2f} | {off}{'' if self.is_met else ' MISSED'}"


def compare(ours: Sequence[float], published: Sequence[float]) -> Cell:
    """Two means of ten seeds differ by chance: three times what the published seeds make likely is
    allowed, and 0.6 in any case."""
    mean = float(np.mean(ours))
    if not published:
        return Cell(mean, None, math.inf)
    deviation = float(np.std(published, ddof=1))
    allowed = max(0.6, 3 * deviation * math.sqrt(2 / len(published)))
    return Cell(mean, float(np.mean(published)), allowed)


def table(cells: dict[tuple[str, str], list[Cell]]) -> Iterable[str]:
    heads = ("allocated at 130 %", "published", "off by", "fragmented at 80 %", "published", "off by")
    yield "| workload | policy | " + " | ".join(heads) + " |"
    yield "| --- | --- |" + " --- |" * len(heads)
    for (workload, policy), row in cells.items():
        yield f"| {workload} | {policy} | {' | '.join(map(str, row))} |"


def draw(ours: Rows, published: Rows, workload: str, policies: Sequence[str], path: Path) -> None:
    """From 10 % to 130 %: lines are ours, dots are published."""
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for ax, (measure, _), what in zip(axes, MEASURES, ("allocated", "fragmented"), strict=True):
        for color, policy in enumerate(policies):
            for rows, style in ((ours, "-"), (published, "o")):
                steps = [seeds_of(rows, workload, policy, f"{measure}_{at}") for at in STEPS]
                if steps[0]:
                    means = [np.mean(seeds) for seeds in steps]
                    label = policy if rows is ours else None
                    ax.plot(STEPS, means, style, color=f"C{color}", label=label, markersize=3)
        ax.set(xlabel=f"GPUs asked for (%), workload {workload}", ylabel=f"GPUs {what} (%)")
    axes[1].legend()
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Repeats the openb experiment.")
    lists = sorted((DATA / "pods").glob("openb_pod_list_*.csv"))
    every = [path.stem.removeprefix("openb_pod_list_") for path in lists]
    every.sort(key=lambda name: name != "default")
    parser.add_argument("--workloads", nargs="+", choices=every, default=every)
    parser.add_argument("--policies", nargs="+", choices=PAPER + KUBE, default=PAPER + KUBE)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="of ten")
    parser.add_argument("--processes", type=int, help="at a time; as many as processors")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of what is written")
    told = parser.parse_args(arguments)

    pairs = [(workload, policy) for workload in told.workloads for policy in told.policies]
    seeds = SEEDS[: told.seeds]
    told.out.mkdir(parents=True, exist_ok=True)
    keys = [(*pair, seed) for seed in seeds for pair in pairs]
    ours = make_rows(told.out / "openb_paper.csv", keys, told.processes)
    published = read_rows(DATA / "results/published.csv")

    def cell(pair: tuple[str, str], name: str) -> Cell:
        return compare(seeds_of(ours, *pair, name), seeds_of(published, *pair, name))

    cells = {pair: [cell(pair, f"{measure}_{at}") for measure, at in MEASURES] for pair in pairs}
    seconds = [row["seconds"] for row in ours.values()]
    lines = [*table(cells), ""]
    lines.append(f"{len(ours)} runs, {np.mean(seconds):.1f} s each, {max(seconds):.1f} s at most.")
    compared = [cell for row in cells.values() for cell in row if cell.published is not None]
    is_met = all(cell.is_met for cell in compared)
    if compared:
        off = float(np.mean([cell.mean - (cell.published or 0) for cell in compared]))
        is_met &= abs(off) <= 0.15
        missed = sum(not cell.is_met for cell in compared)
        lines.append(f"{len(compared)} published means, {missed} missed; off by {off:+.2f} on average.")
    print("\n".join(lines))
    (told.out / "openb_paper.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    draw(ours, published, told.workloads[0], told.policies, told.out / "openb_paper.png")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
