"""What an interval holds for: these prompts, or the mean over prompts like these.

A measure's value is the same whatever it is to speak of. What differs is the interval. With ``"fixed"``
prompts, it is over items alone. An interval for the ``"population"`` of prompts adds the prompts' variance,

    V_prompts = (Q − 1) / Q · Σ_q (T₋q − mean)²,

with T₋q the measure without prompt q, of Q prompts. Items and prompts each have an interval of their own,
the prompts' by `intervals.effective` with Q − 1 degrees of freedom, and the ends' distances from the value
add in squares, as independent errors do (Zou & Donner 2008). One variance for both, with Satterthwaite's
degrees of freedom, is too sure of itself where few prompts happen to be alike.

Leaving a prompt out shows the interaction of items and prompts too, which is in the items' interval already.
V_prompts is therefore less by the interaction as the same jackknife estimates it, with a group of items and a
prompt left out at once, down to half of it at least, or 1.5/Q of it where a set has the number. Without this
it errs on the wide side: a little where the number is a mean over prompts, and by half where it is how far
prompts agree and they are all alike.

Prompts like these are prompts of the kinds that were tried. Of Q prompts that work, the jackknife sees no
trace of a seventh that do not, and no interval from their answers could: they are the answers of a study in
which every prompt works. So beside the interval stands how many prompts may be of a kind not tried,
1 − α^(1/Q), and for a mean within a range an interval that holds whatever these do.

Few prompts do not show how skewed they are: where a few of all are much worse than the others, and none of
those was tried, Student's interval lies beside the mean more often than it says, and nothing in the answers
tells. So the interval takes prompts to be as skewed as an exponential distribution, γ = 2, towards where the
range leaves room: with γ = 2w, the end on that side is 1 + γ t / (3 √Q) times as far away, which is Johnson's
correction without the part that would bring the other end nearer. From two thirds of the range on, w is 1 for
the lower end and 0 for the upper; up to one third, the other way round; in between, and of a number without a
range, both ends have their part.

``docs/measures-agreement.md`` says how often these intervals cover what they claim, by simulation.

Sources: Efron & Stein (1981), The jackknife estimate of variance, Annals of Statistics 9, 586-596; crossed
units: Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1, 386-411, section 3; intervals of
sums: Zou & Donner (2008), Statistics in Medicine 27, 1693-1702; skewed prompts: Johnson (1978), Modified t
tests and confidence intervals for asymmetrical populations, Journal of the ASA 73, 536-544.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from quaver.core.records import AND_PROMPT, Estimand, Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.cells import ColumnReader
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.intervals import Interval, Kept, adjusted, effective, level_of
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Keep

_ROUGH = 4
"""Of fewer prompts, a set's interval is flagged: those that happen to be alike show nothing of others."""

_LEAST_LEVEL = 1e-4
"""Below this level an interval is the value, for the purpose of a p value."""

_MANY_UNITS = 20_000
"""Of no more units than this, the interaction is taken out."""
_FLOOR = 0.5
_FLOOR_OF_A_SET = 1.5
"""What is left of the prompts' variance at least when the interaction is taken out; of a set, over Q."""

_SKEWNESS = 2.0
"""How skewed prompts may be without showing it: as an exponential distribution."""

_PARTS = 40
"""Of more prompts than this, random groups are left out."""
_GROUPS = 40
"""Of more units than this, random groups are taken together: they show an interaction as well."""

ORIGINAL = "original"


