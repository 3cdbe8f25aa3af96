"""Alpha averaged over strata, with its interval: the arithmetic of the prompt stability scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.disagreement import Disagreement, scale
from quaver.core.records import Estimate, IntervalWarning, LabelSet, Level
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import smallest
from quaver.estimation.intervals import Interval, long_tails, none_goes_far, percentile
from quaver.estimation.jackknife import Floats, Resampling, Units
from quaver.estimation.means import mean_defined, quotient
from quaver.estimation.statistic import Cell, Statistic, never_labelled

ROWS_WARNING = (
    "resampling rows treats an item's labels as independent: the interval is too narrow; "
    "use it only to reproduce published ones"
)

_ENTRIES = 2**20
"""Samples are made in blocks of at most this many numbers (8 MiB)."""

Codes = NDArray[np.int64]


def alphas_of_rows(
    positions: Codes,
    codes: Codes,
    shape: tuple[int, int],
    *,
    labels: int,
    level: Level = "nominal",
    values: Floats | None = None,
    resampling: Resampling,
) -> Floats:
    """Krippendorff's alpha of each resample of rows.

    Args:
        positions: Where each row belongs: item × raters + rater. Of rows that are drawn for one place
            the one drawn first counts.
        codes: Its label's code; −1 for a row without a label, which is drawn and does not count.
        shape: How many items and raters there are.
        labels: How many labels there are.
        level: Level of measurement.
        values: The labels' numbers, for interval and ratio.
        resampling: How many resamples, from which seed.

    Returns:
        One value a resample; NaN where alpha is undefined.

    >>> place, codes = np.arange(6), np.array([0, 0, 1, 1, 0, 0])  # three items, two raters, who agree
    >>> found = alphas_of_rows(place, codes, (3, 2), labels=2, resampling=Resampling(resamples=200))
    >>> np.unique(found[np.isfinite(found)]).tolist()
    [1.0]
    """
    items, raters = shape
    rows, count = codes.size, resampling.resamples
    size = max(1, _ENTRIES // max(1, items * max(labels, raters), rows))
    places, alphas = np.where(codes < 0, items * raters, positions), [np.empty(0)]
    rng = np.random.default_rng(derive(resampling.seed, "bootstrap", "row"))
    for start in range(0, count, size):
        drawn = rng.integers(0, max(1, rows), (min(size, count - start), rows))
        given = drawn[:, ::-1]  # of one place, the row that is drawn first is written last
        table = np.full((items * raters + 1, len(drawn)), -1, smallest(labels))
        table[places[given], np.arange(len(drawn))[:, None]] = codes[given]
        codes_of = table[:-1].reshape(items, raters, -1).transpose(0, 2, 1)
        alphas.append(Disagreement(codes_of, labels, level, values).alphas(np.ones((1, items)))[0])
    return np.concatenate(alphas)


def over_rows(
    estimate: Estimate, cell: Cell, level: Level, values: Floats | None, raters: slice = slice(None)
) -> Estimate:
    """An estimate of alpha, with the interval that resampling rows gives it in place of its own.

    Args:
        estimate: The estimate: alpha, or its mean over the cell's strata.
        cell: What it is taken of.
        level: Level of measurement.
        values: The labels' numbers, for interval and ratio.
        raters: Which of the cell's raters it is about.

    Returns:
        The estimate; ``details["mean_of_resamples"]`` is what promptstability reports as the score,
        and ``sd_of_resamples`` their standard deviation.
    """
    estimate = replace(estimate, warnings=(*estimate.warnings, ROWS_WARNING))
    resampling, layers = cell.resampling, []
    if estimate.value is None or not resampling.resamples:
        return estimate
    every = cell.codes[:, :, raters]
    there = (cell.rows[:, :, raters] if cell.rows.size else every) >= 0
    how: dict[str, Any] = {"labels": len(cell.labels), "level": level, "values": values}
    for stratum in range(every.shape[1]):
        positions = np.flatnonzero(there[:, stratum])
        codes = every[:, stratum].ravel()[positions].astype(np.int64)
        shape = len(every), every.shape[2]
        layers.append(alphas_of_rows(positions, codes, shape, resampling=resampling, **how))
    drawn = mean_defined(np.stack(layers, 1))
    ends = percentile(drawn, resampling.tail)
    if ends is None:
        return replace(estimate, low=None, high=None)
    how_made = f"percentile interval, {resampling.resamples} resamples of rows"
    of_resamples = {
        "mean_of_resamples": float(np.nanmean(drawn)),
        "sd_of_resamples": float(np.nanstd(drawn)),
    }
    return replace(
        estimate,
        low=ends.low,
        high=ends.high,
        unit="row",
        method=f"{estimate.method.partition('; ')[0]}; {how_made}",
        details={**estimate.details, **of_resamples},
    )


def scaled(
    labels: Sequence[str], level: Level | None, label_set: LabelSet | None, missing: Missing
) -> tuple[Level, Floats | None]:
    """The level to use, and the labels' numbers.

    Raises:
        MeasureError: The unanswered are to be a category of a scale on which they have no place.
    """
    level = level or (label_set.level if label_set else "nominal")
    if missing == "wrong" or (missing == "category" and level != "nominal"):
        raise MeasureError(
            "answers without a label cannot be treated in this way",
            where="missing",
            expected="drop" if level != "nominal" else "drop or category",
            found=f"{missing!r} at the {level} level",
        )
    return level, scale(labels, level, label_set)


def mean_alpha(
    cell: Cell,
    codes: NDArray[Any],
    said: Statistic,
    level: Level | None,
    missing: Missing,
    stratum: str = "stratum",
) -> Statistic:
    """The mean over strata of Krippendorff's alpha.

    Args:
        cell: The cell.
        codes: The labels, shape (items, strata, raters).
        said: What is said of it.
        level: Level of measurement; the label set's if left out.
        missing: What an answer without a label counts as.
        stratum: What a stratum is called.

    Returns:
        The statistic, undefined where alpha is in each stratum. Strata where it is undefined are left out,
        counted and warned of: one without variation is one where nothing moved.
    """
    level, values = scaled(cell.labels, level, cell.label_set, missing)
    model = Disagreement(codes, len(cell.labels), level, values)
    reasons = model.reasons()
    usable = [place for place, reason in enumerate(reasons) if reason is None]
    lost = Counter(reason for reason in reasons if reason)
    least, step = model.least[usable].mean(0).tolist() if usable else (-1.0, 0.0)
    warnings = (*said.warnings, *stray_labels(cell, codes))
    excluded = dict(said.excluded)
    if lost and usable:
        why = ", ".join(f"{count} with {reason}" for reason, count in lost.items())
        warnings += (f"alpha is undefined in {sum(lost.values())} of {len(reasons)} strata ({why})",)
        excluded |= {f"{stratum}: {reason}": count for reason, count in lost.items()}

    def mean(weights: Floats) -> Floats:
        return mean_defined(model.alphas(weights)[:, usable])[:, None]

    return replace(
        said,
        under=mean if usable else None,
        n=cell.units.touched(model.pairable.any(1)),
        reason=str(lost.most_common(1)[0][0]) if lost else None if usable else "no annotations",
        # Close to the least alpha it varies upwards more than downwards.
        ends=(least, 1.0),
        step=step / max(1, len(usable)),
        spread=_spread(_losses(model)[usable]),
        warnings=warnings,
        excluded=excluded,
        details={**said.details, "level": level, "strata": len(usable)},
    )


def alpha_over_strata(
    cell: Cell,
    *,
    method: str,
    stratum: str,
    level: Level | None,
    missing: Missing,
    where: Mapping[str, str] | None = None,
    details: Mapping[str, Any] | None = None,
) -> Statistic:
    """The mean over all of a cell's strata of Krippendorff's alpha (`mean_alpha`)."""
    said = replace(said_of_alpha(cell, method, missing), where=where or {}, details=details or {})
    statistic = mean_alpha(cell, cell.grid, said, level, missing, stratum)
    if cell.label_set is not None and cell.label_set.are_numbers:
        # How far numbers are from the mean of their item's, in each stratum; of items with two or more
        numbers = np.array(list(map(float, cell.labels)))
        there = cell.codes >= 0
        raters = there.sum(2, keepdims=True)
        given = np.where(there, numbers[np.maximum(cell.codes, 0)], 0.0)
        tails = (
            *statistic.warnings,
            *long_tails((given - given.sum(2, keepdims=True) / np.maximum(raters, 1))[there & (raters > 1)]),
        )
        statistic = replace(statistic, tails="correlation", warnings=tails)
    return statistic


def _losses(model: Disagreement) -> Floats:
    """What each stratum's alpha loses and gains, at most, for each unit of share of items that differ.

    The loss is that of an item whose raters split evenly over the labels in use (or over the scale's
    two ends), relative to the expected disagreement; the gain ends at alpha = 1.

    Returns:
        Shape (strata, 2).
    """
    d, e, n = (part[0] for part in model.sums(np.ones((1, len(model.ratings)))))
    raters = max(2.0, float(model.ratings.max(initial=2.0)))
    expected = quotient(e, n * (n - 1))
    if model.level == "nominal":
        used = np.clip((model.totals > 0).sum(1), 2.0, raters)
        worst = (1 - 1 / used) * raters / (raters - 1)
    else:
        # Over a whole scale no split is further apart than half of the items at either end.
        ranges = np.array(list(map(model.range_squared, range(model.strata))))
        worst = ranges * raters / (2 * (raters - 1))
    each = np.stack([quotient(worst, expected), quotient(d, n * expected)], 1)
    return np.where(np.isfinite(each).all(1, keepdims=True), each, 2.0)


def _spread(losses: Floats) -> Callable[[float, float], Interval]:
    """Where a mean of alphas may lie, by its value and the share of further items that may differ."""
    loss, gain = losses.mean(0).tolist() if len(losses) else (2.0, 2.0)

    def spread(value: float, share: float) -> Interval:
        return Interval(max(-1.0, value - share * loss), min(1.0, value + share * gain))

    return spread


def few_rare(units: Units, codes: NDArray[Any]) -> tuple[IntervalWarning, ...]:
    """A warning where few units have a label that is not the most frequent one: agreement rests on these.

    Where none has one it is undefined, which is said already.

    Args:
        units: What is resampled.
        codes: The labels, shape (items, strata, raters): a mean over strata rests on what each has.
    """
    each = [units.touched(column > 0) for column in _deviating(codes)[1].T]
    rarest = int(np.mean(each)) if each else 0
    if rarest >= units.enough or not any(each):
        return ()
    return (
        IntervalWarning(
            f"labels other than the most frequent one occur in {rarest} {units.name}s only: the interval may "
            "be too narrow, since so few show little of how such units differ"
        ),
    )


def _deviating(codes: NDArray[Any]) -> tuple[Floats, Floats]:
    """How many labels each item has in each stratum, and how many are not the stratum's most frequent."""
    there, most = codes >= 0, np.zeros(codes.shape[1], np.int64)
    for stratum in range(most.size):
        most[stratum] = np.bincount(codes[:, stratum][there[:, stratum]], minlength=1).argmax()
    other = there & (codes != most[:, None])
    return there.sum(2).astype(np.float64), other.sum(2).astype(np.float64)


def stray_labels(cell: Cell, codes: NDArray[Any]) -> tuple[IntervalWarning, ...]:
    """A warning where labels other than the most frequent one are stray answers alone, or few units have one.

    `none_goes_far` says the first, of all strata together, `few_rare` the second.

    Args:
        cell: The cell.
        codes: The labels, shape (items, strata, raters).
    """
    if not codes.size:
        return ()
    total, others = (part.ravel() for part in _deviating(codes.reshape(len(codes), 1, -1)))
    far = none_goes_far(quotient(others, total), "item", cell.resampling.confidence_level)
    return few_rare(cell.units, codes) + far


def said_of_alpha(cell: Cell, method: str, missing: Missing) -> Statistic:
    """The statistic that every alpha of a cell fills in: its method, reasons and counts.

    Args:
        cell: The cell.
        method: In words.
        missing: What an answer without a label counts as.
    """
    return Statistic(
        method=method,
        excluded=cell.counted if missing == "drop" else {},
        warnings=never_labelled(cell) if missing == "category" else (),
    )
