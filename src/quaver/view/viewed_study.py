"""One study as the server has it open: its index, what was computed of it, its marks."""

from __future__ import annotations

import json
import secrets
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.store_lock import who_collects
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.view.grid_view import GridView
from quaver.view.mark_book import MarkBook
from quaver.view.queries import MARKS, Scope, numbers_of
from quaver.view.study_index import Index, index_in


class ViewedStudy:
    """A study that is looked at.

    Args:
        name: Its name in addresses.
        path: What the user named.
        root: Where its indexes are.
        field: The field that is looked at, where the task has several; otherwise empty.
    """

    def __init__(self, name: str, path: Path, root: Path, field: str = "") -> None:
        self.id, self.path, self.root, self.field = name, path, root, field
        self._index: Index | None = None
        self._lock = threading.Lock()
        self._computing = threading.RLock()  # a computation uses all processors by itself
        self._views = lru_cache(6)(self._view)
        self._numbers = lru_cache(4)(self._numbers_of)
        self._book: MarkBook | None = None
        self.ticket = secrets.token_urlsafe(24)  # the address of its report, which opens nothing else
        self.failure: QuaverError | None = None
        self.verdict_wanted = threading.Event()

    # ----------------------------------------------------------------------- state

    @property
    def index(self) -> Index:
        """The index in use."""
        index = self.index_or_none()
        if index is None:
            fix = "try again in a moment"
            raise StoreError("the study is still being read", where="quaver view", fix=fix)
        return index

    def index_or_none(self) -> Index | None:
        """The index in use; None before there is one."""
        with self._lock:
            try:
                name = (self.root / "current").read_text(encoding="utf-8").strip()
            except OSError:
                name = ""
            if self._index is None or self._index.folder.name != name:
                self._index = index_in(self.root) or self._index
            return self._index

    def document(self, name: str) -> Any:
        """A document that the indexing process wrote beside the index; None where there is none."""
        index = self.index_or_none()
        try:
            return json.loads((index.folder / name).read_text(encoding="utf-8")) if index else None
        except (OSError, ValueError):
            return None

    @property
    def version(self) -> str:
        """Changes with answers."""
        index = self.index_or_none()
        if index is None:
            return ""
        state = index.state
        return f"{index.folder.name}.{state.last}.{state.done}.{state.changed}.{state.complete:d}"

    @property
    def book(self) -> MarkBook:
        """The study's marks."""
        index = self.index
        folder = Path(index.design.marks)
        if self._book is None or self._book.path.parent != folder:
            self._book = MarkBook(folder, index.design.label_set)
        return self._book

    @property
    def collecting(self) -> int | None:
        """The process that collects for it."""
        index = self.index_or_none()
        return who_collects(Path(index.design.store).parent) if index and index.design.store else None

    # ------------------------------------------------------------------------ views

    def evaluator(self, name: str) -> int:
        """The number of an evaluator; the first if none is named."""
        known = self.index.design.evaluators
        if not name:
            return 0
        if name not in known:
            raise UnknownName("evaluator", name, known, where="e")
        return known.index(name)

    def view(self, query: str = "", evaluator: str = "", sort: str = "item") -> GridView:
        """A view of the grid."""
        with self._computing:
            return self._views(query, evaluator, sort, self.version, self.book.version)

    def _view(self, query: str, evaluator: str, sort: str, *_: str) -> GridView:
        return GridView(self.scope(evaluator), query, sort)

    def scope(self, evaluator: str = "") -> Scope:
        """Where a query is asked."""
        number = self.evaluator(evaluator)
        return Scope(self.index, number, self.numbers(number), self._marks())

    def numbers(self, evaluator: int) -> pl.DataFrame:
        """The numbers of every item."""
        with self._computing:
            return self._numbers(evaluator, self.version)

    def _numbers_of(self, evaluator: int, _: str) -> pl.DataFrame:
        return numbers_of(self.index, evaluator)

    # ------------------------------------------------------------------------ beside

    def _marks(self) -> pl.DataFrame:
        """What is marked, a row an item."""
        marks = [(mark.item, mark.kind, mark.who, mark.label) for mark in self.book.marks()]
        frame = pl.DataFrame(marks, schema=dict.fromkeys(("item", *MARKS), pl.String), orient="row")
        said = frame.group_by("item", maintain_order=True).agg(pl.all())
        items = self.index.ids.to_frame("item")
        return items.join(said, on="item", how="left", maintain_order="left").select(*MARKS)
