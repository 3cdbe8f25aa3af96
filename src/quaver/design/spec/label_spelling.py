"""One spelling of each label throughout a study file, however its accents are encoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from quaver.core.table_text import composed


def with_labels_alike(document: Any) -> Any:
    """A study's document in which every mention of a label is spelt as in the label set.

    An é may be one character or an e followed by an accent, and an editor does not show which.

    >>> study = {"task": {"labels": ["\u00e9"]}, "prompt": {"answers": {"e\u0301": "E"}}}
    >>> with_labels_alike(study)["prompt"]["answers"] == {"\u00e9": "E"}
    True
    """
    task = document.get("task") if isinstance(document, Mapping) else None
    given = task.get("labels") if isinstance(task, Mapping) else None
    listed = given if isinstance(given, list | tuple) else ()
    codes = [one.get("code") if isinstance(one, Mapping) else one for one in listed]
    written = {composed(code): code for code in codes if isinstance(code, str) and not code.isascii()}
    if not written:
        return document
    document = deepcopy(document)
    parts = {name: part for name, part in document.items() if name != "task"}
    _rewrite(parts, lambda text: written.get(composed(text), text))
    return document


def _rewrite(part: Any, spell: Callable[[str], str]) -> None:
    """Spell every text in a part, keys included, in place."""
    keys = list(part) if isinstance(part, Mapping) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        value = part[key]
        if isinstance(value, str) and spell(value) != value:
            part[key] = spell(value)
        else:
            _rewrite(value, spell)
        if isinstance(key, str) and spell(key) != key and isinstance(part, MutableMapping):
            _rename(part, key, spell(key))


def _rename(part: MutableMapping[str, Any], old: str, new: str) -> None:
    """Spell a key differently, in the same place."""
    items = [(new if key == old else key, value) for key, value in part.items()]
    marks = getattr(part, "lc", None)
    if marks is not None and old in (marks.data or {}):
        marks.data[new] = marks.data[old]
    part.clear()
    for key, value in items:
        part[key] = value
