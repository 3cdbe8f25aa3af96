"""How sensitivity is spread over the items, and consistency over the pairs of items, behind their means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quaver.core.records import AND_PROMPT, Estimate
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.measure_protocol import guarded
from quaver.measures.variation.consistency import spread_evenly

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Which quantiles of a distribution are given beside its histogram."""

_METHODS = {
    "sensitivity": "median of the items’ sensitivities",
    "consistency": "median consistency of the pairs of one class",
}


@guarded
def distributions(estimates: Sequence[Estimate], *, bins: int = 20, matrix: int = 0) -> list[Estimate]:
    """The distribution of the items' sensitivity, or of the consistency of the pairs of one class.

    The estimates' value is the median. ``details`` has ``quantiles`` (`QUANTILES`, by their share),
    ``counts`` (how many lie in each of the bins of equal width from 0 to 1, the last edge included) and
    ``values``, how many there are. An item's sensitivity, and a pair's consistency, is its mean over the
    repeats (of each model and decoding). A pair is of two different items. Of classes with more than 300
    items the pairs among 300 are taken, evenly spread over the items; ``details["items"]`` says how many.

    Args:
        estimates: Of `sensitivity` or `consistency`, with ``classes=True, keep=["distribution"]``.
        bins: Bins of the histogram.
        matrix: Up to how many of a class's items ``details["matrix"]`` holds the consistency of each pair of,
            the items in order of their modal label; 0: none.

    Returns:
        Of sensitivity, one estimate for each cell over all items; of both, one for each gold label that has
        any, under ``"class"`` in the cell.

    Raises:
        MeasureError: The estimates are of another measure, or did not keep their distribution.

    One item split two to two over four labels (ln 2 / ln 4), another unanimous:

    >>> import polars as pl
    >>> from quaver.measures import sensitivity
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 1, 2, 2, 2, 2], "variant": [1, 2, 3, 4] * 2,
    ...                       "label": list("aabbcccc"), "gold": list("aaaadddd")})
    >>> found = distributions(sensitivity(frame, classes=True, keep=["distribution"]), bins=2)
    >>> [(e.cell, e.value, e.details["counts"]) for e in found]
    [({}, 0.25, [1, 1]), ({'class': 'a'}, 0.5, [0, 1]), ({'class': 'd'}, 0.0, [1, 0])]
    """
    if bins < 1:
        raise MeasureError("not a number of bins", where="bins", expected="1 or more", found=repr(bins))
    return [found for one in estimates for found in _distribution(one, bins, matrix)]


def _distribution(one: Estimate, bins: int, matrix: int) -> Iterator[Estimate]:
    """The distribution behind an estimate; none behind the consistency of all classes together."""
    if one.measure not in _METHODS:
        raise MeasureError(
            "no distribution is known of this measure",
            where="estimates",
            expected=" or ".join(_METHODS),
            found=one.measure,
        )
    kept, of_class = one.distribution, "class" in one.cell
    if one.value is not None and kept is None:
        raise MeasureError(
            "estimates that did not keep their distribution",
            where="estimates",
            expected=f"{one.measure}(…, keep=['distribution'])",
        )
    if one.measure == "consistency":
        if of_class and kept is not None and len(kept) > 1:
            yield _of_pairs(one, kept, bins, matrix)
    elif kept is not None:
        known = kept[np.isfinite(kept)]
        yield _estimate(one, known, bins, n=known.size)
    elif not of_class:
        yield _estimate(one, np.empty(0), bins, n=0)


def _of_pairs(one: Estimate, kept: Floats, bins: int, matrix: int) -> Estimate:
    details: dict[str, Any] = {"items": len(kept)}
    if matrix:
        shown = spread_evenly(np.arange(len(kept)), matrix)
        details["matrix"] = kept[np.ix_(shown, shown)].tolist()
    beyond = one.n - len(kept) if one.unit.removesuffix(AND_PROMPT) == "item" else 0
    excluded = {"item beyond the sample": beyond} if beyond > 0 else {}
    return _estimate(one, kept[np.triu_indices(len(kept), 1)], bins, len(kept), details, excluded)


def _estimate(
    one: Estimate,
    values: Floats,
    bins: int,
    n: int,
    details: dict[str, Any] | None = None,
    excluded: dict[str, int] | None = None,
) -> Estimate:
    said: dict[str, Any] = {
        "measure": f"{one.measure}_distribution",
        "n": n,
        "cell": one.cell,
        "method": _METHODS[one.measure],
        "reference": one.reference,
    }
    if not values.size:
        return Estimate(value=None, reason=one.reason or "no item with two predictions", **said)
    at = np.quantile(values, QUANTILES)
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=bins, range=(0.0, 1.0))
    known = {
        "quantiles": {f"{share:g}": float(value) for share, value in zip(QUANTILES, at, strict=True)},
        "counts": counts.tolist(),
        "values": int(values.size),
        **(details or {}),
    }
    return Estimate(value=float(np.median(values)), details=known, excluded=excluded or {}, **said)
