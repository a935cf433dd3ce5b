"""Filters and scores of the user's own."""

import gc
import weakref

import numpy as np
import pytest
from objects import node, pod

import berth


def three() -> berth.Scheduler:
    scheduler = berth.Scheduler(ties="first-name")
    scheduler.load([node(name) for name in ("n1", "n2", "n3")])
    return scheduler


def test_a_filter_refuses_nodes_for_its_reason():
    scheduler = three()
    asked = []

    def licence(pod_class, feasible):
        asked.append((pod_class, feasible.tolist()))
        return np.array([False, True, False])

    scheduler.add_filter("Licence", licence, "node(s) had no licence")
    scheduler.load([pod("a"), pod("b", "5")])
    assert scheduler.schedule("web/a").node == "n2"
    assert asked == [(scheduler.class_of("web/a"), [True] * 3)]
    assert scheduler.evaluate(pod("c")).feasible.tolist() == [False, True, False]
    refused = scheduler.explain("web/a").to_dict()["rejected"]
    assert refused["n1"] == ["Licence", "node(s) had no licence"]
    # Where the other filters leave no node, nobody is asked.
    count = len(asked)
    assert "3 Insufficient cpu" in (scheduler.schedule("web/b").message or "")
    assert len(asked) == count


def test_a_score_counts_with_its_weight():
    scheduler = three()
    given = np.array([0, 50, 51])
    scheduler.add_score("Taste", lambda pod_class, feasible: given, weight=1000)
    scheduler.load([pod("a")])
    decision = scheduler.schedule_one(detail="full")
    assert decision is not None and decision.node == "n3"
    scores = {row["node"]: row["plugins"]["Taste"] for row in decision.to_dict()["scores"]}
    assert scores == {"n1": 0, "n2": 50_000, "n3": 51_000}


def test_entries_follow_the_nodes_that_are_there():
    scheduler = three()
    scheduler.apply(node("n1"), "DELETED")
    scheduler.add_filter("Second", lambda _, feasible: feasible & [False, True], "first")
    assert scheduler.evaluate(pod("a")).node == "n3"
    scheduler.apply(node("n0"))
    names = list(scheduler.nodes["name"])
    scheduler.add_filter("Named", lambda _, feasible: feasible & [True] * 3, "none")
    with pytest.raises(ValueError):  # numpy's own: two entries for three nodes
        scheduler.evaluate(pod("a"))
    assert sorted(names) == ["n0", "n2", "n3"]


def test_plugins_are_in_forks_and_outlive_growth_and_loads():
    scheduler = three()
    with scheduler.fork() as trial:
        trial.add_filter("None", lambda _, feasible: feasible & False, "none")
        assert not trial.evaluate(pod("a")).feasible.any()
    assert scheduler.evaluate(pod("a")).feasible.all()
    scheduler.add_filter("None", lambda _, feasible: feasible & False, "none")
    state = scheduler.save_state()
    scheduler.load([node(f"more-{at}") for at in range(100)])
    assert not scheduler.evaluate(pod("a")).feasible.any()
    scheduler.load_state(state)
    assert len(scheduler.nodes) == 3
    assert not scheduler.evaluate(pod("a")).feasible.any()


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        ([True] * 3, TypeError, "plugin \"P\": expected an array of bool, not <class 'list'>"),
        (np.zeros(3), TypeError, "expected an array of bool"),
        (np.zeros(2, bool), ValueError, 'plugin "P": expected 3 entries, not 2'),
        (KeyError("lost"), KeyError, "lost"),
    ],
)
def test_what_a_plugin_raises_is_raised_and_changes_nothing(answer, error, text):
    scheduler = three()
    scheduler.load([pod("a")])
    before = scheduler.state_hash()

    def wrong(pod_class, feasible):
        if isinstance(answer, Exception):
            raise answer
        return answer

    scheduler.add_filter("P", wrong, "wrong")
    for ask in (
        lambda: scheduler.evaluate("web/a"),
        lambda: scheduler.explain(pod("b")),
        lambda: scheduler.schedule("web/a"),
        scheduler.schedule_one,
    ):
        with pytest.raises(error, match=text):
            ask()
        assert scheduler.state_hash() == before
    assert list(scheduler.pods["node"]) == [None]


def test_a_score_out_of_range_is_an_error():
    scheduler = three()
    for value in (-1, 101):
        with pytest.raises(ValueError, match="expected scores of 0 to 100"), scheduler.fork():
            scheduler.add_score("P", lambda _, feasible, value=value: np.full(3, value))
            scheduler.evaluate(pod("a"))
    with pytest.raises(TypeError, match="int64"), scheduler.fork():
        scheduler.add_score("P", lambda _, feasible: np.zeros(3))
        scheduler.evaluate(pod("a"))


def test_a_plugin_cannot_ask_the_scheduler_that_waits_for_it():
    scheduler = three()
    other = three()

    def asks_back(pod_class, feasible):
        assert other.evaluate(pod("b")).feasible.all()
        return feasible & scheduler.evaluate(pod("b")).feasible

    scheduler.add_filter("P", asks_back, "none")
    with pytest.raises(RuntimeError, match="waits for its answer"):
        scheduler.evaluate(pod("a"))
    assert len(scheduler.nodes) == 3


class Asker:
    """A function that refers to the scheduler which asks it."""

    def __init__(self, scheduler: berth.Scheduler):
        self.scheduler = scheduler
        scheduler.add_filter("P", self, "none")
        scheduler.add_score("Q", self.score)

    def __call__(self, pod_class, feasible):
        return feasible

    def score(self, pod_class, feasible):
        return np.zeros(len(feasible), np.int64)


def test_a_plugin_that_refers_to_its_scheduler_goes_with_it():
    asker = Asker(three())
    gone = weakref.ref(asker)
    scheduler = asker.scheduler
    del asker
    gc.collect()
    # The scheduler alone holds it, and asks it still.
    assert gone() is not None
    assert scheduler.evaluate(pod("a")).feasible.all()
    fork = scheduler.fork()
    del scheduler
    with fork as forked:
        gc.collect()
        assert forked.evaluate(pod("a")).feasible.all()
    del fork, forked
    gc.collect()
    assert gone() is None


def test_registration_is_checked():
    scheduler = three()
    scheduler.add_score("P", lambda _, feasible: np.zeros(3, np.int64))
    with pytest.raises(berth.AlreadyExistsError, match='"P"'):
        scheduler.add_filter("P", lambda _, feasible: feasible, "none")
    with pytest.raises(TypeError, match="expected a function"):
        scheduler.add_filter("Q", 1, "none")
    with pytest.raises(TypeError):
        scheduler.add_filter(1, lambda _, feasible: feasible, "none")
    for weight in (-1, 1 << 32, 1 << 64):
        with pytest.raises(ValueError, match=f"{weight} is out of range"):
            scheduler.add_score("Q", lambda _, feasible: feasible, weight)
    for at in range(8):
        scheduler.add_filter(f"F{at}", lambda _, feasible: feasible, "none")
    with pytest.raises(berth.CapacityError, match="external_plugins"):
        scheduler.add_filter("F8", lambda _, feasible: feasible, "none")
    with pytest.raises(berth.NotFoundError):
        scheduler.class_of("web/nobody")
