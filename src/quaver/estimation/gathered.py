"""Annotations that several measures are taken of: each column coded once, each arrangement cut once."""

from __future__ import annotations

import ctypes
import gc
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import polars as pl

from quaver.errors import MeasureError
from quaver.estimation.encoding import Codes, Encoded, combine, encode, encode_labels
from quaver.estimation.statistic import Cell

_KEPT = 200_000_000
"""Bytes of cells that are kept, beside the last ones cut."""

_PIECE = 1_000_000
"""Rows that are read at a time of a column that is not kept."""

_MANY = 10_000_000
"""Rows from which on the memory that a measure has freed is worth handing back."""

_T = TypeVar("_T")


class Gathered:
    """Annotations, as a frame in memory or a lazy one, with what measures need of them.

    A measure turns text into codes and arranges these as items × strata × raters. Give several measures one
    ``Gathered`` in place of a frame, and each of these steps is taken once. A lazy frame is read a column at
    a time, so that what is kept are the codes, of one to four bytes, and not the frame.

    Args:
        annotations: A polars or pandas frame, a lazy frame, or a mapping of columns.

    Raises:
        MeasureError: It is none of these, or a column mixes types.

    >>> from quaver.measures import accuracy, f1
    >>> both = Gathered({"item": [1, 2], "label": ["a", "b"], "gold": ["a", "a"]})
    >>> accuracy(both)[0].value, both.columns, both.height
    (0.5, ['item', 'label', 'gold'], 2)
    """

    def __init__(self, annotations: Any) -> None:
        read = _read(annotations, "annotations")
        self._lazy = read.lazy()
        self._frame = read if isinstance(read, pl.DataFrame) else None
        self.schema = read.collect_schema()
        self._height: int | None = None
        self._made: dict[Hashable, Any] = {}
        self._cut: OrderedDict[Hashable, list[Cell]] = OrderedDict()

    @classmethod
    def of(cls, annotations: Any) -> Gathered:
        """The same, where it is one already."""
        return annotations if isinstance(annotations, cls) else cls(annotations)

    @property
    def frame(self) -> pl.DataFrame:
        """All of it as a frame in memory."""
        if self._frame is None:
            self._frame = self._lazy.collect()
        return self._frame

    @property
    def columns(self) -> list[str]:
        """The columns' names."""
        return self.schema.names()

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self._height is None:
            self._height = int(self._lazy.select(pl.len()).collect().item())
        return self._height

    def __getitem__(self, name: str) -> pl.Series:
        """A column; of a lazy frame, read anew each time."""
        return self.read([name]).to_series()

    def read(self, names: Iterable[str]) -> pl.DataFrame:
        """Some columns; of a lazy frame, read anew each time."""
        wanted = list(dict.fromkeys(names))
        if self._frame is not None:
            return self._frame.select(wanted)
        return self._lazy.select(wanted).collect()

    def pieces(self, name: str) -> Iterator[pl.Series]:
        """A column, a run of rows at a time."""
        for start in range(0, self.height, _PIECE):
            source = self._lazy if self._frame is None else self._frame.lazy()
            yield source.select(name).slice(start, _PIECE).collect().to_series()

    def kept(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What was made under a key before, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        result: _T = self._made[key]
        return result

    def encoded(self, name: str, *, labels: bool = False) -> Encoded:
        """A column as codes (see `encoding.encode`); of labels, those written in two ways are one."""
        how = encode_labels if labels else encode
        return self.kept(("encoded", name, labels), lambda: how(self[name], name))

    def together(self, *names: str) -> Codes:
        """The combinations of some columns, as codes."""
        return self.kept(
            ("together", names), lambda: combine([(name, self.encoded(name)) for name in names], self.height)
        )

    def changed(self, key: Hashable, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Gathered:
        """The annotations after a change of the frame; these themselves where it gives the frame back."""

        def make() -> Gathered | None:
            frame = change(self.frame)
            return None if frame is self.frame else Gathered(frame)

        return self.kept(("changed", key), make) or self

    def only(self, column: str, values: tuple[str, ...]) -> Gathered:
        """The rows with one of some values in a column."""
        codes = self.encoded(column)
        if set(codes.values) <= set(values) and not (codes.codes < 0).any():
            return self
        there = pl.col(column).cast(pl.String).is_in(list(values))
        read = self._lazy if self._frame is None else self._frame
        return self.kept(("only", column, values), lambda: Gathered(read.filter(there)))

    def cells(self, key: Hashable, cut: Callable[[], list[Cell]]) -> list[Cell]:
        """The cells of an arrangement, cut now or before; of too many, those asked for last are kept."""
        if key not in self._cut:
            self._cut[key] = cut()
        self._cut.move_to_end(key)
        size = sum(cell.grid.bytes for cells in self._cut.values() for cell in cells)
        while size > _KEPT and len(self._cut) > 1:
            _, dropped = self._cut.popitem(last=False)
            size -= sum(cell.grid.bytes for cell in dropped)
        return self._cut[key]

    def give_back(self) -> None:
        """Hand freed memory back to the system, where there are many rows.

        Estimates and what they are computed from refer to each other, so that arrays wait for Python's
        collector, which counts objects and not their size: 0.3 GB of 10,000,000 rows. The C library keeps
        freed arrays below 32 MB between those in use, and measures' arrays of many sizes leave more of it
        behind than they take: 1.4 GB of 30,000,000 rows.
        """
        if self._height is not None and self._height >= _MANY:
            gc.collect()
            trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
            if trim is not None:
                trim(0)


def frame_of(annotations: Any, where: str = "annotations") -> pl.DataFrame:
    """The polars frame in a polars or pandas frame, or a mapping of columns."""
    if isinstance(annotations, Gathered):
        return annotations.frame
    frame = _read(annotations, where)
    return frame.collect() if isinstance(frame, pl.LazyFrame) else frame


def _read(annotations: Any, where: str) -> pl.DataFrame | pl.LazyFrame:
    if isinstance(annotations, pl.DataFrame | pl.LazyFrame):
        return annotations
    try:
        if isinstance(annotations, Mapping):
            return pl.DataFrame(dict(annotations))
        if type(annotations).__module__.partition(".")[0] == "pandas":
            return pl.from_pandas(annotations)
    except (TypeError, ValueError, pl.exceptions.PolarsError, ImportError) as error:
        if type(error).__module__.startswith(("polars", "pyarrow", "builtins")):
            raise MeasureError(
                "the frame cannot be read",
                where=where,
                expected="columns of one type each",
                found=" ".join(str(error).split()),
                fix="give labels one type, for instance text: frame['label'].astype(str)",
            ) from error
        raise
    raise MeasureError(
        "not a frame", where=where, expected="a polars or pandas DataFrame", found=type(annotations).__name__
    )
