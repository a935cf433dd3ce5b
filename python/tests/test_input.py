"""What goes in: the kubernetes client's objects, data frames, and what is none of these."""

import datetime
import json
from types import SimpleNamespace

import pytest
from objects import node, pod

import berth
from berth import frames

NODES = {
    "name": ["n1", "n2", "n3"],
    "cpu": [4.0, 0.1, 2.0],
    "memory": [8 << 30, 1 << 30, 4 << 30],
    "nvidia.com/gpu": [None, 2, None],
    "label:zone": ["a", "b", None],
}
PODS = {
    "name": ["p1", "p2", "p3"],
    "namespace": ["web", None, "web"],
    "cpu": ["100m", "1500m", None],
    "nvidia.com/gpu": [1, None, None],
    "priority": [None, 5, None],
    "node": [None, None, "n3"],
    "select:zone": ["b", None, None],
}


def frame(library, columns):
    if library == "table":
        return _Rows(columns)
    module = pytest.importorskip(library)
    make = module.table if library == "pyarrow" else module.DataFrame
    return make(columns)


class _Rows:
    """Whatever else has rows and says that it is a frame."""

    def __init__(self, columns):
        self.columns = columns

    def __arrow_c_stream__(self, requested_schema=None):
        raise NotImplementedError

    def to_dicts(self):
        names = list(self.columns)
        return [dict(zip(names, row)) for row in zip(*self.columns.values())]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "table"])
def test_frames_are_nodes_and_plain_pods(library):
    scheduler = berth.Scheduler()
    scheduler.load(frame(library, NODES), kind="Node")
    assert scheduler.load(frame(library, PODS), kind="Pod") == ["web/p1", "default/p2"]
    nodes = scheduler.nodes
    assert nodes["cpu_allocatable"].tolist() == [4000, 100, 2000]
    assert nodes["memory_allocatable"].tolist() == NODES["memory"]
    assert nodes["nvidia.com/gpu_allocatable"].tolist() == [0, 2, 0]
    assert nodes["pods_allocatable"].tolist() == [110, 110, 110]
    placed = {d.pod: d.node for d in scheduler.schedule_all()}
    assert list(placed) == ["default/p2", "web/p1"], "by priority"
    assert placed == {"default/p2": "n1", "web/p1": "n2"}
    assert nodes["pods"].tolist() == [0, 0, 1]


def test_a_frame_must_be_understood():
    scheduler = berth.Scheduler()
    for kind, columns, error, text in [
        (None, NODES, TypeError, 'kind="Node"'),
        ("Service", NODES, ValueError, "Service"),
        ("Node", {**NODES, "colour": ["red"] * 3}, berth.ObjectError, r"row 0 \(n1\): colour"),
        ("Node", {**NODES, "name": [None] * 3}, berth.ObjectError, "row 0: name"),
        ("Node", {**NODES, "select:a": ["b"] * 3}, berth.ObjectError, "node selector"),
        ("Node", {**NODES, "label:a": [1] * 3}, berth.ObjectError, "label:a: expected a str"),
        ("Pod", {**PODS, "cpu": [[1]] * 3}, berth.ObjectError, "cpu: expected a number"),
        ("Pod", {**PODS, "cpu": ["2 cores"] * 3}, berth.ObjectError, "Pod web/p1.*cpu"),
        ("Pod", {**PODS, "priority": [0.5] * 3}, berth.ObjectError, "Pod web/p1.*priority"),
    ]:
        with pytest.raises(error, match=text):
            scheduler.load(frame("table", columns), kind=kind)
    with pytest.raises(TypeError, match="expected a frame"):
        frames.nodes(7)
    assert frames.objects(frame("table", NODES), "Node")[1] == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n2", "labels": {"zone": "b"}},
        "spec": {},
        "status": {
            "allocatable": {
                "cpu": "0.1", "memory": "1073741824", "nvidia.com/gpu": "2", "pods": "110",
            }
        },
    }  # fmt: skip


