"""Sheets for coders, and what comes back from them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from quaver.core.annotations import GOLD_COLUMNS
from quaver.core.input_budget import read_file
from quaver.core.transaction import Transaction
from quaver.design.items.answer_options import options_of
from quaver.design.items.table_files import FORMATS, Row, read_rows
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import ItemError, UnknownName
from quaver.gold.coder_sheet import (
    CODER,
    ITEM,
    LABEL,
    NOTE,
    TEXT,
    Format,
    Sheet,
    SheetRow,
    assigned,
    column_of,
    written,
)
from quaver.gold.gold_draw import FEWEST, FLOOR, HOW, STRATA, in_sample, with_gold
from quaver.gold.returned_labels import ADJUDICATES, Returned, current
from quaver.study.sources.gold_files import DesignFile, GoldFiles, GoldState
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_source import StudySource

OWN_TABLE: Final = "the study's own table"
"""The source of gold labels that items came with."""

_SHEET = "Labels"
_HINT = "--{name} {value} (or save it as .xlsx)"


def read_returned(path: Path, columns: Sequence[str] = (LABEL,)) -> list[list[Returned]]:
    """The rows of a file that came back, in its order, with the labels of each column of them.

    A file may have some of the columns; of those that it lacks there are no rows.
    """
    found = _from_table(path, columns)
    if not any(row.label.strip() for rows in found for row in rows):
        raise ItemError(
            "this file holds no labels",
            where=path.name,
            expected=f"a code in the column {' or '.join(f'`{name}`' for name in columns)} of some row",
            found=f"{max(map(len, found), default=0)} rows without one",
            fix="fill in the labels, save the file, and take it again",
        )
    return found


def _from_table(path: Path, columns: Sequence[str]) -> list[list[Returned]]:
    rows = _table(path)
    names = {name.strip().casefold(): name for name in (rows[0] if rows else ())}
    known = [names.get(column.casefold()) for column in columns]
    if rows and not (ITEM in names and any(known)):
        raise ItemError(
            f"this file has no column {columns[0] if ITEM in names else ITEM!r}",
            where=f"{path.name}:1",
            expected=f"the columns {ITEM} and {' or '.join(columns)}",
            found=", ".join(map(repr, rows[0])) or "no columns",
            fix="rename the columns, or take back the file that was sent out",
        )
    item, coder, note, text = (names.get(part) for part in (ITEM, CODER, NOTE, TEXT))
    return [
        [
            Returned(
                row.text(item), row.text(label), row.text(coder), row.text(note), row.text(text), row.where
            )
            for row in (rows if label else ())
            if row.text(item) or row.text(label)
        ]
        for label in known
    ]


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


class CoderSheets:
    """Makes sheets for a study's coders. Nothing that a model said is on them.

    Args:
        source: The study.
        states: The gold sample of each of its fields, by name; of a task with one label set, of that.
    """

    def __init__(self, source: StudySource, states: Mapping[str, GoldState]) -> None:
        self._source, self._states = source, states
        self._experiment = source.experiment
        self._several = bool(source.spec.task.fields)

    def of_round(self, number: int) -> list[Sheet]:
        """A sheet for each coder of a round, with a column for each field.

        An item is on it while the coder has not labelled it in one of its fields; labels that people gave the
        others stand there.
        """
        (state, *_) = self._states.values()
        design, draw = state.design, state.draw
        assert design is not None
        assert draw is not None
        about = design["rounds"][number - 1]
        items = draw.filter(pl.col("drawn") & (pl.col("round") == number))["item"].to_list()
        dealt = assigned(items, about["coders"], about["overlap"], design["seed"])
        done = {name: _labelled(own.coded) for name, own in self._states.items()}
        sheets = []
        for coder, own in dealt.items():
            left = [i for i in own if not all({(i, coder), (i, None)} & have for have in done.values())]
            sheets.append(self._sheet(coder, left))
        return [sheet for sheet in sheets if sheet.rows]

    def of_disagreements(self, adjudicator: str) -> Sheet:
        """The items on which coders of a field disagree, with their labels."""
        (state,) = self._states.values()
        sheet = self._sheet(adjudicator + ADJUDICATES, sorted(state.settled.open))
        rows = [replace(row, given=state.settled.open[row.item]) for row in sheet.rows]
        return replace(sheet, rows=rows, adjudicates=True)

    def _sheet(self, coder: str, items: Iterable[str]) -> Sheet:
        by_id, texts = (
            {item.id: item for item in self._experiment.items},
            drawn_texts(self._source, self._states),
        )
        labels = self._experiment.labels
        rows = []
        for one in items:
            if one in by_id:  # else it has left the study since
                shown, known = dict[str, str](), dict[str, str]()
                if self._several:
                    known = self._known(one)
                elif labels.options:
                    shown = dict(zip(labels.codes, options_of(by_id[one], labels), strict=False))
                rows.append(SheetRow(one, texts[one], shown, {}, known))
        asked = self._experiment.variants[0].instruction.strip()
        question = asked if asked and "{" not in asked else "Which label fits the text?"
        return Sheet(coder, rows, labels, question)

    def _known(self, item: str) -> dict[str, str]:
        given = ((name, state.settled.gold.get(item)) for name, state in self._states.items())
        return {column_of(name): label for name, label in given if label is not None}


def drawn_texts(source: StudySource, states: Mapping[str, GoldState]) -> dict[str, str]:
    """The text of each item that may be labelled, as the original prompt shows it."""
    (state, *_) = states.values()
    experiment = source.experiment
    drawn = set() if state.draw is None else {*state.draw.filter("drawn")["item"]}
    writer = PromptWriter(experiment.variants[0], experiment.labels)
    known = source.has_texts
    return {item.id: writer.text(item) if known else "" for item in experiment.items if item.id in drawn}


def _labelled(coded: pl.DataFrame) -> set[tuple[str, str | None]]:
    """Who has labelled which item; nobody needs to label an item that came with a label."""
    rows = current(coded).filter(role="coder").select("item", "coder", "source").iter_rows()
    return {(item, None if source == OWN_TABLE else coder) for item, coder, source in rows}


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
        free = next(one for one in tried if not [*folder.glob(f"{one}.*")])
        for file, content in written(sheet, free, form).items():
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


def _design_differences(design: DesignFile, draw: pl.DataFrame) -> Iterator[str]:
    """What of a gold sample's record its draw contradicts."""
    if design["floor"] != FLOOR or design["how"] != HOW or design["by"] != STRATA[design["design"]]:
        yield "this is not how Quaver draws"
    rounds = design["rounds"]
    counts = dict(draw.drop_nulls("round").group_by("round").len().iter_rows())
    if [one["round"] for one in rounds] != [*range(1, len(rounds) + 1)] or counts.keys() - {
        *range(len(rounds) + 1)
    }:
        yield "its rounds are not those of the draw"
    total, least = 0, FEWEST * draw["stratum"].n_unique()  # each stratum has so many, whatever is asked for
    for one in rounds:
        drawn = counts.get(one["round"], 0)
        total += drawn
        if one["drawn"] != drawn or not one["size"] <= total <= max(one["size"], least):
            yield f"round {one['round']}: {drawn} items were drawn, {total} with those before"
        if not 0 <= one["overlap"] <= 1 or one["asked"].get("n", one["size"]) != one["size"]:
            yield f"round {one['round']}: what was asked is not what was drawn"


