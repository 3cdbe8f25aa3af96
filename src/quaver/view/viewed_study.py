"""One study as the server has it open: a snapshot of it, what was computed of that, its marks."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.store_lock import who_collects
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.view.grid_view import GridView
from quaver.view.mark_book import MarkBook
from quaver.view.queries import MARKS, Scope, numbers_of
from quaver.view.snapshot import Snapshot, state_in


class ViewedStudy:
    """A study that is looked at.

    Args:
        name: Its name in addresses.
        path: What the user named.
        root: Where the process that reads it writes.
        field: The field that is looked at, where the task has several; otherwise empty.

    Attributes:
        files: The files that a change would show in.
        failure: The error with which reading it ended, if it did.
        ticket: The address of its report, which opens nothing else.
    """

    def __init__(self, name: str, path: Path, root: Path, field: str = "") -> None:
        self.id, self.path, self.root, self.field = name, path, root, field
        self._snapshot: tuple[str, Snapshot | None] = "", None
        self._lock = threading.RLock()
        self._computing = threading.RLock()  # a computation uses all processors by itself
        self._views = lru_cache(6)(self._view)
        self._numbers = lru_cache(4)(self._numbers_of)
        self._book: MarkBook | None = None
        self.files: Sequence[Path] = ()
        self.failure: QuaverError | None = None
        self.ticket = secrets.token_urlsafe(24)

    # ----------------------------------------------------------------------- state

    @property
    def snapshot(self) -> Snapshot:
        """The study as it was last read."""
        snapshot = self.snapshot_or_none()
        if snapshot is None:
            fix = "try again in a moment"
            raise StoreError("the study is still being read", where="quaver view", fix=fix)
        return snapshot

    def snapshot_or_none(self) -> Snapshot | None:
        """The study as it was last read; None before it was."""
        with self._lock:
            version = self.version
            if version and version != self._snapshot[0]:
                self._snapshot = version, Snapshot(self.root)
                self._views.cache_clear()
                self._numbers.cache_clear()
            return self._snapshot[1]

    @property
    def version(self) -> str:
        """Changes with answers and with the design; empty before there is one."""
        try:
            written = (self.root / "design.json").stat().st_mtime_ns
        except OSError:
            return ""
        state = state_in(self.root)
        return f"{written}.{state.done}.{state.of}.{''.join(state.files[-1:])}"

    def document(self, name: str) -> Any:
        """A document that the process writes beside; empty where there is none."""
        try:
            return json.loads((self.root / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    @property
    def book(self) -> MarkBook:
        """The study's marks."""
        design = self.snapshot.design
        if self._book is None or self._book.path.parent != Path(design.marks):
            self._book = MarkBook(Path(design.marks), design.labels, spans=design.has_spans)
        return self._book

    @property
    def collecting(self) -> int | None:
        """The process that collects for it."""
        snapshot = self.snapshot_or_none()
        has_store = snapshot is not None and snapshot.design.store
        return who_collects(Path(snapshot.design.store).parent) if snapshot and has_store else None

    # ------------------------------------------------------------------------ views

    def evaluator(self, name: str) -> int:
        """The number of an evaluator; the first if none is named."""
        names = self.snapshot.design.evaluators
        if not name:
            return 0
        if name not in names:
            raise UnknownName("evaluator", name, names, where="e")
        return names.index(name)

    def view(self, query: str = "", evaluator: str = "", sort: str = "item") -> GridView:
        """A view of the grid."""
        with self._computing:
            _ = self.snapshot  # of whose answers the views that are remembered are
            return self._views(query, evaluator, sort, self.book.version)

    def _view(self, query: str, evaluator: str, sort: str, _: str) -> GridView:
        number = self.evaluator(evaluator)
        scope = Scope(self.snapshot, number, self._numbers(number), self._marks())
        return GridView(scope, query, sort)

    def _numbers_of(self, evaluator: int) -> pl.DataFrame:
        return numbers_of(self.snapshot, evaluator)

    def _marks(self) -> pl.DataFrame:
        """What is marked, a row an item."""
        marks = [(mark.item, mark.kind, mark.who, mark.label) for mark in self.book.marks()]
        frame = pl.DataFrame(marks, schema=dict.fromkeys(("item", *MARKS), pl.String), orient="row")
        said = frame.group_by("item", maintain_order=True).agg(pl.all())
        items = self.snapshot.ids.to_frame("item")
        return items.join(said, on="item", how="left", maintain_order="left").select(*MARKS)
