"""What would another node change? A what-if is taken back at the end of its block.

    python what_if.py FILE...    # such as: kubectl get nodes,pods -A -o json
"""

import sys

import berth

LABELS = {"kubernetes.io/os": "linux", "node-role.kubernetes.io/worker": ""}


def waiting(scheduler: berth.Scheduler) -> list[str]:
    """The pods that are on no node."""
    pods = scheduler.pods.to_dicts()
    return [f"{pod['namespace']}/{pod['name']}" for pod in pods if pod["node"] is None]


def main(files: list[str]) -> None:
    scheduler = berth.Scheduler()
    for file in files:
        scheduler.load(file)
    scheduler.schedule_all()
    before = waiting(scheduler)
    print(f"{len(before)} pods wait")
    for cores in (4, 16, 64):
        with scheduler.fork():
            scheduler.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": "another", "labels": LABELS},
                    "status": {
                        "allocatable": {"cpu": str(cores), "memory": "256Gi", "pods": "110"}
                    },
                }
            )
            # An event wakes pods, whose backoff is over after ten seconds at most.
            scheduler.schedule_all()
            placed = sorted(set(before) - set(waiting(scheduler)))
            print(f"with {cores} cores more {len(placed)} of them run: {', '.join(placed)}")
    assert waiting(scheduler) == before


if __name__ == "__main__":
    main(sys.argv[1:])
