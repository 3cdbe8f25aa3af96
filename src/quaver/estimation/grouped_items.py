"""Groups of items, and the noise of answers asked again: what chance alone gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from quaver.errors import MeasureError
from quaver.estimation.coded_columns import UnknownColumn
from quaver.estimation.jackknife import Floats, Units, one_thread


def units_of(items: Sequence[str], group: str | None, of: Mapping[str, str]) -> Units:
    """What is resampled of these items, which are in groups; an item without one is its own.

    >>> units_of(["i", "j", "k"], "author", {"i": "x", "k": "x"}).clusters.tolist()
    [0, 1, 0]
    """
    if group is None:
        return Units(len(items))
    keys = [(True, of[item]) if item in of else (False, item) for item in items]
    place = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    return Units(len(items), np.array([place[key] for key in keys], np.int64), group)


def item_groups(frame: pl.DataFrame, group: str | None) -> dict[str, str]:
    """The group of each item of a frame that has one."""
    if group is None:
        return {}
    if group not in frame.columns:
        raise UnknownColumn(group, frame.columns, where="group")
    pairs = frame.select(item=pl.col("item").cast(pl.String), group=pl.col(group).cast(pl.String))
    pairs = pairs.drop_nulls().unique()
    if (twice := pairs.filter(pl.col("item").is_duplicated())).height:
        raise MeasureError(
            f"an item with two values of group {group!r}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {sorted(twice['item'].to_list())[0]}",
        )
    return dict(pairs.iter_rows())


def tabulated(frame: pl.DataFrame, weight: str | None = None, /, **levels: Sequence[str]) -> Floats:
    """How many rows have each combination of the levels of some columns, an axis a column.

    Rows with other values do not count. With a ``weight``, it is the sum of that column over them.
    """
    known = frame.filter(pl.col(name).is_in(list(names)) for name, names in levels.items())
    number = pl.len() if weight is None else pl.col(weight).sum()
    table = known.group_by(*levels).agg(number.alias(""))
    counts = np.zeros(list(map(len, levels.values())))
    places = tuple(
        table[name].cast(pl.Enum(list(names))).to_physical().to_numpy() for name, names in levels.items()
    )
    counts[places] = table[""].to_numpy()
    return counts


_NUMBERS = 2**24
"""Random numbers that a floor may cost (a few seconds): large data need fewer draws for the same digits."""

_BLOCK = 2**22


def affordable(draws: int, size: int) -> int:
    """How many of the wanted draws are made, where each costs ``size`` random numbers; never below 99.

    >>> affordable(1000, 50), affordable(1000, 125_000), affordable(0, 50)
    (1000, 134, 0)
    """
    return min(draws, max(99, _NUMBERS // max(1, size)))


def above_floor(value: float, draws: Floats, confidence_level: float) -> dict[str, Any]:
    """Where a value stands among what noise alone gives.

    Returns:
        ``floor`` (the mean of the draws), ``floor_high`` (their upper quantile at ``confidence_level``),
        ``p`` = (1 + draws above the value + half of those equal to it) / (1 + draws) (Phipson & Smyth 2010,
        Statistical Applications in Genetics and Molecular Biology 9, 39; the mid-p value, Lancaster 1961,
        Journal of the ASA 56, 223-234, for the ties that a few differing units leave), 1 for a value of 0;
        and ``floor_draws``. Nothing without draws.

    >>> above_floor(0.3, np.array([0.1, 0.2, 0.3]), 0.5)
    {'floor': 0.2, 'floor_high': 0.2, 'p': 0.375, 'floor_draws': 3}
    """
    if not draws.size:
        return {}
    high, p = float(np.quantile(draws, confidence_level)), p_above(np.array([value]), draws.reshape(-1, 1))
    floor = round(float(draws.mean()), 15)
    return {"floor": floor, "floor_high": high, "p": float(p[0]), "floor_draws": len(draws)}


def p_above(values: Floats, draws: Floats) -> Floats:
    """The ``p`` of `above_floor`, of several values and draws with a column for each."""
    above = np.count_nonzero(draws > values + 1e-12, 0)
    equal = np.count_nonzero(np.abs(draws - values) <= 1e-12, 0)
    return np.where(values > 1e-12, (1 + above + equal / 2) / (1 + len(draws)), 1.0)


def level_deviations(above: Floats, below: Floats) -> Floats:
    """What each item adds to how far each level's share is from that of all levels together.

    With the shares p_l = Σ above / Σ below over the items and p that of all levels, the deviations are
    (above − p · below) / Σ below: over the items they sum to p_l − p.

    >>> right = np.array([[1.0, 0.0], [1.0, 1.0]])[..., None]
    >>> level_deviations(right, np.ones((2, 2, 1))).sum(0)[:, 0].tolist()  # 1 and 1/2, of 3/4
    [0.25, -0.25]
    """
    whole = below.sum(0)
    pooled = above.sum((0, 1)) / whole.sum(0)
    return np.asarray((above - pooled * below) / whole)


def by_unit(values: Floats, units: Units) -> Floats:
    """Sums over the items of each unit, from shape (items, numbers).

    >>> by_unit(np.array([[1.0], [2.0], [4.0]]), Units(3, np.array([0, 1, 0]))).tolist()
    [[5.0], [2.0]]
    """
    if units.clusters is None:
        return values
    sums = np.zeros((units.count, values.shape[1]))
    np.add.at(sums, units.clusters, values)
    return sums


@one_thread()
def with_random_signs(deviations: Floats, units: Units, draws: int, seed: int) -> Floats:
    """Sums of deviations over units, each unit's with a sign at random: what differences look like by chance.

    Were there no difference, a unit's deviation might as well have gone the other way: the sign-flip test of
    paired differences (Fisher 1935, The Design of Experiments, section 21), exact where each unit's answers
    could have been exchanged between two conditions. The draws have the deviations' own covariance (wild
    bootstrap: Liu 1988, Annals of Statistics 16, 1696-1708), so they hold for large samples where one
    condition is noisier than another too, as permutations over all conditions do not. The items of a group
    have one sign together. ``benchmarks/sign_flips.py`` simulates how often the test errs.

    Returns:
        Shape (draws, …).

    >>> with_random_signs(np.array([[1.0], [1.0]]), Units(2), 4, 0)[:, 0].tolist()
    [0.0, 2.0, 2.0, 0.0]
    """
    flat = by_unit(deviations.reshape(len(deviations), -1), units)
    rng, totals = np.random.default_rng(seed), np.empty((draws, flat.shape[1]))
    block = max(1, _BLOCK // max(1, len(flat)))
    for start in range(0, draws, block):
        signs = rng.integers(0, 2, (min(block, draws - start), len(flat)), dtype=np.int8)
        totals[start : start + len(signs)] = (2.0 * signs - 1) @ flat
    return totals.reshape(draws, *deviations.shape[1:])


@one_thread()
def of_random_conditions(deviations: Floats, units: Units, draws: int, seed: int) -> Floats:
    """Sums of deviations over units, each unit's taken from a condition at random.

    Were all conditions alike, any of them might have been the one that is held against the others, in each
    unit anew (Fisher 1935, The Design of Experiments, section 21). This keeps the deviations' skewness, which
    random signs lose: a condition that never gives a rare label lies a little below the mean of the others
    in every unit, so that no exchange of its two sides looks like it, but an exchange of conditions does.

    Returns:
        Shape (draws, numbers).

    >>> found = of_random_conditions(np.array([[[2.0], [-1.0], [-1.0]]]), Units(1), 50, 0)
    >>> sorted(set(found[:, 0].tolist()))
    [-1.0, 2.0]
    """
    items, conditions, numbers = deviations.shape
    flat = by_unit(deviations.reshape(items, -1), units).reshape(-1, conditions, numbers)
    flat = flat - flat.mean(1, keepdims=True)  # conditions of unequal size do not average to zero
    flat = flat[(np.abs(flat) > 1e-12).any((1, 2))]
    rng, result, rows = np.random.default_rng(seed), np.zeros((draws, numbers)), np.arange(len(flat))
    block = max(1, _BLOCK // max(1, len(flat) * numbers))
    for start in range(0, draws, block):
        chosen = rng.integers(0, conditions, (min(block, draws - start), len(flat)))
        result[start : start + len(chosen)] = flat[rows, chosen].sum(1)
    return result


def agreement_of_sums(n: Floats, raters: Floats, items: Floats, squares: Floats) -> Floats:
    """ICC(A,1) of k numbers an item, from sums: absolute agreement of single raters, drawn at random.

    With the mean squares of items, raters and error of a two-way analysis of variance, it is
    (MS_i − MS_e) / (MS_i + (k − 1) MS_e + k (MS_r − MS_e) / n), which is Shrout & Fleiss' ICC(2,1). Source:
    McGraw & Wong (1996), Psychological Methods 1, 30-46.

    Args:
        n: How many items, shape (samples,).
        raters: The sum of each rater's numbers, shape (samples, raters).
        items: The sum over items of the square of the sum of an item's numbers.
        squares: The sum of the squares of all numbers.

    Returns:
        One for each sample; NaN where nothing varies.

    Two raters of three items, one of whom is always 1 higher: 1, 2, 3 and 2, 3, 4:

    >>> one = agreement_of_sums(np.array([3.0]), np.array([[6.0, 9.0]]), np.array([83.0]), np.array([43.0]))
    >>> one.round(4).tolist()
    [0.6667]
    """
    k = raters.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = raters.sum(-1) ** 2 / (n * k)
        of_items, of_raters = items / k - mean, (raters**2).sum(-1) / n - mean
        within = np.maximum(squares - mean - of_items - of_raters, 0.0)
        among, between = of_items / (n - 1), of_raters / (k - 1)
        error = within / ((n - 1) * (k - 1))
        below = among + (k - 1) * error + k * (between - error) / n
        return np.where(below > 1e-12 * squares, (among - error) / below, np.nan)
