"""Labels that people gave in marks, on their way to becoming gold labels."""

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
from quaver.gold.returned_labels import CODED_COLUMNS, ratings
from quaver.study.gold_sample.gold_status import coder_agreement, others_gold
from quaver.study.sources.gold_files import GoldFiles, GoldState
from quaver.view.asked import Given
from quaver.view.viewed_study import ViewedStudy

REASON = "marked in quaver view"
_COLUMNS = ["item", "label", "coder", "note"]
_MOST_CONFLICTS = 100


def to_gold(study: ViewedStudy, request: Given) -> dict[str, Any]:
    """The labels that people gave to items or answers as gold labels.

    Returns:
        How many items would have a gold label, and how many of these have none now; the items on which people
        disagree and those that have another gold label, which stays unless it is replaced; how well people
        agree; the files; and the next step as a command.
    """
    body = request.body()
    state = GoldFiles(Path(study.index.design.folder)).state()
    drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
    given = _given(study, body.who, drawn)
    gold = _gold_now(study, given["item"])
    after = GoldState(state.design, state.draw, pl.concat([state.coded, given.drop("blind")]))
    labels = after.apart | after.settled.gold
    conflicts = [item for item in gold if item not in labels]
    other = others_gold(
        state, given.filter(pl.col("role") == "apart", ~pl.col("item").is_in(conflicts)), gold
    )
    kept = gold.keys() - conflicts - (set() if body.replace else set(other))
    twice, agreement = coder_agreement(
        ratings(given.with_columns(role=pl.lit("coder"))), study.index.design.labels
    )
    folder = study.book.path.parent
    named = shlex.quote(str(study.path))
    found = {
        "items": len(kept),
        "new": sum(gold[item] is None for item in kept),
        "conflicts": [
            {"item": item, "labels": dict(given.filter(item=item).select("coder", "label").iter_rows())}
            for item in conflicts[:_MOST_CONFLICTS]
        ],
        "disagreed": len(conflicts),
        "other": [{"item": item, "gold": gold[item], "label": labels[item]} for item in other],
        "seen": given.height - int(given["blind"].sum()),
        "twice": twice,
        "agreement": None if agreement is None else agreement.details["percent"],
        "alpha": None if agreement is None else agreement.value,
        "file": str(folder / "gold-drawn.csv"),
        "how": f"quaver gold {named}" + " --adjudicate NAME" * bool(drawn.intersection(conflicts)),
    }
    if body.preview or not gold:
        return found
    files = []
    for name, role in (("gold-drawn.csv", "coder"), ("gold-apart.csv", "apart")):
        rows = given.filter(pl.col("role") == role)
        if rows.height:
            with replacing(folder / name) as part, part.open("wb") as file:
                write_csv(rows.select(_COLUMNS), file, header=True)
            files.append(str(folder / name))
            options = ["--apart", REASON, *["--replace"] * body.replace] if role == "apart" else []
            _take(study.path, folder / name, options)
    return found | {"file": ", ".join(files)}


def _given(study: ViewedStudy, who: str | None, drawn: set[str]) -> pl.DataFrame:
    """The last label that each person gave to each item of the study, and whether it was given blind."""
    last = {}
    for one in sorted(study.book.marks(), key=lambda mark: mark.when):
        if one.label and (not who or one.who == who) and study.index.ids.find(one.item) is not None:
            role = "coder" if one.item in drawn else "apart"
            last[one.item, one.who] = (one.item, one.who, role, one.label, one.note, REASON, "", one.blind)
    return pl.DataFrame([*last.values()], schema=CODED_COLUMNS | {"blind": pl.Boolean}, orient="row")


def _gold_now(study: ViewedStudy, items: pl.Series) -> dict[str, str | None]:
    """The gold labels that items have now."""
    index = study.index
    places = {item: index.ids.find(item) or 0 for item in items}
    return {item: index.design.meanings[int(index.gold[at])][0] for item, at in places.items()}


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
