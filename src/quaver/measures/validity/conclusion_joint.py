"""All specifications of a conclusion judged together: how many would hold were there no effect.

Specifications share their items, so their verdicts go together: under no effect, twenty that agree by chance
are one accident and not twenty. The chance is found by permutation: what each item was labelled under all
specifications stays together, while the effect's covariate is dealt out to the items anew. Source: Simonsohn,
Simmons & Nelson (2020), Nature Human Behaviour 4, 1208-1214. The covariate is what the other columns leave of
it, and the outcomes are residuals under no effect (Freedman & Lane 1983, Journal of Business & Economic
Statistics 1, 292-298).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate, IntervalWarning
from quaver.core.rows import defined
from quaver.core.seeds import derive
from quaver.estimation.bootstrap import Floats, Resampling, Units, one_thread
from quaver.estimation.grouped_items import Groups, above_floor, affordable
from quaver.estimation.regression import orthonormal
from quaver.estimation.statistic import Cell
from quaver.measures.validity.conclusion_formula import ItemTable
from quaver.measures.validity.specifications import Specifications

_PERMUTATIONS = 500
"""A p value of 0.05 then has a Monte-Carlo error of 0.01."""
_ENTRIES = 2**22
"""Levers are dealt out at most this many at a time (32 MiB)."""
_FEW_WAYS = 100
"""With fewer ways to deal out the covariate, p values go in steps of more than 0.01."""

_SOURCE = "Simonsohn, Simmons & Nelson (2020), Nature Human Behaviour 4, 1208-1214, joint inference"


class Drawn(NamedTuple):
    """One cell's specifications.

    Attributes:
        cell: The cell.
        tested: Their test.
        estimates: What each of them gives.
    """

    cell: Cell
    tested: Specifications
    estimates: Sequence[Estimate]


class _Together(NamedTuple):
    """All specifications over all items.

    Attributes:
        lever: What the effect's covariate has beside the other columns, shape (items,).
        residual: Under no effect, shape (items, specifications); 0 where an item has no label.
        working: Variances under no effect.
        labelled: 1 where an item has a label.
        factor: How much larger each specification's variance is than Σ lever² · working.
        scale: From outcomes between 0 and 1 to the effect's unit.
        linear: Of which kind the regression is.
        units: The items and their groups.
    """

    lever: Floats
    residual: Floats
    working: Floats
    labelled: Floats
    factor: Floats
    scale: float
    linear: bool
    units: Units

    def under(self, lever: Floats) -> tuple[Floats, Floats]:
        """Effects less the value claimed against, and their test statistics, for levers dealt out anew.

        Returns:
            Each of shape (permutations, specifications).
        """
        score, square = lever @ self.residual, lever**2
        variance = square @ self.working
        size = square @ self.labelled if self.linear else variance
        effect = self.scale * score / np.where(size > 0, size, np.inf)
        error = np.sqrt(variance * self.factor)
        return effect, score / np.where(error > 0, error, np.inf)


def joint_estimate(drawn: Sequence[Drawn], table: ItemTable, resampling: Resampling) -> Iterator[Estimate]:
    """The share of all specifications that hold, beside what no effect would give.

    Yields:
        The share of specifications that hold; nothing of a single one. In ``details``, from permutations:
        how many would hold were there no effect (``expected``; ``expected_high`` is not exceeded by 95% of
        permutations), ``p_share`` of as many as were found, and the ``median`` estimate with its interval
        and ``p_median``. Both p values are one-sided, in the claimed direction.
    """
    estimates = [estimate for part in drawn for estimate in part.estimates]
    if len(estimates) < 2:
        return
    effect, total = table.effect, len(estimates)
    values = [estimate.number for estimate in defined(estimates)]
    count = sum(estimate.details["verdict"] == "holds" for estimate in estimates)
    details: dict[str, Any] = {
        "count": count,
        "undefined": total - len(values),
        "effect": effect.text,
        "threshold": effect.threshold,
        "median": float(np.median(values)) if values else None,
    }
    method = "share of specifications under which the claim holds"
    warnings: tuple[str, ...] = ()
    together = _together(drawn, table) if resampling.resamples and values else None
    if together is not None:
        found, warnings = _inferred(
            together, effect.above, details["median"], count / total, total, resampling
        )
        details |= found
        method += (
            f"; {found['permutations']} permutations of the effect's covariate over {together.units.name}s"
        )
    yield Estimate(
        measure="conclusion_joint",
        value=count / total,
        confidence_level=resampling.confidence_level,
        n=total,
        unit="specification",
        method=method,
        reference=_SOURCE,
        cell=drawn[0].cell.where,
        warnings=warnings,
        details=details,
    )


def _inferred(
    together: _Together, above: bool, median: float, share: float, total: int, resampling: Resampling
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What permutations say of the share that holds and of the median effect."""
    draws = affordable(min(_PERMUTATIONS, resampling.resamples), together.units.items)
    sign = 1.0 if above else -1.0
    seed = derive(resampling.seed, "permutation", together.units.name)
    quantile = -float(special.ndtri(resampling.tail))
    medians, holding, marks = [np.empty(0)], [np.empty(0)], [np.empty(0)]
    mark = np.random.default_rng(seed + 1).standard_normal(together.units.items)
    with one_thread():
        for lever in _dealt(together.lever, together.units, draws, seed):
            effects, statistics = together.under(lever)
            medians.append(np.median(effects, 1))
            marks.append(lever @ mark)
            holding.append((sign * statistics > quantile).sum(1) / total)
        own = float(np.median(together.under(together.lever[None, :])[0]))
    by_chance = np.concatenate(medians)
    shares = above_floor(share, np.concatenate(holding), 0.95)
    low, high = np.quantile(by_chance, [resampling.tail, 1 - resampling.tail])
    found = {
        "expected": shares["floor"] * total,
        "expected_high": shares["floor_high"] * total,
        "p_share": shares["p"],
        "p_median": above_floor(sign * own, sign * by_chance, 0.95)["p"],
        "median_low": median - float(high),
        "median_high": median - float(low),
        "permutations": by_chance.size,
    }
    ways = np.unique((np.concatenate(marks) / np.abs(together.lever).max()).round(9)).size
    warnings = (
        IntervalWarning(
            f"the {together.units.name}s can be dealt out in about {ways} ways only: p values are coarse"
        ),
    )
    return found, warnings if ways < min(_FEW_WAYS, draws) else ()


