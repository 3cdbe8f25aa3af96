"""Scores by which labels are accepted: the surer a label, the higher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from quaver.acceptance.selection import Floats
from quaver.errors import MeasureError
from quaver.gold.gold_draw import permanent_numbers

_NEEDED = ("item", "label", "gold", "gold_probability", "gold_drawn")


@dataclass(frozen=True)
class ItemEvidence:
    """Items with their most frequent label and what speaks for it, an array of as many values each.

    Attributes:
        items: Their ids.
        label: The most frequent label over all prompts, models and repeats; empty where there is none.
        agreement: The share of all answers that give this label; answers without a label disagree.
        confidence: The model's mean probability of this label; NaN where it gave none.
        gold: The label that people gave; empty where there is none.
        checked: Whether it was drawn into the gold sample and has a gold label.
        waiting: Whether it was drawn and has none yet.
        probability: How likely it was to be drawn; NaN for items outside the sampled population.
        groups: The items' groups, by column.
        has_classes: Whether labels are classes to which many items belong; numbers are not.
    """

    items: NDArray[np.str_]
    label: NDArray[np.str_]
    agreement: Floats
    confidence: Floats
    gold: NDArray[np.str_]
    checked: NDArray[np.bool_]
    waiting: NDArray[np.bool_]
    probability: Floats
    groups: dict[str, NDArray[np.str_]]
    has_classes: bool = True

    @property
    def candidates(self) -> NDArray[np.bool_]:
        """The items whose label might be accepted: those of the sampled population that have one."""
        return np.asarray((self.label != "") & np.isfinite(self.probability) & (self.probability > 0))

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether a checked label is wrong."""
        return np.asarray(self.checked & (self.label != self.gold))


def evidence_of(
    annotations: pl.DataFrame,
    labels: Sequence[str],
    *,
    groups: Sequence[str] = (),
    confidences: pl.DataFrame | None = None,
    numbers: bool = False,
) -> ItemEvidence:
    """What speaks for each item's label. Labels that are ``numbers`` have a median, and are no classes."""
    _check(annotations)
    text = [pl.col(name).cast(pl.String) for name in ("item", "label", "gold", *groups)]
    frame = annotations.select(*text, "gold_probability", "gold_drawn")
    items = frame.group_by("item", maintain_order=True).agg(
        pl.len().alias("asked"),
        pl.col("gold", "gold_probability", "gold_drawn", *groups).first(),
    )
    modal = most_frequent(frame, labels, numbers=numbers)
    sure = mean_confidence(annotations if confidences is None else confidences, modal, labels)
    table = items.join(modal, on="item", how="left", maintain_order="left")
    table = table.join(sure, on="item", how="left", maintain_order="left")
    series, gold = table["gold_drawn"].fill_null(False), table["gold"].fill_null("")
    return ItemEvidence(
        items=table["item"].to_numpy().astype(np.str_),
        label=table["label"].fill_null("").to_numpy().astype(np.str_),
        agreement=(table["times"].fill_null(0) / table["asked"]).to_numpy(),
        confidence=table["confidence"].fill_null(np.nan).to_numpy(),
        gold=gold.to_numpy().astype(np.str_),
        checked=(series & (gold != "")).to_numpy(),
        waiting=(series & (gold == "")).to_numpy(),
        probability=table["gold_probability"].fill_null(np.nan).to_numpy(),
        groups={name: table[name].fill_null("").to_numpy().astype(np.str_) for name in groups},
        has_classes=not numbers,
    )


