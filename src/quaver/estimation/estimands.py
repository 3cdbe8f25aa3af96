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

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from quaver.core.records import AND_PROMPT, Estimand, Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.estimation.cells import ColumnReader
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.intervals import Interval, adjusted, effective, level_of
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Number

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
    if annotations.schema.get(ORIGINAL) != pl.Boolean:
        return annotations
    is_original = pl.col(ORIGINAL).fill_null(value=False)
    originals, others = annotations.filter(is_original), annotations.filter(~is_original)
    named = [name for name in by if name in annotations.columns]
    lacking = [name for name in named if originals.height and originals[name].is_null().all()]
    groups = others.select(lacking).drop_nulls().unique(maintain_order=True)
    if not lacking or groups.is_empty():
        return annotations
    shared = originals.drop(lacking).join(groups, how="cross").select(annotations.columns)
    return pl.concat([others, shared])


Again = Callable[[MeasureInput], Iterable[Estimate]]
"""A measure, taken of a reading."""

_Names = tuple[str, ...]


def over_prompts(
    again: Again, data: MeasureInput, *, estimand: Estimand, asked: bool, of_a_set: bool
) -> list[Estimate]:
    """A measure's estimates, with intervals that hold for an estimand."""
    widens = estimand == "population" and data.resampling.resamples > 0
    taken = list(again(replace(data, keep_draws=True) if widens else data))
    prompts = _Prompts(data)  # after the measure has refused what cannot be read
    estimates = list(map(prompts.counted, taken))
    if widens:
        # The measure is taken again with each part of the prompts left out in turn, and whole; items are left
        # out besides, in few random groups: enough to see how items and prompts interact.
        crosses = max((estimate.n for estimate in estimates), default=0) <= _MANY_UNITS
        resampling = replace(data.resampling, resamples=int(crosses), groups=_GROUPS)
        base = replace(data, resampling=resampling, keep_draws=crosses, estimand="fixed", is_retaken=True)
        left: dict[Any, list[Estimate]] = defaultdict(list)
        whole = {}
        if any(len(prompts.parts_of(estimate)) > 1 for estimate in estimates):
            whole = (
                {(estimate.measure, estimate.place): estimate for estimate in again(base)} if crosses else {}
            )
            for part in prompts.without_one():
                for without_part in again(replace(base, gathered=part)):
                    if without_part.value is not None and np.isfinite(without_part.value):
                        left[without_part.measure, without_part.place].append(without_part)
        widened = []
        for estimate in estimates:
            key = estimate.measure, estimate.place
            made = estimate
            if estimate.estimand == "population":  # the measure has made the interval itself
                made = _for_population(estimate)
            elif estimate.value is not None and estimate.unit != "row":  # rows say nothing of other prompts
                made = _crossed(
                    estimate, prompts.parts_of(estimate), left[key], whole.get(key), of_a_set, asked
                )
            widened.append(made if data.keep_draws else replace(made, draws=None))
        families = groupby(widened, key=prompts.cell_of)
        estimates = [estimate for _, some in families for estimate in _readjusted(list(some))]
    elif estimand == "population":
        estimates = list(map(_for_population, estimates))
    return list(map(_scoped, estimates))


def _scoped(estimate: Estimate) -> Estimate:
    """The estimate whose method says what its interval holds for; of one prompt, its cell does."""
    if estimate.low is None or estimate.details.get("prompts", 1) == 1:
        return estimate
    return replace(estimate, method=f"{estimate.method}, {estimate.scope}")


def _for_population(estimate: Estimate) -> Estimate:
    return replace(estimate, estimand="population", unit=estimate.unit + AND_PROMPT)


