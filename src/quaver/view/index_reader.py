"""An index as the server reads it: small parts in memory, cells in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quaver.errors import StoreError
from quaver.view.index_design import CURRENT, IndexDesign, State, design_of
from quaver.view.kept_texts import KeptTexts

_CELLS = 1_000_000
"""As many cells are looked at together."""


class Columns(NamedTuple):
    """Which columns are looked at.

    Attributes:
        places: Their numbers.
        every: Whether these are all, in order.
    """

    places: Any
    every: bool


class Plane:
    """A plane, read in pieces so that no more of it is in memory; zeros where there is none."""

    def __init__(self, path: Path, kind: str, width: int) -> None:
        self._path, self._kind, self.width = path, np.dtype(kind), width

    @property
    def exists(self) -> bool:
        """Whether anything was put into it."""
        return self._path.exists()

    def rows(self, start: int, stop: int) -> Any:
        """Consecutive rows."""
        return self._read([start], stop - start)[0]

    def some(self, rows: Any) -> Any:
        """Rows by their numbers, in that order."""
        return self._read(rows, 1).reshape(-1, self.width)

    def cell(self, row: int, column: int) -> Any:
        """The number in one cell."""
        return self.rows(row, row + 1)[0, column].item()

    def _read(self, starts: Any, count: int) -> Any:
        """Pieces of some rows each."""
        found = np.zeros((len(starts), count, self.width), self._kind)
        if not found.size or not self.exists:
            return found
        with self._path.open("rb", buffering=0) as file:
            for place, start in enumerate(starts):
                file.seek(int(start) * self.width * self._kind.itemsize)
                file.readinto(found[place])
        return found


class Index:
    """An index that was made, or is being made.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.design: IndexDesign = design_of(json.loads((folder / "design.json").read_text(encoding="utf-8")))
        self._gold: tuple[int, Any] = (0, None)
        self._texts: dict[str, KeptTexts] = {}
        self._planes: dict[str, Plane] = {}
        self.ids = self.texts("ids")
        self.width = len(self.design.columns)

    @property
    def gold(self) -> Any:
        """The legend codes of the items' gold labels, as they are now; 0 for none."""
        path = self.folder / "gold.npy"
        if (written := path.stat().st_mtime_ns) != self._gold[0]:
            self._gold = written, np.load(path)
        return self._gold[1]

    @property
    def state(self) -> State:
        """How far it has come."""
        return State(**json.loads((self.folder / "state.json").read_text(encoding="utf-8")))

    @cached_property
    def groups(self) -> dict[str, Any]:
        """The codes of the items' groups, from 1 in the order of the design's values."""
        names = enumerate(self.design.groups)
        return {name: np.load(self.folder / f"group-{at}.npy") for at, name in names}

    def texts(self, name: str) -> KeptTexts:
        """One of the tables of texts."""
        return self._texts.setdefault(name, KeptTexts(self.folder, name))

    def labels(self, evaluator: int) -> Plane:
        """The legend codes of an evaluator's readings."""
        return self.plane(f"label-{evaluator}", self.design.cell_type)

    def plane(self, name: str, kind: str) -> Plane:
        """Another plane: ``confidence-N``, ``flags``, ``response``, ``length``, ``text``, ``thought``."""
        made = Plane(self.folder / f"{name}.plane", kind, self.width)
        return self._planes.setdefault(name, made)

    def item_text(self, at: int, longest: int | None = None) -> str:
        """An item's text as the first prompt shows it, or its beginning."""
        if not self.design.has["texts"]:
            return ""
        if not self.design.text_field:
            shown = self.texts("shown")
            return shown[at] if longest is None else shown.begin(at, longest)
        text = str(self.item_fields(at).get(self.design.text_field, ""))
        return text if longest is None else text[:longest]

    def item_fields(self, at: int) -> dict[str, Any]:
        """An item's fields."""
        return dict(json.loads(self.texts("fields")[at])) if self.design.has["texts"] else {}

    def blocks(self) -> Iterator[tuple[int, int]]:
        """The rows in pieces of about a million cells: where each starts and stops."""
        step = max(1, _CELLS // max(1, self.width))
        for start in range(0, self.design.items, step):
            yield start, min(start + step, self.design.items)


def index_in(root: Path) -> Index | None:
    """The index in use among those of a folder; None where none was made yet, or it is not whole."""
    try:
        name = (root / CURRENT).read_text(encoding="utf-8").strip()
        return Index(root / Path(name).name)
    except (OSError, ValueError, EOFError):
        return None


def require(index: Index | None) -> Index:
    """An index that there is."""
    if index is None:
        raise StoreError("the study is still being read", where="quaver view", fix="try again in a moment")
    return index
