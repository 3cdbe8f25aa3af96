"""Marks as a table, and the labels in them as gold labels."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from quaver._secrets import Keys
from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import write_csv
from quaver.errors import StoreError
from quaver.gold.returned_labels import CODED_COLUMNS, ratings
from quaver.study.gold_sample.gold_rounds import CODER
from quaver.study.gold_sample.gold_status import GoldStatus, coder_agreement, gold_status, others_gold
from quaver.study.sources.gold_files import GoldState, gold_beside
from quaver.view.asked import Given
from quaver.view.viewed_study import ViewedStudy

_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("item", "label", "coder", "note", "mark", "when"), pl.String),
    "blind": pl.Boolean,
    **dict.fromkeys(("seen", "model", "prompt", "decoding"), pl.String),
    "repeat": pl.Int64,
}


def marks_table(study: ViewedStudy) -> bytes:
    """The marks as CSV, whose first columns are those of a coder's sheet."""
    out_of, file = Keys().out_of, io.BytesIO()
    rows = [{**asdict(mark), "coder": mark.who} for mark in study.book.marks()]
    write_csv(pl.DataFrame(rows, schema=_COLUMNS, strict=False), file)
    return out_of(file.getvalue().decode("utf-8", "replace")).encode()


REASON = "marked in quaver view"
_GOLD_COLUMNS = ["item", "label", "coder", "note"]
_MOST_CONFLICTS = 100


def to_gold(study: ViewedStudy, request: Given) -> dict[str, Any]:
    """The labels that people gave to items or answers as gold labels.

    Returns:
        How many items would have a gold label, and how many of these have none now; the items on which people
        disagree and those that have another gold label, which stays unless it is replaced; how well people
        agree; for whom the others wait, and until then nothing of the three before; the files; and the next
        step as a command.
    """
    body = request.body()
    state = gold_beside(Path(study.index.design.folder)).state()
    drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
    frame = _given(study, body.who, drawn)
    gold = _gold_now(study, frame["item"])
    after = GoldState(state.design, state.draw, pl.concat([state.coded, frame.drop("blind")]))
    labels = after.apart | after.settled.gold
    conflicts = [item for item in gold if item not in labels]
    other = others_gold(
        state, frame.filter(pl.col("role") == "apart", ~pl.col("item").is_in(conflicts)), gold
    )
    kept = gold.keys() - conflicts - (set() if body.replace else set(other))
    twice, agreement = coder_agreement(
        ratings(frame.with_columns(role=pl.lit("coder"))), study.index.design.labels
    )
    folder = study.book.path.parent
    of_field = ["--field", study.field] if study.field else []
    named = shlex.join([str(study.path), *of_field])
    waiting = _left_to_label(gold_status(after, study.index.design.labels), frame)
    if waiting:  # who still labels learns nothing about what the others said
        conflicts, other, twice, agreement = [], (), 0, None
    result = {
        "items": len(kept),
        "new": sum(gold[item] is None for item in kept),
        "waiting": waiting,
        "conflicts": [
            {"item": item, "labels": dict(frame.filter(item=item).select("coder", "label").iter_rows())}
            for item in conflicts[:_MOST_CONFLICTS]
        ],
        "disagreed": len(conflicts),
        "other": [{"item": item, "gold": gold[item], "label": labels[item]} for item in other],
        "seen": frame.height - int(frame["blind"].sum()),
        "twice": twice,
        "agreement": None if agreement is None else agreement.details["percent"],
        "alpha": None if agreement is None else agreement.value,
        "file": str(folder / "gold-drawn.csv"),
        "how": f"quaver gold {named}" + " --adjudicate NAME" * bool(drawn.intersection(conflicts)),
    }
    if body.preview or not gold:
        return result
    files = []
    for name, role in (("gold-drawn.csv", "coder"), ("gold-apart.csv", "apart")):
        rows = frame.filter(pl.col("role") == role)
        if rows.height:
            with replacing(folder / name) as part, part.open("wb") as file:
                write_csv(rows.select(_GOLD_COLUMNS), file, header=True)
            files.append(str(folder / name))
            apart = ["--apart", REASON, *["--replace"] * body.replace] if role == "apart" else []
            _take(study.path, folder / name, of_field + apart)
    return result | {"file": ", ".join(files)}


def _left_to_label(after: GoldStatus, given: pl.DataFrame) -> dict[str, int]:
    """For how many items each coder has no label yet: of those given to them, else of all that have one."""
    every = given["item"].n_unique()
    left = {coder: every - done for coder, done in given["coder"].value_counts().iter_rows()}
    dealt = {coder: total - done for coder, (total, done) in after.coders.items() if coder != CODER and total}
    return {coder: number for coder, number in (dealt or left).items() if number > 0}


def _given(study: ViewedStudy, who: str | None, drawn: set[str]) -> pl.DataFrame:
    """The last label that each person gave to each item of the study, and whether it was given blind."""
    last = {}
    for one in sorted(study.book.marks(), key=lambda mark: mark.when):
        if one.label and (not who or one.who == who) and one.item in study.index.places:
            role = "coder" if one.item in drawn else "apart"
            last[one.item, one.who] = (one.item, one.who, role, one.label, one.note, REASON, "", one.blind)
    return pl.DataFrame([*last.values()], schema=CODED_COLUMNS | {"blind": pl.Boolean}, orient="row")


def _gold_now(study: ViewedStudy, items: pl.Series) -> dict[str, str | None]:
    """The gold labels that items have now."""
    index = study.index
    return {item: index.gold[index.places.get(item, 0)] for item in items}


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
