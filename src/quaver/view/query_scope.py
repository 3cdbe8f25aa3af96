"""What a query is asked of: cells in pieces, with the numbers of their items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from quaver.errors import nearest
from quaver.view.kept_texts import TextSearch
from quaver.view.query_language import QueryError, Value
from quaver.view.study_index import Index, IndexDesign

Level = Literal["item", "column", "cell"]
"""What a condition is about; a condition on cells is the most specific one."""


@dataclass
class Scope:
    """Where a query is asked.

    Attributes:
        index: The study's.
        evaluator: Whose readings.
        columns: The numbers of the columns that are shown, in their order.
        statistics: Of the items, over these columns.
        statistics_of: The same over other columns.
        search: Searches for a text among ``texts``, ``answers``, ``thinking`` or ``ids``.
        marks: What is marked: by kind (``mark``, ``who``, ``label``, ``note``), the values by item.
        changed: The items whose most frequent label has changed since the last look; None if unknown.
        modal_in: The most frequent labels of another study, for each item of this one; None if it is none.
        searches: The searches that the query began.
    """

    index: Index
    evaluator: int
    columns: Any
    statistics: ItemStatistics
    statistics_of: Callable[[Any], ItemStatistics]
    search: Callable[[str, str], TextSearch]
    marks: Mapping[str, Mapping[int, tuple[str, ...]]] = field(default_factory=dict)
    changed: Any = None
    modal_in: Callable[[str], Any] = lambda _: None
    searches: list[TextSearch] = field(default_factory=list)

    @cached_property
    def other_evaluators(self) -> list[int]:
        """The evaluators whose readings are not shown."""
        return [index for index in range(len(self.index.design.evaluators)) if index != self.evaluator]


class Block:
    """Some rows of the grid.

    Args:
        scope: Where.
        rows: Which: a slice of consecutive ones, or their numbers.
    """

    def __init__(self, scope: Scope, rows: slice | Any) -> None:
        self._scope, self.rows = scope, rows
        self._planes: dict[str, Any] = {}

    def plane(self, name: str, kind: str) -> Any:
        """The cells of a plane in the columns that are shown."""
        if name not in self._planes:
            plane = self._scope.index.plane(name, kind)
            rows = self.rows
            cells = plane.rows(rows.start, rows.stop) if isinstance(rows, slice) else plane.some(rows)
            self._planes[name] = chosen(cells, self._scope.columns)
        return self._planes[name]

    def readings(self, evaluator: int) -> Any:
        """The legend codes of an evaluator's readings."""
        return self.plane(f"label-{evaluator}", self._scope.index.design.cell_type)

    @property
    def codes(self) -> Any:
        """The legend codes of the readings that are shown."""
        return self.readings(self._scope.evaluator)

    @cached_property
    def modal(self) -> Any:
        """The items' most frequent labels, as a column."""
        return self._scope.statistics.modal[self.rows][:, None]

    @cached_property
    def gold(self) -> Any:
        """The items' gold labels, as a column; 0 for none."""
        return self._scope.index.gold[self.rows][:, None]


class Condition(NamedTuple):
    """What must hold.

    Attributes:
        level: What it is about.
        holds: Where it holds in some rows: an array that has a row for each item, or one row for all, and a
            column for each column, or one for all.
        of_missing: Whether it may be about calls that are not answered.
    """

    level: Level
    holds: Callable[[Block], Any]
    of_missing: bool = False


def of_cells(holds: Callable[[Block], Any]) -> Condition:
    """A condition on answers."""
    return Condition("cell", holds)


def where(level: Level, known: Any, scope: Scope) -> Condition:
    """What holds of some legend codes of answers, of some columns of the design, or of some items."""
    every = np.asarray(known, bool)
    if level == "cell":
        return Condition(level, lambda block: every[block.codes], of_missing=bool(every[0]))
    if level == "column":
        shown = every[scope.columns][None, :]
        return Condition(level, lambda block: shown)
    return Condition(level, lambda block: every[block.rows][:, None])


def both(parts: list[Condition]) -> Condition:
    """All of some conditions."""
    return _joined(parts, np.logical_and, True)


def either(parts: list[Condition]) -> Condition:
    """One or more of some conditions."""
    return _joined(parts, np.logical_or, False)


def negated(part: Condition) -> Condition:
    """The opposite of a condition."""
    return part._replace(holds=lambda block: ~part.holds(block))


_LEVELS: tuple[Level, ...] = ("item", "column", "cell")


def _joined(parts: list[Condition], join: Any, nothing: bool) -> Condition:
    level = _LEVELS[max((_LEVELS.index(part.level) for part in parts), default=0)]

    def holds(block: Block) -> Any:
        result = np.full((1, 1), nothing)
        for part in parts:
            result = join(result, part.holds(block))
        return result

    return Condition(level, holds, any(part.of_missing for part in parts))


class Coded(NamedTuple):
    """One value in each place: of each legend code of answers, each column of the design, or each item.

    A code is the place of a value among the names, from 1, and 0 where there is none; the forms are how a
    query may write values, the titles what they mean.
    """

    level: Level
    codes: Any
    names: Sequence[str]
    forms: Mapping[str, list[int]]
    titles: Mapping[str, str] = {}


