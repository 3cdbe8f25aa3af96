"""What the page shows of a study before any answer: its state, design, progress and verdict."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from quaver.collect.store.disk_reserve import who_collects
from quaver.core.number_format import short_name
from quaver.core.replaced_file import replace_text
from quaver.errors import QuaverError
from quaver.report.charts.figures import gallery
from quaver.report.charts.plane import inline_svg
from quaver.report.estimate_index import Results
from quaver.report.page.html_page import FirstScreen, first_screen
from quaver.report.page.notes import NARROW, WIDE, drawn
from quaver.score.annotation import annotate
from quaver.study.analysis.annotation_frame import annotator_of, is_current, readable
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.study_measures import measurable
from quaver.study.collection.study_status import StudyStatus, status_in
from quaver.study.sources.kept_annotations import scan_kept
from quaver.study.sources.study_source import StudySource
from quaver.study.study_report import resolved
from quaver.view.asked import Given
from quaver.view.grid_view import SORTS
from quaver.view.index_builder import reading, write_json
from quaver.view.index_reader import Index
from quaver.view.viewed_study import ViewedStudy

EXAMPLES = (
    ("is:flip", "answers that differ from the item's most frequent label"),
    ("instability>0.3", "items whose labels move most"),
    ("is:unlabelled", "answers without a usable label"),
    ("is:wrong", "answers that are not the gold label"),
    ("confidence<0.6", "answers of which the model was not sure"),
    ("is:changed", "items whose label has changed since you last looked"),
    ("mark:disagree", "what somebody disagreed with"),
)
_NEEDED = {"is:wrong": "gold", "confidence<0.6": "confidence"}
"""What a study must have for an example to find anything."""

_MOST_VALUES = 200


def index_state(study: ViewedStudy) -> dict[str, Any]:
    """How far the index has come."""
    index = study.index_or_none()
    failure = None if study.failure is None else error_document(study.failure)
    if index is None:
        state = "failed" if failure else "waiting"
        return {"state": state, "done": 0, "of": 0, "version": "", "error": failure, "seconds": 0.0}
    now = index.state
    return {
        "state": "failed" if failure else "ready" if now.complete else "building",
        "done": now.done or now.frame,
        "of": max(now.of, now.done),
        "version": study.version,
        "error": failure,
        "seconds": round(now.seconds, 3),
    }


def brief(study: ViewedStudy) -> dict[str, Any]:
    """A study in a line."""
    index, state = study.index_or_none(), index_state(study)
    found: dict[str, Any] = {"id": study.id, "name": study.id, "kind": "", "items": 0, "columns": 0}
    found |= {"answers": 0, "total": 0, "index": state}
    if index is None:
        return found
    design = index.design
    return found | {
        "name": design.name,
        "kind": design.kind,
        "items": design.items,
        "columns": index.width,
        "answers": state["done"],
        "total": design.items * index.width if design.has["answers"] else state["done"],
    }


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


def overview(study: ViewedStudy, given: Given | None = None) -> dict[str, Any]:
    """The first screen."""
    index = study.index_or_none()
    progress = study.document("progress.json") or {}
    verdict = study.document("verdict.json") or {"state": "none"}
    made = {
        "lines": [],
        "card": None,
        "error": None,
        "made": None,
        "answers": 0,
        "too_large": False,
    } | verdict
    found = {
        "brief": brief(study),
        "progress": {**_NO_PROGRESS, **progress, "process": study.collecting},
        "verdict": {name: value for name, value in made.items() if name != "charts"},
        "charts": [_chart(study, one) for one in made.get("charts", ())],
        "since": None,
        "report": None,
        "task": {"instruction": "", "kind": ""},
        "design": None,
    }
    if index is None:
        return found
    return found | {
        "since": _since(study, index),
        "report": f"../{study.ticket}/" if report_of(study) else None,
        "task": index.design.task,
        "design": design_document(study),
    }


def report_of(study: ViewedStudy) -> Path | None:
    """The study's report; None where it was not made."""
    path = Path(study.index.design.folder) / "report.html"
    return path if path.is_file() else None


