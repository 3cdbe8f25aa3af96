"""A study's items: rows become texts with ids, gold labels and groups."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from quaver.core import registry
from quaver.core.column_names import column_of
from quaver.core.meter import little_garbage
from quaver.core.number_format import text_of
from quaver.core.records import Item
from quaver.core.seeds import derive
from quaver.design.items.item_data import place_of, rows_where
from quaver.design.items.item_labels import with_gold, with_labels
from quaver.design.items.near_duplicates import NEAR_DUPLICATES
from quaver.design.items.table_files import FORMATS, read_rows
from quaver.design.spec import StudySpec
from quaver.design.spec.items_spec import ExamplesSpec, ItemsSpec, TableSpec
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import ItemError, SpecError, UnknownName


class ItemSource(Protocol):
    """A built-in set of items, registered under ``quaver.items``; options are keyword arguments."""

    def __call__(self, **options: Any) -> list[dict[str, Any]]:
        """One mapping of columns for each row."""
        ...


def load_items(spec: StudySpec, source: Positions) -> tuple[list[Item], list[Item]]:
    """Load, check and sample a study's items.

    Args:
        spec: The study.
        source: The places of its parts, for errors, and the folder from which relative paths start.

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
        beside = _more_gold(items, chosen, asked.more_gold or 0, draw)
        spare = [item for index, item in enumerate(items) if index not in chosen | beside]
        items = [
            replace(item, beside=True) if index in beside else item
            for index, item in enumerate(items)
            if index in chosen | beside
        ]
    if asked.examples is not None:
        spare = _items_of(asked.examples, spec, source, ("items", "examples"))
    return items, spare


def _more_gold(items: Sequence[Item], chosen: set[int], most: int, draw: random.Random) -> set[int]:
    """Items outside the sample that have a gold label, at random: one of each label that it lacks first."""
    others = [index for index, item in enumerate(items) if item.known_gold and index not in chosen]
    draw.shuffle(others)
    lacking = {one: index for index in others for one in items[index].known_gold.items()}
    for one in (one for index in chosen for one in items[index].known_gold.items()):
        lacking.pop(one, None)
    return set(list(dict.fromkeys([*lacking.values(), *others]))[:most])


def _items_of(
    asked: ItemsSpec | ExamplesSpec, spec: StudySpec, source: Positions, loc: tuple[str, ...]
) -> list[Item]:
    """The items of a table: the study's own, or those of its examples."""
    with little_garbage():
        return _read(asked, spec, source, loc)


def _read(
    asked: ItemsSpec | ExamplesSpec, spec: StudySpec, source: Positions, loc: tuple[str, ...]
) -> list[Item]:
    rows = _rows(asked, source, loc)
    columns = {name for row in rows for name in row}
    if not columns:
        raise ItemError("there are no items", where=source.where(*loc, "source"), found=asked.source)
    named = _named(asked, loc) if isinstance(asked, ItemsSpec) else [((*loc, "id"), asked.id)]
    for place, name in named:
        if name is not None and name not in columns:
            only = next(iter(columns)) if len(columns) == 1 and asked.separator else ""
            signs = [f"write `separator: {sign!r}`" for sign in (",", ";", "\t", "|") if sign in only]
            raise UnknownName(
                "column", name, columns, where=source.where(*place), fix=next(iter(signs), None)
            )
    for row in rows:
        if len(row) < len(columns):  # a row of JSON Lines may lack some
            row.update(dict.fromkeys(columns.difference(row)))
    numbered = rows_where(list(enumerate(rows, start=1)), asked.where, columns, source, (*loc, "where"))
    if isinstance(asked, ItemsSpec):
        groups = [name for name in asked.groups if name in columns]
        items = _identified(numbered, asked.id, groups, source, loc)
        return with_labels(items, asked, spec, columns, source, loc)
    usual = spec.items.id if spec.items.id in columns else None
    items = _identified(numbered, asked.id or usual, [], source, loc)
    gold = asked.gold or (spec.items.gold if spec.items.gold and spec.items.gold.column else None)
    return with_gold(items, gold, spec, columns, source, loc)


def _named(spec: ItemsSpec, loc: tuple[str, ...]) -> list[tuple[tuple[str | int, ...], str | None]]:
    """The columns that the study names, with their places in it."""
    found: list[tuple[tuple[str | int, ...], str | None]] = [((*loc, "id"), spec.id)]
    for index, group in enumerate(spec.groups):
        if group != NEAR_DUPLICATES:  # where no column is called so, they are found in the texts
            found.append(((*loc, "group") if group == spec.group else (*loc, "groups", index), group))
    return found + [((*loc, "coders", index), coder) for index, coder in enumerate(spec.coders)]


def _rows(table: TableSpec, source: Positions, loc: tuple[str, ...]) -> Sequence[dict[str, Any]]:
    name, options = table.source, table.options
    where = source.where(*loc, "source")
    if name.startswith("hf:"):
        name, options = "hf", {"path": _dataset(name.removeprefix("hf:"), source)} | options
    if name in registry.names("items"):
        plugin = registry.load("items", name, where=where)
        rows: list[dict[str, Any]] = plugin(**bind(plugin, options, source, (*loc, "options")))
        return rows
    path = Path(name)
    if path.suffix.lower() not in FORMATS and not os.path.exists(
        path
    ):  # no error for a name that cannot be one
        raise UnknownName(
            "source of items",
            name,
            registry.names("items"),
            where=where,
            fix=f"name a built-in, or a file that ends in {', '.join(FORMATS)}",
        )
    try:
        file, sheet, quote = source.path_of(name), table.sheet, table.quote
        return read_rows(file, table.encoding, table.separator, sheet=sheet, quote=quote)
    except SpecError as error:
        error.where = source.where(*loc, error.where or "source")
        raise


def _dataset(name: str, source: Positions) -> str:
    """A dataset's name on the hub, or its folder, which like all paths starts from the study file's."""
    folder = source.path_of(name)
    return str(folder) if name.startswith(".") or folder.is_dir() else name


def _identified(
    rows: Sequence[tuple[int, Mapping[str, Any]]],
    id_column: str | None,
    groups: Sequence[str],
    source: Positions,
    loc: tuple[str, ...],
) -> list[Item]:
    items: list[Item] = []
    first_at: dict[str, int] = {}

    def place(index: int) -> str:
        number, row = rows[index]
        return place_of(row, number, source, loc)

    def text(value: Any, index: int, column: str) -> str:
        if type(value) is str and value.isascii():  # no error to say the place of
            return value.strip()
        return text_of(value, f"{place(index)}: {column}")

    for index, (number, row) in enumerate(rows):
        identity = str(number) if id_column is None else text(row.get(id_column), index, id_column)
        if not identity:
            raise ItemError(
                "this row has no id",
                where=f"{place(index)}: {id_column}",
                expected="a unique id for every item",
                found="an empty cell",
            )
        if identity in first_at:
            raise ItemError(
                f"the id {identity!r} occurs twice",
                where=f"{place(index)}: {id_column}",
                expected="a unique id for every item",
                found=f"the same id at {place(first_at[identity])}",
                fix="leave `id` out of the study file to number the rows" if id_column else None,
            )
        first_at[identity] = index
        of = (
            {column_of("group", group): text(row.get(group), index, group) for group in groups}
            if groups
            else {}
        )
        items.append(Item(identity, row, None, of))
    return items
