"""What each level of a factor does: to compliance, accuracy, F1 and the prompt's length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.records import Estimate, LabelSet
from quaver.estimation.bootstrap import Floats, Resampling, Weighted, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells, frame_of
from quaver.estimation.column_roles import Columns, UnknownColumn
from quaver.estimation.confidences import arranged, column_for, numbers_of
from quaver.estimation.encoding import Codes, combine, encode
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.judgements import Judged, judge, treatment
from quaver.estimation.means import ratio
from quaver.estimation.measure_protocol import Frame, compares
from quaver.estimation.multiple_testing import adjusted, bootstrap_p, joint_p
from quaver.measures.correctness.f1 import f1_statistic
from quaver.measures.variation.label_shares import ASKING

__all__ = ["factor_effects", "factors_of"]

_CONTRASTS = "level means and contrasts as in Montgomery (2017), Design and Analysis of Experiments, ch. 5"

_LARGEST = 100
"""Interactions with more combinations of levels than this are measured only where they are asked for."""


@compares("variant", "text")
def factor_effects(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    factors: Sequence[str] | None = None,
    reference: Mapping[str, str] | None = None,
    interactions: Sequence[tuple[str, str]] | None = None,
    missing: Missing = "wrong",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Each factor level's outcomes, their differences, and the interactions of pairs of factors.

    Outcomes: ``compliance`` (share of valid answers), ``accuracy``, ``f1`` (macro), and
    ``length`` (mean of the column in the role ``length``, or else of ``prompt_tokens``, where there is
    one). For each factor and level, ``factor_effects_<outcome>`` is the level's own value, over all
    answers at that level; ``factor_effects_<outcome>_difference`` is it less the reference level's, or less
    the mean of the other levels'. ``factor_effects_<outcome>_interaction`` is, for each combination of two
    factors' levels, y_ij − ȳ_i. − ȳ_.j + ȳ_.. over the unweighted means. All on the same resampled items,
    so that differences are paired. Differences carry ``p`` (of no difference, see
    ``measure.multiple.bootstrap_p``) in their details, interactions ``p`` of the whole interaction, which is
    one test however many combinations it has (``measure.multiple.joint_p``). ``p_holm`` holds the familywise
    error over all of a cell's tests, of all outcomes: ``hypothesis`` names each, ``comparisons`` counts them.
    Without a reference the two levels of a factor are one test, told from either side.
    Undefined: a level nobody answered at, a difference where there is one level, an interaction where a
    combination is missing, accuracy and F1 without gold labels.

    Source: Montgomery (2017), Design and Analysis of Experiments, ch. 5 (level means and contrasts).

    Args:
        annotations: A row an annotation; see `quaver.estimation.measure_protocol.Measure`.
        labels: The label set.
        by: Columns that make the cells.
        confidence: Nominal level of each interval (not adjusted).
        resamples: Bootstrap resamples.
        seed: Root seed.
        factors: The factors' columns; by default those of the variants (see `factors_of`).
        reference: A factor's reference level, by factor.
        interactions: Pairs of factors; by default all pairs with up to 100 combinations of levels.
        missing: ``"wrong"`` or ``"drop"``, for accuracy and F1.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        Estimates for each cell, factor and level; the cell holds ``factor`` and ``level``.

    Raises:
        MeasureError: The frame or an option cannot be used, or a factor or level does not occur.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2] * 2, "variant": ["v", "v", "w", "w"],
    ...                       "definition": ["yes", "yes", "no", "no"],
    ...                       "label": list("abaa"), "gold": list("abab")})
    >>> found = factor_effects(frame, reference={"definition": "no"})
    >>> [(e.cell["level"], e.value) for e in found if e.measure == "factor_effects_accuracy_difference"]
    [('yes', 0.5)]
    """
    resampling = Resampling(confidence, resamples, seed, interval)
    told = treatment(missing)
    frame = frame_of(annotations)
    parts = cells(annotations, raters=ASKING, by=by, labels=labels, columns=columns, group=group, gold=True)
    names = _factors(frame, factors, by, columns, group)
    pairs = list(combinations(names, 2)) if interactions is None else list(interactions)
    levels = {name: combine([(name, encode(frame[name], name))], frame.height) for name in names}
    for name in {one for pair in pairs for one in pair} - set(levels):
        raise UnknownColumn(name, names, where="interactions")
    role = "length" if _holds_lengths(frame, columns) else "prompt_tokens"
    length = numbers_of(frame, role, columns, within=None)
    both = {pair: combine([(n, encode(frame[n], n)) for n in pair], frame.height) for pair in pairs}
    found: list[Estimate] = []
    for cell in parts:
        study = _Cell(cell, judge(cell, missing), length, told, resampling)
        if not names or not cell.items:
            found += study.nothing("no annotations" if not cell.items else "no factor")
            continue
        effects: list[Estimate] = []
        for name in names:
            effects += study.levels(name, levels[name], (reference or {}).get(name))
        for pair in pairs:
            size = len(levels[pair[0]].values) * len(levels[pair[1]].values)
            if interactions is not None or size <= _LARGEST:
                effects += study.interaction(pair, both[pair])
        found += adjusted(effects)
    return found


