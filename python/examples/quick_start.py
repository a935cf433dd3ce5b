"""Where do the waiting pods of a cluster go, and what keeps the others?

    python quick_start.py FILE...    # such as: kubectl get nodes,pods -A -o json
"""

import sys

import berth


def main(files: list[str]) -> None:
    scheduler = berth.Scheduler()
    for file in files:
        scheduler.load(file)
    for decision in scheduler.schedule_all():
        print(f"{decision.pod}: {decision.node or decision.message or decision.result}")

    # A question about a pod that is not there, with nothing changed.
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "what-if"},
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}]
        },
    }
    evaluation = scheduler.evaluate(pod)
    print(f"half a core fits on {evaluation.feasible.sum()} of {len(evaluation.nodes)} nodes")
    for node, refusal in scheduler.explain(pod).to_dict().get("rejected", {}).items():
        plugin, *reasons = refusal
        print(f"  not on {node}: {', '.join(reasons)} ({plugin})")


if __name__ == "__main__":
    main(sys.argv[1:])
