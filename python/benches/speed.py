"""How fast Python is: an evaluation, and steps of many clusters, beside a scheduler in pure Python.

    pip install edgerun-skippy-core==0.1.1 && python speed.py

The Rust side of the first figure is `cargo bench --bench evaluate`, on the same nodes and pods. Figures of one
run compare with each other, and with little else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import berth
from berth import gym

NODES, EVALUATIONS = 5000, 2000
CLUSTERS, CLUSTER_NODES, CLUSTER_PODS = 64, 100, 400


def node(at: int) -> dict[str, Any]:
    """Of 8 to 20 cores, with a zone."""
    amounts = {"cpu": str(8 + at % 13), "memory": f"{32 + at % 7 * 16}Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{at}", "labels": {"zone": f"z{at % 3}"}},
        "status": {"allocatable": amounts},
    }


def pod(at: int) -> dict[str, Any]:
    """Of 0.1 to 3.1 cores, in 31 kinds."""
    requests = {"cpu": f"{100 + at % 31 * 100}m", "memory": f"{256 + at % 31 * 64}Mi"}
    container = {"name": "main", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{at}"},
        "spec": {"containers": [container]},
    }


def best_of(rounds: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(rounds))


def evaluation() -> None:
    scheduler = berth.Scheduler(fidelity="best")
    scheduler.load([node(at) for at in range(NODES)])
    names = scheduler.load([pod(at) for at in range(NODES)])
    scheduler.schedule_all(detail="none")
    names = names[: EVALUATIONS]

    def measure() -> float:
        began = time.process_time()
        for name in names:
            told = scheduler.evaluate(name)
            told.feasible, told.scores
        return (time.process_time() - began) / len(names) * 1e6

    first = scheduler.evaluate(names[0])
    print(
        f"evaluate: {best_of(5, measure):.1f} us over {NODES} nodes, read as two arrays "
        f"({first.feasible.sum()} feasible, scores sum up to {first.scores.sum()})"
    )


def clusters() -> float:
    many = gym.VectorPlacementEnv(
        CLUSTERS,
        [node(at) for at in range(CLUSTER_NODES)],
        [pod(at) for at in range(CLUSTER_PODS)],
    )
    actions = np.zeros((CLUSTER_PODS, CLUSTERS), np.int64)
    actions += np.arange(CLUSTER_PODS)[:, None] * 7 + np.arange(CLUSTERS) * 3
    actions %= CLUSTER_NODES

    def measure() -> float:
        many.reset()
        placed = 0.0
        began = time.process_time()
        for row in actions:
            _, rewards, _, _, _ = many.step(row)
            placed += float((rewards > 0).sum())
        seconds = time.process_time() - began
        assert placed > 0.9 * actions.size
        return seconds / actions.size

    step = best_of(5, measure)
    print(
        f"{CLUSTERS} clusters of {CLUSTER_NODES} nodes in one call: {1 / step:,.0f} steps a second, "
        f"{step * 1e6:.2f} us each, with observation, mask and reward; one thread"
    )
    return step


def single() -> float:
    env = gym.PlacementEnv(
        [node(at) for at in range(CLUSTER_NODES)], [pod(at) for at in range(CLUSTER_PODS)]
    )

    def measure() -> float:
        env.reset(seed=0)
        began = time.process_time()
        for at in range(CLUSTER_PODS):
            env.step(at * 7 % CLUSTER_NODES)
        return (time.process_time() - began) / CLUSTER_PODS

    step = best_of(3, measure)
    print(f"PlacementEnv, one cluster: {1 / step:,.0f} steps a second, {step * 1e6:.0f} us each")
    return step


def pure_python() -> float | None:
    """The same episode, pods placed where two plugins say, in skippy-core."""
    try:
        from skippy.core import clustercontext, model, predicates, priorities, scheduler
    except ImportError as error:
        print(f"skippy-core: not measured, {error}")
        return None

    class Context(clustercontext.ClusterContext):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.nodes = []
            for at in range(CLUSTER_NODES):
                room = (1000 * (8 + at % 13), (32 + at % 7 * 16) << 30)
                own = (model.Capacity(*room), model.Capacity(*room))
                self.nodes.append(model.Node(f"n{at}", *own))

        def list_nodes(self) -> list[Any]:
            return self.nodes

        def get_init_image_states(self) -> dict[str, Any]:
            return {"main:latest": model.ImageState({"amd64": 0})}

        def get_bandwidth_graph(self) -> dict[str, Any]:
            return {}

        def get_next_storage_node(self, node: Any) -> str:
            return ""

    def measure() -> float:
        own = scheduler.Scheduler(
            Context(),
            100,
            [predicates.PodFitsResourcesPred()],
            [(1.0, priorities.BalancedResourcePriority())],
        )
        pods = []
        for at in range(CLUSTER_PODS):
            requests = {"cpu": 100 + at % 31 * 100, "memory": (256 + at % 31 * 64) << 20}
            wanted = model.ResourceRequirements(requests)
            spec = model.PodSpec([model.Container("main:latest", wanted)])
            pods.append(model.Pod(f"p{at}", "default", spec))
        began = time.process_time()
        for each in pods:
            assert own.schedule(each).suggested_host is not None
        return (time.process_time() - began) / CLUSTER_PODS

    step = best_of(3, measure)
    print(
        f"skippy-core 0.1.1, one filter and one score: {1 / step:,.0f} pods a second, "
        f"{step * 1e6:.0f} us each"
    )
    return step


def main() -> None:
    evaluation()
    step = clusters()
    single()
    pure = pure_python()
    if pure is not None:
        print(f"a step of many clusters takes 1/{pure / step:,.0f} of that")


if __name__ == "__main__":
    main()
