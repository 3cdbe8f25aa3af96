"""Sheets for coders, and what comes back from them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.annotations import GOLD_COLUMNS
from quaver.core.input_budget import read_file
from quaver.core.label_values import NO_LABELS
from quaver.core.spans import in_words, written_spans
from quaver.core.transaction import Transaction
from quaver.design.items.answer_options import options_of
from quaver.design.items.item_labels import spans_of
from quaver.design.items.table_files import FORMATS, Row, read_rows
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import ItemError, UnknownName
from quaver.gold.coder_sheet import (
    CODER,
    FILE,
    ITEM,
    LABEL,
    NOTE,
    TEXT,
    Format,
    Sheet,
    assigned,
    label_of,
    written,
)
from quaver.gold.gold_draw import in_sample
from quaver.gold.returned_labels import ADJUDICATES, current
from quaver.models.local.extras import require
from quaver.score.quoted_words import placed_spans
from quaver.study.analysis.annotation_frame import has_sample, with_gold_of
from quaver.study.sources.gold_files import GoldFiles, GoldSample
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_source import StudySource

OWN_TABLE: Final = "the study's own table"
"""The source of gold labels that items came with."""

_SHEET = "Labels"
_HINT = "--{name} {value} (or save it as .xlsx)"


def read_returned(path: Path, columns: Sequence[str] = (LABEL,)) -> list[Row]:
    """The rows of a file that came back, in its order, with the columns of a sheet.

    Args:
        path: The file.
        columns: The columns of labels, of which a file may have some.
    """
    rows = _table(path)
    written_as = {name.strip().casefold(): name for name in (rows[0] if rows else ())}
    there = [name for name in (ITEM, CODER, NOTE, TEXT, *columns) if name.casefold() in written_as]
    labels = [name for name in columns if name in there]
    if rows and not (ITEM in there and labels):
        raise ItemError(
            f"this file has no column {columns[0] if ITEM in there else ITEM!r}",
            where=f"{path.name}:1",
            expected=f"the columns {ITEM} and {' or '.join(columns)}",
            found=", ".join(map(repr, rows[0])) or "no columns",
            fix="rename the columns, or take back the file that was sent out",
        )
    for row in rows:
        row.update({name: row.get(written_as[name.casefold()]) for name in there})
    if not any(row.text(name) for row in rows for name in labels):
        raise ItemError(
            "this file holds no labels",
            where=path.name,
            expected=f"a code in the column {' or '.join(f'`{name}`' for name in columns)} of some row",
            found=f"{len(rows)} rows without one",
            fix="fill in the labels, save the file, and take it again",
        )
    return rows


def _table(path: Path) -> list[Row]:
    """The rows, however a spreadsheet program saved them."""
    ending = path.suffix.lower()
    if ending and ending not in FORMATS:
        raise ItemError(
            f"files that end in {ending!r} are not read",
            where=str(path),
            expected=f"one of {', '.join(FORMATS)}",
            fix="save the sheet as .xlsx or .csv",
        )
    if ending in (".xlsx", ".xlsm", ".ods"):
        try:
            return read_rows(path, sheet=_SHEET, hint=_HINT)
        except UnknownName:  # saved under another name, or by another program
            return read_rows(path, hint=_HINT)
    if ending not in (".csv", ".tsv", ".tab") or not path.is_file():
        return read_rows(path, hint=_HINT)
    start = _content(path)
    encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        text = start.decode(encoding)
    except UnicodeDecodeError:
        encoding = "cp1252"  # as Excel saves CSV in western Europe
        text = start.decode("latin-1")
    separator = max(",;\t", key=text.partition("\n")[0].count) if ending == ".csv" else None
    return read_rows(path, encoding, separator, hint=_HINT)


def _content(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise ItemError("this file cannot be read", where=str(path), found=str(error)[:200]) from None


_UNFIT = re.compile(r"[^\w-]+")
"""What a file's name has no room for."""


def sheets_of_round(
    source: StudySource, fields: Mapping[str, StudySource], sample: GoldSample, number: int
) -> list[Sheet]:
    """A sheet for each coder of a round, with a column of each field; nothing that a model said is on it.

    An item is on it while the coder has not labelled it in one of its fields; the gold labels of its other
    fields stand there.
    """
    about = sample.design["rounds"][number - 1]
    items = sample.draw.filter(round=number)["item"].to_list()
    done = _labelled(sample.coded)
    gold = {
        column: shown(field, sample.of(field.gold_field).settled.gold) for column, field in fields.items()
    }
    sheets = []
    for coder, own in assigned(items, about["coders"], about["overlap"], sample.design["seed"]).items():
        left: dict[str, dict[str, str]] = {}
        for item in own:
            known = [
                column
                for column, field in fields.items()
                if {(field.gold_field, item, coder), (field.gold_field, item, None)} & done
            ]
            if len(known) < len(fields):
                left[item] = {column: gold[column].get(item, "") for column in known}
        sheets.append(sheet_of(source, coder, left))
    return [sheet for sheet in sheets if sheet.rows]


def sheet_of_disagreements(source: StudySource, sample: GoldSample, adjudicator: str) -> Sheet:
    """The items on which coders of a field disagree, with their labels."""
    still_open = dict(sorted(sample.settled.open.items()))
    given = {
        item: {label_of(coder): shown(source, {item: label})[item] for coder, label in own.items()}
        for item, own in still_open.items()
    }
    sheet = sheet_of(source, adjudicator + ADJUDICATES, given)
    coders = dict.fromkeys(coder for row in sheet.rows for coder in still_open[row[ITEM]])
    return replace(sheet, coders=list(coders))


