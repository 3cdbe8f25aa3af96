"""What the page shows of a study before any answer: its state, design, progress and verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.label_values import single_labels
from quaver.core.records import OF_SETS, LabelSet
from quaver.report.estimate_index import Results
from quaver.view.asked import Given
from quaver.view.grid_view import SORTS
from quaver.view.snapshot import STATUSES, error_document, state_in
from quaver.view.viewed_study import ViewedStudy

EXAMPLES = (
    ("is:flip", "answers that differ from the item's most frequent label", ""),
    ("instability>0.3", "items whose labels move most", ""),
    ("is:unlabelled", "answers without a usable label", ""),
    ("is:wrong", "answers that are not the gold label", "gold"),
    ("confidence<0.6", "answers that the model was not sure of", "confidence"),
    ("mark:disagree", "what somebody disagreed with", ""),
)
"""Queries, what they find, and what a study must have for one to find anything."""


def index_state(study: ViewedStudy) -> dict[str, Any]:
    """How far the index has come."""
    now, failure = state_in(study.root), study.failure
    there = "ready" if now.complete else "building"
    word = "failed" if failure else there if study.version else "waiting"
    return {
        "state": word,
        "done": now.done,
        "of": max(now.of, now.done),
        "version": study.version,
        "error": error_document(failure) if failure else None,
    }


def brief(study: ViewedStudy) -> dict[str, Any]:
    """A summary of a study in a single line."""
    shown, state = study.snapshot_or_none(), index_state(study)
    about = (study.id, "", 0) if shown is None else (shown.design.name, shown.design.kind, len(shown.ids))
    known = dict(zip(("name", "kind", "items"), about, strict=True))
    return {"id": study.id, "answers": state["done"], "index": state, **known}


def pulse(study: ViewedStudy) -> dict[str, Any]:
    """What changes while a study is looked at; cheap."""
    state = index_state(study)
    progress, verdict = study.document("progress.json"), study.document("verdict.json")
    return {
        "version": state["version"],
        "marks": study.book.version if state["version"] else "0",
        "index": state,
        "answered": max(state["done"], progress.get("answered", 0)),
        "total": progress.get("total", state["of"]),
        "process": study.collecting,
        "verdict": verdict.get("state", "none"),
    }


def overview(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """The first screen."""
    shown = study.snapshot_or_none()
    progress, verdict = study.document("progress.json"), study.document("verdict.json")
    report = shown is not None and report_of(study) is not None
    return {
        "brief": brief(study),
        "progress": {"answered": 0, "total": 0, "money": None, **progress, "process": study.collecting},
        "verdict": {"state": "none", **verdict},
        "report": f"../{study.ticket}/" if report else None,
        "design": None if shown is None else design_document(study),
    }


def report_of(study: ViewedStudy) -> Path | None:
    """The study's report; None where it was not made."""
    path = Path(study.snapshot.design.folder) / "report.html"
    return path if path.is_file() else None


def design_document(study: ViewedStudy, given: Given | None = None) -> dict[str, Any]:
    """Labels, columns and what they are made of, from which the page makes legends and menus."""
    snapshot, design = study.snapshot, study.snapshot.design
    asked = [design.variants_by_id[name] for name in design.prompts]
    variants = [
        {"id": variant.id, "instruction": variant.instruction, "factors": variant.factors}
        for variant in asked
    ]
    names = Results({"variants": variants}, pl.DataFrame(), ())
    has = {
        "gold": snapshot.gold.null_count() < len(snapshot.gold),
        "confidence": snapshot.has_confidence,
        "answers": bool(design.store),
    }
    return {
        "cell_bytes": 1 if design.cell_type == "uint8" else 2,
        "labels": [{"code": label.code, "name": label.name} for label in design.labels.labels],
        "entry": _entry(design.labels, spans=design.has_spans),
        "statuses": STATUSES,
        "evaluators": design.evaluators,
        "prompts": [
            {"id": variant.id, "short": names.prompt_words(variant.id), "factors": dict(variant.factors)}
            for variant in asked
        ],
        "levels": names.level_words,
        "columns": [column._asdict() for column in design.columns],
        "has": has,
        "sorts": [{"name": name, "title": title} for name, title in SORTS.items()],
        "examples": [
            {"query": query, "means": means} for query, means, needed in EXAMPLES if has.get(needed, True)
        ],
    }


def _entry(labels: LabelSet, *, spans: bool) -> dict[str, Any] | None:
    """What a person may write where labels are numbers or sets; None where one of the labels is chosen."""
    if labels.are_numbers:
        return {"number": True, "least": 0 if labels.level == "ratio" else None}
    if labels.level not in OF_SETS:
        return None
    return {"number": False, "spans": spans, "labels": [label.code for label in single_labels(labels)]}
