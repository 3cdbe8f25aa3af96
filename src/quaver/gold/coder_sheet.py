"""A coder's sheet: the items, the codes with their definitions, and nothing that a model said."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, Literal

from quaver.core.label_values import NO_LABELS, TaskField, fields_in, single_labels
from quaver.core.number_format import enumeration
from quaver.core.records import OF_SETS, LabelSet
from quaver.core.rows import grouped
from quaver.core.spreadsheet import csv_text
from quaver.gold.gold_draw import permanent_numbers


def assigned(items: Sequence[str], coders: Sequence[str], overlap: float, seed: int) -> dict[str, list[str]]:
    """Deal items to coders; a random part of them goes to every coder.

    Returns:
        Each coder's items, in an order of their own that says nothing about strata or doubt.

    >>> found = assigned(list("abcdef"), ["ada", "ben"], 0.5, 1)
    >>> sorted(map(len, found.values())), len(set(found["ada"]) & set(found["ben"]))
    ([4, 5], 3)
    """
    dealt = _shuffled(items, seed, "deal")
    shared = ceil(overlap * len(items) - 1e-9) if len(coders) > 1 else 0
    result: dict[str, list[str]] = dict.fromkeys(coders, dealt[:shared])
    for index, coder in enumerate(coders):
        result[coder] = _shuffled(
            [*result[coder], *dealt[shared:][index :: len(coders)]], seed, f"order {coder}"
        )
    return result


def labels_per_item(coders: int, overlap: float) -> float:
    """How many labels an item takes on average.

    >>> labels_per_item(2, 0.2)
    1.2
    """
    return 1 + overlap * (max(coders, 1) - 1)


def _shuffled(items: Sequence[str], seed: int, purpose: str) -> list[str]:
    numbers = permanent_numbers(seed, items, purpose).tolist()
    return [item for _, item in sorted(zip(numbers, items, strict=True))]


ITEM: Final = "item"
CODER: Final = "coder"
TEXT: Final = "text"
LABEL: Final = "label"
NOTE: Final = "note"
FILE: Final = "file beside the text"
"""Of a row, no column: the picture, page or recording that the text's cell of a workbook opens."""

Kind = Literal["label", "set", "number", "spans"]
"""What stands in a cell: one of the codes, a set of them, a number, or words of the text with their codes."""

_WRITE: Final[Mapping[Kind, str]] = {
    "label": "write the code of one label beside each text, exactly as in the list of codes.",
    "set": "write beside each text the codes of all labels that apply, exactly as in the list of codes, "
    f"with ; between them, and {NO_LABELS} where none applies.",
    "number": "write a number beside each text, with digits and a point, without a unit.",
    "spans": "write a line for each passage that has a label: its code, a colon, and the words, copied from "
    f"the text (in Excel, Alt and Enter begin a new line). Write {NO_LABELS} where no passage has one.",
}


def kind_of(field: TaskField) -> Kind:
    """What a cell of a field holds."""
    if field.spans or field.labels.are_numbers:
        return "spans" if field.spans else "number"
    return "set" if field.labels.level in OF_SETS else "label"


def column_of(field: str) -> str:
    """The column of a field on a sheet, told apart from those that every sheet has.

    >>> column_of("tone"), column_of("Text"), column_of("")
    ('tone', 'Text (field)', 'label')
    """
    own = (ITEM, CODER, TEXT, LABEL, NOTE)
    return f"{field} (field)" if field.strip().casefold() in own else field or LABEL


