"""A JSON export of Label Studio as rows of labels, a row an annotation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quaver.core.label_values import SEPARATOR
from quaver.study.imports.columns import plain


def rows_of_tasks(tasks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a JSON export: people's annotations, and predictions by the model's version.

    Annotations that were skipped are left out; one that is marked as ground truth is the true label.
    """
    for task in tasks:
        shared = plain(task["data"]) | {"id": task["id"]}
        given = [one for one in task["annotations"] if not one.get("was_cancelled")]
        for one in given:
            if one.get("ground_truth"):
                shared |= {f"{name} (ground truth)": label for name, label in _labels(one).items()}
        for one in given:
            if not one.get("ground_truth"):
                yield shared | {"annotator": _who(one["completed_by"])} | _labels(one)
        for one in task.get("predictions") or ():
            if isinstance(one, dict):  # an export without predictions lists their numbers
                yield shared | {"annotator": one.get("model_version") or "model"} | _labels(one)


def fields_of_tasks(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was labelled, by the names of its controls."""
    every = (one for task in tasks for one in task["annotations"])
    return list(dict.fromkeys(name for one in every for name in _labels(one)))


def _labels(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """The labels of one annotation, by control."""
    return {
        one["from_name"]: _value([{**one["value"]}]) for one in annotation["result"] if one.get("from_name")
    }


def _value(cell: Any) -> Any:
    """A control's value: the choices, a rating, a number."""
    if isinstance(cell, list) and len(cell) == 1:
        cell = cell[0]
    if isinstance(cell, dict):
        cell = cell[next(iter(cell))] if len(cell) == 1 else json.dumps(cell)
    if isinstance(cell, list):
        cell = (
            SEPARATOR.join(map(str, cell)) if all(isinstance(one, str) for one in cell) else json.dumps(cell)
        )
    return cell


def _who(coder: Any) -> str:
    """A coder's number, or address."""
    return str(coder.get("email") or coder.get("id")) if isinstance(coder, dict) else str(coder)
