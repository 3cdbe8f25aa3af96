"""What moves the labels: each factor of the prompt, or the items.

For every factor, the share of each label at each of its levels; the range of the share that moves
most; and the part of the labels' variation that the factor accounts for, taken alone. The same for the
items: by their gold label, and one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from quaver.core.records import NO_LABEL, Estimate, LabelSet
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import frame_of
from quaver.estimation.column_roles import ColumnReader, UnknownColumn
from quaver.estimation.measure_protocol import Frame, guarded
from quaver.estimation.one_thread import one_thread

_RESAMPLES = 1000
_CHUNK = 100
_TAU = "Goodman & Kruskal (1954), Journal of the ASA 49, 732-764, section 9 (tau)"


@dataclass(frozen=True, slots=True)
class _Counts:
    """Answers by item × level × label."""

    factor: str
    levels: list[str]
    labels: list[str]
    counts: Floats


@guarded
def label_movement(
    annotations: Frame,
    factors: Mapping[str, Sequence[str]],
    *,
    labels: LabelSet,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """How far each factor moves the labels, and how far the items do.

    Answers without a label count as a label of their own. Measures: ``level_shares`` (the share of a
    label at a level; cell: ``factor``, ``level``, ``label``), ``label_range`` (for each factor the
    largest minus the smallest share of the label that moves most, an answer without a label being none;
    cell: ``factor``, ``label``) and ``variation`` (`adjusted_tau`; cell: ``factor``). The items take part as
    ``gold``, where two gold labels occur, and one by one as ``item``.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``label``, a column for each factor,
            and ``gold`` where it is known.
        factors: The levels of each factor, in the order in which to report them.
        labels: The label set.
        resamples: Bootstrap resamples of items for the intervals.
        seed: Root seed of the bootstrap.

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
    ColumnReader(given, {}).one_evaluator(())
    known = list(labels.codes)
    frame = _text(given, factors, known)
    factors = {**factors, "gold": _gold(frame, known)}
    names = [*known, NO_LABEL]
    found: list[Estimate] = []
    for factor, levels in factors.items():
        if len(levels) > 1:
            counted = _count(frame, factor, list(levels), names)
            found += _shares(counted, resamples, seed)
            found.append(_variation(factor, counted.counts.sum(0), counted.counts.shape[0]))
    by_item = frame.group_by("item").agg(
        (pl.col("label") == label).sum().alias(f"{at}") for at, label in enumerate(names)
    )
    return [*found, _variation("item", by_item.drop("item").to_numpy().astype(float), by_item.height)]


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
    return _Counts(factor, levels, labels, counts)


@one_thread()
def _shares(counted: _Counts, resamples: int, seed: int) -> list[Estimate]:
    items, levels, labels = counted.counts.shape
    point = _levels(counted.counts.sum(0))
    draws = np.empty((resamples, levels, labels))
    generator = np.random.default_rng([abs(seed), 0x6D6F7665])
    flat = counted.counts.reshape(items, levels * labels)
    for start in range(0, resamples, _CHUNK):
        size = min(_CHUNK, resamples - start)
        weights = generator.multinomial(items, np.full(items, 1 / items), size)
        draws[start : start + size] = _levels((weights @ flat).reshape(size, levels, labels))
    found = [
        _estimate(
            "level_shares",
            {"factor": counted.factor, "level": counted.levels[i], "label": counted.labels[k]},
            point[i, k],
            draws[:, i, k],
            items,
            "share of all answers at this level",
        )
        for i in range(levels)
        for k in range(labels)
    ]
    spans = np.nanmax(point, 0) - np.nanmin(point, 0)
    most = int(np.argmax(spans[: labels - 1]))  # the last is no label
    with np.errstate(all="ignore"):
        widths = draws[:, :, most].max(1) - draws[:, :, most].min(1)
    cell = {"factor": counted.factor, "label": counted.labels[most]}
    how = "largest minus smallest share over the factor's levels, for the label that moves most"
    found.append(_estimate("label_range", cell, spans[most], widths, items, how))
    return found


def _levels(counts: Floats) -> Floats:
    total = counts.sum(-1, keepdims=True)
    return np.asarray(np.where(total > 0, counts / np.where(total > 0, total, 1), np.nan))


def _estimate(
    measure: str, cell: dict[str, str], value: float, draws: Floats, items: int, method: str
) -> Estimate:
    if not np.isfinite(value):
        return Estimate(measure, None, n=items, cell=cell, method=method, reason="no answers")
    known = draws[np.isfinite(draws)]
    low, high = np.quantile(known, [0.025, 0.975]) if known.size > 1 else (value, value)
    flat = high - low <= 1e-12
    return Estimate(
        measure,
        float(value),
        None if flat else min(float(low), float(value)),
        None if flat else max(float(high), float(value)),
        n=items,
        cell=cell,
        method=method + ("" if flat else f"; percentile interval, {draws.size} resamples of items"),
        warnings=("the bootstrap does not vary, so there is no interval",) if flat else (),
    )


def adjusted_tau(counts: Floats) -> float | None:
    """Goodman and Kruskal's tau, less what chance alone would give.

    tau = (Σ_l Σ_k n_lk²/n_l − Σ_k n_k²/n) / (n − Σ_k n_k²/n): the part of the errors in guessing the label
    that knowing the level saves. Adjusted as R² is: 1 − (1 − tau)(n − 1)/(n − L), with L levels.

    Args:
        counts: Shape (levels, labels).

    Returns:
        None where all answers have one label, or there are no more answers than levels.

    Two levels that never agree account for everything, two alike for nothing (here, less than chance):

    >>> adjusted_tau(np.array([[5.0, 0.0], [0.0, 5.0]]))
    1.0
    >>> round(adjusted_tau(np.array([[2.0, 2.0], [2.0, 2.0]])), 4)  # 1 - 7/6
    -0.1667
    """
    sizes = counts.sum(1)
    counts, sizes = counts[sizes > 0], sizes[sizes > 0]
    n, levels = float(sizes.sum()), len(sizes)
    alone = float((counts.sum(0) ** 2).sum()) / n if n else 0.0
    if n <= levels or n - alone <= 1e-12:
        return None
    tau = (float((counts**2 / sizes[:, None]).sum()) - alone) / (n - alone)
    return 1 - (1 - tau) * (n - 1) / (n - levels)


def _variation(factor: str, counts: Floats, items: int) -> Estimate:
    value = adjusted_tau(counts)
    return Estimate(
        "variation",
        value,
        n=items,
        cell={"factor": factor},
        method="adjusted Goodman-Kruskal tau: part of the labels' variation that goes with the factor",
        reference=_TAU,
        reason=None if value is not None else "no variation, or no more answers than levels",
    )
