"""Published annotations as one table: several files, what their paths say, true labels of another file."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Any, Final

from quaver import Study, import_annotations
from quaver.design.items.table_files import Row, read_rows
from quaver.errors import ItemError

MORE: Final = ("name", "columns", "gold_columns", "people", "ratings")
"""What a recipe says beside the options of an import: what paths say, columns where there is no header, and
for JSON the file of people's labels, or the question whose ratings are read."""

Cells = dict[str, Any]


def imported(file: Path, home: Path, reading: Mapping[str, Any], folder: Path) -> Study:
    """The study of a file of annotations, or of all files that fit a pattern.

    Args:
        file: The file or the pattern.
        home: The study's folder.
        reading: Options of an import, and ``MORE``; ``item`` may list columns that make up an id, ``gold``
            may be a file, and ``twice`` may keep the ``first`` row of a place.
        folder: Where paths in it begin.
    """
    options = {name: one for name, one in reading.items() if name not in MORE}
    options |= {name: [str(one) for one in options.get(name, ())] for name in ("labels", "unlabelled")}
    parts, gold = options.get("item"), folder / str(options.get("gold", ""))
    first = options.get("twice") == "first"
    if not (isinstance(parts, list) or gold.is_file() or first or {*MORE} & {*reading}):
        return import_annotations(file, home, **options)[0]
    if "people" in reading:
        rows = by_labeller(file)
    elif "ratings" in reading:
        rows = _ratings(file, reading["ratings"])
        options["coders"] = [name for name in rows[0] if name != options["item"]]
    else:
        rows = _rows(file, reading)
    if isinstance(parts, list):
        options["item"] = "/".join(parts)
        for row in rows:
            row[options["item"]] = "/".join(str(row[name]) for name in parts)
    if gold.is_file():
        true = _gold(gold, reading.get("gold_columns", ()), parts if isinstance(parts, list) else [parts])
        options["gold"] = "gold of the file"
        for row in rows:
            row[options["gold"]] = true.get(str(row[options["item"]]), "")
    if first:
        del options["twice"]
        named = [options[name] for name in ("item", "variant", "repeat", "coder") if name in options]
        placed = [name for name in (*named, "variant", "model", "repeat") if name in rows[0]]
        rows = list({tuple(str(row[name]) for name in placed): row for row in reversed(rows)}.values())[::-1]
    if "{variant}" in reading.get("name", ""):
        options.setdefault("variant", "variant")
    home.parent.mkdir(parents=True, exist_ok=True)
    table = home.with_name(f"{home.name}.csv")
    with table.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return import_annotations(table, home, **options)[0]


def by_labeller(file: Path, start: str = "") -> list[Cells]:
    """A row an item, of a file that has each labeller's labels by item; columns are named after labellers."""
    rows: dict[str, Cells] = {}
    for name, labels in json.loads(file.read_text(encoding="utf-8")).items():
        for item, label in labels.items():
            rows.setdefault(item, {"item": item})[f"{start}{name}"] = str(label)
    columns = dict.fromkeys(name for row in rows.values() for name in row)
    return [{name: row.get(name) for name in columns} for row in rows.values()]


def _ratings(file: Path, question: str) -> list[Cells]:
    """A row an instance, and a column for each place in its list of people's answers to a question."""
    instances = json.loads(file.read_text(encoding="utf-8"))["instances"]
    given = [one["annotations"][question]["individual_human_scores"] for one in instances]
    places = range(max(map(len, given)))
    return [
        {"instance": number, **{f"person {at + 1}": own[at] if at < len(own) else "" for at in places}}
        for number, own in enumerate(given)
    ]


def _rows(file: Path, reading: Mapping[str, Any]) -> list[Cells]:
    """The rows of all files, each with what its file's path says."""
    says = re.compile(".*?/" + _pattern(reading["name"])) if "name" in reading else None
    written = {name: reading[name] for name in ("encoding", "separator", "sheet") if name in reading}
    rows: list[Cells] = []
    files = [file] if file.exists() else [Path(one) for one in sorted(glob(str(file), recursive=True))]
    for one in files:
        said = says.fullmatch(one.resolve().as_posix()) if says else None
        if says and said is None:
            raise ItemError("this path does not fit", where=str(one), expected=reading["name"])
        own = _table(one, written, reading.get("columns", ()))
        rows += [{**row, **(said.groupdict() if said else {})} for row in own]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name, "") for name in columns} for row in rows]


def _pattern(name: str) -> str:
    """``{model}/graded_{variant}.txt`` as a regular expression."""
    return re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+?)", re.escape(name))


def _gold(file: Path, columns: Sequence[str], item: Sequence[Any]) -> dict[str, str]:
    """The true label of each item in a file."""
    rows = _table(file, {}, columns)
    (column,) = ["gold"] if "gold" in rows[0] else [name for name in rows[0] if name not in item]
    return {"/".join(row.text(name) for name in item): row.text(column) for row in rows}


def _table(file: Path, written: Mapping[str, str], columns: Sequence[str]) -> list[Row]:
    """The rows of a file; without a header its columns are named, and those called ``_`` left out."""
    if not columns:
        return read_rows(file, **written)
    separator = written.get("separator", {".csv": ",", ".tsv": "\t"}.get(file.suffix))
    lines = file.read_text(written.get("encoding", "utf-8-sig")).splitlines()
    cells = csv.reader(lines, delimiter=separator) if separator else map(str.split, lines)
    rows = (zip(columns, own, strict=True) for own in cells if own)
    return [
        Row([(name, cell) for name, cell in row if name != "_"], file.name, number)
        for number, row in enumerate(rows, 1)
    ]
