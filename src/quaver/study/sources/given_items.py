"""A study whose items were given as data, and the files of its folder that keep them."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from quaver._secrets import Keys
from quaver.core.input_budget import read_file
from quaver.core.replaced_file import replace_bytes, replace_text, writing
from quaver.design.items.item_data import (
    TEXT,
    column_template,
    is_data,
    items_from,
    name_of_items,
    written_items,
)
from quaver.errors import ItemError

_HEAD = (
    "# Written by quaver.Study.open, which was given the items as data, and again whenever it is.\n"
    "# Remove this line and the one above to keep changes of your own. Paths start in this folder.\n"
)


def named_items(study: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """A study with names of files in the place of data, and what these files are to hold, by name."""
    files: dict[str, bytes] = {}
    items = _named(study.get("items"), "items.source", files)
    if isinstance(items, Mapping) and items.get("examples") is not None:
        items = {**items, "examples": _named(items["examples"], "items.examples", files)}
    return ({**study, "items": items} if files else study), files


def _named(table: Any, where: str, files: dict[str, bytes]) -> Any:
    """A part of the study whose source has a name; data are added to the files."""
    part = {"source": table} if is_data(table) else table
    source = part.get("source") if isinstance(part, Mapping) else None
    if not is_data(source) and not isinstance(source, Mapping):
        return table
    rows = items_from(source, where=where)
    content = written_items(rows)
    name = name_of_items(content)
    files[name] = content
    columns = list(rows[0]) if rows else []
    texts = columns if len(columns) == 1 else [column for column in columns if column == TEXT]
    if where == "items.source" and texts:  # no other column could be meant
        part = {"text": column_template(texts[0]), **part}
    return {**part, "source": name}


def keep_items(study: Mapping[str, Any], folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files, and a study file that names them; one that the user wrote is left alone."""
    for content in files.values():
        if key := Keys().within(content):
            raise ItemError(
                f"the items contain the value of the environment variable {key}",
                where="items.source",
                expected="no key in the study's data",
                fix="remove it from the data, and change the key if others may have seen them",
            )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != len(content):
            replace_bytes(path, content)
    own = folder / "study.yaml"
    if own.exists() and not read_file(own).decode("utf-8", "replace").startswith(_HEAD):
        return
    text = StringIO()
    YAML().dump(_plain(study), text)
    replace_text(own, _HEAD + text.getvalue())


def _plain(value: Any) -> Any:
    """A part of the study as YAML writes it."""
    if isinstance(value, Mapping):
        return {_plain(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return value if value is None or isinstance(value, str | int | float) else str(value)
