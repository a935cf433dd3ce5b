"""Placement as an environment for reinforcement learning; needs gymnasium (`berth[gym]`).

    env = berth.gym.PlacementEnv(nodes, pods)
    observation, info = env.reset(seed=1)
    action = env.action_space.sample(info["action_mask"])

An episode places the pods one after the other on the same empty cluster. The action is a node, by its
place in `env.nodes`; `info["action_mask"]` has 1 where kube-scheduler's filters let the pod run. A pod
that is sent elsewhere is not placed, and one that fits nowhere is left out whatever the action.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import frames
from ._berth import Clusters, Evaluation, Scheduler

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as _error:
    raise ImportError("berth.gym needs gymnasium: pip install 'berth[gym]'") from _error

__all__ = ["Placement", "PlacementEnv", "VectorPlacementEnv"]

Pods = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Placement:
    """One step: the pod, what the nodes said of it, and the node that it was bound to, if any."""

    scheduler: Scheduler
    pod: dict[str, Any]
    evaluation: Evaluation
    node: str | None


def _reward(placement: Placement) -> float:
    """1 for a pod that was placed, -1 for one that fits somewhere and was not."""
    if placement.node is not None:
        return 1.0
    return -1.0 if placement.evaluation.feasible.any() else 0.0


class PlacementEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One cluster.

    nodes, pods: lists of dicts, or data frames as `berth.frames` reads them. `pods` may be a function
        that gets a numpy Generator and gives the pods of an episode; otherwise each has the same ones.
    config: the KubeSchedulerConfiguration, whose filters make the mask.
    reward: what a `Placement` is worth.
    observation: what is seen of the scheduler and the next pod (None at the end), a float array of
        one shape; without it a row of five numbers a node: the parts of cpu, memory and pods that are
        requested, whether the pod fits there, and its score of 100 per plugin weight as a part of the
        best one.
    max_nodes: how many actions and rows there are; those without a node are never feasible.
    seed: of the first reset without one.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        nodes: Any,
        pods: Any,
        config: Any = None,
        reward: Callable[[Placement], float] | None = None,
        observation: Callable[[Scheduler, dict[str, Any] | None], Any] | None = None,
        max_nodes: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._scheduler = Scheduler(config)
        self._scheduler.load(_objects(nodes, "Node"))
        self.nodes: list[str] = list(self._scheduler.nodes["name"])
        self._size = len(self.nodes) if max_nodes is None else max_nodes
        if not 0 < len(self.nodes) <= self._size:
            raise ValueError(f"{len(self.nodes)} nodes: expected 1 to max_nodes ({self._size})")
        self._draw: Callable[[np.random.Generator], Pods] | None
        self._draw = pods if callable(pods) else None
        self._pods: Pods = [] if callable(pods) else _objects(pods, "Pod")
        self._reward = reward or _reward
        self._observation = observation
        self._seed = seed
        self._at = 0
        self._evaluation: Evaluation | None = None
        self._fork = self._scheduler.fork()
        self.action_space = gymnasium.spaces.Discrete(self._size)
        seen = self._observe()
        low, high = (0.0, 1.0) if observation is None else (-np.inf, np.inf)
        self.observation_space = gymnasium.spaces.Box(low, high, seen.shape, np.float32)

    @property
    def scheduler(self) -> Scheduler:
        """The cluster as it is; look, and leave it as it is."""
        return self._scheduler

    @property
    def pod(self) -> dict[str, Any] | None:
        """The pod that is to be placed next."""
        return self._pods[self._at] if self._at < len(self._pods) else None

    def action_mask(self) -> NDArray[np.int8]:
        """1 for each node that the pod fits on."""
        mask = np.zeros(self._size, np.int8)
        if self._evaluation is not None:
            mask[: len(self.nodes)] = self._evaluation.feasible
        return mask

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """The empty cluster, and the first pod."""
        if seed is None:
            seed, self._seed = self._seed, None
        super().reset(seed=seed)
        self._fork.rollback()
        self._fork = self._scheduler.fork()
        if self._draw is not None:
            self._pods = _objects(self._draw(self.np_random), "Pod")
        self._at = 0
        self._judge()
        return self._observe(), self._info()

    def step(
        self, action: np.int64 | int
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Binds the pod to the node, if it fits there, and goes on to the next."""
        pod, evaluation = self.pod, self._evaluation
        if pod is None or evaluation is None:
            raise gymnasium.error.ResetNeeded("the episode is over, or was not begun: call reset")
        at = int(action)
        if not 0 <= at < self._size:
            raise ValueError(f"action: expected 0 to {self._size - 1}, not {at}")
        node = None
        if at < len(self.nodes) and evaluation.feasible[at]:
            node = self.nodes[at]
            self._scheduler.apply(pod, "ADDED")
            self._scheduler.bind(_name(pod), node)
        reward = float(self._reward(Placement(self._scheduler, pod, evaluation, node)))
        self._at += 1
        self._judge()
        return self._observe(), reward, self.pod is None, False, self._info()

    def _judge(self) -> None:
        pod = self.pod
        self._evaluation = None if pod is None else self._scheduler.evaluate(pod)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_mask()}

    def _observe(self) -> NDArray[np.float32]:
        if self._observation is not None:
            return np.asarray(self._observation(self._scheduler, self.pod), np.float32)
        table = self._scheduler.nodes
        seen = np.zeros((self._size, 5), np.float32)
        rows = seen[: len(self.nodes)]
        for column, (part, whole) in enumerate(
            (
                ("cpu_requested", "cpu_allocatable"),
                ("memory_requested", "memory_allocatable"),
                ("pods", "pods_allocatable"),
            )
        ):
            rows[:, column] = table[part] / np.maximum(table[whole], 1)
        if self._evaluation is not None:
            rows[:, 3] = self._evaluation.feasible
            scores = self._evaluation.scores
            rows[:, 4] = scores / max(int(scores.max(initial=0)), 1)
        return np.clip(seen, 0.0, 1.0)


class VectorPlacementEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """Many clusters of the same kind, stepped in one call. The arguments are those of `PlacementEnv`.

    A cluster whose episode is over begins anew at the next step, whose action it ignores.
    `info["action_mask"]` has a row a cluster. Fast with a list of pods and without a reward or an
    observation of one's own; otherwise each cluster is a `PlacementEnv`.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int,
        nodes: Any,
        pods: Any,
        config: Any = None,
        reward: Callable[[Placement], float] | None = None,
        observation: Callable[[Scheduler, dict[str, Any] | None], Any] | None = None,
        max_nodes: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.num_envs = num_envs
        nodes = _objects(nodes, "Node")
        pods = pods if callable(pods) else _objects(pods, "Pod")
        self._seed = seed
        first = PlacementEnv(nodes, pods, config, reward, observation, max_nodes)
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self._clusters: Clusters | None = None
        self.envs: list[PlacementEnv] = []
        if reward is None and observation is None and not callable(pods):
            # Tables that are no larger than they must be stay in the processor's caches.
            room = {"nodes": max(len(nodes), 1), "pods": max(len(pods), 1)}
            scheduler = Scheduler(config, room, grow=True)
            names = scheduler.load(nodes + pods)
            # Not so if some of them do not wait for a node.
            if names and len(names) == len(pods):
                self._clusters = Clusters(scheduler, names, num_envs, first._size)
        if self._clusters is None:
            again = (nodes, pods, config, reward, observation, max_nodes)
            self.envs = [first, *(PlacementEnv(*again) for _ in range(num_envs - 1))]
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """All clusters anew; of one seed the first gets it, the next the one after it, and so on."""
        if self._clusters is not None:
            seen, _, _, mask = self._clusters.reset()
            return seen, {"action_mask": mask}
        if seed is None:
            seed, self._seed = self._seed, None
        if seed is None or isinstance(seed, int):
            seeds: Sequence[int | None]
            seeds = [None if seed is None else seed + at for at in range(self.num_envs)]
        else:
            seeds = seed
        pairs = zip(self.envs, seeds, strict=True)
        each = [env.reset(seed=own, options=options)[0] for env, own in pairs]
        self._over[:] = False
        return np.stack(each), self._info()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]
    ]:
        """A step of every cluster."""
        if self._clusters is not None:
            seen, gained, ended, mask = self._clusters.step(np.asarray(actions, np.int64))
            return seen, gained, ended, np.zeros_like(ended), {"action_mask": mask}
        each = []
        rewards = np.zeros(self.num_envs)
        over = np.zeros(self.num_envs, np.bool_)
        for at, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            if self._over[at]:
                each.append(env.reset()[0])
                continue
            one, rewards[at], over[at], _, _ = env.step(action)
            each.append(one)
        self._over = over
        return np.stack(each), rewards, over.copy(), np.zeros_like(over), self._info()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.stack([env.action_mask() for env in self.envs])}


def _objects(given: Any, kind: str) -> list[dict[str, Any]]:
    if isinstance(given, list | tuple):
        return list(given)
    return frames.objects(given, kind)


def _name(pod: dict[str, Any]) -> str:
    metadata = pod["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"