def _check(annotations: pl.DataFrame) -> None:
    missing = [name for name in _NEEDED if name not in annotations.columns]
    drawn = 0 if missing else int(annotations["gold_drawn"].fill_null(False).sum())
    known = 0 if missing else annotations.filter(pl.col("gold_drawn"))["gold"].drop_nulls().len()
    if drawn and known:
        return
    own = 0 if "gold" not in annotations.columns else annotations["gold"].drop_nulls().len()
    available = "no gold labels" if not own else "gold labels that were not drawn by design"
    random = "; or import these with --hand-labels random, if they were drawn at random" if own else ""
    raise MeasureError(
        "only gold labels of items that were drawn by design show what can be accepted",
        where="gold_drawn",
        expected="the gold labels of a sample with known probabilities",
        found="a sample without gold labels yet" if drawn else available,
        fix="take in the coders' labels: `quaver gold STUDY --take FILE`"
        if drawn
        else "draw a sample: `quaver gold STUDY --n 200`" + random,
    )


def most_frequent(frame: pl.DataFrame, labels: Sequence[str], *, numbers: bool = False) -> pl.DataFrame:
    """Each item's most frequent label, and how often it was given.

    Of equally frequent ones it is the first in the label set. Of equally frequent numbers, which stand there
    in their order, it is the median, or the lower of the two in the middle, so that it was given.

    >>> said = pl.DataFrame({"item": list("aaab"), "label": ["10", "500", "20", "500"]})
    >>> most_frequent(said, ["10", "20", "500"], numbers=True).sort("item")["label"].to_list()
    ['20', '500']
    """
    order = pl.DataFrame(
        {"label": list(labels), "place": range(len(labels))}, schema_overrides={"label": pl.String}
    )
    counted = (
        frame.drop_nulls("label")
        .group_by("item", "label")
        .agg(pl.len().alias("times"))
        .join(order, on="label", how="inner")
        .sort("times", "place", descending=[True, False])
    )
    if numbers:
        first = counted.filter(pl.col("times") == pl.col("times").max().over("item"))
        middle = (pl.len().over("item") - 1) // 2
        counted = first.filter(pl.int_range(pl.len()).over("item") == middle)
    return counted.unique("item", keep="first", maintain_order=True)


