"""Sensitivity of items to the prompt's words, and consistency of the items of one class.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), What Did I Do Wrong? Quantifying LLMs' Sensitivity
and Consistency to Prompt Engineering, NAACL 2025, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
import scipy

from quaver.core.records import Estimate, IntervalWarning, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.cells import Frame, Missing, cells, guarded
from quaver.estimation.coded_columns import Columns, Unmeasurable
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import Interval, no_narrower, none_goes_far
from quaver.estimation.jackknife import FEW, Floats
from quaver.estimation.means import (
    entropy,
    jackknifed_entropy,
    mean_defined,
    of_known,
    over_strata,
    quotient,
)
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic, never_labelled

PAPER = "Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, section 3"

STRATA = ("model", "decoding", "repeat")
"""Within these the variants are one set of rephrasings."""

Convention = Literal["recommended", "paper"]
"""``"paper"``: as its authors compute it; ``"recommended"``: as each measure's docstring says."""


@measure(
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("convention",),
    estimands=("population", "fixed"),
    of_a_set=True,
)
def sensitivity(
    data: MeasureInput, *, convention: Convention = "recommended", missing: Missing | None = None
) -> list[Estimate]:
    """Sensitivity: the mean over items of the entropy of the labels that the variants gave.

    s(x) = −Σ_v p(v | x) ln p(v | x) / ln C, with p(v | x) the share of the Q variants that labelled item x
    with v, and C the number of labels of the label set (one more where answers without a label count as one).
    Computed within each repeat (of each model and decoding), and averaged over those. Undefined where no item
    has two predictions, or there is one label only.

    The plug-in entropy grows with Q: do not compare values with different Q. ``details["corrected"]`` is the
    jackknifed entropy; ``sd`` the standard deviation over items, ``by_class`` the mean of each gold label's
    items (``by=["gold"]`` gives its interval), ``predictions`` the range of Q, ``labels`` C.

    Args:
        convention: ``"paper"`` is ``missing="category"``, as the authors' code has it.
        missing: ``"drop"`` (the default) or ``"category"``.

    One item split two to two over four labels (ln 2 / ln 4), another unanimous:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 1, 2, 2, 2, 2], "variant": [1, 2, 3, 4] * 2,
    ...                       "label": list("aabbcccc"), "gold": list("aaaadddd")})
    >>> sensitivity(frame)[0].value
    0.25
    """
    missing = checked_convention(convention, missing)
    estimates: list[Estimate] = []
    for cell in data.cells(raters=("variant",), within=STRATA, gold=True, missing=missing):
        method = f"mean over items of label entropy over ln {len(cell.labels)} ({_unlabelled(missing)}; "
        shape = _shape(cell, f"{method}convention: {convention})", missing)
        estimates.append(cell.estimated(_sensitivity(cell, shape)))
    return _unequal(estimates)


def _shape(cell: Cell, method: str, missing: Missing) -> Statistic:
    """The statistic of a cell with its method, warnings and exclusions, without its value."""
    if missing == "category":
        return Statistic(method=method, warnings=never_labelled(cell))
    return Statistic(method=method, excluded=cell.counted)


def entropies(counts: Floats) -> tuple[Floats, Floats]:
    """Items' entropies over ln C by stratum, plain and jackknifed; NaN with fewer than two predictions.

    Args:
        counts: Label counts, shape (items, strata, labels).
    """
    norm = np.log(counts.shape[2]) if counts.shape[2] > 1 else np.nan
    few = counts.sum(2) < 2
    plain, corrected = (np.where(few, np.nan, of(counts) / norm) for of in (entropy, jackknifed_entropy))
    return plain, corrected


def _sensitivity(cell: Cell, shape: Statistic) -> Statistic:
    """The mean over a cell's items."""
    counts = cell.counts()
    plain, corrected = entropies(counts)
    defined = np.isfinite(plain)
    lost = int((counts.sum(2) < 2).all(1).sum())
    excluded = {**shape.excluded, "item with fewer than two predictions": lost}
    shape = replace(shape, excluded=excluded, n=defined.any(1))
    if not defined.any():
        why = "fewer than two labels" if len(cell.labels) < 2 else "fewer than two variants"
        return replace(shape, warnings=(), reason=why if cell.items else "no annotations")
    q, items = counts.sum(2)[defined], mean_defined(plain)
    apart = float(np.nanmean(mean_defined(corrected.T)))
    warnings = shape.warnings
    if q.min() < q.max():
        warnings += (
            f"items have between {q.min():g} and {q.max():g} predictions, with whose number the plain value "
            f"grows; jackknifed, which allows for that, it is {apart:.3g}",
        )
    details = {
        "corrected": apart,
        "sd": _deviation(items),
        "labels": len(cell.labels),
        "predictions": (float(q.min()), float(q.max())),
        "by_class": _by_class(items, cell),
    }
    under = over_strata(of_known(plain))
    return replace(shape, under=under, details=details, warnings=warnings, ends=(0.0, 1.0))


