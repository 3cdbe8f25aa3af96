"""A study's report and charts, from its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.records import Estimate
from quaver.report.charts.figures import charts as chart_objects
from quaver.report.charts.svg import offline
from quaver.report.page.html_page import write_report
from quaver.study.analysis.chart_estimates import deviating
from quaver.study.analysis.report_evidence import StoredBehind
from quaver.study.analysis.study_acceptance import curve_estimates, shown_acceptance
from quaver.study.analysis.study_certification import certified
from quaver.study.analysis.study_estimates import (
    estimates_of_audit,
    estimates_of_charts,
    estimates_of_study,
    evaluators_of,
    measurable,
)
from quaver.study.sources.outgoing_check import check_outgoing, written_report
from quaver.study.sources.study_folder import StudyFolder
from quaver.study.sources.study_source import StudySource
from quaver.study.study_verdict import resolved


def report(study: StudySource, folder: Path) -> Path:
    """Write a study's report to a folder; its path."""
    frame = measurable(study)
    path = written(study, folder, resolved(study), frame, estimates_of_study(study, None, frame))
    check_outgoing(written_report(path))
    return path


def written(
    study: StudySource,
    folder: Path,
    lock: Mapping[str, Any],
    frame: pl.DataFrame,
    estimates: Sequence[Estimate],
    *,
    figures: bool = True,
) -> Path:
    """Write a report; its path.

    Args:
        study: The study.
        folder: Where to.
        lock: What it resolved to, as the report shows it.
        frame: Its annotations that can be measured.
        estimates: Of its measures.
        figures: Whether the charts are written as files too.
    """
    with ExitStack() as opened:
        stored = study.files.responses.exists()
        store = opened.enter_context(study.answers()) if stored else None
        behind = StoredBehind(study.experiment, store, study.prices, study.spent_on_paraphrases())
        accepted = shown_acceptance(study, frame)
        return write_report(
            folder,
            lock={**lock, **accepted, **_watched(study, folder)},
            annotations=frame,
            estimates=certified(study, estimates, frame),
            noise={name: [asdict(row) for row in rows] for name, rows in study.files.read_noise().items()},
            audit=[
                *estimates_of_audit(study, frame),
                *estimates_of_charts(study, frame),
                *curve_estimates(accepted),
            ],
            deviations=deviating(evaluators_of(study), frame),
            behind=behind,
            figures=figures,
        )


def _watched(study: StudySource, folder: Path) -> dict[str, Any]:
    """What the report says of the study's watch, where its page lies beside the report; empty without one."""
    looks = StudyFolder(study.files.watch).read("occasions.json").get("occasions")
    if not looks or folder.resolve() != study.files.path.resolve():
        return {}
    first, last = looks[0], looks[-1]
    seen = {"looks": len(looks), "since": first["time"], "last": last["time"]}
    return {"watched": seen | {"alarms": last.get("alarms", [])}}


def charts(study: StudySource, width: int) -> dict[str, Any]:
    """The report's charts by name, so many pixels wide."""
    frame = measurable(study)
    drawn = chart_objects(
        lock=study.lock(),
        annotations=frame,
        estimates=estimates_of_study(study, None, frame),
        further=estimates_of_charts(study, frame),
        width=width,
    )
    return {name: offline(chart) for name, chart in drawn.items()}
