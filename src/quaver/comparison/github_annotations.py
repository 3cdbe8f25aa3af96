"""A comparison as annotations that GitHub shows beside the changed files: workflow commands, one a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_rows import judged_rows, rows_of
from quaver.core.number_format import visible_line

_MOST: Final = 10
"""GitHub shows so many errors, and so many warnings, of a step."""

_DATA: Final = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY: Final = _DATA | {":": "%3A", ",": "%2C"}

Severity = Literal["error", "warning", "notice"]


def workflow_commands(found: Comparison, *, file: str = "") -> list[str]:
    """The workflow commands of a comparison.

    An error for each difference for which a bound fails, a warning for each other loss, and a notice of each
    other measure's verdict.

    Args:
        found: The comparison.
        file: The study file, as a path from the repository's root, at which they are shown; none if left out.
    """
    errors = [
        (row.measure, f"{row.where}: {row.words}" if row.cell else row.words)
        for row in judged_rows(found)
        if row.failed
    ]
    named = {measure for measure, _ in errors}
    losses = [
        (row.measure, f"{row.where}: {row.words}" if row.cell else row.words)
        for row in rows_of(found)
        if row.verdict.kind == "loss" and row.measure not in named
    ]
    named |= {measure for measure, _ in losses}
    others = [
        (measure, f"{one.words[:1].upper()}{one.words[1:]}.")
        for measure, one in found.by_measure().items()
        if measure not in named
    ]
    shown: list[tuple[Severity, list[tuple[str, str]]]] = [
        ("error", errors),
        ("warning", losses),
        ("notice", others),
    ]
    return [line for severity, some in shown for line in _few(severity, some, file)]


def _few(severity: Severity, some: list[tuple[str, str]], file: str) -> Iterator[str]:
    for measure, message in some[:_MOST]:
        yield command(severity, message, title=f"Quaver: {measure}", file=file)


def command(severity: Severity, message: str, **properties: str) -> str:
    r"""A workflow command, in which nothing of a text can end it or begin another.

    >>> command("error", "100%, and\n::more", title="a: b, c")
    '::error title=a%3A b%2C c::100%25, and\\n::more'
    """
    known = {name: _escaped(visible_line(value), _PROPERTY) for name, value in properties.items() if value}
    given = ",".join(f"{name}={value}" for name, value in known.items())
    return f"::{severity}{' ' if given else ''}{given}::{_escaped(visible_line(message, 1000), _DATA)}"


def _escaped(text: str, with_: dict[str, str]) -> str:
    return "".join(with_.get(character, character) for character in text)
