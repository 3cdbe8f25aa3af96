"""Collecting in rounds: until a measure's interval is as narrow as asked, or all or the budget is used up.

The study's design is the most that there is; a round asks a part of it: so many of its items in a random
order, the first so many of its variants, so many repeats. After a round the measure's widest interval is
looked at. Where it is too wide, one of the three grows. Which one is measured on what is stored: the
interval is taken again with half of the items, with half of the variants and with half of the repeats.
Each half would have cost as much less, so what widens the interval most when it is halved narrows it most
for its calls when it grows; near ties go to the items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, inf, log2
from typing import Any, Literal

import numpy as np
import polars as pl

from quaver.collect.run.progress import Outcome
from quaver.core.records import Estimate, IntervalWarning, Request
from quaver.core.seeds import derive
from quaver.design.calls.experiment import Experiment
from quaver.design.spec import UntilSpec
from quaver.sequential.betting_interval import RARE
from quaver.sequential.spent_error import round_sizes, tails_of_rounds, times_as_wide

Grown = Literal["items", "variants", "repeats"]
_GROWN: tuple[Grown, ...] = ("items", "variants", "repeats")

_TIE = 1.02
"""How much wider a half must make the interval to be taken before the items."""

_LEAST, _MOST = 0.1, 1.0
"""Powers of a dimension's size by which an interval is taken to narrow; 0.5 is that of a mean."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a design: so many of its items, variants and repeats."""

    items: int
    variants: int
    repeats: int

    def size(self, grown: Grown) -> int:
        """One of the three numbers."""
        return int(getattr(self, grown))

    def resized(self, grown: Grown, size: int) -> Part:
        """The same with another number of one of them."""
        return replace(self, **{grown: size})

    def __str__(self) -> str:
        return ", ".join(f"{n:,} {what if n != 1 else what[:-1]}" for what, n in asdict(self).items())


@dataclass(frozen=True, slots=True)
class Round:
    """What a round asked, and what it brought.

    Attributes:
        part: The part of the design that was answered when it ended.
        calls: Calls that it asked.
        width: Of the widest interval of the measure; None where one is undefined.
        grows: What the next round has more of; None after the last.
        wider: How many times as wide the intervals are as those that are looked at once.
        cells: The measure's estimates, where intervals hold at any time.
    """

    part: Part
    calls: int
    width: float | None
    grows: Grown | None
    wider: float = 1.0
    cells: tuple[Estimate, ...] = ()

    def document(self) -> dict[str, Any]:
        """For JSON."""
        known = {**asdict(self.part), "calls": self.calls, "width": self.width, "grows": self.grows}
        if not self.cells:
            return known
        cells = [
            {"cell": dict(estimate.cell), "value": estimate.value, "low": estimate.low, "high": estimate.high}
            for estimate in self.cells
        ]
        betting = all("wide" in estimate.details for estimate in self.cells)
        return {**known, "wider": self.wider, "betting": betting, "cells": cells}

    def __str__(self) -> str:
        width = "no interval yet" if self.width is None else f"the widest interval is {self.width:.4f} wide"
        more = f"; more {self.grows} next" if self.grows else ""
        return f"{self.part}; {self.calls:,} calls asked; {width}{more}"


class Design:
    """Which calls and which annotations a part of a study's design holds.

    Args:
        experiment: The study's.
        seed: Of the random order of the items.
    """

    def __init__(self, experiment: Experiment, seed: int) -> None:
        order = np.random.default_rng(derive(seed, "rounds")).permutation(len(experiment.items))
        self._rank = {int(item): index for index, item in enumerate(order)}
        self._ids = [experiment.items[int(item)].id for item in order]
        self._variants = [variant.id for variant in experiment.variants]
        places = {name: index for index, name in enumerate(self._variants)}
        self._variant_of = [places[condition.variant] for condition in experiment.conditions]
        repeats = max(condition.repeats for condition in experiment.conditions)
        self.whole = Part(len(self._ids), len(self._variants), repeats)

    def first(self, until: UntilSpec) -> Part:
        """The first round's part."""
        whole = self.whole
        return Part(
            min(until.items, whole.items),
            min(until.variants or whole.variants, whole.variants),
            min(until.repeats or whole.repeats, whole.repeats),
        )

    def request(self, part: Part, request: Request) -> Request | None:
        """What of a request belongs to a part; None where nothing does."""
        calls = request.calls
        first = calls[0]
        if self._rank[first.item] >= part.items or self._variant_of[first.condition] >= part.variants:
            return None
        wanted = tuple(call for call in calls if call.repeat < part.repeats)
        if not wanted:
            return None
        return request if len(wanted) == len(calls) else request.part(wanted)

    def ids(self, part: Part) -> list[str]:
        """The ids of a part's items."""
        return self._ids[: part.items]

    def annotations(self, part: Part, frame: pl.DataFrame) -> pl.DataFrame:
        """The annotations of a part."""
        items, variants = pl.col("item").cast(pl.String), pl.col("variant").cast(pl.String)
        return frame.filter(
            items.is_in(self.ids(part))
            & variants.is_in(self._variants[: part.variants])
            & (pl.col("repeat") < part.repeats)
        )


