"""The process that keeps a study's index: ``python -m quaver.view.index_keeper STUDY FOLDER FIELD``.

It ends when it has nothing to do, and with the server that began it.
"""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.store_lock import who_collects
from quaver.errors import QuaverError
from quaver.score.annotation import annotate
from quaver.study.analysis.annotation_frame import annotator_of, is_current, readable, scan_kept
from quaver.study.analysis.field_source import FieldSource
from quaver.study.collection.study_status import StudyStatus, status_in
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_source import StudySource
from quaver.view.index_builder import IndexBuilder, reading
from quaver.view.study_index import FAILURE, error_document, write_json

VERDICT = "--verdict"
"""The option that has the verdict made, however long that takes."""

MOST_ANNOTATIONS = 300_000
"""Up to so many annotations, the verdict is made without being asked for."""

_PAUSE = 0.7
"""Seconds between two looks at a store that another process is writing."""


def keep(path: Path, root: Path, *, wanted: bool, follow: bool = False, field: str = "") -> None:
    """Make or continue the index of a study, or of a field of it, until there is nothing more to do."""
    root.mkdir(parents=True, exist_ok=True)
    study = opened(path, root, field)
    builder = IndexBuilder(study, root)
    while True:
        running = collecting(study) is not None
        if not builder.update(running=running):
            study = opened(path, root, field)
            builder = IndexBuilder(study, root)
            continue
        now = write_progress(study, builder.folder)
        verdict = builder.folder / "verdict.json"
        small = now.answered * max(1, len(builder.design.evaluators)) <= MOST_ANNOTATIONS
        due = not running and _is_older(verdict, builder.folder / "state.json")
        if now.answered and (wanted or (small and due)):
            write_verdict(study, verdict, now)
            wanted = False
        elif not small and not verdict.exists():
            write_json(verdict, {"state": "none", "too_large": True})
        if not running or not follow or _orphaned(_PAUSE):
            return


def _is_older(path: Path, other: Path) -> bool:
    """Whether a file is not there, or older than another."""
    return not path.exists() or path.stat().st_mtime < other.stat().st_mtime


def _orphaned(seconds: float) -> bool:
    """Wait; whether the server has ended meanwhile, which closes this process's input."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def collecting(study: StudySource) -> int | None:
    """The process that collects for a study, or for the study whose field it is."""
    return who_collects(study.files.responses.parent)


def opened(path: Path, root: Path, field: str = "") -> StudySource:
    """A study, or a field of it; a bundle is unpacked beside its index."""
    is_bundle = path.suffix == ".zip" and path.is_file()
    source = open_source(path, root / "bundle" if is_bundle else None)
    if not field:
        return source
    part = FieldSource(source, field, frame_of(source))
    part.has_answers = source.has_answers  # to be shown
    return part


def write_progress(study: StudySource, folder: Path) -> StudyStatus:
    """Write down what is answered, spent and failed."""
    warnings = list[str]()
    if study.spec.annotations is not None:
        now = StudyStatus(total=study.calls, answered=study.calls)
    else:
        with reading(study) as store:
            now = status_in(study, store, collecting(study))
            # A bundle is as it was packed; its own fingerprint is that of the archive.
            if study.can_ask and store is not None and store.noted("study") != study.fingerprint:
                warnings.append(_CHANGED)
    names = ("answered", "total", "errors", "rate", "left", "last", "money", "tokens")
    found = {name: getattr(now, name) for name in names} | {"warnings": [*now.warnings, *warnings]}
    write_json(folder / "progress.json", found)
    return now


_CHANGED = "The study has changed since its answers were collected; you see the answers that were given then"


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


def write_verdict(study: StudySource, path: Path, now: StudyStatus) -> None:
    """Write what the report's first screen says."""
    # Without these the answers are shown a second sooner.
    from quaver.report.estimate_index import Results
    from quaver.report.page.html_page import first_screen
    from quaver.study.analysis.measured_study import MeasuredStudy
    from quaver.study.analysis.study_measures import measurable
    from quaver.study.study_report import resolved

    write_json(path, {"state": "making"})
    try:
        measured = MeasuredStudy(study, measurable(study, frame_of(study)))
        shown = first_screen(Results(resolved(study, now), measured.frame, (), audit=measured.verdict()))
        lines = [(question, line.striptags()) for question, line in shown["lines"]]
        found: dict[str, Any] = {"state": "ready", "card": {**shown, "lines": lines}}
    except QuaverError as error:
        found = {"state": "failed", "error": error_document(error)}
    write_json(path, found)


def main() -> None:
    """Keep the index that the command line names; an error is left for the server."""
    path, root, field, *options = sys.argv[1:]
    failure = Path(root) / FAILURE
    failure.unlink(missing_ok=True)
    os.nice(5)
    try:
        keep(Path(path), Path(root), wanted=VERDICT in options, follow=True, field=field)
    except QuaverError as error:
        write_json(failure, error_document(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
