"""Items that come in groups: intervals that take them for independent are too narrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

from quaver.core.number_format import percent, rounded
from quaver.core.records import Estimate
from quaver.report.measure_words import presentation_of

_COPIES = "near_duplicates"


@dataclass(frozen=True, slots=True)
class Clusters:
    """Groups of items that are labelled alike, and that no interval resamples.

    Attributes:
        kind: ``columns``: items share a value of a column. ``copies``: their texts are nearly the same.
        column: What to declare as the study's group.
        estimate: The intraclass correlation, and in its details the design effect (``effect``), the
            ``quantity`` of the items that it is about, and some of the study's estimates with both intervals
            (``again``).
    """

    kind: Literal["columns", "copies"]
    column: str
    estimate: Estimate

    @property
    def wider(self) -> float:
        """By what factor intervals over the groups are wider, roughly: the root of the design effect."""
        return sqrt(float(self.estimate.details["effect"]))


def clusters(estimates: Iterable[Estimate]) -> tuple[Clusters, ...]:
    """The groups that are real, those that matter most first.

    Args:
        estimates: Those of `quaver.measures.validity.item_clusters` among them.
    """
    real = [one for one in estimates if one.measure == "item_clusters" and one.details.get("clustered")]
    columns = {one.cell["column"]: one for one in real}  # the audit's and the study's own are the same
    found = [Clusters("copies" if name == _COPIES else "columns", name, one) for name, one in columns.items()]
    return tuple(sorted(found, key=lambda one: -one.wider))


def cluster_line(one: Clusters) -> str:
    """The finding in words: what is alike, what it does to intervals, and what to do.

    >>> details = {"effect": 4.0, "quantity": "accuracy", "groups": 15, "clustered": True}
    >>> like = Estimate("item_clusters", 0.33, 0.2, 0.6, n=150, cell={"column": "author"}, details=details)
    >>> print(cluster_line(clusters([like])[0]))  # doctest: +NORMALIZE_WHITESPACE
    Items of one author are labelled alike: the intraclass correlation of their accuracy is 0.33 [0.20 to
    0.60], 150 items in 15 groups. Its intervals are too narrow where items are resampled, by a factor of
    about 2.0. To resample these groups, put `group: author` under items.
    """
    like, details = one.estimate, one.estimate.details
    who = f"Items of one {one.column}" if one.kind == "columns" else "Items whose texts are nearly the same"
    ends = (
        f" [{rounded(like.low)} to {rounded(like.high)}]"
        if like.low is not None and like.high is not None
        else ""
    )
    said = (
        f"{who} are labelled alike: the intraclass correlation of their {details['quantity']} is "
        f"{rounded(like.value or 0.0)}{ends}, {like.n:,} items in {details['groups']:,} groups. Its "
        f"intervals are too narrow where items are resampled, by a factor of about {one.wider:.1f}"
    )
    shown = "; ".join(_both(row) for row in details.get("again", ()))
    shown = f": {shown}" if shown else ""
    under = details.get("under", "items")
    return f"{said}{shown}. To resample these groups, put `group: {one.column}` under {under}."


def _both(row: Mapping[str, Any]) -> str:
    """An estimate with its interval as it is, and as it would be."""
    shares = presentation_of(row["measure"]).in_percent
    written = percent if shares else rounded
    of = ", ".join(f"{column} {level}" for column, level in row["cell"].items() if column != "estimand")
    scope = f", {row['scope']}," if row.get("scope") else ""
    now, then = (f"[{written(low)} to {written(high)}]" for low, high in (row["now"], row["grouped"]))
    return f"{row['measure']}{f' ({of})' if of else ''}{scope} {written(row['value'])} {now} becomes {then}"
