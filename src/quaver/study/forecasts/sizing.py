"""How many items, paraphrases and repeats an interval of a width takes: before a study, or after a pilot."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
import polars as pl

from quaver.core.records import Estimand, Estimate
from quaver.core.rows import Rows, defined, presented
from quaver.errors import MeasureError
from quaver.estimation.declaration import Measure
from quaver.study.sources.study_plugins import Measurement

_Z = 1.96
_ALPHA = 0.8
_SPREAD = 0.05
_FEWEST_ITEMS = 10
"""Fewest items from which the width is estimated: of fewer the spread is known to a factor of about two."""
_LEAST = 4
"""Fewest paraphrases or repeats from which their own spread is estimated."""
_LEFT_OUT = 20
"""Parts that are left out in turn, at most."""
_RANGES = (
    "In brackets is what it may take: the stored answers show the spread only so well (95%, as if it were "
    "that of a normal distribution). Each number is for one thing alone, all else being as it is in these "
    "answers."
)
_SHARES = frozenset(["f1"])
_FACETS = {"variant": "paraphrases", "repeat": "repeats"}


@dataclass(frozen=True, slots=True)
class Need:
    """How many of one thing it takes, all else being as it is.

    Attributes:
        what: ``items``, ``paraphrases`` or ``repeats``.
        number: How many; None where it cannot be said.
        why: What this rests on, in words.
        between: What the number may be, since the stored answers show the spread only so well; None where
            it rests on assumptions, or is not known.
    """

    what: str
    number: int | None
    why: str
    between: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Sizing(Rows):
    """What an interval of a given width takes.

    Attributes:
        measure: Of which measure.
        width: Of a 95% interval, from end to end.
        rests_on: Assumptions, or the answers that are stored.
        needs: Each by itself.
    """

    measure: str
    width: float
    rests_on: str
    needs: tuple[Need, ...]

    def __str__(self) -> str:
        """A line for each."""
        lines = [f"A 95% interval of {self.measure} that is {self.width:g} wide takes ({self.rests_on}):"]
        for need in self.needs:
            number = "not known" if need.number is None else f"{need.number:,}"
            ends = f" ({need.between[0]:,} to {need.between[1]:,})" if need.between else ""
            lines.append(f"  {need.what}: {number}{ends}. {need.why}")
        if any(need.between for need in self.needs):
            lines.append(_RANGES)
        return "\n".join(lines)

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """A row for each need: what, how many, between which numbers, and why."""
        return [
            {
                "measure": self.measure,
                "width": self.width,
                "what": need.what,
                "number": need.number,
                "least": need.between[0] if need.between else None,
                "most": need.between[1] if need.between else None,
                "why": need.why,
            }
            for need in self.needs
        ]


def _checked_width(width: float) -> float:
    """A width that an interval may have; else a `MeasureError`."""
    if not 0 < width < 2:
        raise MeasureError(
            "not a width of an interval", where="width", expected="above 0, below 2", found=repr(width)
        )
    return width


def assumed_width(items: int) -> float:
    """The width of a 95% interval of a share, from end to end, in the widest case: 2 · 1.96 √(0.25 / n).

    >>> round(assumed_width(385), 2)
    0.1
    """
    return 2 * _Z * sqrt(0.25 / max(1, items))


def assumed_sizes(measure: str, width: float, labels: int) -> Sizing:
    """What it takes before anything is answered, from assumptions that are stated.

    Of a share (accuracy and the like): the widest case, half of the items right, and an item's answers all
    alike, so that n = 0.25 (2 · 1.96 / width)². Of an alpha: a true alpha of 0.8, labels equally frequent,
    and an item's answers all alike or all different, so that the items' disagreement is D = 0.2 (1 − 1/L)
    in the mean and has variance D (1 − D), and alpha's standard error is √(D (1 − D) / n) / (1 − 1/L).

    >>> [(need.what, need.number) for need in assumed_sizes("accuracy", 0.1, 2).needs]
    [('items', 385), ('paraphrases', 4), ('repeats', 1)]
    >>> assumed_sizes("inter_pss", 0.1, 2).needs[0].number  # 0.1 × 0.9 / 0.25 × (2 × 1.96 / 0.1)²
    554
    """
    steps = (2 * _Z / _checked_width(width)) ** 2
    paraphrases = Need(
        "paraphrases",
        max(2, _up(_SPREAD**2 * steps)),
        "To speak of paraphrases in general: taking results to vary between them by a standard deviation "
        f"of {_SPREAD}. A pilot replaces this guess.",
    )
    shown = presented(measure)
    unit = shown.unit if shown else "share" if measure in _SHARES else ""
    if unit == "share":
        why = "The widest case: half of the items right, all answers about an item alike. No more is needed."
        items = Need("items", _up(0.25 * steps), why)
        repeats = Need(
            "repeats", 1, "In that case repeats add nothing; they are needed to measure stability."
        )
        return Sizing(measure, width, "before a pilot, from assumptions", (items, paraphrases, repeats))
    if unit == "coefficient" or measure.endswith("_agreement"):
        chance = 1 - 1 / max(2, labels)
        apart = (1 - _ALPHA) * chance
        why = (
            f"At a true alpha of {_ALPHA}, {labels} labels equally frequent, and an item’s answers all "
            "alike or all different."
        )
        items = Need("items", _up(apart * (1 - apart) / chance**2 * steps), why)
        repeats = Need(
            "repeats", 2, "Two are the fewest that can agree; more narrow the interval, a pilot says how."
        )
        return Sizing(measure, width, "before a pilot, from assumptions", (items, paraphrases, repeats))
    unknown = Need(
        "items", None, "Without a pilot there is no rule for this measure; ask about 50 items first."
    )
    return Sizing(measure, width, "before a pilot", (unknown,))


def measured_sizes(measurement: Measurement, frame: pl.DataFrame, width: float) -> Sizing:
    """What it takes by the stored answers, of the cell whose interval is widest.

    Items, or groups of items where these are resampled: the interval of the stored answers, which narrows
    with the root of their number. Paraphrases and repeats: the jackknife's standard error, leaving one out
    at a time, over those that are stored, which narrows alike. Each is what it takes by itself, the others
    being as they are, with a range: the spread of k things is known as a variance with k − 1 degrees of
    freedom is, from (k − 1)/χ²(0.975) to (k − 1)/χ²(0.025) of it. Not known: of fewer than 10 items or 4
    paraphrases or repeats, and where the answers do not vary, so that the interval is a bound that says
    nothing of the spread.
    """
    _checked_width(width)
    estimates = _with_intervals(measurement, frame, "fixed")
    on = f"by {frame.height:,} stored annotations"
    if not estimates:
        why = "The stored answers give no interval: ask about more items first."
        return Sizing(measurement.measure, width, on, (Need("items", None, why),))
    widest = max(estimates, key=_width)
    cell = ", ".join(f"{column} {level}" for column, level in widest.cell.items()) or "the whole study"
    now = _width(widest)
    units = "items" if widest.unit == "item" else "groups"
    what = "items" if widest.unit == "item" else f"groups of items ({widest.unit})"
    why = (
        f"{widest.n:,} give {now:.3f} ({cell}, the widest of {len(estimates)}); the width goes with "
        f"1/√{units}."
    )
    if widest.n < _FEWEST_ITEMS:
        why = f"{widest.n:,} are answered ({cell}); {_FEWEST_ITEMS} or more show how they differ."
        items = Need(what, None, why)
    elif widest.details.get("differing") == 0:
        why = f"All {widest.n:,} are alike ({cell}), and say nothing of how {units} differ: ask about more."
        items = Need(what, None, why)
    else:
        items = _estimated(what, widest.n * (now / width) ** 2, widest.n, why, least=2)
    paraphrases = _of_prompts(measurement, frame, widest, width)
    repeats = _left_out(measurement, frame, widest, "repeat", width)
    return Sizing(measurement.measure, width, on, (items, paraphrases, repeats))


def _with_intervals(measurement: Measurement, frame: pl.DataFrame, estimand: Estimand) -> list[Estimate]:
    """The estimates with an interval of this estimand; where the measure does not offer it, of its own."""
    plugin = measurement.plugin
    offered = isinstance(plugin, Measure) and estimand in plugin.estimands
    estimates = measurement.of(frame, estimand=estimand) if offered else measurement.of(frame)
    return [estimate for estimate in defined(estimates) if estimate.low is not None]


def _of_prompts(measurement: Measurement, frame: pl.DataFrame, widest: Estimate, width: float) -> Need:
    """How many paraphrases, by what prompts contribute to the variance for others like them."""
    for estimate in _with_intervals(measurement, frame, "population"):
        seen, error = estimate.details.get("prompts", 0), estimate.details.get("standard_error_prompts")
        if (estimate.measure, estimate.cell, estimate.estimand) != (
            widest.measure,
            widest.cell,
            "population",
        ):
            continue
        if error is None or error < 1e-9 or seen < _LEAST:
            break
        why = (
            f"{seen} are stored; for prompts like these they leave ± {_Z * error:.3f}, which goes with "
            "1/√paraphrases."
        )
        return _estimated("paraphrases", seen * (2 * _Z * error / width) ** 2, seen, why, least=1)
    return _left_out(measurement, frame, widest, "variant", width)


def _left_out(
    measurement: Measurement, frame: pl.DataFrame, widest: Estimate, column: str, width: float
) -> Need:
    """How many paraphrases or repeats, by the jackknife over those that are stored."""
    what = _FACETS[column]
    if column in widest.cell:
        return Need(what, 1, f"Each is a cell of its own: the interval is of one {what.removesuffix('s')}.")
    levels = frame[column].unique().cast(pl.String).sort().to_list()
    if len(levels) < _LEAST:
        return Need(
            what, None, f"{len(levels)} in the stored answers: {_LEAST} or more show how they differ."
        )
    groups = [levels[index::_LEFT_OUT] for index in range(min(_LEFT_OUT, len(levels)))]
    values = []
    for group in groups:
        part = frame.filter(~pl.col(column).cast(pl.String).is_in(group))
        values += [
            estimate.value
            for estimate in measurement.of(part, resamples=0)
            if estimate.value is not None
            and estimate.measure == widest.measure
            and estimate.cell == widest.cell
        ]
    if len(values) < _LEAST:
        return Need(what, None, "The measure cannot be taken with some of them left out.")
    g = len(values)
    error = sqrt((g - 1) / g * float(((np.array(values) - np.mean(values)) ** 2).sum()))
    if error < 1e-9:
        why = f"Leaving out the {len(levels)} that are stored in turn changes nothing"
        return Need(what, None, f"{why}, which says nothing of how {what} in general differ.")
    why = (
        f"{len(levels)} are stored; leaving them out in turn gives ± {_Z * error:.3f} over {what} in "
        f"general, which goes with 1/√{what}."
    )
    return _estimated(what, len(levels) * (2 * _Z * error / width) ** 2, g, why, least=1)


def _estimated(what: str, number: float, seen: int, why: str, *, least: int) -> Need:
    """A number that goes with a variance, of which ``seen`` things are known, with its range."""
    from scipy import special

    low, high = ((seen - 1) / special.chdtri(seen - 1, above) for above in (0.025, 0.975))
    ends = (max(least, _up(number * float(low))), max(least, _up(number * float(high))))
    return Need(what, max(least, _up(number)), why, ends)


def _up(number: float) -> int:
    return ceil(round(number, 6))


def _width(estimate: Estimate) -> float:
    return (estimate.high or 0.0) - (estimate.low or 0.0)
