"""One command, one transaction: everything that it writes becomes valid by one rename, or nothing does.

New files are written into ``.next`` in the study's folder, with ``places.json``, which says where each of
them belongs. Renaming ``.next`` to ``.ready`` makes the whole generation valid; then each file takes its
place, and ``.ready`` goes. A process that is killed before the rename has changed nothing, and the next one
removes what it left; one that is killed later leaves the rest to the next, and readers see the new files
meanwhile.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from quaver.core.input_budget import parsed_json, read_file
from quaver.core.replaced_file import locked, put_in_place, replacing, sync_folder, writing
from quaver.errors import StoreError

_NEXT: Final = ".next"
_READY: Final = ".ready"
_PLACES: Final = "places.json"
_LOCK: Final = ".lock"


class Transaction:
    """Files that change together; `changing` makes one.

    Attributes:
        home: The study's folder.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._places: list[str] = []

    def file(self, path: Path) -> Path:
        """A file to write to, whose content takes the place of ``path``, in this folder or in another."""
        staged = self.home / _NEXT / str(len(self._places)) / path.name
        staged.parent.mkdir()
        try:
            self._places.append(os.path.relpath(path.absolute(), self.home.absolute()))
        except ValueError:  # another drive of Windows
            self._places.append(str(path.absolute()))
        return staged

    def files(self) -> list[Path]:
        """The files that were written so far."""
        return [path for path in (self.home / _NEXT).rglob("*") if path.is_file()]

    def write(self, path: Path, content: bytes) -> None:
        """Write a file whole."""
        self.file(path).write_bytes(content)

    def _commit(self) -> None:
        """Make the generation valid, and put its files in their places."""
        staged = self.home / _NEXT
        (staged / _PLACES).write_text(json.dumps(self._places), encoding="utf-8")
        for path in staged.rglob("*"):
            if path.is_dir():
                sync_folder(path)
            else:
                with path.open("rb+") as file:
                    os.fsync(file.fileno())
        sync_folder(staged)
        staged.rename(self.home / _READY)
        sync_folder(self.home)
        _put_in_places(self.home)


@contextmanager
def changing(home: Path) -> Iterator[Transaction]:
    """A transaction in a study's folder, which nobody else changes meanwhile.

    What a command that was killed has left is finished or removed before, with a warning that says which.

    Raises:
        StoreError: Another process changes this folder, or it cannot be written.
    """
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        with locked(home / _LOCK) as free:
            if not free:
                raise StoreError("another process is changing this study", where=str(home), fix="wait for it")
            if done := _recover(home):
                warnings.warn(f"{home}: {done}", stacklevel=4)
            change = Transaction(home)
            (home / _NEXT).mkdir()
            try:
                yield change
                if change._places:
                    change._commit()
            finally:
                shutil.rmtree(home / _NEXT, ignore_errors=True)


def finish(home: Path) -> None:
    """Finish what a killed command had written, where nobody is at work and the folder can be written."""
    if (home / _READY).is_dir():
        with suppress(StoreError), changing(home):
            pass


def current(home: Path, path: Path) -> Path:
    """The path that has a file's content now: its own, or that of a valid generation not yet moved."""
    for staged, place in _waiting(home):
        if place == path.absolute() and staged.is_file():
            return staged
    return path


def _recover(home: Path) -> str:
    """Finish or remove what a process that was killed has left, and say which; else empty."""
    if (home / _READY).is_dir():
        names = ", ".join(place.name for staged, place in _waiting(home) if staged.is_file())
        _put_in_places(home)
        return f"completed the files of a command that was stopped ({names})" if names else ""
    if (home / _NEXT).is_dir():
        shutil.rmtree(home / _NEXT)
        return "removed the unfinished files of a command that was stopped"
    return ""


def _put_in_places(home: Path) -> None:
    for staged, place in _waiting(home):
        if not staged.is_file():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            put_in_place(staged, place)
        except OSError:
            if staged.stat().st_dev == place.parent.stat().st_dev:
                raise
            with replacing(place) as part:  # another disk, where no rename leads
                shutil.copyfile(staged, part)
            staged.unlink()
    ready = home / _READY
    with suppress(FileNotFoundError):
        (ready / _PLACES).unlink()
    shutil.rmtree(ready)


def _waiting(home: Path) -> list[tuple[Path, Path]]:
    """The files of a valid generation, each with its place."""
    try:
        places = parsed_json(read_file(home / _READY / _PLACES))
    except FileNotFoundError:
        return []
    paths = [Path(os.path.normpath(home.absolute() / place)) for place in places]
    return [(home / _READY / str(number) / path.name, path) for number, path in enumerate(paths)]
