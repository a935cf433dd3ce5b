"""The loop in virtual time: queue, backoff, preemption, forks, state files, growth."""

import threading

import pytest
from objects import node, pod

import berth


def small(**options) -> berth.Scheduler:
    scheduler = berth.Scheduler(**options)
    scheduler.load([node("n1", "4"), node("n2", "2")])
    return scheduler


def states(scheduler: berth.Scheduler) -> dict[str, str]:
    pods = scheduler.pods
    return dict(zip(pods["name"], pods["state"]))


def test_the_queue_gives_one_pod_after_the_other():
    scheduler = small()
    scheduler.load([pod("a"), pod("b", priority=1), pod("c")])
    seen = [scheduler.schedule_one() for _ in range(4)]
    assert [decision and decision.pod for decision in seen] == ["web/b", "web/a", "web/c", None]
    assert [decision.attempt for decision in seen[:3]] == [1, 1, 1]
    # A millisecond before each pod and after each attempt.
    assert scheduler.now == 0.006
    assert [decision.seconds for decision in seen[:3]] == [0.003, 0.004, 0.005]


def test_a_pod_that_failed_waits_for_an_event_and_for_its_backoff():
    scheduler = small()
    scheduler.apply(pod("a", "9"))
    assert scheduler.schedule_one().result == "unschedulable"
    scheduler.advance(3600)
    assert states(scheduler) == {"a": "active"}, "five minutes are the longest wait"
    assert scheduler.schedule_one().attempt == 2
    scheduler.apply(node("n3", "16"))
    assert states(scheduler) == {"a": "backoff"}
    scheduler.advance(10)
    assert states(scheduler) == {"a": "active"}
    assert scheduler.schedule_one().node == "n3"
    with pytest.raises(ValueError, match="seconds"):
        scheduler.advance(-1)


def test_victims_go_and_the_pod_comes_to_their_place():
    scheduler = small()
    scheduler.load([pod("low-1", "3"), pod("low-2", "2")])
    scheduler.schedule_all()
    scheduler.apply(pod("high", "4", priority=10))
    attempts = scheduler.schedule_all()
    assert [(d.node, d.nominated_node, d.victims) for d in attempts] == [
        (None, "n1", ["web/low-1"]),
        ("n1", None, []),
    ]
    assert states(scheduler) == {"low-2": "bound", "high": "bound"}
    assert scheduler.decisions["victims"].tolist() == [0, 0, 1, 0]


def test_without_preemption_nobody_goes():
    scheduler = small(preemption=False)
    scheduler.load([pod("low", "3", nodeName="n1"), pod("high", "4", priority=10)])
    assert [d.victims for d in scheduler.schedule_all()] == [[]]
    assert states(scheduler) == {"low": "bound", "high": "unschedulable"}


def test_the_user_may_bind_and_evict():
    scheduler = small()
    scheduler.load([pod("low", "3"), pod("other", "2", nodeName="n2")])
    assert scheduler.schedule_one(bind=False).node == "n1"
    assert states(scheduler) == {"low": "binding", "other": "bound"}
    assert scheduler.bound("web/low", "failed")
    assert not scheduler.bound("web/low")
    assert states(scheduler)["low"] == "backoff"
    scheduler.schedule_all()
    assert states(scheduler) == {"low": "bound", "other": "bound"}
    scheduler.apply(pod("high", "4", priority=10))
    decision = scheduler.schedule_one(evict=False)
    assert decision.victims == ["web/low"]
    assert states(scheduler)["low"] == "bound"
    scheduler.apply(pod("low", "3"), "DELETED")
    assert scheduler.schedule_all()[-1].node == "n1"
    with pytest.raises(ValueError, match="outcome"):
        scheduler.bound("web/high", "lost")


def test_a_pod_is_bound_where_the_user_says():
    scheduler = small()
    scheduler.load([pod("a", "9")])
    with pytest.raises(berth.NotFoundError, match="n9"):
        scheduler.bind("web/a", "n9")
    assert scheduler.bind("web/a", "n2")
    assert not scheduler.bind("web/a", "n1")
    assert scheduler.pods["node"].tolist() == ["n2"]
    assert scheduler.schedule_one() is None


