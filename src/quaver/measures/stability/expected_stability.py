"""Stability before repeating: the intra-prompt score that repeats would give, from one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from quaver.core.records import Decoding, Estimate, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats, Resampling, bootstrap
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing, cells, checked, frame_of
from quaver.estimation.column_roles import Columns
from quaver.estimation.confidences import arranged, column_for, numbers_of
from quaver.estimation.intervals import Claim, estimate, mean_within, undefined
from quaver.estimation.means import over_strata
from quaver.estimation.measure_protocol import Frame
from quaver.measures.stability.expected_alpha import expected_alpha

__all__ = ["CONDITIONS", "expected_intra_pss"]

_REFERENCE = (
    "Krippendorff's alpha (Krippendorff 2019, Content Analysis, ch. 12) of K independent draws an item: "
    "ratio of the expected observed and expected disagreement"
)

_SUM = 1e-3
"""How far a row's probabilities may be from a sum of 1."""

CONDITIONS = (
    "the answer is one token",
    "the log-probabilities are the model's own, before temperature",
    "no top-p, top-k or min-p cut, and no repeat penalty",
)
"""What the formula takes for granted and no annotation frame shows; ``details["conditions"]`` repeats it."""


def expected_intra_pss(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    repeats: int = 10,
    temperature: float | None = None,
    decoding: Decoding | None = None,
    missing: Literal["drop", "category"] = "drop",
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """The intra-prompt stability that repeats at a temperature would show, from stored label probabilities.

    See `expected_alpha.expected_alpha`; within each condition (model × variant × decoding), averaged over a
    cell's. The probabilities of an item's several repeats are averaged: they are of one prompt. Nominal
    labels only.

    ``probabilities`` are the model's own (T = 1), merged over spellings and normalised over the labels: at
    another temperature they are tempered after merging, which is exact where each label has one spelling,
    and a warning says so; `expected_alpha.tempered` does it before, from tokens. With
    ``missing="category"`` no label is one more label, of probability 1 − ``mass_coverage``; since the rest of
    the vocabulary is not stored token by token, that is undefined unless T is 1. A planned ``decoding`` is
    checked for cuts; a ``label_coverage`` below 1 is warned of; what cannot be checked here is in
    ``details["conditions"]``.

    Undefined where there are no probabilities, fewer than two items, or no variation. The interval resamples
    items; how far one sample of repeats strays from its expectation is not in it.

    Source: Barrie, Palaiologou & Törnberg (2024), arXiv:2407.02039; alpha: Krippendorff (2019), Content
    Analysis, 4th ed., ch. 12.

    Args:
        annotations: A row an annotation, with ``probabilities``; see `Measure`.
        labels: The label set, of as many labels as there are probabilities.
        by: Columns that make the cells.
        confidence: Nominal level.
        resamples: Bootstrap resamples.
        seed: Root seed.
        repeats: How many repeats are planned, two or more.
        temperature: At which they are to be drawn, above 0; by default the decoding's, or 1.
        decoding: How they are to be drawn, if that is known: one that cuts or bends the distribution
            leaves the estimate undefined.
        missing: ``"drop"`` or ``"category"``.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        interval: Which interval is given.

    Returns:
        An estimate for each cell.

    Raises:
        MeasureError: The frame or an option cannot be used; probabilities are negative or do not sum to 1.

    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "probabilities": [[0.5, 0.5]] * 2})
    >>> expected_intra_pss(frame, repeats=2, resamples=0)[0].value
    0.0
    """
    if temperature is None:
        temperature = decoding.temperature if decoding else 1.0
    _checked(repeats, temperature, missing)
    cut = _cuts(decoding)
    resampling = Resampling(confidence, resamples, seed, interval)
    frame = frame_of(annotations)
    parts = cells(
        annotations,
        raters=("repeat",),
        within=("model", "variant", "decoding"),
        by=by,
        labels=labels,
        columns=columns,
        group=group,
    )
    stored = _stored(frame, columns, labels)
    mass = numbers_of(frame, "mass_coverage", columns, within=(0.0, 1.0 + 1e-6))
    covered = numbers_of(frame, "label_coverage", columns)
    found = []
    for cell in parts:
        claim = Claim(
            "expected_intra_pss",
            f"expected Krippendorff's alpha of {repeats} repeats at temperature {temperature:g}, from label "
            "probabilities, mean over conditions",
            _REFERENCE,
            cell=cell.where,
            details={"repeats": repeats, "temperature": temperature, "conditions": list(CONDITIONS)},
        )
        if cut:
            found.append(undefined(replace(claim, n=0), cell.units, resampling, cut))
            continue
        part = arranged(covered, cell)
        if partly := int((part < 1 - 1e-9).sum()):
            text = f"{partly} answers had labels that were not among the likeliest tokens: these count as 0"
            claim = replace(claim, warnings=(text,))
        given = None if stored is None else _given(cell, stored, mass, temperature, missing)
        found.append(_expected(claim, cell, given, repeats, temperature, missing, resampling))
    return found


def _cuts(decoding: Decoding | None) -> str | None:
    """Why the formula does not hold for a decoding; None where it does."""
    if decoding is None:
        return None
    whole = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
    given = {name: getattr(decoding, name) for name in whole}
    bent = [f"{name} {given[name]:g}" for name, value in whole.items() if given[name] != value]
    return f"the decoding cuts or bends the distribution: {', '.join(bent)}" if bent else None


def _checked(repeats: int, temperature: float, missing: Missing) -> None:
    if not isinstance(repeats, (int, np.integer)) or repeats < 2:
        raise MeasureError(
            "not a number of repeats", where="repeats", expected="2 or more", found=repr(repeats)
        )
    if not temperature > 0 or not np.isfinite(temperature):
        raise MeasureError(
            "not a temperature at which answers differ",
            where="temperature",
            expected="a number above 0",
            found=repr(temperature),
        )
    checked(missing, ("drop", "category"))


def _stored(frame: pl.DataFrame, columns: Columns | None, labels: LabelSet | None) -> Floats | None:
    """The probabilities, shape (rows, labels), NaN where there are none; None where no row has any."""
    name = column_for(frame, "probabilities", columns)
    if name is None or frame[name].dtype == pl.Null or frame[name].null_count() == frame.height:
        return None
    column, where = frame[name], f"annotations[{name!r}]"
    kind = column.dtype
    if not isinstance(kind, (pl.List, pl.Array)) or not kind.inner.is_numeric():
        raise MeasureError(
            "a column that holds no lists of numbers",
            where=where,
            expected="a list of probabilities a row",
            found=str(kind),
        )
    column = column.cast(pl.List(pl.Float64))
    known = column.is_not_null().to_numpy()
    sizes = column.list.len().drop_nulls().unique().to_list()
    wanted = len(labels.labels) if labels else sizes[0]
    if sizes != [wanted]:
        raise MeasureError(
            "lists of several lengths" if len(sizes) > 1 else "not one probability a label",
            where=where,
            expected=f"{wanted} in every row",
            found=", ".join(str(size) for size in sorted(sizes)),
        )
    values = column.drop_nulls().explode().to_numpy().reshape(-1, wanted)
    wrong = ~((values >= 0).all(1) & (np.abs(values.sum(1) - 1) <= _SUM))
    if wrong.any():
        row = int(np.flatnonzero(known)[int(np.argmax(wrong))])
        raise MeasureError(
            "probabilities that do not sum to 1",
            where=where,
            expected="numbers from 0 that sum to 1",
            found=f"{', '.join(f'{p:g}' for p in values[wrong][0])} in row {row}",
        )
    found = np.full((frame.height, wanted), np.nan)
    found[known] = values / values.sum(1, keepdims=True)
    return found


class _Given(NamedTuple):
    """Label probabilities by item and condition, shape (items, strata, labels); NaN for none."""

    probabilities: Floats
    without: int


def _given(
    cell: Cell, stored: Floats, mass: Floats | None, temperature: float, missing: str
) -> _Given | None:
    rows = cell.rows
    there = (rows >= 0)[..., None]
    values = np.where(there, stored[rows], np.nan)
    if temperature != 1:
        values = values ** (1 / temperature)
        values = values / values.sum(-1, keepdims=True)
    if missing == "category":
        if mass is None or temperature != 1:
            return None
        covered = np.minimum(arranged(mass, cell), 1.0)[..., None]
        values = np.concatenate([values * covered, 1 - covered], -1)
    known = np.asarray(np.isfinite(values).all(-1))
    count = known.sum(2)
    total = np.where(known[..., None], values, 0).sum(2)
    mean = np.where(count[..., None] > 0, total / np.maximum(count, 1)[..., None], np.nan)
    return _Given(np.asarray(mean), int((there[..., 0] & ~known).sum()))


def _expected(
    claim: Claim,
    cell: Cell,
    given: _Given | None,
    repeats: int,
    temperature: float,
    missing: str,
    resampling: Resampling,
) -> Estimate:
    units = cell.units
    if given is None:
        why = "no probabilities"
        if missing == "category":
            why = (
                "the rest of the vocabulary is not stored, which tempering needs"
                if temperature != 1
                else "no probabilities, or no mass_coverage to tell an answer without a label"
            )
        return undefined(replace(claim, n=0), units, resampling, "no annotations" if not cell.items else why)
    known = np.asarray(np.isfinite(given.probabilities).all(2))
    asked = np.asarray(known.any(1))
    claim = replace(
        claim,
        n=units.touched(asked),
        excluded={"without probabilities": given.without} if given.without else {},
    )
    several = known.sum(0) > 1
    if not several.any():
        why = "fewer than two items with probabilities" if asked.any() else "no probabilities"
        return undefined(claim, units, resampling, why)
    statistic = over_strata(expected_alpha(given.probabilities[:, several], repeats))
    draws = bootstrap(statistic, units, resampling)
    warnings = list(claim.warnings)
    if temperature != 1:
        warnings.append(
            "probabilities were tempered after the spellings of a label were merged: exact only where each "
            "label has one spelling"
        )
    value = float(draws.point[0])
    claim = replace(
        claim,
        reason="no variation",
        warnings=tuple(warnings),
        spread=partial(mean_within, value, low=-1.0, high=1.0),
    )
    return estimate(claim, draws, units, resampling)
