"""The gate before every verdict: whether the answers can be judged at all, and items that come in groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from quaver.core.records import Estimate
from quaver.core.rows import Rows, by_level, defined, levels_in, of_measures, short_lines

ISSUES: Final = ("failed_calls", "unlabelled_answers", "truncated_answers")
_HALF: Final = 0.5
_NOTED, _CAUTION = 0.01, 0.05


def clusters(estimates: Iterable[Estimate]) -> tuple[Estimate, ...]:
    """The groups of items that are labelled alike and that no interval resamples, the worst first.

    Each is an intraclass correlation; its column is what to declare as the study's group, or
    ``near_duplicates``. Intervals over the groups are wider, by about the root of its design effect.
    """
    screened = of_measures(estimates, "item_clusters")
    real = [estimate for estimate in screened if estimate.details.get("clustered")]
    once = by_level(real, "column").values()  # the audit's and the study's own are the same
    return tuple(sorted(once, key=lambda estimate: -float(estimate.details["effect"])))


@dataclass(frozen=True, slots=True)
class Quality(Rows):
    """Whether the answers can be judged at all.

    Attributes:
        issues: The shares of calls that failed, gave no label or were cut off, the models in their order;
            nothing that concerns fewer than 1% of the calls.
        models: All models that have answers.
        clusters: The groups of items that intervals take for independent.
    """

    issues: tuple[Estimate, ...] = ()
    models: tuple[str, ...] = ()
    clusters: tuple[Estimate, ...] = ()

    def __repr__(self) -> str:
        lines = [f"{row['model']}: {row['kind'].replace('_', ' ')}, {row['severity']}" for row in self.rows()]
        return short_lines(lines, "issues") if lines else "nothing is wrong with the answers"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each issue: its kind, model, severity and share, with the share's interval."""
        rows = []
        for issue in self.issues:
            about = {"kind": issue.measure, "model": issue.cell["model"], "severity": severity(issue)}
            rows.append({**about, "share": issue.value, "low": issue.low, "high": issue.high})
        return rows


def quality(estimates: Iterable[Estimate]) -> Quality:
    """The gate.

    >>> share = Estimate("failed_calls", 0.3, 0.2, 0.4, cell={"model": "m"})
    >>> [(issue.measure, severity(issue)) for issue in quality([share]).issues]
    [('failed_calls', 'caution')]
    """
    estimates = list(estimates)
    known = of_measures(defined(estimates), *ISSUES)
    models = tuple(levels_in(known, "model"))
    noted = [estimate for estimate in known if estimate.number >= _NOTED]
    issues = tuple(sorted(noted, key=lambda estimate: models.index(estimate.cell["model"])))
    return Quality(issues, models, clusters(estimates))


def severity(issue: Estimate) -> Literal["note", "caution", "stop"]:
    """How bad an issue is: ``stop`` from half of the calls on, ``caution`` from one in twenty."""
    return "stop" if issue.number >= _HALF else "caution" if issue.number >= _CAUTION else "note"
