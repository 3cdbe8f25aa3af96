"""The labels that items come with: gold, those of human coders, and answers that are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quaver.core.column_names import column_of
from quaver.core.label_values import CellReader, set_of
from quaver.core.labels import applies
from quaver.core.number_format import text_of
from quaver.core.records import Item, LabelSet
from quaver.design.items.answer_options import options_of
from quaver.design.items.item_data import place_of
from quaver.design.spec import GoldSpec, StudySpec
from quaver.design.spec.items_spec import ItemsSpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, UnknownName

Place = tuple[str, ...]
_FIX = "add the label, or map the text: gold: {column: …, map: {text: code}}; null is no label"


def with_labels(
    items: Sequence[Item],
    asked: ItemsSpec,
    spec: StudySpec,
    columns: Collection[str],
    source: Positions,
    loc: Place,
) -> list[Item]:
    """The items with their gold labels and, among their groups, the label of each coder."""
    found = list(items)
    for name, field in spec.task.fields.items():
        golds = gold_labels(
            items, field.gold, field.field(name).labels, columns, source, ("task", "fields", name), loc
        )
        found = [
            item if code is None else replace(item, golds={**item.golds, name: code})
            for item, code in zip(found, golds, strict=True)
        ]
    if spec.task.fields:
        return found
    if asked.coders:
        read = _reader(asked.gold, spec.task.label_set(), source, loc, loc)
        found = [
            replace(item, groups={**item.groups, **_given(read, item, number, asked.coders)})
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
    loc: Place,
) -> list[Item]:
    """The items with the labels of the column of gold."""
    golds = gold_labels(items, gold, spec.task.label_set(), columns, source, loc, loc)
    return [Item(item.id, item.fields, code, item.groups) for item, code in zip(items, golds, strict=True)]


def gold_labels(
    items: Sequence[Item],
    gold: GoldSpec | None,
    labels: LabelSet,
    columns: Collection[str],
    source: Positions,
    loc: Place,
    place: Place,
) -> list[str | None]:
    """The label of each item in the column of gold, which ``loc`` names; the items stand at ``place``."""
    if gold is None or not gold.sources:
        return [None] * len(items)
    for name in gold.sources:
        if name not in columns:
            where = source.where(*loc, "gold", "columns" if gold.columns else "column")
            raise UnknownName("column", name, columns, where=where)
    read = _reader(gold, labels, source, loc, place)
    if gold.columns:
        return [_of_columns(read, item, number, gold, labels) for number, item in enumerate(items, start=1)]
    (column,) = gold.sources
    known: dict[str, str | None] = {}  # by the text of a cell
    result = []
    for number, item in enumerate(items, start=1):
        cell = item.fields.get(column)
        if type(cell) is str and cell in known:
            result.append(known[cell])
            continue
        result.append(read(item, number, column, cell, "the gold label"))
        if type(cell) is str and not labels.options:
            known[cell] = result[-1]
    return result


_Reader = Callable[[Item, int, str, Any, str], str | None]
"""The label in a cell: of an item, its number, the column, the cell, and what the label is called."""


def _reader(gold: GoldSpec | None, labels: LabelSet, source: Positions, loc: Place, place: Place) -> _Reader:
    also = gold.map if gold else {}
    for value, code in also.items():
        if code is not None and code not in labels.codes:
            raise UnknownName("label", code, labels.codes, where=source.where(*loc, "gold", "map", value))
    reader = CellReader(labels, also)

    def read(item: Item, number: int, column: str, cell: Any, what: str) -> str | None:
        where = f"{place_of(item.fields, number, source, place)}: {column}"
        found = reader.read(cell, where)
        if found is not None:
            return found.label
        text = str(cell) if isinstance(cell, list) else text_of(cell, where)
        if labels.options and (own := options_of(item, labels)).count(text) == 1:
            return labels.codes[own.index(text)]  # the label may be the option itself
        raise reader.outside(f"{what} of item {item.id}", where, [text], _FIX)

    return read


def _given(read: _Reader, item: Item, number: int, coders: Sequence[str]) -> dict[str, str]:
    return {
        column_of("coder", name): read(
            item, number, name, item.fields.get(name), f"the label of the coder {name}"
        )
        or ""
        for name in coders
    }


def _of_columns(read: _Reader, item: Item, number: int, gold: GoldSpec, labels: LabelSet) -> str | None:
    """The set that several columns hold together; None where all of their cells are empty."""
    none = {text for text, code in gold.map.items() if code is None}
    texts = {name: text_of(item.fields.get(name), name) for name in gold.sources}
    given = {name: text for name, text in texts.items() if text and text not in none}
    if not given:
        return None
    if not isinstance(gold.columns, Mapping):
        return read(item, number, ", ".join(given), [*given.values()], "the gold label")
    applying = []
    for code, name in gold.columns.items():
        if (is_given := applies(given.get(name, ""))) is None:
            raise ItemError(
                f"whether the label {code!r} applies to item {item.id} is not said",
                where=f"{getattr(item.fields, 'where', f'row {number}')}: {name}",
                expected="1 or 0, true or false, yes or no, x or nothing",
                found=texts[name][:80],
            )
        applying += [code] * is_given
    return set_of(applying, labels.codes)


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


def notes_on_gold(spec: ItemsSpec, items: Sequence[Item]) -> list[str]:
    """What a reader must know of items that were added for their gold labels, and of a majority of coders."""
    notes = []
    if beside := sum(item.beside for item in items):
        added = f"{beside:,} of the {len(items):,} items were added to a random sample for their gold labels"
        notes.append(f"{added}: measures of correctness alone count them.")
    if spec.gold and spec.gold.coders:
        *first, last = spec.coders
        tied = ties(items, spec.coder_columns)
        none = sum(item.gold is None for item in items) - tied
        more = f"; {none:,} have no coder's label" if none else ""
        tie = f"labels tie in {tied:,} of {len(items):,} items, which have none" if tied else "no labels tie"
        most = f"the one that most of {', '.join(first)} and {last} gave; {tie}{more}"
        notes.append(f"An item's gold label is {most}.")
    return notes
