"""How a study's measures behave in simulated studies like it: taken, kept in its folder, and shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from quaver.core.records import Estimate, Numbers
from quaver.core.rows import Rows, short_lines
from quaver.errors import QuaverError
from quaver.estimation.declaration import Measure
from quaver.study.analysis.hidden_clusters import clustered, with_column
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.study_measures import measurable, measurements
from quaver.study.sources.conclusion_measures import CONCLUSIONS
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

if TYPE_CHECKING:
    from quaver.certification.certificate import Asked, Certificate

FILE: Final = "certified.json"
QUICK = 50.0
"""Seconds that a quick certificate takes, without what it takes to begin and to end."""
EXACT = 2000
"""Replications of an exact one: a Monte-Carlo error of half a point."""
_RESAMPLES = 400
_FEW = 20
"""So few studies are simulated before another process has begun."""
_KEYS = ("item", "model", "variant", "decoding", "repeat", "evaluator", "label", "gold")


@dataclass(frozen=True, slots=True)
class StudyCertificate(Rows):
    """A study's certificate.

    Attributes:
        certificate: How its measures behave in simulated studies like it.
        estimates: The study's own estimates, in the order of the certificate's places.
        resamples: Bootstrap resamples of the simulated studies' intervals.
        undeclared: The column in whose groups items are labelled alike though the study does not declare it;
            the simulated items come in such groups too. Empty where there is none.
    """

    certificate: Certificate
    estimates: tuple[Estimate, ...]
    resamples: int | None
    undeclared: str = ""

    def __repr__(self) -> str:
        lines = [f"{line.name} ({line.estimand}): {line.verdict}" for line in self.certificate.lines]
        return short_lines([f"{self.certificate.replications:,} simulated studies", *lines], "measures")

    def rows(self) -> list[dict[str, Any]]:
        """A row for each measure and estimand: coverage, width, error rates, each with its error."""
        return [
            {name: value for name, value in line.document().items() if not isinstance(value, dict)}
            for line in self.certificate.lines
        ]


def certify(
    study: StudySource, *, replications: int | None = None, exact: bool = False, processes: int | None = None
) -> StudyCertificate:
    """Certify a study's measures, and keep the certificate in its folder where it has one."""
    from quaver.certification.certificate import ResampledStudies, StudyWork  # few studies need them
    from quaver.certification.processes import certify as replicated
    from quaver.certification.simulated_study import SimulatedStudies

    frame = measurable(study)
    taken = measurements(study, None, frame)
    asked, left_out = _asked(taken)
    if not asked or frame.is_empty():
        raise QuaverError(
            "there is nothing to certify",
            where=study.where,
            expected="answers, and measures that need no raw answers",
            found=f"{frame.height:,} annotations, {len(asked)} such measures",
        )
    groups = [measurement.options.get("group") for measurement in taken] + [
        conclusion.group for conclusion in study.spec.conclusions
    ]
    group = study.spec.group or next((name for name in groups if name), None)
    hidden, labels = "", study.experiment.labels
    drawn: Callable[..., SimulatedStudies] = partial(SimulatedStudies, labels=labels.codes)
    drawn = ResampledStudies if isinstance(labels, Numbers) else drawn
    if group is None and (estimates := clustered(MeasuredStudy(study, frame).clusters)):
        hidden = max(estimates, key=lambda estimate: float(estimate.details["effect"])).cell["column"]
        alone = pl.col("item").cast(pl.String)
        grouped = with_column(study, frame, hidden).with_columns(pl.col(hidden).fill_null(alone))
        studies = drawn(grouped, group=hidden)
    else:
        studies = drawn(frame, group=group)
    resamples = None if exact else _RESAMPLES
    options = {} if resamples is None else {"resamples": resamples}
    worker = StudyWork(asked, studies, options, study.spec.seed)
    worker.failed.update(left_out)
    certificate = replicated(
        worker,
        seconds=None if exact or replications else QUICK,
        replications=replications or (EXACT if exact else None),
        processes=processes or (1 if replications and replications < _FEW else os.cpu_count() or 1),
    )
    if study.keeps_results:
        document = {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "quaver": version("quaver"),
            "fingerprint": _fingerprint(frame, taken),
            "resamples": resamples,
            "undeclared": hidden,
            **certificate.document(),
        }
        study.files.write(FILE, document)
    return StudyCertificate(certificate, tuple(worker.own.values()), resamples, hidden)


def _asked(taken: Sequence[Measurement]) -> tuple[list[Asked], dict[str, str]]:
    """The measures that can be taken of simulated answers, and why others cannot."""
    from quaver.certification.certificate import Asked

    found: list[Asked] = []
    left_out = {}
    for measurement in taken:
        title = _title(measurement, [other.name for other in found])
        if measurement.failed is not None:
            left_out[title] = measurement.failed.problem
        elif isinstance(measurement.plugin, Measure) and measurement.plugin.reads_outputs:
            left_out[title] = "it reads raw answers, which are not simulated"
        else:
            found.append(Asked(title, measurement.of, reads_items=measurement.measure == CONCLUSIONS))
    return found, left_out


def _title(measurement: Measurement, taken: Sequence[str]) -> str:
    """A measure's name, with what tells it from the study's others of that name."""
    name = str(measurement.options.get("name") or measurement.measure)
    if name not in taken:
        return name
    apart = ", ".join(
        [name, *measurement.named.values(), *([measurement.evaluator] if measurement.evaluator else [])]
    )
    return apart if apart not in taken else f"{apart} ({len(taken) + 1})"


def _fingerprint(frame: pl.DataFrame, taken: Sequence[Measurement]) -> str:
    """Of the labels that were measured, and of how: another one's certificate is out of date."""
    made = blake2b(digest_size=16)
    known = frame.select(pl.col(name).cast(pl.String) for name in _KEYS if name in frame.columns)
    made.update(known.write_csv().encode())
    for measurement in taken:
        options = {k: v for k, v in sorted(measurement.options.items()) if k not in ("items", "labels")}
        made.update(
            repr(
                (measurement.measure, measurement.evaluator, options, measurement.flagged, measurement.only)
            ).encode()
        )
    return made.hexdigest()


def certified(study: StudySource, estimates: Sequence[Estimate], frame: pl.DataFrame) -> list[Estimate]:
    """The estimates, with ``certified`` in the details of those that the study's certificate is about.

    That is ``coverage`` of the interval in simulated studies, its Monte-Carlo ``error``, the number of
    ``replications``, and ``rejected``, how often the test rejects a true null hypothesis. A certificate of
    other answers, or other measures, is passed over.
    """
    document = study.files.read(FILE)
    if not document or document.get("fingerprint") != _fingerprint(frame, measurements(study, None, frame)):
        return list(estimates)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in document["places"]:
        found[one["name"], one["cell"]] = {
            "coverage": one["coverage"],
            "error": one["coverage_error"],
            "replications": one["replications"],
            **({"rejected": one["rejected"]} if one["rejected"] is not None else {}),
        }
    return [_with(estimate, found.get((estimate.measure, _cell(estimate)))) for estimate in estimates]


def _with(estimate: Estimate, said: dict[str, Any] | None) -> Estimate:
    if said is None or said["coverage"] is None or estimate.low is None:
        return estimate
    return replace(estimate, details={**estimate.details, "certified": said})


def _cell(estimate: Estimate) -> str:
    from quaver.certification.certificate import cell_of

    return cell_of(estimate)
