"""Stability before repeating: the intra-prompt score that repeats would give, from one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from quaver.agreement.disagreement import over_values
from quaver.agreement.stratified_alpha import rarest_labels
from quaver.core.records import Decoding, Estimate
from quaver.errors import MeasureError
from quaver.estimation.answer_grid import label_counts
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.cells import Missing
from quaver.estimation.confidences import arranged
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import over_strata
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Statistic, enough_groups
from quaver.measures.stability.expected_alpha import expected_alpha, sampling_variance
from quaver.measures.stability.prompt_stability import CONDITION

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


@measure(
    section="stability",
    unit="coefficient",
    better="higher",
    source=_REFERENCE,
    missing=("drop", "category"),
)
def expected_intra_pss(
    reading: Reading,
    *,
    repeats: int = 10,
    temperature: float | None = None,
    decoding: Decoding | None = None,
    missing: Missing,
) -> Iterator[Estimate]:
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

    Undefined where there are no probabilities, fewer than two items, or no variation. The interval is over
    items like these. ``details["sampled"]`` is where one sample of repeats about these very
    items would lie with the same probability (`expected_alpha.sampling_variance`).

    Args:
        repeats: How many repeats are planned, two or more.
        temperature: At which they are to be drawn, above 0; by default the decoding's, or 1.
        decoding: How they are to be drawn, if that is known: one that cuts or bends the distribution
            leaves the estimate undefined.
        missing: ``"drop"`` or ``"category"``.

    Raises:
        MeasureError: The frame or an option cannot be used; probabilities are negative or do not sum to 1.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2], "label": list("ab"), "probabilities": [[0.5, 0.5]] * 2})
    >>> expected_intra_pss(frame, repeats=2, resamples=0)[0].value
    0.0
    """
    temperature = _checked(repeats, temperature, decoding)
    said = Statistic(
        method=f"expected Krippendorff's alpha of {repeats} repeats at temperature {temperature:g}, from "
        "label probabilities, mean over conditions",
        reason=_cuts(decoding),
        details={"repeats": repeats, "temperature": temperature, "conditions": list(CONDITIONS)},
    )
    cells = reading.cells(raters=("repeat",), within=CONDITION)
    stored, mass = _stored(reading), reading.numbers("mass_coverage", within=(0.0, 1.0 + 1e-6))
    covered = reading.numbers("label_coverage")
    for cell in cells:
        if said.reason:
            yield cell.estimated(replace(said, n=0))
            continue
        partly = int((arranged(covered, cell) < 1 - 1e-9).sum())
        warning = f"{partly} answers had labels that were not among the likeliest tokens: these count as 0"
        own = replace(said, warnings=(warning,)) if partly else said
        given = None if stored is None else _given(cell, stored, mass, temperature, missing)
        yield cell.estimated(_expected(own, cell, given, repeats, temperature, missing))


def _cuts(decoding: Decoding | None) -> str | None:
    """Why the formula does not hold for a decoding; None where it does."""
    if decoding is None:
        return None
    whole = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
    given = {name: getattr(decoding, name) for name in whole}
    bent = [f"{name} {given[name]:g}" for name, value in whole.items() if given[name] != value]
    return f"the decoding cuts or bends the distribution: {', '.join(bent)}" if bent else None


def _checked(repeats: int, temperature: float | None, decoding: Decoding | None) -> float:
    """The temperature at which the repeats are to be drawn."""
    if temperature is None:
        temperature = decoding.temperature if decoding else 1.0
    if repeats < 2:
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
    return temperature


def _stored(reading: Reading) -> Floats | None:
    """The probabilities, shape (rows, labels), NaN where there are none; None where no row has any."""
    gathered, labels, name = reading.gathered, reading.labels, reading.column("probabilities")
    if name is None or gathered.schema[name] == pl.Null:
        return None
    kind, where = gathered.schema[name], f"annotations[{name!r}]"
    lists = isinstance(kind, (pl.List, pl.Array)) and kind.inner.is_numeric()
    found, sizes, row = np.empty((0, 0)), set[int](), 0
    for column in gathered.pieces(name):
        known = column.is_not_null().to_numpy()
        if known.any() and not lists:
            raise MeasureError(
                "a column that holds no lists of numbers",
                where=where,
                expected="a list of probabilities a row",
                found=str(kind),
            )
        if known.any():
            column = column.cast(pl.List(pl.Float64))
            sizes.update(column.list.len().drop_nulls().unique().to_list())
            wanted = len(labels.labels) if labels else found.shape[1] or min(sizes)
            if not found.size:
                found = np.full((gathered.height, wanted), np.nan)
            if sizes == {wanted}:
                found[row : row + known.size][known] = _summing_to_1(column, known, wanted, where, row)
        row += column.len()
    if sizes and sizes != {found.shape[1]}:
        raise MeasureError(
            "lists of several lengths" if len(sizes) > 1 else "not one probability a label",
            where=where,
            expected=f"{found.shape[1]} in every row",
            found=", ".join(str(size) for size in sorted(sizes)),
        )
    return found if sizes else None


