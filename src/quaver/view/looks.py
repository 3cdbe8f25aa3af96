"""When somebody last looked at a study, and what it was like then."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from quaver.core.replaced_file import replace_text, replacing


class Looks:
    """The last look at a study, beside its index.

    What is noted now counts from the next time that the study is opened, so that a page that is loaded again
    still shows what was new.

    Args:
        root: The folder of the study's indexes.
    """

    def __init__(self, root: Path) -> None:
        self._noted, self._modal = root / "look.json", root / "look.npy"
        self._before = self._read()
        self._labels = self._read_modal()
        self.version = 0

    def before(self) -> dict[str, Any] | None:
        """What was noted at the last look; None before the first one."""
        return self._before

    def modal(self) -> Any:
        """The items' most frequent labels at the last look; None before the first one."""
        return self._labels

    def note(self, numbers: dict[str, Any], modal: Any, *, now: bool = False) -> None:
        """Note what the study is like."""
        self._noted.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._modal) as part, part.open("wb") as file:
            np.save(file, modal)
        replace_text(self._noted, json.dumps({"when": time.time(), **numbers}))
        if now:
            self._before, self._labels = self._read(), self._read_modal()
            self.version += 1

    def _read(self) -> dict[str, Any] | None:
        try:
            return dict(json.loads(self._noted.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None

    def _read_modal(self) -> Any:
        try:
            return np.load(self._modal)
        except (OSError, ValueError, EOFError):
            return None
