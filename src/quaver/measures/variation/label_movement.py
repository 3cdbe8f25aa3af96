"""What moves the labels: each factor of the prompt, or the items.

For every factor, the share of each label at each of its levels; the range of the share that moves
most; and the part of the labels' variation that the factor accounts for, taken alone. The same for the
items: by their gold label, and one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from quaver.core.records import NO_LABEL, Estimate, LabelSet
from quaver.estimation.arrangement import ColumnReader, UnknownColumn
from quaver.estimation.bootstrap import Draws, Floats, Ratio, Resampling, Units
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import Gathered, frame_of
from quaver.estimation.grouped_items import ItemGroups, item_groups, level_deviations
from quaver.estimation.intervals import Interval
from quaver.estimation.paired_differences import gap, within
from quaver.estimation.statistic import Sampler, Statistic

_RESAMPLES = 1000
_TAU = "Goodman & Kruskal (1954), Journal of the ASA 49, 732-764, section 9 (tau)"
_CLEAR = 4
"""Standard errors above nothing beyond which a part of the variation has the jackknife's interval."""
_INVERTED = "interval by test inversion"
_RANGE = "largest minus smallest share over the factor's levels, for the label that moves most"
_PART = "adjusted Goodman-Kruskal tau: part of the labels' variation that goes with the factor"


@dataclass(frozen=True, slots=True)
class _Counts:
    """Answers by item × level × label."""

    factor: str
    levels: list[str]
    labels: list[str]
    items: list[str]
    counts: Floats


