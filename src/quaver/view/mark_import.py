"""Marks on their way in and out: tables, Quaver's own lines, Label Studio and Argilla, gold labels."""

from __future__ import annotations

import csv
import io
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from quaver._secrets import Keys
from quaver.core.labels import LabelCells
from quaver.core.line_file import lines_of
from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import plain_cell, safe_cell, write_csv
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.gold.returned_labels import CODED_COLUMNS, ratings
from quaver.study.gold_sample.coder_sheets import returned_in
from quaver.study.gold_sample.gold_rounds import CODER
from quaver.study.gold_sample.gold_status import GoldStatus, coder_agreement, gold_status, others_gold
from quaver.study.sources.gold_files import GoldState, gold_beside
from quaver.view.asked import Asked, Given
from quaver.view.mark_book import Mark
from quaver.view.viewed_study import ViewedStudy

_AT_ONCE = 1_000
QUESTION = "label"
"""What the question is called in Label Studio and Argilla."""

_COLUMNS = (
    *("item", "label", "coder", "note", "mark", "when", "blind", "seen"),
    *("model", "prompt", "decoding", "repeat"),
)


def exported_marks(
    study: ViewedStudy, asked: Asked, form: str, *, blind: bool = False
) -> tuple[Iterator[str], str]:
    """A file in pieces, and its name."""
    if form not in FORMATS:
        raise UnknownName("format", form, list(FORMATS), where="format")
    ending, written = FORMATS[form]
    return (Keys().out_of(piece) for piece in written(study, asked, blind)), f"{study.id}-{form}.{ending}"


