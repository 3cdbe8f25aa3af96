"""What Quaver writes for others, held against the keys in the environment."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

import polars as pl

from quaver._secrets import Keys, is_key_shaped, texts_in
from quaver.core.line_file import lines_of
from quaver.design.calls.experiment import Experiment
from quaver.errors import ItemError, QuaverError, SpecError

_CHUNK = 2**24
_OVERLAP = 2**12
"""Bytes that two chunks share, so that nothing is cut in two; no key is as long."""

_OWN = (".yaml", ".yml")
"""Files that the user wrote, where a key can stand whose variable is not set here."""

_SENT = "no key among the texts that models are sent"
_PASSED_ON = "no key in anything that is passed on"
_TAKE_OUT = (
    "take it out of the study file, the items or the stored answers, wherever it came from; change the key if"
    " others may have seen it"
)


def check_design(experiment: Experiment) -> None:
    """See that no item or prompt holds a key: it would be sent, stored and reported."""
    keys = Keys()
    if not keys:
        return
    for item in experiment.items:
        text = "\n".join([item.id, *(value for value in item.fields.values() if isinstance(value, str))])
        if name := keys.plainly_within(text):
            where = next((n for n, v in item.fields.items() if keys.plainly_within(str(v))), "id")
            raise _key_in(ItemError, "an item holds", name, f"item {item.id}: {where}", _SENT)
    for variant in experiment.variants:
        texts = (text for _, text in texts_in(asdict(variant)))
        if name := next((key_name for text in texts if (key_name := keys.within(text))), None):
            raise _key_in(SpecError, "a variant holds", name, f"variant {variant.id}", _SENT)


def _key_in(kind: type[QuaverError], what: str, name: str, where: str, expected: str) -> QuaverError:
    problem = f"{what} the value of the environment variable {name}"
    return kind(problem, where=where, expected=expected, fix=_TAKE_OUT)


def check_outgoing(files: Iterable[Path], *, own: bool = False) -> None:
    """See that no file holds a key: plain, escaped or encoded, in a member, a cell or a column."""
    keys = Keys()
    for path in sorted(files):
        if keys and (name := next((n for part in _parts(path) if (n := keys.within(part))), None)):
            path.unlink()
            file = path.name.removesuffix(".part")
            raise _key_in(QuaverError, "this file would hold", name, file, _PASSED_ON)
        if own and path.suffix in _OWN and (line := _key_shaped(path)):
            raise QuaverError(
                "this file contains what looks like a key, perhaps in a comment",
                where=f"{path.name}:{line}",
                expected=_PASSED_ON,
                fix=_TAKE_OUT,
            )


def written_report(path: Path) -> list[Path]:
    """The files of a report in the formats that hold text: the others show the same."""
    beside = [path.parent / "estimates.csv"]
    beside += [*path.parent.glob("figures/*.svg"), *path.parent.glob("tables/*.csv")]
    return [path, *(file for file in beside if file.exists())]


def _key_shaped(path: Path) -> int | None:
    """The first line in which something looks like a key."""
    lines = lines_of(path.read_text(encoding="utf-8", errors="replace"))
    return next((number for number, line in enumerate(lines, start=1) if is_key_shaped(line)), None)


def _parts(path: Path) -> Iterator[bytes]:
    """A file's bytes, and what they stand for where they are packed."""
    with path.open("rb") as file:
        yield from _chunks(file)
        file.seek(0)
        start = file.read(16)
        file.seek(0)
        if start[:2] == b"\x1f\x8b":
            yield from _unpacked(gzip.GzipFile(fileobj=file))
        elif start[:4] == b"PK\3\4":
            with (
                suppress(zipfile.BadZipFile, NotImplementedError, RuntimeError),
                zipfile.ZipFile(file) as archive,
            ):
                for member in archive.infolist():
                    yield member.filename.encode()
                    with archive.open(member) as opened:
                        yield from _unpacked(opened)
    if start == b"SQLite format 3\0":
        # A database's rows; in the file itself a long text is cut by the pages
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
            db.text_factory = bytes
            names = [
                row[0].decode() for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            for name in names:
                for row in db.execute(f'SELECT * FROM "{name}"'):
                    yield b"\n".join(cell for cell in row if isinstance(cell, bytes))
    elif start[:4] == b"PAR1":
        for column in pl.read_parquet(path).select(pl.col(pl.String, pl.Categorical).cast(pl.String)):
            yield "\n".join(column.drop_nulls().unique().to_list()).encode("utf-8", "surrogatepass")


def _chunks(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    last = b""
    while chunk := file.read(_CHUNK):
        yield last + chunk
        last = chunk[-_OVERLAP:]


def _unpacked(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    with suppress(OSError, EOFError, zlib.error):  # else it only begins like one, and holds what stands there
        yield from _chunks(file)
