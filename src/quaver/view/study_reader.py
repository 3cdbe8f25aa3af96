"""The process that reads a study for the viewer: ``python -m quaver.view.study_reader STUDY FOLDER FIELD``.

It writes what the server shows into a folder that may be deleted at any time. It ends when it has nothing to
do, and with the server that began it.
"""

from __future__ import annotations

import json
import os
import select
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.store_lock import who_collects
from quaver.core.annotations import FIELD
from quaver.core.replaced_file import replace_text, replacing
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.study.analysis.annotation_frame import gold_labels
from quaver.study.analysis.field_source import FieldSource
from quaver.study.collection.study_status import StudyStatus, status_in
from quaver.study.sources.opening import open_source
from quaver.study.sources.study_source import StudySource
from quaver.view.annotation_parts import AnnotationParts, only_read
from quaver.view.snapshot import GROUP, Design, error_document

_PAUSE = 0.7
"""Seconds between two looks at a store that another process is writing."""


def keep(path: Path, folder: Path, field: str = "", *, follow: bool = False) -> None:
    """Read a study, or a field of it, until there is nothing more to read.

    Args:
        path: What the user named.
        folder: Where to write; a bundle is unpacked there.
        field: The field.
        follow: Whether to go on as long as another process collects.
    """
    whole, parts = opened(path, folder, field)
    study = write_design(whole, parts)
    while True:
        running = who_collects(whole.files.responses.parent) is not None
        study = read(whole, parts, study, running=running)
        now = write_progress(study, folder)
        if not running:
            write_verdict(study, parts, now)
        if not running or not follow or _orphaned(_PAUSE):
            return


def opened(path: Path, folder: Path, field: str = "") -> tuple[StudySource, AnnotationParts]:
    """A study, and what was read of it or of one of its fields; a bundle is unpacked beside that."""
    folder.mkdir(parents=True, exist_ok=True)
    is_bundle = path.suffix == ".zip" and path.is_file()
    whole = open_source(path, folder / "bundle" if is_bundle else None)
    return whole, AnnotationParts(whole, field, folder)


def read(
    whole: StudySource, parts: AnnotationParts, study: StudySource, *, running: bool = False
) -> StudySource:
    """Read all that has come since; returns the study, or its field with the labels that it has now."""
    more = True
    while more:
        before, more = parts.state, parts.advance(running=running)
        if parts.field and _labels_in(parts) - {*study.experiment.labels.codes}:
            study = write_design(whole, parts)
        if parts.state != before:
            parts.note()
    return study


def _orphaned(seconds: float) -> bool:
    """Wait; whether the server has ended meanwhile, which closes this process's input."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready) and not os.read(sys.stdin.fileno(), 1)


def _labels_in(parts: AnnotationParts) -> set[str]:
    """The labels read so far."""
    if parts.frame is None:
        return set()
    labels = parts.frame.select(pl.col("label").cast(pl.String).drop_nulls().unique())
    return {*labels.collect().to_series()}


def write_json(path: Path, document: Any) -> None:
    """Write a document whole or not at all."""
    replace_text(path, _json(document))


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=True, default=str)


# -------------------------------------------------------------------------- design and items


def write_design(whole: StudySource, parts: AnnotationParts) -> StudySource:
    """Write the design and the items; returns the study, or its field with the labels read so far."""
    study, folder, field = whole, parts.folder, parts.field
    if field:
        read = pl.DataFrame({"label": [*_labels_in(parts)]}, schema={"label": pl.String})
        study = FieldSource(whole, field, read.with_columns(pl.lit(field).alias(FIELD)))
        study.has_answers = whole.has_answers  # to be shown
    items, path = _items(study), folder / "design.json"
    text = _json(asdict(_design(study)) | {"items": str(items.hash_rows().sum())})
    if not path.exists() or path.read_bytes() != text.encode():
        with replacing(folder / "items.parquet") as part:
            items.write_parquet(part, row_group_size=4_096)
        replace_text(path, text)
    return study


def _design(study: StudySource) -> Design:
    """A study's design."""
    experiment, spec, asked = study.experiment, study.spec, study.experiment.in_parts
    evaluators = [evaluator.title for evaluator in spec.evaluators]
    if not study.has_answers and study.annotations is not None:
        evaluators = study.annotations["evaluator"].unique(maintain_order=True).cast(pl.String).to_list()
    return Design(
        name=spec.name,
        kind=study.kind,
        labels=experiment.labels,
        evaluators=tuple(evaluators),
        conditions=tuple(condition for condition in experiment.conditions if not condition.follow_up),
        variants=tuple(experiment.variants),
        decodings=dict(experiment.decodings),
        has_texts=study.has_texts,
        store=str(study.files.responses.resolve()) if study.has_answers else "",
        folder=str(study.folder.resolve()),
        marks=str(study.results.resolve() / "marks"),
        has_spans=study.has_spans,
        asked=tuple(
            (asked.conditions.index(each), experiment.splits.get(condition.variant, (0, ""))[0])
            for condition, each in zip(experiment.conditions, experiment.asked, strict=True)
            if not condition.follow_up
        ),
        parts=()
        if asked is experiment
        else tuple(
            (row, *place[2:]) for row, item in enumerate(experiment.items) for place in item.parts or [()]
        ),
    )