class _Prompts:
    """The prompts of each cell of a reading, in the parts that are left out in turn."""

    def __init__(self, data: MeasureInput) -> None:
        self._gathered, self._by, named = data.gathered, tuple(data.by), dict(data.columns or {})
        reader = ColumnReader(self._gathered, named)
        self._columns = reader.of("prompt" if "prompt" in named else "variant")
        self._parts: dict[_Names | None, dict[_Names, int]] = {}
        cells, prompts = self._gathered.together(*self._by), self._gathered.together(*self._columns)
        parts = np.full((len(cells.values), len(prompts.values)), -1, np.int16)
        if self._columns:
            parts[cells.codes, prompts.codes] = 0
        for where, own in zip(cells.values, parts, strict=True):
            places = np.flatnonzero(own == 0)
            own[places] = np.arange(places.size)
            if places.size > _PARTS:
                rng = np.random.default_rng(derive(data.resampling.seed, "prompts"))
                own[places] = np.argsort(rng.permutation(places.size)) * _PARTS // places.size
            names = [tuple(prompts.values[place].values()) for place in places]
            self._parts[tuple(where.values())] = dict(zip(names, own[places].tolist(), strict=True))
        self._part, self._last = parts[cells.codes, prompts.codes], parts.max(1, initial=-1)[cells.codes]

    def cell_of(self, estimate: Estimate) -> _Names | None:
        """The cell that an estimate belongs to; None where it belongs to no single one."""
        there = set(self._by) <= set(estimate.cell)
        return tuple(estimate.cell[name] for name in self._by) if there else None

    def parts_of(self, estimate: Estimate) -> Mapping[_Names, int]:
        """The prompts behind an estimate, each with the part that it is left out in."""
        parts = self._parts.get(self.cell_of(estimate), {})
        if not self._columns or not set(self._columns) <= set(estimate.cell):
            return parts
        place = tuple(estimate.cell[name] for name in self._columns)  # it is about one of them
        return {place: 0} if place in parts else {}

    def counted(self, estimate: Estimate) -> Estimate:
        """The estimate with the number of its prompts in the details."""
        count = len(self.parts_of(estimate))
        return replace(estimate, details={**estimate.details, "prompts": count}) if count else estimate

    def without_one(self) -> Iterable[Gathered]:
        """The annotations without a part of the prompts, of the cells that have it and others besides."""
        for gone in range(int(self._last.max(initial=-1)) + 1):
            yield self._gathered.rows((self._part != gone) & (self._last >= max(gone, 1)))


def _crossed(
    estimate: Estimate,
    prompts: Mapping[_Names, int],
    left: Sequence[Estimate],
    whole: Estimate | None,
    of_a_set: bool,
    asked: bool,
) -> Estimate:
    """An estimate with its interval over items and prompts; where there can be none, without or as it was."""
    variance, parts = _variance(left, whole, of_a_set)
    count, needed = len(prompts), max(2, len(set(prompts.values())))
    if len(left) == needed:  # those that it is about
        count = round(count * parts / len(left))
    if count == 0:
        why = "its prompts are not known"
    elif count == 1:
        why = "one prompt says nothing about others"
    elif len(left) < needed:  # it rests on a prompt of which there is one
        why = f"without one of its {count} prompts this is not defined, so they say nothing about others"
    elif estimate.draws is None or estimate.low is None:
        why = "these prompts have no interval themselves"
    else:
        return _with_interval(estimate, variance, parts, count, of_a_set)
    if not asked:
        return replace(estimate, warnings=(*estimate.warnings, f"{why}: the interval is for these"))
    tested = {name: value for name, value in estimate.details.items() if name not in ("p", "p_holm")}
    warnings = (*estimate.warnings, f"{why}: there is no interval for others")
    return _for_population(replace(estimate, low=None, high=None, details=tested, warnings=warnings))


def _variance(left: Sequence[Estimate], whole: Estimate | None, of_a_set: bool) -> tuple[float, int]:
    """The variance that prompts contribute, NaN of fewer than two parts, and from how many it is taken.

    A prompt that the estimate is not about, one of another level of a factor say, does not count.
    """
    about = [other for other in left if whole is None or not _is_same(other, whole)]
    left = about if len(about) > 1 else left
    parts = len(left)
    if parts < 2:
        return float("nan"), parts
    values = np.array([other.value for other in left], np.float64)
    variance = (parts - 1) / parts * float(((values - values.mean()) ** 2).sum())
    kept = [other.draws.jackknife for other in left if other.draws is not None]
    if len(kept) < parts or len({(jackknife.units.items, jackknife.left.size) for jackknife in kept}) > 1:
        return variance, parts  # other items are left out with one prompt than with another
    both = np.stack([jackknife.left for jackknife in kept])
    both = both[:, np.isfinite(both).all(0)]
    groups = both.shape[1]
    if groups < 2:
        return variance, parts
    apart = both - both.mean(1, keepdims=True) - both.mean(0) + both.mean()
    interaction = (parts - 1) / parts * (groups - 1) / groups * float((apart**2).sum())
    least = _FLOOR_OF_A_SET / max(parts, 3) if of_a_set else _FLOOR
    return max(variance * least, variance - interaction), parts


