"""Stability of repeated answers to one question: strict, by the commonest answer, by entropy.

Each is a number for every item in every condition, and its mean over items, averaged over conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Resampling, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells, checked
from quaver.estimation.column_roles import Columns
from quaver.estimation.entropy import entropy
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import differing, over_strata, ratio
from quaver.estimation.measure_protocol import Frame
from quaver.measures.stability.prompt_stability import CONDITION
from quaver.measures.variation.item_sensitivity import mean_defined

__all__ = ["answer_entropy", "mode_frequency", "repeated_answers", "strict_stability"]

Values = Callable[[Cell, Missing], Floats]
"""Each item's number in each condition, shape (items, conditions); NaN where there is none."""


def _tallies(cell: Cell, missing: Missing) -> tuple[Floats, Floats]:
    """Label counts (blanks last, where they are a category), and how many repeats were asked."""
    counts = cell.counts()
    blanks = cell.unanswered.sum(2)[..., None].astype(np.float64)
    asked = counts.sum(2) + blanks[..., 0]
    return (np.concatenate([counts, blanks], 2) if missing == "category" else counts), asked


def _strict(cell: Cell, _: Missing) -> Floats:
    counts, asked = _tallies(cell, "drop")
    top = counts.max(2) if counts.shape[2] else np.zeros(asked.shape)
    return np.where(asked >= 2, (top == asked).astype(np.float64), np.nan)


def _answered(cell: Cell) -> NDArray[np.bool_]:
    """Where an item got a label from one repeat at least, of two or more; shape (items, conditions)."""
    counts, asked = _tallies(cell, "drop")
    return np.asarray((asked >= 2) & (counts.sum(2) > 0))


def _mode(cell: Cell, missing: Missing) -> Floats:
    counts, _ = _tallies(cell, missing)
    top = counts.max(2) if counts.shape[2] else np.zeros(counts.shape[:2])
    return np.where(_answered(cell), top / np.maximum(counts.sum(2), 1), np.nan)


def _entropy(cell: Cell, missing: Missing) -> Floats:
    counts, _ = _tallies(cell, missing)
    return np.where(_answered(cell), entropy(counts) / np.log(2), np.nan)


def _measure(
    measure: str,
    values: Values,
    method: str,
    annotations: Frame,
    labels: LabelSet | None,
    by: Sequence[str],
    resampling: Resampling,
    missing: Missing,
    columns: Columns | None,
    group: str | None,
    top: Callable[[Cell], float] = lambda _: 1.0,
) -> list[Estimate]:
    checked(missing, ("drop", "category"))
    found = []
    for cell in cells(
        annotations, raters=("repeat",), within=CONDITION, by=by, labels=labels, columns=columns, group=group
    ):
        own, units = values(cell, missing), cell.units
        known = np.isfinite(own)
        item = mean_defined(own)
        excluded = dict(cell.counted) if missing == "drop" and measure != "strict_stability" else {}
        _, asked = _tallies(cell, "drop")
        if never := int(((asked >= 2) & ~known).sum()):
            excluded["item that never got a label"] = never
        claim = Claim(
            measure,
            method,
            cell=cell.where,
            excluded=excluded,
            n=units.touched(np.asarray(known.any(1))),
            differing=differing(item, units),
            details={"repeats": len(cell.raters), "conditions": len(cell.strata)},
        )
        if not known.any():
            few = len(cell.raters) < 2
            why = "fewer than two repeats" if few else "no item was answered in two repeats"
            why = "no answer has a label" if never else why
            found.append(undefined(claim, units, resampling, why if cell.items else "no annotations"))
            continue
        statistic = over_strata(ratio(np.where(known, own, 0), known.astype(np.float64)))
        draws = bootstrap(statistic, units, resampling)
        point, highest = float(draws.point[0]), top(cell)
        spread = _within(point, highest)
        sd = float(np.nanstd(item, ddof=1)) if np.isfinite(item).sum() > 1 else None
        claim = replace(claim, spread=spread, details={**(claim.details or {}), "sd": sd})
        found.append(estimate(claim, draws, units, resampling))
    return found


def _within(point: float, highest: float) -> Any:
    return lambda share: mean_within(point, share, 0.0, highest)


