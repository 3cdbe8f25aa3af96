"""One study as the server has it open: its index, what was computed of it, its marks and looks."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from quaver.collect.store.store_lock import who_collects
from quaver.core.replaced_file import replace_text, replacing
from quaver.errors import QuaverError, UnknownName
from quaver.view.asked import Asked
from quaver.view.grid_view import GridView, grid_view
from quaver.view.kept_texts import TextSearch, folded
from quaver.view.mark_book import MarkBook
from quaver.view.query_fields import Fields, condition_of
from quaver.view.query_language import parsed
from quaver.view.query_scope import Block, ItemStatistics, Scope, statistics_of
from quaver.view.study_index import Index, index_in, require

_OF_MARKS = {"mark": "kind", "who": "who", "label": "label", "note": "note"}
"""What a query may ask of marks, and what it is called there."""

_PATIENCE = 1.5
"""Seconds for which a search of texts is waited for."""

ValueT = TypeVar("ValueT")


class _Kept(Generic[ValueT]):
    """The last few results of a function, each computed once."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._found: OrderedDict[Any, ValueT] = OrderedDict()
        self._locks: defaultdict[Any, threading.Lock] = defaultdict(threading.Lock)

    def get(
        self, key: Any, make: Callable[[], ValueT], keep: Callable[[ValueT], bool] = lambda _: True
    ) -> ValueT:
        """What is kept under a key, or what is made now."""
        with self._lock:
            own = self._locks[key]
        with own:
            with self._lock:
                if key in self._found:
                    self._found.move_to_end(key)
                    return self._found[key]
            result = make()
            with self._lock:
                if keep(result):
                    self._found[key] = result
                while len(self._found) > self._most:
                    self._found.popitem(last=False)
                self._locks.pop(key, None)
        return result


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
        self._views: _Kept[GridView] = _Kept(6)
        self._statistics: _Kept[ItemStatistics] = _Kept(4)
        self._searches: _Kept[TextSearch] = _Kept(4)
        self.evaluators: _Kept[Any] = _Kept(32)
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
        return (
            f"{index.folder.name}.{state.last}.{state.done}.{state.frame}.{state.changed}.{state.complete:d}"
        )

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
        key = (asked, self.version, self.book.version)
        return self._views.get(
            key, lambda: self._view(asked), lambda made: all(one.complete for one in made.scope.searches)
        )

    def _view(self, asked: Asked) -> GridView:
        scope = self.scope(asked)
        condition = condition_of(parsed(asked.query), scope)
        return grid_view(scope, condition, asked)

    def scope(self, asked: Asked) -> Scope:
        """Where a query is asked."""
        evaluator, columns = self.evaluator(asked.evaluator), self._columns(asked.within)
        return Scope(
            index=self.index,
            evaluator=evaluator,
            columns=columns,
            statistics=self.statistics(evaluator, columns),
            statistics_of=lambda some: self.statistics(evaluator, some),
            search=self.search,
            marks=self._marks(),
            changed=self.changed(evaluator),
            modal_in=self._modal_in,
        )

    def statistics(self, evaluator: int, columns: Any = None) -> ItemStatistics:
        """The statistics of every item."""
        index = self.index
        some = np.arange(index.width) if columns is None else columns
        key = (evaluator, some.tobytes(), self.version)
        return self._statistics.get(key, lambda: statistics_of(index, evaluator, some))

    def search(self, texts: str, wanted: str) -> TextSearch:
        """A search for a text, which goes on if it takes long."""
        index = self.index
        begun = self._searches.get(
            (texts, wanted, self.version),
            lambda: index.texts(texts).search(wanted if texts == "ids" else folded(wanted)),
        )
        return begun.wait(_PATIENCE)

    def _columns(self, query: str) -> Any:
        """The columns that a query line about columns means; all of them if it is empty."""
        index = self.index
        every = np.arange(index.width)
        if not query:
            return every
        empty = ItemStatistics(*(np.zeros(0) for _ in range(6)))
        scope = Scope(index, 0, every, empty, lambda _: empty, self.search)
        condition = condition_of(parsed(query), scope)
        if condition.level != "column":
            expected = "prompt:…, model:…, decoding:… or repeat:…"
            raise QuaverError("this chooses no columns", where="query", expected=expected, found=query)
        shown = np.broadcast_to(condition.holds(Block(scope, slice(0, 0))), (1, index.width))[0]
        return np.flatnonzero(shown)

    def fields(self, asked: Asked) -> Fields:
        """The fields that a query may name."""
        return Fields(self.scope(asked))

    # ------------------------------------------------------------------------ beside

    def _marks(self) -> dict[str, dict[int, tuple[str, ...]]]:
        """What is marked: by kind, the values by item."""
        result: dict[str, dict[int, tuple[str, ...]]] = {}
        for name, marks in self.book.by_item().items():
            if (index := self.index.ids.find(name)) is None:
                continue
            for kind, attribute in _OF_MARKS.items():
                values = tuple(getattr(mark, attribute) for mark in marks if getattr(mark, attribute))
                if values:
                    result.setdefault(kind, {})[index] = values
        return result

    def changed(self, evaluator: int) -> Any:
        """The items whose most frequent label has changed since the last look; None without one."""
        before = self.looks.modal
        if before is None or evaluator != 0:
            return None
        modal = self.statistics(0).modal
        if len(before) != len(modal):
            return None
        return before != modal

    def _modal_in(self, name: str) -> Any:
        """The most frequent labels that another open study has for this one's items."""
        other = self._others.get(name)
        if other is None or other is self:
            return None
        places, codes = alignment(self.index, other.index)
        return np.where(places >= 0, codes[other.statistics(0).modal[places]], 0)


def alignment(index: Index, other: Index) -> tuple[Any, Any]:
    """The numbers that this study's items have in another one, and what that one's legend codes are here.

    An item that is not there has -1; a label that is not here gets a code after all of this study's.
    """
    if index is other:
        return np.arange(index.design.items), np.arange(len(index.design.meanings))
    places = {code: position for position, code in enumerate(both_codes(index, other), start=1)}
    return index.ids.places_in(other.ids), np.array([0, *(places[code] for code in other.design.codes)])


def both_codes(index: Index, other: Index) -> list[str]:
    """The labels of two studies."""
    return list(dict.fromkeys((*index.design.codes, *other.design.codes)))


class Looks:
    """The last look at a study, beside its index.

    What is noted now counts from the next time that the study is opened, so that a page that is loaded again
    still shows what was new.

    Attributes:
        before: What was noted then; None before the first one.
        modal: The items' most frequent labels then.
    """

    def __init__(self, root: Path) -> None:
        self._noted, self._modal = root / "look.json", root / "look.npy"
        self.before: dict[str, Any] | None = None
        self.modal: Any = None
        try:
            self.before = dict(json.loads(self._noted.read_text(encoding="utf-8")))
            self.modal = np.load(self._modal)
        except (OSError, ValueError, EOFError):  # nobody has looked before
            return

    def note(self, numbers: dict[str, Any], modal: Any) -> None:
        """Note what the study is like."""
        self._noted.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._modal) as part, part.open("wb") as file:
            np.save(file, modal)
        replace_text(self._noted, json.dumps({"when": time.time(), **numbers}))
