"""The labels that items come with: gold, those of human coders, and answers that are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from quaver.core.column_names import column_of
from quaver.core.label_decisions import outside_label_set
from quaver.core.label_values import cell_labels, number_in, set_of
from quaver.core.labels import LabelCells, applies
from quaver.core.number_format import text_of
from quaver.core.records import Item, LabelSet, Numbers
from quaver.design.items.answer_options import options_of
from quaver.design.items.item_data import place_of
from quaver.design.spec import GoldSpec, StudySpec
from quaver.design.spec.items_spec import ItemsSpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, UnknownName


def with_labels(
    items: Sequence[Item],
    asked: ItemsSpec,
    spec: StudySpec,
    columns: Collection[str],
    source: Positions,
    loc: tuple[str, ...],
) -> list[Item]:
    """The items with their gold labels and, among their groups, the label of each coder."""
    found = list(items)
    for name, field in spec.task.fields.items():
        labels, own = field.field(name).labels, ("task", "fields", name)
        golds = gold_labels(items, field.gold, labels, columns, source, own, loc, several=field.several)
        found = [
            item if code is None else replace(item, golds={**item.golds, name: code})
            for item, code in zip(found, golds, strict=True)
        ]
    if spec.task.fields:
        return found
    if asked.coders:
        reader = _Labels(asked.gold, spec.task.label_set(), source, loc)
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
    golds = gold_labels(items, gold, spec.task.label_set(), columns, source, loc, loc)
    return [Item(item.id, item.fields, code, item.groups) for item, code in zip(items, golds, strict=True)]


def gold_labels(
    items: Sequence[Item],
    gold: GoldSpec | None,
    labels: LabelSet,
    columns: Collection[str],
    source: Positions,
    loc: tuple[str, ...],
    place: tuple[str, ...],
    *,
    several: bool = False,
) -> list[str | None]:
    """The label of each item in the column of gold, which ``loc`` names; the items stand at ``place``."""
    if gold is None or not gold.sources:
        return [None] * len(items)
    for name in gold.sources:
        if name not in columns:
            where = source.where(*loc, "gold", "columns" if gold.columns else "column")
            raise UnknownName("column", name, columns, where=where)
    reader = _Labels(gold, labels, source, loc, place)
    if gold.columns:
        return [reader.of_columns(item, number, gold.columns) for number, item in enumerate(items, start=1)]
    (column,) = gold.sources
    known: dict[str, str] = {}  # by the text of a cell
    result = []
    for number, item in enumerate(items, start=1):
        cell = item.fields.get(column)
        label = known.get(cell) if type(cell) is str else None
        if label is None:
            label = reader.label(item, number, column, "the gold label", several=several)
            if type(cell) is str and not reader.has_options:
                known[cell] = label
        result.append(label or None)
    return result


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


class _Labels:
    """Reads cells of labels as the study's label set has them."""

    def __init__(
        self,
        gold: GoldSpec | None,
        labels: LabelSet,
        source: Positions,
        loc: tuple[str, ...],
        place: tuple[str, ...] | None = None,
    ) -> None:
        also = gold.map if gold else {}
        self._options, self._codes = labels, list(labels.codes)
        for value, code in also.items():
            if code is not None and code not in self._codes:
                raise UnknownName("label", code, self._codes, where=source.where(*loc, "gold", "map", value))
        self._known = [*also, *self._codes]
        self._cells = LabelCells(
            labels.labels,
            {text: code for text, code in also.items() if code is not None},
            [text for text, code in also.items() if code is None],
            labels.level,
        )
        self._source, self._loc = source, place or loc

    @property
    def has_options(self) -> bool:
        """Whether items have options of their own."""
        return bool(self._options.options)

    def label(self, item: Item, number: int, column: str, what: str, *, several: bool = False) -> str:
        """The code of the label in an item's cell, or the set of several; empty where it has none."""
        where = f"{place_of(item.fields, number, self._source, self._loc)}: {column}"
        cell = item.fields.get(column)
        if several and (isinstance(cell, list) or text_of(cell, where)):
            return self._set(cell_labels(cell, self._known), where, f"{what} of item {item.id}")
        text = text_of(cell, where)
        if not text:
            return ""
        if isinstance(self._options, Numbers):
            return self._number(text, where, f"{what} of item {item.id}")
        read = self._cells.read(text)
        if read is not None:
            return read.label or ""
        if self._options.options:  # the label may be the option itself
            own = options_of(item, self._options)
            if own.count(text) == 1:
                return self._codes[own.index(text)]
        fix = "add the label, or map the text: gold: {column: …, map: {text: code}}; null is no label"
        raise outside_label_set(f"{what} of item {item.id}", where, [text], self._known, fix)

    def _set(self, given: Sequence[str], where: str, what: str) -> str:
        """The set of the labels that a cell holds; empty where it holds nothing but texts for no label."""
        cells = [self._cells.read(one) for one in given]
        strange = [one for one, cell in zip(given, cells, strict=True) if cell is None]
        if strange:
            fix = "add the label, or map the text; labels of one cell have ; between them, and [] is none"
            raise outside_label_set(what, where, strange, self._known, fix)
        own = [cell.label for cell in cells if cell and cell.label]
        return set_of(own, self._codes) if own or not given else ""

    def of_columns(self, item: Item, number: int, columns: Sequence[str] | Mapping[str, str]) -> str | None:
        """The set that several columns hold together; None where all of their cells are empty."""
        place = place_of(item.fields, number, self._source, self._loc)
        names = [*columns.values()] if isinstance(columns, Mapping) else columns
        texts = {name: self._known_text(item, name, f"{place}: {name}") for name in names}
        if not any(texts.values()):
            return None
        if not isinstance(columns, Mapping):
            given = [text for text in texts.values() if text]
            return self._set(given, f"{place}: {', '.join(names)}", f"the gold label of item {item.id}")
        applying = []
        for code, name in columns.items():
            is_given = applies(texts[name])
            if is_given is None:
                raise ItemError(
                    f"whether the label {code!r} applies to item {item.id} is not said",
                    where=f"{place}: {name}",
                    expected="1 or 0, true or false, yes or no, x or nothing",
                    found=texts[name][:80],
                )
            applying += [code] * is_given
        return set_of(applying, self._codes)

    def _known_text(self, item: Item, column: str, where: str) -> str:
        """The text of a cell; empty too where it stands for no label."""
        text = text_of(item.fields.get(column), where)
        read = self._cells.read(text)
        return "" if read is not None and read.label is None else text

    def _number(self, text: str, where: str, what: str) -> str:
        """The number in a cell, as a label; empty for a text that stands for none."""
        level = self._options.level
        number = number_in(text, level)
        if number is None and self._cells.read(text) is None:
            raise ItemError(
                f"{what} is no number",
                where=where,
                expected="a number of 0 or more" if level == "ratio" else "a number",
                found=text[:80],
                fix="write it with digits and a point, or map the text: gold: {column: …, map: {text: null}}",
            )
        return number or ""
