"""Robustness: how far accuracy lies apart between conditions, beside what noise alone would show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing, guarded
from quaver.estimation.coded_columns import Ints, UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.grouped_items import level_deviations
from quaver.estimation.intervals import adjusted
from quaver.estimation.jackknife import Floats, Ratio, Resampling, Units
from quaver.estimation.means import of_known, over_strata, quotient
from quaver.estimation.measure_input import Judged, MeasureInput, judge, treatment
from quaver.estimation.paired_differences import gap
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.variation.label_shares import ASKING

_SPEARMAN = "Spearman (1904), Am. J. Psychology 15, 72-101; Bonett & Wright (2000), Psychometrika 65, 23-28"


@measure(missing=("wrong", "drop"), compares=("variant",))
def spread(
    data: MeasureInput,
    *,
    sizes: Mapping[str, float] | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """Prompt-perturbation spread: the highest less the lowest accuracy among variants.

    max_v accuracy(v) − min_v accuracy(v), within each model and decoding, averaged over a cell's. Undefined
    where fewer than two variants have answers to items with a gold label. ``columns={"variant": "format"}``
    compares formats.

    A maximum less a minimum is biased upwards, more so with more variants and fewer items. The interval is
    that of the true spread (`paired_differences.gap`) and reaches 0 where the variants may be equally
    accurate. It is for these variants, since no jackknife gives the range of others. In ``details``:
    ``corrected`` (see `corrected_spread`); ``floor`` and ``floor_high``, the mean and upper quantile of the
    spread when each item's (or group's) deviations from the variants' mean get a random sign (as many times
    as there are resamples, less often where the data are large; variants may differ in their noise), and
    ``p`` of the value among these; ``lowest`` and ``highest``, the variants.

    Args:
        sizes: Each model's size (parameters, say): then, with ``by=["model"]``, the last estimate is
            ``spread_size_correlation``, Spearman's correlation of the models' spreads with their sizes
            (undefined for fewer than three models; ``details["p"]`` counts permutations, all of them of seven
            models or fewer).

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 2, "variant": ["v"] * 4 + ["w"] * 4,
    ...                       "label": list("aaaa" "aaab"), "gold": ["a"] * 8})
    >>> spread(frame)[0].value
    0.25
    """
    role = (data.columns or {}).get("variant", "variant")
    of = (role,) if isinstance(role, str) else tuple(role)
    # Where the variants' columns are in ``by`` there is one variant a cell, and the reason says so.
    parts = data.cells(raters=("repeat",), within=("model", "decoding", "variant"), gold=True)
    estimates = [cell.estimated(_spread(cell, of, missing)) for cell in parts]
    yield from estimates
    if sizes is not None:
        yield _with_size(estimates, sizes, data.resampling)


def _with_size(estimates: Sequence[Estimate], sizes: Mapping[str, float], resampling: Resampling) -> Estimate:
    """Spearman's correlation of the models' spreads with their sizes; p by permutation.

    The interval needs four models, and a correlation between -1 and 1.
    """
    from scipy import stats  # takes longer to load than a report to measure

    model = [estimate.cell.get("model") for estimate in estimates]
    if None in model or len(set(model)) < len(model):
        named = ", ".join(name or "none" for name in model) or "nothing"
        raise MeasureError("not one spread a model", where="sizes", expected="by=['model']", found=named)
    known = [
        estimate for estimate in estimates if estimate.cell["model"] in sizes and estimate.value is not None
    ]
    n, left = len(known), len(model) - len(known)
    estimate = Estimate(
        "spread_size_correlation",
        None,
        n=n,
        unit="model",
        method="Spearman's rank correlation of spread with size, midranks; interval by Bonett & Wright's "
        "standard error of Fisher's z",
        reference=_SPEARMAN,
        confidence_level=resampling.confidence_level,
        excluded={"model": left} if left else {},
    )
    x = stats.rankdata([sizes[estimate.cell["model"]] for estimate in known]) - (n + 1) / 2
    y = stats.rankdata([estimate.number for estimate in known]) - (n + 1) / 2
    if n < 3 or not x.any() or not y.any():
        return replace(estimate, reason="fewer than three models" if n < 3 else "no variation")
    rho = float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1, 1))
    tested = stats.permutation_test(
        (x,),
        lambda some, axis: np.abs(some @ y),
        permutation_type="pairings",
        vectorized=True,
        n_resamples=10_000,
        alternative="greater",
        rng=np.random.default_rng(derive(resampling.seed, "permutation")),
    )
    estimate = replace(estimate, value=rho, details={"p": float(tested.pvalue)})
    if n == 3 or abs(rho) >= 1 - 1e-12:
        return estimate
    reach = -float(special.ndtri(resampling.tail)) * np.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(rho) + np.array([-reach, reach])).tolist()
    return replace(estimate, low=low, high=high)


def _spread(cell: Cell, of: Sequence[str], missing: Missing) -> Statistic:
    """The mean spread over a cell's models and decodings."""
    judged = judge(cell, missing)
    right, asked = (answers.sum(2).astype(np.float64) for answers in (judged.right, judged.asked))
    strata: dict[tuple[str, ...], list[int]] = {}
    for place in np.flatnonzero(asked.any(0)).tolist():
        rest = tuple(value for name, value in cell.strata[place].items() if name not in of)
        strata.setdefault(rest, []).append(place)
    sets = [np.array(places) for places in strata.values() if len(places) > 1]
    count = max((positions.size for positions in sets), default=0)
    statistic = Statistic(
        method=f"highest less lowest accuracy of these {count} variants, unanswered {treatment(missing)}",
        excluded=judged.excluded,
        n=0,
        reason=judged.reason or (None if sets else "fewer than two variants"),
    )
    if statistic.reason:
        return statistic
    accuracies, together = Ratio(right, asked), np.concatenate(sets)

    def spreads(weights: Floats) -> Floats:
        values = accuracies(weights)
        return np.stack([_range(values[:, positions]) for positions in sets], 1)

    ends = np.cumsum([positions.size for positions in sets])[:-1]

    def mean_range(shares: Floats) -> Floats:
        return np.asarray(np.mean([np.ptp(some, axis=1)[:, 0] for some in np.split(shares, ends, axis=1)], 0))

    under = over_strata(spreads)
    deviations = [
        level_deviations(right[:, positions, None], asked[:, positions, None]) for positions in sets
    ]
    reach, floor = gap(np.concatenate(deviations, 1), cell.units, mean_range, cell.resampling, "spread")
    corrected = [corrected_spread(right[:, positions], asked[:, positions], cell.units) for positions in sets]
    details: dict[str, Any] = {"corrected": float(np.mean(corrected)), "variants": count, **floor}
    everyone = np.ones((1, len(right)))
    if len(sets) == 1:
        details |= _extremes(cell, of, accuracies(everyone)[0], sets[0])
    else:
        details["averaged_over"] = len(sets)
    warnings: tuple[str, ...] = ()
    if floor and floor["floor_high"] >= float(under(everyone)[0, 0]):
        warnings = (
            f"no more than noise gives when variants do not matter (mean {floor['floor']:.3g}, "
            f"up to {floor['floor_high']:.3g})",
        )
    return replace(
        statistic,
        under=under,
        n=asked[:, together].any(1),
        ends=(0.0, 1.0),
        reach=reach,
        warnings=warnings,
        details=details,
    )


