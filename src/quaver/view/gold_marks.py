"""Labels that people gave in marks, on their way to becoming gold labels."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import write_csv
from quaver.errors import StoreError
from quaver.view.mark_book import Mark
from quaver.view.viewed_study import ViewedStudy

REASON = "marked in quaver view"
_COLUMNS = ("item", "label", "coder", "note")
_MOST_CONFLICTS = 100


def to_gold(study: ViewedStudy, who: str | None = None, *, preview: bool = True) -> dict[str, Any]:
    """The labels that people gave to items or answers as gold labels.

    Args:
        study: The study.
        who: Only this person's.
        preview: Whether to say only what would be done.

    Returns:
        How many items have a label and how many of these had no gold label, the items on which people
        disagree (which ``quaver gold --adjudicate`` settles), and the files.

    Raises:
        StoreError: ``quaver gold`` refused them, or the folder cannot be written.
    """
    given: dict[str, dict[str, Mark]] = defaultdict(dict)
    for one in sorted(study.book.marks(), key=lambda mark: mark.when):
        if one.label and who in (None, one.who):
            given[one.item][one.who] = one
    index = study.index
    places = {item: index.ids.find(item) for item in given}
    known = {item: marks for item, marks in given.items() if places[item] is not None}
    conflicts = [
        {"item": item, "labels": {name: one.label for name, one in marks.items()}}
        for item, marks in known.items()
        if len({one.label for one in marks.values()}) > 1
    ]
    disagreed = {one["item"] for one in conflicts}
    new = sum(not index.gold[places[item]] for item in known if item not in disagreed)
    folder = study.book.path.parent
    found = {
        "items": len(known),
        "new": new,
        "conflicts": conflicts[:_MOST_CONFLICTS],
        "disagreed": len(conflicts),
        "seen": sum(not one.blind for marks in known.values() for one in marks.values()),
        "file": str(folder / "gold-drawn.csv"),
        "how": f"quaver gold {shlex.quote(str(study.path))} shows where the sample stands",
    }
    if preview or not known:
        return found
    drawn = _drawn(Path(index.design.folder))
    files = []
    for name, inside in (("gold-drawn.csv", True), ("gold-apart.csv", False)):
        rows = [
            (item, one.label, one.who, one.note)
            for item, marks in known.items()
            if (item in drawn) == inside
            for one in marks.values()
        ]
        if rows:
            _write(folder / name, rows)
            files.append(str(folder / name))
            _take(study.path, folder / name, apart=not inside)
    return found | {"file": ", ".join(files)}


def _drawn(folder: Path) -> set[str]:
    """The items that a design has drawn."""
    try:
        frame = pl.read_csv(folder / "gold" / "draw.csv", infer_schema=False)
    except (OSError, pl.exceptions.PolarsError):
        return set()
    if not {"item", "drawn"} <= set(frame.columns):
        return set()
    return set(frame.filter(pl.col("drawn").str.to_lowercase() == "true")["item"])


def _write(path: Path, rows: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")
    with replacing(path) as part, part.open("wb") as file:
        write_csv(frame, file, header=True)


def _take(study: Path, file: Path, *, apart: bool) -> None:
    """Have ``quaver gold`` take a file, in a process of its own: it reads all items."""
    options = ["--apart", REASON] if apart else []
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
