"""How far numbers are from the gold numbers: errors, limits of agreement, correlation, and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quaver.core.records import IntervalWarning
from quaver.core.rows import Presentation
from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import Tails, mean_within
from quaver.estimation.intraclass import agreement_of_sums
from quaver.estimation.means import differing, quotient
from quaver.estimation.statistic import Cell, Statistic

_NORMAL = 1.96
"""Between so many standard deviations on either side lie 95% of normal errors: Bland and Altman's number."""

_LONG_TAILS = 0.18
"""Above this L-kurtosis of the errors, intervals of second moments are flagged: that of normal numbers is
0.123, of Student's t with three degrees of freedom 0.261 (``benchmarks/fields.py``)."""

_OF_Z = Tails(skewed=0.5, correlation=True)

_LIMITS = "Bland & Altman (1986), The Lancet 327, 307-310"

NUMBER_PARTS: Final[Mapping[str, Presentation]] = {
    "_mean_error": Presentation(title="How far numbers are from the gold numbers", axis="absolute error"),
    "_bias": Presentation(title="How far numbers are above the gold numbers", axis="bias", null=0.0),
    "_lower_limit": Presentation(title="Limits of agreement: the lower one", axis="error"),
    "_upper_limit": Presentation(title="Limits of agreement: the upper one", axis="error"),
    "_correlation": Presentation(
        title="How numbers go with the gold numbers", axis="correlation", better="higher", null=0.0
    ),
    "_intraclass": Presentation(
        title="How numbers agree with the gold numbers", axis="intraclass correlation", better="higher"
    ),
}
"""How the errors of numbers are shown, by the ending of their name."""


def number_errors(cell: Cell, values: Floats) -> Iterator[Statistic]:
    """What answers that are numbers say of their errors, answer − gold; each answer counts once.

    ``_mean_error``: the mean of the absolute errors; ``_bias``: that of the errors; ``_lower_limit`` and
    ``_upper_limit``: bias ± 1.96 SD, between which 95% of normal errors lie; ``_correlation``: Pearson's, of
    answers and gold numbers; ``_intraclass``: ICC(A,1) of the two (`agreement_of_sums`). Undefined of fewer
    than two items; correlations where a side does not vary.

    Args:
        cell: The answers, with their gold labels.
        values: Each label's number.
    """
    statistic = Statistic(
        method="", excluded=cell.counted, n=0, reason="no item has an answer and a gold label"
    )
    gold = cell.gold_codes
    codes = cell.codes.reshape(len(cell.items), -1)
    used = (codes >= 0) & (gold >= 0)[:, None]
    if not used.any():
        yield from (replace(statistic, part=part) for part in NUMBER_PARTS)
        return
    true = values[np.maximum(gold, 0)][:, None]
    middle = values.mean()  # taken off, so that squares of large numbers keep their digits
    sums = _sums(np.where(used, values[np.maximum(codes, 0)] - middle, 0.0), (true - middle) * used, used)
    known = np.asarray(used.any(1))
    own = quotient(sums[:, 2], used.sum(1))
    widest = float(np.ptp(values))
    shown = replace(
        statistic,
        under=lambda weights: _numbers(weights @ sums),
        n=cell.units.touched(known),
        differing=differing(own, cell.units),
        reason="numbers or gold numbers do not vary, or only one item has both",
    )
    errors = partial(mean_within, low=-widest, high=widest)
    how: list[tuple[str, tuple[float, float] | None, Tails]] = [
        ("mean of |answer − gold|", (0.0, np.inf), Tails()),
        ("mean of answer − gold", None, Tails()),
        ("mean − 1.96 SD of answer − gold", None, Tails(skewed=1.0)),
        ("mean + 1.96 SD of answer − gold", None, Tails(skewed=1.0)),
        ("Pearson's correlation of answers and gold", (-1.0, 1.0), _OF_Z),
        ("ICC(A,1) of answers and gold", (-1.0, 1.0), _OF_Z),
    ]
    long_tails = _long_tails((values[np.maximum(codes, 0)] - true)[used])
    for column, (part, (method, ends, tails)) in enumerate(zip(NUMBER_PARTS, how, strict=True)):
        one = replace(shown, part=part, column=column, method=method, ends=ends, tails=tails)
        if column == 0:
            one = replace(one, spread=partial(mean_within, low=0.0, high=widest), values=sums[:, 3])
        elif column == 1:
            one = replace(one, spread=errors, null=0.0, values=own)
        else:
            one = replace(one, warnings=long_tails)
        yield replace(one, source=_LIMITS) if "limit" in part else one


def _long_tails(errors: Floats) -> tuple[IntervalWarning, ...]:
    """A warning where errors have longer tails than normal ones: a sample need not show the largest."""
    tails = l_kurtosis(errors)
    if not tails > _LONG_TAILS:
        return ()
    return (
        IntervalWarning(
            f"few errors are much larger than the rest (L-kurtosis {tails:.2f}; of normal errors 0.12): "
            "the interval, which rests on these few, may hold the truth less often than its level says"
        ),
    )


def l_kurtosis(numbers: Floats) -> float:
    """How long the tails of numbers are, by order statistics: normal ones have 0.123, uniform ones 0.

    τ₄ = (20 b₃ − 30 b₂ + 12 b₁ − b₀) / (2 b₁ − b₀), with bᵣ the mean of x₍ᵢ₎ (i − 1) … (i − r) / ((n − 1) …
    (n − r)) over the numbers in their order. The fourth moment depends on the largest number alone where
    tails are long; this does not. NaN of fewer than four numbers, or where nothing varies. Source: Hosking
    (1990), Journal of the Royal Statistical Society B 52, 105-124.

    Of 0, 0, 0 and 1: b₀ = b₁ = b₂ = b₃ = 1/4.

    >>> l_kurtosis(np.array([0.0, 1.0, 0.0, 0.0])), round(l_kurtosis(np.arange(9.0)), 12)
    (1.0, 0.0)
    """
    n = numbers.size
    if n < 4 or np.ptp(numbers) == 0:
        return np.nan
    ordered, weights = np.sort(numbers), np.ones(n)
    moments = [float(ordered.mean())]
    for r in range(1, 4):
        weights = weights * (np.arange(n) - r + 1) / (n - r)
        moments.append(float(weights @ ordered) / n)
    mean, first, second, third = moments
    return (20 * third - 30 * second + 12 * first - mean) / (2 * first - mean)


def _sums(answers: Floats, gold: Floats, used: NDArray[np.bool_]) -> Floats:
    """By item: how many answers, and the sums that all numbers are made of."""
    error = answers - gold
    parts = [used, error**2, error, np.abs(error), answers, gold, answers**2, gold**2, answers * gold]
    return np.stack([part.sum(1) for part in parts], 1).astype(np.float64)


def _numbers(sums: Floats) -> Floats:
    """The six numbers from sums, shape (samples, 6); NaN where one is undefined."""
    n, squared, error, size, x, y, xx, yy, xy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = error / n
        spread = _NORMAL * np.sqrt(np.maximum(squared - error**2 / n, 0.0) / (n - 1))
        varies = np.sqrt(np.maximum(xx - x**2 / n, 0.0) * np.maximum(yy - y**2 / n, 0.0))
        correlation = np.where(varies > 1e-12 * (xx + yy), (xy - x * y / n) / varies, np.nan)
        agreement = agreement_of_sums(n, np.stack([x, y], -1), xx + yy + 2 * xy, xx + yy)
        found = np.stack([size / n, bias, bias - spread, bias + spread, correlation, agreement], 1)
    return np.where(np.isfinite(found), found, np.nan)
