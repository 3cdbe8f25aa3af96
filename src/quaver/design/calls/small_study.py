"""A study's small version: the same study with fewer items, repeats and tokens, for a first look.

The key ``small`` of a study file holds what differs, under the file's own keys. The small version is written
beside it as a separate study file, ``NAME.small.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from quaver._secrets import Keys, is_key_shaped
from quaver.core.replaced_file import replace_text
from quaver.design.spec.study_file import Positions
from quaver.errors import SpecError

_HEAD = "# The small version of {}, made by `quaver run --small`: change that file, not this one.\n"


def write_small(source: Positions) -> Path:
    """Write the small version of a study file beside it.

    Returns:
        The path of the small version.

    Raises:
        SpecError: The study is not a file, or has no key ``small``.
    """
    path = source.path
    if path is None:
        raise SpecError(
            "only a study file has a small version",
            where="small",
            expected="a YAML file",
            found="a study that was given as a mapping",
            fix="write it to a file, and open that",
        )
    document = _yaml().load(path.read_text(encoding="utf-8-sig"))
    if not document.get("small"):
        raise SpecError(
            "this study has no small version",
            where=path.name,
            expected="a key `small` with what differs, under the file's own keys",
            fix="small: {items: {sample: 20}, repeats: 2}",
        )
    merge(document, document.pop("small"))
    return write_made(document, path.with_name(f"{path.stem}.small.yaml"), _HEAD.format(path.name))


def write_made(document: Any, target: Path, head: str) -> Path:
    """Write a study file that is made from another file.

    Args:
        document: Its content.
        target: Where to; nothing is written where the same stands there already.
        head: A comment that names the other file.

    Returns:
        The path.

    Raises:
        SpecError: It would contain what looks like a key.
    """
    written = StringIO()
    _yaml().dump(document, written)
    text = head + written.getvalue()
    if Keys().within(text) or is_key_shaped(text):
        raise SpecError(
            "the study file would contain what looks like a key",
            where=target.name,
            expected="no key in a study file or its comments",
            fix="take it out of the file that it is made from, and change the key if others may have seen it",
        )
    if not target.is_file() or target.read_text(encoding="utf-8") != text:
        replace_text(target, text)
    return target


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.width = 110
    return yaml


def merge(document: Any, changes: Mapping[str, Any]) -> None:
    """Merge changes into a document: mappings recursively; anything else replaces what was there."""
    for key, value in changes.items():
        if isinstance(value, Mapping) and isinstance(document.get(key), Mapping):
            merge(document[key], value)
        else:
            document[key] = value
