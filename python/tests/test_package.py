"""What surrounds the class: stubs, examples, the README and the wheel."""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import berth

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DATA = ROOT / "tests/data"
DUMP = DATA / "manifests/openshift-dump"
EXAMPLES = HERE.parent / "examples"
WHEEL = os.environ.get("BERTH_WHEEL")


def run(*arguments, python=sys.executable, **options):
    command = [python, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def example(name, *arguments):
    # Examples may import their neighbours, which safe paths forbid.
    surroundings = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    result = run("-W", "error", EXAMPLES / f"{name}.py", *arguments, env=surroundings)
    assert result.stderr == ""
    return result.stdout.splitlines()


def test_the_stubs_say_what_is_there():
    result = run("-m", "mypy.stubtest", "berth", "--ignore-missing-stub")
    assert result.returncode == 0, result.stdout + result.stderr


def test_types_are_right_in_the_package_and_the_examples():
    package = Path(berth.__file__).parent
    settings = HERE.parent / "pyproject.toml"
    files = [package, *sorted(EXAMPLES.glob("*.py"))]
    result = run("-m", "mypy", "--strict", "--config-file", settings, "--cache-dir", os.devnull, *files)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (package / "py.typed").exists()


def test_every_public_thing_says_what_it_does():
    for name in berth.__all__:
        own = getattr(berth, name)
        if not isinstance(own, type):
            continue
        assert own.__doc__, name
        for member, value in vars(own).items():
            if not member.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{member}"


def test_the_version_is_the_workspace_s():
    settings = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert berth.__version__ == settings["workspace"]["package"]["version"]
    assert f"\nversion: {berth.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_example_is_run_here():
    code = Path(__file__).read_text()
    code = code.replace("example(\n        ", "example(")
    for file in EXAMPLES.glob("*.py"):
        others = (other.read_text() for other in EXAMPLES.glob("*.py"))
        is_part = any(f"\nimport {file.stem} " in other for other in others)
        assert is_part or f'example("{file.stem}"' in code, file


def test_the_quick_start_runs_on_a_real_dump():
    names = ("nodes", "pods-on-these-nodes", "pending-pod")
    assert example("quick_start", *(DUMP / f"{name}.json" for name in names)) == [
        "openshift-ingress/router-default-7bbdcfcf9b-7xdln: worker-0.lab.example.invalid",
        "half a core fits on 1 of 2 nodes",
        "  not on master-0.lab.example.invalid: "
        "node(s) had untolerated taint(s) (TaintToleration)",
    ]


def test_a_what_if_shows_what_another_node_would_change():
    nodes = DATA / "nodes/platform-mix-12nodes.json"
    name = "openshift-ingress/router-default-7bbdcfcf9b-7xdln"
    assert example("what_if", nodes, DUMP / "pending-pod.json") == [
        "1 pods wait",
        f"with 4 cores more 1 of them run: {name}",
        f"with 16 cores more 1 of them run: {name}",
        f"with 64 cores more 1 of them run: {name}",
    ]


def test_a_trace_is_replayed_under_two_configurations():
    nodes = DATA / "openb/nodes/openb_node_list_gpu_node.csv"
    pods = DATA / "openb/pods/openb_pod_list_default.csv"
    assert example("replay_trace", nodes, pods, 200) == [
        "default: 200 pods on 47 nodes, 34 at a time, longest wait 0 s",
        "MostAllocated: 200 pods on 54 nodes, 34 at a time, longest wait 0 s",
    ]


def test_a_random_agent_places_pods():
    pytest.importorskip("gymnasium")
    told = example("random_agent")
    assert len(told) == 3
    assert all(re.fullmatch(r"seed \d: [23]\d of 40 pods placed", line) for line in told)


def test_an_agent_learns_to_leave_room_for_the_large_pods():
    pytest.importorskip("gymnasium")
    told = example("train_agent")
    placed = [float(re.split(": | of ", line)[1]) for line in told]
    assert len(placed) == 5
    assert placed[0] < 25 and placed[-1] > 28, told


def test_the_paper_s_experiment_is_repeated(tmp_path):
    """One seed of the policy whose seeds differ least."""
    chosen = ("--workloads", "default", "--policies", "FGD", "--seeds", 1)
    told = example("openb_paper", *chosen, "--out", tmp_path)
    assert re.fullmatch(r"\| default \| FGD \| 95\.\d\d \| 95\.39 \| .* of 0\.60 \|", told[2])
    assert told[-1].startswith("2 published means, 0 missed; off by ")
    assert (tmp_path / "openb_paper.md").read_text().splitlines() == told
    assert (tmp_path / "openb_paper.png").stat().st_size > 10_000
    # What was made is not made again.
    (tmp_path / "openb_paper.png").unlink()
    assert example("openb_paper", *chosen, "--out", tmp_path) == told
    assert len((tmp_path / "openb_paper.csv").read_text().splitlines()) == 2


def readme_blocks():
    """The quick start of the README, and what it prints."""
    section = (ROOT / "README.md").read_text().split("\n## Python\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    return code, printed


def test_the_readme_s_quick_start_prints_what_it_says():
    code, printed = readme_blocks()
    result = run("-W", "error", "-c", code, cwd=ROOT)
    assert (result.stderr, result.stdout) == ("", printed)


def test_parts_with_needs_of_their_own_are_there_once_they_are_asked_for():
    code = "import sys, berth; assert not {'gymnasium', 'matplotlib'} & set(sys.modules); "
    code += "print(berth.trace.openb and berth.frames.pods and berth.plot.scores and 1)"
    assert run("-c", code).stdout == "1\n"
    hidden = "import sys; sys.modules['gymnasium'] = None; import berth; berth.gym"
    assert "needs gymnasium: pip install 'berth[gym]'" in run("-c", hidden).stderr
    with pytest.raises(AttributeError, match="colour"):
        berth.colour


@pytest.mark.skipif(WHEEL is None, reason="run by `cargo test --test python`")
def test_the_wheel_is_installed_without_a_compiler(tmp_path):
    """In a fresh environment whose PATH has nothing but itself."""
    venv.create(tmp_path, with_pip=True)
    folder = tmp_path / "bin"
    hidden = ("PYTHONPATH", "PYTHONSAFEPATH", "CC", "CXX")
    surroundings = {key: value for key, value in os.environ.items() if key not in hidden}
    surroundings["PATH"] = str(folder)
    fresh = {"python": str(folder / "python"), "env": surroundings}
    result = run("-m", "pip", "install", "--quiet", "--only-binary", ":all:", WHEEL, **fresh)
    assert result.returncode == 0, result.stderr
    listed = run("-m", "pip", "list", "--format", "freeze", **fresh).stdout
    names = {line.partition("==")[0] for line in listed.splitlines()}
    assert names - {"pip", "setuptools", "wheel"} == {"berth", "numpy"}
    code, printed = readme_blocks()
    result = run("-W", "error", "-c", code, cwd=ROOT, **fresh)
    assert (result.stderr, result.stdout) == ("", printed)
