"""May the model replace a coder? Each coder is left out in turn, and the model put in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from quaver.core.records import Estimate, Level
from quaver.core.rows import Presentation
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Ratio, Weighted
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import label_counts
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.validity.coders import ALL, Coded, Ints, coded, coders_of
from quaver.measures.variation.label_shares import ASKING

_FEWEST = 3
_FALSE = 0.05
_PASSED = 0.5
_SMALL = 30


class _LeftOut(NamedTuple):
    """One coder left out: what the others say of this coder's labels and of the model's.

    Attributes:
        counts: Which items this coder and another one labelled.
        weights: What each of these items counts for.
        model: 1 where the model agrees at least as well with the others, shape (items,).
        coder: 1 where the coder does.
        alike_model: The model's mean agreement with the others.
        alike_coder: The coder's.
    """

    counts: Floats
    weights: Floats
    model: Floats
    coder: Floats
    alike_model: float
    alike_coder: float


@measure(
    title="How often the model agrees with people as well as a person does",
    axis="share of items",
    section="coders",
    unit="share",
    better="higher",
    source="Calderon, Reichart & Dror (2025), The alternative annotator test, ACL 2025",
    missing=("wrong", "drop"),
    treatments=("level",),
    parts={
        "_won": Presentation(
            title="Coders whose place the model may take: alternative annotator test",
            axis="share of coders",
            unit="share",
            better="higher",
            bar=_PASSED,
        )
    },
)
def alternative_annotator(
    data: MeasureInput,
    *,
    coders: str | Sequence[str] = ("gold",),
    epsilon: float = 0.2,
    level: Level | None = None,
    probability: str | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """The alternative annotator test: whether the model may stand in for one of several coders.

    Each coder is left out in turn. For an item that this coder and others labelled, the model's agreement
    with the others (the share of them with its label; minus the root mean square difference where labels are
    numbers) is set beside the coder's own. The *advantage* is the share of items where the model's is at
    least as high; the coder's is counted likewise. The model wins against a coder where its advantage is
    above the coder's less ``epsilon``, by a one-sided t test over items (over groups, where these are
    resampled) with Benjamini & Yekutieli's adjustment at 5%. It may replace a coder where it wins against
    half of them or more: ``alternative_annotator_won``. Undefined with fewer than three coders.

    The model's label of an item is the most frequent one over all prompts and repeats of the cell.

    Args:
        coders: The coders' columns, each with one label for all rows of an item.
        epsilon: What a label by a person costs more: 0.2 is for experts, 0.15 for trained coders, 0.1 for
            crowd workers.
        level: Level of measurement; by default the label set's, nominal without one.
        probability: The column with each item's probability of being drawn into the sample that coders
            labelled, empty where it was not. Items are weighted by one over it, and the estimates are of all
            items that the sample was drawn from.
        missing: ``"wrong"``: without a label the model agrees with nobody; ``"drop"``: the item is left out.

    Returns:
        For each cell ``alternative_annotator`` of each coder (``details``: ``p``, adjusted; ``won``;
        ``coder_advantage``; ``with_model`` and ``with_coder``, the mean agreement of the others with each)
        and their mean under ``"all"``; and ``alternative_annotator_won``.

    Raises:
        MeasureError: An item has two labels of one coder, or ``epsilon`` is no margin.

    Ana, Ben and Cleo agree on three texts of four, where the model does too. On the fourth it says what Ben
    and Cleo say, so it does as well as each of them on all four, and better than Ana on one:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("abab"), "ana": list("abaa"),
    ...                       "ben": list("abab"), "cleo": list("abab")})
    >>> found = alternative_annotator(frame, coders=["ana", "ben", "cleo"])
    >>> [(e.cell["coder"], e.value, e.details["coder_advantage"]) for e in found[:3]]
    [('ana', 1.0, 0.75), ('ben', 1.0, 1.0), ('cleo', 1.0, 1.0)]
    """
    if not 0 <= epsilon < 1:
        raise MeasureError("no margin", where="epsilon", expected="0 or more, below 1", found=f"{epsilon:g}")
    given = coders_of(data, coders)
    for cell in data.cells(raters=ASKING):
        if len(given) < _FEWEST or not cell.codes.size:
            yield from _undefined(cell, "fewer than three coders" if cell.codes.size else "no annotations")
        else:
            yield from _tested(coded(cell, given, data, probability), epsilon, level, missing)


_METHOD = "alternative annotator test, each coder left out in turn"


def _tested(found: Coded, epsilon: float, level: Level | None, missing: Missing) -> Iterator[Estimate]:
    cell, names, weights = found.cell, list(found.marks), found.weights
    values = _numbers(cell, level)
    answer = _modal(cell)
    left_out = [_left_out(name, found, answer, values, missing) for name in names]
    left_outs = [one for one in left_out if one.counts.any()]
    if not left_outs:
        yield from _undefined(cell, "no item with two coders")
        return
    raw = [_p(cell, one, epsilon) for one in left_outs]
    adjusted = iter(scipy.stats.false_discovery_control(raw, method="by"))
    share = Ratio(
        *(
            np.stack(sums, 1)
            for sums in zip(*((o.counts * o.model, o.counts) for o in left_outs), strict=True)
        )
    )
    bare = int((answer < 0).sum())
    won = []
    index = 0
    for name, one in zip(names, left_out, strict=True):
        if not one.counts.any():
            yield cell.estimated(
                Statistic(method=_METHOD, where={"coder": name}, n=0, reason="no item with another coder")
            )
            continue
        p = float(next(adjusted))
        won.append(p <= _FALSE)
        yield weights.estimated(_advantage(cell, name, one, share, index, p, bare))
        index += 1
    yield weights.estimated(_mean(cell, share, left_outs, bare))
    yield _winning(cell, won, epsilon, left_outs)


def _undefined(cell: Cell, reason: str) -> Iterator[Estimate]:
    for part in ("", "_won"):
        statistic = Statistic(method=_METHOD, part=part, where={"coder": ALL}, n=0, reason=reason)
        yield cell.estimated(statistic)


def _left_out(name: str, found: Coded, answer: Ints, values: Floats | None, missing: Missing) -> _LeftOut:
    own = found.marks[name]
    others = np.stack([mark for other, mark in found.marks.items() if other != name], 1)
    counts = (own >= 0) & (others >= 0).any(1)
    if missing == "drop":
        counts &= answer >= 0
    model, coder = (_alike(label, others, values) for label in (answer, own))
    rows = counts.astype(float)
    weights = rows * found.weights.whole[0]
    whole = max(1e-12, weights.sum())
    return _LeftOut(
        rows,
        weights,
        (model >= coder - 1e-12).astype(float),
        (coder >= model - 1e-12).astype(float),
        float(weights @ np.where(counts, model, 0.0) / whole),
        float(weights @ np.where(counts, coder, 0.0) / whole),
    )


def _alike(label: Ints, others: Ints, values: Floats | None) -> Floats:
    """How far each item's label agrees with the others': by share, or by minus the root mean square."""
    known = others >= 0
    size = np.maximum(known.sum(1), 1)
    if values is None:
        return np.asarray(((others == label[:, None]) & known & (label[:, None] >= 0)).sum(1) / size)
    apart = np.where(known, values[others] - values[label][:, None], 0.0)
    worst = np.ptp(values[:-1]) if values.size > 1 else 0.0
    return np.asarray(np.where(label >= 0, -np.sqrt((apart**2).sum(1) / size), -worst))


def _numbers(cell: Cell, level: Level | None) -> Floats | None:
    """Each label's number, with one more for no label; None where labels are no numbers."""
    scale = level or (cell.label_set.level if cell.label_set else "nominal")
    if scale not in ("interval", "ratio"):
        return None
    given = {label.code: label.value for label in cell.label_set.labels} if cell.label_set else {}
    numbers = [given.get(label) for label in cell.labels]
    try:
        found = [
            float(label) if value is None else value
            for label, value in zip(cell.labels, numbers, strict=True)
        ]
    except ValueError:
        found = [float(index) for index in range(len(cell.labels))]
    return np.array([*found, 0.0])


