"""A comparison as CI services show it: JUnit XML, and annotations beside the changed files on GitHub."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal
from xml.etree import ElementTree

from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_rows import Row, headline, judged_rows, rows_of
from quaver.core.number_format import visible, visible_line


def junit(found: Comparison, *, file: str = "") -> str:
    """Write a comparison as JUnit XML.

    Each bound is a test of each difference that it judges. Without bounds, each difference is a test, which
    passes whatever it is. An undefined difference is a skipped test.

    Args:
        found: The comparison.
        file: The study file, which GitLab links to; none if left out.
    """
    rows = judged_rows(found) or rows_of(found)
    failed = sum(row.failed for row in rows)
    skipped = sum(_is_skipped(row) for row in rows)
    counts = {"tests": f"{len(rows)}", "failures": f"{failed}", "errors": "0", "skipped": f"{skipped}"}
    root = ElementTree.Element("testsuites", {"name": "quaver compare", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _line(_sides(found)), **counts})
    known = {"before": found.before, "after": found.after, "items": f"{found.items}"}
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in known.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _line(value)})
    for row in rows:
        _case(suite, row, file)
    out = ElementTree.SubElement(suite, "system-out")
    left_out = [f"Left out: {line}." for line in found.left_out]
    out.text = visible("\n".join([headline(found), *left_out, *found.undefined]))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(suite: ElementTree.Element, row: Row, file: str) -> None:
    bound = f"fail-{row.bound.kind} {row.bound.text}" if row.bound else ""
    name = ", ".join(filter(None, [bound or row.measure, row.where]))
    named = {"classname": _line(f"quaver.{row.measure}"), "name": _line(name)}
    case = ElementTree.SubElement(suite, "testcase", named | ({"file": _line(file)} if file else {}))
    if row.failed:
        kind = {"type": row.verdict.kind, "message": _line(row.verdict.words)}
        ElementTree.SubElement(case, "failure", kind).text = visible(row.words)
    elif _is_skipped(row):
        ElementTree.SubElement(case, "skipped", {"message": _line(row.verdict.words)})
    ElementTree.SubElement(case, "system-out").text = visible(row.words)


def _is_skipped(row: Row) -> bool:
    return row.verdict.kind == "undefined"


def _sides(found: Comparison) -> str:
    return f"{found.before}, then {found.after}"


def _line(text: str) -> str:
    return visible_line(text, 500)


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
