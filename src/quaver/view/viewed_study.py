"""One study as the server has it open: its index, what was computed of it, its marks and looks."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.store_lock import who_collects
from quaver.core.replaced_file import replace_text, replacing
from quaver.errors import QuaverError, UnknownName
from quaver.view.asked import Asked
from quaver.view.grid_view import GridView, grid_view
from quaver.view.mark_book import MarkBook
from quaver.view.query_fields import Fields
from quaver.view.query_scope import MARKS, Scope, StudyFields, numbers_of
from quaver.view.study_index import Index, index_in, require


class ViewedStudy:
    """A study that is looked at.

    Args:
        name: Its name in addresses.
        path: What the user named.
        root: Where its indexes are.
        others: The other open studies by their names.
        field: The field that is looked at, where the task has several; otherwise empty.
    """

    def __init__(
        self, name: str, path: Path, root: Path, others: Mapping[str, ViewedStudy], field: str = ""
    ) -> None:
        self.id, self.path, self.root, self._others, self.field = name, path, root, others, field
        self._index: Index | None = None
        self._lock = threading.Lock()
        self._computing = threading.RLock()  # a computation uses all processors by itself
        self._views = lru_cache(6)(self._view)
        self._numbers = lru_cache(4)(self._numbers_of)
        self._book: MarkBook | None = None
        self.looks = Looks(self.root)
        self.ticket = secrets.token_urlsafe(24)  # the address of its report, which opens nothing else
        self.failure: QuaverError | None = None
        self.verdict_wanted = threading.Event()

    # ----------------------------------------------------------------------- state

    @property
    def index(self) -> Index:
        """The index in use."""
        return require(self.index_or_none())

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
            self._book = MarkBook(folder, index.design.codes)
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

    def view(self, asked: Asked) -> GridView:
        """A view of the grid."""
        with self._computing:
            return self._views(asked, self.version, self.book.version)

    def _view(self, asked: Asked, *_: str) -> GridView:
        return grid_view(self.scope(asked), asked)

    def scope(self, asked: Asked) -> Scope:
        """Where a query is asked."""
        evaluator, columns = self.evaluator(asked.evaluator), self._columns(asked.within)
        return Scope(
            index=self.index,
            evaluator=evaluator,
            columns=columns,
            numbers=self.numbers(evaluator, columns),
            marks=self._marks(),
            changed=self.changed(evaluator),
            modal_in=self._modal_in,
        )

    def numbers(self, evaluator: int, columns: Sequence[int] | None = None) -> pl.DataFrame:
        """The numbers of every item."""
        some = range(self.index.width) if columns is None else columns
        with self._computing:
            return self._numbers(evaluator, tuple(some), self.version)

    def _numbers_of(self, evaluator: int, columns: Sequence[int], _: str) -> pl.DataFrame:
        return numbers_of(self.index, evaluator, columns)

    def _columns(self, query: str) -> Sequence[int]:
        """The columns that a query line about columns means; all of them if it is empty."""
        index = self.index
        if not query:
            return range(index.width)
        columns = index.design.columns_frame
        chosen = Fields({"column": columns}, None, columns.columns[4:]).condition(query)
        if {*chosen.meta.root_names()} - {"column"}:
            expected = "prompt:…, model:…, decoding:… or repeat:…"
            raise QuaverError("this chooses no columns", where="query", expected=expected, found=query)
        every = pl.DataFrame({"column": range(index.width)}, schema={"column": pl.UInt16})
        return every.filter(chosen)["column"].to_list()

    def fields(self, asked: Asked) -> StudyFields:
        """The fields that a query may name."""
        return self.scope(asked).fields

    # ------------------------------------------------------------------------ beside

    def _marks(self) -> pl.DataFrame:
        """What is marked, a row an item."""
        marks = [(mark.item, mark.kind, mark.who, mark.label, mark.note) for mark in self.book.marks()]
        frame = pl.DataFrame(marks, schema=dict.fromkeys(("item", *MARKS), pl.String), orient="row")
        said = frame.group_by("item", maintain_order=True).agg(pl.all())
        items = self.index.ids.to_frame("item")
        return items.join(said, on="item", how="left", maintain_order="left").select(*MARKS)

    def changed(self, evaluator: int) -> pl.Series | None:
        """The items whose most frequent label has changed since the last look; None without one."""
        before = self.looks.modal
        if before is None or evaluator != 0 or len(before) != self.index.design.items:
            return None
        return before.ne_missing(self.numbers(0)["modal"].cast(pl.String))

    def _modal_in(self, name: str) -> pl.Series | None:
        """The most frequent labels that another open study has for this one's items."""
        other = self._others.get(name)
        if other is None or other is self:
            return None
        theirs = pl.DataFrame({"item": other.index.ids, "modal": other.numbers(0)["modal"].cast(pl.String)})
        ours = self.index.ids.to_frame("item")
        return ours.join(theirs, on="item", how="left", maintain_order="left")["modal"]


class Looks:
    """The last look at a study, beside its index.

    What is noted now counts from the next time that the study is opened, so that a page that is loaded again
    still shows what was new.

    Attributes:
        before: What was noted then; None before the first one.
        modal: The items' most frequent labels then.
    """

    def __init__(self, root: Path) -> None:
        self._noted, self._modal = root / "look.json", root / "look.parquet"
        self.before: dict[str, Any] | None = None
        self.modal: pl.Series | None = None
        try:
            self.before = dict(json.loads(self._noted.read_text(encoding="utf-8")))
            self.modal = pl.read_parquet(self._modal)["modal"]
        except (OSError, ValueError, pl.exceptions.PolarsError):  # nobody has looked before
            return

    def note(self, numbers: dict[str, Any], modal: pl.Series) -> None:
        """Note what the study is like."""
        self._noted.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._modal) as part:
            modal.cast(pl.String).to_frame("modal").write_parquet(part)
        replace_text(self._noted, json.dumps({"when": time.time(), **numbers}))
