"""Several files as one table: a pattern of paths, what their names say, and true labels from another file."""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from string import Formatter

from quaver.core.label_decisions import Decision
from quaver.core.number_format import count
from quaver.core.replaced_file import replacing
from quaver.design.items.text_lines import Row
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.study.imports.agreement_import import read_table
from quaver.study.imports.import_options import ImportOptions
from quaver.study.imports.tool_logs import BATCHES, log_in, with_roles

JOINT = "/"
"""What stands between the parts of an id that several columns make up."""


def files_of(path: Path) -> list[Path]:
    """The file of this name, or those that fit it as a pattern (``graded/*.txt``), by their names."""
    if os.path.lexists(path) or not glob.has_magic(str(path)):
        return [path]
    paths = sorted(Path(one) for one in glob.glob(str(path), recursive=True) if os.path.isfile(one))
    if not paths:
        raise ItemError(
            "no file fits this pattern",
            where=str(path),
            expected="a pattern that files fit, such as graded/*.txt",
            fix="put it in quotes, and start from the folder that you are in",
        )
    return paths


def rows_of_files(files: Sequence[Path], options: ImportOptions, decisions: list[Decision]) -> list[Row]:
    """The rows of all files, each with what its file's path, or a batch's id, says as further columns."""
    said_by = parts_of_name(options["name"], "this name") if options["name"] is not None else None
    read = (options["encoding"], options["separator"], options["sheet"], options["columns"], options["quote"])
    rows: list[Row] = []
    fields: dict[str, None] = {}
    is_log = False
    for file in files:
        log = log_in(file)
        own = log.rows if log else read_table(file, *read)
        if log and not is_log:
            is_log = True
            decisions.append(Decision("log", file.name, f"of {log.tool}"))
        fields.update(dict.fromkeys(log.fields if log else ()))
        if said_by and log and log.tool in BATCHES:
            for row in own:
                row.update(said_by(row.text("item")))
        elif said_by:
            _say(own, said_by(file.resolve().as_posix()))
        if rows and rows[0].keys() != own[0].keys():
            _align(rows, own, {*own[0], *rows[0]} if log else {*options["coders"]}, file)
        rows += own
    if is_log:
        with_roles(rows, list(fields), options, decisions)
    return rows


def _say(rows: Sequence[Row], said: Mapping[str, str]) -> None:
    """Give each row what its file's path says."""
    if double := rows[0].keys() & said.keys():
        raise QuaverError(
            "the files have a column of this name",
            where="name",
            expected="other names in braces than those of the columns",
            found=", ".join(sorted(double)),
        )
    for row in rows:
        row.update(said)


def _align(rows: Sequence[Row], own: Sequence[Row], may_lack: Collection[str], file: Path) -> None:
    """Give the rows of one more file and those before the same columns, where these may be absent."""
    first, other = rows[0].keys(), own[0].keys()
    if not (first ^ other) <= set(may_lack):
        raise ItemError(
            "these files have different columns",
            where=str(file),
            expected=", ".join(first),
            found=", ".join(other),
            fix="narrow the pattern, or import the files one by one; only a coder's column may be absent",
        )
    for some, absent in ((own, first - other), (rows, other - first)):
        for row in some:
            row.update(dict.fromkeys(absent))


def parts_of_name(pattern: str, what: str) -> Callable[[str], dict[str, str]]:
    """What names say that end as a pattern does: ``{model}/graded_{variant}.txt``.

    A name in braces that occurs twice stands for the same text; ``{_}`` is left out.
    """
    expression, names = "", list[str]()
    try:
        for text, name, form, how in Formatter().parse(pattern):
            expression += re.escape(text)
            if name is None:
                continue
            if not name.isidentifier() or form or how:
                raise ValueError
            if name == "_":
                expression += "[^/]+?"
            else:
                expression += f"(?P={name})" if name in names else f"(?P<{name}>[^/]+?)"
                names.append(name)
    except ValueError:
        names = []
    if not names:
        raise QuaverError(
            "this is not a pattern of names",
            where="name",
            expected="text with names in braces: {model}/graded_{variant}.txt",
            found=pattern,
        )
    fits = re.compile(rf"(?:.*/)?{expression}", re.DOTALL)

    def parts(name: str) -> dict[str, str]:
        match = fits.fullmatch(name)
        if match is None:
            raise ItemError(
                f"{what} does not fit the pattern", where=name, expected=pattern, fix="change --name"
            )
        return match.groupdict()

    return parts


def with_joint_id(rows: Sequence[Row], columns: Sequence[str], where: str) -> str:
    """The name of a new column with the id that several columns make up."""
    for name in columns:
        if name not in rows[0]:
            raise UnknownName("column", name, rows[0], where=f"{where}: --item")
    column = JOINT.join(columns)
    parts: dict[str, tuple[str, ...]] = {}
    for row in rows:
        own = tuple(row.text(name) for name in columns)
        row[column] = JOINT.join(own)
        if parts.setdefault(row[column], own) != own:
            raise ItemError(
                "two items have the same id",
                where=row.where,
                expected=f"cells of which {JOINT!r} between them makes different ids",
                found=row[column],
                fix=f"replace {JOINT!r} in these columns by another character",
            )
    return column


def add_gold(
    rows: Sequence[Row], item: Sequence[str], gold: Path, options: ImportOptions, decisions: list[Decision]
) -> str:
    """Give each row its item's true label from a file of its own, and return the new column's name."""
    read = read_table(gold, options["encoding"], options["separator"], None, options["gold_columns"])
    for name in item:
        if name not in read[0]:
            raise UnknownName("column", name, read[0], where=f"{gold.name}: the items' ids")
    rest = [name for name in read[0] if name not in item]
    column = "gold" if "gold" in rest else rest[0] if len(rest) == 1 else None
    if column is None:
        raise QuaverError(
            "no column of true labels was recognised",
            where=gold.name,
            expected="a column called gold, or one beside those of the ids",
            found=", ".join(rest) or "none",
            fix="name the columns with --gold-columns, the others as _",
        )
    labels: dict[tuple[str, ...], Row] = {}
    for row in read:
        known = labels.setdefault(tuple(row.text(name) for name in item), row)
        if known.text(column) != row.text(column):
            raise ItemError(
                "this item has two true labels",
                where=row.where,
                expected=f"{known.text(column)!r}, as at {known.where}",
                found=repr(row.text(column)),
                fix="keep one of the rows",
            )
    new = column
    while new in rows[0]:
        new += " of the file"
    items: dict[tuple[str, ...], str] = {}
    for row in rows:
        place = tuple(row.text(name) for name in item)
        items[place] = row[new] = labels[place].text(column) if place in labels else ""
    known_items = sum(map(bool, items.values()))
    decisions.append(
        Decision("gold", f"{gold.name}: {column}", f"{known_items:,} of {count(len(items), 'item')}")
    )
    return new


def without_later(rows: list[Row], place: Sequence[str], decisions: list[Decision]) -> list[Row]:
    """The first row of each place; how many were left out is a decision."""
    first: dict[tuple[str, ...], Row] = {}
    for row in rows:
        first.setdefault(tuple(row.text(name) for name in place), row)
    if len(first) < len(rows):
        left = count(len(rows) - len(first), "row")
        decisions.append(Decision("twice", f"(the first of each {', '.join(place)})", f"{left} left out"))
    return list(first.values())


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows as a CSV file."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
