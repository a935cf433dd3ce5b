"""Pictures: that what they show is what there is."""

import numpy as np
import pytest
from objects import node, pod

import berth
from berth import trace

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plot = pytest.importorskip("berth.plot")

pytestmark = pytest.mark.filterwarnings("ignore:.*pyparsing.*:DeprecationWarning")


@pytest.fixture
def scheduler():
    own = berth.Scheduler()
    own.load([node("n1", "4"), node("n2", "2"), pod("a", "3", nodeName="n1")])
    return own


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_utilisation_over_time():
    course = trace.Course(seconds=[0, 60], cpu=[0, 0.5], memory=[0, 0.25])
    lines = plot.utilisation(course).get_lines()
    assert [line.get_ydata().tolist() for line in lines] == [[0, 50], [0, 25]]


def test_fragmentation_tells_what_is_lost(scheduler):
    ax = plot.fragmentation(scheduler, pod("b", "2"))
    fits, lost = (points.get_offsets().tolist() for points in ax.collections)
    assert (fits, lost) == ([[2, 8]], [[1, 8]])
    assert ax.get_title().startswith("33 %")


def test_scores_are_white_where_a_pod_does_not_fit(scheduler):
    ax = plot.scores(scheduler, ["web/a", pod("b", "2"), pod("c", "100m")])
    (image,) = ax.get_images()
    shown = np.ma.filled(image.get_array(), np.nan)
    assert np.isnan(shown).tolist() == [[False, True], [True, False], [False, False]]
    assert shown[2].tolist() == scheduler.evaluate(pod("c", "100m")).scores.tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["web/a", "b", "c"]