def label_of(coder: str) -> str:
    """The column of a coder's labels on an adjudicator's sheet."""
    return f"label of {coder}"


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one coder labels in one round.

    Attributes:
        coder: The coder's name; of an adjudicator, theirs.
        rows: The items, in an order of this coder's own: the cells of each that are filled in, by column.
        labels: The label set, or a codebook with those of several fields.
        question: What is asked about each text.
        coders: For adjudication: the coders whose labels it shows.
        spans: Whether passages of the text have the labels, where these are not of several fields.
    """

    coder: str
    rows: Sequence[Mapping[str, str]]
    labels: LabelSet
    question: str
    coders: Sequence[str] = ()
    spans: bool = False

    @property
    def fields(self) -> dict[str, TaskField]:
        """What is asked about each text, by its column."""
        fields = fields_in(self.labels) or [TaskField("", self.labels, spans=self.spans)]
        return {column_of(field.name): field for field in fields}

    @property
    def columns(self) -> list[str]:
        """The columns of a table of it."""
        return [ITEM, CODER, TEXT, *map(label_of, self.coders), *self.fields, NOTE]

    def table(self) -> list[list[str]]:
        """The rows of that table; cells to fill in are empty."""
        columns = self.columns
        return [[row.get(column, self.coder * (column == CODER)) for column in columns] for row in self.rows]

    @property
    def codebook(self) -> list[tuple[str, str, str, str]]:
        """Field, code, name and definition of each label; of several fields also their definitions."""
        rows = []
        for column, field in self.fields.items():
            if field.definition:
                rows.append((column, "", "", field.definition))
            for label in single_labels(field.labels):
                rows.append((column, label.code, label.name, label.definition))
        return rows

    @property
    def instructions(self) -> str:
        """What the coder is asked to do."""
        fields = self.fields
        parts = ["Label every item by yourself, without asking others and without any software."]
        if self.coders:
            parts = ["The coders disagree on these items. Decide which label is right."]
        for kind, columns in grouped(fields, lambda column: kind_of(fields[column])).items():
            parts.append(f"In {enumeration(columns)}, {_WRITE[kind]}")
        return " ".join([*parts, _HOW_TO_RETURN])


_HOW_TO_RETURN: Final = (
    "Leave the label empty where you cannot decide, and say why in the note. You may sort the rows; do not "
    "change or add ids."
)

Format = Literal["xlsx", "csv"]
"""``xlsx``: a workbook with the codes on a second sheet and a list to choose from. ``csv``: a table."""

_LONGEST_CELL = 32_000
"""Characters that a workbook's cell holds, with room for the note that the text was cut."""


def written(sheet: Sheet, stem: str, form: Format) -> dict[str, bytes]:
    """The files of a sheet, by name; the first is the one that comes back."""
    return _workbook(sheet, stem) if form == "xlsx" else _table(sheet, stem)


def _workbook(sheet: Sheet, stem: str) -> dict[str, bytes]:
    import xlsxwriter  # a while to load, and most sheets of a study are written once

    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_formulas": False})
    columns, codebook = sheet.columns, sheet.codebook
    labels = _page(book, "Labels", 0, [columns, *sheet.table()])
    labels.freeze_panes(1, 0)
    for at, row in enumerate(sheet.rows, start=1):
        if row.get(FILE):
            link = f"external:{row[FILE]}"
            labels.write_url(at, columns.index(TEXT), link, string=_fitting(row[TEXT]), tip="Open the file")
    codes = _page(book, "Codes", _CODES_FROM, [_HEADS, *codebook])
    codes.write_string(0, 0, sheet.instructions)
    codes.write_string(1, 0, _fitting(f"The question: {sheet.question}"))
    for index, column in enumerate(columns):
        if column in sheet.fields and kind_of(sheet.fields[column]) == "label":
            lines = []
            for line, (own, code, *_) in enumerate(codebook, _CODES_FROM + 2):
                if own == column and code:
                    lines.append(line)
            source = f"=Codes!$B${lines[0]}:$B${lines[-1]}"
            choices = {"validate": "list", "source": source, "error_type": "warning"}
            labels.data_validation(1, index, max(len(sheet.rows), 1), index, choices)
    book.close()
    return {f"{stem}.xlsx": file.getvalue()}


def _page(book: Any, name: str, down: int, rows: Sequence[Sequence[str]]) -> Any:
    """A page of a workbook with a table from a row on, the first of which is its head."""
    head = book.add_format({"bold": True, "bottom": 1})
    cell = book.add_format({"text_wrap": True, "valign": "top"})
    page = book.add_worksheet(name)
    for index, title in enumerate(rows[0]):
        page.set_column(index, index, _WIDTHS.get(title, 16), cell)
    for at, row in enumerate(rows):
        for index, value in enumerate(row):
            if value:
                page.write_string(down + at, index, _fitting(value), None if at else head)
    return page


_CODES_FROM: Final = 3
"""The row of the codes' head, from 0, below the instructions."""

_HEADS: Final = ("field", "code", "name", "definition")
_WIDTHS: Final = {ITEM: 14, CODER: 12, TEXT: 80, NOTE: 30, "name": 30, "definition": 90}


def _fitting(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]} […]"


def _table(sheet: Sheet, stem: str) -> dict[str, bytes]:
    tables = {
        f"{stem}.csv": csv_text([sheet.columns, *sheet.table()]),
        f"{stem}.codes.csv": csv_text([_HEADS, *sheet.codebook]),
    }
    # with a mark at the beginning, so that Excel reads UTF-8
    return {name: text.encode("utf-8-sig", "backslashreplace") for name, text in tables.items()}
