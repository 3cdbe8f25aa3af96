"""May the model replace a coder? Each coder is left out in turn, and the model put in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import false_discovery_control

from quaver.agreement.stratified_alpha import scaled
from quaver.core.records import BY_PAIRS, Estimate, Level
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats, Ratio
from quaver.estimation.means import over_strata
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.validity.coders import ALL, Ints, coded, coders_of
from quaver.measures.variation.label_shares import ASKING

_FEWEST_CODERS: Final = 3
_FEWEST_ITEMS: Final = 30
"""Of a coder with fewer items, the source makes no test."""

_FALSE: Final = 0.05
_PASSED: Final = 0.5
_ROUNDING: Final = 1e-12


@measure(missing=("wrong", "drop"), treatments=("level",))
def alternative_annotator(
    data: MeasureInput,
    *,
    coders: str | Sequence[str] = ("gold",),
    epsilon: float = 0.2,
    level: Level | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """The alternative annotator test: whether the model may stand in for one of several coders.

    Each coder is left out in turn. For an item that this coder and others labelled, the model's agreement
    with the others (the share of them with its label; for numbers, minus the root mean square difference) is
    compared with the coder's own. The *advantage* is the share of items where the model's is at least as
    high; the coder's is counted likewise. The model wins against a coder where its advantage is above the
    coder's less ``epsilon``, by a one-sided t test over items (over groups, where these are resampled) with
    Benjamini & Yekutieli's adjustment at 5%. It may replace a coder where it wins against half of them or
    more: ``alternative_annotator_won``. Undefined with fewer than three coders. A coder who shares fewer than
    30 items with others is not left out in turn, and stays among the others.

    The model's label of an item is the most frequent one over all prompts and repeats of the cell.

    Args:
        coders: The coders' columns, each with one label for all rows of an item.
        epsilon: The margin for the higher cost of a person's label: 0.2 for experts, 0.15 for trained
            coders, 0.1 for crowd workers.
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"wrong"``: without a label the model agrees with nobody; ``"drop"``: the item is left out.

    Returns:
        For each cell ``alternative_annotator`` of each coder (``details``: ``p``, adjusted; ``won``;
        ``coder_advantage``; ``with_model`` and ``with_coder``, the mean agreement of the others with each)
        and their mean under ``"all"``; and ``alternative_annotator_won``.

    Raises:
        MeasureError: An item has two labels of one coder, or ``epsilon`` is no margin.

    Ana, Ben and Cleo agree on three texts of every four, where the model does too. On the fourth it says what
    Ben and Cleo say, so it does as well as each of them on all four, and better than Ana on one:

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": range(40), "label": list("abab") * 10, "ana": list("abaa") * 10,
    ...                       "ben": list("abab") * 10, "cleo": list("abab") * 10})
    >>> found = alternative_annotator(frame, coders=["ana", "ben", "cleo"])
    >>> [(e.cell["coder"], e.value, e.details["coder_advantage"]) for e in found[:3]]
    [('ana', 1.0, 0.75), ('ben', 1.0, 1.0), ('cleo', 1.0, 1.0)]
    """
    if not 0 <= epsilon < 1:
        raise MeasureError("no margin", where="epsilon", expected="0 or more, below 1", found=f"{epsilon:g}")
    given = coders_of(data, coders)
    for answers in data.cells(raters=ASKING):
        if not answers.codes.size:
            yield from _undefined(answers, "no annotations")
        elif len(given) < _FEWEST_CODERS:
            yield from _undefined(answers, "fewer than three coders")
        else:
            cell, marks = coded(answers, given)
            yield from _tested(cell, _turns(cell, marks, level, missing), epsilon)


_METHOD = "alternative annotator test, each coder left out in turn"


@dataclass(frozen=True, slots=True)
class _Turn:
    """A coder who is left out, beside the model: both by item.

    Attributes:
        known: Which items this coder and others labelled.
        model: How far the model's label agrees with the others'.
        coder: How far the coder's own does.
    """

    known: NDArray[np.bool_]
    model: Floats
    coder: Floats

    @property
    def n(self) -> int:
        """How many items count."""
        return int(self.known.sum())

    @property
    def model_as_good(self) -> Floats:
        """1 where the model agrees at least as well as the coder."""
        return np.asarray(self.known & (self.model >= self.coder - _ROUNDING), np.float64)

    @property
    def coder_as_good(self) -> Floats:
        """1 where the coder agrees at least as well as the model."""
        return np.asarray(self.known & (self.coder >= self.model - _ROUNDING), np.float64)

    @property
    def means(self) -> dict[str, float]:
        """The mean agreement of the others with each."""
        with_model, with_coder = self.model[self.known].mean(), self.coder[self.known].mean()
        return {"with_model": float(with_model), "with_coder": float(with_coder)}


def _turns(cell: Cell, marks: Mapping[str, Ints], level: Level | None, missing: Missing) -> dict[str, _Turn]:
    """Each coder left out in turn."""
    at, values = scaled(cell.labels, level, cell.label_set, "drop")
    values = None if at in BY_PAIRS else values
    answer = _modal(cell)
    answered = (answer >= 0) | (missing == "wrong")
    turns = {}
    for name, own in marks.items():
        others = np.stack([mark for other, mark in marks.items() if other != name], 1)
        defined = (own >= 0) & (others >= 0).any(1) & answered
        turns[name] = _Turn(defined, _alike(answer, others, values), _alike(own, others, values))
    return turns


def _tested(cell: Cell, turns: Mapping[str, _Turn], epsilon: float) -> Iterator[Estimate]:
    """The estimates of each coder who can be tested, of their mean, and of how often the model won."""
    compared = {name: turn for name, turn in turns.items() if turn.n >= _FEWEST_ITEMS}
    for name, turn in turns.items():
        if name not in compared:
            reason = f"{turn.n} items with another coder, fewer than {_FEWEST_ITEMS}"
            yield cell.estimated(Statistic(method=_METHOD, where={"coder": name}, n=0, reason=reason))
    if not compared:
        yield from _undefined(cell, f"no coder with {_FEWEST_ITEMS} items that another coder labelled")
        return
    known = np.stack([turn.known for turn in compared.values()], 1)
    as_good = np.stack([turn.model_as_good for turn in compared.values()], 1)
    share = Ratio(as_good, known.astype(np.float64))
    excluded = {"item without a label of the model": int((_modal(cell) < 0).sum())}
    shape = Statistic(method=_METHOD, under=share, ends=(0.0, 1.0), excluded=excluded)
    adjusted = false_discovery_control([_p(cell, turn, epsilon) for turn in compared.values()], method="by")
    for column, (name, turn) in enumerate(compared.items()):
        p = float(adjusted[column])
        own = {"p": p, "won": p <= _FALSE, "coder_advantage": float(turn.coder_as_good.sum() / turn.n)}
        shown = replace(shape, where={"coder": name}, column=column, n=turn.known, details=own | turn.means)
        yield cell.estimated(shown)
    every = [turn.means for turn in compared.values()]
    whole = replace(
        shape,
        method=f"{_METHOD}, mean over coders",
        under=over_strata(share),
        where={"coder": ALL},
        n=known.any(1),
        details={side: float(np.mean([means[side] for means in every])) for side in every[0]},
    )
    yield cell.estimated(whole)
    won = int((adjusted <= _FALSE).sum())
    verdict = Statistic(method=_METHOD, part="_won", where={"coder": ALL}, reason="a verdict has no draws")
    details = {"coders": len(compared), "won": won, "epsilon": epsilon}
    details["passes"] = won / len(compared) >= _PASSED
    n = int(known.any(1).sum())
    yield replace(cell.estimated(verdict), value=won / len(compared), reason=None, n=n, details=details)


def _undefined(cell: Cell, reason: str) -> Iterator[Estimate]:
    """The mean and the verdict, without a value."""
    for part in ("", "_won"):
        statistic = Statistic(method=_METHOD, part=part, where={"coder": ALL}, n=0, reason=reason)
        yield cell.estimated(statistic)


def _alike(label: Ints, others: Ints, values: Floats | None) -> Floats:
    """How far each item's label agrees with the others': by share, or by minus the root mean square."""
    defined = others >= 0
    size = np.maximum(defined.sum(1), 1)
    if values is None:
        return np.asarray(((others == label[:, None]) & defined & (label[:, None] >= 0)).sum(1) / size)
    apart = np.where(defined, values[others] - values[label][:, None], 0.0)
    worst = np.ptp(values) if values.size else 0.0
    return np.asarray(np.where(label >= 0, -np.sqrt((apart**2).sum(1) / size), -worst))


def _modal(cell: Cell) -> Ints:
    """The model's most frequent label of each item; -1 where it gave none."""
    counts = cell.counts().sum(1)
    return np.asarray(np.where(counts.any(1), counts.argmax(1), -1), np.int64)


def _p(cell: Cell, turn: _Turn, epsilon: float) -> float:
    """One-sided p: that the coder's advantage is ``epsilon`` or more above the model's."""
    apart = (turn.coder_as_good - turn.model_as_good)[turn.known]
    mean = float(apart.mean())
    sums: NDArray[Any] = apart - mean
    if cell.clusters is not None:
        groups = np.unique(cell.clusters[turn.known], return_inverse=True)[1]
        sums = np.bincount(groups, sums)
    if sums.size < 2:
        return 1.0
    error = float(np.sqrt(sums.size / (sums.size - 1) * (sums**2).sum())) / apart.size
    if error < _ROUNDING:
        return 0.0 if mean < epsilon else 1.0
    return float(special.stdtr(sums.size - 1, (mean - epsilon) / error))
