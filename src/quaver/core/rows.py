"""What every result that holds rows can do: become a Polars or a pandas frame."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from quaver.core.number_format import decimals
from quaver.core.records import Estimate
from quaver.errors import QuaverError

if TYPE_CHECKING:
    import polars as pl

SHOWN = 10
"""The most rows that a short text shows."""


class Rows:
    """The base of results that hold rows; each has ``rows``."""

    __slots__ = ()

    def rows(self) -> Sequence[dict[str, Any]]:
        """The rows, each by its columns."""
        raise NotImplementedError

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """The rows as a pandas frame.

        Raises:
            QuaverError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise QuaverError(
                "pandas is not installed",
                where="to_pandas",
                found=str(error),
                fix="pip install pandas, or use to_polars()",
            ) from None
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))


def short_lines(lines: Sequence[str], noun: str) -> str:
    """The first of many lines, and how many are left out.

    >>> print(short_lines([str(n) for n in range(12)], "rows").splitlines()[-1])
    … and 2 more rows; to_polars() has all of them
    """
    left = len(lines) - SHOWN
    more = [f"… and {left:,} more {noun}; to_polars() has all of them"] if left > 0 else []
    return "\n".join([*lines[:SHOWN], *more])


_MOST_ROWS = 200


class Estimates(list[Estimate], Rows):
    """A list of estimates: a table in a notebook, a few lines elsewhere, a frame on request."""

    def __repr__(self) -> str:
        lines = [str(one) for one in self]
        return short_lines(lines, "estimates") if lines else "no estimates"

    def rows(self) -> list[dict[str, Any]]:
        """The estimates, each by its columns."""
        return self.to_polars().to_dicts()

    def to_polars(self) -> pl.DataFrame:
        """A frame with a row for each estimate.

        The columns are those of its cells, then ``measure``, ``value``, ``low``, ``high``, ``n`` and so on.
        """
        from quaver.core.estimate_frame import estimates_frame

        return estimates_frame(self)

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