@measure(
    of_classes=True,
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("convention",),
    estimands=("population", "fixed"),
    of_a_set=True,
)
def consistency(
    data: MeasureInput, *, convention: Convention = "recommended", missing: Missing | None = None
) -> list[Estimate]:
    """Consistency: the mean over pairs of items of one class of 1 − TVD of their label distributions.

    c(x, x') = 1 − ½ Σ_v |p(v | x) − p(v | x')|, with p(v | x) the share of the variants that labelled
    item x with v. The recommended value leaves out pairs of an item with itself (which are 1 by
    definition) and is the mean of the class means; the paper's tables pool all pairs and leave
    self-pairs in. Computed within each repeat (of each model and decoding), and averaged over those.
    Undefined without gold labels, or where no class has two items. The interval leaves out pairs of copies
    of one item.

    Args:
        convention: ``"paper"``: all pairs weigh the same, each item with itself among them, and
            ``missing="category"``.
        missing: ``"drop"`` (the default) or ``"category"``.

    Returns:
        An estimate for each cell, the classes' own in ``details["by_class"]``; with ``by=["gold"]`` one for
        each class.

    Two items of one class, labelled a a and a b: 1 − ½ (½ + ½):

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> consistency(frame)[0].value, consistency(frame, convention="paper")[0].value
    (0.5, 0.75)
    """
    missing, paper = checked_convention(convention, missing), convention == "paper"
    estimates: list[Estimate] = []
    for cell in data.cells(raters=("variant",), within=STRATA, gold=True, missing=missing):
        statistics = list(_consistency(cell, missing, paper=paper))
        whole, *each = map(cell.estimated, statistics[: 1 if data.is_retaken or paper else None])
        estimates.append(no_narrower(whole, each, (0.0, 1.0)))
    return _unequal(estimates)


def _consistency(cell: Cell, missing: Missing, *, paper: bool) -> Iterator[Statistic]:
    """The statistic of all classes, and of each one."""
    counts, gold = cell.counts(), cell.gold_codes
    strata = [Pairs(counts[:, index], gold, self_pairs=paper) for index in range(counts.shape[1])]
    codes = sorted({code for part in strata for code, (items, *_) in part.classes.items() if items.size > 1})
    which = "all pairs, self-pairs in" if paper else "the class means, self-pairs out"
    method = f"1 − total variation distance of items of one class, mean {which} ({_unlabelled(missing)})"
    shape = _shape(cell, method, missing)
    lost = int((gold < 0).sum())
    excluded = {**shape.excluded, "item without gold": lost}
    shape = replace(shape, excluded=excluded, n=gold >= 0)
    if not codes:
        why = "no class with two items" if (gold >= 0).any() else "no gold labels"
        yield replace(shape, reason=why if cell.items else "no annotations")
        return

    def under(weights: Floats) -> Floats:
        """All classes together, then each."""
        values = np.full((len(weights), 1 + len(codes), len(strata)), np.nan)
        for index, part in enumerate(strata):
            total, pairs = part.sums(weights)
            each = quotient(total, pairs)
            values[:, 0, index] = quotient(total.sum(1), pairs.sum(1)) if paper else mean_defined(each)
            for place, code in enumerate(part.classes):
                if code in codes:
                    values[:, 1 + codes.index(code), index] = each[:, place]
        return mean_defined(values.reshape(-1, len(strata))).reshape(len(weights), -1)

    items = mean_defined(np.stack([part.per_item() for part in strata], 1))
    q = counts.sum(2)[gold >= 0]
    of_each = under(np.ones((1, len(gold))))[0, 1:].tolist()
    names = [cell.labels[code] for code in codes]
    details: dict[str, Any] = {
        "labels": len(cell.labels),
        "predictions": (float(q[q > 0].min()), float(q.max())),
    }
    shape = replace(shape, under=under, ends=(0.0, 1.0), spread=_spread)
    yield replace(
        shape,
        n=np.isfinite(items),
        warnings=shape.warnings + (() if paper else _few_deviating(cell, counts.sum(1), gold)),
        details={"sd": _deviation(items), **details, "by_class": dict(zip(names, of_each, strict=True))},
    )
    for column, (code, name) in enumerate(zip(codes, names, strict=True), 1):
        own = np.where(gold == code, items, np.nan)
        yield replace(
            shape,
            column=column,
            where={"class": name},
            n=np.isfinite(own),
            details={"sd": _deviation(own), **details},
        )


