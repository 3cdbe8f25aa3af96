"""What each level of a factor does: to compliance, accuracy, F1 and the prompt's length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.records import Estimate
from quaver.estimation.arrangement import Columns, UnknownColumn
from quaver.estimation.bootstrap import Floats, Ratio, Weighted
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import Codes
from quaver.estimation.gathered import Gathered
from quaver.estimation.measure_input import Judged, MeasureInput, arranged, column_for, judge, treatment
from quaver.estimation.multiple_testing import adjusted, joint_p
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.correctness.f1 import UNSEEN, f1_statistic
from quaver.measures.variation.label_shares import ASKING


def factors_of(
    annotations: Any, *, columns: Columns | None = None, without: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns that are factors of the variants.

    Columns beyond those of every annotation frame that vary, and have one value in all rows of a variant;
    without any, the first of variant, decoding and model that varies.
    """
    gathered = Gathered.of(annotations)
    played = {one for v in (columns or {}).values() for one in ((v,) if isinstance(v, str) else v)}
    left = {*ANNOTATION_COLUMNS, *played, *without, "prompt_tokens", "raw", "token"}
    left |= {"length"} if holds_lengths(gathered, columns) else set()
    variant = column_for(gathered, "variant", columns)
    candidates = [
        name
        for name, kind in gathered.schema.items()
        if name not in left and not kind.is_nested() and kind != pl.Object
    ]
    found: list[str] = []
    if variant is not None and candidates and gathered.height:
        key = ("factors", variant, tuple(candidates))
        found = gathered.kept(key, lambda: _varied(gathered, variant, candidates))
    if found:
        return tuple(found)
    roles = [column_for(gathered, role, columns) for role in ("variant", "decoding", "model")]
    named = [n for n in roles if n is not None and n not in without]
    return tuple(n for n in named if gathered[n].n_unique() > 1)[:1]


def _varied(gathered: Gathered, variant: str, candidates: Sequence[str]) -> list[str]:
    """The columns that vary, and have one value in all rows of a variant."""
    rows = gathered.read([variant, *candidates])
    frame = rows.group_by(variant).agg(pl.col(candidates).n_unique())
    return [n for n in candidates if frame[n].max() == 1 and rows[n].n_unique() > 1]


def holds_lengths(frame: pl.DataFrame | Gathered, columns: Columns | None) -> bool:
    """Whether there is a column of lengths, and not a factor of that name (standard, concise)."""
    name = column_for(frame, "length", columns)
    return name is not None and (name != "length" or frame.schema[name].is_numeric())


_LARGEST = 100
"""Interactions with more combinations of levels than this are measured only where they are asked for."""


