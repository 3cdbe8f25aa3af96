"""May the model replace a coder? Each coder is left out in turn, and the model put in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special
from scipy.stats import false_discovery_control

from quaver.core.records import Estimate, Level
from quaver.core.rows import Presentation
from quaver.errors import MeasureError
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.jackknife import Floats, Ratio
from quaver.estimation.means import over_strata
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.validity.coders import ALL, Coded, Ints, coded, coders_of
from quaver.measures.variation.label_shares import ASKING

_FEWEST = 3
_FALSE = 0.05
_PASSED = 0.5
_SMALL = 30
_ROUNDING = 1e-12


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
            yield from _tested(coded(cell, given), epsilon, level, missing)


_METHOD = "alternative annotator test, each coder left out in turn"


class _Left(NamedTuple):
    """A coder who is left out, by item.

    Attributes:
        known: Which items this coder and others labelled.
        model: How far the model's label agrees with the others'.
        coder: How far the coder's own does.
    """

    known: NDArray[np.bool_]
    model: Floats
    coder: Floats

    @property
    def means(self) -> dict[str, float]:
        """The mean agreement of the others with each."""
        with_model, with_coder = self.model[self.known].mean(), self.coder[self.known].mean()
        return {"with_model": float(with_model), "with_coder": float(with_coder)}

    @property
    def model_as_good(self) -> NDArray[np.bool_]:
        """Where the model agrees at least as well as the coder."""
        return self.known & (self.model >= self.coder - _ROUNDING)

    @property
    def coder_as_good(self) -> NDArray[np.bool_]:
        """Where the coder agrees at least as well as the model."""
        return self.known & (self.coder >= self.model - _ROUNDING)


def _tested(found: Coded, epsilon: float, level: Level | None, missing: Missing) -> Iterator[Estimate]:
    cell, answer, values = found.cell, _modal(found.cell), _numbers(found.cell, level)
    answered = answer >= 0 if missing == "drop" else np.ones(answer.size, bool)
    left: dict[str, _Left] = {}
    for name, own in found.marks.items():
        others = np.stack([mark for other, mark in found.marks.items() if other != name], 1)
        known = (own >= 0) & (others >= 0).any(1) & answered
        left[name] = _Left(known, _alike(answer, others, values), _alike(own, others, values))
    compared = {name: one for name, one in left.items() if one.known.any()}
    if not compared:
        yield from _undefined(cell, "no item with two coders")
        return
    tests = [_p(cell, one, epsilon) for one in compared.values()]
    adjusted = dict(zip(compared, false_discovery_control(tests, method="by").tolist(), strict=True))
    known = np.stack([one.known for one in compared.values()], 1)
    as_good = np.stack([one.model_as_good for one in compared.values()], 1)
    share = Ratio(as_good.astype(np.float64), known.astype(np.float64))
    bare = int((answer < 0).sum())
    shape = Statistic(
        method=_METHOD,
        under=share,
        ends=(0.0, 1.0),
        excluded={"item without a label of the model": bare} if bare else {},
    )
    for name, one in left.items():
        where, n = {"coder": name}, int(one.known.sum())
        if not n:
            reason = "no item with another coder"
            yield cell.estimated(Statistic(method=_METHOD, where=where, n=0, reason=reason))
            continue
        few = f"{n} items with another coder: the t test is approximate below {_SMALL}"
        p, advantage = adjusted[name], float(one.coder_as_good.sum() / n)
        statistic = replace(
            shape,
            where=where,
            column=list(compared).index(name),
            n=cell.units.touched(one.known),
            warnings=() if n >= _SMALL else (few,),
            details={"p": p, "won": p <= _FALSE, "coder_advantage": advantage, **one.means},
        )
        yield cell.estimated(statistic)
    whole = replace(
        shape,
        method=f"{_METHOD}, mean over coders",
        under=over_strata(share),
        where={"coder": ALL},
        n=cell.units.touched(np.asarray(known.any(1))),
        details=dict(pl.DataFrame([one.means for one in compared.values()]).mean().row(0, named=True)),
    )
    yield cell.estimated(whole)
    won = sum(p <= _FALSE for p in adjusted.values())
    verdict = Statistic(method=_METHOD, part="_won", where={"coder": ALL}, reason="a verdict has no draws")
    details = {"coders": len(compared), "won": won, "epsilon": epsilon}
    details["passes"] = won / len(compared) >= _PASSED
    n = int(known.any(1).sum())
    yield replace(cell.estimated(verdict), value=won / len(compared), reason=None, n=n, details=details)


def _undefined(cell: Cell, reason: str) -> Iterator[Estimate]:
    for part in ("", "_won"):
        statistic = Statistic(method=_METHOD, part=part, where={"coder": ALL}, n=0, reason=reason)
        yield cell.estimated(statistic)


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
    written = [label if given.get(label) is None else given[label] for label in cell.labels]
    numbers = pl.Series(written, strict=False, dtype=pl.String).cast(pl.Float64, strict=False)
    if numbers.null_count():
        return np.append(np.arange(float(len(written))), 0.0)
    return np.append(numbers.to_numpy(), 0.0)


def _modal(cell: Cell) -> Ints:
    """The model's most frequent label of each item; -1 where it gave none."""
    counts = cell.counts().sum(1)
    return np.asarray(np.where(counts.any(1), counts.argmax(1), -1), np.int64)


def _p(cell: Cell, left: _Left, epsilon: float) -> float:
    """One-sided p: that the coder's advantage is ``epsilon`` or more above the model's."""
    known = left.known
    apart = left.coder_as_good[known].astype(np.float64) - left.model_as_good[known].astype(np.float64)
    mean = float(apart.mean())
    sums = np.asarray(apart - mean, np.float64)
    if cell.clusters is not None:
        groups = np.unique(cell.clusters[known], return_inverse=True)[1]
        sums = np.asarray(np.bincount(groups, sums), np.float64)
    if sums.size < 2:
        return 1.0
    error = float(np.sqrt(sums.size / (sums.size - 1) * (sums**2).sum())) / apart.size
    if error < 1e-12:
        return 0.0 if mean < epsilon else 1.0
    return float(special.stdtr(sums.size - 1, (mean - epsilon) / error))
