"""Collecting in rounds, in words: the rule, and what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MOST = 5
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
        "coverage may be below the nominal level (Quaver's docs/collecting.md gives simulated figures)."
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
    return (
        f"Answers were collected in rounds until the interval of {measure} was {goal} in every cell. The "
        f"number of items of each round was fixed beforehand, and they were drawn at random ({sizes}). The "
        "rounds share an error of 5% in proportion to their items (linear alpha spending; Kim & DeMets "
        "1987), so that in 95% of such studies the intervals of all rounds contain a cell's true value, "
        f"whichever round is the last. {anytime_verdict(until, last)} {why} The other intervals of this "
        "report do not allow for the choice of when to stop."
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
    some = [_cell_words(one, value) for one in cells[:_MOST]]
    more = [f"and {len(cells) - _MOST} more cells"] if len(cells) > _MOST else []
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
