"""The pictures, pages and recordings that items bring: found in the table's folder, and read there alone."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Timer
from typing import IO, Any, cast

from quaver.core.media import MOST_BYTES, Medium, keep_bytes, kept_medium, medium_of, noted_medium
from quaver.core.number_format import count
from quaver.core.records import Item, Variant
from quaver.design.items import file_engine
from quaver.design.items.answer_options import listed
from quaver.design.spec.items_spec import ItemsSpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, QuaverError, UnknownName


def with_media(
    items: Sequence[Item], asked: ItemsSpec, table: str, source: Positions, kept: Path | None = None
) -> list[Item]:
    """The items with what the columns of pictures, pages and recordings name.

    A file that cannot be used costs its own item: asking about it is an error without a call.

    Args:
        items: The items.
        asked: Names the columns.
        table: The table's name in the study file: paths start from its folder.
        source: The places of the study's parts.
        kept: Where the text of PDF files is kept, since reading it takes long.

    Raises:
        ItemError: No file can be used.
        UnknownName: A column does not exist.
    """
    columns = asked.media
    if not columns or not items:
        return [*items]
    for kind, column in columns.items():
        if column not in items[0].fields:
            raise UnknownName("column", column, items[0].fields, where=source.where("items", kind))
    path = source.path_of(table)
    folder = path.parent if path == source.home / table else source.home  # else it was given as data
    shown = []
    with FileEngine() as engine:
        for item in items:
            media: list[Medium] = []
            for kind, column in columns.items():
                files = list(_named(item, kind, column, folder, source))
                if kind == "pdf" and asked.reads_pages:
                    files = _with_text(item, files, (asked.pdf or {}).get("pages", ""), kept, engine)
                media += files
            shown.append(replace(item, media=tuple(media)))
    every = [(item, medium) for item in shown for medium in item.media]
    used = sum(not item.media or item.media[0].type != "" for item in shown)
    if every and not used:
        item, medium = every[0]
        raise ItemError(
            "none of these files can be used",
            where=f"{getattr(item.fields, 'where', 'items')}: {', '.join(columns.values())}",
            expected=f"paths of files inside {folder.absolute()}, or data: URIs in Base64",
            found=f"{medium.name[:120]}: {medium.problem}",
        )
    return shown


def notes_on_media(items: Sequence[Item]) -> list[str]:
    """What a reader must know of items whose files cannot be used."""
    lost = {item.id: medium for item in items for medium in item.media if not medium.type}
    if not lost:
        return []
    (first, medium), *_ = lost.items()
    why = f"item {first}: {medium.name[:120]}: {medium.problem}"
    return [f"{count(len(lost), 'item')} cannot be asked about, since a file cannot be used ({why})."]


def _named(item: Item, kind: str, column: str, folder: Path, source: Positions) -> Iterator[Medium]:
    """What a cell names: paths or ``data:`` URIs, in lines or in a list."""
    cell = item.fields.get(column)
    names = listed(cell) or str("" if cell is None else cell).splitlines()
    for name in filter(None, map(str.strip, map(str, names))):
        kept = source.home / name if name.startswith("data:") else source.path_of(name)
        if kept != source.home / name:  # a bundle has it elsewhere
            yield medium_of(name, str(kept), kind)
        else:
            yield medium_named(name, kind, folder)


def medium_named(name: str, kind: str, folder: Path) -> Medium:
    """What a name in a table stands for.

    Args:
        name: A path, or a ``data:`` URI.
        kind: What it should be, by the study file's key.
        folder: The table's, outside which nothing is read.
    """
    if name.startswith("data:"):
        return medium_of("data:", name, kind)
    if problem := _outside(name, folder):
        return Medium(name, problem=problem)
    return medium_of(name, str(folder / name), kind)


def _with_text(
    item: Item, files: Sequence[Medium], pages: str, kept: Path | None, engine: FileEngine
) -> list[Medium]:
    """Give an item the text of its PDF files as its field ``pdf``; returns those that have none."""
    texts, lost = list[str](), list[Medium]()
    for file in files:
        text, problem = _text_of(file, pages, kept, engine) if file.type else ("", file.problem)
        if problem:
            lost.append(Medium(file.name, problem=problem))
        texts.append(text)
    if isinstance(item.fields, dict):
        item.fields["pdf"] = "\n\n".join(texts)
    return lost


def _text_of(file: Medium, pages: str, kept: Path | None, engine: FileEngine) -> tuple[str, str]:
    """The text of a PDF file, and why there is none."""
    name = f"{file.sha256} {pages}".strip()
    if kept is not None and (known := kept_medium(kept, name)):
        return known.decode(), ""
    first, _, last = pages.partition("-")
    read = {"first": int(first or 1), "last": int(last or first or 0), "most": MOST_BYTES}
    text, problem = engine.read(file.content(), "text", **read)
    if text and kept is not None:
        keep_bytes(kept, name, "text/plain", text)
    return text.decode(), problem


def with_versions(items: Sequence[Item], variants: Sequence[Variant], kept: Path | None) -> list[Item]:
    """The items, their pictures with the versions that variants show; one that cannot be made has a problem.

    Args:
        items: The items, with their pictures.
        variants: The variants.
        kept: Where versions are kept, each made once.
    """
    asked = [*dict.fromkeys(variant.pictures for variant in variants if variant.pictures)]
    if not asked:
        return [*items]

    def changed(medium: Medium) -> Medium:
        if medium.kind != "images":
            return medium
        versions = {changes: _version(medium, changes, kept, engine) for changes in asked}
        return replace(medium, versions=versions)

    with FileEngine() as engine:
        return [replace(item, media=tuple(map(changed, item.media))) for item in items]


def _version(medium: Medium, changes: Sequence[str], kept: Path | None, engine: FileEngine) -> Medium:
    """What some changes make of a picture."""
    about = ", ".join(changes)
    name, key = f"{medium.name}, {about}", f"{medium.sha256} {about}"
    if kept is not None:
        known = noted_medium(kept_medium(kept, key).decode("utf-8", "replace"), kept)
        if known.type:
            return replace(known, name=name)
    try:
        made, problem = engine.read(medium.content(), "picture", changes=changes)
    except QuaverError as error:
        made, problem = b"", error.problem
    if problem:
        return Medium(name, problem=problem)
    uri = f"data:;base64,{base64.b64encode(made).decode()}"
    version = medium_of(name, uri, "images")
    if kept is None or version.problem:
        return version
    keep_bytes(kept, version.sha256, version.type, made)
    keep_bytes(kept, key, "application/json", version.noted.encode())
    return replace(version, source=str(kept))


class FileEngine:
    """Has files read in a process of its own, which begins with the first file, and anew where it has ended.

    Files may come from anybody, so nothing else of Quaver decodes one.
    """

    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> FileEngine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def read(self, content: bytes, way: str, **how: Any) -> tuple[bytes, str]:
        """What ``file_engine`` makes of a file in one of its ways, and why that is nothing."""
        if self._process is None:
            command, pipe = [sys.executable, "-P", file_engine.__file__], subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        given, taken = (cast(IO[bytes], one) for one in (self._process.stdin, self._process.stdout))
        timer = Timer(_SECONDS, self._process.kill)
        timer.start()
        try:
            given.write(json.dumps({"size": len(content), "way": way, **how}).encode() + b"\n" + content)
            given.flush()
            said = json.loads(taken.readline())
            return taken.read(said["size"]), said["problem"]
        except (OSError, ValueError):  # the process ran into its limits
            self.__exit__()
            return b"", "reading it takes more time or memory than a file may"
        finally:
            timer.cancel()


_SECONDS = 300
"""By the clock; the process counts those in which it works."""


def _outside(name: str, folder: Path) -> str:
    """Why a name is none of a file in the folder; empty where it is."""
    if "://" in name:
        return "an address, from which nothing is fetched"
    try:
        real = (folder / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        return str(error)
    if not real.is_relative_to(folder.resolve()):
        return "it lies outside the folder of the table"
    return "" if real.is_file() else "there is no such file"
