"""Files of a folder that change together: a process that is killed between two of them loses none."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from quaver.core.replaced_file import put_in_place, replace_bytes, replace_text, writing

_READY: Final = ".ready"
_NEXT: Final = ".next"
_SUMS: Final = "checksums.json"


class JointFiles:
    """Writes files of a folder all at once.

    The new contents are written beside the files. Then one file, ``.ready``, says that all of them are there:
    from then on they count, and take the files' places. A process that ends before that leaves the files as
    they were; one that ends later leaves the rest to the next writer, and readers see the new contents
    meanwhile. One process at a time may write.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Where the content of a file is now; nothing needs to be there."""
        waiting = self._next(name)
        return waiting if name in self._ready() and waiting.is_file() else self._folder / name

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write files, all of them or none.

        Raises:
            StoreError: One cannot be written.
        """
        self.finish()
        sums = self._sums() | {name: zlib.crc32(content) for name, content in contents.items()}
        everything = {**contents, _SUMS: (json.dumps(sums, indent=1) + "\n").encode()}
        for name, content in everything.items():
            replace_bytes(self._next(name), content)
        replace_text(self._folder / _READY, json.dumps([*everything]))
        self.finish()

    def content(self, name: str) -> bytes:
        """What is in a file.

        Raises:
            OSError: It cannot be read.
            ValueError: It has changed since it was written here.
        """
        content = self.path(name).read_bytes()
        if self._sums().get(name, zlib.crc32(content)) != zlib.crc32(content):
            raise ValueError(
                f"its content has changed; if you changed it on purpose, remove {self._folder / _SUMS}"
            )
        return content

    def _sums(self) -> dict[str, int]:
        """The files' checksums; empty where somebody removed them.

        Raises:
            ValueError: They have changed since they were written.
        """
        path = self.path(_SUMS)
        if not path.is_file():
            return {}
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise ValueError(f"{path} holds no checksums")
        return found

    def finish(self) -> None:
        """Finish what a process that was killed has left.

        Raises:
            StoreError: A file cannot be written.
        """
        with writing(self._folder):
            for name in self._ready():
                if (waiting := self._next(name)).is_file():
                    put_in_place(waiting, self._folder / name)
            (self._folder / _READY).unlink(missing_ok=True)

    def _next(self, name: str) -> Path:
        return self._folder / f"{name}{_NEXT}"

    def _ready(self) -> list[str]:
        try:
            names = json.loads((self._folder / _READY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
