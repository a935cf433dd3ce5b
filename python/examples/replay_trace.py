"""How full is a cluster over the time of a trace, under two ways to score?

    python replay_trace.py NODES.csv PODS.csv COUNT    # openb's files, and how many of the pods
"""

import sys
from typing import Any

import berth
from berth import trace

MOST_ALLOCATED: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": "nvidia.com/gpu", "weight": 1}],
                        }
                    },
                }
            ]
        }
    ],
}


def main(nodes: str, pods: str, count: int) -> None:
    whole = trace.openb(nodes, pods)
    part = trace.Trace(whole.nodes, whole.pods[:count])
    for name, config in (("default", None), ("MostAllocated", MOST_ALLOCATED)):
        course = trace.replay(part, berth.Scheduler(config))
        used = len(set(course.nodes.values()))
        longest = max(course.waits.values())
        print(
            f"{name}: {len(course.nodes)} pods on {used} nodes, {max(course.running)} at a time, "
            f"longest wait {longest:.0f} s"
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
