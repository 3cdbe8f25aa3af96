"""The columns of a frame, by the roles that they play."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quaver.core.arguments import excerpt
from quaver.core.records import NO_LABEL, LabelSet
from quaver.core.table_text import composed
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.answer_grid import smallest
from quaver.estimation.arrangement import TIED
from quaver.estimation.encoding import Codes, Encoded, ordered
from quaver.estimation.gathered import Gathered

Columns = Mapping[str, str | Sequence[str]]
"""Role -> the frame's column (or columns, taken together) that plays it. Roles are the names of
``ANNOTATION_COLUMNS``; a role that is not mentioned is played by the column of its name."""


class UnknownColumn(MeasureError, UnknownName):
    """A measure was told to use a column that the frame does not have."""

    def __init__(self, name: str, known: Iterable[str], *, where: str, fix: str | None = None) -> None:
        UnknownName.__init__(self, "column", name, known, where=where, fix=fix)


class ColumnReader:
    """Reads the columns of one frame by the roles that they play."""

    def __init__(self, gathered: Gathered, columns: Mapping[str, str | Sequence[str]]) -> None:
        self.gathered = gathered
        self._columns = columns
        for role, name in columns.items():
            for one in name if isinstance(name, list | tuple) else [name]:
                self.column(one, f"columns[{role!r}]")

    def column(self, name: Any, where: str) -> str:
        """A column's name, checked; ``where`` is the argument that names it."""
        if not isinstance(name, str):
            raise MeasureError(
                "not a column's name", where=where, expected="the name of a column", found=excerpt(name)
            )
        if name not in self.gathered.columns:
            raise UnknownColumn(name, self.gathered.columns, where=where)
        return name

    def of(self, role: str) -> tuple[str, ...]:
        """The columns that play a role; none where the frame has none."""
        name = self._columns.get(role, role if role in self.gathered.columns else ())
        return (name,) if isinstance(name, str) else tuple(name)

    def needed(self, role: str) -> tuple[str, ...]:
        """The columns that play a role, one at least."""
        names = self.of(role)
        if not names:
            fix = f"say which column it is: columns={{{role!r}: …}}"
            raise UnknownColumn(role, self.gathered.columns, where="annotations", fix=fix)
        return names

    def plays(self, role: str, by: Sequence[str]) -> bool:
        """Whether ``by`` has the role's columns already."""
        return set(self.of(role)) <= set(by)

    def by(self, names: Sequence[str]) -> Codes:
        """The combinations of the columns that make the cells, as codes."""
        return self.gathered.together(*(self.column(name, "by") for name in names))

    def items(self) -> Codes:
        """Each row's item.

        Raises:
            MeasureError: A row has none.
        """
        names = self.needed("item")
        for name in names:
            codes = self.gathered.encoded(name).codes
            if (codes < 0).any():
                raise MeasureError(
                    "a row without a value",
                    where=f"annotations[{name!r}]",
                    expected="a value in every row",
                    found=f"none in row {int(np.argmax(codes < 0))}",
                )
        return self.gathered.together(*names)

    def beside(self, by: Sequence[str], roles: Sequence[str]) -> tuple[str, ...]:
        """The columns that play some roles, those left out that ``by`` has already."""
        there = [role for role in roles if not self.plays(role, by)]
        return tuple(dict.fromkeys(name for role in there for name in self.of(role)))

    def one_evaluator(self, by: Sequence[str]) -> None:
        """Refuse a frame of several evaluators that are not told apart."""
        for name in self.of("evaluator"):
            found = self.gathered.encoded(name)
            if name not in by and len(found.values) + bool((found.codes < 0).any()) > 1:
                raise MeasureError(
                    "annotations of several evaluators",
                    where=f"annotations[{name!r}]",
                    expected="one evaluator's",
                    found=", ".join(sorted(found.values)[:5]),
                    fix=f"filter the frame, or put {name!r} into by",
                )

    def labels(
        self, label_set: LabelSet | None, gold: bool
    ) -> tuple[tuple[str, ...], NDArray[Any], NDArray[Any] | None]:
        """The labels' names, each row's code among them, and each row's gold code."""
        name = self.needed("label")[0]
        truth = self.of("gold")[:1] if gold else ()
        key = ("labels", name, truth, label_set)
        return self.gathered.kept(key, lambda: self._labels(name, truth, label_set))

    def _labels(
        self, name: str, truth: Sequence[str], label_set: LabelSet | None
    ) -> tuple[tuple[str, ...], NDArray[Any], NDArray[Any] | None]:
        given = self.gathered.encoded(name, labels=True)
        true = [self.gathered.encoded(one, labels=True) for one in truth]
        truths = {composed(value): value for column in true for value in column.values}
        found = {**truths, **{composed(value): value for value in given.values}}
        names = label_set.codes if label_set else tuple(ordered(found.values()))
        if strange := sorted(truths.keys() - set(map(composed, names))):
            raise MeasureError(
                "a gold label that is not in the label set",
                where="annotations['gold']",
                expected=", ".join(names),
                found=", ".join(strange[:5]),
            )
        return names, _recode(given, names), _recode(true[0], names) if true else None

    def status(self, label_set: LabelSet | None, gold: bool) -> Encoded:
        """Why a row has no label: its status, or what is known without one; -1 where it has one."""
        key = ("status", self.needed("label")[0], self.of("status"), label_set, gold)
        return self.gathered.kept(key, lambda: self._status(label_set, gold))

    def _status(self, label_set: LabelSet | None, gold: bool) -> Encoded:
        values = [NO_LABEL, "not in the label set", TIED]
        label = self.labels(label_set, gold)[1]
        kinds = np.full(self.gathered.height, -1, np.int8)
        bare = np.flatnonzero(label < 0)
        if not bare.size:
            return Encoded(kinds, tuple(values))
        empty = self.gathered.encoded(self.needed("label")[0], labels=True).codes[bare] < 0
        found = np.where(empty, 0, 1)
        for name in self.of("status"):
            status = self.gathered.encoded(name)
            code = status.codes[bare].astype(np.int64)
            valid = np.array([value == "valid" for value in status.values] + [False])[code]
            own = np.where(valid, values.index(TIED), code + len(values))
            found = np.where(empty & (code >= 0), own, found)
            values += status.values
        kinds = kinds.astype(smallest(len(values)))
        kinds[bare] = found
        return Encoded(kinds, tuple(values))


def _recode(column: Encoded, names: Sequence[str]) -> NDArray[Any]:
    place = {composed(name): code for code, name in enumerate(names)}
    table = [place.get(composed(value), -1) for value in column.values] + [-1]
    return np.array(table, smallest(len(names) + 1))[column.codes]
