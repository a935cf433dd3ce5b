"""Shares of GPUs as a plugin from outside: which devices have room, and which node is the best.

Kubernetes counts a node's GPUs and not how much of each is free. Here a pod asks for thousandths of one
GPU, or for whole ones, by the resource `GPU_MILLI`; the plugin's filter looks into the devices, and
its score is one of the policies of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing
Workloads with Fragmentation Gradient Descent", USENIX ATC 2023.

    plugin = GpuSharing(Devices(..), FGD(Fragmentation(..)))
    plugin.register(scheduler)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import berth

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

GPU_MILLI = "example.com/gpu-milli"
WHOLE = 1000
SCORE_MAX = 100
# What the policies measure nodes by: the largest node of the cluster.
CPU_MOST, GPU_MOST = 128_000, 8 * WHOLE


class Request(NamedTuple):
    """What a pod asks for: `milli` of each of so many GPUs of one of these models (none: of any)."""

    cpu: int
    milli: int
    gpus: int
    models: str

    @property
    def is_share(self) -> bool:
        return 0 < self.milli < WHOLE

    def accepts(self, model: str) -> bool:
        return not self.models or model in self.models.split("|")


@dataclass
class Devices:
    """What is free, a row a node in the scheduler's order; a node's missing devices have nothing."""

    cpu: Ints
    gpu: Ints
    count: Ints

    def fits(self, request: Request, rows: Ints) -> Bools:
        """Whether enough devices have enough."""
        fitting = self.gpu[rows] >= request.milli
        fits: Bools = fitting.sum(-1) >= request.gpus
        return fits

    def tightest(self, request: Request, rows: Ints) -> Ints:
        """Of each node the fullest device that has the share."""
        free = self.gpu[rows]
        tightest: Ints = np.where(free >= request.milli, free, WHOLE + 1).argmin(-1)
        return tightest

    def take(self, request: Request, row: int, device: int) -> None:
        """A pod is on the node: a share is this device's, whole GPUs are the first idle ones."""
        if request.is_share:
            self.gpu[row, device] -= request.milli
        elif request.gpus:
            self.gpu[row, np.flatnonzero(self.gpu[row] == WHOLE)[: request.gpus]] = 0
        self.cpu[row] -= request.cpu


class Fragmentation:
    """How much of what is free is of no use to the typical pods of a workload.

    For a typical pod that a node cannot take, and for one without GPU, all of the node's free share is
    fragment; for any other, what is free on devices that have less than the pod asks of one. `whole`
    times the mean over typical pods is kept, in whole numbers: equal states compare equal.
    """

    def __init__(self, pods: Iterable[Request], models: Sequence[str], part: float = 0.95) -> None:
        """The most frequent requests count, until `part` of the pods is covered."""
        counts: dict[Request, int] = {}
        for pod in pods:
            counts[pod] = counts.get(pod, 0) + 1
        ranked = sorted(counts.items(), key=lambda own: (own[1], own[0]), reverse=True)
        least, total = part * sum(counts.values()), 0
        typical: list[tuple[Request, int]] = []
        for request, count in ranked:
            if total >= least:
                break
            typical.append((request, count))
            total += count
        self.whole = total
        kinds = sorted({(own.milli, own.gpus) for own, _ in typical if own.gpus})
        self._milli = np.array([milli for milli, _ in kinds])
        self._count = np.array([count for _, count in kinds])
        self._cpu = np.array(sorted({own.cpu for own, _ in typical}))
        names = sorted(set(models))
        self._model = np.array([names.index(model) for model in models])
        # By model, CPU step and kind: the pods that want the kind and have enough with that CPU.
        self._pods = np.zeros((len(names), len(self._cpu) + 1, len(kinds)), np.int64)
        for request, count in typical:
            if not request.gpus:
                continue
            kind = kinds.index((request.milli, request.gpus))
            step = int(np.searchsorted(self._cpu, request.cpu)) + 1
            for at, model in enumerate(names):
                if request.accepts(model):
                    self._pods[at, step:, kind] += count

    def of(self, rows: Ints, cpu: Ints, gpu: Ints) -> Ints:
        """`whole` times the fragment of nodes if so much were free on them."""
        free = gpu.T[:, :, None]
        fitting = free >= self._milli
        usable = np.where(fitting, free, 0).sum(0)
        usable *= fitting.sum(0) >= self._count
        pods = self._pods[self._model[rows], np.searchsorted(self._cpu, cpu, "right")]
        amount: Ints = gpu.sum(-1) * self.whole - np.einsum("rk,rk->r", pods, usable)
        return amount


