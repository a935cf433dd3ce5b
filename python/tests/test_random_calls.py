"""Calls with anything for arguments end in an answer, or in an error of the stated kinds.

`BERTH_CALLS` says how many (20,000), `BERTH_SEED` of which seed. One that fails prints its seed, and
the calls that led to it.
"""

import math
import os
import random
import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest
from objects import node, pod

import berth
from berth import frames, gym

CALLS = int(os.environ.get("BERTH_CALLS", "20000"))
SEED = int(os.environ.get("BERTH_SEED", random.randrange(1 << 32)))
# Calls on one scheduler before there is another.
LIFE = 200
ORDINARY = (berth.BerthError, TypeError, ValueError)


class Hostile:
    """Raises whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(name)

    def __len__(self) -> int:
        raise TypeError("no length")

    def __str__(self) -> str:
        raise ValueError("no text")


NAMES = ["n1", "n2", "n3", "web/a", "web/b", "a", "web/", "/", "", "n1\0", "\ud800", "é" * 300]
WORDS = ["ADDED", "MODIFIED", "DELETED", "none", "full", "exact", "best", "heap", "first", "Node"]
ODD = [
    None, True, 0, -1, 1, 3, 1 << 31, 1 << 32, 1 << 64, -(1 << 63), 0.5, -0.0, 1e308, math.nan,
    math.inf, b"", b"berth", bytearray(9), (), [], {}, {1: 2}, {"kind": 1}, [[]], [None], {"a": {}},
    object(), Hostile(), np.array([1.5]), np.zeros(3, np.int64), np.zeros(3, bool), np.int64(7),
    complex(1), range(3), int, "{", "[]", '{"kind": "Pod"}', "kind: Node\n", "/nowhere.json",
]  # fmt: skip


class Caller:
    """Draws calls of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.told: deque[str] = deque(maxlen=12)
        self.scheduler = berth.Scheduler()
        self.forks: list[berth.Fork] = []

    def value(self) -> Any:
        draw = self.random.random()
        if draw < 0.3:
            return self.object()
        return self.random.choice([NAMES, WORDS, ODD][int(draw * 10) % 3])

    def object(self) -> Any:
        """A node or a pod, whole or with a part of it replaced."""
        cpu = self.random.choice(["1", "4", "250m", "1e9", "-1", "x", 2])
        name = self.random.choice(NAMES[:7])
        made = (node if self.random.random() < 0.4 else pod)(name.removeprefix("web/"), cpu)
        if self.random.random() < 0.4:
            part: Any = made
            while isinstance(part, dict) and part:
                key = self.random.choice(list(part))
                if self.random.random() < 0.4 or not isinstance(part[key], dict):
                    part[key] = self.random.choice(ODD)
                    break
                part = part[key]
        return made

    def plugin(self) -> Any:
        given = self.random.choice(ODD)
        return self.random.choice([lambda _, feasible: feasible, lambda *_: given, Hostile(), given])

    def arguments(self, known: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Those that fit, some of them replaced, left out or doubled."""
        draw = self.random.random()
        given = [self.value() if self.random.random() < 0.25 else own for own in known]
        if draw < 0.05:
            given = given[:-1]
        elif draw < 0.1:
            given.append(self.value())
        words = {}
        if draw > 0.9:
            names = ["kind", "change", "detail", "bind", "wait", "until", "weight", "seed", "path"]
            words[self.random.choice(names)] = self.value()
        return given, words

    def call(self) -> None:
        scheduler, name = self.scheduler, self.random.choice(NAMES)
        seconds = self.random.choice([0.0, 0.1, 5, -1.0, math.nan])
        own = self.random.choice
        calls: list[tuple[Any, list[Any]]] = [
            (scheduler.load, [[self.object(), self.object()]]),
            (scheduler.apply, [self.object(), own([None, "ADDED", "MODIFIED", "DELETED"])]),
            (scheduler.apply, [self.object()]),
            (scheduler.schedule, [name]),
            (scheduler.schedule_one, []),
            (scheduler.schedule_all, []),
            (scheduler.bound, [name, own(["bound", "rejected", "failed", "unknown"])]),
            (scheduler.bind, [name, own(NAMES[:4])]),
            (scheduler.evaluate, [own([name, self.object()])]),
            (scheduler.explain, [own([name, self.object()])]),
            (scheduler.add_filter, [name, self.plugin(), "for a reason"]),
            (scheduler.add_score, [name, self.plugin(), own([1, 0, 1 << 31])]),
            (scheduler.class_of, [name]),
            (scheduler.advance, [seconds]),
            (scheduler.commit, []),
            (scheduler.rollback, []),
            (scheduler.state_hash, []),
            (scheduler.load_state, [own([b"", b"BERTH", "/nowhere"])]),
            (self.fork, []),
            (self.saved, []),
            (self.column, [own(["name", "cpu_requested", name])]),
            (scheduler.pods.to_dicts, []),
            (scheduler.decisions.to_dicts, []),
            (frames.nodes, [[{"name": name, "cpu": own([1, 2.5, "4", None, -1])}]]),
            (frames.pods, [[{"name": name, "priority": own([1, 2.0, None]), "cpu": 1}]]),
            (berth.Scheduler, [own([None, {}, {"kind": "KubeSchedulerConfiguration"}])]),
            (gym.PlacementEnv, [[node("n1")], [self.object()]]),
        ]
        if self.forks:
            fork = self.random.choice(self.forks)
            calls += [(fork.commit, []), (fork.rollback, []), (fork.__enter__, [])]
        function, known = self.random.choice(calls)
        given, words = self.arguments(known)
        name = getattr(function, "__qualname__", str(function))
        self.told.append(f"{name}(*{_shown(given)}, **{_shown(words)})")
        try:
            function(*given, **words)
        except ORDINARY as error:
            assert not isinstance(error, berth.InternalError), error

    def column(self, name: Any) -> None:
        try:
            self.scheduler.nodes[name]
        except KeyError:  # as of a dict
            assert name not in self.scheduler.nodes.columns

    def fork(self) -> None:
        self.forks.append(self.scheduler.fork())

    def saved(self) -> None:
        self.scheduler.load_state(self.scheduler.save_state())


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ORDINARY:
        return "?"


def test_any_call_ends_in_an_answer_or_an_ordinary_error():
    pytest.importorskip("gymnasium")
    print(f"seed {SEED}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for life in range(max(CALLS // LIFE, 1)):
            caller = Caller(SEED + life)
            for _ in range(LIFE):
                try:
                    caller.call()
                except BaseException as error:
                    calls = "\n".join(caller.told)
                    raise AssertionError(f"seed {SEED + life}: {error!r}\n{calls}") from error
