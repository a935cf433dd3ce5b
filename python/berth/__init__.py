"""kube-scheduler's decision as a library: where would a pod go, and why not elsewhere?

>>> import berth
>>> scheduler = berth.Scheduler()
>>> scheduler.load("cluster.json")  # kubectl get nodes,pods -A -o json
>>> for decision in scheduler.schedule_all():
...     print(decision.pod, decision.node or decision.message)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from . import frames, trace
from ._berth import (
    AlreadyExistsError,
    BerthError,
    BerthWarning,
    CapacityError,
    ConfigError,
    Decision,
    Evaluation,
    Fork,
    InternalError,
    NotFoundError,
    ObjectError,
    Scheduler,
    StateError,
    Table,
    __version__,
)

__all__ = [
    "AlreadyExistsError",
    "BerthError",
    "BerthWarning",
    "CapacityError",
    "ConfigError",
    "Decision",
    "Evaluation",
    "Fork",
    "InternalError",
    "NotFoundError",
    "ObjectError",
    "Scheduler",
    "StateError",
    "Table",
    "__version__",
    "frames",
    "gym",
    "plot",
    "trace",
]

if TYPE_CHECKING:
    from . import gym, plot
else:

    def __getattr__(name):
        """The parts that need more than numpy, once they are asked for."""
        if name in ("gym", "plot"):
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
