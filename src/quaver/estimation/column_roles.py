"""The columns of a frame, by the roles that they play."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.arguments import excerpt
from quaver.core.records import NO_LABEL, LabelSet
from quaver.core.table_text import composed
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.cell import UNDECIDED, Ints
from quaver.estimation.encoding import Codes, Encoded, combine, encode, encode_labels, ordered

Columns = Mapping[str, str | Sequence[str]]
"""Role -> the frame's column (or columns, taken together) that plays it. Roles are the names of
``ANNOTATION_COLUMNS``; a role that is not mentioned is played by the column of its name."""


class UnknownColumn(MeasureError, UnknownName):
    """A measure was told to use a column that the frame does not have."""

    def __init__(self, name: str, known: Iterable[str], *, where: str, fix: str | None = None) -> None:
        UnknownName.__init__(self, "column", name, known, where=where, fix=fix)


class ColumnReader:
    """Reads the columns of one frame by the roles that they play."""

    def __init__(self, frame: pl.DataFrame, columns: dict[str, str | Sequence[str]]) -> None:
        self._frame = frame
        self._columns = columns
        self.empty = np.zeros(frame.height, bool)
        for role, name in columns.items():
            for one in name if isinstance(name, list | tuple) else [name]:
                self.column(one, f"columns[{role!r}]")

    def column(self, name: Any, where: str) -> pl.Series:
        """A column by its name; ``where`` is the argument that names it."""
        if not isinstance(name, str):
            raise MeasureError(
                "not a column's name", where=where, expected="the name of a column", found=excerpt(name)
            )
        if name not in self._frame.columns:
            raise UnknownColumn(name, self._frame.columns, where=where)
        return self._frame[name]

    def of(self, role: str) -> tuple[str, ...]:
        """The columns that play a role; none where the frame has none."""
        name = self._columns.get(role, role if role in self._frame.columns else ())
        return (name,) if isinstance(name, str) else tuple(name)

    def needed(self, role: str) -> tuple[str, ...]:
        """The columns that play a role, one at least."""
        names = self.of(role)
        if not names:
            fix = f"say which column it is: columns={{{role!r}: …}}"
            raise UnknownColumn(role, self._frame.columns, where="annotations", fix=fix)
        return names

    def plays(self, role: str, by: Sequence[str]) -> bool:
        """Whether ``by`` has the role's columns already."""
        return set(self.of(role)) <= set(by)

    def together(self, roles: Sequence[str], *, needed: bool = False) -> Codes:
        """The combinations of the columns that play some roles, as codes."""
        names = dict.fromkeys(name for role in roles for name in (self.needed if needed else self.of)(role))
        encoded = [(name, encode(self._frame[name], name)) for name in names]
        for name, column in encoded if needed else ():
            if (column.codes < 0).any():
                raise MeasureError(
                    "a row without a value",
                    where=f"annotations[{name!r}]",
                    expected="a value in every row",
                    found=f"none in row {int(np.argmax(column.codes < 0))}",
                )
        return combine(encoded, self._frame.height)

    def one_evaluator(self, by: Sequence[str]) -> None:
        """Refuse a frame of several evaluators that are not told apart."""
        for name in self.of("evaluator"):
            if name not in by and self._frame[name].n_unique() > 1:
                raise MeasureError(
                    "annotations of several evaluators",
                    where=f"annotations[{name!r}]",
                    expected="one evaluator's",
                    found=", ".join(map(str, self._frame[name].unique().cast(pl.String).sort().head(5))),
                    fix=f"filter the frame, or put {name!r} into by",
                )

    def labels(
        self, label_set: LabelSet | None, gold: bool
    ) -> tuple[tuple[str, ...], NDArray[np.int32], Ints | None]:
        """The labels' names, each row's code among them, and each row's gold code."""
        name = self.needed("label")[0]
        given = encode_labels(self._frame[name], name)
        self.empty = given.codes < 0
        true = [encode_labels(self._frame[name], name) for name in self.of("gold")] if gold else []
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
        label = _recode(given, names).astype(np.int32)
        return names, label, _recode(true[0], names) if true else None

    def status(self, label: NDArray[np.int32]) -> Encoded:
        """Why a row has no label: its status, or what is known without one; -1 where it has one."""
        empty = self.empty
        kinds = np.where(empty, 0, 1).astype(np.int64)
        values = [NO_LABEL, "not in the label set", UNDECIDED]
        for name in self.of("status"):
            status = encode(self._frame[name], name)
            valid = np.array([value == "valid" for value in status.values] + [False])[status.codes]
            known = empty & (status.codes >= 0)
            kinds = np.where(
                known, np.where(valid, values.index(UNDECIDED), status.codes + len(values)), kinds
            )
            values += status.values
        return Encoded(np.where(label < 0, kinds, -1), tuple(values))


def _recode(column: Encoded, names: Sequence[str]) -> Ints:
    place = {composed(name): code for code, name in enumerate(names)}
    table = np.array([place.get(composed(value), -1) for value in column.values] + [-1], np.int64)
    return table[column.codes]
