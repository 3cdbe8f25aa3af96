"""A coder's sheet: the items, the codes with their definitions, and nothing that a model said."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final, Literal, get_args
from xml.sax.saxutils import quoteattr

from quaver.core.label_values import single_labels
from quaver.core.records import OF_SETS, LabelSet, Numbers
from quaver.core.spreadsheet import safe_cell
from quaver.errors import QuaverError
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


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One item to label.

    Attributes:
        item: Its id.
        text: Its text, as prompts show it.
        options: What each label stands for, by code, where items have options of their own.
        given: For adjudication: the coders' labels, by coder. Empty on a coder's sheet.
    """

    item: str
    text: str
    options: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

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
        labels: The label set.
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
    def columns(self) -> list[str]:
        """The columns of a table of it."""
        return [ITEM, CODER, TEXT, *(f"label of {name}" for name in self.coders), LABEL, NOTE]

    def cells(self, row: SheetRow) -> list[str]:
        """The cells of a row of that table; label and note are empty."""
        return [row.item, self.coder, row.shown, *(row.given.get(name, "") for name in self.coders), "", ""]

    @property
    def codebook(self) -> list[tuple[str, str, str]]:
        """Code, name and definition of each label."""
        return [(label.code, label.name, label.definition) for label in single_labels(self.labels)]

    @property
    def chooses_one(self) -> bool:
        """Whether a label is one of the codes, and neither a set of them nor a number."""
        return self.labels.level not in OF_SETS and not isinstance(self.labels, Numbers)

    @property
    def instructions(self) -> str:
        """What the coder is asked to do."""
        role = (
            "The coders disagree on these items. Decide which label is right."
            if self.adjudicates
            else "Label every item by yourself, without asking others and without any software."
        )
        write = "Write the code of one label beside each text, exactly as in the list of codes."
        if isinstance(self.labels, Numbers):
            write = "Write a number beside each text, with digits and a point, without a unit."
        elif not self.chooses_one:
            write = (
                "Write beside each text the codes of all labels that apply, exactly as in the list of codes, "
                "with ; between them, and [] where none applies."
            )
        return (
            f"{role} {write} Leave "
            "the label empty where you cannot decide, and say why in the note. You may sort the rows; do not "
            "change or add ids."
        )


Format = Literal["xlsx", "csv", "label-studio", "argilla"]
"""``xlsx``: a workbook with the codes on a second sheet and a list to choose from. ``csv``: a table.
``label-studio`` and ``argilla``: records to import, and beside them the project's configuration."""

FORMATS: Final = get_args(Format)

_LONGEST_CELL = 32_000
"""Characters that a workbook's cell holds, with room for the note that the text was cut."""


def written(sheet: Sheet, stem: str, form: Format) -> dict[str, bytes]:
    """The files of a sheet, by name; the first is the one that comes back.

    Raises:
        QuaverError: The form has one label for each item, and these are sets or numbers.
    """
    if form not in ("xlsx", "csv") and not sheet.chooses_one:
        raise QuaverError(
            "this form of a sheet takes one label for each text",
            where="--as",
            expected="xlsx or csv, where a label is a set or a number",
            found=form,
        )
    return _WRITERS[form](sheet, stem)


def _workbook(sheet: Sheet, stem: str) -> dict[str, bytes]:
    import xlsxwriter  # a while to load, and most sheets of a study are written once

    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_formulas": False})
    head = book.add_format({"bold": True, "bottom": 1})
    cell = book.add_format({"text_wrap": True, "valign": "top"})
    page = book.add_worksheet("Labels")
    codes = book.add_worksheet("Codes")
    columns = sheet.columns
    widths = {ITEM: 14, CODER: 12, TEXT: 80, LABEL: 16, NOTE: 30}
    for index, name in enumerate(columns):
        page.write_string(0, index, name, head)
        page.set_column(index, index, widths.get(name, 16), cell)
    for down, row in enumerate(sheet.rows, 1):
        for index, value in enumerate(sheet.cells(row)):
            if value:
                page.write_string(down, index, _fitting(value))
    page.freeze_panes(1, 0)
    codes.write_string(0, 0, sheet.instructions)
    codes.write_string(1, 0, _fitting(f"The question: {sheet.question}"))
    for index, name in enumerate(("code", "name", "definition")):
        codes.write_string(3, index, name, head)
        codes.set_column(index, index, (20, 30, 90)[index])
    for down, parts in enumerate(sheet.codebook, 4):
        for index, value in enumerate(parts):
            codes.write_string(down, index, _fitting(value))
    if sheet.chooses_one:
        index, last = columns.index(LABEL), 4 + len(sheet.codebook)
        choices = {"validate": "list", "source": f"=Codes!$A$5:$A${last}", "error_type": "warning"}
        page.data_validation(1, index, max(len(sheet.rows), 1), index, choices)
    book.close()
    return {f"{stem}.xlsx": file.getvalue()}


