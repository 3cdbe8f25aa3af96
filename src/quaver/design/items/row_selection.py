"""Which rows of a table a study uses, and where a row stands, for errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quaver.core.number_format import text_of
from quaver.design.items.answer_options import listed
from quaver.design.items.table_row import Row
from quaver.design.spec.items_spec import Condition
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, UnknownName

Numbered = tuple[int, Mapping[str, Any]]
_MOST_VALUES = 8


def place_of(
    row: Mapping[str, Any], number: int, source: Positions, loc: tuple[str, ...] = ("items",)
) -> str:
    """The file and the line of a row, or its number in its source."""
    return row.where if isinstance(row, Row) else f"{source.where(*loc, 'source')}: row {number}"


def rows_where(
    rows: Sequence[Numbered],
    conditions: Mapping[str, Condition],
    columns: Collection[str],
    source: Positions,
    loc: tuple[str, ...],
) -> Sequence[Numbered]:
    """The rows that meet all conditions, with the numbers that they had.

    Raises:
        UnknownName: A condition is about a column that does not exist.
        ItemError: No row is left, or a limit is a number and a cell is none.
    """
    for column, condition in conditions.items():
        place = source.where(*loc, column)
        if column not in columns:
            raise UnknownName("column", column, columns, where=place)
        kept, texts = [], Counter[str]()
        for number, row in rows:
            where = f"{place_of(row, number, source, loc[:-1])}: {column}"
            text, entries = _in_words(row.get(column), condition, where)
            texts[text] += 1
            try:
                if condition.entries == entries and (entries is not None or condition.met(text)):
                    kept.append((number, row))
            except ValueError:
                raise ItemError(
                    "this cell is compared with a number, but is not one",
                    where=where,
                    expected=f"a number, as the limit of {place} is one",
                    found=text[:120],
                    fix="leave such rows out with `none_of`, or put the limit in quotation marks",
                ) from None
        if not kept:
            common = [f"{text[:40] or '(empty)'} ({n:,})" for text, n in texts.most_common(_MOST_VALUES)]
            raise ItemError(
                "no row meets this condition",
                where=place,
                expected="a condition that some rows meet",
                found=f"{', '.join(common)}{', …' if len(texts) > _MOST_VALUES else ''}",
                fix="write one of the values that are found",
            )
        rows = kept
    return rows


def _in_words(cell: Any, condition: Condition, where: str) -> tuple[str, int | None]:
    """A cell's text; or how many entries its list has, where the condition is about that."""
    if condition.entries is None:
        return text_of(cell, where), None
    entries = len(listed(cell) or ())
    return f"{entries} entries", entries
