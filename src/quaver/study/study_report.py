"""A study's report, charts, methods paragraph and verdict, from its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quaver.collect.run.ledger import instruments
from quaver.core.records import Estimate
from quaver.report.charts.figures import charts as chart_objects
from quaver.report.estimate_index import Results
from quaver.report.findings.verdict_card import Card, card, card_of_fields
from quaver.report.page.html_page import write_fields_page, write_report
from quaver.report.page.paper_parts import Paper, paper_parts
from quaver.report.tables.study_tables import cost_table
from quaver.study.analysis.measured_fields import MeasuredFields, in_field
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.report_evidence import evidence_of
from quaver.study.analysis.study_acceptance import shown_acceptance
from quaver.study.collection.study_status import StudyStatus, status
from quaver.study.gold_sample.gold_status import described
from quaver.study.sources.bundle_source import Bundle
from quaver.study.sources.kept_results import file_mark, kept
from quaver.study.sources.outgoing_check import check_outgoing, written_report
from quaver.study.sources.study_folder import FIELDS, StudyFolder
from quaver.study.sources.study_source import StudySource


def verdict(study: StudySource, now: StudyStatus | None = None) -> Card:
    """The verdict on a study's labels as a card; of fields, that of each with the worst in the headline."""
    parts = MeasuredFields.of(study).parts
    return card_of_fields(
        {name: _card(part, resolved(part.study, now, part.mark)) for name, part in parts.items()}
    )


def _card(measured: MeasuredStudy, lock: Mapping[str, Any]) -> Card:
    return card(Results(lock, measured.frame, (), audit=measured.verdict()))


def resolved(study: StudySource, now: StudyStatus | None = None, mark: str | None = None) -> dict[str, Any]:
    """What a study resolved to, and what the report shows beside it, as it was kept if nothing has changed.

    That is how its answers came together, how gold labels were drawn, and the digest of its bundle, if any.
    """

    def made() -> dict[str, Any]:
        shown = study.lock() | {"collection": _collected(study, now)}
        sample = study.gold_sample
        if sample.design:
            shown["gold_sample"] = described(sample, study)
        if isinstance(study, Bundle) and study.opened.digest:
            shown["bundle"] = study.opened.digest
        return shown

    if now is not None:
        return made()
    before = file_mark(study.files.responses.with_name("study.lock.json"))
    return dict(kept({study.gold_field: study}, "design", before, made, mark))


def _collected(study: StudySource, now: StudyStatus | None) -> dict[str, Any]:
    """How the answers came together: how many there are, when, what they cost, what to know of them."""
    if not study.files.responses.exists():
        return {}
    now = now or status(study)
    with study.answers() as store, store.at_once():
        instrument = instruments(store)
    collected = {
        "reused": dict(now.reused),
        "warnings": now.warnings,
        "outside": now.outside,
        "answered": now.answered,
        "total": now.total,
        "date": None if now.last is None else datetime.fromtimestamp(now.last, UTC).strftime("%-d %B %Y"),
        "money": now.money,
    }
    return collected | ({"instrument": instrument} if instrument else {})


def report(study: StudySource, folder: Path) -> Path:
    """Write a study's report to a folder; its path."""
    (path, *_), _ = written_pages(MeasuredFields.of(study), folder)
    check_outgoing(written_report(path))
    return path


def written_pages(
    fields: MeasuredFields, folder: Path, *, packed: bool = False
) -> tuple[list[Path], list[Estimate]]:
    """Write the report of a study, and those of its fields in folders of their own.

    Args:
        fields: What is measured.
        folder: Where to.
        packed: Whether they go into a bundle: without figures beside them, and without its digest.

    Returns:
        The reports' paths, and what was measured.
    """
    cards, links, pages, estimates = {}, {}, list[Path](), list[Estimate]()
    for name, measured in fields.parts.items():
        lock, own = resolved(measured.study, mark=measured.mark), measured.estimates()
        if packed:
            lock.pop("bundle", None)
        home = folder / FIELDS / name if name else folder
        page = _written(measured, home, lock, own, figures=not packed)
        if not name:
            return [page], own
        pages.append(page)
        cards[name], links[name] = _card(measured, lock), page.relative_to(folder).as_posix()
        estimates += in_field(own, name)
    study = fields.study
    first = write_fields_page(folder, study.spec.name, cards, links, estimates, study.experiment.notes)
    return [first, *pages], estimates


def _written(
    measured: MeasuredStudy,
    folder: Path,
    lock: Mapping[str, Any],
    estimates: Sequence[Estimate],
    *,
    figures: bool,
) -> Path:
    """Write a report; its path."""
    study, frame = measured.study, measured.frame
    with evidence_of(study) as behind:
        return write_report(
            folder,
            lock={**lock, **shown_acceptance(study, frame), **_watched(study, folder)},
            annotations=frame,
            estimates=estimates,
            audit=[*measured.audit(), *measured.charts()],
            deviations=measured.deviations(),
            behind=behind,
            figures=figures,
        )


def _watched(study: StudySource, folder: Path) -> dict[str, Any]:
    """The report's entry on the study's watch, whose page is beside the report; empty without one."""
    looks = StudyFolder(study.files.watch).read("occasions.json").get("occasions")
    if not looks or folder.resolve() != study.files.path.resolve():
        return {}
    first, last = looks[0], looks[-1]
    seen = {"looks": len(looks), "since": first["time"], "last": last["time"]}
    return {"watched": seen | {"alarms": last.get("alarms", [])}}


def charts(study: StudySource, width: int) -> dict[str, Any]:
    """The report's charts by name, so many pixels wide."""
    measured = MeasuredStudy(study)
    results = Results(study.lock(), measured.frame, measured.estimates(), audit=measured.charts())
    return chart_objects(results, width)


def paper(study: StudySource) -> Paper:
    """The table, the paragraph and the references of a study."""
    measured = MeasuredStudy(study)
    frame = measured.frame
    with evidence_of(study) as behind:
        paid = cost_table(behind.costs())
    estimates = measured.estimates()
    lock = resolved(study) | shown_acceptance(study, frame)
    results = Results(lock, frame, estimates, audit=[*measured.audit(), *measured.verdict()])
    return paper_parts(results, paid)
