"""What Hypothesis makes up ends in an answer, or in an error of the stated kinds, and changes nothing then.

`BERTH_CALLS` says how many examples there are, all functions together; one that fails is made small
and printed.
"""

import os
import tempfile
import warnings
from typing import Any

import pytest
from objects import node, pod

import berth
from berth import frames

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
# It keeps notes, even where it is told to keep no examples.
hypothesis.configuration.set_hypothesis_home_dir(tempfile.gettempdir())

ORDINARY = (berth.BerthError, TypeError, ValueError)
WORDS = [
    "metadata", "name", "spec", "kind", "Pod", "Node", "List", "items", "v1", "1", "100m", "n1", "web/a",
]  # fmt: skip

text = st.text(max_size=8) | st.sampled_from(WORDS)
number = st.integers() | st.floats()
leaf = st.none() | st.booleans() | number | text | st.binary(max_size=8)
anything = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3)
)


@st.composite
def objects(draw: Any) -> Any:
    """A node or a pod, one of whose parts is anything."""
    made: Any = draw(st.sampled_from([node, pod]))(draw(text), draw(text))
    part = made
    while isinstance(part, dict | list) and part:
        key = draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
        if draw(st.booleans()):
            part[key] = draw(anything)
            break
        part = part[key]
    return made


any_object = objects() | anything
change = st.sampled_from([None, "ADDED", "MODIFIED", "DELETED"]) | text
columns = st.dictionaries(
    st.sampled_from(["name", "namespace", "cpu", "memory", "pods", "priority"]) | text, leaf
)


def cluster() -> berth.Scheduler:
    scheduler = berth.Scheduler()
    scheduler.load([node("n1"), node("n2", "250m"), pod("a")])
    return scheduler


SHARED = cluster()
SAVED = SHARED.save_state()


@st.composite
def states(draw: Any) -> bytes:
    """A saved state in which some bytes are others, or are not there."""
    state = bytearray(SAVED)
    pairs = st.tuples(st.integers(0, len(SAVED) - 1), st.integers(0, 255))
    for place, byte in draw(st.lists(pairs, max_size=4)):
        state[place] = byte
    return bytes(state[: draw(st.integers(0, len(SAVED)) | st.just(len(SAVED)))])


CALLS: dict[str, tuple[Any, list[Any]]] = {
    "Scheduler": (lambda given: berth.Scheduler(given), [anything]),
    "capacities": (lambda given: berth.Scheduler(capacities=given), [st.dictionaries(text, number)]),
    "load": (SHARED.load, [st.lists(any_object, max_size=3) | anything]),
    "load of a text": (SHARED.load, [st.text()]),
    "apply": (SHARED.apply, [any_object, change]),
    "evaluate": (SHARED.evaluate, [any_object]),
    "explain": (SHARED.explain, [any_object]),
    "schedule": (SHARED.schedule, [anything]),
    "bind": (SHARED.bind, [anything, anything]),
    "bound": (SHARED.bound, [anything, anything]),
    "advance": (SHARED.advance, [number | leaf]),
    "load_state": (lambda given: berth.Scheduler().load_state(given), [states() | anything]),
    "frames.nodes": (frames.nodes, [st.lists(columns, max_size=3) | anything]),
    "frames.pods": (frames.pods, [st.lists(columns, max_size=3) | anything]),
}
EXAMPLES = max(int(os.environ.get("BERTH_CALLS", "1400")) // len(CALLS), 1)


@pytest.mark.parametrize("name", CALLS)
def test_anything_ends_in_an_answer_or_an_ordinary_error(name: str) -> None:
    function, arguments = CALLS[name]

    @hypothesis.settings(max_examples=EXAMPLES, deadline=None, database=None)
    @hypothesis.given(st.tuples(*arguments))
    def call(given: Any) -> None:
        before = SHARED.state_hash()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*given)
            except ORDINARY as error:
                assert not isinstance(error, berth.InternalError), error
                assert SHARED.state_hash() == before

    call()