def _summing_to_1(
    column: pl.Series, known: NDArray[np.bool_], wanted: int, where: str, before: int
) -> Floats:
    """The probabilities of the rows that have any, so many rows before them."""
    values = column.drop_nulls().explode().to_numpy().reshape(-1, wanted)
    total = over_values(values)
    wrong, below = ~(np.abs(total - 1) <= _SUM), values < 0
    if below.any():
        wrong |= below.any(1)
    if wrong.any():
        row = before + int(np.flatnonzero(known)[int(np.argmax(wrong))])
        raise MeasureError(
            "probabilities that do not sum to 1",
            where=where,
            expected="numbers from 0 that sum to 1",
            found=f"{', '.join(f'{p:g}' for p in values[wrong][0])} in row {row}",
        )
    return np.asarray(values / total[:, None])


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
        values = values / over_values(values)[..., None]
    if missing == "category":
        if mass is None or temperature != 1:
            return None
        covered = np.minimum(arranged(mass, cell), 1.0)[..., None]
        values = np.concatenate([values * covered, 1 - covered], -1)
    known = np.isfinite(over_values(values))
    count = known.sum(2)
    total = np.where(known[..., None], values, 0).sum(2)
    mean = np.where(count[..., None] > 0, total / np.maximum(count, 1)[..., None], np.nan)
    return _Given(np.asarray(mean), int((there[..., 0] & ~known).sum()))


def _without(temperature: float, missing: Missing) -> str:
    """Why there is nothing to estimate where the probabilities that are needed are not stored."""
    if missing == "drop":
        return "no probabilities"
    if temperature != 1:
        return "the rest of the vocabulary is not stored, which tempering needs"
    return "no probabilities, or no mass_coverage to tell an answer without a label"


def _expected(
    said: Statistic, cell: Cell, given: _Given | None, repeats: int, temperature: float, missing: Missing
) -> Statistic:
    """The expected alpha of a cell."""
    if given is None:
        why = _without(temperature, missing) if cell.items else "no annotations"
        return replace(said, n=0, reason=why)
    known = np.isfinite(over_values(given.probabilities))
    asked = np.asarray(known.any(1))
    said = replace(
        said,
        n=cell.units.touched(asked),
        excluded={"without probabilities": given.without} if given.without else {},
    )
    several = known.sum(0) > 1
    if not several.any():
        few = "fewer than two items with probabilities"
        return replace(said, reason=few if asked.any() else "no probabilities")
    if temperature != 1:
        warning = (
            "probabilities were tempered after the spellings of a label were merged: exact only where each "
            "label has one spelling"
        )
        said = replace(said, warnings=(*said.warnings, warning))
    probabilities = given.probabilities[:, several]
    under = over_strata(expected_alpha(probabilities, repeats))
    value, variances = float(cell.draws(under).point[0]), sampling_variance(probabilities, repeats)
    if np.isfinite(value):
        sampled = _sampled(value, variances[np.isfinite(variances)], cell.resampling.tail)
        said = replace(said, details={**said.details, "sampled": sampled})
    likeliest = np.where(np.isfinite(probabilities).all(2), np.nan_to_num(probabilities).argmax(2), -1)
    return replace(
        said,
        under=under,
        rarest=rarest_labels(label_counts(likeliest, probabilities.shape[2]), cell.units),
        least_rare_groups=enough_groups(cell.units),
        reason="no variation",
        ends=(-1.0, 1.0),
        spread=partial(mean_within, low=-1.0),
    )


def _sampled(value: float, variances: Floats, tail: float) -> tuple[float, float]:
    """Where the mean over conditions of sampled alphas lies, from the variance of each."""
    half = -float(special.ndtri(tail)) * float(variances.sum()) ** 0.5 / variances.size
    return max(-1.0, value - half), min(1.0, value + half)
