"""A coder's sheet: the items, the codes with their definitions, and nothing that a model said."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, Literal

from quaver.core.label_values import NO_LABELS, Codebook, TaskField, single_labels
from quaver.core.number_format import enumeration
from quaver.core.records import OF_SETS, LabelSet, Numbers
from quaver.core.spreadsheet import safe_cell
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

Kind = Literal["label", "set", "number"]
"""What stands in a cell: one of the codes, a set of them, or a number."""

_WRITE: Final[Mapping[Kind, str]] = {
    "label": "rite the code of one label beside each text, exactly as in the list of codes.",
    "set": "rite beside each text the codes of all labels that apply, exactly as in the list of codes, "
    f"with ; between them, and {NO_LABELS} where none applies.",
    "number": "rite a number beside each text, with digits and a point, without a unit.",
}


def kind_of(labels: LabelSet) -> Kind:
    """What a cell of a field's labels holds."""
    if isinstance(labels, Numbers):
        return "number"
    return "set" if labels.level in OF_SETS else "label"


def column_of(field: str) -> str:
    """The column of a field on a sheet, told apart from those that every sheet has.

    >>> column_of("tone"), column_of("Text")
    ('tone', 'Text (field)')
    """
    own = (ITEM, CODER, TEXT, LABEL, NOTE)
    return f"{field} (field)" if field.strip().casefold() in own else field


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One item to label.

    Attributes:
        item: Its id.
        text: Its text, as prompts show it.
        options: What each label stands for, by code, where items have options of their own.
        given: For adjudication: the coders' labels, by coder. Empty on a coder's sheet.
        known: What people have said already, by the column of the field.
    """

    item: str
    text: str
    options: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The text, with the item's own options below it."""
        return "\n".join([self.text, *(f"{code}: {text}" for code, text in self.options.items())])


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one coder labels in one round.

    Attributes:
        coder: The coder's name; of an adjudicator, theirs.
        rows: The items, in an order of this coder's own.
        labels: The label set, or a codebook with those of several fields.
        question: What is asked about each text.
        adjudicates: Whether it shows the coders' labels, for a last word.
    """

    coder: str
    rows: Sequence[SheetRow]
    labels: LabelSet
    question: str
    adjudicates: bool = False

    @property
    def coders(self) -> list[str]:
        """The coders whose labels it shows."""
        return list(dict.fromkeys(name for row in self.rows for name in row.given))

    @property
    def fields(self) -> dict[str, TaskField]:
        """What is asked about each text, by its column."""
        if isinstance(self.labels, Codebook):
            return {column_of(one.name): one for one in self.labels.fields}
        return {LABEL: TaskField(LABEL, self.labels)}

    @property
    def columns(self) -> list[str]:
        """The columns of a table of it."""
        return [ITEM, CODER, TEXT, *(f"label of {name}" for name in self.coders), *self.fields, NOTE]

    def cells(self, row: SheetRow) -> list[str]:
        """The cells of a row of that table; those to fill in are empty, but for what is known."""
        given = (row.given.get(name, "") for name in self.coders)
        return [row.item, self.coder, row.shown, *given, *(row.known.get(one, "") for one in self.fields), ""]

    @property
    def codebook(self) -> list[tuple[str, str, str, str]]:
        """Field, code, name and definition of each label; of several fields also their definitions."""
        rows = []
        for column, one in self.fields.items():
            rows += [(column, "", "", one.definition)] if one.definition else []
            rows += [
                (column, label.code, label.name, label.definition) for label in single_labels(one.labels)
            ]
        return rows

    @property
    def instructions(self) -> str:
        """What the coder is asked to do."""
        role = (
            "The coders disagree on these items. Decide which label is right."
            if self.adjudicates
            else "Label every item by yourself, without asking others and without any software."
        )
        kinds: dict[Kind, list[str]] = {}
        for column, one in self.fields.items():
            kinds.setdefault(kind_of(one.labels), []).append(column)
        several = isinstance(self.labels, Codebook)
        write = " ".join(
            f"In {enumeration(columns)}, w{_WRITE[kind]}" if several else f"W{_WRITE[kind]}"
            for kind, columns in kinds.items()
        )
        return (
            f"{role} {write} Leave "
            "the label empty where you cannot decide, and say why in the note. You may sort the rows; do not "
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
    head = book.add_format({"bold": True, "bottom": 1})
    cell = book.add_format({"text_wrap": True, "valign": "top"})

    def page(name: str, down: int, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Any:
        made = book.add_worksheet(name)
        for index, title in enumerate(heads):
            made.write_string(down, index, title, head)
            made.set_column(index, index, _WIDTHS.get(title, 16), cell)
        for below, row in enumerate(rows, down + 1):
            for index, value in enumerate(row):
                if value:
                    made.write_string(below, index, _fitting(value))
        return made

    columns = sheet.columns
    labels = page("Labels", 0, columns, map(sheet.cells, sheet.rows))
    labels.freeze_panes(1, 0)
    codes = page("Codes", 3, _HEADS, sheet.codebook)
    codes.write_string(0, 0, sheet.instructions)
    codes.write_string(1, 0, _fitting(f"The question: {sheet.question}"))
    for column, one in sheet.fields.items():
        if kind_of(one.labels) == "label":
            places = [at for at, (own, code, *_) in enumerate(sheet.codebook, 5) if own == column and code]
            index, source = columns.index(column), f"=Codes!$B${places[0]}:$B${places[-1]}"
            choices = {"validate": "list", "source": source, "error_type": "warning"}
            labels.data_validation(1, index, max(len(sheet.rows), 1), index, choices)
    book.close()
    return {f"{stem}.xlsx": file.getvalue()}


_HEADS: Final = ("field", "code", "name", "definition")
_WIDTHS: Final = {ITEM: 14, CODER: 12, TEXT: 80, NOTE: 30, "name": 30, "definition": 90}


def _fitting(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]} […]"


def _table(sheet: Sheet, stem: str) -> dict[str, bytes]:
    def rows(lines: Iterable[Sequence[str]]) -> bytes:
        file = io.StringIO(newline="")
        csv.writer(file).writerows([safe_cell(cell) for cell in line] for line in lines)
        return file.getvalue().encode("utf-8-sig", "backslashreplace")  # so that Excel reads UTF-8

    return {
        f"{stem}.csv": rows([sheet.columns, *map(sheet.cells, sheet.rows)]),
        f"{stem}.codes.csv": rows([_HEADS, *sheet.codebook]),
    }