@guarded
def label_movement(
    annotations: Frame,
    factors: Mapping[str, Sequence[str]],
    *,
    labels: LabelSet,
    group: str | None = None,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """How far each factor moves the labels, and how far the items do.

    Answers without a label count as a label of their own. Measures: ``level_shares`` (the share of a
    label at a level; cell: ``factor``, ``level``, ``label``), ``label_range`` (for each factor the
    largest minus the smallest share of the label that moves most, an answer without a label being none;
    cell: ``factor``, ``label``) and ``variation`` (`adjusted_tau`; cell: ``factor``). The items take part as
    ``gold``, where two gold labels occur, and one by one as ``item``.

    Noise alone makes a range, and a part of the variation, larger than 0. Their intervals invert a test
    (`gaps.gap`), so they are of the true range and reach 0 where nothing moves; they are widened to hold the
    value. In the range's details are ``debiased``, ``floor``, ``floor_high`` and ``p``; in the variation's,
    ``p``.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``label``, a column for each factor,
            and ``gold`` where it is known.
        factors: The levels of each factor, in the order in which to report them.
        labels: The label set.
        group: The column whose groups of items are the units of the intervals, instead of items.
        resamples: Random draws behind the intervals; 0 for none.
        seed: Root seed of the draws.

    Returns:
        The estimates; none where there are no annotations.

    Raises:
        MeasureError: A column is missing, or the annotations are of several evaluators.

    Two items, each asked in two formats; both are a by letters, and one of them by names:

    >>> from quaver.core.records import Label
    >>> layouts = ["letters", "names", "letters", "names"]
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "format": layouts, "label": list("aaab")})
    >>> codes = LabelSet((Label("a", "A"), Label("b", "B")))
    >>> found = label_movement(frame, {"format": ["letters", "names"]}, labels=codes)
    >>> [(e.cell["level"], e.value) for e in found if e.measure == "level_shares" and e.cell["label"] == "a"]
    [('letters', 1.0), ('names', 0.5)]
    >>> [e.value for e in found if e.measure == "label_range"]
    [0.5]
    """
    given = frame_of(annotations)
    if given.is_empty():
        return []
    ColumnReader(Gathered(given), {}).one_evaluator(())
    known = list(labels.codes)
    groups, resampling = item_groups(given, group), Resampling(resamples=resamples, seed=seed)
    frame = _text(given, factors, known)
    factors = {**factors, "gold": _gold(frame, known)}
    return list(_moved(frame, factors, [*known, NO_LABEL], groups, resampling))


def _moved(
    frame: pl.DataFrame,
    factors: Mapping[str, Sequence[str]],
    labels: list[str],
    groups: ItemGroups,
    resampling: Resampling,
) -> Iterator[Estimate]:
    """What each factor that varies moves, and what the items do."""
    for factor, levels in factors.items():
        if len(levels) > 1:
            counted = _count(frame, factor, list(levels), labels)
            sampler = Sampler(groups.units(counted.items), resampling)
            yield from map(sampler.estimated, _of_factor(counted, sampler))
    yield _of_items(frame, labels, groups, resampling)


def _text(frame: pl.DataFrame, factors: Mapping[str, Sequence[str]], known: Sequence[str]) -> pl.DataFrame:
    """The columns that are needed, as text; unanswered rows labelled as such."""
    for column in ("item", "label", *factors):
        if column not in frame.columns:
            raise UnknownColumn(
                column, frame.columns, where="factors" if column in factors else "annotations"
            )
    label = pl.col("label").cast(pl.String)
    wanted = ["item", *factors, *(["gold"] if "gold" in frame.columns else [])]
    return frame.select(
        *(pl.col(column).cast(pl.String) for column in dict.fromkeys(wanted)),
        pl.when(label.is_in(known)).then(label).otherwise(pl.lit(NO_LABEL)).alias("label"),
    )


def _gold(frame: pl.DataFrame, known: Sequence[str]) -> list[str]:
    """The gold labels that occur."""
    if "gold" not in frame.columns:
        return []
    seen = set(frame["gold"].drop_nulls().unique().to_list())
    return [label for label in known if label in seen]


def _count(frame: pl.DataFrame, factor: str, levels: list[str], labels: list[str]) -> _Counts:
    """Count answers. Values become numbers in Polars, so that millions of rows never pass through Python."""
    known = frame.filter(pl.col(factor).is_in(levels))
    table = known.group_by("item", factor, "label").len()
    items = table["item"].unique().sort().to_list()
    places = tuple(
        table[column].cast(pl.Enum(names)).to_physical().to_numpy()
        for column, names in (("item", items), (factor, levels), ("label", labels))
    )
    counts = np.zeros((len(items), len(levels), len(labels)))
    counts[places] = table["len"].to_numpy()
    return _Counts(factor, levels, labels, items, counts)


def _of_factor(counted: _Counts, sampler: Sampler) -> Iterator[Statistic]:
    """Shares by level, the range of the label that moves most, and the part of the variation."""
    yield from _shares(counted, sampler.units)
    answered = counted.counts.sum((0, 2)) > 0
    if answered.any():
        counts = counted.counts[:, answered]
        yield _range(counted, counts, sampler)
        yield _variation(counted, counts, sampler)


def _shares(counted: _Counts, units: Units) -> Iterator[Statistic]:
    items, levels, labels = counted.counts.shape
    whole = counted.counts.sum(2)
    under = Ratio(counted.counts.reshape(items, levels * labels), np.repeat(whole, labels, axis=1))
    for index in range(levels * labels):
        level, label = divmod(index, labels)
        yield Statistic(
            part="level_shares",
            method="share of all answers at this level",
            under=under,
            column=index,
            where={
                "factor": counted.factor,
                "level": counted.levels[level],
                "label": counted.labels[label],
            },
            reason="no answers",
            ends=(0.0, 1.0),
        )


def _range(counted: _Counts, counts: Floats, sampler: Sampler) -> Statistic:
    """The range of the label that moves most, over the levels with answers."""
    whole = counts.sum(2, keepdims=True)
    spans = np.ptp(counts.sum(0) / whole.sum(0), axis=0)[:-1]  # the last is no label
    most = int(np.argmax(spans))
    apart = level_deviations(counts, whole)[..., :-1]
    known = within(
        0.0,
        1.0,
        gap(apart, sampler.units, lambda x: np.ptp(x, 1).max(1), sampler.resampling, counted.factor),
    )

    def under(weights: Floats) -> Floats:
        levels = Ratio(counts[..., most], whole[..., 0])(weights)
        return np.asarray(np.ptp(levels, axis=1)[:, None])

    return Statistic(
        part="label_range",
        method=_RANGE,
        under=under,
        where={"factor": counted.factor, "label": counted.labels[most]},
        details=known.details,
        ends=(0.0, 1.0),
        interval=known.interval and (known.interval, _INVERTED),
    )


def _variation(counted: _Counts, counts: Floats, sampler: Sampler) -> Statistic:
    """The part of the labels' variation that goes with the level: its root is a norm of the shares' gaps."""
    items, *shape = counts.shape
    totals = counts.sum(0)
    sizes = totals.sum(1, keepdims=True)
    alone = float((totals.sum(0) ** 2).sum() / sizes.sum())
    scale = np.sqrt(sizes / max(float(sizes.sum()) - alone, 1e-12))
    apart = level_deviations(counts, counts.sum(2, keepdims=True)) * scale
    known = gap(apart, sampler.units, _length, sampler.resampling, counted.factor, "variation")

    def under(weights: Floats) -> Floats:
        return _taus((weights @ counts.reshape(items, -1)).reshape(len(weights), *shape))[:, None]

    ends = None
    if known.interval is not None and not _clear(sampler.draws(under)):
        low, high = np.minimum(np.square(known.interval), 1.0).tolist()
        answers, levels = float(sizes.sum()), len(sizes)
        # Levels that have no part in it at all, adjusted for the part that they would have by chance.
        nothing = -(levels - 1) / max(1.0, answers - levels)
        ends = Interval(low or nothing, high)
    return Statistic(
        part="variation",
        method=_PART,
        under=under,
        where={"factor": counted.factor},
        reason="no variation, or no more answers than levels",
        details={name: known.details[name] for name in ("p",) if known.details},
        ends=(0.0, 1.0),
        interval=ends and (ends, _INVERTED),
        source=_TAU,
    )


def _clear(draws: Draws) -> bool:
    """Whether a part is so far above nothing that its jackknife interval is right."""
    return bool(draws.point[0] > _CLEAR * draws.variance[0] ** 0.5 > 0)


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt((vectors**2).sum((1, 2))))


