"""Paired differences in accuracy between conditions: the same items, asked in two ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from quaver.core.records import Estimate
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats, Units
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import differing, ratio
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.reading import Judged, Reading, judge, treatment
from quaver.estimation.signature import guarded
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

_MCNEMAR = (
    "McNemar (1947), Psychometrika 12, 153-157; clustered: Durkalski et al. (2003), Stat. in Med. 22, 2417"
)


@measure(
    title="How much more often one is correct than another, on the same items",
    axis="difference in accuracy",
    section="accuracy",
    unit="difference",
    better="higher",
    null=0.0,
    source=_MCNEMAR,
    missing=("wrong", "drop"),
    compares=("variant", "text"),
    estimands=("fixed", "population", "next"),
)
def differences(
    reading: Reading,
    *,
    between: str | Sequence[str] = "variant",
    reference: str | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """Each condition's accuracy less that of a reference, or of all others, on the same items.

    Mean over items of d_u = (share right in the condition) − (share right in the reference; without one,
    the mean over the other conditions), over items that both answered. Paired: the interval resamples
    items, each with both its sides. Undefined where there are fewer than two conditions, or no such items.

    In ``details``: ``p`` of McNemar's test (see `mcnemar`), and ``p_holm``, adjusted for the comparisons
    in the cell (Holm 1979), which the interval is not; ``accuracy`` and ``reference_accuracy`` on these
    items.

    Args:
        between: The column (or columns) whose values are the conditions: ``"variant"``, ``"model"``, a
            factor …
        reference: The condition to compare the others with: its columns' values, joined by ``" | "``.

    Returns:
        An estimate for each cell and condition (but the reference); the cell holds the condition.

    Raises:
        UnknownColumn: The reference does not occur.

    Of four items v gets all right and w two: two discordant pairs, all one way, p = 2·0.5² = 0.5:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 2, "variant": ["v"] * 4 + ["w"] * 4,
    ...                       "label": list("aaaa" "aabb"), "gold": ["a"] * 8})
    >>> found = differences(frame, reference="w")[0]
    >>> found.cell, found.value, found.details["p"]
    ({'variant': 'v'}, 0.5, 0.5)
    """
    conditions = (between,) if isinstance(between, str) else tuple(between)
    raters = [role for role in ASKING if role not in conditions]
    method = f"paired difference in accuracy, unanswered {treatment(missing)}"
    for cell in reading.cells(raters=raters, within=conditions, gold=True):
        found = _differences(cell, judge(cell, missing), reference, Statistic(method=method, n=0))
        yield from adjusted([_with_its_test(cell.estimated(one)) for one in found])


def _with_its_test(one: Estimate) -> Estimate:
    """With an interval that holds 0 where McNemar's test, which is exact, does not reject it."""
    if one.low is None or one.high is None or one.details["p"] <= 1 - one.confidence_level:
        return one
    return replace(one, low=min(one.low, 0.0), high=max(one.high, 0.0))


def _differences(cell: Cell, judged: Judged, reference: str | None, said: Statistic) -> Iterator[Statistic]:
    names = [" | ".join(where.values()) for where in cell.strata]
    said = replace(said, excluded=judged.excluded)
    if reference is not None and cell.strata and reference not in names:
        raise UnknownColumn(reference, names, where="reference")
    asked = judged.asked.sum(2).astype(np.float64)
    right = judged.right.sum(2).astype(np.float64)
    if judged.reason or (asked > 0).any(0).sum() < 2:
        yield replace(said, reason=judged.reason or "fewer than two conditions")
        return
    own = np.where(asked > 0, right / np.maximum(asked, 1), np.nan)
    other = _others(own) if reference is None else own[:, [names.index(reference)]]
    apart = own - other
    known = np.isfinite(apart)
    under = ratio(np.where(known, apart, 0), known.astype(float))
    single = bool((asked <= 1).all()) and (reference is not None or len(names) == 2)
    for index, name in enumerate(names):
        if name == reference:
            continue
        some = known[:, index]
        one = replace(said, where=cell.strata[index], n=cell.units.touched(some))
        if not some.any():
            yield replace(one, reason="no items that both answered")
            continue
        beside = np.broadcast_to(other, own.shape)[some, index]
        yield replace(
            one,
            under=under,
            column=index,
            differing=differing(apart[:, index].round(12), cell.units),
            ends=(-1.0, 1.0),
            spread=partial(mean_within, low=-1.0, high=1.0),
            details={
                "against": reference or "the mean of the others",
                **({"hypothesis": "equal accuracy"} if len(names) == 2 else {}),  # either side of one test
                "accuracy": float(own[some, index].mean()),
                "reference_accuracy": float(beside.mean()),
                **mcnemar(apart[some, index], _units(cell.units, some), single=single),
            },
        )


def _others(own: Floats) -> Floats:
    """The mean over the other columns, of those that are defined."""
    known = np.isfinite(own)
    total, count = np.where(known, own, 0).sum(1, keepdims=True), known.sum(1, keepdims=True)
    left = count - known
    rest = total - np.where(known, own, 0)
    return np.asarray(np.where(left > 0, rest / np.maximum(left, 1), np.nan))


def _units(units: Units, some: Any) -> Any:
    return None if units.clusters is None else units.clusters[some]


@guarded
def mcnemar(apart: Floats, clusters: Any = None, *, single: bool = True) -> dict[str, Any]:
    """Whether answers to the same items are right equally often in two conditions.

    With one answer on each side and items on their own: the exact binomial test on the discordant pairs.
    With repeats, or groups of items, the pairs in a unit depend on each other: χ² = (Σ_k d_k)² / Σ_k d_k²
    with one degree of freedom, where d_k is unit k's sum of differences (Durkalski et al. 2003); with one
    pair a unit that is McNemar's own χ².

    Args:
        apart: Each item's share right in one condition less that in the other.
        clusters: Each item's group, where groups are the units.
        single: Whether each item has one answer on each side.

    Returns:
        ``p`` and ``test``; for the exact test ``better`` and ``worse`` (discordant pairs), else ``chi2``.

    Nine items better and one worse, p = 2·(1 + 10)/2¹⁰:

    >>> round(mcnemar(np.array([1.0] * 9 + [-1.0] + [0.0] * 5))["p"] * 1024, 9)
    22.0
    """
    if single and clusters is None:
        better, worse = int((apart > 0).sum()), int((apart < 0).sum())
        tail = float(special.bdtr(min(better, worse), better + worse, 0.5)) if better + worse else 1.0
        return {"p": min(1.0, 2 * tail), "test": "exact McNemar", "better": better, "worse": worse}
    sums = apart if clusters is None else np.bincount(clusters, apart)
    square = float((sums**2).sum())
    chi2 = float(sums.sum() ** 2 / square) if square > 1e-15 else 0.0
    return {"p": float(special.chdtrc(1, chi2)), "test": "McNemar by unit", "chi2": chi2}
