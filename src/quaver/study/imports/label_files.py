"""Files of labels as rows: a table, another tool's log, or several of the same columns as one table."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from quaver.core.label_decisions import Decision
from quaver.core.replaced_file import replacing
from quaver.design.items.table_files import read_rows
from quaver.design.items.text_lines import Row
from quaver.errors import ItemError
from quaver.study.imports.import_options import ImportOptions
from quaver.study.imports.tool_logs import log_in, with_roles


def files_of(path: Path) -> list[Path]:
    """The file of this name, or those that fit it as a pattern (``graded/*.csv``), by their names."""
    if os.path.lexists(path) or not glob.has_magic(str(path)):
        return [path]
    paths = sorted(Path(one) for one in glob.glob(str(path), recursive=True) if os.path.isfile(one))
    if not paths:
        raise ItemError(
            "no file fits this pattern",
            where=str(path),
            expected="a pattern that files fit, such as graded/*.csv",
            fix="put it in quotes, and start from the folder that you are in",
        )
    return paths


def read_table(
    path: Path,
    encoding: str = "utf-8",
    separator: str | None = None,
    sheet: str | None = None,
    quote: str | None = None,
    columns: Sequence[str] = (),
) -> list[Row]:
    """The rows of a file of labels."""
    if not os.path.isfile(path):
        raise ItemError(
            "there is no such file",
            where=str(path),
            expected="a CSV, TSV, XLSX, ODS, JSON Lines or Parquet file of labels",
        )
    hint = "--{name}={value}"
    rows = read_rows(path, encoding, separator, sheet=sheet, quote=quote, columns=columns, hint=hint)
    if not rows:
        raise ItemError(
            "there are no annotations", where=str(path), expected="a header and rows", found="no row"
        )
    return rows


def rows_of_files(files: Sequence[Path], options: ImportOptions, decisions: list[Decision]) -> list[Row]:
    """The rows of all files; what their columns are is added to the options where the files are logs."""
    read = (options["encoding"], options["separator"], options["sheet"], options["quote"])
    logs = [log_in(file) for file in files]
    parts = [log.rows if log else read_table(file, *read) for file, log in zip(files, logs, strict=True)]
    columns = dict.fromkeys(name for rows in parts for name in rows[0])
    for file, rows in zip(files, parts, strict=True):
        if rows[0].keys() != columns.keys() and not any(logs):
            raise ItemError(
                "these files have different columns",
                where=str(file),
                expected=", ".join(parts[0][0]),
                found=", ".join(rows[0]),
                fix="narrow the pattern, or import the files one by one",
            )
        for row in rows:
            row.update(dict.fromkeys(columns.keys() - row.keys()))
    whole = [row for rows in parts for row in rows]
    if named := next(((file, log) for file, log in zip(files, logs, strict=True) if log), None):
        decisions.append(Decision("log", named[0].name, f"of {named[1].tool}"))
        fields = dict.fromkeys(name for log in logs if log for name in log.fields)
        with_roles(whole, list(fields), options, decisions)
    return whole


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows as a CSV file."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
