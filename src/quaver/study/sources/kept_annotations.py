"""``annotations.parquet``: one file, or for a large study a folder of that name with numbered parts.

Polars, pandas and Arrow read either by the one name.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from quaver.core.annotations import misfit, with_added_columns
from quaver.core.replaced_file import writing

_ABANDONED = 3600.0
"""Seconds after which what a killed process left half written may go."""


def part_of(folder: Path, number: int) -> Path:
    """A part's file, by its number from 0."""
    return folder / f"part-{number:06}.parquet"


def parts_of(kept: Path) -> list[Path]:
    """The files of the annotations, in order."""
    return sorted(kept.glob("part-*.parquet")) if kept.is_dir() else [kept]


def scan_kept(kept: Path) -> pl.LazyFrame:
    """The annotations, to be read as they are needed.

    Raises:
        OSError: They are missing.
        polars.exceptions.PolarsError: They are damaged, as far as the file's own index shows.
    """
    parts = parts_of(kept)
    for part in parts:
        pl.read_parquet_schema(part)
    frame = with_added_columns(pl.scan_parquet(parts))
    if found := misfit(frame.collect_schema()):
        raise pl.exceptions.SchemaError(found)
    return frame


def rewrite_kept(kept: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the annotations part by part.

    Raises:
        StoreError: They cannot be written.
    """
    with replacing_kept(kept) as place:
        if kept.is_dir():
            place.mkdir()
        for part in parts_of(kept):
            file = place / part.name if kept.is_dir() else place
            change(with_added_columns(pl.read_parquet(part))).write_parquet(file)


@contextmanager
def replacing_kept(kept: Path) -> Iterator[Path]:
    """A place for annotations, a file or a folder, which then take the place of those that were kept.

    A process that is killed leaves the old annotations, the new ones, or none; never a part of them.

    Raises:
        StoreError: They cannot be written.
    """
    new = kept.with_name(f".{kept.name}.{os.getpid()}.tmp")
    with writing(kept.parent):
        _sweep(kept)
        _remove(new)
        try:
            yield new
            if kept.is_dir() or (kept.exists() and new.is_dir()):
                old = kept.with_name(f".{kept.name}.{os.getpid()}.old.tmp")
                kept.rename(old)
                new.rename(kept)
                _remove(old)
            else:
                new.replace(kept)
        finally:
            _remove(new)


def _sweep(kept: Path) -> None:
    """Remove what processes left that were killed."""
    for left in kept.parent.glob(f".{kept.name}.*.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                _remove(left)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
