"""kube-scheduler's decision as a library: where would a pod go, and why not elsewhere?

>>> import berth
>>> scheduler = berth.Scheduler()
>>> scheduler.load("cluster.json")  # kubectl get nodes,pods -A -o json
>>> for decision in scheduler.schedule_all():
...     print(decision.pod, decision.node or decision.message)
"""

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
]
