"""Pictures of clusters; needs matplotlib (`berth[plot]`). Each function gives the Axes it drew on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._berth import Scheduler

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .trace import Course

__all__ = ["fragmentation", "scores", "utilisation"]


def utilisation(course: Course, ax: Axes | None = None) -> Axes:
    """Requested parts of cpu and memory over a replay's time."""
    ax = _axes(ax)
    for name, part in (("cpu", course.cpu), ("memory", course.memory)):
        ax.plot(course.seconds, [100 * own for own in part], label=name)
    ax.set(xlabel="virtual seconds", ylabel="requested (%)", ylim=(0, 105))
    ax.legend()
    return ax


def fragmentation(scheduler: Scheduler, pod: dict[str, Any], ax: Axes | None = None) -> Axes:
    """Free cpu and memory of every node; filled where the pod still fits. What is free on the others
    is of no use to it."""
    ax = _axes(ax)
    table, feasible = scheduler.nodes, scheduler.evaluate(pod).feasible
    free = {
        name: table[f"{name}_allocatable"] - table[f"{name}_requested"]
        for name in ("cpu", "memory")
    }
    cores, gibibytes = free["cpu"] / 1000, free["memory"] / 2**30
    ax.scatter(cores[feasible], gibibytes[feasible], label="fits")
    ax.scatter(cores[~feasible], gibibytes[~feasible], facecolors="none", edgecolors="C1",
               label="does not fit")  # fmt: skip
    lost = cores[~feasible].sum() / cores.sum() if cores.sum() > 0 else 0.0
    ax.set(xlabel="free cores", ylabel="free memory (GiB)")
    ax.set_title(f"{100 * lost:.0f} % of the free cores are on nodes that the pod does not fit on")
    ax.legend()
    return ax


def scores(scheduler: Scheduler, pods: list[Any], ax: Axes | None = None) -> Axes:
    """A heat map of what every node scores for each of the pods, given as for `evaluate`; white where
    one does not fit."""
    ax = _axes(ax)
    names, rows, nodes = [], [], list[str]()
    for pod in pods:
        evaluation = scheduler.evaluate(pod)
        nodes = evaluation.nodes
        names.append(pod if isinstance(pod, str) else pod["metadata"]["name"])
        rows.append(np.where(evaluation.feasible, evaluation.scores.astype(float), np.nan))
    if rows and nodes:
        image = ax.imshow(np.stack(rows), aspect="auto")
        ax.figure.colorbar(image, ax=ax, label="score")
    ax.set_xticks(range(len(nodes)), nodes, rotation=90)
    ax.set_yticks(range(len(names)), names)
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]