def _extremes(cell: Cell, of: Sequence[str], accuracies: Floats, places: Ints) -> dict[str, Any]:
    """The variants at either end."""
    result: dict[str, Any] = {}
    for end, place in (("lowest", accuracies[places].argmin()), ("highest", accuracies[places].argmax())):
        where = cell.strata[places[place]]
        result[end] = " | ".join(value for name, value in where.items() if name in of)
        result[f"{end}_accuracy"] = float(accuracies[places[place]])
    return result


def _range(values: Floats) -> Floats:
    """Largest less smallest along the last axis, of those that are defined."""
    high = np.where(np.isfinite(values), values, -np.inf).max(1)
    low = np.where(np.isfinite(values), values, np.inf).min(1)
    return np.where(np.isfinite(high), high - low, np.nan)


def corrected_spread(right: Floats, asked: Floats, units: Units | None = None) -> float:
    """The spread less what noise adds to it: spread × √max(0, 1 − 1/F).

    F compares the variance of the variants' accuracies with the sampling variance that items give it (the
    item × variant F test, by linearised ratios where items are unevenly asked), and √(1 − 1/F) is the
    share of their standard deviation that is not noise. It is 0 where accuracies differ no more than noise
    would have it. Method of moments, as in a random-effects analysis of variance (Searle, Casella &
    McCulloch 1992, Variance Components, section 3.5); ``docs/measures-correctness.md`` compares it with
    the bootstrap's correction and with the floor taken off.

    Two variants, four items, of which one variant gets all right and one none: items do not matter, F = ∞:

    >>> corrected_spread(np.array([[1.0, 0]] * 4), np.ones((4, 2)))
    1.0
    >>> corrected_spread(np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]]), np.ones((4, 2)))
    0.0
    """
    total = asked.sum(0)
    accuracy = right.sum(0) / total
    wide = float(np.ptp(accuracy))
    between = float(((accuracy - accuracy.mean()) ** 2).sum())
    influence = (right - asked * accuracy) / total
    influence = influence - influence.mean(1, keepdims=True)
    if units is not None and units.clusters is not None:
        influence = np.stack([np.bincount(units.clusters, column) for column in influence.T], 1)
    of = units or Units(len(asked))
    count = of.touched(asked.sum(1) > 0)
    noise = float((influence**2).sum()) * count / (count - 1) if count > 1 else np.inf
    if noise <= 1e-15:
        return wide
    return wide * float(np.sqrt(max(0.0, 1 - noise / between))) if between > 1e-15 else 0.0


