"""The pictures, pages and recordings that items bring: found in the table's folder, and read there alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from quaver.core.media import Medium, medium_of
from quaver.core.number_format import count
from quaver.core.records import Item
from quaver.design.items.answer_options import listed
from quaver.design.spec.items_spec import ItemsSpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, UnknownName


def with_media(items: Sequence[Item], asked: ItemsSpec, table: str, source: Positions) -> list[Item]:
    """The items with what the columns of pictures, pages and recordings name.

    A file that cannot be used costs its own item: asking about it is an error without a call.

    Args:
        items: The items.
        asked: Names the columns.
        table: The table's name in the study file: paths start from its folder.
        source: The places of the study's parts.

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
    found = []
    for item in items:
        media = [
            one for kind, column in columns.items() for one in _media(item, kind, column, folder, source)
        ]
        found.append(replace(item, media=tuple(media)))
    every = [(item, medium) for item in found for medium in item.media]
    if every and not any(medium.type for _, medium in every):
        item, medium = every[0]
        raise ItemError(
            "none of these files can be used",
            where=f"{getattr(item.fields, 'where', 'items')}: {', '.join(columns.values())}",
            expected=f"paths of files inside {folder.absolute()}, or data: URIs in Base64",
            found=f"{medium.name[:120]}: {medium.problem}",
        )
    return found


def notes_on_media(items: Sequence[Item]) -> list[str]:
    """What a reader must know of items whose files cannot be used."""
    lost = {item.id: one for item in items for one in item.media if not one.type}
    if not lost:
        return []
    (first, medium), *_ = lost.items()
    why = f"item {first}: {medium.name[:120]}: {medium.problem}"
    return [f"{count(len(lost), 'item')} cannot be asked about, since a file cannot be used ({why})."]


def _media(item: Item, kind: str, column: str, folder: Path, source: Positions) -> Iterator[Medium]:
    """What a cell names: paths or ``data:`` URIs, in lines or in a list."""
    cell = item.fields.get(column)
    names = listed(cell) or str("" if cell is None else cell).splitlines()
    for name in filter(None, map(str.strip, map(str, names))):
        if name.startswith("data:"):
            yield medium_of("data:", name, kind)
            continue
        kept, path = source.path_of(name), folder / name
        if kept != source.home / name:  # a bundle has it elsewhere
            yield medium_of(name, str(kept), kind)
        elif problem := _outside(name, folder):
            yield Medium(name, problem=problem)
        else:
            yield medium_of(name, str(path), kind)


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