def widest(estimates: Sequence[Estimate], differing: int = 0) -> float | None:
    """Of the estimates' intervals; None where one is missing or not to be believed, or no estimate."""
    widths: list[float] = []
    for estimate in estimates:
        if (
            estimate.low is None
            or estimate.high is None
            or 0 < estimate.details.get("differing", differing) < differing
        ):
            return None
        widths.append(float(estimate.high) - float(estimate.low))
    return max(widths, default=None)


def collect_in_rounds(
    until: UntilSpec,
    design: Design,
    collect: Callable[[Part], Outcome],
    width: Callable[[Part], float | None],
    tell: Callable[[int, Round], None] = lambda number, one: None,
) -> tuple[list[Round], Outcome]:
    """Collect until the interval is as narrow as asked.

    Returns:
        The rounds, and the outcome of the last, which ended ``narrow`` where that is why it is the last.
    """
    asked = until.width or 0.0
    part, rounds = design.first(until), list[Round]()
    while True:
        outcome = collect(part)
        stopped = outcome.ended != "finished"
        now = None if stopped else width(part)
        narrow = now is not None and now <= asked
        grows = None if stopped or narrow else _grows(part, design.whole, now, width)
        rounds.append(Round(part, outcome.done, now, grows))
        tell(len(rounds), rounds[-1])
        if grows is None:
            ended = "narrow" if narrow and part != design.whole else outcome.ended
            return rounds, replace(outcome, ended=ended)
        factor = _factor(part, grows, now, until, width)
        size = part.size(grows)
        part = part.resized(grows, min(design.whole.size(grows), max(size + 1, ceil(size * factor))))


def _grows(part: Part, whole: Part, now: float | None, width: Callable[[Part], float | None]) -> Grown | None:
    """What the next round has more of; None where there is no more of anything."""
    able = [grown for grown in _GROWN if part.size(grown) < whole.size(grown)]
    if len(able) < 2 or now is None:
        return able[0] if able else None
    best, most = able[0], 0.0
    for grown in able:
        gain = _gain(part, grown, now, width)
        if gain > most * (_TIE if most else 1):
            best, most = grown, gain
    return best


def _gain(part: Part, grown: Grown, now: float, width: Callable[[Part], float | None]) -> float:
    """How many times as wide the interval is with half of something; the square root of 2 where unknown."""
    size = part.size(grown)
    half = None if size < 2 or now <= 0 else width(part.resized(grown, ceil(size / 2)))
    return 2**0.5 if half is None else half / now


def _factor(
    part: Part, grown: Grown, now: float | None, until: UntilSpec, width: Callable[[Part], float | None]
) -> float:
    """How many times as much of it the interval seems to need, at most ``growth`` times."""
    if now is None or now == inf:
        return until.growth
    power = min(_MOST, max(_LEAST, log2(max(1.001, _gain(part, grown, now, width)))))
    return float(min(until.growth, max(1.05, (now / (until.width or now)) ** (1 / power))))


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcomes of a run's rounds as one."""
    first, last = outcomes[0], outcomes[-1]
    return replace(
        last,
        before=first.before,
        done=sum(outcome.done for outcome in outcomes),
        errors=sum(outcome.errors for outcome in outcomes),
        seconds=sum(outcome.seconds for outcome in outcomes),
        reused=sum(outcome.reused for outcome in outcomes),
    )