def sheet_of(source: StudySource, coder: str, items: Mapping[str, Mapping[str, str]]) -> Sheet:
    """A sheet of some items, each with the cells that are filled in."""
    experiment, texts = source.experiment, item_texts(source, items)
    labels, by_id = experiment.labels, {item.id: item for item in experiment.items}
    rows = []
    for item, filled in items.items():
        if item not in by_id:  # it has left the study since
            continue
        lines = [texts[item]]
        if labels.options and not source.spec.task.fields:
            options = zip(labels.codes, options_of(by_id[item], labels), strict=False)
            lines += [f"{code}: {text}" for code, text in options]
        files = [one.source for one in by_id[item].media if one.type and Path(one.source).suffix != ".db"]
        opened = next((file for file in files if not file.startswith("data:")), "")
        rows.append({ITEM: item, TEXT: "\n".join(lines), FILE: opened, **filled})
    asked = experiment.variants[0].instruction.strip()
    question = asked if asked and "{" not in asked else "Which label fits the text?"
    return Sheet(coder, rows, labels, question, spans=source.has_spans)


def shown(source: StudySource, labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of items as they stand on a sheet: of spans the words."""
    if not source.has_spans:
        return dict(labels)
    texts = item_texts(source, labels)
    return {item: in_words(label, texts.get(item, "")) for item, label in labels.items()}


def spans_on(source: StudySource, item: str, cell: Any, where: str) -> str:
    """What a person marked in an item's text, as a label of the sample: spans.

    Raises:
        ItemError: Some words are not in the text.
    """
    assert source.field is not None  # only one of spans has such labels
    require("evidence", "rapidfuzz")
    from quaver.score.parsing.quotes import QuotedText  # of an extra

    marked = spans_of(cell, source.field, where) or []
    spans, lost = placed_spans(marked, QuotedText(item_texts(source, [item])[item]))
    if lost:
        raise ItemError(
            "these words are not in the text",
            where=where,
            expected=f"words copied from the text of item {item!r}",
            found=lost[0][:120],
            fix="copy them from the text, in one piece, or with … between two pieces",
        )
    return written_spans(spans) or NO_LABELS


def item_texts(source: StudySource, items: Iterable[str]) -> dict[str, str]:
    """The text of each of some items, as the original prompt shows it; empty where texts are not here."""
    experiment, wanted = source.experiment, {*items}
    writer = PromptWriter(experiment.variants[0], experiment.labels)
    known = source.has_texts
    return {item.id: writer.shown(item) if known else "" for item in experiment.items if item.id in wanted}


def _labelled(coded: pl.DataFrame) -> set[tuple[str, str, str | None]]:
    """Who has labelled which item in which field; nobody needs to label an item that came with a label."""
    rows = current(coded).filter(role="coder").select("field", "item", "coder", "source").iter_rows()
    return {(field, item, None if source == OWN_TABLE else coder) for field, item, coder, source in rows}


def _from(folder: Path, file: str | None) -> dict[str, str]:
    """The path of an item's file as it is seen from a sheet's folder."""
    if not file or "#" in file:  # behind # stands a place in a document
        return {FILE: ""}
    with suppress(ValueError):  # on another drive
        file = os.path.relpath(file, folder)
    return {FILE: Path(file).as_posix()}


def write_sheets(
    change: Transaction, folder: Path, sheets: Sequence[Sheet], stem: str, form: Format
) -> list[Path]:
    """Write sheets into a sample's folder; a file that is there stays, since it may be filled in.

    Returns:
        The files, those that come back first.
    """
    paths, staged = list[Path](), list[Path]()
    for sheet in sheets:
        name = f"{stem}-{_UNFIT.sub('_', sheet.coder.removesuffix(ADJUDICATES))[:60]}"
        tried = (name, *(f"{name}-{again}" for again in range(2, 10_000)))
        free = next(stem for stem in tried if not [*folder.glob(f"{stem}.*")])
        placed = replace(sheet, rows=[{**row, **_from(folder, row.get(FILE))} for row in sheet.rows])
        for file, content in written(placed, free, form).items():
            paths.append(folder / file)
            staged.append(change.file(folder / file))
            staged[-1].write_bytes(content)
    check_outgoing(staged)
    return paths


def pack_gold(files: GoldFiles, folder: Path, *, texts: bool) -> None:
    """Copy a gold sample to a folder that is packed; without the coders' notes where texts stay behind."""
    packed = GoldFiles(folder)
    packed.folder.mkdir()
    for name, path in files.there.items():
        shutil.copyfile(path, packed.folder / name)
    if not texts:
        packed.forget_notes()


def gold_differences(source: StudySource, stored: pl.DataFrame) -> list[str]:
    """What of a bundle's gold sample does not follow from its seed, its probabilities and its labels.

    Returns:
        The differences in words; none where there is no sample.
    """
    sample = source.gold_sample
    differences: list[str] = []
    if sample.design:
        again = in_sample(sample.draw, sample.design["seed"])
        if not again.equals(sample.draw["drawn"], check_names=False):
            differences.append(
                "the items of the gold sample are not those that its seed and probabilities draw"
            )
    if not has_sample(source):
        columns = stored.select(GOLD_COLUMNS[1:])
        filled = columns.null_count().sum_horizontal().item() < columns.height * columns.width
        return ["annotations speak of a gold sample that is not there"] if filled else []
    text = pl.col(pl.Categorical).cast(pl.String)
    anew = with_gold_of(source, stored)
    kept, own = (frame.select("item", *GOLD_COLUMNS).with_columns(text) for frame in (stored, anew))
    differs = pl.any_horizontal(kept[name].ne_missing(own[name]) for name in GOLD_COLUMNS)
    items = kept.filter(differs)["item"].unique(maintain_order=True).to_list()
    return differences + [f"item {item}: its gold label or its draw differs" for item in items[:20]]
