"""Placement as an environment."""

import numpy as np
import pytest
from objects import node, pod

import berth

gymnasium = pytest.importorskip("gymnasium")
gym = pytest.importorskip("berth.gym")

NODES = [node("n1", "4"), node("n2", "2"), node("n3", "1")]
PODS = [pod("a", "2"), pod("big", "9"), pod("b", "2"), pod("c", "1")]


def test_gymnasium_s_checker_passes():
    from gymnasium.utils.env_checker import check_env

    env = gym.PlacementEnv(NODES, PODS, seed=3)
    check_env(env, skip_render_check=True)


def test_an_episode_places_the_pods_in_turn():
    env = gym.PlacementEnv(NODES, PODS, max_nodes=5)
    for _ in range(2):
        seen, info = env.reset(seed=1)
        assert seen.shape == (5, 5) and env.observation_space.contains(seen)
        assert info["action_mask"].tolist() == [1, 1, 0, 0, 0]
        # On n2, which is full then.
        seen, reward, over, cut, info = env.step(1)
        assert (reward, over, cut) == (1.0, False, False)
        assert seen[:, 0].tolist() == [0, 1, 0, 0, 0]
        assert info["action_mask"].tolist() == [0] * 5 and env.pod["metadata"]["name"] == "big"
        assert env.step(0)[1] == 0.0
        # A wrong choice, and the pod is lost.
        assert env.step(1)[1] == -1.0
        _, reward, over, _, info = env.step(0)
        assert (reward, over) == (1.0, True)
        assert info["action_mask"].tolist() == [0] * 5
        assert env.scheduler.pods["node"].tolist() == ["n2", "n1"]
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(0)
    with pytest.raises(ValueError, match="action"):
        env.reset()
        env.step(5)
    with pytest.raises(ValueError, match="max_nodes"):
        gym.PlacementEnv(NODES, PODS, max_nodes=2)


def test_the_mask_is_what_the_filters_say():
    env = gym.PlacementEnv(NODES, PODS)
    _, info = env.reset(seed=0)
    while env.pod is not None:
        expected = env.scheduler.evaluate(env.pod).feasible
        assert (info["action_mask"] == expected).all()
        info = env.step(env.action_space.sample(info["action_mask"]))[-1]


def test_rewards_and_observations_are_the_user_s():
    env = gym.PlacementEnv(
        NODES,
        PODS,
        reward=lambda step: step.scheduler.nodes["cpu_requested"].max() / 1000,
        observation=lambda scheduler, pod: [len(scheduler.pods), pod is None],
        seed=7,
    )
    assert env.observation_space.shape == (2,)
    assert env.reset()[0].tolist() == [0, 0]
    assert env.step(0)[:2][1] == 2.0
    assert env.step(0)[0].tolist() == [1, 0]


def test_a_seed_draws_the_same_pods_again():
    def draw(random: np.random.Generator):
        return [pod(f"p{at}", f"{random.integers(1, 900)}m") for at in range(5)]

    env = gym.PlacementEnv(NODES, draw, seed=1)
    episodes = []
    for seed in (None, 1, 2, None):
        env.reset(seed=seed)
        episodes.append(str(env._pods))
    assert episodes[0] == episodes[1] != episodes[2] != episodes[3] != episodes[0]


def drawn(random: np.random.Generator):
    return [pod(f"p{at}", f"{random.integers(1, 900)}m") for at in range(random.integers(2, 5))]


def spread(name: str, cpu: str):
    """A pod that keeps off those like it, on nodes of its own kind."""
    own = pod(name, cpu, nodeSelector={"kubernetes.io/os": "linux"})
    own["metadata"]["labels"] = {"app": "web"}
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    term = {"podAffinityTerm": term, "weight": 100}
    anti = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    own["spec"]["affinity"] = {"podAntiAffinity": anti}
    return own


def labelled(name: str, cpu: str):
    own = node(name, cpu)
    own["metadata"]["labels"] = {"kubernetes.io/os": "linux", "kubernetes.io/hostname": name}
    return own


MANY = [
    (NODES, drawn),
    (NODES, PODS),
    (
        [*NODES, *(labelled(f"l{at}", "2") for at in range(70))],
        [*(spread(f"s{at}", "700m") for at in range(9)), *PODS],
    ),
]


@pytest.mark.parametrize(("nodes", "pods"), MANY)
def test_many_clusters_step_in_one_call(nodes, pods):
    size = len(nodes) + 1
    many = gym.VectorPlacementEnv(3, nodes, pods, seed=5, max_nodes=size)
    assert (many.envs == []) == (pods is not drawn)
    single = [gym.PlacementEnv(nodes, pods, max_nodes=size) for _ in range(3)]
    seen, info = many.reset()
    assert many.observation_space.contains(seen)
    expected = [env.reset(seed=5 + at) for at, env in enumerate(single)]
    over = [False] * 3
    random = np.random.default_rng(0)
    for _ in range(40):
        assert (seen == np.stack([own[0] for own in expected])).all()
        masks = np.stack([own[-1]["action_mask"] for own in expected])
        assert (info["action_mask"] == masks).all()
        # Mostly where the pod fits.
        actions = random.integers(0, size, 3)
        for at in np.flatnonzero(masks.any(-1) & (random.random(3) < 0.8)):
            actions[at] = random.choice(np.flatnonzero(masks[at]))
        assert many.action_space.contains(actions)
        seen, rewards, ended, cut, info = many.step(actions)
        for at, env in enumerate(single):
            if over[at]:
                expected[at] = env.reset()
                wanted = (0.0, False)
            else:
                expected[at] = env.step(actions[at])
                wanted = expected[at][1:3]
            assert (rewards[at], ended[at], cut[at]) == (*wanted, False)
            over[at] = wanted[1]


def test_many_clusters_check_their_arguments():
    many = gym.VectorPlacementEnv(2, NODES, PODS)
    many.reset()
    for actions in ([0], [0, 3], [-1, 0], [0, 0, 0]):
        with pytest.raises(ValueError, match="actions: expected 2 of 0 to 2"):
            many.step(np.array(actions))
    # A pod that has its node already does not wait for one.
    bound = [pod("a", "1"), pod("b", "1", nodeName="n1")]
    assert len(gym.VectorPlacementEnv(2, NODES, bound).envs) == 2
    scheduler = berth.Scheduler()
    scheduler.load(NODES)
    clusters = berth._berth.Clusters
    with pytest.raises(berth.NotFoundError, match="nobody"):
        clusters(scheduler, ["nobody"], 1, 3)
    with pytest.raises(ValueError, match="size"):
        clusters(scheduler, [], 1, 2)


def test_nodes_and_pods_may_be_frames():
    polars = pytest.importorskip("polars")
    nodes = polars.DataFrame({"name": ["n1", "n2"], "cpu": [4, 1], "memory": [2**30] * 2})
    pods = polars.DataFrame({"name": ["p"], "cpu": [2]})
    env = gym.PlacementEnv(nodes, pods)
    assert env.reset()[1]["action_mask"].tolist() == [1, 0]
    assert isinstance(env.scheduler, berth.Scheduler)