def _export_csv(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for mark in study.book.marks():
        row = asdict(mark) | {"coder": mark.who}
        writer.writerow([safe_cell(str(row[name])) if row[name] is not None else "" for name in _COLUMNS])
    yield out.getvalue()


def _export_jsonl(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
    for mark in study.book.marks():
        yield json.dumps(asdict(mark), ensure_ascii=False) + "\n"


def _tasks(made: Callable[..., dict[str, Any]]) -> Callable[[ViewedStudy, Asked, bool], Iterator[str]]:
    """A JSON list of tasks, one an item."""

    def written(study: ViewedStudy, asked: Asked, blind: bool) -> Iterator[str]:
        view, marks = study.view(asked), study.book.by_item()
        modal, agreement = (view.scope.numbers[name].to_list() for name in ("modal", "agreement"))
        between = "["
        for start in range(0, len(view.rows), _AT_ONCE):
            some = [int(row) for row in view.rows[start : start + _AT_ONCE]]
            texts = study.index.item_texts(some)
            for row in some:
                item = study.index.ids[row]
                about = [mark for mark in marks.get(item, ()) if mark.label]
                said = None if blind else modal[row]
                document = made(item, texts[row], said, agreement[row], about)
                yield between + json.dumps(document, ensure_ascii=False)
                between = ",\n"
        yield "]\n" if between != "[" else "[]\n"

    return written


def _export_label_studio(
    item: str, text: str, said: str | None, share: float, marks: list[Mark]
) -> dict[str, Any]:
    def result(label: str) -> list[dict[str, Any]]:
        value = {"choices": [label]}
        return [{"from_name": QUESTION, "to_name": "text", "type": "choices", "value": value}]

    found: dict[str, Any] = {"data": {"item": item, "text": text}}
    if said is not None:
        found["predictions"] = [{"model_version": "quaver", "score": round(share, 6), "result": result(said)}]
    if marks:
        found["annotations"] = [
            {"completed_by": {"email": mark.who}, "result": result(str(mark.label)), "created_at": mark.when}
            for mark in marks
        ]
    return found


def _export_argilla(
    item: str, text: str, said: str | None, share: float, marks: list[Mark]
) -> dict[str, Any]:
    result: dict[str, Any] = {"id": item, "fields": {"text": text}}
    result |= {"metadata": {"item": item}, "suggestions": {}, "responses": {}, "vectors": {}}
    if said is not None:
        result["suggestions"] = {QUESTION: {"value": said, "score": round(share, 6), "agent": "quaver"}}
    if marks:
        result["responses"] = {QUESTION: [{"value": mark.label, "user_id": mark.who} for mark in marks]}
    return result


FORMATS: dict[str, tuple[str, Callable[[ViewedStudy, Asked, bool], Iterator[str]]]] = {
    "csv": ("csv", _export_csv),
    "jsonl": ("jsonl", _export_jsonl),
    "label-studio": ("json", _tasks(_export_label_studio)),
    "argilla": ("json", _tasks(_export_argilla)),
}


_MOST_SKIPPED = 100
_PLACE = ("model", "prompt", "decoding", "repeat")

Row = dict[str, Any]


def taken_in(study: ViewedStudy, form: str, content: bytes, who: str) -> dict[str, Any]:
    """Take in a file of marks; rows that cannot be used are left out and counted.

    Returns:
        How many rows were read and are new, and which were left out and why.
    """
    if form not in READERS:
        raise UnknownName("format", form, list(READERS), where="format")
    try:
        rows = list(READERS[form](content))
    except (ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
        raise QuaverError(
            "this file cannot be read as marks",
            where=form,
            expected=_EXPECTED.get(form),
            found=str(error)[:200],
        ) from None
    known = {_same(asdict(mark)) for mark in study.book.marks()}
    labels = study.index.design.labels
    cells = LabelCells(labels.labels, level=labels.level)
    given, skipped = [], []
    for number, row in enumerate(rows, start=1):
        why = _wrong(study, row, cells)
        if why:
            skipped.append({"row": number, "why": why})
            continue
        row["who"] = str(row.get("who") or who)
        if _same(row) not in known:
            given.append({name: value for name, value in row.items() if value not in (None, "")})
    study.book.add_all(given, who)
    return {
        "read": len(rows),
        "new": len(given),
        "skipped": skipped[:_MOST_SKIPPED],
        "left_out": len(skipped),
    }


def _same(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name) or None for name in ("item", "who", "label", "mark", "note", *_PLACE))


def _wrong(study: ViewedStudy, row: Row, cells: LabelCells) -> str:
    """Why a row is no mark of this study; puts the label's code in the place of its name."""
    if str(row.get("item") or "") not in study.index.places:
        return f"the study has no item {str(row.get('item') or '')[:80]!r}"
    if (label := row.get("label")) not in (None, ""):
        cell = cells.read(str(label).strip())
        if cell is None or cell.label is None:
            return f"the study has no label {str(label)[:80]!r}"
        row["label"] = cell.label
    if row.get("mark") not in (None, "", "agree", "disagree", "unclear"):
        return f"{str(row['mark'])[:40]!r} is no mark"
    if not (row.get("label") or row.get("mark") or row.get("note")):
        return "it says nothing"
    return ""


def _csv(content: bytes) -> Iterator[Row]:
    for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig"))):
        if "item" not in row:
            raise ValueError("no column item")
        known = {name: plain_cell(cell) or None for name, cell in row.items() if name and cell}
        found: Row = {name: known.get(name) for name in ("item", "label", "note", "mark", "seen", *_PLACE)}
        found["who"] = known.get("coder") or known.get("who")
        found["blind"] = (row.get("blind") or "").lower() == "true"
        found["repeat"] = int(found["repeat"]) if found["repeat"] else None
        yield found


def _jsonl(content: bytes) -> Iterator[Row]:
    names = ("item", "label", "note", "mark", "who", "blind", *_PLACE)
    for line in lines_of(content.decode("utf-8-sig")):
        if line.strip():
            found = dict(json.loads(line))
            yield {name: found.get(name) for name in names}


def _records(content: bytes) -> Iterator[Row]:
    """Labels from Label Studio or Argilla, as gold samples read them."""
    (rows,) = returned_in(content, "marks")
    for one in rows:
        if one.label:
            yield {"item": one.item, "label": one.label, "who": one.coder or one.by}


READERS: dict[str, Callable[[bytes], Iterator[Row]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "label-studio": _records,
    "argilla": _records,
}
_EXPECTED = {"csv": "a CSV file with the columns item and label", "jsonl": "a line of JSON a mark"}


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
