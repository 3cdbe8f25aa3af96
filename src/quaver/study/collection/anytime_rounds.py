"""Collecting in rounds that may end at any time: when the verdict is clear, or the interval narrow.

How many items each round has is fixed before the first answer, so that the intervals of all rounds can hold
together, whichever round is the last: see `quaver.sequential.planned_rounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from quaver.collect.run.progress import Outcome
from quaver.core.records import Estimate, IntervalWarning
from quaver.design.spec import UntilSpec
from quaver.sequential.planned_rounds import round_sizes, tails_of_rounds
from quaver.sequential.spent_error import times_as_wide
from quaver.study.collection.rounds import Part, Round, widest

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

    Args:
        until: What is asked.
        whole: The whole design.
        collect: Asks what a part has not been asked yet.
        estimates: The measure's, of a part's annotations, with intervals of a level.
        tell: Called after every round with its number, from 1.

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
            reached = width is not None and width <= (until.width or 0.0)
        else:
            reached = is_clear(found, until.clear_of)
        over = stopped or reached or part == whole
        wider = times_as_wide(tail, ERROR / 2)
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
        one.low is not None
        and one.high is not None
        and not one.low <= value <= one.high
        and not any(isinstance(warning, IntervalWarning) for warning in one.warnings)
        for one in estimates
    )
