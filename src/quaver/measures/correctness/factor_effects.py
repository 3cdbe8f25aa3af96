"""What each level of a factor does: to compliance, accuracy and F1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from quaver.core.annotations import ANNOTATION_COLUMNS, EVIDENCE_COLUMNS, SERVED
from quaver.core.records import Estimate
from quaver.estimation.cells import Missing
from quaver.estimation.coded_columns import Columns, Combined, Gathered, UnknownColumn
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import adjusted
from quaver.estimation.jackknife import Floats, Ratio, Weighted
from quaver.estimation.measure_input import Judged, MeasureInput, column_for, judge, treatment
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
    played = {column for v in (columns or {}).values() for column in ((v,) if isinstance(v, str) else v)}
    ours = {*ANNOTATION_COLUMNS, *EVIDENCE_COLUMNS, *SERVED, "prompt_tokens", "raw", "token"}
    left = {*ours, *played, *without}
    variant = column_for(gathered, "variant", columns)
    candidates = [
        name
        for name, kind in gathered.schema.items()
        if name not in left and not kind.is_nested() and kind != pl.Object
    ]
    factors: list[str] = []
    if variant is not None and candidates and gathered.height:
        key = ("factors", variant, tuple(candidates))
        factors = gathered.kept(key, lambda: _varied(gathered, variant, candidates))
    if factors:
        return tuple(factors)
    roles = [column_for(gathered, role, columns) for role in ("variant", "decoding", "model")]
    named = [n for n in roles if n is not None and n not in without]
    return tuple(n for n in named if gathered[n].n_unique() > 1)[:1]


def _varied(gathered: Gathered, variant: str, candidates: Sequence[str]) -> list[str]:
    """The columns that vary, and have one value in all rows of a variant."""
    rows = gathered.read([variant, *candidates])
    frame = rows.group_by(variant).agg(pl.col(candidates).n_unique())
    return [n for n in candidates if frame[n].max() == 1 and rows[n].n_unique() > 1]


@measure(
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
    missing: Missing,
) -> Iterator[Estimate]:
    """The outcomes of each level of a factor, and their differences.

    Outcomes: ``compliance`` (share of valid answers), ``accuracy``, and ``f1`` (macro). For each factor and
    level, ``factor_effects_<outcome>`` is the level's own value over all its answers, and
    ``factor_effects_<outcome>_difference`` this value less the reference level's, or less the mean of the
    other levels'. All rest on the same items, so differences are paired. In the details, ``p`` tests a
    difference (`intervals.level_of`); ``p_holm`` controls the familywise error over all of a cell's tests;
    ``hypothesis`` names a test that two rows share, ``comparisons`` counts them. Intervals are not adjusted.
    Without a reference, two levels are one test. Undefined: a level without answers, the difference of one
    level, accuracy and F1 without gold labels. For interactions of factors, see `mixed_effects`.

    Args:
        factors: The factors' columns; by default those of the variants (see `factors_of`).
        reference: A factor's reference level, by factor.

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
    if factors is None:
        group = [data.group] if data.group else []
        factors = factors_of(data.gathered, columns=data.columns, without=[*data.by, *group])
    factors = (factors,) if isinstance(factors, str) else tuple(factors)
    for name in factors:
        if name not in data.gathered.columns:
            raise UnknownColumn(name, data.gathered.columns, where="factors")
    codes, references = {name: data.gathered.together(name) for name in factors}, reference or {}
    for cell in data.cells(raters=ASKING, gold=True):
        if not factors or not cell.items:
            why = "no factor" if cell.items else "no annotations"
            yield cell.estimated(Statistic(method="outcomes by factor level", source="", n=0, reason=why))
            continue
        judged = judge(cell, missing)
        yield from adjusted(
            [
                cell.estimated(statistic)
                for name in factors
                for statistic in _of_factor(cell, judged, name, codes[name], references.get(name), missing)
            ]
        )