def in_every_group(annotations: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The annotations with the original's counted in each combination of ``by`` that has paraphrases.

    A paraphraser's paraphrases have a temperature, the original has none: it is the same at all of them,
    and one of the set at each. So are its rows here, once for every value that it lacks.

    >>> rows = {"original": [True, False, False], "heat": [None, 0.5, 1.0], "label": list("abc")}
    >>> frame = pl.DataFrame(rows)
    >>> in_every_group(frame, ["heat"]).rows()
    [(False, 0.5, 'b'), (False, 1.0, 'c'), (True, 0.5, 'a'), (True, 1.0, 'a')]
    """
    if ORIGINAL not in annotations.columns or annotations[ORIGINAL].dtype != pl.Boolean:
        return annotations
    expression = pl.col(ORIGINAL).fill_null(value=False)
    originals = annotations.filter(expression)
    lacking = []
    for name in by:
        if name in annotations.columns and originals.height and originals[name].is_null().all():
            lacking.append(name)
    groups = annotations.filter(~expression).select(lacking).drop_nulls().unique(maintain_order=True)
    if not lacking or groups.is_empty():
        return annotations
    shared = originals.drop(lacking).join(groups, how="cross").select(annotations.columns)
    return pl.concat([annotations.filter(~expression), shared])


_Key = tuple[str, tuple[tuple[str, str], ...]]

Again = Callable[[MeasureInput], Iterable[Estimate]]
"""A measure, taken of a reading."""


def checked_estimand(asked: object, offered: Sequence[Estimand]) -> Estimand:
    """The estimand that is asked for; the first that is offered where none is."""
    if asked is None:
        return offered[0]
    if asked not in offered:
        known, found = " or ".join(offered), repr(asked)
        raise MeasureError(
            "this measure does not offer the estimand", where="estimand", expected=known, found=found
        )
    return offered[offered.index(asked)]


def over_prompts(
    again: Again, data: MeasureInput, *, estimand: Estimand, asked: bool, of_a_set: bool
) -> list[Estimate]:
    """A measure's estimates, with intervals that hold for an estimand."""
    plain = estimand == "fixed" or not data.resampling.resamples
    estimates = list(again(data if plain else replace(data, keep=data.keep | {"draws"})))
    prompts = _Prompts(data)  # after the measure has refused what cannot be read
    estimates = [prompts.counted(estimate) for estimate in estimates]
    if plain:
        made = estimates if estimand == "fixed" else [_named(estimate, estimand) for estimate in estimates]
        return [_scoped(estimate) for estimate in made]
    crossed = max((estimate.n for estimate in estimates), default=0) <= _MANY_UNITS
    several = any(len(prompts.names(estimate)) > 1 for estimate in estimates)
    whole, left = _left_out(again, data, prompts, crossed=crossed) if several else ({}, {})
    made = []
    for estimate in estimates:
        if estimate.value is None or estimate.unit == "row":  # single labels say nothing of other prompts
            pass
        elif estimate.estimand == estimand:
            estimate = _named(estimate, estimand)  # the measure has made the interval itself
        else:
            names, key = prompts.names(estimate), _key(estimate)
            others = left.get(key, [])
            estimate = _crossed(estimate, names, others, whole.get(key), estimand, of_a_set, asked=asked)
        made.append(estimate if "draws" in data.keep else replace(estimate, draws=None))
    families = groupby(made, key=prompts.key)
    return [_scoped(estimate) for _, some in families for estimate in _readjusted(list(some))]


def _scoped(estimate: Estimate) -> Estimate:
    """The estimate whose method says what its interval holds for; of one prompt, its cell does."""
    if estimate.low is None or estimate.details.get("prompts", 1) == 1:
        return estimate
    return replace(estimate, method=f"{estimate.method}, {estimate.scope}")


def _named(estimate: Estimate, estimand: Estimand) -> Estimate:
    """The estimate, saying what its interval holds for."""
    return replace(estimate, estimand=estimand, unit=estimate.unit + AND_PROMPT)


def _key(estimate: Estimate) -> _Key:
    return estimate.measure, tuple(sorted(estimate.cell.items()))


class _Prompts:
    """The prompts of each cell of a reading, in the parts that are left out in turn."""

    def __init__(self, data: MeasureInput) -> None:
        gathered, named = data.gathered, dict(data.columns or {})
        self._by, self._gathered = tuple(data.by), gathered
        self._columns = ColumnReader(gathered, named).of("prompt" if "prompt" in named else "variant")
        self._cells, self._prompts = gathered.together(*self._by), gathered.together(*self._columns)
        self._part = np.full((len(self._cells.values), len(self._prompts.values)), -1, np.int16)
        self._names: dict[tuple[str, ...], dict[str, int]] = {}
        if not self._columns or not gathered.height:
            return
        self._part[self._cells.codes, self._prompts.codes] = 0
        for where, own in zip(self._cells.values, self._part, strict=True):
            places = np.flatnonzero(own == 0)
            own[places] = np.arange(places.size)
            if places.size > _PARTS:
                rng = np.random.default_rng(derive(data.resampling.seed, "prompts"))
                own[places] = np.argsort(rng.permutation(places.size)) * _PARTS // places.size
            names = {_name(self._prompts.values[place]): int(own[place]) for place in places.tolist()}
            self._names[tuple(where.values())] = names

    def key(self, estimate: Estimate) -> tuple[str, ...] | None:
        """The cell that an estimate belongs to; None where it belongs to no single one."""
        there = set(self._by) <= set(estimate.cell)
        return tuple(estimate.cell[name] for name in self._by) if there else None

    def names(self, estimate: Estimate) -> Mapping[str, int]:
        """The prompts behind an estimate, each with the part that it is left out in."""
        names = self._names.get(self.key(estimate) or (), {}) if self.key(estimate) is not None else {}
        if self._columns and set(self._columns) <= set(estimate.cell):  # it is about one of them
            one = _name({name: estimate.cell[name] for name in self._columns})
            return {one: 0} if one in names else {}
        return names

    def counted(self, estimate: Estimate) -> Estimate:
        """The estimate with the number of its prompts in the details."""
        count = len(self.names(estimate))
        return replace(estimate, details={**estimate.details, "prompts": count}) if count else estimate

    def without_one(self) -> Iterable[Gathered]:
        """The annotations without a part of the prompts, of the cells that have it and others besides."""
        most = self._part.max(1, initial=-1)[self._cells.codes]
        part = self._part[self._cells.codes, self._prompts.codes]
        for gone in range(int(most.max(initial=-1)) + 1):
            yield self._gathered.rows((part != gone) & (most >= max(gone, 1)))


def _name(value: Mapping[str, str]) -> str:
    return "\x1f".join(value.values())


def _left_out(
    again: Again, data: MeasureInput, prompts: _Prompts, *, crossed: bool
) -> tuple[dict[_Key, Estimate], dict[_Key, list[Estimate]]]:
    """A measure with each part of the prompts left out in turn; and whole, where items are left out besides.

    Items are left out in few random groups: enough to see how items and prompts interact.
    """
    once = replace(data.resampling, resamples=int(crossed), groups=_GROUPS)
    keep: frozenset[Keep] = frozenset({"draws"} if crossed else ())
    base = replace(data, resampling=once, keep=keep, estimand="fixed", is_retaken=True)
    whole = {_key(estimate): estimate for estimate in again(base)} if crossed else {}
    left: dict[_Key, list[Estimate]] = {}
    for part in prompts.without_one():
        for estimate in again(replace(base, gathered=part)):
            if estimate.value is not None and np.isfinite(estimate.value):
                left.setdefault(_key(estimate), []).append(estimate)
    return whole, left


def _variance(left: Sequence[Estimate], whole: Estimate | None, of_a_set: bool) -> tuple[float, int]:
    """The variance that prompts contribute, NaN of fewer than two parts, and from how many it is taken.

    A prompt that the estimate is not about, one of another level of a factor say, does not count.
    """
    about = [other for other in left if whole is None or not _same(other, whole)]
    left = about if len(about) > 1 else left
    parts = len(left)
    if parts < 2:
        return float("nan"), parts
    values = np.array([other.value for other in left], np.float64)
    variance = (parts - 1) / parts * float(((values - values.mean()) ** 2).sum())
    kept = [other.draws for other in left if other.draws is not None]
    if len(kept) < parts or len({(one.units.items, len(one.jackknife)) for one in kept}) > 1:
        return variance, parts  # other items are left out with one prompt than with another
    both = np.stack([one.jackknife for one in kept])
    both = both[:, np.isfinite(both).all(0)]
    groups = both.shape[1]
    if groups < 2:
        return variance, parts
    apart = both - both.mean(1, keepdims=True) - both.mean(0) + both.mean()
    interaction = (parts - 1) / parts * (groups - 1) / groups * float((apart**2).sum())
    least = _FLOOR_OF_A_SET / max(parts, 3) if of_a_set else _FLOOR
    return max(variance * least, variance - interaction), parts


def _same(estimate: Estimate, other: Estimate) -> bool:
    """Whether two estimates are alike with every group of items left out: they are of the same answers."""
    if estimate.draws is None or other.draws is None or estimate.value != other.value:
        return False
    return bool(np.array_equal(estimate.draws.jackknife, other.draws.jackknife, equal_nan=True))


def _crossed(
    estimate: Estimate,
    names: Mapping[str, int],
    left: Sequence[Estimate],
    whole: Estimate | None,
    estimand: Estimand,
    of_a_set: bool,
    *,
    asked: bool,
) -> Estimate:
    """An estimate with its interval over items and prompts; where there can be none, without or as it was."""
    (variance, parts), count, needed = _variance(left, whole, of_a_set), len(names), len(set(names.values()))
    if len(left) == max(2, needed):  # those that it is about
        count = round(count * parts / len(left))
    why = ""
    if count == 0:
        why = "its prompts are not known"
    elif count == 1:
        why = "one prompt says nothing of others"
    elif len(left) < max(2, needed):  # it rests on a prompt of which there is one
        why = f"without one of its {count} prompts this is not defined, so they say nothing of others"
    elif estimate.draws is None or estimate.low is None:
        why = "these prompts have no interval themselves"
    if not why:
        return _with_interval(estimate, variance, parts, count, estimand, of_a_set)
    if not asked:
        return replace(estimate, warnings=(*estimate.warnings, f"{why}: the interval is for these"))
    tested = {name: one for name, one in estimate.details.items() if name not in ("p", "p_holm")}
    warnings = (*estimate.warnings, f"{why}: there is no interval for others")
    return _named(replace(estimate, low=None, high=None, details=tested, warnings=warnings), estimand)


def _with_interval(
    estimate: Estimate, variance: float, parts: int, count: int, estimand: Estimand, of_a_set: bool
) -> Estimate:
    """An estimate whose interval is over items and prompts."""
    point, kept = estimate.number, estimate.draws
    assert isinstance(kept, Kept)
    items = kept.variance if np.isfinite(kept.variance) else 0.0
    fixed, ends = Interval(estimate.low or 0.0, estimate.high or 0.0), kept.ends or (-np.inf, np.inf)
    both = partial(_over_both, kept, point, variance, parts)

    def at(level: float) -> Interval:
        """The interval for the mean over prompts, from the variance over items."""
        level = max(level, _LEAST_LEVEL)
        return both(effective(point, items, kept.freedom, level, kept.ends, kept.step), level)

    risk = 1 - estimate.confidence_level
    details = {
        **estimate.details,
        "standard_error_items": items**0.5,
        "standard_error_prompts": variance**0.5,
        "fixed": tuple(fixed),
        "untried_at_most": 1 - risk ** (1 / count),
    }
    if not of_a_set and np.isfinite(ends).all():
        some = 1 - (risk / 2) ** (1 / count)  # half of the risk is theirs, half the interval's
        known = np.array(at(1 - risk / 2))
        details["with_untried"] = tuple(((1 - some) * known + some * np.array(ends)).tolist())
    if "p" in details:
        details |= {"p": level_of(at, null=0.0), "test": "of the mean over prompts like these"}
    how = f"jackknife interval over {kept.units.count} {kept.units.name}s and {count} prompts"
    how = f"{how} (up to {details['untried_at_most']:.0%} of such prompts may be of a kind not tried)"
    warnings = estimate.warnings
    if of_a_set and count < _ROUGH:
        rough = IntervalWarning(
            f"{count} prompts hardly show how prompts differ: the interval for others may cover "
            "less often than its level says"
        )
        warnings = (*warnings, rough)
    low, high = both(fixed, estimate.confidence_level)
    method = f"{estimate.method.rpartition('; ')[0]}; {how}"
    made = replace(estimate, low=low, high=high, method=method, warnings=warnings, details=details)
    return _named(made, estimand)


def _over_both(
    kept: Kept, point: float, variance: float, parts: int, items: Interval, level: float
) -> Interval:
    """The interval over items and over prompts, whose ends' distances add in squares."""
    if not variance > (1e-12 * max(1.0, abs(point))) ** 2:
        return items
    least, most = kept.ends or (-np.inf, np.inf)
    place = (point - least) / (most - least) if np.isfinite([least, most]).all() else 0.5
    prompts = _apart(point, effective(point, variance, parts - 1, level, kept.ends, kept.step))
    further = np.array(reach(place, parts, level)) * prompts
    down, up = np.hypot(_apart(point, items), further).tolist()
    return Interval(max(point - down, min(least, items.low)), min(point + up, max(most, items.high)))


def _apart(point: float, interval: Interval) -> NDArray[np.float64]:
    """How far away the lower and the upper end are."""
    return np.maximum(0.0, [point - interval.low, interval.high - point])


def reach(place: float, prompts: int, level: float) -> tuple[float, float]:
    """How many times as far away the lower and the upper end are as those of prompts that are normal.

    Args:
        place: Where the number is in its range, from 0 to 1.
        prompts: How many were tried.
        level: The confidence level.

    Of five prompts (t = 2.776) whose mean is 0.9, the lower end is 1 + 2 · 2.776 / (3 √5) times as far away:

    >>> [round(times, 2) for times in reach(0.9, 5, 0.95)]
    [1.83, 1.0]
    """
    t = -float(scipy.special.stdtrit(prompts - 1, (1 - level) / 2))
    lower = min(1.0, max(0.0, 3 * place - 1))
    further = _SKEWNESS * t / (3 * prompts**0.5)
    return 1 + lower * further, 1 + (1 - lower) * further


def _readjusted(family: list[Estimate]) -> list[Estimate]:
    """The estimates of a cell, with p values that are adjusted anew where these were.

    Of several contrasts that are one hypothesis, the smallest p counts, times how many different ones there
    are (Bonferroni).
    """
    tested = [estimate for estimate in family if "p_holm" in estimate.details]
    if not any(estimate.estimand != "fixed" for estimate in tested):
        return family
    each: dict[object, set[float]] = {}
    for estimate in tested:
        each.setdefault(estimate.details.get("hypothesis", id(estimate)), set()).add(
            round(estimate.details["p"], 12)
        )
    together = []
    for estimate in family:
        if "p" in estimate.details:
            ps = each[estimate.details.get("hypothesis", id(estimate))]
            estimate = replace(estimate, details={**estimate.details, "p": min(1.0, min(ps) * len(ps))})
        together.append(estimate)
    return adjusted(together)