def _together(drawn: Sequence[Drawn], table: ItemTable) -> _Together | None:
    """All specifications over the items of all cells; None where no covariate is left."""
    items = list(dict.fromkeys(item for part in drawn for item in part.cell.items))
    matrix = table.rows(items)
    complete = np.isfinite(matrix).all(1)
    place = {items[index]: row for row, index in enumerate(np.flatnonzero(complete).tolist())}
    found = orthonormal(matrix[complete], table.effect.contrast)
    if found is None:
        return None
    own = found[0] @ found[1]
    held = [
        ([place.get(item, -1) for item in part.cell.items], one)
        for part in drawn
        for one in part.tested.held(table.effect.threshold)
        if one is not None
    ]
    if not held or not own.any():
        return None
    linear, scale = drawn[0].tested.linear, drawn[0].tested.scale
    lever = own / float(own @ own)
    residual, working, labelled = (np.zeros((len(place), len(held))) for _ in range(3))
    factor = np.ones(len(held))
    for index, (where, one) in enumerate(held):
        rows = np.array(where)[one.items]
        residual[rows, index], working[rows, index], labelled[rows, index] = one.residual, one.working, 1.0
        score, plain = float(lever[rows] @ one.residual), float(lever[rows] ** 2 @ one.working)
        if plain > 0 and one.statistic:
            factor[index] = (score / one.statistic) ** 2 / plain
    units = _units(drawn, [items[at] for at in np.flatnonzero(complete)])
    return _Together(lever, residual, working, labelled, factor, scale, linear, units)


def _units(drawn: Sequence[Drawn], items: Sequence[str]) -> Units:
    """The items of all cells and their groups, which each cell numbers by itself."""
    name = drawn[0].cell.units.name
    if drawn[0].cell.clusters is None:
        return Units(len(items))
    of: dict[str, int] = {}
    for part in drawn:
        assert part.cell.clusters is not None
        codes = part.cell.clusters.tolist()
        known = {code: of[item] for item, code in zip(part.cell.items, codes, strict=True) if item in of}
        fresh = max(of.values(), default=-1) + 1
        for item, code in zip(part.cell.items, codes, strict=True):
            if code not in known:
                known[code], fresh = fresh, fresh + 1
            of[item] = known[code]
    codes = np.unique([of[item] for item in items], return_inverse=True)[1]
    return Units(len(items), codes.astype(np.int64), name)


def _dealt(lever: Floats, units: Units, draws: int, seed: int) -> Iterator[Floats]:
    """Levers dealt out to the items anew, a block of permutations at a time.

    Where items are in groups, what the covariate has between groups is exchanged between groups, and what it
    has within a group is exchanged within it.
    """
    rng = np.random.default_rng(seed)
    block = max(1, _ENTRIES // max(1, units.items))
    groups = None if units.clusters is None else Groups(units.clusters)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        if groups is None:
            yield np.stack([rng.permutation(lever) for _ in range(size)])
        else:
            yield _dealt_in_groups(lever, groups, size, rng)


def _dealt_in_groups(lever: Floats, groups: Groups, size: int, rng: np.random.Generator) -> Floats:
    sizes = np.bincount(groups.codes)
    between = groups.sums(lever[:, None])[:, 0] / sizes
    within = lever - between[groups.codes]
    dealt = np.stack([rng.permutation(between)[groups.codes] for _ in range(size)])
    if np.abs(within).max(initial=0.0) <= 1e-12 * np.abs(lever).max(initial=0.0):
        return dealt
    home = np.argsort(groups.codes, kind="stable")
    for row in dealt:
        row[home] += within[_shuffled(groups.codes, rng)]
    return dealt


def _shuffled(codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The items, groups in their order and each group's items in a random one."""
    return np.argsort(codes + rng.random(codes.size))