_NO_PROGRESS: dict[str, Any] = {
    "answered": 0,
    "total": 0,
    "errors": 0,
    "rate": 0.0,
    "left": None,
    "last": None,
    "money": None,
    "tokens": 0,
    "warnings": [],
}


def _chart(study: ViewedStudy, chart: dict[str, Any]) -> dict[str, Any]:
    place = f"api/studies/{study.id}/charts/{chart['name']}"
    return {**chart, "href": f"{place}.svg", "narrow": f"{place}.narrow.svg", "dark": None}


def _since(study: ViewedStudy, index: Index) -> dict[str, Any] | None:
    before = study.looks.before()
    if before is None:
        return None
    now, changed = look_numbers(study), study.changed(0)
    return {
        "when": before.get("when"),
        "answers": max(0, now["answers"] - before.get("answers", 0)),
        "errors": max(0, now["errors"] - before.get("errors", 0)),
        "items_changed": 0 if changed is None else int(np.count_nonzero(changed)),
        "marks": max(0, now["marks"] - before.get("marks", 0)),
        "query": "is:changed",
    }


def look(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Note what the study is like now."""
    study.looks.note(look_numbers(study), study.statistics(0).modal)
    return {}


def look_numbers(study: ViewedStudy) -> dict[str, int]:
    """The numbers that tell what is new since a look."""
    errors = (study.document("progress.json") or {}).get("errors", 0)
    return {"answers": study.index.state.done, "errors": errors, "marks": len(study.book.marks())}


def design_document(study: ViewedStudy, given: Given | None = None) -> dict[str, Any]:
    """Legends, menus and columns."""
    index = study.index
    design = index.design
    variants, codes = design.variants_by_id, {code: at for at, code in enumerate(design.codes, start=1)}
    has = _has(index)
    prompts = [
        {
            "id": name,
            "short": short_name(name),
            "factors": dict(variants[name].factors) if name in variants else {},
            "original": place == 0,
        }
        for place, name in enumerate(design.prompts)
    ]
    return {
        "legend": design.legend(),
        "cell_bytes": 1 if design.cell_type == "uint8" else 2,
        "labels": [
            {"code": one.code, "name": one.name, "legend": codes[one.code]} for one in design.labels.labels
        ],
        "evaluators": list(design.evaluators),
        "models": list(dict.fromkeys(one[0] for one in design.conditions)),
        "decodings": list(dict.fromkeys(one[2] for one in design.conditions)),
        "repeats": max((one[3] for one in design.conditions), default=0),
        "prompts": prompts,
        "factors": _factors(prompts),
        "groups": {
            name: {"values": list(values[:_MOST_VALUES]), "count": len(values)}
            for name, values in design.groups.items()
        },
        "columns": [
            {
                "at": one.at,
                "model": one.model,
                "prompt": one.prompt,
                "decoding": one.decoding,
                "repeat": one.repeat,
            }
            for one in design.columns
        ],
        "has": has,
        "sorts": [{"name": name, "title": title} for name, title in SORTS.items()],
        "examples": [
            {"query": query, "means": means}
            for query, means in EXAMPLES
            if has.get(_NEEDED.get(query, ""), True)
        ],
        "may_mark": True,
    }


def _factors(prompts: list[dict[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for one in prompts:
        for name, level in one["factors"].items():
            found.setdefault(name, {})[level] = None
    return {name: list(levels) for name, levels in found.items()}


def _has(index: Index) -> dict[str, bool]:
    design = index.design
    sure = any(index.plane(f"confidence-{at}", "float32").exists for at in range(len(design.evaluators)))
    return {
        "gold": bool((index.gold > 0).any()),
        "confidence": sure,
        "answers": design.has["answers"],
        "repeats": any(one[3] > 1 for one in design.conditions),
    }


def error_document(error: Exception) -> dict[str, Any]:
    """An error for the page."""
    names = ("problem", "where", "expected", "found", "fix")
    return {name: getattr(error, name, None) for name in names} | (
        {} if hasattr(error, "problem") else {"problem": str(error)}
    )


_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not have."""

MOST_ANNOTATIONS = 300_000
"""Up to so many annotations, the verdict is made without being asked for."""


def write_progress(study: StudySource, folder: Path) -> StudyStatus:
    """Write down what is answered, spent and failed."""
    if study.spec.annotations is not None:
        now = StudyStatus(total=study.calls, answered=study.calls)
        changed = False
    else:
        with reading(study) as store:
            now = status_in(study, store, who_collects(study.folder))
            # A bundle is as it was packed; its own fingerprint is that of the archive.
            changed = study.can_ask and store is not None and store.noted("study") != study.fingerprint
    warnings = list(now.warnings)
    if changed:
        warnings.append(
            "The study has changed since its answers were collected; you see the answers that were given then"
        )
    write_json(
        folder / "progress.json",
        {
            "answered": now.answered,
            "total": now.total,
            "errors": now.errors,
            "rate": now.rate,
            "left": now.left,
            "last": now.last,
            "money": now.money,
            "prices": {name: asdict(price) for name, price in study.prices.items() if price is not None},
            "tokens": now.tokens,
            "warnings": warnings,
        },
    )
    return now


def frame_of(study: StudySource) -> pl.DataFrame:
    """The annotation frame, of which nothing is kept."""
    if study.annotations is not None:
        return study.annotations
    with reading(study) as store:
        if store is None:
            raise QuaverError("nothing has been collected yet", where=study.where, fix="quaver run")
        if is_current(study, store):
            try:
                return scan_kept(study.files.annotations).collect()
            except (OSError, pl.exceptions.PolarsError):  # it is missing or damaged
                pass
        of = readable(study, study.plugins.follow_ups())
        return annotate(store.read(), annotator_of(study, study.plugins.evaluators(), of)).collect()


def write_verdict(study: StudySource, folder: Path, now: StudyStatus) -> None:
    """Write the verdict, then the charts, which take longer."""
    begun = time.time()
    write_json(folder / "verdict.json", {"state": "making", "made": begun})
    try:
        measured = MeasuredStudy(study, measurable(study, frame_of(study)))
        lock = resolved(study, now)
        found = _verdict(Results(lock, measured.frame, (), audit=measured.verdict()))
        found |= {"made": begun, "answers": now.answered}
        write_json(folder / "verdict.json", found | {"state": "making"})
        charts = _charts(measured, folder, lock)
        write_json(folder / "verdict.json", found | {"state": "ready", "charts": charts})
    except QuaverError as error:
        failed = {"state": "failed", "error": error_document(error), "made": begun}
        write_json(folder / "verdict.json", failed)


def _verdict(results: Results) -> dict[str, Any]:
    shown = first_screen(results)
    lines = [_plain(line) for _, line in shown.lines]
    return {"lines": [shown.verdict, *lines], "card": _card(shown)}


def _card(shown: FirstScreen) -> dict[str, Any]:
    return {
        "verdict": _plain(shown.verdict),
        "badges": [asdict(one) for one in shown.badges],
        "lines": [[question, _plain(line)] for question, line in shown.lines],
        "alarms": list(shown.alarms),
        "stopped": shown.stopped,
        "facts": [list(fact) for fact in shown.facts],
    }


def _plain(text: str) -> str:
    """A sentence without its markup."""
    return text.striptags() if isinstance(text, Markup) else str(text)


def _charts(study: MeasuredStudy, folder: Path, lock: Any) -> list[dict[str, Any]]:
    """The report's charts as files, and what is said of each."""
    shown = gallery(Results(lock, study.frame, study.estimates(), audit=study.charts()))
    pictures = drawn(shown)
    made = folder / "charts"
    made.mkdir(exist_ok=True)
    found = []
    for figure in shown.figures:
        for kind, picture, whole in (
            ("", pictures[figure.name].wide, WIDE),
            (".narrow", pictures[figure.name].narrow, NARROW),
        ):
            svg = inline_svg(picture, f"{figure.name}{kind}".replace(".", "-"), figure.alternative, whole)
            replace_text(made / f"{figure.name}{kind}.svg", _NO_XML.sub("\ufffd", svg))
        about = ("name", "title", "section", "alternative", "closer")
        found.append({name: getattr(figure, name) for name in about} | {"caption": figure.subtitle})
    return found