def repeated_answers(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    columns: Columns | None = None,
) -> pl.DataFrame:
    """The repeated-answer stability of every item in every condition.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        columns: Other names for the frame's columns.

    Returns:
        A row an item and condition: the condition's columns, ``item``, ``repeats`` (asked), ``blank``,
        ``mode`` (the commonest label), ``strict``, ``mode_frequency`` and ``entropy`` (bits), with blanks as
        a category and null for an item that never got a label, and ``mode_frequency_dropped`` and
        ``entropy_dropped`` without them.

    Raises:
        MeasureError: The frame cannot be used.
    """
    (cell,) = cells(annotations, raters=("repeat",), within=CONDITION, labels=labels, columns=columns)
    counts, asked = _tallies(cell, "drop")
    item, condition = np.nonzero(asked)
    top = counts.argmax(2) if counts.shape[2] else np.zeros(asked.shape, np.int64)
    given = counts.sum(2)
    strata = {name: [cell.strata[c][name] for c in condition] for name in (cell.strata or ({},))[0]}
    numbers = {
        "strict": _strict(cell, "drop"),
        "mode_frequency": _mode(cell, "category"),
        "entropy": _entropy(cell, "category"),
        "mode_frequency_dropped": _mode(cell, "drop"),
        "entropy_dropped": _entropy(cell, "drop"),
    }
    places = list(zip(item.tolist(), condition.tolist(), strict=True))
    return pl.DataFrame(
        {
            **strata,
            "item": pl.Series([cell.items[i] for i in item], dtype=pl.String),
            "repeats": asked[item, condition].astype(np.int64),
            "blank": (asked - given)[item, condition].astype(np.int64),
            "mode": pl.Series(
                [cell.labels[top[at]] if given[at] else None for at in places], dtype=pl.String
            ),
            **{name: pl.Series(values[item, condition]).fill_nan(None) for name, values in numbers.items()},
        }
    )


def strict_stability(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Strict stability: the share of items whose repeats all gave the same label.

    An item counts 0 where any repeat is blank (an answer without a label), or any two labels differ.
    Items with one repeat do not count. Computed within each condition and averaged over those.

    Undefined where no item has two repeats. Source: the definition.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set: other labels are blanks.
        by: Columns that make the cells; ``["item"]`` for each question.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell; ``details["sd"]`` is the standard deviation over items.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> answers = ["a", "a", "a", "a", None, "b", "b", "b", "b"]
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 2, 2, 2, 3, 3, 3], "repeat": [0, 1, 2] * 3, "label": answers})
    >>> round(strict_stability(frame)[0].value, 4)  # items 1 and 3 of three
    0.6667
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    return _measure(
        "strict_stability",
        _strict,
        "share of items whose repeats are all the same label",
        annotations,
        labels,
        by,
        resampling,
        "drop",
        columns,
        group,
    )


def mode_frequency(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    missing: Missing = "category",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Mode frequency: how often an item's repeats gave their commonest answer.

    The mean over items of max_v n_v / Σ_v n_v, within each condition, averaged over those. Items with one
    repeat do not count, nor does an item that never got a label in a condition: a model that never answers
    is not stable. These are counted in ``excluded``.

    Undefined where no item has two repeats, one with a label. Source: Freeman (1965), Elementary Applied
    Statistics (one less his variation ratio).

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set: other labels are blanks.
        by: Columns that make the cells; ``["item"]`` for each question.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        missing: ``"category"``: a blank is an answer of its own; ``"drop"``: it is left out.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell; ``details["sd"]`` is the standard deviation over items.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> answers = ["a", "a", "a", "a", None, "b", "b", "b", "b"]
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 2, 2, 2, 3, 3, 3], "repeat": [0, 1, 2] * 3, "label": answers})
    >>> round(mode_frequency(frame)[0].value, 4)  # (1 + 1/3 + 1) / 3
    0.7778
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    return _measure(
        "mode_frequency",
        _mode,
        f"share of an item's repeats that gave its commonest answer ({_blanks(missing)})",
        annotations,
        labels,
        by,
        resampling,
        missing,
        columns,
        group,
    )


def answer_entropy(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    missing: Missing = "category",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Answer entropy: the entropy of an item's repeated answers, in bits.

    The mean over items of −Σ_v p_v log2 p_v, with p_v = n_v / Σ_v n_v, within each condition, averaged over
    those; 0 where all repeats agree. Items with one repeat do not count, nor does an item that never got a
    label in a condition (counted in ``excluded``). It grows with the number of repeats: compare only where
    that is equal.

    Undefined where no item has two repeats, one with a label. Source: Shannon (1948), Bell System Technical
    Journal 27, 379-423.

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set: other labels are blanks.
        by: Columns that make the cells; ``["item"]`` for each question.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        missing: ``"category"``: a blank is an answer of its own; ``"drop"``: it is left out.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell; ``details["sd"]`` is the standard deviation over items.

    Raises:
        MeasureError: The frame or an option cannot be used.

    >>> answers = ["a", "a", "a", "a", None, "b", "b", "b", "b"]
    >>> frame = pl.DataFrame({"item": [1, 1, 1, 2, 2, 2, 3, 3, 3], "repeat": [0, 1, 2] * 3, "label": answers})
    >>> round(answer_entropy(frame)[0].value, 4)  # (0 + log2 3 + 0) / 3
    0.5283
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    return _measure(
        "answer_entropy",
        _entropy,
        f"mean entropy of an item's repeated answers in bits ({_blanks(missing)})",
        annotations,
        labels,
        by,
        resampling,
        missing,
        columns,
        group,
        _most_bits,
    )


def _blanks(missing: Missing) -> str:
    return "blanks a category" if missing == "category" else "blanks left out"


def _most_bits(cell: Cell) -> float:
    return float(np.log2(max(2, min(len(cell.labels) + 1, len(cell.raters)))))
