"""How much of the accuracy that a prompt seems to lose is the parser's doing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from quaver.core.records import Estimate
from quaver.errors import UnknownName
from quaver.estimation.arrangement import Columns
from quaver.estimation.bootstrap import Floats, Ratio
from quaver.estimation.declaration import measure
from quaver.estimation.means import quotient
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.correctness.evaluator_flips import labels_by, pairs_of
from quaver.measures.variation.label_shares import ASKING

_METHOD = "(repaired − first) / (mean of the other variants − first), accuracies, no label counted wrong"
_NO_GAP = 1e-9
"""Means of the same accuracies in another order differ in the last digit: that is no gap."""
_MAYBE_NO_GAP = "by its own interval there may be no gap, so that the share of it has no interval"


@measure(
    title="How much of a prompt’s gap in accuracy another evaluator closes",
    axis="share of the gap (1: all of it)",
    section="answers",
    better="higher",
    null=0.0,
    compares=("evaluator", "model", "variant"),
    pairs_evaluators=True,
)
def recovered_share(
    data: MeasureInput, *, first: str | None = None, second: str | None = None, variant: str | None = None
) -> Iterator[Estimate]:
    """How much of a prompt's gap in accuracy another evaluator closes.

    For each variant and model, with f the variant's accuracy by the first evaluator, r its accuracy by the
    second (repaired), and m the mean over the other variants of their accuracies by the first: (r − f) / (m
    − f). Undefined where there is no gap to recover (m ≤ f), no other variant, or no gold labels. An answer
    without a label is wrong. ``by`` cannot hold the evaluator or the variant. Where the gap itself may be
    none by its own interval, the share has none, since it may be any number (Fieller 1954, Journal of the
    Royal Statistical Society B 16, 175-185).

    Args:
        first: The evaluator under suspicion; by default the first by name, in a study the study's first.
        second: The evaluator that repairs it; by default each of the others in turn.
        variant: The variant whose gap it is; by default each in turn.

    Returns:
        An estimate for each cell, pair of evaluators, variant and model.

    Raises:
        UnknownName: An evaluator has no rows, or there is no such variant.

    Variant p is right in 1 of 4 by x and in 2 of 4 by y; variant q in 3 of 4 by x: (2 − 1) / (3 − 1).

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4] * 3, "variant": ["p"] * 8 + ["q"] * 4,
    ...     "evaluator": ["x"] * 4 + ["y"] * 4 + ["x"] * 4, "gold": "a", "label": list("abbbaabbaaab")})
    >>> recovered_share(frame, variant="p", resamples=0)[0].value
    0.5
    """
    parts = data.cells(raters=("evaluator",), within=ASKING, gold=True)
    pairs = pairs_of(parts, first, second)
    for cell in parts:
        places = [
            [_role(stratum, role, data.columns or {}) for role in ("variant", "model")]
            for stratum in cell.strata
        ]
        variants = sorted({one for one, _ in places})
        if variant is not None and variant not in variants:
            raise UnknownName("variant", variant, variants, where="variant")
        if not pairs:
            yield cell.estimated(Statistic(method=_METHOD, n=0, reason="fewer than two evaluators"))
        for one, other in pairs:
            yield from _recovered(cell, (one, other), places, variants if variant is None else [variant])


def _recovered(
    cell: Cell, pair: tuple[str, str], places: list[list[str]], wanted: list[str]
) -> Iterator[Estimate]:
    """The shares of some variants, by model."""
    first, repaired = (Ratio(*_counts(cell, evaluator)) for evaluator in pair)
    models, variants = (sorted({place[at] for place in places}) for at in (1, 0))
    size = cell.units.touched(np.asarray(first.denominator.any(1)))
    reason = None if first.denominator.any() else "no gold labels" if cell.items else "no annotations"
    for variant in wanted:
        for model in models:
            own = np.array([place == [variant, model] for place in places], float)
            others = np.array(
                [[place == [one, model] for place in places] for one in variants if one != variant], float
            ).reshape(-1, len(places))

            def accuracies(weights: Floats, own: Floats = own, others: Floats = others) -> Floats:
                by_first = _of(first, weights, np.vstack([own, others]))
                known = np.isfinite(by_first[:, 1:])
                mean = quotient(np.where(known, by_first[:, 1:], 0).sum(1), known.sum(1))
                return np.stack([by_first[:, 0], _of(repaired, weights, own[None])[:, 0], mean], 1)

            def under(weights: Floats) -> Floats:
                low, better, mean = accuracies(weights).T
                share = quotient(better - low, mean - low, _NO_GAP)
                return np.stack([share, mean - low], 1)

            values = accuracies(np.ones((1, len(cell.items))))[0].tolist()
            known = zip(("first", "repaired", "others"), values, strict=True)
            where = {"first": pair[0], "second": pair[1], "variant": variant}
            statistic = Statistic(
                method=_METHOD,
                under=under if reason is None else None,
                n=size,
                reason=reason or ("no gap to recover" if len(variants) > 1 else "no other variant"),
                where={**where, "model": model} if model else where,
                details={name: value for name, value in known if np.isfinite(value)},
            )
            estimate = cell.estimated(statistic)
            if estimate.low is not None and not (cell.estimated(replace(statistic, column=1)).low or 0) > 0:
                warnings = (*estimate.warnings, _MAYBE_NO_GAP)
                estimate = replace(estimate, low=None, high=None, warnings=warnings)
            yield estimate


def _of(accuracy: Ratio, weights: Floats, columns: Floats) -> Floats:
    """Accuracy under item weights, of groups of strata, shape (groups, strata)."""
    return quotient(weights @ accuracy.numerator @ columns.T, weights @ accuracy.denominator @ columns.T)


def _counts(cell: Cell, evaluator: str) -> tuple[Floats, Floats]:
    """Right answers, and answers, by item and stratum."""
    codes, read = labels_by(cell, evaluator)
    gold = cell.gold_codes[:, None]
    judged = read & (gold >= 0)
    return (judged & (codes == gold)).astype(float), judged.astype(float)


def _role(stratum: Mapping[str, str], role: str, columns: Columns) -> str:
    """The value of a role in a stratum; nothing where the role makes the cells or does not exist."""
    names = columns.get(role, role)
    return " | ".join(stratum[n] for n in ((names,) if isinstance(names, str) else names) if n in stratum)
