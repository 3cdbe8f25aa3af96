"""How often each label was given, and how far the labels' distribution moves between conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.grouped_items import affordable, level_deviations, of_random_conditions, p_above
from quaver.estimation.intervals import adjusted
from quaver.estimation.jackknife import Floats, Ratio
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.paired_differences import gap
from quaver.estimation.statistic import Cell, Statistic

ASKING = ("model", "variant", "decoding", "repeat")
"""What tells the answers about one item apart."""


@measure(missing=("drop", "category"), raters=ASKING, estimands=("fixed", "population"), of_classes=True)
def label_shares(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """The share of each label among a cell's answers.

    Share of label v = Σ_u n_uv / Σ_u m_u over items u: answers, not items, have equal weight. Labels of the
    label set have a share of 0 where nobody gave them. Undefined where no answer has a label.

    Args:
        missing: ``"drop"``: shares of the answers with a label; ``"category"``: shares of all answers,
            those without a label among them as ``no label``.

    Returns:
        An estimate for each cell and label; the cell holds the label under ``"label"``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "a", "a", "b"]})
    >>> [(e.cell["label"], e.value) for e in label_shares(frame)]
    [('a', 0.75), ('b', 0.25)]
    """
    counts = cell.counts()[:, 0] if cell.codes.size else np.zeros((0, len(cell.labels)))
    given = counts.sum(1, keepdims=True)
    asked = given[:, 0] > 0
    whole = "all answers" if missing == "category" else "the answers with a label"
    statistic = Statistic(
        method=f"share of {whole}",
        excluded={} if missing == "category" else cell.counted,
        n=asked,
        reason="no answer has a label" if cell.items else "no annotations",
    )
    if not asked.any():
        yield statistic
        return
    under = Ratio(counts, given)
    for index, label in enumerate(cell.labels):
        yield replace(
            statistic,
            under=under,
            column=index,
            where={"label": label},
            ends=(0.0, 1.0),
            details={"answers": int(given.sum()), "given": int(counts[:, index].sum())},
        )


@measure(compares=("variant", "text"), missing=("drop", "category"), of_classes=True)
def distribution_shift(
    data: MeasureInput,
    *,
    between: str | Sequence[str] = "variant",
    reference: str | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """How far each condition's label distribution is from a reference's, or from all others' together.

    ``distribution_shift_tv`` is the total variation distance of the shares of labels, ½ Σ_v |p_v − q_v|. It
    is above 0 by noise alone: in ``details``, ``floor`` and ``floor_high`` are its mean and upper quantile
    when the two sides of a comparison are exchanged at random, item by item or group by group, and ``p`` is
    of that test (`paired_differences.gap`). Without a reference, ``p`` is no smaller than that of a second
    test, which exchanges the conditions at random: the first rejects too often where one condition lacks a
    rare label in every group, the second where one condition is noisier than the others, so a shift counts
    only if both find it. ``p_holm`` is adjusted for the cell's comparisons; ``shares`` and
    ``reference_shares`` are the distributions. Undefined where there are fewer than two conditions with
    labels. The interval is of the true distance: its lower end allows for what noise may have added to the
    value, and is 0 where ``p`` does not reject that there is no distance.

    Args:
        between: The column (or columns) whose values are the conditions.
        reference: The condition to compare the others with: its columns' values, joined by ``" | "``.
        missing: ``"drop"``: shares of the answers with a label; ``"category"``: of all answers.

    Returns:
        An estimate for each cell and condition (but the reference); the cell holds the condition.

    Raises:
        UnknownColumn: The reference does not occur.

    Shares of a: 3/4 and 1/4, half apart:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 2, "variant": ["v"] * 4 + ["w"] * 4,
    ...                       "label": list("aaab" "abbb")})
    >>> distribution_shift(frame, reference="w")[0].value
    0.5
    """
    conditions = (between,) if isinstance(between, str) else tuple(between)
    raters = [role for role in ASKING if role not in conditions]
    for cell in data.cells(raters=raters, within=conditions, missing=missing):
        excluded = {} if missing == "category" else cell.counted
        statistic = Statistic(
            part="_tv", method="total variation distance of label distributions", n=0, excluded=excluded
        )
        yield from adjusted(list(map(cell.estimated, _shifts(statistic, cell, reference))))


def _shifts(statistic: Statistic, cell: Cell, reference: str | None) -> Iterator[Statistic]:
    """The distance of each condition that has labels."""
    names = [" | ".join(where.values()) for where in cell.strata]
    if reference is not None and names and reference not in names:
        raise UnknownColumn(reference, names, where="reference")
    counts = cell.counts()
    kept = np.flatnonzero(counts.any((0, 2)))
    against = names.index(reference) if reference is not None and names else None
    if kept.size < 2 or (against is not None and against not in kept):
        why = "no annotations" if not cell.items else "fewer than two conditions with labels"
        yield replace(statistic, reason="no answer has a label" if cell.items and not kept.size else why)
        return
    others = counts.sum(1, keepdims=True) - counts if against is None else counts[:, [against]] + 0 * counts
    compared = [place for place in kept if place != against]
    sides = counts[:, compared], others[:, compared]
    draws = affordable(cell.resampling.resamples, cell.units.count)
    two_sided = against is None and len(compared) == 2  # either side of one test
    exchanged = None
    if draws and not two_sided and against is None:
        seed = derive(cell.resampling.seed, "conditions")
        apart = np.stack([_apart(*(side[:, index] for side in sides)) for index in range(len(compared))], 1)
        exchanged = _distance(of_random_conditions(apart, cell.units, draws, seed))

    def under(weights: Floats) -> Floats:
        left, right = (np.tensordot(weights, side, 1) for side in sides)
        return _distance(
            quotient(left, left.sum(2, keepdims=True)) - quotient(right, right.sum(2, keepdims=True))
        )

    values = under(np.ones((1, len(counts))))[0]
    for column, place in enumerate(compared):
        left, right = (side[:, column] for side in sides)
        reach, known = gap(_apart(left, right), cell.units, _distance, cell.resampling)
        if exchanged is not None:
            known["p"] = max(known["p"], float(p_above(values[[column]], exchanged[:, None])[0]))
            reach = np.inf if known["p"] >= 1 - cell.resampling.confidence_level else reach
        shares = (
            dict(zip(cell.labels, (side.sum(0) / side.sum()).tolist(), strict=True)) for side in (left, right)
        )
        known |= {"hypothesis": "the same distribution"} if two_sided else {}
        yield replace(
            statistic,
            under=under,
            column=column,
            where=cell.strata[place],
            n=counts[:, kept].any((1, 2)),
            details=known | dict(zip(("shares", "reference_shares"), shares, strict=True)),
            ends=(0.0, 1.0),
            reach=reach,
        )


def _apart(left: Floats, right: Floats) -> Floats:
    """What each item adds to the difference of two sides' label shares, from counts of items × labels."""
    both = np.stack([left, right], 1)
    parts = level_deviations(both, both.sum(2, keepdims=True))
    return parts[:, 0] - parts[:, 1]


def _distance(apart: Floats) -> Floats:
    return np.asarray(np.abs(apart).sum(-1) / 2)