def of_client(objects):
    """The same as the kubernetes client has it, whose models have two forms by its version."""
    client = pytest.importorskip("kubernetes.client")
    api = client.ApiClient()

    def read(own):
        model = getattr(client, f"V1{own['kind']}")
        if hasattr(model, "from_dict"):
            return model.from_dict(own)
        response = SimpleNamespace(data=json.dumps(own))
        return api.deserialize(response, model)

    return [read(own) for own in objects]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_kubernetes_client_s_objects_are_read():
    web = pod("a", "1500m", nodeSelector={"app.kubernetes.io/name": "x"})
    web["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    web["spec"]["tolerations"] = [{"key": "k", "operator": "Exists"}]
    labelled = node("n1")
    labelled["metadata"]["labels"] = {"app.kubernetes.io/name": "x"}
    plain = [labelled, node("n2"), web]
    objects = of_client(plain)
    assert isinstance(objects[2].metadata.creation_timestamp, datetime.datetime)
    # Items of lists do not say what they are.
    for own in objects:
        own.kind = own.api_version = None
    client = pytest.importorskip("kubernetes.client")
    listed = client.V1NodeList(items=objects[:2])
    expected = berth.Scheduler()
    expected.load(plain)
    one, two = berth.Scheduler(), berth.Scheduler()
    one.load(objects)
    two.load(listed)
    two.apply(objects[2])
    assert one.state_hash() == two.state_hash() == expected.state_hash()
    assert one.schedule_all()[0].node == two.schedule_all()[0].node == "n1"
    classes = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "value": 9,
               "metadata": {"name": "nine"}}  # fmt: skip
    (priority,) = of_client([classes])
    priority.kind = priority.api_version = None
    one.apply(priority)
    one.apply(pod("b", priorityClassName="nine"))
    assert one.pods["priority"].tolist() == [0, 9]


def test_texts_are_read_whatever_their_form():
    for text in (json.dumps([node("n1"), pod("a")]), json.dumps([node("n1"), pod("a")]).encode()):
        assert berth.Scheduler().load(text) == ["web/a"]
    with pytest.raises(berth.ObjectError, match="utf-8"):
        berth.Scheduler().load(b"{\xff}")


NAMES = ["a\0b", "a\ud800b", "\udcff", "a\nb", "", "ä", "x" * 5000]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_any_name_has_an_answer(name):
    """Bug report 38: NUL and lone surrogates in names."""
    scheduler = berth.Scheduler()
    scheduler.load([node("n1"), pod("a")])
    before = scheduler.state_hash()
    for ask in (scheduler.schedule, scheduler.evaluate, scheduler.explain, scheduler.bound):
        with pytest.raises(berth.BerthError):
            ask(name)
    with pytest.raises(berth.BerthError):
        scheduler.bind("web/a", name)
    for wrong in (
        node(name), pod(name), pod("a", nodeName=name) if name else pod(name),
        pod("b", nodeSelector={name: "x"}), pod("b", nodeSelector={"x": name or "-"}),
        {**pod("b"), "metadata": {"name": "b", "namespace": name or "-"}},
    ):  # fmt: skip
        for call in (scheduler.load, scheduler.apply, scheduler.evaluate):
            with pytest.raises(berth.BerthError):
                call(wrong if call != scheduler.load else [wrong])
    if name and name.isprintable() or "\0" in name:
        with scheduler.fork(), pytest.warns(berth.BerthWarning, match="PriorityClass"):
            scheduler.apply(pod("b", priorityClassName=name))
    with pytest.raises(berth.BerthError):
        berth.Scheduler({"apiVersion": "kubescheduler.config.k8s.io/v1", name: name})
    assert scheduler.state_hash() == before


def test_errors_say_where():
    scheduler = berth.Scheduler()
    for wrong, error, text in [
        ([node("n1"), pod("a\ud800")], berth.ObjectError,
         r"\[1\]\.metadata\.name: 'a\\ud800' holds half of a surrogate pair"),
        ([{**node("n1"), "spec": {"podCIDRs": [{1}]}}], TypeError, r"\[0\]\.spec\.podCIDRs\[0\]: "),
        ([{**pod("a", priority=2**70)}], berth.ObjectError, r"\[0\]\.spec\.priority: .* 64 bits"),
    ]:  # fmt: skip
        with pytest.raises(error, match=text):
            scheduler.load(wrong)

    class Broken:
        attribute_map = {"name": "name"}

        @property
        def name(self):
            raise RuntimeError("no name today")

    with pytest.raises(berth.ObjectError, match="no name today"):
        scheduler.load([Broken()])


def test_every_error_is_a_berth_error():
    children = {error.__name__ for error in berth.BerthError.__subclasses__()}
    assert children == {
        "AlreadyExistsError", "CapacityError", "ConfigError", "InternalError", "NotFoundError",
        "ObjectError", "StateError",
    }  # fmt: skip
    assert children <= set(berth.__all__)
