"""Alpha averaged over strata, with its interval: the arithmetic of the prompt stability scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quaver.agreement.disagreement import Disagreement, disagreement, over_values, scale
from quaver.core.records import Estimate, IntervalWarning, LabelSet, Level, Numbers
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, Units
from quaver.estimation.cells import Missing
from quaver.estimation.encoding import Tally
from quaver.estimation.intervals import OF_CORRELATIONS, Interval, long_tails, none_goes_far, percentile
from quaver.estimation.means import over_strata, quotient
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
        positions: Where each row belongs: item × raters + rater.
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
    blocks = [np.empty(0)]
    given = np.flatnonzero(codes >= 0)
    used = positions[given] // raters * labels + codes[given]
    sorting = np.argsort(used, kind="stable")
    order = given[sorting]
    cells, starts = np.unique(used[sorting], return_index=True)
    # No two labels have one place, as they mostly have not: then it does not matter which was drawn first.
    alone = np.unique(positions[given]).size == given.size
    for drawn in _drawn(resampling, codes.size, max(1, _ENTRIES // max(1, items * labels, codes.size))):
        kept = drawn.kept if alone else drawn.first_kept(positions, codes >= 0, items * raters)
        counts = np.zeros((items * labels, kept.shape[1]))
        if cells.size:
            counts[cells] = np.add.reduceat(kept[order], starts, dtype=np.int8 if raters < 128 else np.int32)
        shaped = np.ascontiguousarray(counts.reshape(items, labels, -1).transpose(0, 2, 1))
        blocks.append(Disagreement(shaped, level, values).alphas(np.ones((1, items)))[0])
    return np.concatenate(blocks)


class _Drawn(NamedTuple):
    """Resamples of rows, shape (resamples, rows), and which rows each has, shape (rows, resamples)."""

    rows: Codes
    kept: NDArray[np.int8]

    def first_kept(self, positions: Codes, given: NDArray[np.bool_], places: int) -> NDArray[np.int8]:
        """Which rows each has where those of one place are one rater's: the one drawn first alone counts."""
        first = np.full((len(self.rows), places), -1)
        backwards = self.rows[:, ::-1]
        known = given[backwards]
        sample = np.broadcast_to(np.arange(len(self.rows))[:, None], backwards.shape)
        first[sample[known], positions[backwards[known]]] = backwards[known]  # the first is written last
        found = np.argwhere(first >= 0)
        kept = np.zeros_like(self.kept)
        kept[first[first >= 0], found[:, 0]] = 1
        return kept


def _drawn(resampling: Resampling, rows: int, size: int) -> Iterator[_Drawn]:
    """Rows that are drawn, a block of resamples at a time."""
    if size >= resampling.resamples:
        yield _all_drawn(resampling.seed, resampling.resamples, rows)
        return
    rng = np.random.default_rng(derive(resampling.seed, "bootstrap", "row"))
    for start in range(0, resampling.resamples, size):
        yield _draws(rng, min(size, resampling.resamples - start), rows)


@lru_cache(maxsize=8)
def _all_drawn(seed: int, resamples: int, rows: int) -> _Drawn:
    """All at once, for the next score of as many rows: a curve has many."""
    return _draws(np.random.default_rng(derive(seed, "bootstrap", "row")), resamples, rows)


def _draws(rng: np.random.Generator, resamples: int, rows: int) -> _Drawn:
    drawn = rng.integers(0, max(1, rows), (resamples, rows))
    kept = np.zeros((rows, resamples), np.int8)
    np.put(kept, drawn * resamples + np.arange(resamples)[:, None], 1)
    return _Drawn(drawn, kept)


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
    resampling = cell.resampling
    if estimate.value is None or not resampling.resamples:
        return estimate
    layers = np.stack(list(_strata(cell, level, values, raters)))
    defined = np.isfinite(layers)
    drawn = np.where(defined, layers, 0).sum(0) / np.where(defined.any(0), defined.sum(0), np.nan)
    ends = percentile(drawn, resampling.tail)
    if ends is None:
        return replace(estimate, low=None, high=None)
    how = f"percentile interval, {resampling.resamples} resamples of rows"
    return replace(
        estimate,
        low=ends.low,
        high=ends.high,
        unit="row",
        method=f"{estimate.method.partition('; ')[0]}; {how}",
        details={
            **estimate.details,
            "mean_of_resamples": float(np.nanmean(drawn)),
            "sd_of_resamples": float(np.nanstd(drawn)),
        },
    )


