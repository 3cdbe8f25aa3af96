"""What the page shows of a study before any answer: its state, design, progress and verdict."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.number_format import short_name
from quaver.view.asked import Given
from quaver.view.grid_view import SORTS
from quaver.view.study_index import STATUSES, Index, State, error_document
from quaver.view.viewed_study import ViewedStudy

EXAMPLES = (
    ("is:flip", "answers that differ from the item's most frequent label"),
    ("instability>0.3", "items whose labels move most"),
    ("is:unlabelled", "answers without a usable label"),
    ("is:wrong", "answers that are not the gold label"),
    ("confidence<0.6", "answers of which the model was not sure"),
    ("mark:disagree", "what somebody disagreed with"),
)
_NEEDED = {"is:wrong": "gold", "confidence<0.6": "confidence"}
"""What a study must have for an example to find anything."""

_MOST_VALUES = 200


def index_state(study: ViewedStudy) -> dict[str, Any]:
    """How far the index has come."""
    index, failure = study.index_or_none(), study.failure
    now = State() if index is None else index.state
    word = "failed" if failure else "waiting" if index is None else "ready" if now.complete else "building"
    return {
        "state": word,
        "done": now.done,
        "of": max(now.of, now.done),
        "version": study.version,
        "error": error_document(failure) if failure else None,
    }


def brief(study: ViewedStudy) -> dict[str, Any]:
    """A study in a line."""
    index, state = study.index_or_none(), index_state(study)
    known = {"id": study.id, "answers": state["done"], "index": state}
    if index is None:
        return known | {"name": study.id, "kind": "", "items": 0, "columns": 0, "total": 0}
    design = index.design
    total = design.items * index.width if design.has["answers"] else state["done"]
    about = {"name": design.name, "kind": design.kind, "items": design.items, "columns": index.width}
    return known | about | {"total": total}


def pulse(study: ViewedStudy) -> dict[str, Any]:
    """What changes while a study is looked at; cheap."""
    state = index_state(study)
    progress, verdict = study.document("progress.json") or {}, study.document("verdict.json") or {}
    answered = state["done"] if state["of"] else progress.get("answered", 0)
    return {
        "version": state["version"],
        "marks": study.book.version if study.index_or_none() else "0",
        "index": state,
        "answered": max(answered, progress.get("answered", 0)),
        "total": progress.get("total", state["of"]),
        "process": study.collecting,
        "verdict": verdict.get("state", "none"),
    }


def overview(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """The first screen."""
    index = study.index_or_none()
    progress, verdict = study.document("progress.json") or {}, study.document("verdict.json") or {}
    report = index is not None and report_of(study) is not None
    return {
        "brief": brief(study),
        "progress": {"answered": 0, "total": 0, "money": None, **progress, "process": study.collecting},
        "verdict": {"state": "none", **verdict},
        "report": f"../{study.ticket}/" if report else None,
        "task": None if index is None else index.design.task,
        "design": None if index is None else design_document(study),
    }


def report_of(study: ViewedStudy) -> Path | None:
    """The study's report; None where it was not made."""
    path = Path(study.index.design.folder) / "report.html"
    return path if path.is_file() else None


def judge(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Have the verdict made anew, however long that takes."""
    study.verdict_wanted.set()
    return {}


def design_document(study: ViewedStudy, given: Given | None = None) -> dict[str, Any]:
    """Labels, columns and what they are made of, from which the page makes legends and menus."""
    index = study.index
    design, has = index.design, _has(index)
    variants = design.variants_by_id
    return {
        "cell_bytes": 1 if design.cell_type == "uint8" else 2,
        "labels": [{"code": label.code, "name": label.name} for label in design.labels.labels],
        "statuses": STATUSES,
        "evaluators": design.evaluators,
        "prompts": [
            {
                "id": name,
                "short": short_name(name),
                "factors": dict(variants[name].factors) if name in variants else {},
                "original": position == 0,
            }
            for position, name in enumerate(design.prompts)
        ],
        "groups": {
            name: {"values": values[:_MOST_VALUES], "count": len(values)}
            for name, values in design.groups.items()
        },
        "columns": [asdict(column) for column in design.columns],
        "has": has,
        "sorts": [{"name": name, "title": title} for name, title in SORTS.items()],
        "examples": [
            {"query": query, "means": means}
            for query, means in EXAMPLES
            if has.get(_NEEDED.get(query, ""), True)
        ],
    }


def _has(index: Index) -> dict[str, bool]:
    design = index.design
    sure = pl.col("confidence").is_not_null().any()
    return {
        "gold": index.gold.null_count() < len(index.gold),
        "confidence": bool(index.collected(index.annotations().select(sure)).item()),
        "answers": design.has["answers"],
        "repeats": any(condition[3] > 1 for condition in design.conditions),
    }