def test_a_fork_leaves_no_trace_unless_it_is_committed():
    scheduler = small()
    scheduler.load([pod("a")])
    before = scheduler.state_hash(), scheduler.now
    with scheduler.fork() as trial:
        trial.load([pod("b", "4"), {"kind": "PriorityClass", "value": 7,
                    "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": "seven"}}])
        assert [d.node for d in trial.schedule_all()] == ["n1", None]
        with scheduler.fork():
            scheduler.apply(node("n3"))
            assert scheduler.schedule_all()[-1].node == "n3"
        assert scheduler.nodes["name"].tolist() == ["n1", "n2"]
        with scheduler.fork() as kept:
            scheduler.apply(node("n4"))
            assert kept.commit()
        assert scheduler.nodes["name"].tolist() == ["n1", "n2", "n4"]
    assert (scheduler.state_hash(), scheduler.now) == before
    assert len(scheduler.decisions) == 0
    # Nor are classes that pods are completed by.
    with pytest.warns(berth.BerthWarning, match="seven"), scheduler.fork():
        scheduler.apply(pod("c", priorityClassName="seven"))
    fork = scheduler.fork()
    scheduler.apply(node("n5"))
    assert fork.commit() and not fork.rollback()
    assert "n5" in scheduler.nodes["name"]
    assert not scheduler.commit() and not scheduler.rollback()


def test_a_fork_ends_with_its_block_whatever_ends_that():
    scheduler = small()
    before = scheduler.state_hash()
    with pytest.raises(KeyError), scheduler.fork():
        scheduler.fork()
        scheduler.apply(node("n3"))
        raise KeyError
    assert scheduler.state_hash() == before
    assert not scheduler.rollback()
    for _ in range(64):
        scheduler.fork()
    with pytest.raises(berth.CapacityError, match="forks"):
        scheduler.fork()


@pytest.mark.parametrize("form", ["bytes", "path", "text"])
def test_a_state_goes_on_where_it_was_saved(form, tmp_path):
    scheduler = small()
    scheduler.load([pod("a", "2"), pod("b", "9"), pod("c")])
    scheduler.schedule_one()
    path = tmp_path / "state.berth"
    saved = scheduler.save_state(path)
    assert path.read_bytes() == saved == scheduler.save()
    assert [file.name for file in tmp_path.iterdir()] == ["state.berth"]
    other = berth.Scheduler()
    other.load_state({"bytes": saved, "path": path, "text": str(path)}[form])
    assert (other.state_hash(), other.now) == (scheduler.state_hash(), scheduler.now)
    runs = [[d.to_dict() for d in own.schedule_all()] for own in (scheduler, other)]
    assert runs[0] == runs[1] != []


def test_what_is_no_state_is_refused():
    scheduler = small()
    before = scheduler.state_hash()
    saved = scheduler.save_state()
    for wrong in (b"", saved[:-1], saved[:40] + bytes([saved[40] ^ 1]) + saved[41:]):
        with pytest.raises(berth.StateError):
            scheduler.load_state(wrong)
    with pytest.raises(berth.StateError, match="no/such"):
        scheduler.load_state("no/such/file.berth")
    with pytest.raises(berth.StateError, match="no/such"):
        scheduler.save_state("no/such/file.berth")
    with pytest.raises(TypeError):
        scheduler.load_state(7)
    with pytest.raises(berth.CapacityError, match="nodes"):
        berth.Scheduler(capacities={"nodes": 1, "pods": 1}).load_state(saved)
    assert scheduler.state_hash() == before