def _of_items(
    frame: pl.DataFrame, names: Sequence[str], groups: ItemGroups, resampling: Resampling
) -> Estimate:
    """The part of the labels' variation that goes with the item; its interval is the jackknife's."""
    table = (
        frame.group_by("item")
        .agg((pl.col("label") == label).sum().alias(f"{index}") for index, label in enumerate(names))
        .sort("item")
    )
    counts = table.drop("item").to_numpy().astype(np.float64)
    units = groups.units(table["item"].to_list())

    def under(weights: Floats) -> Floats:
        return _taus(counts, weights)[:, None]

    variation = Statistic(
        part="variation",
        method=_PART,
        under=under,
        where={"factor": "item"},
        reason="no variation, or no more answers than levels",
        ends=(-1.0, 1.0),
        source=_TAU,
    )
    return Sampler(units, resampling).estimated(variation)


def adjusted_tau(counts: Floats) -> float | None:
    """Goodman and Kruskal's tau, less what chance alone would give.

    tau = (Σ_l Σ_k n_lk²/n_l − Σ_k n_k²/n) / (n − Σ_k n_k²/n): the part of the errors in guessing the label
    that knowing the level saves. Adjusted as R² is: 1 − (1 − tau)(n − 1)/(n − L), with L levels.

    Returns:
        None where all answers have one label, or there are no more answers than levels.

    Two levels that never agree account for everything, two alike for nothing (here, less than chance):

    >>> adjusted_tau(np.array([[5.0, 0.0], [0.0, 5.0]]))
    1.0
    >>> round(adjusted_tau(np.array([[2.0, 2.0], [2.0, 2.0]])), 4)  # 1 - 7/6
    -0.1667
    """
    value = float(_taus(counts[None])[0])
    return value if np.isfinite(value) else None


def _taus(counts: Floats, weights: Floats | None = None) -> Floats:
    """`adjusted_tau` of several tables; NaN where it is undefined."""
    sizes = counts.sum(-1)
    square = (counts**2).sum(-1) / np.where(sizes > 0, sizes, 1)
    if weights is None:
        there = (sizes > 0).sum(-1)
        n, by_label, inside = sizes.sum(-1), counts.sum(-2), square.sum(-1)
    else:
        there = weights @ (sizes > 0)
        n, by_label, inside = weights @ sizes, weights @ counts, weights @ square
    alone = (by_label**2).sum(-1) / np.where(n > 0, n, 1)
    defined = (n > there) & (n - alone > 1e-12)
    tau = (inside - alone) / np.where(defined, n - alone, 1)
    adjusted = 1 - (1 - tau) * (n - 1) / np.where(defined, n - there, 1)
    return np.asarray(np.where(defined, adjusted, np.nan))
