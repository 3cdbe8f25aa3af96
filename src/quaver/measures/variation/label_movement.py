"""What moves the labels: for every factor, the share of each label at each level, and the largest range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from quaver.core.records import NO_LABEL, Estimate, LabelSet
from quaver.estimation.arrangement import ColumnReader, UnknownColumn
from quaver.estimation.bootstrap import Floats, Ratio, Resampling
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.gathered import Gathered, frame_of
from quaver.estimation.grouped_items import item_groups, level_deviations, tabulated
from quaver.estimation.paired_differences import gap
from quaver.estimation.statistic import Sampler, Statistic


@guarded
def label_movement(
    annotations: Frame,
    factors: Mapping[str, Sequence[str]],
    *,
    labels: LabelSet,
    group: str | None = None,
    seed: int = 0,
) -> list[Estimate]:
    """How far each factor moves the labels.

    Answers without a label count as a label of their own. Measures: ``level_shares`` (the share of a
    label at a level; cell: ``factor``, ``level``, ``label``) and ``label_range`` (for each factor the
    largest minus the smallest share of the label that moves most, an answer without a label being none;
    cell: ``factor``, ``label``). The items take part as ``gold``, where two gold labels occur.
    Noise alone makes a range larger than 0: its interval allows for that (`paired_differences.gap`), and its
    details have ``floor``, ``floor_high`` and ``p``.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``label``, a column for each factor,
            and ``gold`` where it is known.
        factors: The levels of each factor, in the order in which to report them.
        labels: The label set.
        group: The column whose groups of items are the units of the intervals, instead of items.
        seed: Root seed of the draws of the floor.

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
    for column in ("item", "label", *factors):
        if column not in given.columns:
            where = "factors" if column in factors else "annotations"
            raise UnknownColumn(column, given.columns, where=where)
    names = dict.fromkeys(("item", *factors, *(["gold"] if "gold" in given.columns else [])))
    label = pl.col("label").cast(pl.String)
    answered = pl.when(label.is_in(list(labels.codes))).then(label).otherwise(pl.lit(NO_LABEL))
    frame = given.select(*(pl.col(name).cast(pl.String) for name in names), label=answered)
    true = set(frame["gold"].drop_nulls()) if "gold" in frame.columns else ()
    items, codes = frame["item"].unique().sort().to_list(), [*labels.codes, NO_LABEL]
    sampler = Sampler(item_groups(given, group).units(items), Resampling(seed=seed))
    found: list[Statistic] = []
    for factor, every in {**factors, "gold": [code for code in labels.codes if code in true]}.items():
        if len(every) > 1:
            counts = tabulated(frame, **{"item": items, factor: list(every), "label": codes})
            found += _shares(factor, every, codes, counts)
            if (answers := counts.sum((0, 2)) > 0).any():
                found.append(_range(factor, codes, counts[:, answers], sampler))
    return [sampler.estimated(statistic) for statistic in found]


def _shares(factor: str, levels: Sequence[str], labels: Sequence[str], counts: Floats) -> Iterator[Statistic]:
    """The share of each label at each level."""
    under = Ratio(counts.reshape(len(counts), -1), np.repeat(counts.sum(2), len(labels), axis=1))
    for column, (level, label) in enumerate((level, label) for level in levels for label in labels):
        yield Statistic(
            part="level_shares",
            method="share of all answers at this level",
            under=under,
            column=column,
            where={"factor": factor, "level": level, "label": label},
            reason="no answers",
            ends=(0.0, 1.0),
        )


def _range(factor: str, labels: Sequence[str], counts: Floats, sampler: Sampler) -> Statistic:
    """The range of the label that moves most, over the levels with answers."""
    whole = counts.sum(2, keepdims=True)
    most = int(np.argmax(np.ptp(counts.sum(0) / whole.sum(0), axis=0)[:-1]))  # the last is no label
    apart, levels = level_deviations(counts, whole)[..., :-1], Ratio(counts[..., most], whole[..., 0])
    known = gap(apart, sampler.units, lambda x: np.ptp(x, 1).max(1), sampler.resampling, factor)
    return Statistic(
        part="label_range",
        method="largest minus smallest share over the factor's levels, for the label that moves most",
        under=lambda weights: np.ptp(levels(weights), axis=1)[:, None],
        where={"factor": factor, "label": labels[most]},
        details=known.details,
        ends=(0.0, 1.0),
        reach=known.reach,
    )