def _is_same(estimate: Estimate, other: Estimate) -> bool:
    """Whether two estimates are alike with every group of items left out: they are of the same answers."""
    if estimate.draws is None or other.draws is None or estimate.value != other.value:
        return False
    first, two = estimate.draws.jackknife.left, other.draws.jackknife.left
    return bool(np.array_equal(first, two, equal_nan=True))


def _with_interval(estimate: Estimate, variance: float, parts: int, count: int, of_a_set: bool) -> Estimate:
    """An estimate whose interval is over items and prompts."""
    number, units, ends = estimate.draws, estimate.draws.jackknife.units, estimate.draws.statistic.ends
    of_items = number.jackknife.variance if np.isfinite(number.jackknife.variance) else 0.0
    fixed = Interval(estimate.low or 0.0, estimate.high or 0.0)

    def at(level: float) -> Interval:
        """The interval for the mean over prompts, from the variance over items."""
        level = max(level, _LEAST_LEVEL)
        step = number.statistic.step
        items = effective(estimate.number, of_items, number.freedom, level, ends, step)
        return _over_both(number, variance, parts, items, level)

    risk = 1 - estimate.confidence_level
    untried = 1 - risk ** (1 / count)
    details = {
        **estimate.details,
        "standard_error_items": of_items**0.5,
        "standard_error_prompts": variance**0.5,
        "fixed": tuple(fixed),
        "untried_at_most": untried,
    }
    if not of_a_set and ends is not None and np.isfinite(ends).all():
        some = 1 - (risk / 2) ** (1 / count)  # half of the risk is theirs, half the interval's
        known = np.array(at(1 - risk / 2))
        details["with_untried"] = tuple(((1 - some) * known + some * np.array(ends)).tolist())
    if "p" in details:
        details |= {"p": level_of(at, null=0.0), "test": "of the mean over prompts like these"}
    warnings = estimate.warnings
    if of_a_set and count < _ROUGH:
        rough = IntervalWarning(
            f"{count} prompts hardly show how prompts differ: the interval for others may cover "
            "less often than its level says"
        )
        warnings = (*warnings, rough)
    low, high = _over_both(number, variance, parts, fixed, estimate.confidence_level)
    method = (
        f"{estimate.method.rpartition('; ')[0]}; jackknife interval over {units.count} {units.name}s and "
        f"{count} prompts (up to {untried:.0%} of such prompts may be of a kind not tried)"
    )
    made = replace(estimate, low=low, high=high, method=method, warnings=warnings, details=details)
    return _for_population(made)


def _over_both(number: Number, variance: float, parts: int, items: Interval, level: float) -> Interval:
    """The interval over items and over prompts, whose ends' distances add in squares."""
    point, ends, step = number.jackknife.point, number.statistic.ends, number.statistic.step
    if not variance > (1e-12 * max(1.0, abs(point))) ** 2:
        return items
    least, most = ends or (-np.inf, np.inf)
    place = (point - least) / (most - least) if np.isfinite([least, most]).all() else 0.5
    prompts = _apart(point, effective(point, variance, parts - 1, level, ends, step))
    further = np.array(reach(place, parts, level)) * prompts
    down, up = np.hypot(_apart(point, items), further).tolist()
    return Interval(max(point - down, min(least, items.low)), min(point + up, max(most, items.high)))


def _apart(point: float, interval: Interval) -> NDArray[np.float64]:
    """How far away the lower and the upper end are."""
    return np.maximum(0.0, [point - interval.low, interval.high - point])


def reach(place: float, prompts: int, level: float) -> tuple[float, float]:
    """The factors by which the lower and upper ends are further away than those of normal prompts.

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
    each: dict[object, set[float]] = defaultdict(set)
    for estimate in tested:
        each[estimate.details.get("hypothesis", id(estimate))].add(round(estimate.details["p"], 12))
    together = []
    for estimate in family:
        if "p" in estimate.details:
            ps = each[estimate.details.get("hypothesis", id(estimate))]
            estimate = replace(estimate, details={**estimate.details, "p": min(1.0, min(ps) * len(ps))})
        together.append(estimate)
    return adjusted(together)
