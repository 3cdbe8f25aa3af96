"""Marks as a table, and the labels in them as gold labels."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import write_csv
from quaver.errors import StoreError
from quaver.study.sources.gold_files import gold_beside
from quaver.view.asked import Given
from quaver.view.viewed_study import ViewedStudy

REASON = "marked in quaver view"
_GOLD_COLUMNS = ["item", "label", "coder", "note"]


def to_gold(study: ViewedStudy, request: Given) -> dict[str, Any]:
    """Have the labels that people gave to items or answers taken as gold labels.

    Of an item on which people disagree ``quaver gold`` asks for another judgement, and a gold label that an
    item has stays unless it is to be replaced.

    Returns:
        How many labels were taken, the files that they were written to, and the next step as a command.
    """
    state = gold_beside(Path(study.index.design.folder)).state()
    drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
    frame = _given(study, drawn)
    of_field, files = ["--field", study.field] if study.field else [], []
    for name, is_drawn in (("gold-drawn.csv", True), ("gold-apart.csv", False)):
        rows = frame.filter(pl.col("drawn") == is_drawn)
        if rows.is_empty():
            continue
        path = study.book.path.parent / name
        with replacing(path) as part, part.open("wb") as file:
            write_csv(rows.select(_GOLD_COLUMNS), file, header=True)
        files.append(str(path))
        apart = [] if is_drawn else ["--apart", REASON, *["--replace"] * request.body().replace]
        _take(study.path, path, of_field + apart)
    return {
        "labels": frame.height,
        "files": files,
        "how": shlex.join(["quaver", "gold", str(study.path), *of_field]),
    }


def _given(study: ViewedStudy, drawn: set[str]) -> pl.DataFrame:
    """The last label that each person gave to each item of the study, and whether the item was drawn."""
    last = {
        (mark.item, mark.who): (mark.item, mark.label, mark.who, mark.note, mark.item in drawn)
        for mark in sorted(study.book.marks(), key=lambda mark: mark.when)
        if mark.label and mark.item in study.index.places
    }
    schema: dict[str, Any] = {**dict.fromkeys(_GOLD_COLUMNS, pl.String), "drawn": pl.Boolean}
    return pl.DataFrame([*last.values()], schema=schema, orient="row")


def _take(study: Path, file: Path, options: list[str]) -> None:
    """Have ``quaver gold`` take a file, in a process of its own: it reads all items."""
    done = subprocess.run(
        [sys.executable, "-m", "quaver", "gold", str(study), "--take", str(file), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StoreError(
            "the labels could not become gold labels",
            where=str(file),
            found=(done.stderr or done.stdout).strip().removeprefix("Error: ")[:500],
        )
