"""A comparison as Markdown for the comment on a pull request: verdict, table, flipped items.

Names, labels and texts come from the pull request and from models, so none of them is trusted: each stands in
a code span of its own, in which GitHub and GitLab know no links, mentions, HTML or tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from xml.etree import ElementTree

from quaver.comparison.comparison_result import (
    FIXED,
    Comparison,
    Row,
    headline,
    judged_rows,
    loss_rows,
    rows_of,
)
from quaver.comparison.difference_verdict import KINDS
from quaver.core.number_format import short_name, visible, visible_line
from quaver.core.records import NO_LABEL

_MOST_ROWS = 30
_MOST_FAILED = 10
_MOST_FLIPS = 20
_LONGEST: Final = 60_000
"""Characters; GitHub takes 65,536."""

_OWN: Final = frozenset(["item", "before", "after", "gold", "change"])


def markdown(found: Comparison, *, flips: int = _MOST_FLIPS, texts: Mapping[str, str] | None = None) -> str:
    """Write a comparison for people who review a change.

    Returns:
        Markdown in GitHub's flavour, which GitLab reads as well, of at most 60,000 characters.
    """
    parts = [
        f"### {_plain(headline(found))}",
        f"{code(found.before)}, then {code(found.after)}: {found.items:,} items in both.",
        _losses(found),
        _differences(found),
        _bounds(found),
        _flipped(found, flips, texts or {}),
        _notes(found),
    ]
    text = ""
    for part in filter(None, parts):
        if len(text) + len(part) < _LONGEST:
            text += f"{part}\n\n"
    return text.rstrip() + "\n"


def code(text: str, most: int = 80) -> str:
    """Any text as a code span, in which nothing has a meaning.

    >>> code("a|b"), code("`x` @all"), code("")
    ('`a|b`', '`` `x` @all ``', '` `')
    """
    line = visible_line(text, most) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    edge = " " if line.strip(" ") and (line[0] in " `" or line[-1] in " `") else ""
    return f"{fence}{edge}{line}{edge}{fence}"


def _plain(text: str) -> str:
    """A sentence of Quaver's, which may hold a name: nothing in it is Markdown, a link or a mention."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#~&:.!@])", r"\\\1", visible_line(text, 500))
    escaped = re.sub(r"\\([.:])(?=\s|$|\d)", r"\1", escaped)
    return re.sub(r"([@#])", "\\1\u200b", escaped)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> str:
    """A table; a pipe is escaped in any cell, even in a code span."""
    lines = [heads, ["---:" if head in right else "---" for head in heads], *rows]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def _differences(found: Comparison) -> str:
    rows = sorted(rows_of(found), key=lambda row: KINDS.index(row.verdict.kind))
    if not rows:
        return ""
    columns = list(dict.fromkeys(column for row in rows for column in row.cell))
    level = f"{100 * rows[0].verdict.estimate.confidence_level:.4g}% interval"
    heads = ("measure", *map(code, columns), "before", "after", "difference", level, "verdict", "could see")
    lines = [_line(row, columns) for row in rows[:_MOST_ROWS]]
    more = f"\n\n… and {len(rows) - _MOST_ROWS:,} more differences." if len(rows) > _MOST_ROWS else ""
    return _table(heads, lines, ("before", "after", "difference", "could see")) + more


def _line(row: Row, columns: Sequence[str]) -> list[str]:
    cells = [code(row.cell[column]) if column in row.cell else "" for column in columns]
    shown = f"**{_plain(row.verdict.words)}**" if row.verdict.kind == "loss" else _plain(row.verdict.words)
    numbers = [*row.side_values, row.difference, row.interval]
    return [code(row.measure), *cells, *numbers, shown, row.verdict.seen or "nothing"]


def _losses(found: Comparison) -> str:
    """Classes and groups that lose; the others behind a line that counts them."""
    rows = [row for row in loss_rows(found) if row.verdict.of_part]
    if not rows:
        return ""
    heads = ("class or group", "before", "after", "difference", "interval", "verdict")
    lost = [row for row in rows if row.verdict.kind == "loss" or row.verdict in found.lost]
    rest = [row for row in rows if row not in lost]
    parts = [_table(heads, [_loss_line(row) for row in lost[:_MOST_ROWS]], heads[1:4])] if lost else []
    if rest:
        shown = _table(heads, [_loss_line(row) for row in rest[:_MOST_ROWS]], heads[1:4])
        head = f"No loss is shown in {len(rest):,}{' other' * bool(lost)} classes and groups"
        parts.append(f"<details><summary>{head}</summary>\n\n{shown}\n\n</details>")
    return "\n\n".join(parts)