def fitting(value: Value, forms: Mapping[str, list[int]], field: str) -> set[int]:
    """The codes that a value means: of the form as it is, or else in any case of letters."""
    if value.text in forms and not value.open:
        return set(forms[value.text])
    wanted, result = value.text.lower(), set()
    for form, codes in forms.items():
        plain = form.lower()
        if plain.startswith(wanted) if value.open else plain == wanted:
            result.update(codes)
    if not result:
        raise unknown_in(value.text, forms, field, value.at)
    return result


def unknown_in(text: str, known: Iterable[str], what: str, at: tuple[int, int]) -> QueryError:
    """The error of a name that is not known, with the nearest that is."""
    names = list(known)
    near = nearest(text, names)
    return QueryError(
        f"no {what} is named {text!r}",
        at,
        expected=", ".join(names[:12]) + (" …" if len(names) > 12 else ""),
        found=text,
        fix=f"did you mean {near!r}?" if near else None,
    )


@dataclass
class ItemStatistics:
    """Numbers of each item over some columns, an array each.

    Attributes:
        modal: The legend code of the most frequent label, of several the first in the alphabet; 0 for none.
        top: How many answers have it.
        valid: How many have a label.
        answered: How many there are.
        labels: How many labels differ.
        right: How many are the gold label.
    """

    modal: Any
    top: Any
    valid: Any
    answered: Any
    labels: Any
    right: Any

    @property
    def agreement(self) -> Any:
        """The share of labels that are the most frequent one; NaN without labels."""
        return _share(self.top, self.valid)

    @property
    def instability(self) -> Any:
        """The flip rate: the share of labels that differ from the most frequent one."""
        return 1 - self.agreement

    @property
    def valid_share(self) -> Any:
        """The share of answers with a label; NaN without answers."""
        return _share(self.valid, self.answered)

    def accuracy(self, gold: Any) -> Any:
        """The share of answers with the gold label; NaN without one."""
        return np.where(gold > 0, _share(self.right, self.answered), np.nan).astype(np.float32)


def statistics_of(index: Index, evaluator: int, columns: Any) -> ItemStatistics:
    """The statistics of every item."""
    design, plane = index.design, index.labels(evaluator)
    top, valid, answered, right = (np.zeros(design.items, np.uint32) for _ in range(4))
    modal, distinct = np.zeros(design.items, design.cell_type), np.zeros(design.items, np.uint16)
    statistics = ItemStatistics(modal, top, valid, answered, distinct, right)
    for start, stop in index.blocks():
        codes = chosen(plane.rows(start, stop), columns)
        counts = counts_of(codes, design)
        labels = counts[:, 1 : len(design.codes) + 1]
        statistics.modal[start:stop], statistics.top[start:stop] = modal_of(labels, design)
        statistics.valid[start:stop] = labels.sum(axis=1)
        statistics.answered[start:stop] = counts[:, 1:].sum(axis=1)
        statistics.labels[start:stop] = (labels > 0).sum(axis=1)
        gold = index.gold[start:stop]
        rows = np.arange(stop - start)
        statistics.right[start:stop] = np.where(gold > 0, counts[rows, gold], 0)
    return statistics


def chosen(cells: Any, columns: Any) -> Any:
    """The cells in some columns, which are not copied where these are all."""
    return cells if len(columns) == cells.shape[1] else cells[:, columns]


def counts_of(codes: Any, design: IndexDesign) -> Any:
    """How often each legend code occurs in each row."""
    size, rows = len(design.meanings), codes.shape[0]
    places = (np.arange(rows, dtype=np.int32) * size)[:, None] + codes
    return np.bincount(places.ravel(), minlength=rows * size).reshape(rows, size)


def modal_of(labels: Any, design: IndexDesign) -> tuple[Any, Any]:
    """The legend codes of the most frequent labels by counts of labels, and how often they occur."""
    if not labels.shape[1]:
        return np.zeros(len(labels), design.cell_type), np.zeros(len(labels), np.uint32)
    alphabet = np.array(sorted(range(len(design.codes)), key=lambda at: design.codes[at]))
    best = alphabet[labels[:, alphabet].argmax(axis=1)]
    top = labels[np.arange(len(labels)), best]
    return np.where(top > 0, best + 1, 0), top


def folded_codes(codes: Any, starts: Any, design: IndexDesign) -> Any:
    """The most frequent label over the repeats of each condition; without labels, one of the statuses."""
    result = np.zeros((codes.shape[0], len(starts)), codes.dtype)
    best = np.zeros(result.shape, np.uint32)
    for code in _by_rank(design):
        count = np.add.reduceat((codes == code).astype(np.uint32), starts, axis=1)
        better = count > best if code <= len(design.codes) else (result == 0) & (count > 0)
        result[better], best[better] = code, count[better]
    return result


def _by_rank(design: IndexDesign) -> Iterator[int]:
    """Labels in the order of the alphabet, then the statuses."""
    yield from (
        index + 1 for index in sorted(range(len(design.codes)), key=lambda index: design.codes[index])
    )
    yield from range(len(design.codes) + 1, len(design.meanings))


def _share(part: Any, whole: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (part / whole).astype(np.float32)
