"""A study whose items were given as data, and the files of its folder that keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from quaver.design.items.text_lines import Row
from quaver.errors import ItemError

_HEAD = (
    "# Written by quaver.Study.open, which was given the items as data, and again whenever it is.\n"
    "# Remove this line and the one above to keep changes of your own. Paths start in this folder.\n"
)


@dataclass(slots=True)
class KeptItems:
    """A study whose items were given as data, and the files that keep them.

    Attributes:
        study: The study, with the names of files in the place of data.
        folder: The study's folder.
        files: What the files hold, by name.
    """

    study: Mapping[str, Any]
    folder: Path
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def paths(self) -> dict[str, Path]:
        """The files' paths, by name."""
        return {name: self.folder / name for name in self.files}

    def write(self) -> None:
        """Write the files, and a study file that names them; one that the user wrote is left alone."""
        for content in self.files.values():
            if key := Keys().within(content):
                raise ItemError(
                    f"the items contain the value of the environment variable {key}",
                    where="items.source",
                    expected="no key in the study's data",
                    fix="remove it from the data, and change the key if others may have seen them",
                )
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            path = self.folder / name
            if not path.is_file() or path.stat().st_size != len(content):
                replace_bytes(path, content)
        own = self.folder / "study.yaml"
        if own.exists() and not read_file(own).decode("utf-8", "replace").startswith(_HEAD):
            return
        text = StringIO()
        YAML().dump(_plain(self.study), text)
        replace_text(own, _HEAD + text.getvalue())


def kept_items(study: Mapping[str, Any], folder: Path) -> KeptItems:
    """Put names of files in the place of data; nothing is written yet."""
    kept = KeptItems(study, folder)
    items = study.get("items")
    if is_data(items):
        items = {"source": items}
    if not isinstance(items, Mapping):
        return kept
    found = _named(kept, items, "items.source")
    examples = items.get("examples")
    if is_data(examples):
        examples = {"source": examples}
    if isinstance(examples, Mapping) and examples:
        found = {**found, "examples": _named(kept, examples, "items.examples")}
    if kept.files:
        kept.study = {**study, "items": found}
    return kept


def _named(kept: KeptItems, part: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """A part of the study whose source has a name."""
    source = part.get("source")
    if not is_data(source) and not isinstance(source, Mapping):
        return part
    rows = items_from(source, where=where)
    content = written_items(rows)
    kept.files[name := name_of_items(content)] = content
    result = {**part, "source": name}
    if where == "items.source" and "text" not in part and (column := _text(rows)):
        result["text"] = column_template(column)
    return result


def _text(rows: list[Row]) -> str | None:
    """The column of texts, where no other could be meant."""
    columns = list(rows[0]) if rows else []
    return TEXT if TEXT in columns else columns[0] if len(columns) == 1 else None


def _plain(value: Any) -> Any:
    """A part of the study as YAML writes it."""
    if isinstance(value, Mapping):
        return {_plain(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
