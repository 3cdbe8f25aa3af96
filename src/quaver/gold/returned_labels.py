"""Labels that come back from coders: checked whole before any of them is kept."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import polars as pl

from quaver.core.label_values import CellReader
from quaver.core.number_format import composed
from quaver.core.records import LabelSet, Reading
from quaver.core.spreadsheet import plain_cell, safe_cell
from quaver.errors import ItemError, QuaverError, nearest
from quaver.gold.coder_sheet import CODER, ITEM, NOTE, TEXT

Role = Literal["coder", "adjudicator", "apart"]
"""``coder``: of a drawn item. ``adjudicator``: the last word on a drawn item. ``apart``: of an item that was
chosen in another way than by the design."""

Rule = Literal["adjudicator", "majority"]
"""What becomes of items on which coders disagree: they wait for an adjudicator, or the label of more than
half of the coders holds (and a tie waits)."""

CODED_COLUMNS: Final = {
    "field": pl.String,
    "item": pl.String,
    "coder": pl.String,
    "role": pl.String,
    "label": pl.String,
    "note": pl.String,
    "source": pl.String,
    "when": pl.String,
}
"""A row for each label that was taken back, in the order in which it came; none is ever removed. ``field`` is
empty in a study with one label set, ``source`` the file, or why the item was chosen; ``when`` is UTC."""


def current(coded: pl.DataFrame) -> pl.DataFrame:
    """The last label of each coder for each item and field, in each role."""
    return coded.unique(["field", "item", "coder", "role"], keep="last", maintain_order=True)


@dataclass(frozen=True, slots=True)
class Settled:
    """What the coders' labels amount to.

    Attributes:
        gold: The gold label of each item that has one.
        open: The items on which coders disagree and nobody has decided, with each coder's label.
        decided: Why items on which coders disagree have a label: ``adjudicator`` or ``majority``.
    """

    gold: dict[str, str]
    open: dict[str, dict[str, str]]
    decided: dict[str, Rule]


def settled(coded: pl.DataFrame, rule: Rule = "adjudicator") -> Settled:
    """The gold labels of drawn items in a field: what all coders agree on, was adjudicated, else by the rule.

    >>> rows = [("", "1", "al", "coder", "a"), ("", "1", "bo", "coder", "b"), ("", "2", "bo", "coder", "b")]
    >>> settled(pl.DataFrame(rows, schema=["field", "item", "coder", "role", "label"], orient="row"))
    Settled(gold={'2': 'b'}, open={'1': {'al': 'a', 'bo': 'b'}}, decided={})
    """
    given: dict[str, dict[str, str]] = {}
    settled = Settled({}, {}, {})
    for item, coder, role, label in current(coded).select("item", "coder", "role", "label").iter_rows():
        if role == "coder":
            given.setdefault(item, {})[coder] = label
        elif role == "adjudicator":
            settled.gold[item] = label
    for item, labels in given.items():
        label, votes = Counter(labels.values()).most_common(1)[0]
        if votes == len(labels):
            settled.gold.setdefault(item, label)
        elif item in settled.gold:
            settled.decided[item] = "adjudicator"
        elif rule == "majority" and 2 * votes > len(labels):
            settled.gold[item], settled.decided[item] = label, "majority"
        else:
            settled.open[item] = labels
    return settled


def kept_apart(coded: pl.DataFrame) -> dict[str, str]:
    """The labels of items that were chosen in another way; none where their coders disagree."""
    labels = current(coded).filter(role="apart").group_by("item", maintain_order=True)
    agreed = labels.agg(pl.col("label").first(), kinds=pl.col("label").n_unique()).filter(kinds=1)
    return dict(agreed.select("item", "label").iter_rows())


def ratings(coded: pl.DataFrame) -> pl.DataFrame:
    """The coders' labels as a table: a row an item, a column a coder, null where one did not label it."""
    rows = current(coded).filter(pl.col("role") == "coder")
    if rows.is_empty():
        return pl.DataFrame(schema={"item": pl.String})
    return rows.pivot("coder", index="item", values="label")


ADJUDICATES = " (adjudicates)"
"""The end of the name in an adjudicator's sheet."""


_READ: Final = ("item", "coder", "role", "label", "note")


class Row(Protocol):
    """A row that came back, with the columns of a sheet."""

    @property
    def where(self) -> str:
        """The file and the line."""

    def text(self, column: str | None) -> str:
        """A cell's text; empty for an empty cell."""


