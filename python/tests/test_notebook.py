"""The notebook, run cell by cell without Jupyter."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples/pending_pod.ipynb"
ROOT = Path(__file__).parents[2]


def run(code: str, names: dict[str, Any]) -> Any:
    """What a cell shows: its last line, if that is an expression, as HTML if it has some."""
    body = ast.parse(code).body
    shown = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), str(NOTEBOOK), "exec"), names)
    if shown is None:
        return None
    value = eval(compile(ast.Expression(shown.value), str(NOTEBOOK), "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else value


def test_the_notebook_runs_and_is_stored_without_what_it_shows(monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(ROOT)
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in codes)
    names: dict[str, Any] = {}
    shown = [run("".join(cell["source"]), names) for cell in codes]
    loaded, why, fits, helped, axes = shown
    assert "2 nodes, 30 pods" in loaded
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    assert capsys.readouterr().out == message + "\n"
    assert "Insufficient cpu" in why
    assert fits == {"6": 0, "4": 0, "2": 1, "1": 1, "500m": 1}
    assert helped == {4: None, 8: "new-8", 16: "new-16"}
    assert len(axes.collections) == 2
    pyplot.close("all")