def test_tables_grow_as_long_as_they_may():
    """As many objects again and again, one by one and in lists, and forks that are older."""
    scheduler = berth.Scheduler()
    scheduler.load([node("n0"), pod("p0")])
    strict = berth.Scheduler(grow=False)
    strict.load([node("n0"), pod("p0")])
    fork = scheduler.fork()
    many = [node(f"n{n}", str(n % 7 + 1)) for n in range(1, 300)]
    with pytest.raises(berth.CapacityError, match="nodes"):
        strict.load(many)
    scheduler.load(many)
    ports = [pod(f"p{n}", f"{n % 100 + 1}m") for n in range(1, 2500)]
    for number, one in enumerate(ports):
        one["spec"]["containers"][0]["ports"] = [
            {"containerPort": 80, "hostPort": 1 + number, "protocol": "TCP"}
        ]
    for one in ports[:200]:
        scheduler.apply(one)
    scheduler.load(ports[200:])
    decisions = scheduler.schedule_all()
    assert sorted({d.result for d in decisions}) == ["scheduled"]
    assert len(scheduler.pods) == 2500

    # The same in tables that were large enough from the start.
    roomy = berth.Scheduler(capacities={"nodes": 512, "pods": 4096}, grow=True)
    roomy.load([node("n0"), pod("p0")])
    roomy.load(many)
    for one in ports[:200]:
        roomy.apply(one)
    roomy.load(ports[200:])
    assert [d.to_dict() for d in roomy.schedule_all()] == [d.to_dict() for d in decisions]
    assert roomy.state_hash() == scheduler.state_hash()
    assert fork.rollback()
    assert scheduler.nodes["name"].tolist() == ["n0"]


def test_questions_grow_tables_too():
    scheduler = berth.Scheduler()
    scheduler.load([node("n0")])
    spread = pod("wide", "1m")
    terms = [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {f"a{n}": f"b{n}"}}}
        for n in range(3000)
    ]
    spread["spec"]["affinity"] = {
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    }
    before = scheduler.state_hash()
    assert scheduler.explain(spread).node == "n0"
    assert scheduler.evaluate(spread).feasible.tolist() == [True]
    assert scheduler.state_hash() == before


def test_time_that_would_never_end_is_passed_in_parts():
    scheduler = small()
    scheduler.load([pod("never", "99")])
    decisions = scheduler.schedule_all(until=1 << 32, detail="none")
    assert len(decisions) == (1 << 18) + 1
    assert decisions[-1].seconds <= scheduler.now < 1 << 32


def test_threads_place_each_pod_once():
    scheduler = small()
    scheduler.load([pod(f"p{n}", "10m") for n in range(200)])
    answers: list[str] = []

    def turn():
        while (decision := scheduler.schedule_one()) is not None:
            answers.append(decision.pod)

    threads = [threading.Thread(target=turn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == sorted(f"web/p{n}" for n in range(200))


def test_other_threads_go_on_during_a_long_call():
    """A call that kept the interpreter would let nobody else in before it ends."""
    scheduler = berth.Scheduler()
    scheduler.load([node(f"n{n}", "64") for n in range(300)])
    scheduler.load([pod(f"p{n}", f"{n % 50 + 1}m") for n in range(8000)])
    turns = 0
    thread = threading.Thread(target=scheduler.schedule_all)
    thread.start()
    while thread.is_alive():
        # Gives the interpreter away and takes it again.
        thread.join(timeout=0.001)
        turns += 1
    assert turns > 2
    assert (scheduler.pods["state"] == "bound").all()


def claimed(mode: str = "WaitForFirstConsumer") -> berth.Scheduler:
    """A node in a zone, a class, a claim of it, and a pod that uses that."""
    scheduler = berth.Scheduler()
    zoned = node("n1", "4")
    zoned["metadata"]["labels"] = {"topology.kubernetes.io/zone": "z"}
    user = pod("a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
    scheduler.load([zoned, storage_class("fast", mode), claim("data"), user])
    return scheduler


def storage_class(name: str, mode: str, **metadata) -> dict:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, **metadata},
        "provisioner": "csi.example.com",
        "volumeBindingMode": mode,
    }


def claim(name: str, storage_class: str | None = "fast", **more) -> dict:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "web"},
        "spec": spec,
        **more,
    }


PROVISIONED = [{"claim": "web/data", "volume": "dyn-web-data", "provisioned": True}]


