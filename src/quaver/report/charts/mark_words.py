"""What a mark stands for, in words, and the prompt and model that it is of: what the page shows at a mark.

A chart's rows carry it as ``about``, its marks as their description (`ABOUT`), and the page's pictures as a
title and a link (`quaver.report.charts.svg`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import altair as alt

from quaver.core.records import Estimate
from quaver.report.charts.theme import fitted
from quaver.report.estimate_index import Results
from quaver.report.estimate_words import sentence
from quaver.report.page_numbers import printed
from quaver.report.plain_text import one_line

ABOUT: Any = alt.Description("about:N")
"""The channel that takes the column ``about`` to the picture."""

_WRITTEN = re.compile(r"(\d*)\.(\d*)\|(.*)", re.DOTALL)


def about(one: Estimate, results: Results) -> str:
    """An estimate in words, behind the places of its prompt and its model in the study."""
    return f"{place_of(one, results)}|{sentence(one, results)}"


def place_of(one: Estimate, results: Results) -> str:
    """The places of an estimate's prompt and model, from 1; empty where it is of no one of several."""
    model = one.cell.get("model", "")
    at = str(results.models.index(model) + 1) if len(results.models) > 1 and model in results.models else ""
    return f"{results.prompt_places.get(_prompt(one, results), '')}.{at}"


def _prompt(one: Estimate, results: Results) -> str:
    """The variant that it is of, or the only one that has its level of a factor."""
    if "variant" in one.cell:
        return one.cell["variant"]
    factor, level = one.cell.get("factor", ""), one.cell.get("level", "")
    some = [name for name, levels in results.factor_levels.items() if levels.get(factor) == level]
    return some[0] if len(some) == 1 else ""


def plainly(
    names: Iterable[str],
    value: float,
    percent: bool = False,
    ends: tuple[float | None, float | None] = (None, None),
) -> str:
    """A mark of which no more is known than its names and numbers, in words.

    >>> plainly(["small", "", "warm"], 0.5, True, (0.25, 0.75))
    '.|small, warm: 50%, interval 25% to 75%'
    """
    subject = ", ".join(dict.fromkeys(name for name in names if name))
    said = printed(value, percent)
    if ends[0] is not None and ends[1] is not None:
        said += f", interval {printed(ends[0], percent)} to {printed(ends[1], percent)}"
    return f".|{subject}: {said}" if subject else f".|{said}"


def named(name: str, width: float) -> dict[str, str]:
    """A name as a chart writes it, in so many pixels, and the whole of it where it is shortened.

    >>> named("short", 80), named("a name that is much too long", 80)["about"]
    ({'text': 'short', 'about': ''}, '.|a name that is much too long')
    """
    text, whole = fitted(name, width), one_line(name)
    return {"text": text, "about": "" if text == whole else f".|{whole}"}


def by_model(some: Iterable[str]) -> bool:
    """Whether some marks say which of several models they are of."""
    return any((found := _WRITTEN.match(one)) and found[2] for one in some)


def taken_apart(written: str) -> tuple[str, str, str] | None:
    """The place of the prompt, that of the model, and the words; None if it was not written here."""
    found = _WRITTEN.fullmatch(written)
    return (found[1], found[2], found[3]) if found else None
