"""Accuracy: how often the labels are the true ones, beside what guessing would reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.agreement.disagreement import members
from quaver.core.records import OF_SETS, LabelSet
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing, guarded
from quaver.estimation.coded_columns import Ints, UnknownColumn, Unmeasurable, encode, frame_of, ordered
from quaver.estimation.declaration import measure
from quaver.estimation.grouped_items import agreement_of_sums
from quaver.estimation.intervals import long_tails, mean_within
from quaver.estimation.jackknife import Floats
from quaver.estimation.means import share_of
from quaver.estimation.measure_input import judge, treatment
from quaver.estimation.statistic import Cell, Statistic, Tails
from quaver.measures.variation.label_shares import ASKING

_NORMAL = 1.96
"""Between so many standard deviations on either side lie 95% of normal errors: Bland and Altman's number."""

_LIMITS = "Bland & Altman (1986), The Lancet 327, 307-310"

_NUMBER_PARTS: Final = ["_mean_error", "_bias", "_lower_limit", "_upper_limit", "_correlation", "_intraclass"]
"""What is said of the errors of numbers, by the ending of its name."""


@measure(missing=("wrong", "drop"), raters=ASKING, gold=True, estimands=("fixed", "population"))
def accuracy(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
    """The share of answers whose label is the item's gold label, and what guessing would give.

    Accuracy = right answers / answers about items with a gold label. In ``details``: ``chance`` (one over
    the number of labels), ``majority`` (the share of these items that have the most frequent gold label,
    ``majority_label``), and the accuracy under the other treatment of answers without a label. Undefined
    where no item has a gold label or nothing was answered.

    Of sets of labels it is the share of exact matches; ``accuracy_hamming`` is then the Hamming loss, the
    share of all labels, over sets that were given, on which a set and the gold set differ. Of numbers it is
    the share that equal the gold number, beside their errors (`_number_errors`): ``accuracy_mean_error``,
    ``accuracy_bias``, ``accuracy_lower_limit`` and ``accuracy_upper_limit``, ``accuracy_correlation`` and
    ``accuracy_intraclass``.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", None, "a", "b"], "gold": list("aaab")})
    >>> found = accuracy(frame)[0]
    >>> found.value, found.details["chance"], found.details["majority"], found.details["left_out"]
    (0.75, 0.5, 0.75, 1.0)
    """
    judged = judge(cell, missing)
    right, asked = judged.right.sum((1, 2)), judged.asked.sum((1, 2))
    statistic = Statistic(
        method=f"share of right answers, unanswered {treatment(missing)}",
        excluded=judged.excluded,
        reason=judged.reason,
        details=_beside(cell, asked, int(right.sum())) if asked.any() else {},
    )
    yield share_of(cell, right, asked, statistic)
    label_set = cell.label_set
    if label_set is None:
        return
    if label_set.are_numbers:
        yield from _number_errors(cell, np.array(list(map(float, cell.labels))))
    elif label_set.level in OF_SETS:
        yield _hamming(cell)


def _hamming(cell: Cell) -> Statistic:
    """The share of labels on which the sets that were given differ from the gold sets."""
    statistic = Statistic(
        part="_hamming", method="share of labels, over answers with a set, that differ from gold"
    )
    gold = cell.gold_codes
    labels, held = members(cell.labels)
    given = np.where((gold >= 0)[:, None], cell.counts()[:, 0], 0.0) if cell.codes.size else np.zeros((0, 1))
    if not given.any():
        return replace(statistic, n=0, reason="no item has both a set and a gold set")
    apart = np.abs(held[:, None] - held[None]).sum(2)[np.maximum(gold, 0)]
    statistic = replace(statistic, excluded=cell.counted)
    share = share_of(cell, (given * apart).sum(1), len(labels) * given.sum(1), statistic)
    return replace(share, tails="few")  # sets that are nearly always right differ in few items


def _beside(cell: Cell, asked: Ints, right: int) -> dict[str, Any]:
    """What guessing gives, and the accuracy under either treatment of answers without a label."""
    gold = cell.gold_codes
    defined = gold >= 0
    answered, bare = (int(marked[defined].sum()) for marked in (cell.codes >= 0, cell.unanswered))
    truths = np.bincount(gold[defined & (asked > 0)], minlength=len(cell.labels))
    return {
        "chance": 1 / len(cell.labels),
        "majority": float(truths.max() / truths.sum()),
        "majority_label": cell.labels[int(truths.argmax())],
        "answers": int(asked.sum()),
        "items": int((asked > 0).sum()),
        "unanswered": bare,
        "counted_wrong": right / (answered + bare),
        "left_out": right / answered if answered else None,
    }


def _number_errors(cell: Cell, values: Floats) -> Iterator[Statistic]:
    """What answers that are numbers say of their errors, answer − gold; each answer counts once.

    ``_mean_error``: the mean of the absolute errors; ``_bias``: that of the errors; ``_lower_limit`` and
    ``_upper_limit``: bias ± 1.96 SD, between which 95% of normal errors lie; ``_correlation``: Pearson's, of
    answers and gold numbers; ``_intraclass``: ICC(A,1) of the two (`agreement_of_sums`). Undefined of fewer
    than two items; correlations where a side does not vary.

    Args:
        cell: The answers, with their gold labels.
        values: Each label's number.
    """
    statistic = Statistic(
        method="", excluded=cell.counted, n=0, reason="no item has an answer and a gold label"
    )
    gold = cell.gold_codes
    codes = cell.codes.reshape(len(cell.items), -1)
    used = (codes >= 0) & (gold >= 0)[:, None]
    if not used.any():
        yield from (replace(statistic, part=part) for part in _NUMBER_PARTS)
        return
    answers, true = values[np.maximum(codes, 0)], values[np.maximum(gold, 0)][:, None]
    # Their own middle is taken off, so that squares of large numbers keep their digits.
    middle = (answers + true)[used].mean() / 2
    error, answer, gold_number = (
        np.where(used, part, 0.0) for part in (answers - true, answers - middle, true - middle)
    )
    sums = _sums(error, answer, gold_number, used)
    known = np.asarray(used.any(1))
    widest = float(np.ptp(values))
    shown = replace(
        statistic,
        under=lambda weights: _numbers(weights @ sums),
        n=known,
        reason="numbers or gold numbers do not vary, or only one item has both",
    )
    how: list[tuple[str, tuple[float, float] | None, Tails]] = [
        ("mean of |answer − gold|", (0.0, np.inf), "few"),
        ("mean of answer − gold", None, "few"),
        ("mean − 1.96 SD of answer − gold", None, "skewed"),
        ("mean + 1.96 SD of answer − gold", None, "skewed"),
        ("Pearson's correlation of answers and gold", (-1.0, 1.0), "correlation"),
        ("ICC(A,1) of answers and gold", (-1.0, 1.0), "correlation"),
    ]
    warnings = long_tails((answers - true)[used])
    for column, (part, (method, ends, tails)) in enumerate(zip(_NUMBER_PARTS, how, strict=True)):
        number_error = replace(shown, part=part, column=column, method=method, ends=ends, tails=tails)
        if column == 0:
            number_error = replace(number_error, spread=partial(mean_within, low=0.0, high=widest))
        elif column == 1:
            number_error = replace(
                number_error, spread=partial(mean_within, low=-widest, high=widest), null=0.0
            )
        else:
            number_error = replace(number_error, warnings=warnings)
        yield replace(number_error, source=_LIMITS) if "limit" in part else number_error


def _sums(error: Floats, answers: Floats, gold: Floats, used: NDArray[np.bool_]) -> Floats:
    """By item: how many answers, and the sums that all numbers are made of."""
    parts = [used, error**2, error, np.abs(error), answers, gold, answers**2, gold**2, answers * gold]
    return np.stack([part.sum(1) for part in parts], 1).astype(np.float64)


def _numbers(sums: Floats) -> Floats:
    """The six numbers from sums, shape (samples, 6); NaN where one is undefined."""
    n, squared, error, size, x, y, xx, yy, xy = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = error / n
        spread = _NORMAL * np.sqrt(np.maximum(squared - error**2 / n, 0.0) / (n - 1))
        varies = np.sqrt(np.maximum(xx - x**2 / n, 0.0) * np.maximum(yy - y**2 / n, 0.0))
        correlation = np.where(varies > 1e-12 * (xx + yy), (xy - x * y / n) / varies, np.nan)
        agreement = agreement_of_sums(n, np.stack([x, y], -1), xx + yy + 2 * xy, xx + yy)
        numbers = np.stack([size / n, bias, bias - spread, bias + spread, correlation, agreement], 1)
    return np.where(np.isfinite(numbers), numbers, np.nan)


@guarded
def baseline(
    annotations: Any,
    kind: Literal["noisy", "random"],
    *,
    labels: LabelSet | None = None,
    label: str = "label",
    share: float = 0.5,
    seed: int = 0,
) -> pl.DataFrame:
    """The annotations that a baseline would have given, for any measure to be taken of.

    Args:
        annotations: A row an annotation.
        kind: ``"random"``: every label is drawn, all alike likely. ``"noisy"``: a share of the labels is
            swapped for another one, all others alike likely.
        labels: The label set; without it, the labels that occur.
        label: The column of labels. The unanswered stay so.
        share: Which share ``"noisy"`` swaps.
        seed: Root seed.

    Returns:
        The frame with other labels (as text).

    Raises:
        MeasureError: The column does not exist, fewer than two labels, or the kind is unknown.

    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "b", "a", None]})
    >>> noisy = baseline(frame, "noisy", share=1.0)
    >>> noisy["label"].to_list()
    ['b', 'a', 'b', None]
    """
    frame = frame_of(annotations)
    if label not in frame.columns:
        raise UnknownColumn(label, frame.columns, where="label")
    if not 0 <= share <= 1:
        raise MeasureError("not a share", where="share", expected="from 0 to 1", found=repr(share))
    codes, values = encode(frame[label], label, labels=True)
    names = labels.codes if labels else tuple(ordered(values))
    given = np.flatnonzero(codes >= 0)
    if len(names) < 2:
        raise Unmeasurable("fewer than two labels", where="labels", expected="two to choose from")
    rng = np.random.default_rng(derive(seed, "baseline", kind))
    positions = np.array([names.index(value) if value in names else -1 for value in values] + [-1])
    shown_codes = positions[codes]
    if kind == "random":
        shown_codes[given] = rng.integers(0, len(names), given.size)
    else:
        swapped = rng.choice(given, round(share * given.size), replace=False)
        shift = rng.integers(1, len(names), swapped.size)
        # A label outside the set is swapped for any of them.
        shown_codes[swapped] = (np.maximum(shown_codes[swapped], 0) + shift) % len(names)
    text = [names[code] if code >= 0 else None for code in shown_codes.tolist()]
    kept = [
        values[old] if new < 0 <= old else said
        for old, new, said in zip(codes, shown_codes, text, strict=True)
    ]
    return frame.with_columns(pl.Series(label, kept, dtype=pl.String))
