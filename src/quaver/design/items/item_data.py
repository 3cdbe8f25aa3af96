"""Rows from what Python holds: frames of any library, lists of texts or mappings, mappings of columns."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any

import polars as pl

from quaver.core.arguments import excerpt
from quaver.core.number_format import text_of
from quaver.design.items.answer_options import listed
from quaver.design.items.table_files import Row, further_headers
from quaver.design.spec.items_spec import Condition
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, QuaverError, UnknownName

TEXT = "text"
"""The column of a list of texts."""

_WHOLE = 2**53
"""Whole numbers up to this are the same as floats."""


def items_from(data: Any, where: str = "items") -> list[Row]:
    """The rows of a table that is no file.

    If all numbers of a column are whole, they have no decimals: pandas turns ``1`` into ``1.0`` in a column
    with gaps. Missing values of any kind become None.

    >>> items_from(["one text", "another"])
    [{'text': 'one text'}, {'text': 'another'}]
    >>> items_from({"id": [1.0, None], "text": ["a", "b"]})
    [{'id': 1, 'text': 'a'}, {'id': None, 'text': 'b'}]
    """
    columns = _columns(data, where)
    plain = {name: _whole_numbers(list(map(_plain, values))) for name, values in columns.items()}
    rows = []
    for number, cells in enumerate(zip(*plain.values(), strict=True), start=1):
        rows.append(Row(zip(plain, cells, strict=True), where, f" row {number}"))
    return rows[further_headers(rows[:2]) :]


def is_data(value: Any) -> bool:
    """Whether this is a table itself, and not its name or the options that describe it."""
    return not (value is None or isinstance(value, str | Path | Mapping | bytes | int | float))


def written_items(rows: Sequence[Row]) -> bytes:
    """The rows as JSON Lines."""
    lines = []
    for row in rows:
        try:
            lines.append(json.dumps(row, ensure_ascii=False, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise ItemError(
                "a cell that cannot be written to a file",
                where=row.where,
                expected="texts, numbers, truth values, dates, or lists of these",
                found=str(error)[:120],
            ) from None
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def name_of_items(content: bytes) -> str:
    """The name of the file that keeps items: the same items have the same name."""
    return f"items-{sha256(content).hexdigest()[:12]}.jsonl"


def column_template(column: str) -> str:
    """The template of a text that stands in one column.

    >>> column_template("tweet"), column_template("My text")
    ('{{ tweet }}', "{{ item['My text'] }}")
    """
    taken = ("item", "options", "true", "false", "none")
    is_name = column.isidentifier() and column.isascii() and column.casefold() not in taken
    return f"{{{{ {column} }}}}" if is_name else f"{{{{ item[{column!r}] }}}}"


def _columns(data: Any, where: str) -> dict[str, list[Any]]:
    """The columns of a table, their values as the library has them."""
    if isinstance(data, Mapping):
        columns = {}
        for name, values in data.items():
            if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
                raise _no_table(data, where, f"{name}: {excerpt(values)}")
            columns[str(name)] = list(values)
        if len(set(map(len, columns.values()))) > 1:
            lengths = [f"{name}: {len(values):,}" for name, values in columns.items()]
            sizes = ", ".join(lengths[:6])
            raise ItemError("the columns differ in length", where=where, expected="one length", found=sizes)
        return columns
    if isinstance(data, list | tuple):
        return _of_list(data, where)
    try:
        return _of_frame(data, where)
    except QuaverError:
        raise
    except Exception as error:  # each library refuses what it cannot convert in its own way
        raise _no_table(data, where, str(error)) from None


def _of_frame(data: Any, where: str) -> dict[str, list[Any]]:
    """The columns of a frame or a series of any library."""
    import narwhals as nw  # here, and not above: most studies read files

    frame = nw.from_native(data, pass_through=True, allow_series=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.Series):
        return {str(frame.name or TEXT): frame.to_list()}
    if isinstance(frame, nw.DataFrame):
        return {str(name): frame[name].to_list() for name in frame.columns}
    if getattr(data, "ndim", 0) == 1 and hasattr(data, "tolist"):
        return _of_list(data.tolist(), where)
    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        raise TypeError(f"{type(data).__module__}.{type(data).__name__}")
    try:
        return pl.DataFrame(data).to_dict(as_series=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return {TEXT: pl.Series(data).to_list()}


def _of_list(data: Sequence[Any], where: str) -> dict[str, list[Any]]:
    """A list of texts, or of mappings, which may leave columns out."""
    if all(isinstance(record, Mapping) for record in data):
        names = dict.fromkeys(str(name) for record in data for name in record)
        rows = [{str(name): value for name, value in record.items()} for record in data]
        return {name: [row.get(name) for row in rows] for name in names}
    for number, text in enumerate(data, start=1):
        if not isinstance(text, str):
            raise ItemError(
                "this list is neither one of texts nor one of mappings",
                where=f"{where}: row {number}",
                expected="a text" if isinstance(data[0], str) else "a mapping of columns",
                found=excerpt(text),
            )
    return {TEXT: list(data)}


def _no_table(data: Any, where: str, found: str) -> ItemError:
    return ItemError(
        "these are not items",
        where=where,
        expected="a file, a data frame, a list of texts or of mappings, or a mapping of columns",
        found=f"{type(data).__module__}.{type(data).__name__}: {' '.join(found.split())[:160]}",
    )


def _whole_numbers(values: list[Any]) -> list[Any]:
    """A column of numbers with 1 for 1.0, where no number has decimals."""
    kinds = set(map(type, values))
    if float not in kinds or kinds - {float, int, NoneType}:
        return values
    if any(type(value) is float and not (value.is_integer() and abs(value) <= _WHOLE) for value in values):
        return values
    return [None if value is None else int(value) for value in values]


def _plain(value: Any) -> Any:
    """A cell as JSON can hold it."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else float(value) if math.isfinite(value) else str(value)
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' missing values
        return None
    if isinstance(value, datetime):  # the date alone at midnight, as spreadsheets and databases store days
        is_day = value.tzinfo is None and value.time() == time()
        return value.date().isoformat() if is_day else value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | pl.Series):
        return list(map(_plain, value))
    if hasattr(value, "tolist"):  # a number or an array of NumPy
        return _plain(value.tolist())
    return text_of(value) if isinstance(value, bytes) else str(value)


Numbered = tuple[int, Row]
"""A row, and its number in its source."""

_MOST_VALUES = 8


def rows_where(
    rows: Sequence[Numbered],
    conditions: Mapping[str, Condition],
    columns: Collection[str],
    source: Positions,
    loc: tuple[str, ...],
) -> Sequence[Numbered]:
    """The rows that meet all conditions, with the numbers that they had."""
    for column, condition in conditions.items():
        place = source.where(*loc, column)
        if column not in columns:
            raise UnknownName("column", column, columns, where=place)
        kept, texts = [], Counter[str]()
        for number, row in rows:
            is_list = condition.entries is not None
            text = str(len(listed(row.get(column)) or ())) if is_list else row.text(column)
            texts[text] += 1
            try:
                if condition.met(text):
                    kept.append((number, row))
            except ValueError:
                raise ItemError(
                    "this cell is compared with a number, but is not one",
                    where=f"{row.where}: {column}",
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
                found=", ".join(common) + (", …" if len(texts) > _MOST_VALUES else ""),
                fix="write one of the values that are found",
            )
        rows = kept
    return rows
