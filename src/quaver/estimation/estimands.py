"""What an interval holds for: these prompts, the mean over prompts like these, or the next prompt.

A measure's value is the same whatever it is to speak of. What differs is the interval. With ``"fixed"``
prompts, items alone are resampled. An interval for the ``"population"`` of prompts adds what the prompts
contribute to the variance,

    V = V_items + V_prompts,   V_prompts = (Q − 1) / Q · Σ_q (T₋q − mean)²,

with T₋q the measure without prompt q, of Q prompts. This two-way jackknife counts the interaction of items and
prompts twice, and so errs on the wide side. The degrees of freedom are Satterthwaite's, of m − 1 for the items
and Q − 1 for the prompts, and from both comes the interval of `intervals.effective`.

An interval for the ``"next"`` prompt is one of prediction. Where the number is a mean over prompts it takes
V_items + (Q + 1) V_prompts, since one prompt's own value varies Q times as much as the mean of Q does. Where
it is one that a set of prompts has (how far they agree, say) it takes V_items + 2 V_prompts, and is for the
next set of as many.

Sources: Efron & Stein (1981), The jackknife estimate of variance, Annals of Statistics 9, 586-596; crossed
units: Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1, 386-411, section 3; degrees of
freedom: Satterthwaite (1946), Biometrics Bulletin 2, 110-114.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, Final, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import AND_PROMPT, Estimand, Estimate
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cell import Cell
from quaver.estimation.column_roles import ColumnReader, Columns
from quaver.estimation.encoding import Codes, combine, encode
from quaver.estimation.intervals import Kept, effective
from quaver.estimation.multiple_testing import adjusted
from quaver.estimation.reading import Reading

ESTIMANDS: Final[tuple[Estimand, ...]] = get_args(Estimand)

_MOST = 40
"""Of more prompts than this, random groups are left out."""

Again = Callable[[Reading], Iterable[Estimate]]
"""A measure, taken of a reading."""


def checked_estimand(asked: object, offered: Sequence[Estimand]) -> Estimand:
    """The estimand that is asked for; the first that is offered where none is.

    Raises:
        MeasureError: The measure does not offer it.
    """
    if asked is None:
        return offered[0]
    for one in offered:
        if asked == one:
            return one
    known = " or ".join(offered)
    raise MeasureError(
        "this measure does not offer the estimand", where="estimand", expected=known, found=repr(asked)
    )


def over_prompts(
    again: Again, reading: Reading, *, estimand: Estimand, asked: bool, of_a_set: bool
) -> list[Estimate]:
    """A measure's estimates, with intervals that hold for an estimand.

    Args:
        again: The measure.
        reading: What it is taken of.
        estimand: What the intervals are to hold for.
        asked: Whether the user asked for it: an interval that cannot be had is then none. By default it is
            the one for these prompts.
        of_a_set: Whether the number is one that a set of prompts has, and no mean over prompts.
    """
    prompts = _Prompts(reading)
    if estimand == "fixed" or not reading.resampling.resamples:
        found = [prompts.counted(one) for one in again(reading)]
        return found if estimand == "fixed" else [_named(one, estimand, of_a_set) for one in found]
    whole = replace(reading, keep=reading.keep | {"draws"}, cuts={})
    found = [prompts.counted(one) for one in again(whole)]
    without = _Without(again, whole, prompts)
    made = [
        one
        if one.value is None or one.estimand == estimand
        else _Crossed(one, without.values(one), prompts, estimand, of_a_set).estimate(asked=asked)
        for one in found
    ]
    if "draws" not in reading.keep:
        made = [replace(one, draws=None) for one in made]
    families = groupby(made, key=prompts.key)
    return [one for _, some in families for one in _readjusted(list(some))]


def prompt_columns(frame: pl.DataFrame, columns: Columns | None) -> tuple[str, ...]:
    """The columns whose combinations are the prompts: those in the role ``prompt``, else ``variant``."""
    named = dict(columns or {})
    return ColumnReader(frame, named).of("prompt" if "prompt" in named else "variant")


class _Prompts:
    """The prompts of each cell of a reading, in the parts that are left out in turn."""

    def __init__(self, reading: Reading) -> None:
        self._columns, self._by = reading.columns, tuple(reading.by)
        self.columns = prompt_columns(reading.frame, reading.columns)
        self._known: dict[int, tuple[pl.DataFrame, Codes]] = {}
        self._parts: dict[tuple[str, ...], dict[str, int]] = {}
        frame = reading.frame
        cells = combine([(name, encode(frame[name], name)) for name in self._by], frame.height)
        asked = self._of(frame)
        if not self.columns or not frame.height:
            return
        pairs = np.unique(cells.codes * len(asked.values) + asked.codes)
        for place in np.unique(pairs // len(asked.values)).tolist():
            own = pairs[pairs // len(asked.values) == place] % len(asked.values)
            names = [_name(asked.values[index]) for index in own.tolist()]
            key = tuple(cells.values[place].values())
            self._parts[key] = dict(zip(names, _parted(len(names), reading.resampling.seed), strict=True))

    def key(self, of: Estimate | Cell) -> tuple[str, ...] | None:
        """The cell that an estimate belongs to; None where it belongs to no single one."""
        where: Mapping[str, str] = of.where if isinstance(of, Cell) else of.cell
        return tuple(where[name] for name in self._by) if set(self._by) <= set(where) else None

    def names(self, of: Estimate) -> Mapping[str, int]:
        """The prompts behind an estimate, each with the part that it is left out in."""
        key = self.key(of)
        if key is None or not self.columns:
            return {}
        found = self._parts.get(key, {})
        if set(self.columns) <= set(of.cell):  # it is about one of them
            return {name: 0 for name in [_name({n: of.cell[n] for n in self.columns})] if name in found}
        return found

    def counted(self, one: Estimate) -> Estimate:
        """The estimate with the number of its prompts in the details."""
        count = len(self.names(one))
        return replace(one, details={**one.details, "prompts": count}) if count else one

    def parts(self) -> int:
        """How many parts there are, in the cell that has most."""
        return max((max(of.values()) + 1 for of in self._parts.values() if len(of) > 1), default=0)

    def without(self, part: int, cell: Cell, frame: pl.DataFrame) -> Cell | None:
        """A cell without some of its prompts; None where it has no such part, or none would be left."""
        known = self._parts.get(self.key(cell) or (), {})
        if len(known) < 2 or part not in known.values():
            return None
        codes = self._of(frame)
        leaves = np.array([known.get(_name(value), -1) == part for value in codes.values] + [False])
        of = np.append(codes.codes, -1)  # a place without an annotation is of row -1
        return _lacking(cell, leaves[of[cell.rows]])

    def _of(self, frame: pl.DataFrame) -> Codes:
        """Each row's prompt."""
        if id(frame) not in self._known:
            encoded = [(name, encode(frame[name], name)) for name in self.columns]
            self._known[id(frame)] = frame, combine(encoded, frame.height)
        return self._known[id(frame)][1]


