"""Results in a notebook: plain tables with every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from quaver.core.number_format import decimals
from quaver.core.records import Estimate

_MOST_ROWS = 200


class Estimates(list[Estimate]):
    """A list of estimates that a notebook shows as a table with a row each."""

    def _repr_html_(self) -> str:
        columns = list(dict.fromkeys(column for one in self for column in one.cell))
        heads = ("measure", *columns, "value", "interval", "n", "unit", "remarks")
        rows = [
            (one.measure, *(one.cell.get(column, "") for column in columns), *_numbers(one))
            for one in self[:_MOST_ROWS]
        ]
        left = len(self) - _MOST_ROWS
        return html_table(heads, rows, f"{left:,} more are not shown." if left > 0 else "")


def _numbers(one: Estimate) -> tuple[str, ...]:
    value = "undefined" if one.value is None else decimals(one.value)
    ends = "" if one.low is None or one.high is None else f"{decimals(one.low)} to {decimals(one.high)}"
    remarks = "; ".join([*([one.reason] if one.reason else []), *one.warnings])
    return value, ends, f"{one.n:,}", one.resampled, remarks


def html_table(heads: Sequence[str], rows: Sequence[Sequence[object]], note: str = "") -> str:
    """A table as HTML, with a note below it.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + (f"<p>{escape(note)}</p>" if note else "")