def _spread(value: float, share: float) -> Interval:
    pairs = 1 - (1 - share) ** 2  # a pair is touched where either of its items is
    return Interval(value * (1 - pairs), value + pairs * (1 - value))


def _few_deviating(cell: Cell, counts: Floats, gold: np.ndarray) -> tuple[IntervalWarning, ...]:
    """A warning where few items of a class have another label than most: they make all the variance."""
    few: list[int] = []
    far: tuple[IntervalWarning, ...] = ()
    for code in np.unique(gold[gold >= 0]):
        mine = np.where((gold == code)[:, None], counts, 0.0)
        total = mine.sum(1)
        others = total - mine[:, int(mine.sum(0).argmax())]
        few.append(cell.units.touched(others > 0))
        share = quotient(others, total)
        far = far or none_goes_far(share, "item of a class", cell.resampling.confidence_level)
    if min(few) >= FEW:
        return far
    text = f"only {min(few)} {cell.units.name}s of a class have another label than most"
    return (IntervalWarning(f"{text}: the interval may be too narrow"),)


class Pairs:
    """The pairs of items of one class in one stratum, as sums that no pair is visited for.

    With the levels t of a label's shares in a class, Σ |p_i − p_j| over its pairs is the sum over the steps
    between levels of the step, times how many items are above it, times how many are not.

    Args:
        counts: Label counts, shape (items, labels). Items without any do not take part.
        gold: Each item's class, -1 for none.
        self_pairs: Whether an item is paired with itself.

    Attributes:
        classes: For each class its items, the steps, and which item is above which of them.
    """

    def __init__(self, counts: Floats, gold: np.ndarray, *, self_pairs: bool = False) -> None:
        given = counts.sum(1)
        self.shares, self._self_pairs = counts / np.maximum(given, 1)[:, None], self_pairs
        self.classes: dict[int, tuple[np.ndarray, Floats, Floats]] = {}
        for code in np.unique(gold[(gold >= 0) & (given > 0)]).tolist():
            items = np.flatnonzero((gold == code) & (given > 0))
            steps, above = [np.zeros(0)], [np.zeros((items.size, 0))]
            for share in self.shares[items].T:
                levels = np.unique(share)
                steps.append(np.diff(levels))
                above.append((share[:, None] >= levels[1:]).astype(np.float64))
            self.classes[code] = items, np.concatenate(steps), np.concatenate(above, 1)

    def sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Σ of consistencies and number of (ordered) pairs in each class, shapes (samples, classes)."""
        total, pairs = np.zeros((2, len(weights), len(self.classes)))
        for index, (items, steps, above) in enumerate(self.classes.values()):
            mine = weights[:, items]
            whole, upper = mine.sum(1), mine @ above
            # Copies of one item in a sample are not a pair: they would be consistent by birth.
            pairs[:, index] = whole**2 - (mine**2).sum(1) + (whole if self._self_pairs else 0)
            total[:, index] = pairs[:, index] - (upper * (whole[:, None] - upper)) @ steps
        return total, pairs

    def per_item(self) -> Floats:
        """Each item's mean consistency with the others of its class; NaN where there are none."""
        result = np.full(len(self.shares), np.nan)
        for items, steps, above in self.classes.values():
            upper, others = above.sum(0), items.size - 1 + self._self_pairs
            if others:
                apart = above @ (steps * (items.size - upper)) + (1 - above) @ (steps * upper)
                result[items] = 1 - apart / 2 / others
        return result