def factors_of(
    annotations: Any, *, columns: Columns | None = None, without: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns that are factors of the variants.

    Columns beyond those of every annotation frame that vary, and have one value in all rows of a variant;
    without any, the first of variant, decoding and model that varies.

    Args:
        annotations: The frame.
        columns: Other names for its columns.
        without: Columns that are not to be taken.
    """
    frame = frame_of(annotations)
    played = {one for v in (columns or {}).values() for one in ((v,) if isinstance(v, str) else v)}
    left = {*ANNOTATION_COLUMNS, *played, *without, "prompt_tokens", "raw", "token"}
    left |= {"length"} if _holds_lengths(frame, columns) else set()
    variant = column_for(frame, "variant", columns)
    candidates = [
        name
        for name, kind in frame.schema.items()
        if name not in left and not kind.is_nested() and kind != pl.Object
    ]
    found: list[str] = []
    if variant is not None and candidates and frame.height:
        counts = frame.group_by(variant).agg(pl.col(candidates).n_unique())
        found = [n for n in candidates if counts[n].max() == 1 and frame[n].n_unique() > 1]
    if found:
        return tuple(found)
    roles = [column_for(frame, role, columns) for role in ("variant", "decoding", "model")]
    return tuple(n for n in roles if n is not None and n not in without and frame[n].n_unique() > 1)[:1]


def _holds_lengths(frame: pl.DataFrame, columns: Columns | None) -> bool:
    """Whether there is a column of lengths, and not a factor of that name (standard, concise)."""
    name = column_for(frame, "length", columns)
    return name is not None and (name != "length" or frame[name].dtype.is_numeric())


def _factors(
    frame: pl.DataFrame,
    factors: Sequence[str] | None,
    by: Sequence[str],
    columns: Columns | None,
    group: str | None,
) -> tuple[str, ...]:
    by = (by,) if isinstance(by, str) else tuple(by)
    if factors is None:
        return factors_of(frame, columns=columns, without=[*by, *([group] if group else [])])
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    for name in names:
        if name not in frame.columns:
            raise UnknownColumn(name, frame.columns, where="factors")
    return names


class _Outcome(NamedTuple):
    """One outcome over levels: its statistic, the levels that have it, its range, and why it is missing."""

    name: str
    statistic: Weighted
    known: NDArray[np.bool_]
    ends: tuple[float, float] | None
    reason: str


class _Cell:
    """One cell's answers, to be added up by the levels of a factor."""

    def __init__(
        self, cell: Cell, judged: Judged, length: Floats | None, told: str, resampling: Resampling
    ) -> None:
        self._cell, self._judged, self._told, self._resampling = cell, judged, told, resampling
        self._length = None if length is None else arranged(length, cell)

    def nothing(self, why: str) -> list[Estimate]:
        """What is said where there is nothing to compare."""
        claim = Claim("factor_effects", "outcomes by factor level", cell=self._cell.where, n=0)
        return [undefined(claim, self._cell.units, self._resampling, why)]

    def levels(self, name: str, codes: Codes, reference: str | None) -> list[Estimate]:
        """The levels' own values, and their differences."""
        names, place = self._placed(codes)
        told = [next(iter(where.values())) for where in names]
        if reference is not None and reference not in told:
            raise UnknownColumn(reference, told, where=f"reference[{name!r}]")
        against = None if reference is None else told.index(reference)
        found = []
        for outcome in self._outcomes(place, len(names)):
            contrast = _against(against, len(names))
            found += self._estimates(outcome, name, told, contrast, against)
        return found

    def interaction(self, pair: tuple[str, str], codes: Codes) -> list[Estimate]:
        """What a combination of two levels does beyond the two."""
        names, place = self._placed(codes)
        first = list(dict.fromkeys(where[pair[0]] for where in names))
        second = list(dict.fromkeys(where[pair[1]] for where in names))
        told = [f"{where[pair[0]]} × {where[pair[1]]}" for where in names]
        if len(first) < 2 or len(second) < 2:
            return []
        whole = len(names) == len(first) * len(second)
        rows = np.array([first.index(where[pair[0]]) for where in names])
        cols = np.array([second.index(where[pair[1]]) for where in names])
        same_row, same_col = rows[:, None] == rows, cols[:, None] == cols
        contrast = (
            np.eye(len(names)) - same_row / same_row.sum(1) - same_col / same_col.sum(1) + 1 / len(names)
        )
        found = []
        for outcome in self._outcomes(place, len(names)):
            why = None if whole and outcome.known.all() else "a combination of levels is missing"
            claim = self._claim(outcome, "_interaction", f"{pair[0]} × {pair[1]}")
            claim = self._testing(claim, outcome, f"{pair[0]} × {pair[1]}")
            named = [self._at(claim, level) for level in told]
            found += self._contrasts(named, outcome, contrast, why, together=True)
        return found

    def _placed(self, codes: Codes) -> tuple[list[dict[str, str]], NDArray[np.int64]]:
        """The levels that occur in the cell, and each place's among them (-1 where there is no answer)."""
        rows = self._cell.rows
        place = np.where(rows >= 0, codes.codes[rows], -1)
        occurs = np.unique(place[place >= 0])
        table = np.full(len(codes.values) + 1, -1, np.int64)
        table[occurs] = np.arange(occurs.size)
        return [codes.values[index] for index in occurs], table[place]

    def _sums(self, place: NDArray[np.int64], levels: int, values: NDArray[Any]) -> Floats:
        """Σ of a value by item and level."""
        items = len(self._cell.items)
        there = place >= 0
        at = np.broadcast_to(np.arange(items)[:, None, None], place.shape)[there] * levels + place[there]
        sums = np.bincount(at, values[there].astype(np.float64), minlength=items * levels)
        return np.asarray(sums.reshape(items, levels), np.float64)

    def _outcomes(self, place: NDArray[np.int64], levels: int) -> Iterator[_Outcome]:
        cell, judged = self._cell, self._judged
        there = (cell.codes >= 0) | cell.unanswered
        given, asked = (self._sums(place, levels, part) for part in (cell.valid, there))
        yield _Outcome("compliance", ratio(given, asked), _any(asked), (0, 1), "no answers")
        counted = self._sums(place, levels, judged.asked)
        right = self._sums(place, levels, judged.right)
        why = judged.reason or "no answers to items with a gold label"
        yield _Outcome("accuracy", ratio(right, counted), _any(counted), (0, 1), why)
        yield _Outcome("f1", self._f1(place, levels), _any(counted), (0, 1), why)
        if self._length is not None:
            known = np.isfinite(self._length)
            n = self._sums(place, levels, known)
            total = self._sums(place, levels, np.where(known, self._length, 0))
            yield _Outcome("length", ratio(total, n), _any(n), None, "no lengths")

    def _f1(self, place: NDArray[np.int64], levels: int) -> Weighted:
        cell, judged, size = self._cell, self._judged, len(self._cell.labels)
        gold = np.full(len(cell.items), -1) if cell.gold is None else cell.gold
        truth = np.broadcast_to(gold[:, None, None], cell.codes.shape).astype(np.int64)
        answer = cell.codes.astype(np.int64)
        parts = []
        for kept, label in (
            (judged.right, truth),
            (judged.asked & (answer >= 0), answer),
            (judged.asked, truth),
        ):
            at = np.where(kept & (place >= 0), place * size + label, -1)
            parts.append(self._sums(at, levels * size, kept))
        counts = np.stack(parts, 2).reshape(len(cell.items), levels, size, 3)
        each = [f1_statistic(counts[:, level]) for level in range(levels)]
        return lambda weights: np.stack([one(weights)[:, 0] for one in each], 1)

    def _claim(self, outcome: _Outcome, kind: str, factor: str) -> Claim:
        counted = outcome.name in ("accuracy", "f1")
        return Claim(
            f"factor_effects_{outcome.name}{kind}",
            f"{outcome.name} by factor level" + (f", unanswered {self._told}" if counted else ""),
            _CONTRASTS,
            cell={**self._cell.where, "factor": factor},
            excluded=self._judged.excluded if counted else {},
            n=self._cell.units.count,
            reason=outcome.reason,
        )

    def _estimates(
        self, outcome: _Outcome, factor: str, told: Sequence[str], contrast: Floats, against: int | None
    ) -> list[Estimate]:
        claims = [self._at(self._claim(outcome, "", factor), level) for level in told]
        claim = self._claim(outcome, "_difference", factor)
        claim = replace(
            claim, details={"against": "the mean of the others" if against is None else told[against]}
        )
        if len(told) == 2:  # one test: without a reference the second row is the first from the other side
            claim = self._testing(claim, outcome, factor)
        apart = [self._at(claim, level) for level in told]
        if len(told) < 2:
            alone = [undefined(one, self._cell.units, self._resampling, "one level") for one in apart]
            return self._contrasts(claims, outcome, np.eye(1), None) + alone
        rows = [index for index in range(len(told)) if index != against]
        claims += [apart[index] for index in rows]
        # One bootstrap for both, since a level's own value is a contrast too.
        return self._contrasts(claims, outcome, np.concatenate([np.eye(len(told)), contrast[rows]]), None)

    def _at(self, claim: Claim, level: str) -> Claim:
        return replace(claim, cell={**(claim.cell or {}), "level": level})

    def _testing(self, claim: Claim, outcome: _Outcome, what: str) -> Claim:
        """The claim with the name of the hypothesis that it shares with others."""
        hypothesis = f"no effect of {what} on {outcome.name}"
        return replace(claim, details={**(claim.details or {}), "hypothesis": hypothesis})

    def _contrasts(
        self,
        named: Sequence[Claim],
        outcome: _Outcome,
        contrast: Floats,
        why: str | None,
        together: bool = False,
    ) -> list[Estimate]:
        """The estimates of weighted sums of the levels, a row of weights each, apart or one test."""
        units, resampling = self._cell.units, self._resampling
        if why is not None or not outcome.known.any():
            return [undefined(one, units, resampling, why or outcome.reason) for one in named]

        def statistic(weights: Floats) -> Floats:
            values = outcome.statistic(weights)
            known = np.isfinite(values)
            # A contrast is defined where all the levels that it uses are.
            lost = ~known @ (contrast != 0).T
            return np.asarray(np.where(lost, np.nan, np.where(known, values, 0) @ contrast.T))

        draws = bootstrap(statistic, units, resampling)
        whole = joint_p(draws.point, draws.values, units.count) if together and resampling.resamples else None
        found = []
        for index, one in enumerate(named):
            value = float(draws.point[index])
            if outcome.ends is not None:
                low = 0.0 if (contrast[index] >= 0).all() else -1.0
                one = replace(
                    one,
                    spread=lambda share, value=value, low=low: mean_within(value, share, low),  # type: ignore[misc]
                )
            if resampling.resamples and abs(contrast[index].sum()) < 0.5:  # a level's own value sums to one
                p = bootstrap_p(value, draws.values[:, index], units.count) if whole is None else whole
                one = replace(one, details={**(one.details or {}), "p": p})
            found.append(estimate(one, draws, units, resampling, index))
        return found


def _any(sums: Floats) -> NDArray[np.bool_]:
    """The levels at which there is something."""
    return np.asarray(sums.any(0))


def _against(reference: int | None, levels: int) -> Floats:
    """The contrasts of each level with the reference, or with the mean of the others."""
    if reference is None:
        others = np.full((levels, levels), -1 / max(1, levels - 1))
        return np.asarray(np.where(np.eye(levels) == 1, 1.0, others))
    contrast = np.eye(levels)
    contrast[:, reference] -= 1
    return contrast
