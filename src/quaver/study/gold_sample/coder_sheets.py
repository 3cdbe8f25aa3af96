"""Sheets for coders, and what comes back from them: tables, exports of Label Studio and Argilla."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.annotations import GOLD_COLUMNS
from quaver.core.input_budget import parsed_json, read_file
from quaver.core.label_values import SEPARATOR
from quaver.core.transaction import Transaction
from quaver.design.items.answer_options import options_of
from quaver.design.items.table_files import FORMATS, read_rows
from quaver.design.items.text_lines import Row
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
    question_of,
    written,
)
from quaver.gold.gold_draw import FEWEST, FLOOR, HOW, in_sample, with_gold
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
    found = _from_json(path, columns) if path.suffix.lower() == ".json" else _from_table(path, columns)
    if not any(row.label.strip() for rows in found for row in rows):
        raise ItemError(
            "this file holds no labels",
            where=path.name,
            expected=f"a code in the column {_either(columns)} of some row",
            found=f"{max(map(len, found), default=0)} rows without one",
            fix="fill in the labels, save the file, and take it again",
        )
    return found


def _either(columns: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in columns)


def _from_table(path: Path, columns: Sequence[str]) -> list[list[Returned]]:
    rows = _table(path)
    names = {name.strip().casefold(): name for name in (rows[0] if rows else ())}
    known = [names.get(column.casefold()) for column in columns]
    for needed, there in ((ITEM, ITEM in names), (columns[0], any(known))):
        if rows and not there:
            raise ItemError(
                f"this file has no column {needed!r}",
                where=f"{path.name}:1",
                expected=f"the columns {ITEM} and {' or '.join(columns)}",
                found=", ".join(map(repr, rows[0])) or "no columns",
                fix="rename the columns, or take back the file that was sent out",
            )
    item, coder, note, text = (names.get(part) for part in (ITEM, CODER, NOTE, TEXT))
    return [
        [
            _returned([row.text(part) for part in (item, label, coder, note, text)], row.where)
            for row in (rows if label else ())
            if row.text(item) or row.text(label)
        ]
        for label in known
    ]


def _table(path: Path) -> list[Row]:
    """The rows, however a spreadsheet program saved them."""
    ending = path.suffix.lower()
    if ending in (".xlsx", ".xlsm", ".ods"):
        try:
            return read_rows(path, sheet=_SHEET, hint=_HINT)
        except UnknownName:  # saved under another name, or by another program
            return read_rows(path, hint=_HINT)
    if ending in (".csv", ".tsv", ".tab") and path.is_file():
        start = _content(path)
        encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        try:
            text = start.decode("utf-8-sig" if encoding == "utf-8" else encoding)
        except UnicodeDecodeError:
            encoding = "cp1252"  # as Excel saves CSV in western Europe
            text = start.decode("latin-1")
        first = text.partition("\n")[0]
        separator = max(",;\t", key=first.count) if ending == ".csv" else None
        return read_rows(path, encoding, separator, hint=_HINT)
    if ending and ending not in FORMATS:
        raise ItemError(
            f"files that end in {ending!r} are not read",
            where=str(path),
            expected=f"one of {', '.join([*FORMATS, '.json'])}",
            fix="save the sheet as .xlsx or .csv",
        )
    return read_rows(path, hint=_HINT)


def _from_json(path: Path, columns: Sequence[str]) -> list[list[Returned]]:
    return returned_in(_content(path), path.name, columns)


def _content(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise ItemError("this file cannot be read", where=str(path), found=str(error)[:200]) from None


def returned_in(content: bytes, name: str, columns: Sequence[str] = (LABEL,)) -> list[list[Returned]]:
    """The rows in an export of Label Studio or Argilla, with the labels of each column."""
    try:
        records = parsed_json(content)
    except (ValueError, RecursionError) as error:
        raise ItemError("this file cannot be read", where=name, found=str(error)[:200]) from None
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise _foreign(name, "no list of records")
    result: list[list[Returned]] = [[] for _ in columns]
    for number, record in enumerate(records, 1):
        for column, rows in zip(columns, result, strict=True):
            try:
                rows += _of_record(record, column, f"{name}: record {number}")
            except (TypeError, AttributeError, LookupError, ValueError) as error:
                raise _foreign(name, f"record {number}: {error}") from None
    return result


def _of_record(record: Mapping[str, Any], column: str, where: str) -> Iterator[Returned]:
    """The labels of one record: of Label Studio if it has ``data``, of Argilla if ``responses``."""
    if "data" in record:
        yield from _label_studio(record, column, where)
    elif "responses" in record:
        yield from _argilla(record, question_of(column), where)
    elif ITEM in record:  # Label Studio's JSON-MIN, or any flat record
        texts = (
            record[ITEM],
            _said(record.get(column)),
            record.get(CODER),
            record.get(NOTE),
            record.get(TEXT),
        )
        yield _returned(texts, where, record.get("updated_at"), record.get("annotator"))
    else:
        raise LookupError(f"neither data, responses nor {ITEM!r}")


def _label_studio(record: Mapping[str, Any], column: str, where: str) -> Iterator[Returned]:
    data = record["data"]
    done = [one for one in record.get("annotations") or () if not one.get("was_cancelled")]
    for one in done:
        label, note = "", ""
        for part in one["result"]:
            if part.get("from_name", LABEL) == column:
                label = _said(part["value"])
            elif part["from_name"] == NOTE:
                note = " ".join(map(str, part["value"]["text"]))
        by = one.get("completed_by")
        by = (by.get("email") or by.get("id")) if isinstance(by, dict) else by
        coder = by if len(done) > 1 and by is not None else data.get(CODER)
        texts = (data[ITEM], label, coder, note, data.get(TEXT))
        yield _returned(texts, where, one.get("updated_at") or one.get("created_at"), by)


def _argilla(record: Mapping[str, Any], question: str, where: str) -> Iterator[Returned]:
    metadata, fields = record.get("metadata") or {}, record.get("fields") or {}
    item = metadata.get(ITEM, record.get("id", record.get("external_id")))
    responses = record["responses"]
    if isinstance(responses, dict):  # Argilla 2: by question
        given = [(one.get("user_id"), one["value"]) for one in responses.get(question) or ()]
        notes = {one.get("user_id"): one["value"] for one in responses.get(NOTE) or ()}
    else:  # Argilla 1: by person
        kept = [response for response in responses if response.get("status") != "discarded"]
        values = [(one.get("user_id"), one.get("values") or {}) for one in kept]
        given = [(by, value[question]["value"]) for by, value in values if question in value]
        notes = {by: value[NOTE]["value"] for by, value in values if NOTE in value}
    for by, label in given:
        coder = by if len(given) > 1 and by is not None else metadata.get(CODER)
        yield _returned((item, _said(label), coder, notes.get(by), fields.get(TEXT)), where, by=by)


def _said(value: Any) -> Any:
    """What was said of a field: a text or a number, or the choices of several as a set is written."""
    if isinstance(value, dict):  # what a control of Label Studio holds: choices, a number, a rating
        (value,) = value.values()
    return SEPARATOR.join(map(str, value)) if isinstance(value, list) else value


def _returned(values: Sequence[Any], where: str, when: Any = None, by: Any = None) -> Returned:
    """A row of item, label, coder, note and text."""
    for value in values:
        if isinstance(value, list | dict):
            raise TypeError(f"a {type(value).__name__} where a text should be")
    texts = ["" if value is None else str(value).strip() for value in values]
    item, label, coder, note, text = (one.encode("utf-8", "backslashreplace").decode() for one in texts)
    said, who = ("" if value is None else str(value) for value in (when, by))
    return Returned(item, label, coder, note, text, said[:40], where, who[:200])


def _foreign(name: str, found: str) -> ItemError:
    return ItemError(
        "this is not a file of labels that came back",
        where=name,
        expected="an export of Label Studio (JSON or JSON-MIN) or of Argilla",
        found=found[:200],
        fix="export the project in one of these formats, or as CSV with the columns item and label",
    )


_UNFIT = re.compile(r"[^\w-]+")
"""What a file's name has no room for."""