def _items(study: StudySource) -> pl.DataFrame:
    """The items: ids, gold labels, groups, and their texts and fields."""
    experiment = study.experiment
    items, codes = experiment.items, {*experiment.labels.codes}
    columns: dict[str, list[Any]] = {"item": [item.id for item in items]}
    columns["gold"] = [label if label in codes else None for label in gold_labels(study)]
    for name in experiment.groups:
        columns[GROUP + name] = [item.groups.get(name) for item in items]
    if study.has_texts:
        writer = PromptWriter(experiment.variants[0], experiment.labels)
        columns["text"] = [_shown(writer, item) for item in items]
        by_hand = {*study.gold_columns, *study.spec.items.coders}  # who judges blind must not see these
        fields = (
            {name: value for name, value in item.fields.items() if name not in by_hand} for item in items
        )
        columns["fields"] = [json.dumps(some, default=str) for some in fields]
        columns["media"] = [
            json.dumps([(one.name, one.type, one.sha256) for one in item.media if one.type]) for item in items
        ]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).with_row_index("row")


def _shown(writer: PromptWriter, item: Any) -> str:
    """An item's text as the first variant shows it, without halves of surrogate pairs, which are no text."""
    try:
        return writer.shown(item).encode("utf-8", "replace").decode()
    except QuaverError:
        return ""


# -------------------------------------------------------------------------- progress and verdict


def write_progress(study: StudySource, folder: Path) -> StudyStatus:
    """Write down what is answered, spent and failed."""
    now = StudyStatus(total=study.calls, answered=study.calls)
    if study.spec.annotations is None:
        path = study.files.responses
        if path.exists():
            with only_read(study) as store:
                now = status_in(study, store, who_collects(path.parent))
        else:
            now = status_in(study, None, None)
    names = ("answered", "total", "errors", "rate", "left", "last", "money", "tokens", "warnings")
    write_json(folder / "progress.json", {name: getattr(now, name) for name in names})
    return now


def write_verdict(study: StudySource, parts: AnnotationParts, now: StudyStatus) -> None:
    """Write the report's first screen again where there are new labels."""
    path, noted = parts.folder / "verdict.json", parts.folder / "state.json"
    if parts.frame is None or (path.exists() and path.stat().st_mtime >= noted.stat().st_mtime):
        return
    # Without these the answers are shown a second sooner.
    from quaver.report.estimate_index import Results
    from quaver.report.findings.first_screen import screen_html
    from quaver.report.findings.verdict_card import card
    from quaver.report.page_words import visible
    from quaver.study.analysis.measured_study import MeasuredStudy
    from quaver.study.analysis.study_measures import measurable
    from quaver.study.study_report import resolved

    write_json(path, {"state": "making"})
    try:
        done = now.answered == now.total
        own = None if done and study.filled is None else measurable(study, parts.frame.collect())
        measured = MeasuredStudy(study, own, whole=done)
        known = card(Results(resolved(study, now), measured.frame, (), audit=measured.verdict()))
        document: dict[str, Any] = {"state": "ready", "screen": visible(screen_html(known.screen))}
    except QuaverError as error:
        document = {"state": "failed", "error": error_document(error)}
    write_json(path, document)


def main() -> None:
    """Read the study that the command line names; an error is said as a document."""
    path, folder, field = sys.argv[1:]
    os.nice(5)
    try:
        keep(Path(path), Path(folder), field, follow=True)
    except QuaverError as error:
        sys.exit(_json(error_document(error)))


if __name__ == "__main__":
    main()
