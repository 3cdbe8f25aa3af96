"""What is odd about a table of texts, shown before anything is asked, each with what to do."""

from __future__ import annotations

import re
from collections import defaultdict

from quaver.core.label_decisions import Decision
from quaver.core.labels import MISSING, folded
from quaver.core.number_format import count
from quaver.design.items.table_files import Row
from quaver.study.checking.text_table import plain_text
from quaver.study.imports.columns import Table

_GARBLED = re.compile("\ufffd|Ã[\u0080-\u00bf]|â€")
"""What UTF-8 becomes where it is read as something else."""


def doubts_about(table: Table, text: str | None, gold: str | None) -> list[Decision]:
    """What a person should know of a table before its texts are asked about, each with what to do."""
    found, rows = list[tuple[str, str]](), len(table.rows)
    is_text_file = table.path.suffix.lower() in (".csv", ".tsv", ".tab")
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
    return [Decision("table", problem, fix) for problem, fix in found]


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
