"""Stability before repeating: the intra-prompt score that repeats would give, from one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from quaver.estimation.bootstrap import Floats, Weighted
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.encoding import label_counts
from quaver.estimation.intervals import mean_within
from quaver.estimation.means import over_strata
from quaver.estimation.measure_input import MeasureInput, arranged
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.stability.prompt_stability import CONDITION


def tempered(
    logprobs: Mapping[str, float], spells: Mapping[str, str], temperature: float
) -> tuple[dict[str, float], float]:
    """Label probabilities at a temperature, from the log-probabilities of an answer's first token.

    Each token's probability becomes p^(1/T) / Σ p^(1/T) over all tokens given, and the spellings of a label
    are added after that: adding them first gives another number, unless T is 1. The sum is right only if
    ``logprobs`` holds the whole vocabulary, or at T ≤ 1 all that matters of it.

    Returns:
        The labels' probabilities, which need not sum to 1, and the rest: the probability of no label.

    Two spellings of 0.25 and another label of 0.5 are even at T = 1, and 0.125 to 0.25 at T = ½:

    >>> from math import log
    >>> tokens = {"yes": log(0.25), "Yes": log(0.25), "no": log(0.5)}
    >>> label = {"yes": "y", "Yes": "y", "no": "n"}
    >>> {k: round(v, 6) for k, v in tempered(tokens, label, 1.0)[0].items()}
    {'y': 0.5, 'n': 0.5}
    >>> {k: round(v, 6) for k, v in tempered(tokens, label, 0.5)[0].items()}
    {'y': 0.333333, 'n': 0.666667}
    """
    values = np.array(list(logprobs.values()), np.float64)
    if not temperature > 0 or not np.isfinite(temperature):
        raise MeasureError(
            "not a temperature", where="temperature", expected="a number above 0", found=repr(temperature)
        )
    if not values.size or np.isnan(values).any() or (values > 1e-9).any():
        raise MeasureError(
            "not log-probabilities", where="logprobs", expected="numbers up to 0", found=repr(logprobs)[:60]
        )
    scaled = np.exp((values - values.max()) / temperature)
    shares = scaled / scaled.sum()
    found: dict[str, float] = {}
    for token, share in zip(logprobs, shares.tolist(), strict=True):
        if token in spells:
            found[spells[token]] = found.get(spells[token], 0.0) + share
    return found, max(0.0, 1.0 - sum(found.values()))


def expected_alpha(probabilities: Floats, repeats: int) -> Weighted:
    """Nominal alpha of ``repeats`` independent draws an item, as a function of item weights.

    With p_uc the probability of label c for item u and d_u = 1 − Σ_c p_uc², N items and n = K·N values: the
    expected observed disagreement is D_o = Σ_u d_u / N. Two values of one item (K(K − 1) ordered pairs)
    differ with probability d_u, two of different items u, v (K² pairs) with 1 − Σ_c p_uc·p_vc, so that
    D_e = [K²·(N² − Σ_c (Σ_u p_uc)²) − K·Σ_u d_u] / (n(n − 1)). Alpha is 1 − D_o / D_e: the mean of sampled
    alphas but for terms of order 1/N.

    Returns:
        A function to values of shape (samples, strata); NaN where there is no variation, or one item.

    Two items, one sure of a, one sure of b: alpha is 1. Both at even odds, K = 2: D_o = ½; of 12 ordered
    pairs, 4 within items and 8 across, half differ, so alpha is 0:

    >>> ones = np.ones((1, 2))
    >>> float(expected_alpha(np.eye(2), 2)(ones)[0, 0])
    1.0
    >>> float(expected_alpha(np.full((2, 2), 0.5), 2)(ones)[0, 0])
    0.0
    """
    known = np.isfinite(over_values(probabilities))
    shares = np.where(known[..., None], probabilities, 0.0)
    flat = shares.reshape(len(shares), -1)
    known = known.reshape(len(shares), -1)
    differ = np.where(known, 1 - over_values(shares**2).reshape(known.shape), 0.0)
    given = known.astype(np.float64)

    def statistic(weights: Floats) -> Floats:
        items, within = weights @ given, weights @ differ
        totals = (weights @ flat).reshape(*items.shape, -1)
        # All pairs as if independent, less the K of an item that are one value with itself.
        pairs = repeats**2 * (items**2 - over_values(totals**2)) - repeats * within
        n = repeats * items
        small = 1e-12 * np.maximum(n, 1) ** 2
        observed = within / np.where(items > 0, items, 1)
        expected = pairs / np.where(n > 1, n * (n - 1), 1)
        # One item has no expectation across items.
        defined = (pairs > small) & (items > 1)
        return np.asarray(np.where(defined, 1 - observed / np.where(defined, expected, 1), np.nan))

    return statistic


def sampling_variance(probabilities: Floats, repeats: int) -> Floats:
    """How much the alpha of ``repeats`` draws an item varies, the items staying the same.

    By the delta method: with A the share of pairs of draws about an item that agree, P_c the labels' shares
    and D_e = 1 − Σ P_c², dα = dA / D_e − 2·(1 − A) / D_e²·Σ P_c dP_c. An item's part of A is a U-statistic
    (Hoeffding 1948, Annals of Mathematical Statistics 19, 293-325), whose variance is
    [4(K − 2)·ζ₁ + 2·ζ₂] / (K(K − 1)), ζ₁ = Σ p³ − (Σ p²)² and ζ₂ = Σ p²·(1 − Σ p²).

    Returns:
        A variance each stratum; NaN where alpha is undefined.

    Items of which the label is sure have nothing to vary:

    >>> sampling_variance(np.eye(2)[:, None], 5).tolist()
    [0.0]
    """
    known = np.isfinite(over_values(probabilities))
    p = np.where(known[..., None], probabilities, 0.0)
    items, k = known.sum(0), repeats
    shares = p.sum(0) / np.maximum(items, 1)[:, None]
    squares = p**2
    square, cube = over_values(squares), over_values(squares * p)
    apart = 1 - (shares**2).sum(-1)
    agree = square.sum(0) / np.maximum(items, 1)
    first, second = cube - square**2, square * (1 - square)
    pairs = (4 * (k - 2) * first + 2 * second) / (k * (k - 1))
    mean = over_values(p * shares)
    of_shares = (over_values(p * shares**2) - mean**2) / k
    both = 2 * (over_values(squares * shares) - square * mean) / k
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = 2 * (1 - agree) / apart**2
        each = (pairs / apart**2 - 2 * slope / apart * both + slope**2 * of_shares).sum(0)
        return np.asarray(np.where((apart > 1e-12) & (items > 1), each / items**2, np.nan))


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
    data: MeasureInput,
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
    statistic = Statistic(
        method=f"expected Krippendorff's alpha of {repeats} repeats at temperature {temperature:g}, from "
        "label probabilities, mean over conditions",
        reason=_cuts(decoding),
        details={"repeats": repeats, "temperature": temperature, "conditions": list(CONDITIONS)},
    )
    cells = data.cells(raters=("repeat",), within=CONDITION)
    stored, mass = _stored(data), data.numbers("mass_coverage", within=(0.0, 1.0 + 1e-6))
    covered = data.numbers("label_coverage")
    for cell in cells:
        if statistic.reason:
            yield cell.estimated(replace(statistic, n=0))
            continue
        partly = int((arranged(covered, cell) < 1 - 1e-9).sum())
        warning = f"{partly} answers had labels that were not among the likeliest tokens: these count as 0"
        own = replace(statistic, warnings=(warning,)) if partly else statistic
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


def _stored(data: MeasureInput) -> Floats | None:
    """The probabilities, shape (rows, labels), NaN where there are none; None where no row has any."""
    gathered, labels, name = data.gathered, data.labels, data.column("probabilities")
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
    statistic: Statistic, cell: Cell, given: _Given | None, repeats: int, temperature: float, missing: Missing
) -> Statistic:
    """The expected alpha of a cell."""
    if given is None:
        why = _without(temperature, missing) if cell.items else "no annotations"
        return replace(statistic, n=0, reason=why)
    known = np.isfinite(over_values(given.probabilities))
    asked = np.asarray(known.any(1))
    statistic = replace(
        statistic,
        n=cell.units.touched(asked),
        excluded={"without probabilities": given.without} if given.without else {},
    )
    several = known.sum(0) > 1
    if not several.any():
        few = "fewer than two items with probabilities"
        return replace(statistic, reason=few if asked.any() else "no probabilities")
    if temperature != 1:
        warning = (
            "probabilities were tempered after the spellings of a label were merged: exact only where each "
            "label has one spelling"
        )
        statistic = replace(statistic, warnings=(*statistic.warnings, warning))
    probabilities = given.probabilities[:, several]
    under = over_strata(expected_alpha(probabilities, repeats))
    value, variances = float(cell.draws(under).point[0]), sampling_variance(probabilities, repeats)
    if np.isfinite(value):
        sampled = _sampled(value, variances[np.isfinite(variances)], cell.resampling.tail)
        statistic = replace(statistic, details={**statistic.details, "sampled": sampled})
    likeliest = np.where(np.isfinite(probabilities).all(2), np.nan_to_num(probabilities).argmax(2), -1)
    return replace(
        statistic,
        under=under,
        rarest=rarest_labels(label_counts(likeliest, probabilities.shape[2]), cell.units),
        many_groups=True,
        reason="no variation",
        ends=(-1.0, 1.0),
        spread=partial(mean_within, low=-1.0),
    )


def _sampled(value: float, variances: Floats, tail: float) -> tuple[float, float]:
    """Where the mean over conditions of sampled alphas lies, from the variance of each."""
    half = -float(special.ndtri(tail)) * float(variances.sum()) ** 0.5 / variances.size
    return max(-1.0, value - half), min(1.0, value + half)