@measure(
    section="factors",
    source="level means and contrasts as in Montgomery (2017), Design and Analysis of Experiments, ch. 5",
    missing=("wrong", "drop"),
    compares=("variant", "text"),
    takes_factors=True,
    estimands=("fixed", "population"),
)
def factor_effects(
    data: MeasureInput,
    *,
    factors: Sequence[str] | None = None,
    reference: Mapping[str, str] | None = None,
    interactions: Sequence[tuple[str, str]] | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
    """Each factor level's outcomes, their differences, and the interactions of pairs of factors.

    Outcomes: ``compliance`` (share of valid answers), ``accuracy``, ``f1`` (macro), and ``length`` (mean of
    the column in the role ``length``, or else of ``prompt_tokens``, where there is one). For each factor and
    level, ``factor_effects_<outcome>`` is the level's own value over all its answers, and
    ``factor_effects_<outcome>_difference`` this value less the reference level's, or less the mean of the
    other levels'. For each combination of two factors' levels, ``factor_effects_<outcome>_interaction`` is
    y_ij − ȳ_i. − ȳ_.j + ȳ_.. over the unweighted means. All rest on the same resampled items, so differences
    are paired. In the details, ``p`` tests a difference (`multiple_testing.level_of`), or an interaction
    as a whole: one test for all its combinations (`multiple_testing.joint_p`). ``p_holm`` controls the
    familywise error over all of a cell's tests; ``hypothesis`` names each, ``comparisons`` counts them.
    Intervals are not adjusted. Without a reference, two levels are one test. Undefined: a level without
    answers, the difference of one level, an interaction where a combination is missing, accuracy and F1
    without gold labels.

    Args:
        factors: The factors' columns; by default those of the variants (see `factor_columns.factors_of`).
        reference: A factor's reference level, by factor.
        interactions: Pairs of factors; by default all pairs with up to 100 combinations of levels.

    Returns:
        Estimates for each cell, factor and level; the cell holds ``factor`` and ``level``.

    Raises:
        UnknownColumn: A factor or level does not occur.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2] * 2, "variant": ["v", "v", "w", "w"],
    ...                       "definition": ["yes", "yes", "no", "no"],
    ...                       "label": list("abaa"), "gold": list("abab")})
    >>> found = factor_effects(frame, reference={"definition": "no"})
    >>> [(e.cell["level"], e.value) for e in found if e.measure == "factor_effects_accuracy_difference"]
    [('yes', 0.5)]
    """
    gathered = data.gathered
    parts = data.cells(raters=ASKING, gold=True)
    names = _factors(data, factors)
    levels = {name: gathered.together(name) for name in names}
    pairs = _pairs(levels, interactions)
    length = _lengths(data)
    both = {pair: gathered.together(*pair) for pair in pairs}
    for cell in parts:
        if not names or not cell.items:
            why = "no factor" if cell.items else "no annotations"
            yield cell.estimated(Statistic(method="outcomes by factor level", source="", n=0, reason=why))
            continue
        outcomes = _Outcomes(cell, judge(cell, missing), length, treatment(missing))
        found = chain(
            *(outcomes.levels(name, levels[name], (reference or {}).get(name)) for name in names),
            *(outcomes.interaction(pair, both[pair]) for pair in pairs),
        )
        yield from adjusted([cell.estimated(statistic) for statistic in found])


def _factors(data: MeasureInput, factors: Sequence[str] | None) -> tuple[str, ...]:
    if factors is None:
        group = [data.group] if data.group else []
        return factors_of(data.gathered, columns=data.columns, without=[*data.by, *group])
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    for name in names:
        if name not in data.gathered.columns:
            raise UnknownColumn(name, data.gathered.columns, where="factors")
    return names


def _lengths(data: MeasureInput) -> Floats | None:
    role = "length" if holds_lengths(data.gathered, data.columns) else "prompt_tokens"
    return data.numbers(role, within=None)


def _pairs(levels: Mapping[str, Codes], asked: Sequence[tuple[str, str]] | None) -> Sequence[tuple[str, str]]:
    """The pairs of factors whose interactions are measured; by default those with few combinations."""
    if asked is None:
        sizes = {name: len(codes.values) for name, codes in levels.items()}
        return [pair for pair in combinations(levels, 2) if sizes[pair[0]] * sizes[pair[1]] <= _LARGEST]
    for name in {one for pair in asked for one in pair} - set(levels):
        raise UnknownColumn(name, list(levels), where="interactions")
    return list(asked)


class _Outcome(NamedTuple):
    """One outcome: its statistic by level, which levels have it, whether it is bounded by 0 and 1."""

    name: str
    under: Weighted
    known: NDArray[np.bool_]
    bounded: bool
    reason: str


class _Outcomes:
    """One cell's answers, to be added up by the levels of a factor."""

    def __init__(self, cell: Cell, judged: Judged, length: Floats | None, unanswered: str) -> None:
        self._cell, self._judged, self._unanswered = cell, judged, unanswered
        self._length = None if length is None else arranged(length, cell)
        gold, counted = cell.gold_codes, judged.asked.any((1, 2))
        weighed = {*cell.expected, *np.unique(cell.codes[judged.asked]).tolist()} - {-1}
        self._unseen = () if weighed <= {*gold[counted].tolist()} or cell.gold is None else (UNSEEN,)

    def levels(self, name: str, codes: Codes, reference: str | None) -> Iterator[Statistic]:
        """The levels' own values, and their differences."""
        occurring, positions = self._placed(codes)
        levels = [next(iter(where.values())) for where in occurring]
        if reference is not None and reference not in levels:
            raise UnknownColumn(reference, levels, where=f"reference[{name!r}]")
        against = None if reference is None else levels.index(reference)
        for outcome in self._each(positions, len(levels)):
            yield from self._compared(outcome, name, levels, against)

    def interaction(self, pair: tuple[str, str], codes: Codes) -> Iterator[Statistic]:
        """What a combination of two levels does beyond the two."""
        occurring, positions = self._placed(codes)
        first = list(dict.fromkeys(where[pair[0]] for where in occurring))
        second = list(dict.fromkeys(where[pair[1]] for where in occurring))
        if len(first) < 2 or len(second) < 2:
            return
        size = len(occurring)
        rows = np.array([first.index(where[pair[0]]) for where in occurring])
        cols = np.array([second.index(where[pair[1]]) for where in occurring])
        same_row, same_col = rows[:, None] == rows, cols[:, None] == cols
        contrast = np.eye(size) - same_row / same_row.sum(1) - same_col / same_col.sum(1) + 1 / size
        whole = size == len(first) * len(second)
        for outcome in self._each(positions, size):
            why = None if whole and outcome.known.all() else "a combination of levels is missing"
            statistic = _testing(self._said(outcome, "_interaction", f"{pair[0]} × {pair[1]}"), outcome)
            named = [_at(statistic, f"{where[pair[0]]} × {where[pair[1]]}") for where in occurring]
            yield from self._contrasts(named, outcome, contrast, why, together=True)

    def _placed(self, codes: Codes) -> tuple[list[dict[str, str]], NDArray[np.int64]]:
        """The levels that occur in the cell, and each place's among them (-1 where there is no answer)."""
        rows = self._cell.rows
        positions = np.where(rows >= 0, codes.codes[rows], -1)
        occurs = np.unique(positions[positions >= 0])
        table = np.full(len(codes.values) + 1, -1, np.int64)
        table[occurs] = np.arange(occurs.size)
        return [codes.values[index] for index in occurs], table[positions]

    def _sums(self, positions: NDArray[np.int64], levels: int, values: NDArray[Any]) -> Floats:
        """Σ of a value by item and level."""
        items = len(self._cell.items)
        there = positions >= 0
        at = (
            np.broadcast_to(np.arange(items)[:, None, None], positions.shape)[there] * levels
            + positions[there]
        )
        sums = np.bincount(at, values[there].astype(np.float64), minlength=items * levels)
        return np.asarray(sums.reshape(items, levels), np.float64)

    def _each(self, positions: NDArray[np.int64], levels: int) -> Iterator[_Outcome]:
        cell, judged = self._cell, self._judged
        there = (cell.codes >= 0) | cell.unanswered
        given, asked = (self._sums(positions, levels, part) for part in (cell.valid, there))
        yield _Outcome("compliance", Ratio(given, asked), _any(asked), True, "no answers")
        counted = self._sums(positions, levels, judged.asked)
        right = self._sums(positions, levels, judged.right)
        why = judged.reason or "no answers to items with a gold label"
        yield _Outcome("accuracy", Ratio(right, counted), _any(counted), True, why)
        yield _Outcome("f1", self._f1(positions, levels), _any(counted), True, why)
        if self._length is not None:
            known = np.isfinite(self._length)
            n = self._sums(positions, levels, known)
            total = self._sums(positions, levels, np.where(known, self._length, 0))
            yield _Outcome("length", Ratio(total, n), _any(n), False, "no lengths")

    def _f1(self, positions: NDArray[np.int64], levels: int) -> Weighted:
        cell, judged, size = self._cell, self._judged, len(self._cell.labels)
        gold = cell.gold_codes
        truth = np.broadcast_to(gold[:, None, None], cell.codes.shape).astype(np.int64)
        answer = cell.codes.astype(np.int64)
        parts = []
        for kept, label in (
            (judged.right, truth),
            (judged.asked & (answer >= 0), answer),
            (judged.asked, truth),
        ):
            at = np.where(kept & (positions >= 0), positions * size + label, -1)
            parts.append(self._sums(at, levels * size, kept))
        counts = np.stack(parts, 2).reshape(len(cell.items), levels, size, 3)
        each = [f1_statistic(counts[:, level]) for level in range(levels)]
        return lambda weights: np.stack([one(weights)[:, 0] for one in each], 1)

    def _said(self, outcome: _Outcome, kind: str, factor: str) -> Statistic:
        counted = outcome.name in ("accuracy", "f1")
        return Statistic(
            part=f"_{outcome.name}{kind}",
            method=f"{outcome.name} by factor level"
            + (f", unanswered {self._unanswered}" if counted else ""),
            where={"factor": factor},
            excluded=self._judged.excluded if counted else {},
            n=self._cell.units.count,
            warnings=self._unseen if outcome.name == "f1" else (),
            reason=outcome.reason,
        )

    def _compared(
        self, outcome: _Outcome, factor: str, levels: Sequence[str], against: int | None
    ) -> Iterator[Statistic]:
        statistics = [_at(self._said(outcome, "", factor), level) for level in levels]
        statistic = self._said(outcome, "_difference", factor)
        statistic = replace(
            statistic, details={"against": "the mean of the others" if against is None else levels[against]}
        )
        if len(levels) == 2:  # one test: without a reference the second row is the first from the other side
            statistic = _testing(statistic, outcome)
        apart = [_at(statistic, level) for level in levels]
        if len(levels) < 2:
            yield from self._contrasts(statistics, outcome, np.eye(1), None)
            yield from (replace(one, reason="one level") for one in apart)
            return
        rows = [index for index in range(len(levels)) if index != against]
        contrast = np.concatenate([np.eye(len(levels)), _against(against, len(levels))[rows]])
        # One bootstrap for both, since a level's own value is a contrast too.
        yield from self._contrasts([*statistics, *(apart[row] for row in rows)], outcome, contrast, None)

    def _contrasts(
        self,
        named: Sequence[Statistic],
        outcome: _Outcome,
        contrast: Floats,
        why: str | None,
        together: bool = False,
    ) -> Iterator[Statistic]:
        """The statistics of weighted sums of the levels, a row of weights each, apart or one test."""
        if why is not None or not outcome.known.any():
            yield from (replace(statistic, reason=why or outcome.reason) for statistic in named)
            return

        def under(weights: Floats) -> Floats:
            values = outcome.under(weights)
            known = np.isfinite(values)
            # A contrast is defined where all the levels that it uses are.
            lost = ~known @ (contrast != 0).T
            return np.asarray(np.where(lost, np.nan, np.where(known, values, 0) @ contrast.T))

        draws, resampled = self._cell.draws(under), self._cell.resampling.resamples > 0
        tested = together and resampled
        freedom = min(len(draws.jackknife) - 1, self._cell.units.freedom)
        whole = joint_p(draws.point, draws.covariance, freedom) if tested else None
        for column, (statistic, row) in enumerate(zip(named, contrast, strict=True)):
            details = dict(statistic.details) | ({} if whole is None else {"p": whole})
            difference = abs(row.sum()) < 0.5  # a level's own value sums to one
            low = 0.0 if (row >= 0).all() else -1.0
            yield replace(
                statistic,
                under=under,
                column=column,
                details=details,
                null=0.0 if difference and whole is None else None,
                ends=(low, 1.0) if outcome.bounded else None,
            )


def _at(statistic: Statistic, level: str) -> Statistic:
    return replace(statistic, where={**statistic.where, "level": level})


def _testing(statistic: Statistic, outcome: _Outcome) -> Statistic:
    """With the name of the hypothesis that it shares with others."""
    hypothesis = f"no effect of {statistic.where['factor']} on {outcome.name}"
    return replace(statistic, details={**statistic.details, "hypothesis": hypothesis})


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