def test_a_pod_is_bound_a_second_after_its_claims():
    scheduler = claimed()
    decision = scheduler.schedule_one()
    assert decision.volumes == PROVISIONED
    assert states(scheduler) == {"a": "binding"}
    # No time passes but the attempt's own.
    assert scheduler.schedule_all(wait=False) == []
    assert states(scheduler) == {"a": "binding"}
    assert scheduler.schedule_all() == []
    assert states(scheduler) == {"a": "bound"}
    assert scheduler.now == pytest.approx(decision.seconds + 1)


def test_the_writes_for_claims_can_be_the_user_s():
    scheduler = claimed()
    decision = scheduler.schedule_one(bind=False)
    wanted = [{"claim": "web/data", "provisioned": True}]
    assert decision.volumes == wanted
    assert scheduler.volumes("web/a") == wanted
    assert scheduler.volumes_bound("web/a") == "pending"
    # What the API server and a provisioner make of it.
    reference = {"namespace": "web", "name": "data"}
    scheduler.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pvc-1"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "claimRef": reference,
                "csi": {"driver": "csi.example.com", "volumeHandle": "1"},
            },
        }
    )
    bound = claim("data", status={"phase": "Bound"})
    bound["metadata"]["annotations"] = {
        "volume.kubernetes.io/selected-node": "n1",
        "pv.kubernetes.io/bind-completed": "yes",
    }
    bound["spec"]["volumeName"] = "pvc-1"
    scheduler.apply(bound, "MODIFIED")
    assert scheduler.volumes_bound("web/a") == "bound"
    assert scheduler.bound("web/a")
    assert states(scheduler) == {"a": "bound"}


def test_the_controllers_can_be_played_between_the_writes_and_the_binding():
    scheduler = claimed()
    scheduler.schedule_one(bind=False)
    with scheduler.fork():
        assert scheduler.bind_volumes("web/a") == PROVISIONED
        assert scheduler.volumes_bound("web/a") == "bound"
    assert scheduler.volumes_bound("web/a") == "pending"
    assert scheduler.bind_volumes("web/a") == PROVISIONED
    # They are no longer asked for.
    assert scheduler.bind_volumes("web/a") == PROVISIONED
    assert scheduler.bound("web/a")
    assert scheduler.volumes("web/a") == []


def test_a_claim_that_binds_at_once_does_so_unless_a_cluster_has_seen_it():
    scheduler = claimed("Immediate")
    assert scheduler.schedule_one().volumes == []
    assert states(scheduler) == {"a": "bound"}
    for status, result in ((None, "scheduled"), ("Pending", "unschedulable")):
        scheduler = berth.Scheduler()
        scheduler.load([node("n1"), storage_class("fast", "Immediate")])
        scheduler.apply(claim("data", **({"status": {"phase": status}} if status else {})))
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
        scheduler.apply(pod("a", volumes=[volume]))
        assert scheduler.schedule_one().result == result


def test_a_claim_without_a_class_gets_the_newest_default_one():
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    scheduler = berth.Scheduler()
    for name, year in (("old", 2001), ("new", 2003), ("newer-but-no-default", 2004)):
        scheduler.apply(
            storage_class(
                name,
                "WaitForFirstConsumer" if name == "new" else "Immediate",
                annotations={} if "no-default" in name else mark,
                creationTimestamp=f"{year}-01-01T00:00:00Z",
            )
        )
    scheduler.apply(node("n1"))
    scheduler.apply(claim("data", None))
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    scheduler.apply(pod("a", volumes=[volume]))
    assert scheduler.schedule_one().volumes == PROVISIONED


def test_a_state_keeps_claims_and_the_default_class(tmp_path):
    scheduler = claimed()
    scheduler.schedule_one(bind=False)
    scheduler.save_state(tmp_path / "s.berth")
    other = berth.Scheduler()
    other.load_state(tmp_path / "s.berth")
    # Its binding ended well.
    assert states(other) == {"a": "bound"}
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    other.apply(pod("b", volumes=[volume]))
    decision = other.schedule_one()
    assert (decision.result, decision.volumes) == ("scheduled", [])