def _strata(cell: Cell, level: Level, values: Floats | None, raters: slice) -> Iterator[Floats]:
    """The alphas of resampled rows of each stratum."""
    every = cell.codes[:, :, raters]
    there = (cell.rows[:, :, raters] if cell.rows.size else every) >= 0
    for stratum in range(every.shape[1]):
        codes = every[:, stratum].ravel().astype(np.int64)
        positions = np.flatnonzero(there[:, stratum].ravel())
        yield alphas_of_rows(
            positions,
            codes[positions],
            (len(every), every.shape[2]),
            labels=len(cell.labels),
            level=level,
            values=values,
            resampling=cell.resampling,
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


def alpha_losses(model: Disagreement, level: Level) -> Floats:
    """What each stratum's alpha loses and gains, at most, for each unit of share of items that differ.

    The loss is that of an item whose raters split evenly over the labels in use (or over the scale's
    two ends), relative to the expected disagreement; the gain ends at alpha = 1.

    Returns:
        Shape (strata, 2).
    """
    d, e, n = (part[0] for part in model.sums(np.ones((1, model.pairable.shape[0]))))
    raters = max(2.0, float(model.ratings.max(initial=2.0)))
    known = (n > 1) & (e > 0)
    n = np.where(known, n, 2.0)
    expected = np.where(known, e, 1.0) / (n * (n - 1))
    if level == "nominal":
        used = np.clip((model.totals > 0).sum(1), 2.0, raters)
        worst = (1 - 1 / used) * raters / (raters - 1)
    else:
        # Over a whole scale no split is further apart than half of the items at either end.
        ranges = np.array([model.range_squared(stratum) for stratum in range(model.strata)])
        worst = ranges * raters / (2 * (raters - 1))
    return np.where(known[:, None], np.stack([worst / expected, d / n / expected], 1), 2.0)


def spread_over(losses: Floats) -> Callable[[float, float], Interval]:
    """Where a mean of alphas may lie, by its value and the share of further items that may differ.

    Args:
        losses: Those of its strata (`alpha_losses`).
    """
    loss, gain = losses.mean(0).tolist() if len(losses) else (2.0, 2.0)

    def spread(value: float, share: float) -> Interval:
        return Interval(max(-1.0, value - share * loss), min(1.0, value + share * gain))

    return spread


def ranged(statistic: Statistic, model: Disagreement, strata: Sequence[int]) -> Statistic:
    """A mean of alphas that knows the least value which labels of these frequencies allow.

    Close to that it varies upwards more than downwards, and a rare label makes it about 0.
    """
    if not len(strata):
        return replace(statistic, ends=(-1.0, 1.0))
    least, step = model.least[list(strata)].mean(0).tolist()
    return replace(statistic, ends=(least, 1.0), step=step / len(strata))


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
    """The mean over a cell's strata of Krippendorff's alpha.

    Args:
        cell: The cell.
        method: In words.
        stratum: What a stratum is called, in the singular.
        level: Level of measurement; the label set's if left out.
        missing: What an answer without a label counts as.
        where: What the estimate is about beside its cell.
        details: Further numbers.

    Returns:
        Undefined where it is in every stratum. Strata where it is undefined are left out, counted and
        warned of: one without variation is one where nothing moved.
    """
    level, values = scaled(cell.labels, level, cell.label_set, missing)
    counts = cell.tally()
    model = disagreement(counts, level, values)
    reasons = model.reasons()
    kept = [index for index, reason in enumerate(reasons) if reason is None]
    lost = Counter(reason for reason in reasons if reason)
    statistic = replace(
        said_of_alpha(cell, method, missing),
        where=where or {},
        n=cell.units.touched(np.asarray(model.pairable.any(1))),
        details=details or {},
    )
    statistic = replace(statistic, warnings=(*statistic.warnings, *stray_labels(cell, counts)))
    if isinstance(cell.label_set, Numbers):
        tails = (*statistic.warnings, *long_tails(_deviations(cell)))
        statistic = replace(statistic, tails=OF_CORRELATIONS, warnings=tails)
    if not kept:
        return replace(statistic, reason=lost.most_common(1)[0][0] if lost else "no annotations")
    if len(kept) < len(reasons):
        why = ", ".join(f"{count} with {reason}" for reason, count in lost.items())
        warning = f"alpha is undefined in {sum(lost.values())} of {len(reasons)} strata ({why})"
        statistic = replace(statistic, warnings=(*statistic.warnings, warning))
        model = disagreement(in_strata(counts, kept), level, values)
    return replace(
        ranged(statistic, model, range(model.strata)),
        under=over_strata(model.alphas),
        spread=spread_over(alpha_losses(model, level)),
        excluded={**statistic.excluded, **{f"{stratum}: {why}": count for why, count in lost.items()}},
        details={**statistic.details, "level": level, "strata": len(kept)},
    )


def _deviations(cell: Cell) -> Floats:
    """How far numbers are from the mean of their item's, in each stratum; of items with two or more."""
    numbers = np.array([float(label) for label in cell.labels])
    there = cell.codes >= 0
    raters = there.sum(2, keepdims=True)
    given = np.where(there, numbers[np.maximum(cell.codes, 0)], 0.0)
    return np.asarray((given - given.sum(2, keepdims=True) / np.maximum(raters, 1))[there & (raters > 1)])


def in_strata(counts: Floats | Tally, strata: Sequence[int]) -> Floats | Tally:
    """The counts, or the answers, of some strata."""
    if isinstance(counts, Tally):
        return counts._replace(codes=counts.codes[:, list(strata)])
    return counts[:, list(strata)]


def few_rare(units: Units, counts: Floats | Tally) -> tuple[IntervalWarning, ...]:
    """A warning where few units have a label that is not the most frequent one: agreement rests on these.

    Where none has one it is undefined, which is said already.

    Args:
        units: What is resampled.
        counts: Shape (items, labels); or (items, strata, labels), for the mean over strata, since a number
            that averages over strata rests on what each of them has; or the answers.
    """
    each = [units.touched(column) for column in (_deviating(counts)[1] > 0).T]
    rarest = int(np.mean(each)) if each else 0
    if rarest >= units.enough or not any(each):
        return ()
    return (
        IntervalWarning(
            f"labels other than the most frequent one occur in {rarest} {units.name}s only: the interval may "
            "be too narrow, since so few show little of how such units differ"
        ),
    )


def _deviating(counts: Floats | Tally) -> tuple[Floats, Floats]:
    """How many labels each item has in each stratum, and how many are not the stratum's most frequent."""
    if isinstance(counts, Tally):
        return counts.deviating()
    if counts.ndim == 2:
        counts = counts[:, None]
    total = over_values(counts)
    if not counts.size:
        return total, total
    most = counts.sum(0).argmax(-1)
    return total, total - np.take_along_axis(counts, most[None, :, None], 2)[..., 0]


def stray_labels(cell: Cell, counts: Floats | Tally) -> tuple[IntervalWarning, ...]:
    """A warning where labels other than the most frequent one are stray answers alone, or few units have one.

    `none_goes_far` says the first, `few_rare` the second.

    Args:
        cell: The cell.
        counts: Shape (items, labels) or (items, strata, labels), or the answers; of all strata together.
    """
    few = few_rare(cell.units, counts)
    if isinstance(counts, Tally):
        counts = counts._replace(codes=counts.codes.reshape(len(counts.codes), 1, -1))
    elif counts.ndim > 2:
        counts = counts.sum(1)
    total, others = (part.ravel() for part in _deviating(counts))
    share = quotient(others, total)
    return few + none_goes_far(share, "item", cell.resampling.confidence_level)


def said_of_alpha(cell: Cell, method: str, missing: Missing) -> Statistic:
    """What every alpha of a cell says of itself, before its arithmetic.

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
