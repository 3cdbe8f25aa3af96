"""An item's own options (multiple choice), as lists that templates can write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from quaver.core.records import Item, LabelSet
from quaver.errors import ItemError


class Listed(list[Mapping[str, str]]):
    """A list that a template can iterate over or write as a whole.

    Args:
        parts: The elements, one mapping each.
        text: The list as ``{{ … }}`` writes it.
    """

    def __init__(self, parts: Iterable[Mapping[str, str]], text: str) -> None:
        super().__init__(parts)
        self._text = text

    def __str__(self) -> str:
        return self._text


def options_of(item: Item, labels: LabelSet) -> list[str]:
    """An item's own options, in the labels' order.

    They are in a column for each label, or in one column that holds a list of texts, a list of objects with a
    ``text``, or a mapping, whose values count; in CSV as JSON.
    """
    columns = labels.options
    if len(columns) > 1:
        options = list(map(item.fields.get, columns))
    else:
        column = columns[0]
        cell = listed(item.fields.get(column))
        if cell is None:
            raise ItemError(
                f"item {item.id} has no list of options",
                where=f"{place_of(item)}: {column}",
                expected='a list, in CSV as JSON: ["one option", "another"]',
                found=repr(item.fields.get(column))[:120],
            )
        options = [option.get("text") if isinstance(option, Mapping) else option for option in cell]
        columns = columns * len(options)
    texts = ["" if option is None else str(option).strip() for option in options]
    if len(texts) != len(labels.labels):
        raise ItemError(
            f"item {item.id} has {len(texts)} options",
            where=f"{place_of(item)}: {labels.options[0]}",
            expected=f"{len(labels.labels)}, one for each label",
            found=str(texts)[:120],
        )
    if "" in texts:
        empty = texts.index("")
        raise ItemError(
            f"item {item.id} has no option for the label {labels.codes[empty]!r}",
            where=f"{place_of(item)}: {columns[empty]}",
            expected="an option for each label",
            found="an empty cell" if len(labels.options) > 1 else str(texts)[:120],
        )
    return texts


def listed(cell: Any) -> list[Any] | None:
    """The entries of a cell that holds a list, a mapping, or either as JSON; None where it holds neither.

    >>> listed('["a", "b"]'), listed({"A": "a", "B": "b"}), listed("a")
    (['a', 'b'], ['a', 'b'], None)
    """
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    if isinstance(cell, Mapping):
        texts = cell.get("text")
        return texts if isinstance(texts, list) else list(cell.values())
    return cell if isinstance(cell, list) else None


def place_of(item: Item) -> str:
    """The file and the line of an item."""
    return str(getattr(item.fields, "where", "items"))
