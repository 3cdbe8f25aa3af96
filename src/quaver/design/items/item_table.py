"""A study's items: rows become texts with ids, gold labels and groups."""

from __future__ import annotations

import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from quaver.core import registry
from quaver.core.column_names import column_of
from quaver.core.meter import little_garbage
from quaver.core.records import Item
from quaver.core.seeds import derive
from quaver.design.items.item_data import Numbered, rows_where
from quaver.design.items.item_labels import with_gold, with_labels
from quaver.design.items.item_media import with_media
from quaver.design.items.table_files import FORMATS, Row, read_rows
from quaver.design.items.text_parts import in_parts, whole
from quaver.design.spec import StudySpec
from quaver.design.spec.items_spec import WHOLE, ItemsSpec, TableSpec
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import ItemError, SpecError, UnknownName


class ItemSource(Protocol):
    """A built-in set of items, registered under ``quaver.items``; options are keyword arguments."""

    def __call__(self, **options: Any) -> list[dict[str, Any]]:
        """One mapping of columns for each row."""
        ...


_SHOW_EXAMPLES = ("prompts", "shots", "strategies")
"""The families whose prompts may show examples."""


def load_items(spec: StudySpec, source: Positions, kept: Path | None = None) -> tuple[list[Item], list[Item]]:
    """Load, check and sample a study's items.

    Args:
        spec: The study.
        source: The places of its parts, for errors, and the folder from which relative paths start.
        kept: Where the text of PDF files is kept.

    Returns:
        The sampled items; then those from which prompts may take examples: the others, or the items of the
        study's table of examples. Both in the order of their source.

    Raises:
        ItemError: There are none, an id occurs twice, or a gold label is not in the label set.
        UnknownName: A column does not exist.
    """
    asked = spec.items
    items = _items_of(asked, spec, source, ("items",))
    spare: list[Item] = []
    if asked.sample is not None and asked.sample < len(items):
        seed = asked.seed if asked.seed is not None else derive(spec.seed, "items", "sample")
        draw = random.Random(seed)
        chosen = set(draw.sample(range(len(items)), asked.sample))
        # Items outside the sample that have a gold label, at random: one of each label that it lacks first
        others = [index for index, item in enumerate(items) if item.known_gold and index not in chosen]
        draw.shuffle(others)
        lacking = {label: index for index in others for label in items[index].known_gold.items()}
        for index in chosen:
            for label in items[index].known_gold.items():
                lacking.pop(label, None)
        beside = set(list(dict.fromkeys([*lacking.values(), *others]))[: asked.more_gold or 0])
        spare = [item for index, item in enumerate(items) if index not in chosen | beside]
        items = [
            replace(item, beside=True) if index in beside else item
            for index, item in enumerate(items)
            if index in chosen | beside
        ]
    table = asked.source
    if asked.examples is not None:
        spare, table = _items_of(asked.examples, spec, source, ("items", "examples")), asked.examples.source
    if any(family.use in _SHOW_EXAMPLES for family in spec.variants):  # else there is no need to read so much
        spare = with_media(spare, asked, table, source, kept)
    items = with_media(items, asked, asked.source, source, kept)
    if asked.split is not None:
        items, spare = in_parts(items, asked, source), list(map(whole, spare))
    return items, spare


def _items_of(
    asked: ItemsSpec | TableSpec, spec: StudySpec, source: Positions, loc: tuple[str, ...]
) -> list[Item]:
    """The items of a table: the study's own, or those of its examples."""
    with little_garbage():
        rows = _rows(asked, source, loc)
        columns = {name for row in rows for name in row}
        if not columns:
            raise ItemError("there are no items", where=source.where(*loc, "source"), found=asked.source)
        named: dict[tuple[str | int, ...], str | None] = {(*loc, "id"): asked.id}
        if isinstance(asked, ItemsSpec):
            named[*loc, "group"] = asked.group
            named |= {(*loc, "groups", index): name for index, name in enumerate(asked.groups)}
            named |= {(*loc, "coders", index): name for index, name in enumerate(asked.coders)}
        for place, name in named.items():
            # Where no column is called so, near duplicates are found in the texts, and parts are of a text.
            if name is not None and name not in columns and name not in (NEAR_DUPLICATES, WHOLE):
                signs = [sign for sign in ",;\t|" if sign in min(columns)]
                is_one_cell = len(columns) == 1 and asked.separator and signs
                fix = f"write `separator: {signs[0]!r}`" if is_one_cell else None
                raise UnknownName("column", name, columns, where=source.where(*place), fix=fix)
        for row in rows:
            if len(row) < len(columns):  # a row of JSON Lines may lack some
                row.update(dict.fromkeys(columns.difference(row)))
        numbered = rows_where([*enumerate(rows, start=1)], asked.where, columns, source, (*loc, "where"))
        if isinstance(asked, ItemsSpec):
            groups = [name for name in asked.groups if name in columns]
            return with_labels(_identified(numbered, asked.id, groups), asked, spec, columns, source, loc)
        items = _identified(numbered, asked.id or (spec.items.id if spec.items.id in columns else None))
        gold = asked.gold or (spec.items.gold if spec.items.gold and spec.items.gold.column else None)
        return with_gold(items, gold, spec.task.label_set(), columns, source, loc)