class RoundsDocument:
    """What ``rounds.json`` holds: the stopping rule, every round, and how it ended.

    A run that goes on where another stopped goes through the same rounds again, and asks only what is
    missing of them; what the other asked counts with it.

    Args:
        until: The stopping rule.
        earlier: The document as the last run left it.
    """

    def __init__(self, until: UntilSpec, earlier: Mapping[str, Any]) -> None:
        self._until = until.model_dump(mode="json")
        self._earlier = list(earlier.get("rounds", ())) if earlier.get("until") == self._until else []
        self._rounds: list[dict[str, Any]] = []

    def add(self, one: Round) -> dict[str, Any]:
        """The document after a further round; ``ended`` is None until it is known."""
        now, index = one.document(), len(self._rounds)
        before = self._earlier[index] if index < len(self._earlier) else None
        if before is None or any(before[size] != now[size] for size in _GROWN):
            self._earlier = []  # these rounds are others
        else:
            now["calls"] += before["calls"]
        self._rounds.append(now)
        return {"until": self._until, "rounds": [*self._rounds, *self._earlier[index + 1 :]], "ended": None}

    def end(self, last: Outcome) -> dict[str, Any]:
        """The document of a run that has ended."""
        return {"until": self._until, "rounds": self._rounds, "ended": last.ended}


ERROR = 0.05
"""How often some round's interval may miss."""


def planned_rounds(until: UntilSpec, whole: Part) -> list[tuple[Part, float]]:
    """The rounds' parts of the design, and the tail that the intervals of each leave out on either side."""
    sizes = round_sizes(until.items, whole.items, until.growth)
    return [
        (replace(whole, items=size), tail)
        for size, tail in zip(sizes, tails_of_rounds(sizes, ERROR), strict=True)
    ]


def collect_at_any_time(
    until: UntilSpec,
    whole: Part,
    collect: Callable[[Part], Outcome],
    estimates: Callable[[Part, float], Sequence[Estimate]],
    tell: Callable[[int, Round], None] = lambda number, one: None,
) -> tuple[list[Round], Outcome]:
    """Collect until the interval is clear of a value, or as narrow as asked.

    Returns:
        The rounds, and the outcome of the last, which ended ``clear`` or ``narrow`` where that is why it is
        the last.
    """
    rounds = list[Round]()
    for part, tail in planned_rounds(until, whole):
        outcome = collect(part)
        stopped = outcome.ended != "finished"
        found = () if stopped else tuple(estimates(part, 1 - 2 * tail))
        width = widest(found, until.differing)
        if until.clear_of is None:
            reached = width is not None and width <= (until.width or 0.0) and not any(map(is_rough, found))
        else:
            reached = is_clear(found, until.clear_of)
        over = stopped or reached or part == whole
        spent = times_as_wide(tail, ERROR / 2)
        wider = max((float(estimate.details.get("wide", spent)) for estimate in found), default=spent)
        rounds.append(Round(part, outcome.done, width, None if over else "items", wider, found))
        tell(len(rounds), rounds[-1])
        if over:
            break
    if reached and part != whole:
        outcome = replace(outcome, ended="narrow" if until.clear_of is None else "clear")
    return rounds, outcome


def is_clear(estimates: Sequence[Estimate], value: float) -> bool:
    """Whether every interval lies wholly above or below a value, and none has a warning about itself."""
    return bool(estimates) and all(
        estimate.low is not None
        and estimate.high is not None
        and not estimate.low <= value <= estimate.high
        and not is_rough(estimate)
        for estimate in estimates
    )


def is_rough(estimate: Estimate) -> bool:
    """Whether a warning is about its interval."""
    return any(isinstance(warning, IntervalWarning) for warning in estimate.warnings)


_WORDS_MOST = 5
"""Cells that are named."""


