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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.core.records import AND_PROMPT, Estimand, Estimate, IntervalWarning
from quaver.errors import MeasureError
from quaver.estimation.intervals import Interval, Kept, effective
from quaver.estimation.left_out_prompts import Prompts
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.multiple_testing import adjusted, level_of

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
    whole = replace(data, keep=data.keep | {"draws"}, cuts={})
    plain = estimand == "fixed" or not data.resampling.resamples
    estimates = list(again(data if plain else whole))
    prompts = Prompts(data)  # after the measure has refused what cannot be read
    estimates = [prompts.counted(estimate) for estimate in estimates]
    if plain:
        made = estimates if estimand == "fixed" else [_named(estimate, estimand) for estimate in estimates]
        return [_scoped(estimate) for estimate in made]
    crossed = max((estimate.n for estimate in estimates), default=0) <= _MANY_UNITS
    several = any(len(prompts.names(estimate)) > 1 for estimate in estimates)
    without = _Without(again, whole, prompts, range(prompts.parts() if several else 0), crossed=crossed)
    made = []
    for estimate in estimates:
        if estimate.estimand == estimand and estimate.value is not None and estimate.unit != "row":
            estimate = _named(estimate, estimand)  # the measure has made the interval itself
        elif (
            estimate.value is not None and estimate.unit != "row"
        ):  # single labels say nothing of other prompts
            estimate = _Crossed(estimate, without, prompts, estimand, of_a_set).estimate(asked=asked)
        made.append(estimate if "draws" in data.keep else replace(estimate, draws=None))
    families = groupby(made, key=prompts.key)
    return [_scoped(estimate) for _, some in families for estimate in _readjusted(list(some))]


def _scoped(estimate: Estimate) -> Estimate:
    """The estimate whose method says what its interval holds for; of one prompt, its cell does."""
    if estimate.low is None or estimate.details.get("prompts", 1) == 1:
        return estimate
    return replace(estimate, method=f"{estimate.method}, {estimate.scope}")


class _Spread(NamedTuple):
    """How prompts differ: the variance they contribute, NaN of fewer than two parts, and from how many."""

    variance: float
    parts: int


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


class _Without:
    """A measure with each part of the prompts left out in turn.

    Args:
        again: The measure.
        whole: What it is taken of.
        prompts: Its prompts.
        parts: Which parts of them are left out.
        crossed: Whether items are left out besides, where that is affordable.
    """

    def __init__(
        self, again: Again, whole: MeasureInput, prompts: Prompts, parts: Iterable[int], *, crossed: bool
    ) -> None:
        once = replace(whole.resampling, resamples=int(crossed))
        base = replace(whole, resampling=once, keep=frozenset({"draws"} if crossed else ()), estimand="fixed")
        complete = again(replace(base, without=prompts.whole)) if crossed and parts else ()
        self._whole = {_key(estimate): estimate for estimate in complete}
        self._left: dict[_Key, list[Estimate]] = {}
        for part in parts:
            for estimate in again(replace(base, without=partial(prompts.without, part))):
                if estimate.value is not None and np.isfinite(estimate.value):
                    self._left.setdefault(_key(estimate), []).append(estimate)

    def parts(self, estimate: Estimate) -> int:
        """Without how many parts of the prompts, one at a time, an estimate has a value."""
        return len(self._left.get(_key(estimate), ()))

    def spread(self, estimate: Estimate, *, of_a_set: bool) -> _Spread:
        """How the prompts behind an estimate differ.

        A prompt that the estimate is not about, one of another level of a factor say, does not count.
        """
        left = self._left.get(_key(estimate), [])
        whole = self._whole.get(_key(estimate))
        about = [other for other in left if whole is None or not _same(other, whole)]
        left = about if len(about) > 1 else left
        parts = len(left)
        if parts < 2:
            return _Spread(float("nan"), parts)
        values = np.array([other.value for other in left], np.float64)
        spread = _Spread((parts - 1) / parts * float(((values - values.mean()) ** 2).sum()), parts)
        kept = [other.draws for other in left if other.draws is not None]
        if len(kept) < parts:
            return spread
        both = np.stack([other.jackknife for other in kept])
        both = both[:, np.isfinite(both).all(0)]
        groups = both.shape[1]
        if groups < 2:
            return spread
        apart = both - both.mean(1, keepdims=True) - both.mean(0) + both.mean()
        interaction = (parts - 1) / parts * (groups - 1) / groups * float((apart**2).sum())
        least = _FLOOR_OF_A_SET / max(parts, 3) if of_a_set else _FLOOR
        return spread._replace(variance=max(spread.variance * least, spread.variance - interaction))


def _key(estimate: Estimate) -> _Key:
    return estimate.measure, tuple(sorted(estimate.cell.items()))