def _modal(cell: Cell) -> Ints:
    """The model's most frequent label of each item; -1 where it gave none."""
    counts = label_counts(cell.codes.reshape(len(cell.items), 1, -1), len(cell.labels))[:, 0]
    return np.asarray(np.where(counts.any(1), counts.argmax(1), -1), np.int64)


def _p(cell: Cell, left_out: _LeftOut, epsilon: float) -> float:
    """One-sided p: that the coder's advantage is ``epsilon`` or more above the model's."""
    apart = left_out.coder - left_out.model
    n = left_out.weights.sum()
    mean = float(left_out.weights @ apart / n)
    deviation = left_out.weights * (apart - mean)
    groups = cell.units.clusters
    sums = deviation[left_out.counts > 0] if groups is None else np.bincount(groups, deviation)
    units = sums.size if groups is None else np.unique(groups[left_out.counts > 0]).size
    if units < 2:
        return 1.0
    error = float(np.sqrt(units / (units - 1) * (sums**2).sum())) / n
    if error < 1e-12:
        return 0.0 if mean < epsilon else 1.0
    return float(scipy.special.stdtr(units - 1, (mean - epsilon) / error))


def _advantage(
    cell: Cell, name: str, left_out: _LeftOut, share: Weighted, index: int, p: float, bare: int
) -> Statistic:
    n = int(left_out.counts.sum())
    few = () if n >= _SMALL else (f"{n} items with another coder: the t test is approximate below {_SMALL}",)
    return Statistic(
        method=_METHOD,
        under=share,
        column=index,
        where={"coder": name},
        n=cell.units.touched(left_out.counts > 0),
        ends=(0.0, 1.0),
        excluded={"item without a label of the model": bare} if bare else {},
        warnings=few,
        details={
            "p": p,
            "won": p <= _FALSE,
            "coder_advantage": float(left_out.weights @ left_out.coder / left_out.weights.sum()),
            "with_model": left_out.alike_model,
            "with_coder": left_out.alike_coder,
        },
    )