class CoderSheets:
    """Makes sheets for a study's coders. Nothing that a model said is on them.

    Args:
        source: The study.
        state: Its gold sample.

    Attributes:
        state: The same.
    """

    def __init__(self, source: StudySource, state: GoldState) -> None:
        self._source, self.state = source, state
        self._experiment = source.experiment

    def texts(self) -> dict[str, str]:
        """The text of each item that may be labelled, as the original prompt shows it."""
        drawn = set() if self.state.draw is None else {*self.state.draw.filter("drawn")["item"]}
        writer = PromptWriter(self._experiment.variants[0], self._experiment.labels)
        known = self._source.has_texts
        return {
            item.id: writer.text(item) if known else "" for item in self._experiment.items if item.id in drawn
        }

    def of_round(self, number: int) -> list[Sheet]:
        """A sheet for each coder of a round, of the items that they have not labelled yet."""
        design, draw = self.state.design, self.state.draw
        assert design is not None
        assert draw is not None
        about = design["rounds"][number - 1]
        items = draw.filter(pl.col("drawn") & (pl.col("round") == number))["item"].to_list()
        dealt = assigned(items, about["coders"], about["overlap"], design["seed"])
        labelled = current(self.state.coded).filter(role="coder")
        done = set(labelled.select("item", "coder").iter_rows())
        known = set(labelled.filter(source=OWN_TABLE)["item"])
        sheets = []
        for coder, own in dealt.items():
            rows = self._rows(item for item in own if (item, coder) not in done and item not in known)
            sheets.append(Sheet(coder, rows, self._experiment.labels, self.question))
        return [sheet for sheet in sheets if sheet.rows]

    def of_disagreements(self, adjudicator: str) -> Sheet:
        """The items on which coders disagree, with their labels."""
        still_open = self.state.settled.open
        rows = self._rows(sorted(still_open))
        shown = [SheetRow(row.item, row.text, row.options, still_open[row.item]) for row in rows]
        labels = self._experiment.labels
        return Sheet(adjudicator + ADJUDICATES, shown, labels, self.question, adjudicates=True)

    @property
    def question(self) -> str:
        """What the original prompt asks, where it is plain text and no template."""
        asked = self._experiment.variants[0].instruction.strip()
        return asked if asked and "{" not in asked else "Which label fits the text?"

    def _rows(self, items: Iterable[str]) -> list[SheetRow]:
        by_id = {item.id: item for item in self._experiment.items}
        texts, labels = self.texts(), self._experiment.labels
        rows = []
        for one in items:
            if one not in by_id:
                continue  # it has left the study since
            options = options_of(by_id[one], labels) if labels.options else ()
            shown = dict(zip(labels.codes, options, strict=False))
            rows.append(SheetRow(one, texts[one], shown))
        return rows