def _same(estimate: Estimate, other: Estimate) -> bool:
    """Whether two estimates are alike with every group of items left out: they are of the same answers."""
    if estimate.draws is None or other.draws is None or estimate.value != other.value:
        return False
    left, right = estimate.draws.jackknife, other.draws.jackknife
    return left.shape == right.shape and bool(np.array_equal(left, right, equal_nan=True))


def _named(estimate: Estimate, estimand: Estimand) -> Estimate:
    """The estimate, saying what its interval holds for."""
    return replace(estimate, estimand=estimand, unit=estimate.unit + AND_PROMPT)


class _Crossed:
    """An estimate over items and prompts."""

    def __init__(
        self, estimate: Estimate, without: _Without, prompts: Prompts, estimand: Estimand, of_a_set: bool
    ) -> None:
        self._one = estimate
        self._spread = without.spread(estimate, of_a_set=of_a_set)
        names = prompts.names(estimate)
        self._left, self._needed = without.parts(estimate), max(2, len(set(names.values())))
        self._count = len(names)
        if self._left == self._needed:  # those that it is about
            self._count = round(self._count * self._spread.parts / self._left)
        self._estimand, self._of_a_set = estimand, of_a_set
        self._kept: Kept | None = estimate.draws

    def estimate(self, *, asked: bool) -> Estimate:
        """It, with its interval; where there can be none, without or with the one for these prompts."""
        if self._count == 0:
            why = "its prompts are not known"
        elif self._count == 1:
            why = "one prompt says nothing of others"
        elif self._left < self._needed:  # it rests on a prompt of which there is one
            why = (
                f"without one of its {self._count} prompts this is not defined, so they say nothing of others"
            )
        elif self._kept is None or self._one.low is None or self._one.high is None:
            why = "these prompts have no interval themselves"
        else:
            return self._with_interval(self._kept, Interval(self._one.low, self._one.high))
        if not asked:
            return replace(self._one, warnings=(*self._one.warnings, f"{why}: the interval is for these"))
        tested = {name: one for name, one in self._one.details.items() if name not in ("p", "p_holm")}
        untested = replace(self._one, low=None, high=None, details=tested)
        bare = _named(untested, self._estimand)
        return replace(bare, warnings=(*bare.warnings, f"{why}: there is no interval for others"))

    def _with_interval(self, kept: Kept, fixed: Interval) -> Estimate:
        estimate, point = self._one, self._one.value
        assert point is not None
        items = kept.variance if np.isfinite(kept.variance) else 0.0

        def at(level: float) -> Interval:
            """The interval for the mean over prompts, from the variance over items."""
            level = max(level, _LEAST_LEVEL)
            interval = effective(point, items, kept.freedom, level, kept.ends, kept.step)
            return self._crossed(kept, point, interval, level)

        details = {
            **estimate.details,
            "standard_error_items": items**0.5,
            "standard_error_prompts": self._spread.variance**0.5,
            "fixed": tuple(fixed),
            **self._untried(at, kept.ends),
        }
        low, high = self._crossed(kept, point, fixed, estimate.confidence_level)
        if "p" in details:
            details["p"] = level_of(at, null=0.0)
            details["test"] = "of the mean over prompts like these"
        how = f"jackknife interval over {kept.units.count} {kept.units.name}s and {self._count} prompts"
        how = f"{how} (up to {details['untried_at_most']:.0%} of such prompts may be of a kind not tried)"
        named = _named(replace(estimate, details=details), self._estimand)
        warnings = named.warnings
        if self._of_a_set and self._count < _ROUGH:
            rough = IntervalWarning(
                f"{self._count} prompts hardly show how prompts differ: the interval for others may cover "
                "less often than its level says"
            )
            warnings = (*warnings, rough)
        method = f"{estimate.method.rpartition('; ')[0]}; {how}"
        return replace(named, low=low, high=high, method=method, warnings=warnings)

    def _untried(
        self, at: Callable[[float], Interval], ends: tuple[float, float] | None
    ) -> dict[str, object]:
        """How many such prompts may be of a kind not tried, and where the mean is, whatever those do."""
        risk, count = 1 - self._one.confidence_level, self._count
        result: dict[str, object] = {"untried_at_most": 1 - risk ** (1 / count)}
        if not self._of_a_set and np.isfinite(ends or np.nan).all():
            some = 1 - (risk / 2) ** (1 / count)  # half of the risk is theirs, half the interval's
            known = np.array(at(1 - risk / 2))
            result["with_untried"] = tuple(((1 - some) * known + some * np.array(ends)).tolist())
        return result

    def _crossed(self, kept: Kept, point: float, items: Interval, level: float) -> Interval:
        """The interval over items and over prompts, whose ends' distances add in squares."""
        variance, parts = self._spread
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
