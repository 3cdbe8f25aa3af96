"""The labels that items come with: gold, those of human coders, and answers that are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from quaver.core.column_names import column_of
from quaver.core.label_values import CellReader, TaskField, set_of
from quaver.core.labels import applies
from quaver.core.number_format import enumeration, text_of
from quaver.core.records import Item, LabelSet
from quaver.core.spans import Marked, in_labels, marked_in
from quaver.design.items.answer_options import options_of, place_of
from quaver.design.items.table_files import read_rows
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
    if spec.task.fields:
        return _with_labels_of_fields(items, spec, columns, source)
    labels = spec.task.label_set()
    if asked.coders:
        read, coded = _reader(asked.gold, labels, source, loc), []
        for item in items:
            given = {
                column_of("coder", name): read(item, name, f"the label of the coder {name}") or ""
                for name in asked.coders
            }
            coded.append(replace(item, groups={**item.groups, **given}))
        items = coded
    if asked.gold and asked.gold.coders:
        names = asked.coder_columns
        return [replace(item, gold=majority([item.groups[name] for name in names])) for item in items]
    return with_gold(items, asked.gold, labels, columns, source, loc)


def _with_labels_of_fields(
    items: Sequence[Item], spec: StudySpec, columns: Collection[str], source: Positions
) -> list[Item]:
    """The items with the gold labels of a task's fields."""
    golds: list[dict[str, str]] = [{} for _ in items]
    for name, field in spec.task.fields.items():
        place = ("task", "fields", name)
        if field.gold and field.gold.source and field.gold.column:
            spans = _spans_in_table(items, field.gold.source, source, (*place, "gold", "source"))
            for item in items:
                if isinstance(item.fields, dict):
                    item.fields[field.gold.column] = spans.get(item.id)
            columns = {*columns, field.gold.column}
        if (marked := field.field(name).marked) and marked not in columns:
            where = source.where(*place, "gold", "quote")
            raise UnknownName("column", marked, columns, where=where)
        if field.spans and field.gold:
            codes = _labels_of_spans(items, field.field(name), columns, source, place)
        else:
            codes = gold_labels(items, field.gold, field.field(name).labels, columns, source, place)
        for own, code in zip(golds, codes, strict=True):
            if code is not None:
                own[name] = code
    return [replace(item, golds=own) for item, own in zip(items, golds, strict=True)]


def _spans_in_table(items: Sequence[Item], name: str, source: Positions, place: Place) -> dict[str, Any]:
    """What people marked in each item's text by its id, from a table with a row for each span."""
    rows = read_rows(source.path_of(name))
    known = {column.casefold(): column for column in (rows[0] if rows else ())}
    shape = next((shape for shape in _SHAPES if {"id", *shape} <= known.keys()), None)
    if shape is None:
        raise ItemError(
            "this table has no spans",
            where=source.where(*place),
            expected="the columns id, start, end and label, or id, label and quote",
            found=", ".join(known.values()) or "no rows",
        )
    marked: dict[str, Any] = {}
    for row in rows:
        cells = [row.text(known[column]) for column in shape]
        spans = marked.setdefault(row.text(known["id"]), [] if shape is _SHAPES[0] else {})
        if not any(cells):
            continue
        if not all(cells) or (shape is _SHAPES[0] and not all(cell.isdecimal() for cell in cells[:2])):
            expected = f"{enumeration(shape)}; whole numbers of characters for a place"
            raise ItemError("this row is no span", where=row.where, expected=expected, found=", ".join(cells))
        if shape is _SHAPES[0]:
            spans.append([int(cells[0]), int(cells[1]), cells[2]])
        else:
            spans.setdefault(cells[0], []).append(cells[1])
    if marked and not marked.keys() & {item.id for item in items}:
        raise ItemError(
            "none of the spans is of an item of the study",
            where=source.where(*place),
            expected=f"ids such as {items[0].id!r}" if items else "ids of items",
            found=", ".join([*marked][:5]),
        )
    return marked


_SHAPES: Final = ("start", "end", "label"), ("label", "quote")
"""The columns of a table of spans, beside the id."""


def marked_spans(item: Item, field: TaskField) -> list[Marked] | None:
    """What people marked in an item's text; None where its cell is empty.

    Raises:
        ItemError: The cell holds no spans.
        UnknownName: A label is none of the field's.
    """
    return spans_of(item.fields.get(field.marked), field, f"{place_of(item)}: {field.marked}")


def spans_of(cell: Any, field: TaskField, where: str) -> list[Marked] | None:
    """What people marked, as a cell of a field holds it, with its labels' codes; None of an empty one."""
    marked = marked_in(cell, where)
    known = {text: label.code for label in field.labels.labels for text in (label.name, label.code)}
    return None if marked is None else in_labels(marked, known, where)


def _labels_of_spans(
    items: Sequence[Item], field: TaskField, columns: Collection[str], source: Positions, loc: Place
) -> list[str | None]:
    """For each item the set of the labels of what people marked in its text."""
    if field.marked not in columns:
        raise UnknownName("column", field.marked, columns, where=source.where(*loc, "gold", "column"))
    marked = (marked_spans(item, field) for item in items)
    codes = field.labels.codes
    return [None if some is None else set_of((label for label, *_ in some), codes) for some in marked]


