"""An agent that places pods at random among the nodes that they fit on; needs gymnasium."""

from typing import Any

import numpy as np

from berth import gym


def node(name: str, cpu: int) -> dict[str, Any]:
    allocatable = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": allocatable},
    }


def pods(random: np.random.Generator) -> list[dict[str, Any]]:
    """Forty pods of one to four cores."""
    cores = random.integers(1, 5, 40)
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{at}"},
            "spec": {
                "containers": [{"name": "main", "resources": {"requests": {"cpu": str(cpu)}}}]
            },
        }
        for at, cpu in enumerate(cores)
    ]


def main() -> None:
    env = gym.PlacementEnv([node(f"n{at}", 8 * (1 + at % 2)) for at in range(6)], pods)
    for seed in range(3):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        total, over = 0.0, False
        while not over:
            action = env.action_space.sample(info["action_mask"])
            _, reward, over, _, info = env.step(action)
            total += reward
        print(f"seed {seed}: {total:.0f} of 40 pods placed")


if __name__ == "__main__":
    main()
