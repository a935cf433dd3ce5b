"""Data frames (polars, pandas, pyarrow) as nodes and plain pods, a row each.

Columns of both: `name`; of every resource its own, `cpu` in cores (or a quantity, "250m"), `memory`
in bytes (or "4Gi"), any other under its name (`nvidia.com/gpu`); `label:KEY` for labels.
Nodes: the resources are allocatable, `pods` is 110 if there is no such column; `unschedulable`.
Pods: the resources are requested; `namespace` ("default"), `node` (bound to it), `priority`,
`scheduler`, `select:KEY` for the node selector.

Empty cells say nothing; a column that is none of these is an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from ._berth import ObjectError

__all__ = ["nodes", "objects", "pods", "rows"]

Row = dict[str, Any]

# Columns that are no resources, where "pods" is one of nodes alone.
_NODE = frozenset({"name", "unschedulable"})
_POD = frozenset({"name", "namespace", "node", "priority", "scheduler"})


def objects(frame: Any, kind: str) -> list[dict[str, Any]]:
    """The rows of a frame as objects of this kind, "Node" or "Pod"."""
    match kind:
        case "Node":
            return nodes(frame)
        case "Pod":
            return pods(frame)
    raise ValueError(f'kind: expected "Node" or "Pod", not {kind!r}')


def nodes(frame: Any) -> list[dict[str, Any]]:
    """A node a row."""
    return [_node(row, f"row {at}") for at, row in enumerate(rows(frame))]


def pods(frame: Any) -> list[dict[str, Any]]:
    """A pod a row, of one container."""
    return [_pod(row, f"row {at}") for at, row in enumerate(rows(frame))]


def rows(frame: Any) -> Iterable[Row]:
    """The rows of a frame, or of a list of dicts; None where a cell is empty."""
    if isinstance(frame, list):
        found = frame
    elif hasattr(frame, "to_dicts"):  # polars, and our own tables
        found = frame.to_dicts()
    elif hasattr(frame, "to_pylist"):  # pyarrow
        found = frame.to_pylist()
    elif hasattr(frame, "to_dict"):  # pandas
        found = frame.to_dict("records")
    else:
        raise TypeError(
            "expected a frame of polars, pandas or pyarrow, not " + type(frame).__name__
        )
    return [_row(row, f"row {at}") for at, row in enumerate(found)]


def _row(row: Any, where: str) -> Row:
    if not isinstance(row, dict):
        raise TypeError(f"{where}: expected a dict, not {type(row).__name__}")
    return {key: _plain(cell) for key, cell in row.items()}


def _plain(cell: Any) -> Any:
    """A scalar of Python; None where the frame has nothing."""
    if hasattr(cell, "item"):  # numpy
        cell = cell.item()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return cell


def _node(row: Row, where: str) -> dict[str, Any]:
    name, labels, _, amounts = _parts(row, _NODE, where)
    amounts.setdefault("pods", "110")
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": amounts},
    }
    if row.get("unschedulable"):
        node["spec"]["unschedulable"] = True
    return node


def _pod(row: Row, where: str) -> dict[str, Any]:
    name, labels, selector, amounts = _parts(row, _POD, where)
    container = {"name": "main", "resources": {"requests": amounts}}
    spec: dict[str, Any] = {"containers": [container]}
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    metadata["namespace"] = row.get("namespace") or "default"
    if selector:
        spec["nodeSelector"] = selector
    for column, field in (
        ("node", "nodeName"),
        ("priority", "priority"),
        ("scheduler", "schedulerName"),
    ):
        cell = row.get(column)
        if cell is not None:
            # A column with empty cells makes floats of whole numbers.
            whole = isinstance(cell, float) and cell.is_integer()
            spec[field] = int(cell) if whole else cell
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _parts(
    row: Row, plain: frozenset[str], where: str
) -> tuple[str, dict[str, str], dict[str, str], dict[str, str]]:
    """Name, labels, node selector and amounts of a row."""
    name = row.get("name")
    if not isinstance(name, str):
        raise ObjectError(f"{where}: name: expected a str, not {name!r}")
    parts: dict[str, dict[str, str]] = {"label": {}, "select": {}}
    amounts: dict[str, str] = {}
    for column, cell in row.items():
        if column in plain or cell is None:
            continue
        prefix, _, key = column.partition(":")
        if key and prefix in parts:
            if not isinstance(cell, str):
                problem = f"expected a str, not {cell!r}"
                raise ObjectError(f"{where} ({name}): {column}: {problem}")
            parts[prefix][key] = cell
        elif prefix == "select" or not _is_resource(column):
            raise ObjectError(f"{where} ({name}): {column}: is no known column")
        else:
            amounts[column] = _quantity(cell, f"{where} ({name}): {column}")
    if parts["select"] and plain is _NODE:
        raise ObjectError(f"{where} ({name}): nodes have no node selector")
    return name, parts["label"], parts["select"], amounts


def _is_resource(column: str) -> bool:
    native = column in ("cpu", "memory", "ephemeral-storage", "pods")
    return native or "/" in column or column.startswith("hugepages-")


def _quantity(cell: Any, where: str) -> str:
    """A number as a quantity that is exactly it."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        raise ObjectError(f"{where}: expected a number or a quantity, not {cell!r}")
    # The shortest text that is the float, without an exponent.
    return format(Decimal(repr(cell) if isinstance(cell, float) else cell), "f")