def _mean(cell: Cell, share: Weighted, left_outs: Sequence[_LeftOut], bare: int) -> Statistic:
    def under(weights: Floats) -> Floats:
        return np.asarray(share(weights).mean(1, keepdims=True))

    rows = np.stack([left_out.counts for left_out in left_outs], 1).sum(1)
    return Statistic(
        method=f"{_METHOD}, mean over coders",
        under=under,
        where={"coder": ALL},
        n=cell.units.touched(rows > 0),
        ends=(0.0, 1.0),
        excluded={"item without a label of the model": bare} if bare else {},
        details={
            "with_model": float(np.mean([left_out.alike_model for left_out in left_outs])),
            "with_coder": float(np.mean([left_out.alike_coder for left_out in left_outs])),
        },
    )


def _winning(cell: Cell, won: Sequence[bool], epsilon: float, left_outs: Sequence[_LeftOut]) -> Estimate:
    """The share of coders that the model wins against; a verdict on these coders, without an interval."""
    share = sum(won) / len(won)
    estimate = cell.estimated(
        Statistic(method=_METHOD, part="_won", where={"coder": ALL}, n=0, reason="a verdict has no draws")
    )
    return replace(
        estimate,
        value=share,
        reason=None,
        n=int(np.stack([left_out.counts for left_out in left_outs], 1).any(1).sum()),
        details={"coders": len(won), "won": sum(won), "epsilon": epsilon, "passes": share >= _PASSED},
    )