def _fitting(text: str) -> str:
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]} […]"


def _table(sheet: Sheet, stem: str) -> dict[str, bytes]:
    def rows(lines: list[list[str]]) -> bytes:
        file = io.StringIO(newline="")
        csv.writer(file).writerows([safe_cell(cell) for cell in line] for line in lines)
        return file.getvalue().encode("utf-8-sig", "backslashreplace")  # so that Excel reads UTF-8

    codes = [["code", "name", "definition"], *(list(parts) for parts in sheet.codebook)]
    return {
        f"{stem}.csv": rows([sheet.columns, *map(sheet.cells, sheet.rows)]),
        f"{stem}.codes.csv": rows(codes),
    }


def _label_studio(sheet: Sheet, stem: str) -> dict[str, bytes]:
    """Tasks, and the labelling interface; the coders' labels of an adjudication stand above the text."""
    tasks = [
        {"data": {ITEM: row.item, CODER: sheet.coder, TEXT: _with_given(row.shown, row.given)}}
        for row in sheet.rows
    ]
    choices = "\n".join(
        f"    <Choice value={_attribute(code)}"
        f" hint={_attribute(': '.join(part for part in (name, definition) if part))}/>"
        for code, name, definition in sheet.codebook
    )
    interface = (
        f"<View>\n  <Header value={_attribute(sheet.question)}/>\n"
        f'  <Text name="{TEXT}" value="${TEXT}"/>\n'
        f'  <Choices name="{LABEL}" toName="{TEXT}" choice="single" required="true">\n'
        f"{choices}\n  </Choices>\n"
        f'  <TextArea name="{NOTE}" toName="{TEXT}" placeholder="A note, if you like" rows="2"/>\n</View>\n'
    )
    return {
        f"{stem}.label-studio.json": _json(tasks),
        f"{stem}.label-studio.xml": interface.encode("utf-8", "backslashreplace"),
    }


def _attribute(text: str) -> str:
    """A text as an attribute of XML, without the characters that XML does not have."""
    plain = "".join(c for c in text if c.isprintable() or c in "\n\t")
    return quoteattr(plain.encode("utf-8", "replace").decode())


def _argilla(sheet: Sheet, stem: str) -> dict[str, bytes]:
    """Records, and the configuration of their dataset."""
    records = [
        {
            "id": row.item,
            "fields": {TEXT: _with_given(row.shown, row.given)},
            "metadata": {CODER: sheet.coder},
            "suggestions": {},
            "responses": {},
            "vectors": {},
            "_server_id": None,
        }
        for row in sheet.rows
    ]
    options = [
        {"value": code, "text": name or code, "description": definition or None}
        for code, name, definition in sheet.codebook
    ]
    plain = {"type": "text", "use_markdown": False}
    settings = {
        "guidelines": sheet.instructions,
        "allow_extra_metadata": True,
        "fields": [{"name": TEXT, "title": "Text", "required": True, "settings": plain}],
        "questions": [
            {
                "name": LABEL,
                "title": sheet.question,
                "required": True,
                "settings": {"type": "label_selection", "options": options, "visible_options": None},
            },
            {"name": NOTE, "title": "Note", "required": False, "settings": plain},
        ],
        "vectors": [],
        "metadata": [],
    }
    return {f"{stem}.argilla.json": _json(records), f"{stem}.argilla-settings.json": _json(settings)}


def _with_given(text: str, given: Mapping[str, str]) -> str:
    labels = "".join(f"{coder}: {label}\n" for coder, label in given.items())
    return f"{labels}\n{text}" if labels else text


def _json(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


_WRITERS: Final[Mapping[Format, Callable[[Sheet, str], dict[str, bytes]]]] = {
    "xlsx": _workbook,
    "csv": _table,
    "label-studio": _label_studio,
    "argilla": _argilla,
}