class Policy:
    """All nodes alike, and the fullest device. The others say more."""

    def score(self, devices: Devices, request: Request, rows: Ints) -> Ints:
        """0 to 100 of each node that has room; of others anything."""
        return np.zeros(len(rows), np.int64)

    def device(self, devices: Devices, request: Request, row: int) -> int:
        """The one that a share gets on its node."""
        return int(devices.tightest(request, np.array([row]))[0])

    def normalize(self, scores: Ints, feasible: Bools) -> Ints:
        """The scores when the feasible nodes are known."""
        return scores

    def placed(self, devices: Devices, request: Request, row: int) -> None:
        """A pod is on the node."""


class Random(Policy):
    """Any node, and of a share any device."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def normalize(self, scores: Ints, feasible: Bools) -> Ints:
        drawn = np.zeros_like(scores)
        drawn[self._random.choice(np.flatnonzero(feasible))] = SCORE_MAX
        return drawn

    def device(self, devices: Devices, request: Request, row: int) -> int:
        return int(self._random.choice(np.flatnonzero(devices.gpu[row] >= request.milli)))


class DotProd(Policy):
    """The node whose free room is least like the request."""

    def score(self, devices: Devices, request: Request, rows: Ints) -> Ints:
        cpu = devices.cpu[rows] / CPU_MOST * (request.cpu / CPU_MOST)
        gpu = devices.gpu[rows].sum(-1) / GPU_MOST * (request.gpus * request.milli / GPU_MOST)
        return _whole(SCORE_MAX * (1 - (cpu + gpu) / 2))


class BestFit(Policy):
    """The node that has the least left afterwards."""

    def score(self, devices: Devices, request: Request, rows: Ints) -> Ints:
        cpu = (devices.cpu[rows] - request.cpu) / CPU_MOST
        gpu = (devices.gpu[rows].sum(-1) - request.gpus * request.milli) / GPU_MOST
        return _whole((1 - (cpu * 0.5 + gpu * 0.5)) * SCORE_MAX)

    def normalize(self, scores: Ints, feasible: Bools) -> Ints:
        there = scores[feasible]
        least, most = int(there.min()), int(there.max())
        if least == most:
            return np.zeros_like(scores)
        scaled: Ints = (scores - least) * SCORE_MAX // (most - least)
        return np.where(feasible, scaled, 0)


class GpuPacking(Policy):
    """Devices in use before idle ones, nodes in use before idle ones."""

    def score(self, devices: Devices, request: Request, rows: Ints) -> Ints:
        if not request.gpus:
            return np.zeros(len(rows), np.int64)
        free = devices.gpu[rows]
        idle = (free == WHOLE).sum(-1)
        if request.is_share:
            tightest = np.where(free >= request.milli, free, WHOLE).min(-1)
            shared = np.maximum(SCORE_MAX - tightest * 100 // WHOLE // 10, SCORE_MAX // 2)
            used = np.where(tightest == WHOLE, SCORE_MAX // 2 - 1, shared)
        else:
            used = np.full(len(rows), max(SCORE_MAX // 2 - request.gpus, SCORE_MAX // 3))
        unused = np.maximum(SCORE_MAX // 3 - idle, idle)
        return np.where(idle == devices.count[rows], unused, used)


class GpuClustering(Policy):
    """Pods of one kind (shares, one GPU, two, ..) together."""

    def __init__(self, nodes: int) -> None:
        # By node the pods of each kind: shares, then by how many GPUs they ask for.
        self._pods = np.zeros((nodes, 1 + GPU_MOST // WHOLE), np.int64)

    def score(self, devices: Devices, request: Request, rows: Ints) -> Ints:
        if not request.gpus:
            return np.zeros(len(rows), np.int64)
        there = self._pods[rows] > 0
        own, kinds = there[:, self._kind(request)], there.sum(-1)
        quarters = np.select([own & (kinds == 1), own, kinds == 0], [3, 2, 1], 0)
        full = SCORE_MAX // 4 * (GPU_MOST - devices.gpu[rows].sum(-1)) // GPU_MOST
        scores: Ints = full + quarters * (SCORE_MAX // 4)
        return scores

    def placed(self, devices: Devices, request: Request, row: int) -> None:
        if request.gpus:
            self._pods[row, self._kind(request)] += 1

    @staticmethod
    def _kind(request: Request) -> int:
        return 0 if request.is_share else request.gpus


class FGD(Policy):
    """The node, and the device, whose fragmentation grows least."""

    def __init__(self, fragmentation: Fragmentation, devices: Devices) -> None:
        self._fragmentation = fragmentation
        # By node, as things are.
        self._fragments = fragmentation.of(np.arange(len(devices.cpu)), devices.cpu, devices.gpu)

    def score(self, devices: Devices, request: Request, rows: Ints) -> Ints:
        scores = np.zeros(len(rows), np.int64)
        room = devices.fits(request, rows) & (devices.cpu[rows] >= request.cpu)
        at = np.flatnonzero(room)
        if len(at):
            owner, given, _ = self._tried(devices, request, rows[at])
            np.maximum.at(scores, at[owner], given)
        return scores

    def device(self, devices: Devices, request: Request, row: int) -> int:
        _, given, device = self._tried(devices, request, np.array([row]))
        return int(device[given.argmax()])

    def placed(self, devices: Devices, request: Request, row: int) -> None:
        rows = np.array([row])
        self._fragments[row] = self._fragmentation.of(rows, devices.cpu[rows], devices.gpu[rows])[0]

    def _tried(self, devices: Devices, request: Request, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Each way to place the pod: the node's place in `rows`, the score, the device of a share."""
        free = devices.gpu[rows]
        if request.is_share:
            # Of devices that are equally free the first stands for all.
            tried = free >= request.milli
            for at in range(1, free.shape[1]):
                tried[:, at] &= (free[:, :at] != free[:, at, None]).all(-1)
            owner, device = np.nonzero(tried)
            left = free[owner]
            left[np.arange(len(owner)), device] -= request.milli
        else:
            owner, device = np.arange(len(rows)), np.zeros(len(rows), np.int64)
            idle = free == WHOLE
            left = np.where(idle & (idle.cumsum(-1) <= request.gpus), 0, free)
        nodes = rows[owner]
        after = self._fragmentation.of(nodes, devices.cpu[nodes] - request.cpu, left)
        less = (self._fragments[nodes] - after) / (self._fragmentation.whole * WHOLE)
        return owner, _whole(SCORE_MAX / (1 + np.exp(-less))), device


