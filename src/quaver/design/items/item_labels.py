"""The labels that items come with: gold, and those of human coders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from quaver.core.column_names import column_of
from quaver.core.label_values import LabelCells, outside_label_set
from quaver.core.number_format import text_of
from quaver.core.records import Item, LabelSet
from quaver.design.items.answer_options import options_of
from quaver.design.items.row_selection import place_of
from quaver.design.spec import GoldSpec, StudySpec
from quaver.design.spec.items_spec import ItemsSpec
from quaver.design.spec.study_file import Positions
from quaver.errors import UnknownName


def with_labels(
    items: Sequence[Item],
    asked: ItemsSpec,
    spec: StudySpec,
    columns: Collection[str],
    source: Positions,
    loc: tuple[str, ...],
) -> list[Item]:
    """The items with their gold labels and, among their groups, the label of each coder.

    Raises:
        UnknownName: The column of gold labels does not exist, or a text is mapped to no label.
        ItemError: A label is not in the label set.
    """
    found = list(items)
    if asked.coders:
        reader = _Labels(asked.gold, spec, source, loc)
        found = [
            replace(item, groups={**item.groups, **_given(reader, item, number, asked.coders)})
            for number, item in enumerate(items, start=1)
        ]
    if asked.gold and asked.gold.coders:
        names = asked.coder_columns
        return [replace(item, gold=majority([item.groups[name] for name in names])) for item in found]
    return with_gold(found, asked.gold, spec, columns, source, loc)


def with_gold(
    items: Sequence[Item],
    gold: GoldSpec | None,
    spec: StudySpec,
    columns: Collection[str],
    source: Positions,
    loc: tuple[str, ...],
) -> list[Item]:
    """The items with the labels of the column of gold."""
    if gold is None or gold.column is None:
        return list(items)
    if gold.column not in columns:
        raise UnknownName("column", gold.column, columns, where=source.where(*loc, "gold", "column"))
    reader, column = _Labels(gold, spec, source, loc), gold.column
    known: dict[str, str] = {}  # by the text of a cell
    found = []
    for number, item in enumerate(items, start=1):
        cell = item.fields.get(column)
        label = known.get(cell) if type(cell) is str else None
        if label is None:
            label = reader.label(item, number, column, "the gold label")
            if type(cell) is str and not reader.has_options:
                known[cell] = label
        found.append(Item(item.id, item.fields, label or None, item.groups))
    return found


def _given(reader: _Labels, item: Item, number: int, coders: Sequence[str]) -> dict[str, str]:
    return {
        column_of("coder", name): reader.label(item, number, name, f"the label of the coder {name}")
        for name in coders
    }


def majority(labels: Sequence[str]) -> str | None:
    """The label that most coders gave; None where two are given equally often, or none is given.

    >>> majority(["a", "a", "b"]), majority(["a", "b", ""]), majority(["", "b"]), majority([""])
    ('a', None, 'b', None)
    """
    first, *others = (Counter(label for label in labels if label)).most_common(2) or [("", 0)]
    return first[0] if first[0] and (not others or others[0][1] < first[1]) else None


def ties(items: Sequence[Item], coders: Sequence[str]) -> int:
    """How many items have two labels that equally many coders gave."""
    given = [[label for name in coders if (label := item.groups.get(name))] for item in items]
    return sum(bool(labels) and majority(labels) is None for labels in given)


def notes_on_gold(asked: ItemsSpec, items: Sequence[Item]) -> list[str]:
    """What a reader must know of gold labels that are the coders' majority."""
    if not (asked.gold and asked.gold.coders):
        return []
    *first, last = asked.coders
    tied = ties(items, asked.coder_columns)
    none = sum(item.gold is None for item in items) - tied
    more = f"; {none:,} have no coder's label" if none else ""
    tie = f"labels tie in {tied:,} of {len(items):,} items, which have none" if tied else "no labels tie"
    return [f"An item's gold label is the one that most of {', '.join(first)} and {last} gave: {tie}{more}."]


class _Labels:
    """Reads cells of labels as the study's label set has them."""

    def __init__(
        self, gold: GoldSpec | None, spec: StudySpec, source: Positions, loc: tuple[str, ...]
    ) -> None:
        also = gold.map if gold else {}
        self._options: LabelSet = spec.task.label_set()
        self._codes = [label.code for label in spec.task.labels]
        for value, code in also.items():
            if code is not None and code not in self._codes:
                raise UnknownName("label", code, self._codes, where=source.where(*loc, "gold", "map", value))
        self._known = [*also, *self._codes]
        self._cells = LabelCells(
            self._codes,
            {text: code for text, code in also.items() if code is not None},
            [text for text, code in also.items() if code is None],
        )
        self._source, self._loc = source, loc

    @property
    def has_options(self) -> bool:
        """Whether items have options of their own."""
        return bool(self._options.options)

    def label(self, item: Item, number: int, column: str, what: str) -> str:
        """The code of the label in an item's cell; empty where it has none.

        Raises:
            ItemError: It is outside the label set.
        """
        where = f"{place_of(item.fields, number, self._source, self._loc)}: {column}"
        text = text_of(item.fields.get(column), where)
        if not text:
            return ""
        read = self._cells.read(text)
        if read is not None:
            return read.label or ""
        if self._options.options:  # the label may be the option itself
            own = options_of(item, self._options)
            if own.count(text) == 1:
                return self._codes[own.index(text)]
        fix = "add the label, or map the text: gold: {column: …, map: {text: code}}; null is no label"
        raise outside_label_set(f"{what} of item {item.id}", where, [text], self._known, fix)
