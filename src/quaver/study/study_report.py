"""A study's report and charts, from its source."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quaver.report.charts import figures
from quaver.report.charts.offline import offline
from quaver.report.page.html_page import write_report
from quaver.study.analysis.chart_estimates import deviating
from quaver.study.analysis.report_evidence import StoredBehind
from quaver.study.analysis.study_certification import certified
from quaver.study.analysis.study_estimates import (
    estimates_of_audit,
    estimates_of_charts,
    estimates_of_study,
    evaluators_of,
    measurable,
)
from quaver.study.sources.outgoing_check import check_outgoing, written_report
from quaver.study.sources.study_source import StudySource
from quaver.study.study_verdict import resolved


def report(study: StudySource, folder: Path) -> Path:
    """Write a study's report to a folder; its path."""
    frame = measurable(study)
    with ExitStack() as opened:
        stored = study.files.responses.exists()
        store = opened.enter_context(study.answers()) if stored else None
        path = write_report(
            folder,
            lock=resolved(study),
            annotations=frame,
            estimates=certified(study, estimates_of_study(study, None, frame), frame),
            noise={name: [asdict(row) for row in rows] for name, rows in study.files.read_noise().items()},
            audit=[*estimates_of_audit(study, frame), *estimates_of_charts(study, frame)],
            deviations=deviating(evaluators_of(study), frame),
            behind=StoredBehind(study.experiment, store, study.prices, study.spent_on_paraphrases()),
        )
    check_outgoing(written_report(path))
    return path


def charts(study: StudySource, width: int) -> dict[str, Any]:
    """The report's charts by name, so many pixels wide."""
    frame = measurable(study)
    drawn = figures.charts(
        lock=study.lock(),
        annotations=frame,
        estimates=estimates_of_study(study, None, frame),
        further=estimates_of_charts(study, frame),
        width=width,
    )
    return {name: offline(chart) for name, chart in drawn.items()}
