"""How labels that may have an order compare with gold labels, over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from quaver.agreement.disagreement import scale
from quaver.core.records import UNORDERED
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import mean_within
from quaver.estimation.jackknife import Floats, Ratio
from quaver.estimation.means import share_of
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.evidence.label_flips import likeness, short_of
from quaver.measures.variation.label_shares import ASKING

_KAPPA: Final = "Cohen's kappa of labels and gold labels, weighted by the level of measurement"
_BIAS: Final = "mean difference of labels and gold labels, in standard deviations of the gold labels"


@measure(raters=ASKING, gold=True)
def gold(cell: Cell) -> Iterator[Statistic]:
    """How far labels and gold labels agree beyond chance, how far apart they are, and in which direction.

    - ``gold_agreement``: Cohen's kappa, 1 − D_wrong / D_chance; weighted where labels have an order. D_wrong
      is the share of labels that are not the item's gold label, and D_chance what it would be if labels had
      nothing to do with the items: 1 − Σ_k p_k q_k, with p_k the share of label k among the labels and q_k
      among the gold labels, an item's gold label counting once for each of its labels; ``chance`` in the
      details. Source: Cohen (1960), Educational and Psychological Measurement 20, 37-46.
    - ``gold_distance``: D_wrong.
    - ``gold_bias``, for labels that have an order: how much higher they are than the gold labels, in standard
      deviations of the gold labels.
    - ``gold_total``, for numbers that are not below 0: by how much the sum of the labels exceeds that of the
      gold labels, as a share of the latter.

    Of ten items two are b; one of these is called a: 1 − 0.1 / (1 − 0.9 · 0.8 − 0.1 · 0.2):

    >>> found = gold({"item": range(10), "label": list("aaaaaaaaab"), "gold": list("aaaaaaaabb")})
    >>> round(found[0].value, 4)
    0.6154
    """
    codes = cell.gold_codes
    judged = codes >= 0
    counts = cell.counts()[:, 0] if cell.codes.size else np.zeros((0, len(cell.labels)))
    given = np.where(judged[:, None], counts, 0.0)
    true = np.eye(len(cell.labels))[np.maximum(codes, 0)] * judged[:, None]
    whole = given.sum(1)
    if not whole.any():
        why = "no answer has a label" if not counts.any() else "no gold labels"
        for part, method in (("_agreement", _KAPPA), ("_bias", _BIAS)):
            yield Statistic(part=part, method=method, n=0, reason=why)
        return
    yield from _agreement(cell, given, true)
    yield _bias(cell, given, true)
    if cell.label_set is not None and cell.label_set.are_numbers:
        values = np.array([label.value or 0.0 for label in cell.label_set.labels])
        if (true @ values >= 0).all() and (whole * (true @ values)).any():
            under = Ratio(
                (given @ values - whole * (true @ values))[:, None], (whole * (true @ values))[:, None]
            )
            method = "sum of the labels less that of the gold labels, as a share of this"
            yield Statistic(part="_total", method=method, under=under, n=whole > 0)


def _agreement(cell: Cell, given: Floats, true: Floats) -> Iterator[Statistic]:
    """Kappa, and the disagreement above its line."""
    alike, whole = likeness(cell.label_set), given.sum(1)
    like = true if alike is None else true @ alike
    right, expected = (given * like).sum(1), like * whole[:, None]

    def chance(weights: Floats) -> Floats:
        total = np.maximum(weights @ whole, 1e-12)
        return np.asarray(1 - ((weights @ given) * (weights @ expected)).sum(1) / total**2)

    def under(weights: Floats) -> Floats:
        wrong, by_chance = 1 - weights @ right / np.maximum(weights @ whole, 1e-12), chance(weights)
        varied = by_chance > 1e-9
        return np.asarray(np.where(varied, 1 - wrong / np.where(varied, by_chance, 1), np.nan)[:, None])

    of_all = float(chance(np.ones((1, len(whole))))[0])
    yield Statistic(
        part="_agreement",
        method=_KAPPA,
        under=under,
        n=whole > 0,
        ends=(-1.0, 1.0),
        spread=short_of(1 - float(right.sum() / whole.sum()), of_all),
        reason="every label and gold label is the same",
        details={"chance": of_all},
    )
    method, items = "mean disagreement of labels and gold labels", int((whole > 0).sum())
    distance = Statistic(part="_distance", method=method, details={"items": items})
    yield share_of(cell, whole - right, whole, distance)


def _bias(cell: Cell, given: Floats, true: Floats) -> Statistic:
    """How much higher than the gold labels the labels are, in standard deviations of the gold labels."""
    labels, whole = cell.label_set, given.sum(1)
    bias = Statistic(part="_bias", method=_BIAS, n=whole > 0)
    if labels is None or labels.level in UNORDERED:
        return replace(bias, reason="labels without an order")
    values = scale(labels.codes, labels.level, labels)
    at = np.arange(len(labels.codes), dtype=np.float64) if values is None else values
    deviation = float((true @ at)[whole > 0].std())
    if deviation <= 0:
        return replace(bias, reason="every gold label is the same")
    apart, furthest = (given @ at - whole * (true @ at)) / deviation, float(np.ptp(at)) / deviation
    spread = partial(mean_within, low=-furthest, high=furthest)
    return replace(bias, under=Ratio(apart[:, None], whole[:, None]), spread=spread)
