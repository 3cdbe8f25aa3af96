"""The process that keeps a study's index: ``python -m quaver.view.index_keeper STUDY FOLDER FIELD``.

It ends when it has nothing to do, and with the server that began it.
"""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from quaver.collect.store.store_lock import who_collects
from quaver.core.replaced_file import replace_text
from quaver.errors import QuaverError
from quaver.report.charts.figures import gallery
from quaver.report.charts.svg import inline_svg
from quaver.report.estimate_index import Results
from quaver.report.page.html_page import first_screen
from quaver.report.page.notes import NARROW, WIDE, drawn
from quaver.score.annotation import annotate
from quaver.study.analysis.annotation_frame import annotator_of, is_current, readable
from quaver.study.analysis.field_source import FieldSource
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.study_measures import measurable
from quaver.study.collection.study_status import StudyStatus, status_in
from quaver.study.sources.kept_annotations import scan_kept
from quaver.study.sources.named_functions import functions_of
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_source import StudySource
from quaver.study.study_report import resolved
from quaver.view.index_builder import IndexBuilder, reading
from quaver.view.study_index import FAILURE, error_document, write_json

VERDICT = "--verdict"
"""The option that has the verdict made, however long that takes; all others are functions."""

_PAUSE = 0.7
"""Seconds between two looks at a store that another process is writing."""

_AGAIN = 20.0
"""A verdict is made anew while a study runs after so many times the time that it took."""


def keep(
    path: Path,
    root: Path,
    *,
    wanted: bool,
    follow: bool = False,
    functions: Sequence[str] = (),
    field: str = "",
) -> None:
    """Make or continue the index of a study, or of a field of it, until there is nothing more to do."""
    root.mkdir(parents=True, exist_ok=True)
    study = opened(path, root, functions, field)
    builder = IndexBuilder(study, root)
    judged, took, seen = 0.0, 0.0, -1
    while True:
        if not builder.update():
            study = opened(path, root, functions, field)
            builder = IndexBuilder(study, root)
            continue
        now = write_progress(study, builder.folder)
        running = collecting(study) is not None
        small = now.answered * max(1, len(builder.design.evaluators)) <= MOST_ANNOTATIONS
        due = not running or time.monotonic() - judged > max(10.0, _AGAIN * took)
        if now.answered and now.answered != seen and due and (small or wanted) and _is_stale(builder, wanted):
            begun = time.monotonic()
            write_verdict(study, builder.folder, now)
            judged, took, seen, wanted = time.monotonic(), time.monotonic() - begun, now.answered, False
        elif not small and not (builder.folder / "verdict.json").exists():
            write_json(builder.folder / "verdict.json", {"state": "none", "too_large": True})
        if not running or not follow or _orphaned(_PAUSE):
            return


def collecting(study: StudySource) -> int | None:
    """The process that collects for a study, or for the study whose field it is."""
    return who_collects(study.files.responses.parent)


def opened(path: Path, root: Path, functions: Sequence[str] = (), field: str = "") -> StudySource:
    """A study with its own models' functions, or a field of it; a bundle is unpacked beside its index."""
    is_bundle = path.suffix == ".zip" and path.is_file()
    source = open_source(path, root / "bundle" if is_bundle else None)
    names = {model.name for model in source.spec.models}
    own = {name: made for name, made in functions_of(functions).items() if name in names}
    source = open_source(path, functions=own) if own and not is_bundle else source
    if not field:
        return source
    part = FieldSource(source, field, frame_of(source))
    part.has_answers = source.has_answers  # to be shown
    return part


def _is_stale(builder: IndexBuilder, wanted: bool) -> bool:
    """Whether there is no verdict that was made of what the index holds."""
    path = builder.folder / "verdict.json"
    noted = builder.folder / "progress.json"
    if wanted or not path.exists():
        return True
    states = [builder.folder / name for name in ("state.json",)]
    return noted.exists() and any(one.stat().st_mtime > path.stat().st_mtime for one in states)


def _orphaned(seconds: float) -> bool:
    """Wait; whether the server has ended meanwhile, which closes this process's input."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


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
            now = status_in(study, store, collecting(study))
            # A bundle is as it was packed; its own fingerprint is that of the archive.
            changed = study.can_ask and store is not None and store.noted("study") != study.fingerprint
    warnings = list(now.warnings)
    if changed:
        warnings.append(
            "The study has changed since its answers were collected; you see the answers that were given then"
        )
    names = ("answered", "total", "errors", "rate", "left", "last", "money", "tokens")
    found = {name: getattr(now, name) for name in names} | {"warnings": warnings}
    found["prices"] = {name: asdict(price) for name, price in study.prices.items() if price is not None}
    write_json(folder / "progress.json", found)
    return now


def frame_of(study: StudySource) -> pl.DataFrame:
    """The annotation frame, of which nothing is kept."""
    if isinstance(study, FieldSource):
        return study.rows(frame_of(study.whole))
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
    lines = [[question, _plain(line)] for question, line in shown.lines]
    return {"lines": [shown.verdict, *(line for _, line in lines)], "card": asdict(shown) | {"lines": lines}}


def _plain(text: str) -> str:
    """A sentence without its markup."""
    return text.striptags() if isinstance(text, Markup) else str(text)


def _charts(study: MeasuredStudy, folder: Path, lock: Any) -> list[dict[str, Any]]:
    """The report's charts as files, and what is said of each."""
    shown = gallery(Results(lock, study.frame, study.estimates(), audit=study.charts()))
    pictures = drawn(shown)
    path = folder / "charts"
    path.mkdir(exist_ok=True)
    result = []
    for figure in shown.figures:
        for kind, picture, whole in (
            ("", pictures[figure.name].wide, WIDE),
            (".narrow", pictures[figure.name].narrow, NARROW),
        ):
            svg = inline_svg(picture, f"{figure.name}{kind}".replace(".", "-"), figure.alternative, whole)
            replace_text(path / f"{figure.name}{kind}.svg", _NO_XML.sub("\ufffd", svg))
        about = ("name", "title", "section", "alternative", "closer")
        result.append({name: getattr(figure, name) for name in about} | {"caption": figure.subtitle})
    return result


def main() -> None:
    """Keep the index that the command line names; an error is left for the server."""
    path, root, field, *options = sys.argv[1:]
    failure = Path(root) / FAILURE
    failure.unlink(missing_ok=True)
    os.nice(5)
    try:
        functions = [option for option in options if option != VERDICT]
        wanted = VERDICT in options
        keep(Path(path), Path(root), wanted=wanted, follow=True, functions=functions, field=field)
    except QuaverError as error:
        write_json(failure, error_document(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