def _rows(table: TableSpec, source: Positions, loc: tuple[str, ...]) -> Sequence[Row]:
    name, where = table.source, source.where(*loc, "source")
    if name in registry.names("items"):
        plugin = registry.load("items", name, where=where)
        rows = plugin(**bind(plugin, table.options, source, (*loc, "options")))
        return [Row(row.items(), where, f" row {number}") for number, row in enumerate(rows, start=1)]
    path = Path(name)
    # No error for a name that cannot be one.
    if path.suffix.lower() not in FORMATS and not os.path.exists(source.path_of(name)):
        fix = f"name a built-in, or a file that ends in {', '.join(FORMATS)}"
        raise UnknownName("source of items", name, registry.names("items"), where=where, fix=fix)
    try:
        file, sheet, quote = source.path_of(name), table.sheet, table.quote
        return read_rows(file, table.encoding, table.separator, sheet=sheet, quote=quote)
    except SpecError as error:
        error.where = source.where(*loc, error.where or "source")
        raise


def _identified(
    rows: Sequence[Numbered], id_column: str | None, group_columns: Sequence[str] = ()
) -> list[Item]:
    """The rows as items, with their ids and groups."""
    items: list[Item] = []
    first: dict[str, Row] = {}
    expected = "a unique id for every item"
    for number, row in rows:
        identity = row.text(id_column) if id_column else str(number)
        where = f"{row.where}: {id_column}"
        if not identity:
            raise ItemError("this row has no id", where=where, expected=expected, found="an empty cell")
        if first.setdefault(identity, row) is not row:
            raise ItemError(
                f"the id {identity!r} occurs twice",
                where=where,
                expected=expected,
                found=f"the same id at {first[identity].where}",
                fix="leave `id` out of the study file to number the rows",
            )
        groups = {column_of("group", name): row.text(name) for name in group_columns}
        items.append(Item(identity, row, None, groups))
    return items


_NOT_A_WORD = re.compile(r"[\W_]+")

NEAR_DUPLICATES = "near_duplicates"
"""The name of the groups of texts that are copies, where a study takes them for its own."""


_ALIKE = 0.8
"""Two texts are nearly the same where both have so large a share of the words of either."""

_COMPARED = 20
"""A text is held against so many of those before it that share one of its rarest words."""


def with_near_duplicates(items: Sequence[Item], texts: Sequence[str]) -> list[Item]:
    """The items, each in the group of those whose texts are the same but for punctuation or a few words."""
    words = [{*_NOT_A_WORD.sub(" ", text.casefold()).split()} for text in texts]
    used = Counter(word for text in words for word in text)
    rank = {word: index for index, word in enumerate(sorted(used, key=lambda word: (used[word], word)))}
    first = _first_alike([sorted(map(rank.__getitem__, text)) for text in words])
    sizes, numbers = Counter(first), dict[int, int]()
    grouped = []
    for index, (item, group) in enumerate(zip(items, first, strict=True)):
        name = f"text {numbers.setdefault(group, len(numbers))}" if sizes[group] > 1 else f"item {index}"
        grouped.append(replace(item, groups={**item.groups, NEAR_DUPLICATES: name}))
    return grouped


def _first_alike(texts: Sequence[list[int]]) -> list[int]:
    """For each text the first of those that it is linked to by texts of which each is nearly the next.

    Texts are words, the rarest first. Two that share 4 in 5 of them share one of the rarest fifth of either
    (Chaudhuri, Ganti & Kaushik 2006, ICDE), so only those are compared.
    """
    first, having, seen = [*range(len(texts))], defaultdict[int, list[int]](list), list[set[int]]()

    def root(index: int) -> int:
        while first[index] != index:
            index = first[index]
        return index

    for at, text in enumerate(texts):
        rarest, own = text[: len(text) - ceil(_ALIKE * len(text)) + 1] or [-1], {*text}
        for other in {other for word in rarest for other in having[word][-_COMPARED:]}:
            most = len(seen[other])
            shared = len(own & seen[other]) if _ALIKE * len(own) <= most <= len(own) / _ALIKE else -1
            if shared >= _ALIKE * (len(own) + most - shared):
                low, high = sorted((root(at), root(other)))
                first[high] = low
        for word in rarest:
            having[word].append(at)
        seen.append(own)
    return [root(index) for index in first]
