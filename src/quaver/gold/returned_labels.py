"""Labels that come back from coders: checked whole before any of them is kept."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from quaver.core.label_values import LabelCells, outside_label_set
from quaver.core.records import LabelSet
from quaver.core.spreadsheet import plain_cell, safe_cell
from quaver.core.table_text import composed
from quaver.errors import ItemError, nearest
from quaver.gold.coded_labels import CODED_COLUMNS, Role

ADJUDICATES = " (adjudicates)"
"""The end of the name in an adjudicator's sheet."""


@dataclass(frozen=True, slots=True)
class Returned:
    """One row that came back.

    Attributes:
        item: The item's id, as it stands there.
        label: The label, as it stands there; empty where there is none.
        coder: Who labelled it; empty where the file does not say.
        note: The coder's note.
        text: The text beside it, if the file has one.
        when: When it was labelled, in the file's words; empty where it does not say.
        where: The file and the line.
    """

    item: str
    label: str
    coder: str = ""
    note: str = ""
    text: str = ""
    when: str = ""
    where: str = ""


class ReturnedLabels:
    """Checks what comes back against what was sent out.

    Args:
        labels: The label set.
        texts: The text of each item that may be labelled, by id; empty texts where they are not known.
        allowed: Why an item may not be labelled, by id, for the study's other items.
    """

    def __init__(self, labels: LabelSet, texts: Mapping[str, str], others: Iterable[str] = ()) -> None:
        self._codes = labels.codes
        names = {one.name: one.code for one in labels.labels if one.name not in labels.codes}
        self._cells = LabelCells(labels.codes, names)
        self._typed = _by_hand([*labels.codes, *names])
        self._texts = texts
        self._others = set(others)
        self._ids = _Ids([*texts, *self._others])
        self._owners = {_plain(text): item for item, text in texts.items() if text}

    def read(self, rows: Sequence[Returned], role: Role, source: str, now: str) -> pl.DataFrame:
        """The labels of a file, in the columns in which they are kept.

        Rows may stand in any order, lack, or stand there twice with the same label. A row without a label is
        left out. A label may be written in capitals or small letters, where no other label is meant.

        Args:
            rows: The rows.
            role: What the labels are for.
            source: The file's name, or why the items were chosen.
            now: The time, where a row has none of its own.

        Raises:
            ItemError: An id is unknown or was not drawn, a label is unknown, an item has two labels of one
                coder, or the text beside an id is that of another item.
        """
        found: dict[tuple[str, str], Returned] = {}
        outside: list[Returned] = []
        kept: list[tuple[str | None, ...]] = []
        for row in rows:
            item = self._item(row)
            text = row.label.strip()
            read = self._cells.read(text) or self._cells.read(self._typed.get(_folded(text), text))
            if read is None:
                outside.append(row)
                continue
            if read.label is None:
                continue
            coder = plain_cell(row.coder).removesuffix(ADJUDICATES)
            first = found.setdefault((item, coder), row)
            if first is not row:
                if first.label.strip() != row.label.strip():
                    raise _twice(item, first, row)
                continue
            as_role = "adjudicator" if row.coder.endswith(ADJUDICATES) and role == "coder" else role
            kept.append((item, coder, as_role, read.label, row.note or None, source, row.when or now))
        if outside:
            texts = list(dict.fromkeys(row.label.strip() for row in outside))
            raise outside_label_set(
                f"the label of item {outside[0].item!r}",
                outside[0].where,
                texts,
                self._codes,
                "use one of the codes; leave the cell empty where there is no label",
            )
        return pl.DataFrame(kept, schema=CODED_COLUMNS, orient="row")

    def _item(self, row: Returned) -> str:
        """The id of the item that a row is about."""
        item = self._ids.of(row.item)
        if item is None:
            guess = nearest(row.item, self._texts)
            raise ItemError(
                "this id is not one of the study's items",
                where=row.where,
                expected="an id from the sheet",
                found=repr(row.item[:120]),
                fix=f"did you mean {guess!r}?" if guess else "take back the file that you sent out",
            )
        if item in self._others:
            raise ItemError(
                "this item is not in the gold sample",
                where=row.where,
                expected="items that were drawn",
                found=f"{item!r}, which was not",
                fix="take the file with --apart and say why these items were chosen; they are kept apart "
                "from the sample",
            )
        beside = _plain(row.text)
        other = self._owners.get(beside) if beside else None
        if other is not None and other != item and _plain(self._texts[item]) != beside:
            raise ItemError(
                "the text beside this id belongs to another item",
                where=row.where,
                expected=f"the text of {item!r}",
                found=f"the text of {other!r}",
                fix="sort whole rows, not single columns; if the ids are right, remove the column of texts",
            )
        return item


def _by_hand(texts: Iterable[str]) -> dict[str, str]:
    """Labels by what people type for them; what might stand for two is left out."""
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(_folded(text), []).append(text)
    return {typed: meant[0] for typed, meant in found.items() if len(meant) == 1}


def _folded(text: str) -> str:
    return _plain(text).casefold()


def _twice(item: str, first: Returned, row: Returned) -> ItemError:
    return ItemError(
        f"the item {item!r} has two labels of {row.coder or 'one coder'}",
        where=row.where,
        expected="one label of a coder for an item",
        found=f"{row.label!r} here, {first.label!r} at {first.where}",
        fix="remove one of the rows",
    )


def _plain(text: str) -> str:
    """A text as programs that open and save a file leave it alone."""
    return " ".join(unicodedata.normalize("NFKC", plain_cell(text)).split())


class _Ids:
    """Finds ids as spreadsheets leave them: ``007`` as ``7``, ``=1`` as ``'=1``."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = {item: item for item in ids}
        self._forms: dict[str, str | None] = {}
        for item in self._ids:
            for form in {composed(item), composed(safe_cell(item)), _number(item)} - {""}:
                self._forms[form] = None if form in self._forms else item

    def of(self, text: str) -> str | None:
        """The id that a cell holds; None where it is none, or might be two."""
        if text in self._ids:
            return text
        return self._forms.get(composed(text.strip())) or self._forms.get(_number(text))


def _number(text: str) -> str:
    """A whole number without zeros before it; empty for another text."""
    digits = text.strip().removesuffix(".0")
    return f"#{int(digits)}" if digits.isdecimal() and digits.isascii() and len(digits) < 19 else ""
