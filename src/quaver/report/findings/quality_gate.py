"""The gate in words: what is wrong with the answers, before anything is said of the labels.

The report and the commands print these same lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quaver.core.column_names import in_words
from quaver.core.number_format import percent, with_interval
from quaver.report.findings.effect_sentences import cluster_line
from quaver.report.findings.verdicts import Issue, Quality

_STATUSES = {"no_label": "no label found", "valid": "valid, but without a label"}
_RANGE = 0.1
"""Where the share without a label differs by this much between a factor's levels, these are named."""


def quality_lines(quality: Quality) -> list[str]:
    """A sentence for each thing that is wrong with a model's answers, and for items that come in groups.

    >>> from quaver.core.records import Estimate
    >>> from quaver.report.findings.verdicts import quality
    >>> counts = {"times": 30, "calls": 100}
    >>> quality_lines(quality([Estimate("failed_calls", 0.3, 0.2, 0.4, cell={"model": "m"}, details=counts)]))
    ['30% [20% to 40%] of the calls ended in an error (30 of 100).']
    """
    several = len(quality.models) > 1
    return [*(_line(one, several) for one in quality.issues), *map(cluster_line, quality.clusters)]


def _line(issue: Issue, several: bool) -> str:
    details = issue.estimate.details
    of = f" of “{issue.model}”" if several else ""
    share, times = (
        with_interval(issue.estimate),
        f"{details.get('times', 0):,} of {details.get('calls', 0):,}",
    )
    if issue.kind == "failed_calls":
        return f"{share} of the calls{of} ended in an error ({times})."
    if issue.kind == "truncated_answers":
        bare = details.get("unlabelled", 0)
        lost = f"; {bare:,} of these have no label: raise it" if bare else ""
        return f"{share} of the answers{of} were cut off at max_tokens ({times}){lost}."
    statuses = details.get("statuses", {})
    named = (f"{_STATUSES.get(name, name)} {n:,}" for name, n in statuses.items())
    why = ", ".join(named) if len(statuses) > 1 else ""
    return (
        f"{share} of the answers{of} have no label ({times}{f': {why}' if why else ''}){_by_level(details)}."
    )


def _by_level(details: Mapping[str, Any]) -> str:
    """Between which levels of a factor the share ranges, where it does."""
    shares: Mapping[str, float] = details.get("shares", {})
    if not shares or max(shares.values()) - min(shares.values()) < _RANGE:
        return ""
    least, *_, most = sorted(shares, key=lambda level: shares[level])
    by = in_words(details["by"])
    return f"; by {by}, from {percent(shares[least])} ({least}) to {percent(shares[most])} ({most})"
