"""A study's items: rows become texts with ids, gold labels and groups."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from quaver.core import registry
from quaver.core.label_values import LabelCells, outside_label_set
from quaver.core.records import Item
from quaver.core.seeds import derive
from quaver.core.table_text import text_of
from quaver.design.items.answer_options import options_of
from quaver.design.items.near_duplicates import NEAR_DUPLICATES
from quaver.design.items.table_files import FORMATS, read_rows
from quaver.design.items.table_row import Row
from quaver.design.spec import GoldSpec, StudySpec
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
        The sampled items and the others, both in the order of their source.

    Raises:
        ItemError: There are none, an id occurs twice, or a gold label is not in the label set.
        UnknownName: A column does not exist.
    """
    asked = spec.items
    rows = _rows(spec, source)
    if not rows:
        raise ItemError("there are no items", where=source.where("items", "source"), found=asked.source)
    columns = {name for row in rows for name in row}
    for loc, name in [(("items", "id"), asked.id)] + [
        (("items", "group") if group == asked.group else ("items", "groups", index), group)
        for index, group in enumerate(asked.groups)
        if group != NEAR_DUPLICATES  # where no column is called so, they are found in the texts
    ]:
        if name is not None and name not in columns:
            raise UnknownName("column", name, columns, where=source.where(*loc))
    for row in rows:  # a row of JSON Lines may lack columns
        row.update(dict.fromkeys(columns.difference(row)))
    items = _identified(rows, asked.id, [name for name in asked.groups if name in columns], source)
    if asked.gold:
        items = _with_gold(items, asked.gold, spec, columns, source)
    if asked.sample is None or asked.sample >= len(items):
        return items, []
    seed = asked.seed if asked.seed is not None else derive(spec.seed, "items", "sample")
    chosen = set(random.Random(seed).sample(range(len(items)), asked.sample))
    sampled = [item for index, item in enumerate(items) if index in chosen]
    return sampled, [item for index, item in enumerate(items) if index not in chosen]


def _rows(spec: StudySpec, source: Positions) -> Sequence[dict[str, Any]]:
    name, options = spec.items.source, spec.items.options
    where = source.where("items", "source")
    if name.startswith("hf:"):
        name, options = "hf", {"path": name.removeprefix("hf:")} | options
    if name in registry.names("items"):
        plugin = registry.load("items", name, where=where)
        rows: list[dict[str, Any]] = plugin(**bind(plugin, options, source, ("items", "options")))
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
        asked = spec.items
        return read_rows(source.path_of(name), asked.encoding, asked.separator, asked.line, sheet=asked.sheet)
    except SpecError as error:
        error.where = source.where("items", "sheet" if error.where == "sheet" else "line")
        raise


def _identified(
    rows: Sequence[Mapping[str, Any]], id_column: str | None, groups: Sequence[str], source: Positions
) -> list[Item]:
    items: list[Item] = []
    first_at: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        where = _place(row, number, source)
        identity = str(number) if id_column is None else text_of(row.get(id_column), f"{where}: {id_column}")
        if not identity:
            raise ItemError(
                "this row has no id",
                where=f"{where}: {id_column}",
                expected="a unique id for every item",
                found="an empty cell",
            )
        if identity in first_at:
            raise ItemError(
                f"the id {identity!r} occurs twice",
                where=f"{where}: {id_column}",
                expected="a unique id for every item",
                found=f"the same id at {first_at[identity]}",
                fix="leave `id` out of the study file to number the rows" if id_column else None,
            )
        first_at[identity] = where
        own = {group: text_of(row.get(group), f"{where}: {group}") for group in groups}
        items.append(Item(identity, row, None, own))
    return items


def _place(row: Mapping[str, Any], number: int, source: Positions) -> str:
    return row.where if isinstance(row, Row) else f"{source.where('items', 'source')}: row {number}"


def _with_gold(
    items: Sequence[Item], gold: GoldSpec, spec: StudySpec, columns: set[str], source: Positions
) -> list[Item]:
    if gold.column not in columns:
        raise UnknownName("column", gold.column, columns, where=source.where("items", "gold", "column"))
    codes = [label.code for label in spec.task.labels]
    options = spec.task.label_set()
    for value, code in gold.map.items():
        if code not in codes:
            raise UnknownName("label", code, codes, where=source.where("items", "gold", "map", value))
    cells = LabelCells(codes, gold.map)
    labelled = []
    for number, item in enumerate(items, start=1):
        text = text_of(item.fields.get(gold.column), f"{_place(item.fields, number, source)}: {gold.column}")
        if not text:
            labelled.append(item)
            continue
        read = cells.read(text)
        label = read.label if read else None
        if label is None and options.options:  # the gold label may be the option itself
            own = options_of(item, options)
            label = codes[own.index(text)] if own.count(text) == 1 else None
        if label is None:
            what, where = f"the gold label of item {item.id}", _place(item.fields, number, source)
            fix = "add the label, or map the value: gold: {column: …, map: {value: code}}"
            raise outside_label_set(what, f"{where}: {gold.column}", [text], [*gold.map, *codes], fix)
        labelled.append(Item(item.id, item.fields, label, item.groups))
    return labelled
