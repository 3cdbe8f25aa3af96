"""The gate before every verdict: whether the answers can be judged at all, and items that come in groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final, Literal

from quaver.core.records import Estimate
from quaver.core.rows import Rows, defined, of_measures, short_lines

_HALF: Final = 0.5
_NOTED, _CAUTION = 0.01, 0.05
ISSUES: Final = ("failed_calls", "unlabelled_answers", "truncated_answers")

_COPIES = "near_duplicates"


@dataclass(frozen=True, slots=True)
class Clusters:
    """Groups of items that are labelled alike, and that no interval resamples.

    Attributes:
        kind: ``columns``: items share a value of a column. ``copies``: their texts are nearly the same.
        column: What to declare as the study's group.
        estimate: The intraclass correlation, and in its details the design effect (``effect``) and the
            ``quantity`` of the items that it is about.
    """

    kind: Literal["columns", "copies"]
    column: str
    estimate: Estimate

    @property
    def wider(self) -> float:
        """By what factor intervals over the groups are wider, roughly: the root of the design effect."""
        return sqrt(float(self.estimate.details["effect"]))


def clusters(estimates: Iterable[Estimate]) -> tuple[Clusters, ...]:
    """The groups that are real, those that matter most first."""
    real = [
        estimate for estimate in of_measures(estimates, "item_clusters") if estimate.details.get("clustered")
    ]
    columns = {
        estimate.cell["column"]: estimate for estimate in real
    }  # the audit's and the study's own are the same
    found = [
        Clusters("copies" if name == _COPIES else "columns", name, estimate)
        for name, estimate in columns.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.wider))


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong with a model's answers.

    Attributes:
        kind: ``failed_calls``, ``unlabelled_answers`` or ``truncated_answers``.
        model: Whose.
        severity: ``stop`` from half of the calls on, ``caution`` from one in twenty, ``note`` below.
        estimate: The share of all calls, with its interval; how many stands in its details.
    """

    kind: str
    model: str
    severity: Literal["note", "caution", "stop"]
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Quality(Rows):
    """Whether the answers can be judged at all.

    Attributes:
        issues: What is wrong, the models in their order; nothing that concerns fewer than 1% of the calls.
        models: All models that have answers.
        clusters: The groups of items that intervals take for independent.
    """

    issues: tuple[Issue, ...] = ()
    models: tuple[str, ...] = ()
    clusters: tuple[Clusters, ...] = ()

    def __repr__(self) -> str:
        lines = [f"{issue.model}: {issue.kind.replace('_', ' ')}, {issue.severity}" for issue in self.issues]
        return short_lines(lines, "issues") if lines else "nothing is wrong with the answers"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each issue: its kind, model, severity and share, with the share's interval."""
        return [
            {
                "kind": issue.kind,
                "model": issue.model,
                "severity": issue.severity,
                "share": issue.estimate.value,
                "low": issue.estimate.low,
                "high": issue.estimate.high,
            }
            for issue in self.issues
        ]

    def of(self, model: str) -> dict[str, Issue]:
        """A model's issues by kind."""
        return {issue.kind: issue for issue in self.issues if issue.model == model}


def quality(estimates: Iterable[Estimate]) -> Quality:
    """The gate.

    >>> share = Estimate("failed_calls", 0.3, 0.2, 0.4, cell={"model": "m"})
    >>> [(one.kind, one.severity) for one in quality([share]).issues]
    [('failed_calls', 'caution')]
    """
    estimates = list(estimates)
    known = of_measures(defined(estimates), *ISSUES)
    models = tuple(dict.fromkeys(estimate.cell["model"] for estimate in known))
    return Quality(
        tuple(
            Issue(estimate.measure, model, _severity(estimate.number), estimate)
            for model in models
            for estimate in known
            if estimate.cell["model"] == model and estimate.number >= _NOTED
        ),
        models,
        clusters(estimates),
    )


def _severity(share: float) -> Literal["note", "caution", "stop"]:
    return "stop" if share >= _HALF else "caution" if share >= _CAUTION else "note"