def _loss_line(row: Row) -> list[str]:
    words = _plain(row.verdict.words)
    shown = f"**{words}**" if row.verdict.kind == "loss" else words
    return [code(f"{row.measure} {row.where}"), *row.side_values, row.difference, row.interval, shown]


def _bounds(found: Comparison) -> str:
    lines = []
    rows = judged_rows(found)
    for one in found.judgements:
        verdict = "holds" if one.held else "**fails**"
        text = code(f"--fail-{one.bound.kind} '{one.bound.text}'", 200)
        lines.append(f"- {text}: {verdict}. {_plain(one.seen)}".rstrip())
        failed = [row for row in rows if row.failed and row.bound is one.bound]
        lines += [
            f"  - {code(row.where) + ': ' if row.cell else ''}{_plain(row.words)}" for row in failed[:10]
        ]
    return "\n".join(lines)


def _flipped(found: Comparison, most: int, texts: Mapping[str, str]) -> str:
    flips = found.flips
    if flips.is_empty():
        return "No item has another label."
    columns = [name for name in flips.columns if name not in _OWN and flips[name].n_unique() > 1]
    gold = ["gold"] * (flips["gold"].null_count() < flips.height)
    heads = ["item", *map(code, columns), "before", "after", *gold, *(["text"] * bool(texts))]
    lines = []
    for row in flips.head(most).iter_rows(named=True):
        cells = [code(row["item"]), *(code(short_name(str(row[name]))) for name in columns)]
        cells += [NO_LABEL if row[name] is None else code(row[name]) for name in ("before", "after")]
        cells += ["" if row[name] is None else code(row[name]) for name in gold]
        cells += [code(_text_of(row, texts), 120)] * bool(texts)
        lines.append(cells)
    more = f"\n\n… and {flips.height - most:,} more." if flips.height > most else ""
    table = f"\n\n{_table(heads, lines)}{more}" if most else ""
    return f"<details><summary>{_counted(found)}</summary>{table}\n\n</details>"


def _text_of(row: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    """An item's text; of a collection's, by its study and id."""
    return texts.get(f"{row.get('study')}/{row['item']}") or texts.get(row["item"], "")


def _counted(found: Comparison) -> str:
    flips = found.flips
    counts = dict(flips["change"].drop_nulls().value_counts().iter_rows())
    items = found.flipped
    gold = f": {counts.get('gain', 0):,} to the true label, {counts.get('loss', 0):,} from it" * bool(counts)
    where = f" in {flips.height:,} cells" * (flips.height > items)
    return f"{items:,} item{'s have' if items > 1 else ' has'} another label{where}{gold}"


def _notes(found: Comparison) -> str:
    notes = [
        "*Could see*: the smallest true loss that 80% of runs like this one would show.",
        *([_plain(found.look.sentence)] if found.look is not None else []),
        *([_plain(found.round.sentence)] if found.round is not None else []),
        FIXED,
        *(_plain(line) for line in found.notes),
        *(f"Left out: {code(line, 300)}." for line in found.left_out),
        *(_plain(line) for line in found.undefined),
    ]
    return "<sub>" + " ".join(notes) + "</sub>"


def junit(found: Comparison, *, file: str = "") -> str:
    """Write a comparison as JUnit XML.

    Each bound is a test of each difference that it judges. Without bounds, each difference is a test, which
    passes whatever it is. An undefined difference is a skipped test.
    """
    rows = judged_rows(found) or rows_of(found)
    failed = sum(row.failed for row in rows)
    skipped = sum(_is_skipped(row) for row in rows)
    counts = {"tests": f"{len(rows)}", "failures": f"{failed}", "errors": "0", "skipped": f"{skipped}"}
    root = ElementTree.Element("testsuites", {"name": "quaver compare", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _reports_line(_sides(found)), **counts})
    known = {"before": found.before, "after": found.after, "items": f"{found.items}"}
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in known.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _reports_line(value)})
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
    named = {"classname": _reports_line(f"quaver.{row.measure}"), "name": _reports_line(name)}
    case = ElementTree.SubElement(suite, "testcase", named | ({"file": _reports_line(file)} if file else {}))
    if row.failed:
        kind = {"type": row.verdict.kind, "message": _reports_line(row.verdict.words)}
        ElementTree.SubElement(case, "failure", kind).text = visible(row.words)
    elif _is_skipped(row):
        ElementTree.SubElement(case, "skipped", {"message": _reports_line(row.verdict.words)})
    ElementTree.SubElement(case, "system-out").text = visible(row.words)


def _is_skipped(row: Row) -> bool:
    return row.verdict.kind == "undefined"


def _sides(found: Comparison) -> str:
    return f"{found.before}, then {found.after}"


def _reports_line(text: str) -> str:
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
