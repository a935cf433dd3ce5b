"""What surrounds the class: stubs and examples."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DUMP = HERE.parents[1] / "tests/data/manifests/openshift-dump"


def run(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_stubs_say_what_is_there():
    result = run("-m", "mypy.stubtest", "berth", "--ignore-missing-stub")
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_quick_start_runs_on_a_real_dump():
    names = ("nodes", "pods-on-these-nodes", "pending-pod")
    files = [DUMP / f"{name}.json" for name in names]
    result = run("-W", "error", HERE.parent / "examples/quick_start.py", *files)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "openshift-ingress/router-default-7bbdcfcf9b-7xdln: worker-0.lab.example.invalid",
        "half a core fits on 1 of 2 nodes",
        "  not on master-0.lab.example.invalid: "
        "node(s) had untolerated taint(s) (TaintToleration)",
    ]
