"""How far numbers are from the gold numbers: errors, limits of agreement, correlation, and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from quaver.core.rows import Presentation
from quaver.estimation.bootstrap import Floats
from quaver.estimation.intervals import OF_CORRELATIONS, Tails, long_tails, mean_within
from quaver.estimation.intraclass import agreement_of_sums
from quaver.estimation.means import quotient
from quaver.estimation.statistic import Cell, Statistic

_NORMAL = 1.96
"""Between so many standard deviations on either side lie 95% of normal errors: Bland and Altman's number."""

_LIMITS = "Bland & Altman (1986), The Lancet 327, 307-310"

NUMBER_PARTS: Final[Mapping[str, Presentation]] = {
    "_mean_error": Presentation(
        title="How far numbers are from the gold numbers", axis="absolute error", better="lower"
    ),
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
    answers, true = values[np.maximum(codes, 0)], values[np.maximum(gold, 0)][:, None]
    # Their own middle is taken off, so that squares of large numbers keep their digits.
    middle = (answers + true)[used].mean() / 2
    error, answer, gold_number = (
        np.where(used, part, 0.0) for part in (answers - true, answers - middle, true - middle)
    )
    sums = _sums(error, answer, gold_number, used)
    known = np.asarray(used.any(1))
    own = quotient(sums[:, 2], used.sum(1))
    widest = float(np.ptp(values))
    shown = replace(
        statistic,
        under=lambda weights: _numbers(weights @ sums),
        n=cell.units.touched(known),
        reason="numbers or gold numbers do not vary, or only one item has both",
    )
    how: list[tuple[str, tuple[float, float] | None, Tails]] = [
        ("mean of |answer − gold|", (0.0, np.inf), Tails()),
        ("mean of answer − gold", None, Tails()),
        ("mean − 1.96 SD of answer − gold", None, Tails(skewed=1.0)),
        ("mean + 1.96 SD of answer − gold", None, Tails(skewed=1.0)),
        ("Pearson's correlation of answers and gold", (-1.0, 1.0), OF_CORRELATIONS),
        ("ICC(A,1) of answers and gold", (-1.0, 1.0), OF_CORRELATIONS),
    ]
    warnings = long_tails((answers - true)[used])
    for column, (part, (method, ends, tails)) in enumerate(zip(NUMBER_PARTS, how, strict=True)):
        one = replace(shown, part=part, column=column, method=method, ends=ends, tails=tails)
        if column == 0:
            one = replace(one, spread=partial(mean_within, low=0.0, high=widest), values=sums[:, 3])
        elif column == 1:
            one = replace(one, spread=partial(mean_within, low=-widest, high=widest), null=0.0, values=own)
        else:
            one = replace(one, warnings=warnings)
        yield replace(one, source=_LIMITS) if "limit" in part else one


def _sums(error: Floats, answers: Floats, gold: Floats, used: NDArray[np.bool_]) -> Floats:
    """By item: how many answers, and the sums that all numbers are made of."""
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