def _whole(scores: NDArray[np.float64]) -> Ints:
    """Cut, as the paper's program cuts."""
    return scores.astype(np.int64)


class GpuSharing:
    """The plugin: its filter, its score, and what pods take of the devices."""

    def __init__(self, devices: Devices, policy: Policy) -> None:
        self._devices = devices
        self._policy = policy
        self._requests: dict[int, Request] = {}
        # The rows that pods came to, in that order, and by request what was known of all nodes when
        # the journal was so long: whether they fit, and their scores.
        self._journal: list[int] = []
        self._known: dict[Request, tuple[int, Bools, Ints]] = {}

    def register(self, scheduler: berth.Scheduler) -> None:
        scheduler.add_filter("GpuSharing", self.filter, "node(s) had no GPU with enough left")
        scheduler.add_score(type(self._policy).__name__, self.score)

    def expect(self, pod_class: int, request: Request) -> None:
        """Pods of this class ask for this."""
        self._requests[pod_class] = request

    def filter(self, pod_class: int, feasible: Bools) -> Bools:
        return self._look(self._requests[pod_class])[0]

    def score(self, pod_class: int, feasible: Bools) -> Ints:
        _, scores = self._look(self._requests[pod_class])
        return self._policy.normalize(scores, feasible)

    def place(self, request: Request, row: int) -> None:
        """A pod is on the node: it takes its part of the devices."""
        devices, policy = self._devices, self._policy
        devices.take(request, row, policy.device(devices, request, row) if request.is_share else 0)
        policy.placed(devices, request, row)
        self._journal.append(row)

    def _look(self, request: Request) -> tuple[Bools, Ints]:
        """Of all nodes; made anew only of those that pods came to since the last look."""
        devices, policy, now = self._devices, self._policy, len(self._journal)
        if request not in self._known:
            rows = np.arange(len(devices.cpu))
            fits, scores = devices.fits(request, rows), policy.score(devices, request, rows)
        else:
            seen, fits, scores = self._known[request]
            if seen < now:
                rows = np.array(list(set(self._journal[seen:])))
                fits[rows] = devices.fits(request, rows)
                scores[rows] = policy.score(devices, request, rows)
        self._known[request] = now, fits, scores
        return fits, scores