@measure(
    missing=("wrong", "drop"),
    compares=("variant", "text"),
    estimands=("fixed", "population"),
)
def differences(
    data: MeasureInput,
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
    for cell in data.cells(raters=raters, within=conditions, gold=True):
        statistics = _differences(cell, judge(cell, missing), reference, Statistic(method=method, n=0))
        yield from adjusted([_with_its_test(cell.estimated(statistic)) for statistic in statistics])


def _with_its_test(estimate: Estimate) -> Estimate:
    """With an interval that holds 0 where McNemar's test, which is exact, does not reject it."""
    if (
        estimate.low is None
        or estimate.high is None
        or estimate.details["p"] <= 1 - estimate.confidence_level
    ):
        return estimate
    return replace(estimate, low=min(estimate.low, 0.0), high=max(estimate.high, 0.0))


def _differences(
    cell: Cell, judged: Judged, reference: str | None, statistic: Statistic
) -> Iterator[Statistic]:
    names = [" | ".join(where.values()) for where in cell.strata]
    statistic = replace(statistic, excluded=judged.excluded)
    if reference is not None and cell.strata and reference not in names:
        raise UnknownColumn(reference, names, where="reference")
    asked = judged.asked.sum(2).astype(np.float64)
    right = judged.right.sum(2).astype(np.float64)
    if judged.reason or (asked > 0).any(0).sum() < 2:
        yield replace(statistic, reason=judged.reason or "fewer than two conditions")
        return
    own = quotient(right, asked)
    other = _others(own) if reference is None else own[:, [names.index(reference)]]
    apart = own - other
    defined = np.isfinite(apart)
    under = of_known(apart)
    single = bool((asked <= 1).all()) and (reference is not None or len(names) == 2)
    for index, name in enumerate(names):
        if name == reference:
            continue
        some = defined[:, index]
        difference = replace(statistic, where=cell.strata[index], n=some)
        if not some.any():
            yield replace(difference, reason="no items that both answered")
            continue
        beside = np.broadcast_to(other, own.shape)[some, index]
        yield replace(
            difference,
            under=under,
            column=index,
            ends=(-1.0, 1.0),
            details={
                "against": reference or "the mean of the others",
                **({"hypothesis": "equal accuracy"} if len(names) == 2 else {}),  # either side of one test
                "accuracy": float(own[some, index].mean()),
                "reference_accuracy": float(beside.mean()),
                **mcnemar(
                    apart[some, index],
                    None if cell.units.clusters is None else cell.units.clusters[some],
                    single=single,
                ),
            },
        )


def _others(own: Floats) -> Floats:
    """The mean over the other columns, of those that are defined."""
    defined = np.isfinite(own)
    total, count = np.where(defined, own, 0).sum(1, keepdims=True), defined.sum(1, keepdims=True)
    left = count - defined
    rest = total - np.where(defined, own, 0)
    return quotient(rest, left)


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