def _name(value: Mapping[str, str]) -> str:
    return "\x1f".join(value.values())


def _parted(prompts: int, seed: int) -> list[int]:
    """The part of each prompt: its own, or where there are many, one of as many random ones."""
    if prompts <= _MOST:
        return list(range(prompts))
    order = np.random.default_rng(derive(seed, "prompts")).permutation(prompts)
    return [int(place) * _MOST // prompts for place in np.argsort(order)]


def _lacking(cell: Cell, gone: NDArray[np.bool_]) -> Cell:
    """A cell without the annotations that are marked; strata and raters that have none left go too."""
    rows = np.where(gone, -1, cell.rows).astype(np.int32)
    there = rows >= 0
    strata, raters = np.flatnonzero(there.any((0, 2))), np.flatnonzero(there.any((0, 1)))

    def kept(values: NDArray[Any], nothing: Any) -> NDArray[Any]:
        return np.where(gone, nothing, values)[:, strata][:, :, raters].astype(values.dtype)

    return replace(
        cell,
        codes=kept(cell.codes, -1),
        unanswered=kept(cell.unanswered, False),
        undecided=kept(cell.undecided, False),
        rows=rows[:, strata][:, :, raters],
        numbers={role: kept(values, np.nan) for role, values in cell.numbers.items()},
        strata=tuple(cell.strata[index] for index in strata),
        raters=tuple(cell.raters[index] for index in raters),
    )


class _Without:
    """The values of a measure with each part of the prompts left out in turn."""

    def __init__(self, again: Again, whole: Reading, prompts: _Prompts) -> None:
        resampling = replace(whole.resampling, resamples=0)
        self._values: dict[tuple[str, tuple[tuple[str, str], ...]], list[float]] = {}
        for part in range(prompts.parts()):
            less = replace(
                whole,
                resampling=resampling,
                keep=frozenset(),
                estimand="fixed",
                without=partial(prompts.without, part),
            )
            for one in again(less):
                if one.value is not None:
                    self._values.setdefault(_key(one), []).append(one.value)

    def values(self, one: Estimate) -> Floats:
        """Those that are defined."""
        found = np.array(self._values.get(_key(one), []), np.float64)
        return found[np.isfinite(found)]


def _key(one: Estimate) -> tuple[str, tuple[tuple[str, str], ...]]:
    return one.measure, tuple(sorted(one.cell.items()))


def _named(one: Estimate, estimand: Estimand, of_a_set: bool) -> Estimate:
    """The estimate, saying what its interval holds for."""
    details = dict(one.details)
    if estimand == "next":
        details["next_prompts"] = details.get("prompts", 1) if of_a_set else 1
    return replace(one, estimand=estimand, unit=one.unit + AND_PROMPT, details=details)


class _Crossed:
    """An estimate over items and prompts."""

    def __init__(
        self, one: Estimate, left: Floats, prompts: _Prompts, estimand: Estimand, of_a_set: bool
    ) -> None:
        self._one, self._left = one, left
        self._count = len(prompts.names(one))
        self._estimand, self._of_a_set = estimand, of_a_set
        self._kept: Kept | None = one.draws

    def estimate(self, *, asked: bool) -> Estimate:
        """It, with its interval; where there can be none, without or with the one for these prompts."""
        why = self._why_not()
        if why is None:
            return self._with_interval()
        if not asked:
            return replace(self._one, warnings=(*self._one.warnings, f"{why}: the interval is for these"))
        bare = replace(_named(self._one, self._estimand, self._of_a_set), low=None, high=None)
        return replace(bare, warnings=(*bare.warnings, f"{why}: there is no interval for others"))

    def _why_not(self) -> str | None:
        """Why there is no interval for others than these prompts."""
        if self._count == 0:
            return "its prompts are not known"
        if self._count == 1:
            return "one prompt says nothing of others"
        if self._left.size < 2:
            return (
                f"without one of its {self._count} prompts this is not defined, so they say nothing of others"
            )
        return None if self._kept is not None else "this measure gives no variance"

    def _with_interval(self) -> Estimate:
        one, kept, left = self._one, self._kept, self._left
        assert kept is not None
        assert one.value is not None
        parts = left.size
        prompts = (parts - 1) / parts * float(((left - left.mean()) ** 2).sum())
        times = 1 if self._estimand == "population" else 2 if self._of_a_set else self._count + 1
        items = kept.variance if np.isfinite(kept.variance) else 0.0
        details = {
            **one.details,
            "standard_error_items": items**0.5,
            "standard_error_prompts": prompts**0.5,
            "fixed": None if one.low is None else (one.low, one.high),
        }
        named = _named(replace(one, details=details), self._estimand, self._of_a_set)
        variance = items + times * prompts
        if not variance > (1e-12 * max(1.0, abs(one.value))) ** 2:
            return named
        freedom = _satterthwaite([(items, kept.freedom), (times * prompts, parts - 1)])
        low, high = effective(one.value, variance, freedom, one.confidence_level, kept.ends)
        ends = [end for end in (one.low, one.high, one.value) if end is not None]
        said = one.method if one.low is None else one.method.rpartition("; ")[0]
        how = f"jackknife interval over {kept.units.count} {kept.units.name}s and {self._count} prompts"
        named = replace(named, low=min(low, *ends), high=max(high, *ends), method=f"{said}; {how}")
        details = {**named.details, "standard_error": variance**0.5, "freedom": freedom}
        if "p" in details:
            details["p"] = _t_test(
                one.value, items + prompts, _satterthwaite([(items, kept.freedom), (prompts, parts - 1)])
            )
            details["test"] = "t test over items and prompts"
        return replace(named, details=details)


def _satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """The degrees of freedom of a sum of variances, each with its own.

    >>> round(_satterthwaite([(1.0, 10), (1.0, 10)]), 6)
    20.0
    """
    known = [(variance, freedom) for variance, freedom in parts if variance > 0]
    below = sum(variance**2 / max(freedom, 1.0) for variance, freedom in known)
    return sum(variance for variance, _ in known) ** 2 / below if below > 0 else float("inf")


def _t_test(value: float, variance: float, freedom: float) -> float:
    """The two-sided p value of a difference of zero."""
    return (
        float(2 * special.stdtr(freedom, -abs(value) / variance**0.5)) if variance > 0 else float(value == 0)
    )


def _readjusted(family: list[Estimate]) -> list[Estimate]:
    """The estimates of a cell, with p values that are adjusted anew where these were."""
    return adjusted(family) if any("p_holm" in one.details for one in family) else family
