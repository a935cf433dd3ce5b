"""An agent that learns where to put pods, by policy gradient over many clusters; needs gymnasium.

Small pods come first and large ones, which need a node of their own, at last: who spreads the small ones
has no room left. The agent sees of each node what `berth.gym` shows and has one weight for each of these
numbers; nodes that kube-scheduler's filters refuse are never drawn.
"""

from typing import Any

import numpy as np

from berth import gym

NODES, SMALL, LARGE = 8, 24, 5
# Numbers that are seen of a node.
SEEN = 5
CLUSTERS, EPISODES, RATE = 32, 40, 100.0


def node(name: str) -> dict[str, Any]:
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": allocatable},
    }


def pod(name: str, cpu: int) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


def episode(env: gym.VectorPlacementEnv, weights: Any, random: np.random.Generator) -> Any:
    """Of each cluster the pods that were placed, and how the odds of what was done rise with the weights."""
    seen, info = env.reset()
    placed, rise = np.zeros(CLUSTERS), np.zeros((CLUSTERS, len(weights)))
    rows = np.arange(CLUSTERS)
    for _ in range(SMALL + LARGE):
        fits = info["action_mask"] > 0
        # A pod that fits nowhere is left out, whatever the action.
        fits[~fits.any(1)] = True
        odds = np.where(fits, np.exp(seen @ weights), 0.0)
        odds /= odds.sum(1, keepdims=True)
        drawn = (odds.cumsum(1) > random.random((CLUSTERS, 1))).argmax(1)
        rise += seen[rows, drawn] - (odds[:, :, None] * seen).sum(1)
        seen, rewards, _, _, info = env.step(drawn)
        assert rewards.min() >= 0, "a node was drawn that the pod does not fit on"
        placed += rewards
    return placed, rise


def main() -> None:
    pods = [pod(f"small-{at}", 1) for at in range(SMALL)]
    pods += [pod(f"large-{at}", 8) for at in range(LARGE)]
    env = gym.VectorPlacementEnv(CLUSTERS, [node(f"n{at}") for at in range(NODES)], pods)
    random = np.random.default_rng(1)
    weights = np.zeros(SEEN)
    for number in range(EPISODES + 1):
        placed, rise = episode(env, weights, random)
        if number % (EPISODES // 4) == 0:
            print(f"after {number} episodes: {placed.mean():.1f} of {len(pods)} pods are placed")
        better = (placed - placed.mean()) / (placed.std() + 1e-6)
        weights += RATE * (better[:, None] * rise).mean(0) / (SMALL + LARGE)


if __name__ == "__main__":
    main()