def gold_differences(source: StudySource, stored: pl.DataFrame) -> list[str]:
    """What of a bundle's gold sample does not follow from its seed, its probabilities and its labels.

    Returns:
        The differences in words; none where there is no sample.
    """
    state = source.gold_files.state()
    found: list[str] = []
    if state.design is not None and state.draw is not None:
        again = in_sample(state.draw, state.design["seed"])
        if not again.equals(state.draw["drawn"], check_names=False):
            found.append("the items of the gold sample are not those that its seed and probabilities draw")
        found += [f"gold/design.json: {one}" for one in _design_differences(state.design, state.draw)]
    if state.draw is None and state.coded.is_empty():
        columns = stored.select(GOLD_COLUMNS[1:])
        filled = columns.null_count().sum_horizontal().item() < columns.height * columns.width
        return ["annotations speak of a gold sample that is not there"] if filled else []
    known = {item.id: item.gold for item in source.experiment.items}
    anew = with_gold(stored, known, state.draw, state.settled.gold, state.apart)
    text = pl.col(pl.Categorical).cast(pl.String)
    pairs = [frame.select("item", *GOLD_COLUMNS).with_columns(text) for frame in (stored, anew)]
    other = pairs[0].filter(
        pl.any_horizontal(pairs[0][name].ne_missing(pairs[1][name]) for name in GOLD_COLUMNS)
    )
    items = other["item"].unique(maintain_order=True).to_list()
    return found + [f"item {item}: its gold label or its draw differs" for item in items[:20]]