def rounds_in_words(until: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], ended: str | None) -> str:
    """The stopping rule and what it did, for a methods section."""
    if not rounds:
        return ""
    if "cells" in rounds[-1] or until.get("clear_of") is not None or until.get("anytime"):
        return _at_any_time(until, rounds, ended)
    last = rounds[-1]
    width = last.get("width")
    reached = "was not available" if width is None else f"was {width:.3f} wide"
    why = {
        "narrow": "which ended the collection before the whole design was asked",
        "finished": "and the whole design had been asked",
        None: "when the collection was cut off",
    }.get(ended, f"when the collection stopped ({ended})")
    return (
        f"Answers were collected in rounds until the widest 95% interval of {until.get('measure')} was at "
        f"most {until.get('width')} wide, with at least {until.get('differing')} items that differ or none. "
        "A round added items (in a random order), variants or repeats, "
        "whichever half of what was stored widened the interval most when it was left out. After "
        f"{len(rounds)} round{'s' * (len(rounds) != 1)}, with {last.get('items', 0):,} items, "
        f"{last.get('variants', 0):,} variants and {last.get('repeats', 0):,} repeats, the interval "
        f"{reached}, {why}. Because the collection looked at the interval to decide when to stop, its real "
        "coverage may be below the nominal level (Quaver's docs/simulations.md gives simulated figures)."
    )


def _at_any_time(until: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], ended: str | None) -> str:
    """The same of rounds whose intervals hold together."""
    clear_of, measure, last = until.get("clear_of"), until.get("measure"), rounds[-1]
    goal = f"at most {until.get('width')} wide" if clear_of is None else f"wholly above or below {clear_of}"
    why = {
        "clear": "That ended the collection before the whole design was asked.",
        "narrow": "That ended the collection before the whole design was asked.",
        "finished": "The whole design had then been asked.",
        None: "The collection was then cut off.",
    }.get(ended, f"The collection then stopped ({ended}).")
    sizes = ", ".join(f"{one.get('items', 0):,}" for one in rounds)
    holds = _BETTING if last.get("betting") else _SPENDING
    return (
        f"Answers were collected in rounds until the interval of {measure} was {goal} in every cell. The "
        f"number of items of each round was fixed beforehand, and they were drawn at random ({sizes}). "
        f"{holds} {anytime_verdict(until, last)} {why} The other intervals of this report do not allow "
        "for the choice of when to stop."
    )


_BETTING = (
    "The intervals are betting confidence sequences (Waudby-Smith & Ramdas 2024): as the measure is a mean "
    "over items of values with a smallest and a largest one, those of all rounds together contain a cell's "
    "true value in at least 95% of such studies, whichever round is the last."
)
_SPENDING = (
    "The rounds share an error of 5% in proportion to their items (linear alpha spending; Kim & DeMets "
    "1987): where the estimates of the rounds are jointly normal, their intervals all contain a cell's true "
    "value in 95% of such studies, whichever round is the last. No round of fewer than "
    f"{RARE} texts that mostly have the rarest label could end the collection."
)


def anytime_verdict(until: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """What the last round says of the measure, with intervals that hold at any time.

    >>> cells = [{"cell": {"model": "m"}, "value": 0.91, "low": 0.83, "high": 0.96}]
    >>> last = {"items": 100, "cells": cells, "wider": 1.4}
    >>> anytime_verdict({"measure": "accuracy", "clear_of": 0.8}, last).partition(". ")[0]
    'After 100 items, accuracy is 0.910 (0.830 to 0.960, model=m): above 0.8'
    """
    cells, measure, value = last.get("cells", ()), until.get("measure"), until.get("clear_of")
    if not cells:
        return ""
    some = [_cell_words(one, value) for one in cells[:_WORDS_MOST]]
    more = [f"and {len(cells) - _WORDS_MOST} more cells"] if len(cells) > _WORDS_MOST else []
    which = "The interval is" if len(cells) == 1 else "The intervals are"
    than = "one that is looked at once" if len(cells) == 1 else "those that are looked at once"
    return (
        f"After {last.get('items', 0):,} items, {measure} is {'; '.join([*some, *more])}. "
        f"{which} {last.get('wider', 1.0):.2g} times as wide as {than}."
    )


def _cell_words(one: Mapping[str, Any], clear_of: float | None) -> str:
    cell = ", ".join(f"{column}={level}" for column, level in one["cell"].items())
    if one["low"] is None or one["high"] is None:
        return f"without an interval ({cell})"
    known = f"{one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f}{', ' if cell else ''}{cell})"
    if clear_of is None:
        return known
    if one["low"] > clear_of:
        return f"{known}: above {clear_of}"
    return f"{known}: {'below' if one['high'] < clear_of else 'not clear of'} {clear_of}"
