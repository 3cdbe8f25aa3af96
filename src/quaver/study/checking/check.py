"""``quaver.check``: from a table of texts to a verdict on a model's labels, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from quaver.core.arguments import guarded, taking
from quaver.core.label_decisions import Decision
from quaver.report.findings.verdict_card import Card
from quaver.study.checking.check_design import PreparedCheck, prepared_check, run_agreed
from quaver.study.checking.check_options import CheckOptions
from quaver.study.session import Study


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found; prints as the verdict's three lines and where the report is.

    Attributes:
        study: The study, to measure, export or run on.
        verdict: May the labels be used, what moves them, what to do next.
        report: The report, an HTML file.
        file: The study file that the check left behind.
        taken: What each column was taken for, and what else was decided.
    """

    study: Study
    verdict: Card
    report: Path
    file: Path
    taken: tuple[Decision, ...]

    def __str__(self) -> str:
        return f"{self.verdict}\nThe report: {self.report}\nThe study file: {self.file}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        paths = f"The report: {escape(str(self.report))}<br>The study file: {escape(str(self.file))}"
        return f"{self.verdict._repr_html_()}<p>{paths}</p>"


@guarded
@taking(CheckOptions)
def check(data: Any, *, yes: bool = False, **options: Unpack[CheckOptions]) -> Check:
    """Check whether you may use the labels that a model gives to your texts.

    Asks the model about a sample of the texts, with the instruction in other words, with the labels in two
    orders, and more than once; then judges how far the labels stay the same and, where you have true
    labels, how often they are right. It leaves a study file behind to go on from. Whatever was asked is kept:
    the same check again asks nothing.

    Args:
        data: The texts: a table's path, a data frame, or a list.
        yes: Whether to ask a model that costs money.
        **options: Those of `CheckOptions`: ``text``, ``labels``, ``model`` …

    Returns:
        The verdict, the report's path, and the study.

    Raises:
        QuaverError: A column, a label or a model is not there, or the model costs money and neither ``yes``
            nor ``budget`` agrees to it.
    """
    prepared = prepared_check(data, **options)
    run_agreed(prepared.study, agreed=yes or bool(options.get("budget")))
    return judged(prepared)


def judged(prepared: PreparedCheck) -> Check:
    """The verdict on what a check has collected, with its report written."""
    study = prepared.study
    return Check(study, study.verdict(), study.report(), prepared.file, prepared.taken)
