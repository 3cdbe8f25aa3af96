"""What the indexing process writes beside an index: progress, verdict and charts."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from quaver.collect.store.disk_reserve import who_collects
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
from quaver.view.index_builder import reading
from quaver.view.index_design import error_document, write_json

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
