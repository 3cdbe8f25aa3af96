"""A comparison as Markdown for the comment on a pull request: verdict, table, flipped items.

Names, labels and texts come from the pull request and from models, so none of them is trusted: each stands in
a code span of its own, in which GitHub and GitLab know no links, mentions, HTML or tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from quaver.comparison.comparison_result import FIXED, Comparison
from quaver.comparison.difference_rows import Row, headline, judged_rows, loss_rows, rows_of
from quaver.comparison.difference_verdict import KINDS
from quaver.core.number_format import short_name, visible_line
from quaver.core.records import NO_LABEL

_MOST_ROWS = 30
_MOST_FAILED = 10
_MOST_FLIPS = 20
_LONGEST: Final = 60_000
"""Characters; GitHub takes 65,536."""

_OWN: Final = frozenset(["item", "before", "after", "gold", "change"])


def markdown(found: Comparison, *, flips: int = _MOST_FLIPS, texts: Mapping[str, str] | None = None) -> str:
    """Write a comparison for people who review a change.

    Args:
        found: The comparison.
        flips: How many flipped items to show.
        texts: The items' texts, by id, to show an excerpt of each flipped item's; none if left out. Whoever
            can read the pull request can then read them.

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