def round_sheets(fields: Mapping[str, CoderSheets], whole: StudySource, number: int) -> list[Sheet]:
    """A sheet for each coder of a round, with a column for each field.

    An item is on it while one of its fields lacks a label; labels that people gave the others stand there.

    Args:
        fields: What makes the sheets of each field, by its name; of a task with one label set, of that.
        whole: The study with all of them.
        number: The round.
    """
    alone = {name: sheets.of_round(number) for name, sheets in fields.items()}
    if not whole.spec.task.fields:
        return next(iter(alone.values()))
    rows: dict[str, dict[str, SheetRow]] = {}
    for sheet in (sheet for sheets in alone.values() for sheet in sheets):
        rows.setdefault(sheet.coder, {}).update({row.item: row for row in sheet.rows})
    (first, *_) = fields.values()
    question, labels = first.question, whole.experiment.labels
    return [
        Sheet(
            coder, [replace(row, known=_known(fields, item)) for item, row in own.items()], labels, question
        )
        for coder, own in rows.items()
    ]


def _known(fields: Mapping[str, CoderSheets], item: str) -> dict[str, str]:
    given = ((name, sheets.state.settled.gold.get(item)) for name, sheets in fields.items())
    return {column_of(name): label for name, label in given if label is not None}


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
        again = next(n for n in range(1, 10_000) if not [*folder.glob(f"{name}{_number(n)}.*")])
        for file, content in written(sheet, f"{name}{_number(again)}", form).items():
            paths.append(folder / file)
            staged.append(change.file(folder / file))
            staged[-1].write_bytes(content)
    check_outgoing(staged)
    return paths


def _number(again: int) -> str:
    return "" if again == 1 else f"-{again}"


def pack_gold(files: GoldFiles, folder: Path, *, texts: bool) -> None:
    """Copy a gold sample to a folder that is packed; without the coders' notes where texts stay behind."""
    for name, path in files.there.items():
        shutil.copyfile(path, folder / name)
    if not texts:
        GoldFiles(folder).forget_notes()


def _design_differences(design: DesignFile, draw: pl.DataFrame) -> Iterator[str]:
    """What of a gold sample's record its draw contradicts."""
    if design["floor"] != FLOOR or design["how"] != HOW:
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
        if one["drawn"] != drawn or (
            design["design"] != "poisson" and not one["size"] <= total <= max(one["size"], least)
        ):
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
        again = in_sample(state.draw, state.design["seed"], state.design["design"])
        if not again.equals(state.draw["drawn"], check_names=False):
            found.append("the items of the gold sample are not those that its seed and probabilities draw")
        found += [f"gold-design.json: {one}" for one in _design_differences(state.design, state.draw)]
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
