"""What is odd about a table of texts, shown before anything is asked, each with what to do."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from quaver.core.label_decisions import Decision
from quaver.core.labels import MISSING, folded
from quaver.core.number_format import count
from quaver.design.items.text_lines import Row
from quaver.study.checking.text_table import plain_text
from quaver.study.imports.columns import Table

_FEWEST_CODES = 10
"""A column with fewer different numbers is none of codes."""

_GARBLED = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€")
"""What UTF-8 becomes where it is read as something else."""
_MOST_DOUBTS = 10


def doubts_about(table: Table, text: str | None, gold: str | None) -> list[Decision]:
    """What a person should know of a table before its texts are asked about, each with what to do."""
    found, rows = list[tuple[str, str]](), len(table.rows)
    is_text_file = table.path.suffix.lower() in (".csv", ".tsv", ".tab")
    if is_text_file and (above := _lines_above(table)) > 0:
        problem = f"{count(above, 'line')} above the first row, beside the header"
        found.append((problem, "left out: further headers, or a separator's line"))
    if is_text_file and (swallowed := sum(_swallowed(row, len(table.columns)) for row in table.rows)):
        problem = f"{count(swallowed, 'row')} may have vanished into a text that a quotation mark opened"
        found.append((problem, "--quote none reads quotation marks as text"))
    if text:
        counts = table.counts(text)
        if empty := counts.get("", 0):
            have = "has" if empty == 1 else "have"
            problem = f"{empty:,} of {count(rows, 'row')} {have} no text"
            found.append((problem, "not asked about; the labelled copy keeps them without a label"))
        if garbled := sum(bool(_GARBLED.search(cell)) for cell in counts):
            found.append((f"{garbled:,} texts have signs of a wrong encoding", "save the table as UTF-8"))
    if text and gold:
        labels: dict[str, set[str]] = defaultdict(set)
        for row in table.rows:
            labels[plain_text(row.text(text))].add(folded(row.text(gold)))
        missing = {*map(folded, MISSING)}
        if apart := sum(len(own - missing) > 1 for form, own in labels.items() if form):
            problem = f"{count(apart, 'text')} with different hand labels"
            found.append((problem, "settle them, or accuracy counts some as wrong"))
    for name in table.columns:
        if name != text and _lost_zeros(table, name):
            found.append(
                (f"the codes in {name} may have lost zeros at the front", "format the column as text")
            )
    return [Decision("table", problem, fix) for problem, fix in found[:_MOST_DOUBTS]]


def _lines_above(table: Table) -> int:
    """How many lines of a text file stand above the first row, beside the header."""
    first = table.rows[0]
    breaks = sum(str(cell).count("\n") for cell in (*first, *first.values()))
    return first.number - 2 - breaks


def _swallowed(row: Row, columns: int) -> int:
    """How many rows a cell has taken in, where its lines have as many separators as rows have."""
    for cell in row.values():
        if not isinstance(cell, str) or "\n" not in cell or columns < 2:
            continue
        for sign in "\t,;|":
            first, *whole, last = [line.count(sign) for line in cell.split("\n")]
            if first + last == columns - 1 and all(number == columns - 1 for number in whole):
                return 1 + len(whole)
    return 0


def _lost_zeros(table: Table, name: str) -> bool:
    """Whether a column has codes of one length of digits, but for a few shorter ones, and counts no rows."""
    values = table.values(name)
    if len(values) < _FEWEST_CODES or not all(value.isdecimal() for value in values):
        return False
    lengths = Counter(map(len, values))
    usual, most = max(lengths.items(), key=lambda pair: pair[1])
    counts_rows = max(map(int, values)) <= 2 * len(table.rows) or any(value[0] == "0" for value in values)
    return usual > 2 and not counts_rows and max(lengths) == usual and 0.7 * len(values) <= most < len(values)