def with_gold(
    items: Sequence[Item],
    gold: GoldSpec | None,
    labels: LabelSet,
    columns: Collection[str],
    source: Positions,
    loc: Place,
) -> list[Item]:
    """The items with the labels of the column of gold."""
    golds = gold_labels(items, gold, labels, columns, source, loc)
    return [Item(item.id, item.fields, code, item.groups) for item, code in zip(items, golds, strict=True)]


def gold_labels(
    items: Sequence[Item],
    gold: GoldSpec | None,
    labels: LabelSet,
    columns: Collection[str],
    source: Positions,
    loc: Place,
) -> list[str | None]:
    """The label of each item in the column of gold, which ``loc`` names."""
    if gold is None or not gold.sources:
        return [None] * len(items)
    for name in gold.sources:
        if name not in columns:
            where = source.where(*loc, "gold", "columns" if gold.columns else "column")
            raise UnknownName("column", name, columns, where=where)
    if gold.columns:
        return [_label_of_columns(item, gold, labels) for item in items]
    read, (column,) = _reader(gold, labels, source, loc), gold.sources
    return [read(item, column, "the gold label") for item in items]


_Reader = Callable[[Item, str, str], str | None]
"""The label of an item in a column, and what the label is called."""


def _reader(gold: GoldSpec | None, labels: LabelSet, source: Positions, loc: Place) -> _Reader:
    also = gold.map if gold else {}
    for value, code in also.items():
        if code is not None and code not in labels.codes:
            raise UnknownName("label", code, labels.codes, where=source.where(*loc, "gold", "map", value))
    reader = CellReader(labels, also)
    known: dict[str, str | None] = {}  # by the text of a cell

    def read(item: Item, column: str, what: str) -> str | None:
        cell = item.fields.get(column)
        if type(cell) is str and cell in known:
            return known[cell]
        where = f"{place_of(item)}: {column}"
        reading = reader.read(cell, where)
        if reading is None:
            return _own_option(cell, item, where, what)
        if type(cell) is str:
            known[cell] = reading.label
        return reading.label

    def _own_option(cell: Any, item: Item, where: str, what: str) -> str:
        """The label may be one of the item's own options."""
        text = str(cell) if isinstance(cell, list) else text_of(cell, where)
        if labels.options and (own := options_of(item, labels)).count(text) == 1:
            return labels.codes[own.index(text)]
        raise reader.outside(f"{what} of item {item.id}", where, [text], _FIX)

    return read


def _label_of_columns(item: Item, gold: GoldSpec, labels: LabelSet) -> str | None:
    """The set that several columns hold together; None where all of their cells are empty."""
    given = {}
    for name in gold.sources:
        text = text_of(item.fields.get(name), name)
        if text and gold.map.get(text, text) is not None:
            given[name] = text
    if not given:
        return None
    where = f"{place_of(item)}: {', '.join(given)}"
    if not isinstance(gold.columns, Mapping):
        reader = CellReader(labels, gold.map)
        if (reading := reader.read([*given.values()], where)) is None:
            raise reader.outside(f"the gold label of item {item.id}", where, [str([*given.values()])], _FIX)
        return reading.label
    applying = []
    for code, name in gold.columns.items():
        is_given = applies(given.get(name, ""))
        if is_given is None:
            raise ItemError(
                f"whether the label {code!r} applies to item {item.id} is not said",
                where=f"{place_of(item)}: {name}",
                expected="1 or 0, true or false, yes or no, x or nothing",
                found=given[name][:80],
            )
        if is_given:
            applying.append(code)
    return set_of(applying, labels.codes)


def majority(labels: Sequence[str]) -> str | None:
    """The label that most coders gave; None where two are given equally often, or none is given.

    >>> majority(["a", "a", "b"]), majority(["a", "b", ""]), majority(["", "b"]), majority([""])
    ('a', None, 'b', None)
    """
    counts = Counter(label for label in labels if label).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]


def notes_on_gold(spec: ItemsSpec, items: Sequence[Item]) -> list[str]:
    """What a reader must know of items that were added for their gold labels, and of a majority of coders."""
    notes = []
    if beside := sum(item.beside for item in items):
        added = f"{beside:,} of the {len(items):,} items were added to a random sample for their gold labels"
        notes.append(f"{added}: only measures of correctness count them.")
    if spec.gold and spec.gold.coders:
        *first, last = spec.coders
        without = [item for item in items if item.gold is None]
        tied = sum(any(map(item.groups.get, spec.coder_columns)) for item in without)
        tie = (
            f"labels tie in {tied:,} of {len(items):,} items, so these have no gold label"
            if tied
            else "no labels tie"
        )
        if len(without) > tied:
            tie += f"; {len(without) - tied:,} have no coder's label"
        most = f"the one that most of {', '.join(first)} and {last} gave; {tie}"
        notes.append(f"An item's gold label is {most}.")
    return notes