@guarded
def consistency_matrix(
    annotations: Frame, of: str, *, labels: LabelSet | None = None, missing: Missing = "drop"
) -> tuple[tuple[str, ...], Floats]:
    """The consistency of every pair of items of one class.

    Args:
        annotations: A row an annotation, with a ``gold`` column, of one cell of interest.
        of: The gold label whose items are compared.
        labels: The label set.
        missing: ``"drop"`` or ``"category"``.

    Returns:
        The items' ids, and the matrix, shape (items, items): 1 on the diagonal, mean over repeats.

    Raises:
        MeasureError: The frame cannot be used, or no item has that gold label and an answer.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> consistency_matrix(frame, "a")[1].tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    missing = checked_convention("recommended", missing)
    (cell,) = cells(
        annotations, raters=("variant",), within=STRATA, labels=labels, missing=missing, gold=True
    )
    if cell.gold is None or of not in cell.labels:
        known = "no gold labels" if cell.gold is None else ", ".join(cell.labels)
        raise Unmeasurable("no such class", where="of", expected=known, found=repr(of))
    counts = cell.counts()
    members = np.flatnonzero((cell.gold == cell.labels.index(of)) & (counts.sum(2) > 0).all(1))
    if not members.size:
        raise Unmeasurable("no items of this class", where="of", expected="a gold label with items", found=of)
    shares = counts[members] / counts[members].sum(2, keepdims=True)
    layers = [
        1 - scipy.spatial.distance.cdist(layer, layer, "cityblock") / 2 for layer in np.moveaxis(shares, 1, 0)
    ]
    return tuple(cell.items[index] for index in members), np.mean(layers, 0)


@guarded
def item_stability(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    convention: Convention = "recommended",
    missing: Missing | None = None,
    columns: Columns | None = None,
) -> pl.DataFrame:
    """Each item's sensitivity and consistency.

    Args:
        annotations: A row an annotation, as a measure takes them.
        labels: The label set.
        by: Columns that make the cells.
        convention: As in `sensitivity` and `consistency`.
        missing: As there.
        columns: Other names for the frame's columns.

    Returns:
        A row an item and cell: the columns of ``by``, ``item``, ``gold``, ``sensitivity``, ``corrected``
        (jackknifed), ``consistency`` (the mean over the other items of its class), ``predictions`` (the mean
        number over repeats), ``mode`` (the modal label). Null where a number is undefined.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": [1, 2, 1, 2], "label": list("aaab"),
    ...                       "gold": list("aaaa")})
    >>> item_stability(frame).select("item", "sensitivity", "consistency", "mode").rows()
    [('1', 0.0, 0.5, 'a'), ('2', 1.0, 0.5, 'a')]
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    missing = checked_convention(convention, missing)
    text = dict.fromkeys((*by, "item", "gold", "mode"), pl.String)
    numbers = dict.fromkeys(("sensitivity", "corrected", "consistency", "predictions"), pl.Float64)
    parts = [pl.DataFrame(schema={**text, **numbers})]
    how = partial(cells, annotations, raters=("variant",), within=STRATA, by=by, gold=True)
    for cell in how(labels=labels, columns=columns, missing=missing):
        counts, gold = cell.counts(), cell.gold_codes
        alike = [
            Pairs(counts[:, index], gold, self_pairs=convention == "paper").per_item()
            for index in range(counts.shape[1])
        ]
        plain, corrected = entropies(counts)
        rows = {
            **{name: [value] * len(cell.items) for name, value in cell.where.items()},
            "item": list(cell.items),
            "gold": [cell.labels[code] if code >= 0 else None for code in gold],
            "mode": [cell.labels[row.argmax()] if row.any() else None for row in counts.sum(1)],
            "sensitivity": mean_defined(plain),
            "corrected": mean_defined(corrected),
            "consistency": mean_defined(np.stack([np.full(len(gold), np.nan), *alike], 1)),
            "predictions": counts.sum((1, 2)) / max(1, counts.shape[1]),
        }
        parts.append(pl.DataFrame(rows, schema_overrides={**text, **numbers}).select(parts[0].columns))
    return pl.concat(parts).with_columns(pl.col(list(numbers)).fill_nan(None))


def checked_convention(convention: Convention, missing: Missing | None) -> Missing:
    """What the unanswered count as, under a convention."""
    if convention not in get_args(Convention):
        raise MeasureError(
            "unknown convention", where="convention", expected="recommended or paper", found=repr(convention)
        )
    allowed = {"paper": "category"}.get(convention, "drop or category")
    if missing is not None and missing not in allowed.split(" or "):
        raise MeasureError(
            "answers without a label cannot be treated in this way",
            where="missing",
            expected=allowed + (", under the paper's convention" if convention == "paper" else ""),
            found=repr(missing),
        )
    return missing or ("category" if convention == "paper" else "drop")


def _unlabelled(missing: Missing) -> str:
    if missing == "category":
        return "an answer without a label counts as one more label"
    return "answers without a label are left out"


def _deviation(values: Floats) -> float | None:
    defined = values[np.isfinite(values)]
    return float(defined.std(ddof=1)) if defined.size > 1 else None


def _by_class(values: Floats, cell: Cell) -> dict[str, float]:
    """The mean of item values for each gold label that has any."""
    defined = np.isfinite(values)
    classes = [(name, defined & (cell.gold_codes == code)) for code, name in enumerate(cell.labels)]
    return {name: float(values[items].mean()) for name, items in classes if items.any()}


def _unequal(estimates: list[Estimate]) -> list[Estimate]:
    """Warn where the cells of one call rest on unequal numbers of predictions."""
    seen = {e.details["predictions"] for e in estimates if e.value is not None}
    if len(seen) < 2:
        return estimates
    ranges = ", ".join(f"{low:g}" if low == high else f"{low:g} to {high:g}" for low, high in sorted(seen))
    warning = (
        f"cells rest on unequal numbers of predictions an item ({ranges}): do not compare the plain values"
    )
    return [replace(e, warnings=(*e.warnings, warning)) if e.value is not None else e for e in estimates]
