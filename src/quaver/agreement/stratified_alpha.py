"""Alpha averaged over strata, with its interval: the arithmetic of the prompt stability scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.agreement.disagreement import Disagreement, over_values, scale
from quaver.core.records import IntervalWarning, LabelSet, Level
from quaver.errors import MeasureError
from quaver.estimation.answer_grid import Ints
from quaver.estimation.bootstrap import Floats, Units
from quaver.estimation.cell import Cell, never_labelled
from quaver.estimation.cells import Missing
from quaver.estimation.intervals import Interval
from quaver.estimation.means import none_goes_far, over_strata
from quaver.estimation.statistic import Statistic, enough_groups


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


def ranged(said: Statistic, model: Disagreement, strata: Sequence[int]) -> Statistic:
    """A mean of alphas that knows the least value which labels of these frequencies allow.

    Close to that it varies upwards more than downwards, and a rare label makes it about 0.
    """
    if not len(strata):
        return replace(said, ends=(-1.0, 1.0))
    least, step = model.least[list(strata)].mean(0).tolist()
    return replace(said, ends=(least, 1.0), step=step / len(strata))


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
    counts = cell.counts()
    model = Disagreement(counts, level, values)
    reasons = model.reasons()
    kept = [index for index, reason in enumerate(reasons) if reason is None]
    lost = Counter(reason for reason in reasons if reason)
    said = replace(
        said_of_alpha(cell, method, missing),
        where=where or {},
        n=cell.units.touched(np.asarray(model.pairable.any(1))),
        differing=cell.units.touched(np.asarray((model.per_item > 1e-12).any(1))),
        rarest=rarest_labels(counts, cell.units),
        least_rare_groups=enough_groups(cell.units),
        details=details or {},
    )
    said = replace(said, warnings=(*said.warnings, *stray_labels(cell, counts.sum(1))))
    if not kept:
        return replace(said, reason=lost.most_common(1)[0][0] if lost else "no annotations")
    if len(kept) < len(reasons):
        why = ", ".join(f"{count} with {reason}" for reason, count in lost.items())
        warning = f"alpha is undefined in {sum(lost.values())} of {len(reasons)} strata ({why})"
        said = replace(said, warnings=(*said.warnings, warning))
        model = Disagreement(counts[:, kept], level, values)
    return replace(
        ranged(said, model, range(model.strata)),
        under=over_strata(model.alphas),
        spread=spread_over(alpha_losses(model, level)),
        excluded={**said.excluded, **{f"{stratum}: {why}": count for why, count in lost.items()}},
        details={**said.details, "level": level, "strata": len(kept)},
    )


def rarest_labels(counts: Floats, units: Units) -> int:
    """How many units have a label that is not the most frequent one: without any, agreement is undefined.

    Args:
        counts: Shape (items, labels); or (items, strata, labels), for the mean over strata, since a number
            that averages over strata rests on what each of them has.
        units: What is resampled.

    >>> rare = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> rarest_labels(rare.sum(1), Units(3)), rarest_labels(rare, Units(3))
    (2, 1)
    """
    if not counts.size:
        return 0
    if counts.ndim == 2:
        counts = counts[:, None]
    return int(rarest_in_each(counts, units).mean())


def rarest_in_each(counts: Floats, units: Units) -> Ints:
    """`rarest_labels` of each stratum, from counts of shape (items, strata, labels)."""
    if not counts.size:
        return np.zeros(counts.shape[1], np.int64)
    most = counts.sum(0).argmax(-1)
    frequent = np.take_along_axis(counts, most[None, :, None], 2)[..., 0]
    rare = over_values(counts) > frequent
    return np.array([units.touched(column) for column in rare.T], np.int64)


def stray_labels(cell: Cell, counts: Floats) -> tuple[IntervalWarning, ...]:
    """A warning where labels other than the most frequent one are stray answers alone (`none_goes_far`).

    Args:
        cell: The cell.
        counts: Shape (items, labels).
    """
    if not counts.size:
        return ()
    total = over_values(counts)
    others = total - counts[:, int(counts.sum(0).argmax())]
    share = np.where(total > 0, others / np.where(total > 0, total, 1), np.nan)
    return none_goes_far(share, "item", cell.resampling.confidence_level)


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
