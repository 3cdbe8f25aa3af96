"""Tables of SPSS and Stata, whose codes have labels, and of R; an extra reads and writes them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.input_budget import MOST_BYTES, MOST_CELLS, InputBudget
from quaver.errors import ItemError, QuaverError

_R, _ROW_NAMES = ".rds", "rownames"
STATISTICS: Final = (".sav", ".zsav", ".dta", _R)
_PACKED: Final[dict[bytes, Callable[..., Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZ": bz2.open,
    b"\xfd7": lzma.open,
}
"""How R packs a file, by its first bytes."""
_WIDTHS: Final = {"int8": pl.Int8, "int16": pl.Int16, "int32": pl.Int32}


def read_statistics(path: Path) -> list[dict[str, Any]]:
    """The rows of a file: a code's label instead of the code, a whole number without its point."""
    if path.suffix.lower() == _R:
        return _read_r(path).to_dicts()
    frame, meta = _read(path)
    columns = {}
    for column in frame:
        labels = meta.variable_value_labels.get(column.name, {})
        columns[column.name] = [labels.get(cell, _plain(cell)) for cell in column.to_list()]
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def write_statistics(source: Path, target: Path, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write a copy with new columns: codes, labels, formats and missing values as they were.

    A new column whose values are all labels of one variable has that variable's codes and labels.
    """
    if source.suffix.lower() == _R:
        own = pl.DataFrame(rows, schema=list(heads), orient="row", infer_schema_length=None)
        whole = _read_r(source).hstack(own)
        named = _ROW_NAMES if _ROW_NAMES in whole.columns else None
        _library("pyreadr").write_rds(str(target), whole, compress="gzip", rownames_column=named)
        return
    frame, meta = _read(source, user_missing=True, disable_datetime_conversion=True)
    kinds = meta.readstat_variable_types  # Stata's of the same width, where a cell is no missing value
    frame = frame.cast(
        {column.name: _WIDTHS[kinds[column.name]] for column in frame if column.dtype.is_integer()}
    )
    names, labels = _names(heads, frame.columns), dict(meta.variable_value_labels)
    new = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    for name in names:
        given = set(new[name].drop_nulls())
        for known in meta.variable_value_labels.values():
            codes = {label: code for code, label in known.items()}
            if given and given <= codes.keys():
                new = new.with_columns(pl.col(name).replace_strict(codes, default=None))
                labels[name] = known
                break
    kept: dict[str, Any] = {
        "column_labels": dict(meta.column_names_to_labels) | dict(zip(names, heads, strict=True)),
        "variable_value_labels": labels,
        "variable_format": meta.original_variable_types,
        "file_label": meta.file_label or "",
    }
    if source.suffix.lower() == ".dta":
        _library().write_dta(frame.hstack(new), target, **kept, missing_user_values=meta.missing_user_values)
        return
    kept["missing_ranges"], kept["note"] = meta.missing_ranges, meta.notes or None
    kept |= {"variable_measure": meta.variable_measure, "variable_display_width": meta.variable_display_width}
    is_packed = source.suffix.lower() == ".zsav"
    _library().write_sav(frame.hstack(new), target, **kept, compress=is_packed)


def _read_r(path: Path) -> pl.DataFrame:
    library, budget = _library("pyreadr"), InputBudget(MOST_BYTES, "bytes")
    with path.open("rb") as file:
        unpacked = _PACKED.get(file.read(2), open)
    try:
        with unpacked(path, "rb") as whole:
            while block := whole.read(1 << 20):
                budget.spend(len(block))
        (frame,) = library.read_r(str(path), output_format="polars").values()
        if _ROW_NAMES in frame.columns and frame[_ROW_NAMES].str.to_integer(strict=False).is_not_null().all():
            return pl.DataFrame(frame.drop(_ROW_NAMES))  # numbers that R counts, too
        return pl.DataFrame(frame)
    except QuaverError:
        raise
    except Exception as error:  # a list, a model, a damaged file
        raise ItemError(
            "this R file does not hold a single data frame",
            where=str(path),
            expected="a data frame written by saveRDS",
            found=str(error)[:200],
            fix="write the data frame from R: write.csv(…), or arrow::write_parquet(…)",
        ) from None


def _read(path: Path, **how: Any) -> tuple[pl.DataFrame, Any]:
    library = _library()
    read = library.read_dta if path.suffix.lower() == ".dta" else library.read_sav
    try:
        with path.open("rb") as file:  # whose own error is that of any other file
            InputBudget(MOST_BYTES, "bytes").spend(file.seek(0, 2))
        _, meta = read(str(path), metadataonly=True)
        InputBudget(MOST_CELLS, "cells").spend((meta.number_rows or 0) * meta.number_columns)
        frame, meta = read(str(path), output_format="polars", **how)
    except OSError:
        raise
    except Exception as error:  # a damaged file raises any error of the library's
        raise ItemError(
            "this is not an SPSS or Stata file", where=str(path), found=str(error)[:200]
        ) from None
    return frame, meta


def _library(name: str = "pyreadstat") -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ItemError(
            "SPSS, Stata and R files need a library",
            expected=name,
            found="it is not installed",
            fix='pip install "quaver[stats]", or save the table as CSV',
        ) from None


def _plain(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _names(heads: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names that these programs allow: letters, digits and underscores, capitals or not."""
    known, names = {name.casefold() for name in taken}, []
    for head in heads:
        plain = "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in head).strip("_")[:28]
        name, number = plain, 1
        while name.casefold() in known:
            number += 1
            name = f"{plain}_{number}"
        known.add(name.casefold())
        names.append(name)
    return names
