"""Traces of clusters: pods with arrival and departure, replayed in virtual time.

    trace = berth.trace.openb("openb_node_list_gpu_node.csv", "openb_pod_list_default.csv")
    course = berth.trace.replay(trace, berth.Scheduler())

Any other trace comes as two data frames, see `of_frames`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, TypeVar

from . import frames
from ._berth import Decision, ObjectError, Scheduler

T = TypeVar("T")

__all__ = ["Arrival", "Course", "Trace", "of_frames", "openb", "replay"]

# Kubernetes has no shares of a GPU: a pod that asks for a share gets a whole one.
_GPU = "nvidia.com/gpu"
_GPU_MODEL = "gpu-model"


@dataclass(frozen=True)
class Arrival:
    """A pod, and when it comes and goes, in seconds; without a departure it stays."""

    pod: dict[str, Any]
    arrival: float
    departure: float | None = None


@dataclass(frozen=True)
class Trace:
    """Nodes that are there from the start, and pods that come and go."""

    nodes: list[dict[str, Any]]
    pods: list[Arrival]


@dataclass
class Course:
    """What came of a replay.

    `seconds`, `running`, `pending`, `cpu` and `memory` have an entry a sample, the last two the part of
    the nodes' allocatable that is requested. `waits` has the seconds from arrival to binding of each
    pod that was bound, `nodes` its node, `unplaced` the pods that left or were left without one.
    """

    seconds: list[float] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    waits: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    unplaced: list[str] = field(default_factory=list)


def openb(nodes: str | PathLike[str], pods: str | PathLike[str]) -> Trace:
    """The openb trace (Alibaba's GPU cluster) from its two CSV files.

    GPUs become `nvidia.com/gpu` and their type the label `gpu-model`, which pods with a `gpu_spec`
    require. Pods come at their creation time and go at their deletion time; the lists that have
    neither have all pods at 0, to stay.
    """
    return Trace(_each(nodes, _openb_node), _each(pods, _openb_pod))


def of_frames(nodes: Any, pods: Any) -> Trace:
    """A trace from data frames as `berth.frames` reads them; `pods` has beside its other columns
    `arrival` and, if pods leave, `departure`, in seconds."""
    arrivals = []
    for at, row in enumerate(frames.rows(pods)):
        times = [row.pop(column, None) for column in ("arrival", "departure")]
        arrival, departure = (None if time is None else float(time) for time in times)
        if arrival is None:
            raise ObjectError(f"row {at}: arrival: is required")
        (pod,) = frames.pods([row])
        arrivals.append(Arrival(pod, arrival, departure))
    return Trace(frames.nodes(nodes), arrivals)


def replay(trace: Trace, scheduler: Scheduler, *, every: float | None = None) -> Course:
    """Plays a trace through a scheduler, which may hold more; samples every so many seconds, or some 200
    times.

    Times of the trace count from the scheduler's present time. A pod leaves when the trace says so,
    placed or not; victims of preemptions are gone, as everywhere in this package.
    """
    events = _events(trace.pods)
    if every is None:
        every = max(events[-1][0] / 200, 1.0) if events else 1.0
    if not every > 0:
        raise ValueError(f"every: expected more than 0 seconds, not {every}")
    course = Course()
    start = scheduler.now
    scheduler.load(trace.nodes)
    names = [_name(arrival.pod) for arrival in trace.pods]
    came = {name: own.arrival for name, own in zip(names, trace.pods, strict=True)}
    there: set[str] = set()

    def settle(seconds: float) -> None:
        for decision in scheduler.schedule_all(until=start + seconds, detail="none"):
            _note(course, decision, came, start)
            there.difference_update(decision.victims)

    sampled = 0.0
    for time, is_arrival, number in events:
        while sampled <= time:
            settle(sampled)
            _sample(course, scheduler, sampled)
            sampled += every
        settle(time)
        name, pod = names[number], trace.pods[number].pod
        if is_arrival:
            scheduler.apply(pod, "ADDED")
            there.add(name)
        elif name in there:
            there.remove(name)
            scheduler.apply(pod, "DELETED")
            if name not in course.nodes:
                course.unplaced.append(name)
    for decision in scheduler.schedule_all(detail="none"):
        _note(course, decision, came, start)
        there.difference_update(decision.victims)
    _sample(course, scheduler, scheduler.now - start)
    course.unplaced.extend(name for name in names if name in there and name not in course.nodes)
    return course


def _events(pods: Sequence[Arrival]) -> list[tuple[float, bool, int]]:
    """Time, whether a pod comes, and which; of one time departures come first, but for pods that
    leave as they come."""
    events: list[tuple[float, int, int]] = []
    for number, own in enumerate(pods):
        events.append((own.arrival, 1, number))
        if own.departure is not None:
            lasts = own.departure > own.arrival
            events.append((max(own.departure, own.arrival), 0 if lasts else 2, number))
    return [(time, order == 1, number) for time, order, number in sorted(events)]


def _note(course: Course, decision: Decision, came: dict[str, float], start: float) -> None:
    if decision.node is not None and decision.pod in came:
        course.nodes[decision.pod] = decision.node
        wait = decision.seconds - start - came[decision.pod]
        course.waits[decision.pod] = max(wait, 0.0)


def _sample(course: Course, scheduler: Scheduler, seconds: float) -> None:
    nodes, states = scheduler.nodes, scheduler.pods["state"]
    running = int((states == "bound").sum())
    course.seconds.append(seconds)
    course.running.append(running)
    course.pending.append(len(states) - running)
    for name, part in (("cpu", course.cpu), ("memory", course.memory)):
        if len(nodes) == 0:
            part.append(0.0)
            continue
        requested = int(nodes[f"{name}_requested"].sum())
        allocatable = int(nodes[f"{name}_allocatable"].sum())
        part.append(requested / allocatable if allocatable else 0.0)


def _name(pod: dict[str, Any]) -> str:
    metadata = pod["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def _each(path: str | PathLike[str], read: Callable[[dict[str, str]], T]) -> list[T]:
    """What `read` makes of each line of a CSV file."""
    made = []
    with open(path, encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            try:
                made.append(read(row))
            except (KeyError, TypeError, ValueError) as error:
                raise ObjectError(f"{path}: line {line}: {error!r}") from error
    return made


def _openb_node(row: dict[str, str]) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": row["sn"],
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    amounts = {
        "cpu": row["cpu_milli"] + "m",
        "memory": row["memory_mib"] + "Mi",
        # As in the published experiment.
        "pods": "1001",
        "ephemeral-storage": "100Gi",
    }
    if int(row["gpu"]) > 0:
        labels[_GPU_MODEL] = row["model"]
        amounts[_GPU] = row["gpu"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _openb_pod(row: dict[str, str]) -> Arrival:
    amounts = {"cpu": row["cpu_milli"] + "m", "memory": row["memory_mib"] + "Mi"}
    resources = {"requests": amounts}
    if int(row["num_gpu"]) > 0:
        amounts[_GPU] = row["num_gpu"]
        resources["limits"] = {_GPU: row["num_gpu"]}
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": "example.invalid/x", "resources": resources}]
    }
    if row.get("gpu_spec"):
        models = {"key": _GPU_MODEL, "operator": "In", "values": row["gpu_spec"].split("|")}
        required = {"nodeSelectorTerms": [{"matchExpressions": [models]}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    metadata: dict[str, Any] = {"name": row["name"], "namespace": "default", "uid": row["name"]}
    if row.get("qos"):
        metadata["labels"] = {"qos": row["qos"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    creation, deletion = row.get("creation_time"), row.get("deletion_time")
    return Arrival(pod, float(creation or 0), float(deletion) if deletion else None)
