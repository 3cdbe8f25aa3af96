"""Finds the item's text and the question in a layout, so that families can move them."""

from __future__ import annotations

import re
from collections.abc import Collection

from quaver.design.prompts.templates import names_in
from quaver.errors import SpecError

_ASKING = frozenset(["instruction", "postfix", "question"])
_SHOWING = frozenset(["text"])
_GAPS = re.compile(r"\n{3,}")

Span = tuple[int, int]


def asks_first(layout: str) -> bool | None:
    """Whether the question is before the text; None if the layout has no question.

    Raises:
        SpecError: The two are not on separate lines.
    """
    asking, showing = _spans(layout)
    return None if asking is None else asking < showing


def question_moved(layout: str) -> str:
    """The layout with the lines of the question and those of the text swapped.

    >>> print(question_moved("Voter: {{ text }}" + chr(10) + "Question: {{ question }}"))
    Question: {{ question }}
    Voter: {{ text }}

    Raises:
        SpecError: The two are not on separate lines.
    """
    asking, showing = _spans(layout)
    if asking is None:
        return layout
    lines = layout.split("\n")
    (a, b), (c, d) = sorted([asking, showing])
    return "\n".join([*lines[:a], *lines[c:d], *lines[b:c], *lines[a:b], *lines[d:]])


def without_question(layout: str) -> tuple[str, str]:
    """The layout without the lines of the question, and these lines (empty if it has no question).

    Raises:
        SpecError: The two are not on separate lines.
    """
    asking, _ = _spans(layout)
    if asking is None:
        return layout, ""
    lines = layout.split("\n")
    rest = "\n".join([*lines[: asking[0]], *lines[asking[1] :]]).strip("\n")
    return _GAPS.sub("\n\n", rest), "\n".join(lines[asking[0] : asking[1]])


def _spans(layout: str) -> tuple[Span | None, Span]:
    """The lines of the question and of the text, as the first and the one after the last."""
    asking, showing = _lines_with(layout, _ASKING), _lines_with(layout, _SHOWING)
    if showing is None or (asking and asking[0] < showing[1] and showing[0] < asking[1]):
        raise SpecError(
            "the layout does not keep the question and the item's text on separate lines",
            where="prompt.layout",
            expected="{{ text }} on lines of its own, {{ question }} on others",
            found=layout[:120],
        )
    return asking, showing


def _lines_with(layout: str, names: Collection[str]) -> Span | None:
    try:
        found = [at for at, line in enumerate(layout.split("\n")) if names_in(line) & set(names)]
    except Exception:  # single lines of a statement over several lines are not templates
        found = []
    return (found[0], found[-1] + 1) if found else None