class ReturnedLabels:
    """Checks what comes back against what was sent out.

    Args:
        labels: The label set.
        texts: The text of each drawn item, by id; empty texts where they are not known.
        others: The study's other items.
        apart: Whether these may be labelled too, since their labels are kept apart.
        spans: Makes a label of a cell that holds words of an item's text: gets the item, the cell and where
            it stands.
    """

    def __init__(
        self,
        labels: LabelSet,
        texts: Mapping[str, str],
        others: Iterable[str] = (),
        *,
        apart: bool = False,
        spans: Callable[[str, str, str], str] | None = None,
    ) -> None:
        self._spans = spans
        self._is_number, self._reader = labels.are_numbers, CellReader(labels)
        self._texts, self._apart = texts, apart
        self._ids = SheetIds([*texts, *others])
        self._owners = {_plain(text): item for item, text in texts.items() if text}

    def read(self, rows: Sequence[Row], column: str, coder: str | None = None) -> pl.DataFrame:
        """The labels in a column of a file: ``item``, ``coder``, ``role``, ``label`` and ``note``.

        Rows may stand in any order, lack, or stand there twice with the same label. A row without a label is
        left out. A label may be written in capitals or small letters, where no other label is meant.

        Args:
            rows: The rows, with the columns of a sheet.
            column: That of the labels.
            coder: Who labelled, where the rows do not say.
        """
        if self._is_number:
            _check_points(rows, column)
        first_rows: dict[tuple[str, str], Row] = {}
        outside: list[Row] = []
        kept: list[tuple[str | None, ...]] = []
        for row in rows:
            read = self._meaning(row, column)
            if read is not None and read.label is None:
                continue
            item = self._item(row)
            if read is None:
                outside.append(row)
                continue
            who, adjudicates = signed(row, coder)
            first = first_rows.setdefault((item, who), row)
            if first is row:
                role = "adjudicator" if adjudicates else "coder"
                kept.append((item, who, role if item in self._texts else "apart", read.label, row.text(NOTE)))
            elif self._meaning(first, column) != read:
                raise ItemError(
                    f"the item {item!r} has two labels of {who or 'one coder'}",
                    where=row.where,
                    expected="one label of a coder for an item",
                    found=f"{row.text(column)!r} here, {first.text(column)!r} at {first.where}",
                    fix="remove one of the rows",
                )
        if outside:
            first, texts = outside[0], list(dict.fromkeys(row.text(column) for row in outside))
            fix = "use the codes; leave the cell empty where there is no label"
            raise self._reader.outside(f"the label of item {first.text(ITEM)!r}", first.where, texts, fix)
        frame = pl.DataFrame(kept, dict.fromkeys(_READ, pl.String), orient="row")
        return frame.with_columns(pl.col("note").replace("", None))

    def _meaning(self, row: Row, column: str) -> Reading | None:
        """What a cell means; None where that is not known."""
        cell = row.text(column)
        if self._spans is None or not cell:
            return self._reader.read(cell)
        return Reading(self._spans(self._item(row), cell, f"{row.where}: {column}"), "valid", None)

    def _item(self, row: Row) -> str:
        """The id of the item that a row is about."""
        written = row.text(ITEM)
        item = self._ids.of(written)
        if item is None:
            guess = nearest(written, self._texts)
            raise ItemError(
                "this id is not one of the study's items",
                where=row.where,
                expected="an id from the sheet",
                found=repr(written[:120]),
                fix=f"did you mean {guess!r}?" if guess else "take back the file that you sent out",
            )
        if item not in self._texts and not self._apart:
            raise ItemError(
                "this item is not in the gold sample",
                where=row.where,
                expected="items that were drawn",
                found=f"{item!r}, which was not",
                fix="take the file with --apart and say why these items were chosen; they are kept apart "
                "from the sample",
            )
        beside = _plain(row.text(TEXT))
        other = self._owners.get(beside) if beside else None
        if other is not None and other != item and _plain(self._texts.get(item, "")) != beside:
            raise ItemError(
                "the text beside this id belongs to another item",
                where=row.where,
                expected=f"the text of {item!r}",
                found=f"the text of {other!r}",
                fix="sort whole rows, not single columns; if the ids are right, remove the column of texts",
            )
        return item


_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_DECIMAL = re.compile(r"[+-]?(0|\d{4,})?\.\d+|[+-]?\d+\.(\d{1,2}|\d{4,})")


def _check_points(rows: Sequence[Row], column: str) -> None:
    """Check that a point in a number cannot be read as a thousands separator."""
    if any(_DECIMAL.fullmatch(row.text(column)) for row in rows):
        return
    for row in rows:
        text = row.text(column)
        if _EITHER.fullmatch(text):
            whole, decimals = text.replace(".", ""), text.rstrip("0")
            raise ItemError(
                f"this number may be {decimals} or {whole}",
                where=row.where,
                expected="a number that can be read in one way",
                found=text,
                fix=f"write {decimals} or {whole}",
            )


def signed(row: Row, coder: str | None) -> tuple[str, bool]:
    """Who labelled a row, and whether as the one who decides.

    Raises:
        QuaverError: The row has another coder's name.
    """
    written = row.text(CODER)
    named = plain_cell(written).removesuffix(ADJUDICATES)
    if named and coder and named != coder:
        raise QuaverError(
            "this row is another coder's",
            where=row.where,
            expected=coder,
            found=named,
            fix="leave the coder out; the file says who labelled",
        )
    return named or coder or CODER, written.endswith(ADJUDICATES)


def _plain(text: str) -> str:
    """A text as programs that open and save a file leave it alone."""
    return " ".join(unicodedata.normalize("NFKC", plain_cell(text)).split())


class SheetIds:
    """Finds ids as spreadsheets leave them: ``007`` as ``7``, ``=1`` as ``'=1``."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = dict.fromkeys(ids)
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
