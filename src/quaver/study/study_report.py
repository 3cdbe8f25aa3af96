"""A study's report, charts, methods paragraph and verdict, from its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quaver.collect.run.ledger import instruments
from quaver.core.annotations import FIELD
from quaver.core.records import Estimate
from quaver.report.charts.figures import charts as chart_objects
from quaver.report.estimate_index import Results
from quaver.report.findings.verdict_card import Card, card, card_of_fields
from quaver.report.page.fields_page import write_fields_page
from quaver.report.page.html_page import write_report
from quaver.report.page.paper_parts import Paper, paper_parts
from quaver.report.tables.study_tables import cost_table
from quaver.study.analysis.measured_fields import MeasuredFields
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.report_evidence import evidence_of
from quaver.study.analysis.study_acceptance import shown_acceptance
from quaver.study.collection.study_status import StudyStatus, status
from quaver.study.gold_sample.gold_status import described
from quaver.study.sources.bundle_source import Bundle
from quaver.study.sources.outgoing_check import check_outgoing, written_report
from quaver.study.sources.study_folder import FIELDS, StudyFolder
from quaver.study.sources.study_source import StudySource


def verdict(study: StudySource, now: StudyStatus | None = None) -> Card:
    """The verdict on a study's labels as a card; of fields, that of each with the worst in the headline."""
    cards = {}
    for name, measured in MeasuredFields(study).parts.items():
        lock = resolved(measured.study, now)
        cards[name] = card(Results(lock, measured.frame, (), audit=measured.verdict()))
    return card_of_fields(cards)


def resolved(study: StudySource, now: StudyStatus | None = None) -> dict[str, Any]:
    """What the study resolved to, with how its answers came together and the digest of its bundle, if any."""
    digest = study.opened.digest if isinstance(study, Bundle) else ""
    return study.lock() | shown_with(study, now) | ({"bundle": digest} if digest else {})


def shown_with(study: StudySource, now: StudyStatus | None = None) -> dict[str, Any]:
    """What the report shows beside the lock: how answers came together, and how gold labels were drawn."""
    shown = {"collection": collected(study, now)}
    state = study.gold_files.state()
    return shown | ({"gold_sample": described(state, study.experiment.labels)} if state.design else {})


def collected(study: StudySource, now: StudyStatus | None = None) -> dict[str, Any]:
    """How the answers came together: how many there are, when, what they cost, what to know of them."""
    if not study.files.responses.exists():
        return {}
    now = now or status(study)
    with study.answers() as store, store.at_once():
        instrument = instruments(store)
    return {
        **({"instrument": instrument} if instrument else {}),
        "reused": dict(now.reused),
        "warnings": now.warnings,
        "outside": now.outside,
        "answered": now.answered,
        "total": now.total,
        "date": None if now.last is None else datetime.fromtimestamp(now.last, UTC).strftime("%-d %B %Y"),
        "money": now.money,
    }


def report(study: StudySource, folder: Path) -> Path:
    """Write a study's report to a folder; its path."""
    fields = MeasuredFields(study)
    if (measured := fields.parts.get("")) is None:
        path, _ = written_fields(fields, folder)
    else:
        path = written(measured, folder, resolved(study), measured.estimates())
    check_outgoing(written_report(path))
    return path


def written_fields(
    fields: MeasuredFields, folder: Path, *, flat: bool = False
) -> tuple[Path, list[Estimate]]:
    """Write the report of a study with fields, and that of each field; its path, and what was measured.

    A field's report is in a folder of its own; for an archive, which has none, it is ``report-FIELD.html``
    without figures beside it.
    """
    cards, links, estimates = {}, {}, list[Estimate]()
    for name, measured in fields.parts.items():
        lock, own = resolved(measured.study), measured.estimates()
        home = folder / FIELDS / name
        home.mkdir(parents=True, exist_ok=True)
        path = written(measured, home, lock, own, figures=not flat)
        path = path.rename(folder / f"report-{name}.html") if flat else path
        cards[name] = card(Results(lock, measured.frame, (), audit=measured.verdict()))
        links[name] = path.relative_to(folder).as_posix()
        estimates += [replace(estimate, cell={FIELD: name, **estimate.cell}) for estimate in own]
    study = fields.study
    page = write_fields_page(folder, study.spec.name, cards, links, estimates, study.experiment.notes)
    return page, estimates


def written(
    measured: MeasuredStudy,
    folder: Path,
    lock: Mapping[str, Any],
    estimates: Sequence[Estimate],
    *,
    figures: bool = True,
) -> Path:
    """Write a report; its path."""
    study, frame = measured.study, measured.frame
    accepted = shown_acceptance(study, frame)
    with evidence_of(study) as behind:
        return write_report(
            folder,
            lock={**lock, **accepted, **_watched(study, folder)},
            annotations=frame,
            estimates=estimates,
            audit=[*measured.audit(), *measured.charts()],
            deviations=measured.deviations(),
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
    measured = MeasuredStudy(study)
    return chart_objects(
        lock=study.lock(),
        annotations=measured.frame,
        estimates=measured.estimates(),
        further=measured.charts(),
        width=width,
    )


def paper(study: StudySource) -> Paper:
    """The table, the paragraph and the references of a study."""
    measured = MeasuredStudy(study)
    frame = measured.frame
    with evidence_of(study) as behind:
        paid = cost_table(behind.costs())
    estimates = measured.estimates()
    lock = resolved(study) | shown_acceptance(study, frame)
    results = Results(lock, frame, estimates, audit=measured.audit())
    return paper_parts(results, paid)
