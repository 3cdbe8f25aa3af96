"""What moves the labels: each factor of the prompt, or the items.

For every factor, the share of each label at each of its levels; the range of the share that moves
most; and the part of the labels' variation that the factor accounts for, taken alone. The same for the
items: by their gold label, and one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.records import Estimate
from quaver.report.results import NO_LABEL, Results

__all__ = ["adjusted_tau", "movement"]

Floats = NDArray[np.float64]

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


def movement(results: Results, resamples: int = _RESAMPLES) -> list[Estimate]:
    """How far each factor moves the labels, from the first evaluator's annotations.

    Answers without a label count as a label of their own. Measures: ``level_shares`` (the share of a
    label at a level; cell: ``factor``, ``level``, ``label``), ``label_range`` (for each factor the
    largest minus the smallest share of the label that moves most; cell: ``factor``, ``label``) and
    ``variation`` (cell: ``factor``). Factors are those of the variants that have several levels,
    ``decoding`` and ``model`` where there are several, and, for the items, ``gold`` and ``item``.

    Args:
        results: The study.
        resamples: Bootstrap resamples of items for the intervals.

    Returns:
        The estimates; none where no factor varies or there are no annotations.
    """
    frame = _frame(results)
    if frame.is_empty():
        return []
    labels = [*results.label_names, NO_LABEL]
    found: list[Estimate] = []
    for factor, levels in _factors(results, frame).items():
        counted = _count(frame, factor, levels, labels)
        found += _shares(counted, resamples, results.seed)
        found.append(_variation(factor, counted.counts.sum(0), counted.counts.shape[0]))
    by_item = frame.group_by("item").agg(
        (pl.col("label") == label).sum().alias(f"{at}") for at, label in enumerate(labels)
    )
    found.append(_variation("item", by_item.drop("item").to_numpy().astype(float), by_item.height))
    return found


def _frame(results: Results) -> pl.DataFrame:
    """The first evaluator's answers as text, unanswered ones labelled as such."""
    frame = results.annotations
    if frame.is_empty() or "label" not in frame.columns:
        return pl.DataFrame()
    if results.evaluators and "evaluator" in frame.columns:
        frame = frame.filter(pl.col("evaluator").cast(pl.String) == results.evaluators[0])
    known = [*results.label_names]
    label = pl.col("label").cast(pl.String)
    wanted = ["item", *(c for c in (*results.factors, "decoding", "model", "gold") if c in frame.columns)]
    return frame.select(
        *(pl.col(column).cast(pl.String) for column in dict.fromkeys(wanted)),
        pl.when(label.is_in(known)).then(label).otherwise(pl.lit(NO_LABEL)).alias("label"),
    )


def _factors(results: Results, frame: pl.DataFrame) -> dict[str, list[str]]:
    factors = {name: levels for name, levels in results.factors.items() if name in frame.columns}
    for name in ("decoding", "model", "gold"):
        if name in frame.columns:
            order = [*results.label_names] if name == "gold" else results.order(name)
            seen = set(frame[name].drop_nulls().unique().to_list())
            if len(seen) > 1:
                factors[name] = [level for level in order if level in seen]
    return factors


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
    most = int(np.argmax(spans))
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
        None if flat else float(low),
        None if flat else float(high),
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
