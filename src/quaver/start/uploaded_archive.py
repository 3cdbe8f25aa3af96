"""A ZIP file with a table and the pictures that it names, as it is uploaded."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Final

from quaver.core.input_budget import MOST_BYTES, InputBudget, TooLarge
from quaver.core.replaced_file import replace_bytes, writing
from quaver.design.items.record_files import PACKED
from quaver.design.items.table_files import FORMATS
from quaver.errors import ItemError
from quaver.study.imports.columns import PICTURE

_MOST_FILES: Final = 50_000
_TABLES: Final = tuple(ending for ending in FORMATS if ending not in (".txt", *PACKED))
"""Endings of tables; a text file beside pictures says something else about them."""


def table_with_pictures(content: bytes) -> str:
    """The name of the table in an archive that holds pictures too; empty for an archive without pictures.

    Raises:
        ItemError: It is damaged, or beside the pictures there is not one table.
    """
    with _opened(content) as archive:
        names = _plain(archive)
    pictures = [name for name in names if PICTURE.fullmatch(name)]
    tables = [name for name in names if PurePosixPath(name).suffix.lower() in _TABLES]
    if pictures and len(tables) != 1:
        raise ItemError(
            "this ZIP file does not hold one table beside its pictures",
            expected=f"one file that ends in {', '.join(_TABLES)}",
            found=", ".join(tables[:8]) or "none",
        )
    return tables[0] if pictures else ""


def unpacked_pictures(content: bytes, table: str, folder: Path) -> Path:
    """The table in a folder, with the pictures at their places beside it; nothing else is unpacked."""
    with _opened(content) as archive:
        names = [name for name in _plain(archive) if name == table or PICTURE.fullmatch(name)]
        sizes = (archive.getinfo(name).file_size for name in names)  # no more than this is read of each
        InputBudget(MOST_BYTES, "bytes").spend(sum(sizes))
        with writing(folder.parent):
            for name in names:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                replace_bytes(folder / name, archive.read(name))
    return folder / table


@contextmanager
def _opened(content: bytes) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            yield archive
    except (TooLarge, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError) as error:
        raise ItemError("this ZIP file cannot be unpacked", found=str(error)) from error


def _plain(archive: zipfile.ZipFile) -> list[str]:
    """The names of files in an archive that stay inside a folder; links and hidden files are left out."""
    InputBudget(_MOST_FILES, "files").spend(len(members := archive.infolist()))
    names = []
    for member in members:
        parts = member.filename.split("/")
        if stat.S_ISLNK(member.external_attr >> 16) or not all(map(_is_plain, parts)):
            continue
        names.append(member.filename)
    return names


def _is_plain(part: str) -> bool:
    """Whether a file or folder is called so on any system, and is shown to people."""
    return (
        part.isprintable()
        and part[:1] not in ("", ".")
        and not {*part} & {*'\\:*?"<>|'}
        and part != "__MACOSX"
    )