def mean_confidence(frame: pl.DataFrame, modal: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """The mean probability of each item's label; where an answer has no distribution, from its confidence."""
    if "confidence" not in frame.columns or frame["confidence"].null_count() == frame.height:
        return pl.DataFrame(schema={"item": pl.String, "confidence": pl.Float64})
    own = frame.select(
        pl.col("item").cast(pl.String),
        pl.col("label").cast(pl.String).alias("said"),
        "confidence",
        *(["probabilities"] if "probabilities" in frame.columns else []),
    ).drop_nulls("confidence")
    own = own.join(modal.select("item", "label", "place"), on="item", how="inner")
    others = (1 - pl.col("confidence")) / max(len(labels) - 1, 1)
    sure = pl.when(pl.col("said") == pl.col("label")).then(pl.col("confidence")).otherwise(others)
    if "probabilities" in own.columns:
        sure = pl.coalesce(pl.col("probabilities").list.get(pl.col("place"), null_on_oob=True), sure)
    return own.group_by("item").agg(sure.mean().alias("confidence"))


_FOLDS = 10
_TELLING = 0.02
"""The p value by which gold labels must show that evidence tells something."""
_FEWEST = 8
"""Checked labels that a class or a group needs for an effect of its own."""
_MOST_LEVELS = 30
_FLATTEST = 0.1
_EDGE = 1e-4
_FREE = 0.1
_EFFECTS = 1.0
"""The precision of the effects' prior distribution: their standard deviation is one in log odds."""
_STEPS = 30
_LONGEST = 3.0
_RANK = 1e-6


def scored(evidence: ItemEvidence, seed: int = 0) -> Floats:
    """How sure each item's label is, learned from the gold labels; only the order of the scores counts.

    The score starts from the mean of two ranks, that of the agreement and that of the model's mean
    confidence, where it gave one. It is moved by what a logistic regression of right labels finds in the gold
    labels: that confidence says more than agreement or less, that one class or group is wrong more often than
    another. What the gold labels do not show (a score test, p below 2%) moves nothing. All items, checked or
    not, are dealt into ten folds, and an item's score comes from fits without any gold label of its own fold.
    """
    rank, blocks = _ranked(evidence.agreement), []
    if np.isfinite(evidence.confidence).any():
        other = _ranked(np.nan_to_num(evidence.confidence, nan=-1.0))
        apart = rank - other
        rank = _ranked((rank + other) / 2)
        if np.ptp(apart) > 0:
            blocks.append(((apart - apart.mean()) / apart.std())[:, None])
    for levels in (evidence.label, *evidence.groups.values()):
        names, counts = np.unique(levels[evidence.checked], return_counts=True)
        often = names[counts >= _FEWEST]
        if 1 < often.size <= _MOST_LEVELS:
            blocks.append((levels[:, None] == often).astype(float))
    base = scipy.special.logit(np.clip(rank, _EDGE, 1 - _EDGE))
    fold = (permanent_numbers(seed, evidence.items.tolist(), "fold") * _FOLDS).astype(int)
    scores: Floats = base.copy()
    for fold_number in range(_FOLDS):
        learn = evidence.checked & (fold != fold_number)
        right = (~evidence.wrong[learn]).astype(float)
        if not 0 < right.sum() < right.size:
            continue  # nothing tells the blocks apart
        telling = [block for block in blocks if shift_p(base[learn], block[learn], right) < _TELLING]
        shift = np.concatenate([np.empty((base.size, 0)), *telling], 1)
        table = np.concatenate([np.ones((base.size, 1)), base[:, None], shift], 1)
        precision = np.repeat([_FREE, _EFFECTS], [2, shift.shape[1]])
        _, slope, *effects = _newton(table[learn], right, precision)
        scores[fold == fold_number] += shift[fold == fold_number] @ np.array(effects) / max(slope, _FLATTEST)
    return scores


def _ranked(values: Floats) -> Floats:
    return np.asarray(scipy.stats.rankdata(values) / max(values.size, 1))


def shift_p(base: Floats, block: Floats, right: Floats) -> float:
    """The p value of a block of columns that shifts nothing: a logistic regression's score test.

    Where all labels are equally sure, the score says no more than the intercept, and only that is fitted.

    Of sixteen labels of either class, one has no wrong one and the other eight:

    >>> base, block = np.tile([0.0, 1.0], 16), np.repeat([[1.0], [0.0]], 16, 0)
    >>> shift_p(base, block, np.array([1.0] * 16 + [0.0] * 8 + [1.0] * 8)) < 0.01
    True
    """
    table = np.stack([np.ones(base.size), base], 1)[:, : 2 if np.ptp(base) > 0 else 1]
    likely = scipy.special.expit(table @ _newton(table, right, np.full(table.shape[1], _FREE)))
    weight = (likely * (1 - likely))[:, None]
    across = (table * weight).T @ block
    spread = (block * weight).T @ block - across.T @ np.linalg.solve((table * weight).T @ table, across)
    pull = block.T @ (right - likely)
    rank = int(np.linalg.matrix_rank(spread, tol=_RANK * max(float(np.trace(spread)), 1e-12), hermitian=True))
    statistic = float(pull @ np.linalg.pinv(spread, rcond=_RANK, hermitian=True) @ pull)
    return float(scipy.stats.chi2.sf(statistic, rank)) if rank else 1.0


def _newton(table: Floats, right: Floats, precision: Floats) -> Floats:
    """A ridge logistic regression's coefficients, by Newton's method."""
    coefficients = np.zeros(table.shape[1])
    for _ in range(_STEPS):
        likely = scipy.special.expit(table @ coefficients)
        bend = (table * (likely * (1 - likely))[:, None]).T @ table + np.diag(precision)
        step = np.linalg.solve(bend, table.T @ (right - likely) - precision * coefficients)
        coefficients = coefficients + np.clip(step, -_LONGEST, _LONGEST)
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(coefficients)
