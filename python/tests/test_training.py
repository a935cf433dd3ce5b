"""Training with stable-baselines3; skipped without it, as in CI, since PyTorch is large.

PyPI's PyTorch for Linux brings CUDA along; Debian's `python3-torch` does not, and with it
`pip install --no-deps stable-baselines3 sb3-contrib` under Debian's own interpreter is enough.
"""

import numpy as np
import pytest
from objects import node, pod

sb3 = pytest.importorskip("stable_baselines3")
gym = pytest.importorskip("berth.gym")
# What it uses of its own dependencies is not our matter.
pytestmark = pytest.mark.filterwarnings("ignore")

# Small pods that are spread leave no room for the large ones that come after them.
NODES = [node(f"n{at}", "4") for at in range(3)]
PODS = [*(pod(f"s{at}", "1") for at in range(4)), pod("l1", "4"), pod("l2", "4")]
SETTINGS = {"n_steps": 256, "batch_size": 64, "learning_rate": 3e-3, "seed": 1, "device": "cpu"}


def placed(predict) -> float:
    """How many pods a policy places."""
    env = gym.PlacementEnv(NODES, PODS)
    seen, info = env.reset(seed=0)
    total, over = 0, False
    while not over:
        action = predict(seen, info["action_mask"].astype(bool))
        seen, reward, over, _, info = env.step(int(action))
        total += reward > 0
    return total


def random_policy() -> float:
    random = np.random.default_rng(0)

    def draw(_, mask) -> int:
        return random.choice(np.flatnonzero(mask)) if mask.any() else 0

    return float(np.mean([placed(draw) for _ in range(50)]))


def test_stable_baselines3_s_checker_passes():
    from stable_baselines3.common.env_checker import check_env

    check_env(gym.PlacementEnv(NODES, PODS))


def test_an_agent_learns():
    model = sb3.PPO("MlpPolicy", gym.PlacementEnv(NODES, PODS), **SETTINGS).learn(4096)
    trained = placed(lambda seen, _: model.predict(seen, deterministic=True)[0])
    assert trained == len(PODS) > random_policy() + 0.5


def test_an_agent_with_a_mask_learns():
    contrib = pytest.importorskip("sb3_contrib")
    from sb3_contrib.common.wrappers import ActionMasker

    masked = ActionMasker(gym.PlacementEnv(NODES, PODS), lambda env: env.unwrapped.action_mask())
    model = contrib.MaskablePPO("MlpPolicy", masked, **SETTINGS).learn(4096)
    trained = placed(lambda seen, mask: model.predict(seen, None, None, True, mask)[0])
    assert trained == len(PODS)