def _of_factor(
    cell: Cell, judged: Judged, factor: str, codes: Combined, reference: str | None, missing: Missing
) -> Iterator[Statistic]:
    """Each outcome at each level of a factor, and the differences between levels."""
    there = np.where(cell.rows >= 0, codes.codes[cell.rows], -1)
    occurring = np.unique(there[there >= 0])
    levels = [next(iter(codes.values[code].values())) for code in occurring]
    if reference is not None and reference not in levels:
        raise UnknownColumn(reference, levels, where=f"reference[{factor!r}]")
    place = np.where(there >= 0, np.searchsorted(occurring, there), -1)
    contrasts = _differences(levels, reference)
    for outcome, under, why in _outcomes(cell, judged, place, len(levels)):
        plain = Statistic(
            part=f"_{outcome}",
            method=f"{outcome} by factor level",
            under=under,
            n=cell.units.count,
            ends=(0.0, 1.0),
            reason=why,
        )
        if outcome != "compliance":
            method = f"{plain.method}, unanswered {treatment(missing)}"
            plain = replace(plain, method=method, excluded=judged.excluded)
        if outcome == "f1":
            gold = cell.gold_codes[judged.asked.any((1, 2))].tolist()
            weighed = {*cell.expected, *np.unique(cell.codes[judged.asked]).tolist()} - {-1}
            plain = replace(plain, warnings=() if cell.gold is None or weighed <= {*gold} else (UNSEEN,))
        for row, level in enumerate(levels):
            yield replace(plain, column=row, where={"factor": factor, "level": level})
        details = {"against": "the mean of the others" if reference is None else reference}
        if len(levels) == 2:  # one test: without a reference the second row is the first from the other side
            details["hypothesis"] = f"no effect of {factor} on {outcome}"
        apart = replace(plain, part=f"_{outcome}_difference", details=details, ends=(-1.0, 1.0), null=0.0)
        if len(levels) < 2:
            apart = replace(apart, under=None, reason="one level")
        elif under is not None:
            apart = replace(apart, under=_contrasted(under, contrasts))
        for row, level in enumerate(levels):
            if level != reference:
                yield replace(apart, column=row, where={"factor": factor, "level": level})


def _differences(levels: Sequence[str], reference: str | None) -> Floats:
    """The contrasts of each level with the reference, or with the mean of the others."""
    count = len(levels)
    if reference is None:
        return np.where(np.eye(count) == 1, 1.0, -1 / max(1, count - 1))
    contrast = np.eye(count)
    contrast[:, levels.index(reference)] -= 1
    return contrast


def _contrasted(under: Weighted, contrasts: Floats) -> Weighted:
    """The contrasts of a function's numbers; a contrast needs all the levels that it uses."""

    def contrasted(weights: Floats) -> Floats:
        values = under(weights)
        defined = np.isfinite(values)
        lost = ~defined @ (contrasts != 0).T
        return np.where(lost, np.nan, np.where(defined, values, 0) @ contrasts.T)

    return contrasted


def _outcomes(
    cell: Cell, judged: Judged, place: np.ndarray, levels: int
) -> Iterator[tuple[str, Weighted | None, str]]:
    """Each outcome's name, its values by level (None where there are none), and why there are none."""
    items, size = np.arange(len(cell.items))[:, None, None], len(cell.labels)

    def sums(kept: np.ndarray, label: np.ndarray | None = None) -> Floats:
        """How many answers are kept, by item and level (and label)."""
        labels, code = (1, np.int64(0)) if label is None else (size, label)
        counted = kept & (place >= 0) & (np.asarray(code) >= 0)
        index = (items * levels + place) * labels + code
        counts = np.bincount(index[counted], minlength=len(items) * levels * labels).astype(np.float64)
        return counts.reshape(len(items), levels, *(() if label is None else (size,)))

    asked = sums((cell.codes >= 0) | cell.unanswered)
    yield "compliance", Ratio(sums(cell.valid), asked) if asked.any() else None, "no answers"
    counted, why = sums(judged.asked), judged.reason or "no answers to items with a gold label"
    if not counted.any():
        yield from ((outcome, None, why) for outcome in ("accuracy", "f1"))
        return
    yield "accuracy", Ratio(sums(judged.right), counted), why
    truth, answer = cell.gold_codes[:, None, None], cell.codes.astype(np.int64)
    parts = (judged.right, truth), (judged.asked, answer), (judged.asked, truth)
    by_label = np.stack([sums(kept, label) for kept, label in parts], 3)
    each = [f1_statistic(by_label[:, level]) for level in range(levels)]
    yield "f1", lambda weights: np.stack([score(weights)[:, 0] for score in each], 1), why
