"""Annotations as columns of integer codes: read once, before any arithmetic, for several measures."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.number_format import composed
from quaver.errors import MeasureError, UnknownName

Ints = NDArray[np.int64]
Small = NDArray[np.signedinteger[Any]]

Columns = Mapping[str, str | Sequence[str]]
"""Role -> the frame's column (or columns, taken together) that plays it. Roles are the names of
``ANNOTATION_COLUMNS``; a role that is not mentioned is played by the column of its name."""

_KEPT = 200_000_000
"""Bytes of cells that are kept, beside the last ones cut."""

_T = TypeVar("_T")


class Unmeasurable(MeasureError):
    """The annotations do not have what a measure needs; no option is wrong."""


class UnknownColumn(Unmeasurable, UnknownName):
    """A measure was told to use a column that the frame does not have."""

    def __init__(self, name: str, known: Iterable[str], *, where: str, fix: str | None = None) -> None:
        UnknownName.__init__(self, "column", name, known, where=where, fix=fix)


_Value = TypeVar("_Value")


class Codes(NamedTuple, Generic[_Value]):
    """Each row's code (-1 where it is null), and the value of each code, in order.

    Of a column a value is a text, of several together a text by column. The codes take as few bytes as they
    can: widen them before you multiply them.
    """

    codes: Small
    values: tuple[_Value, ...]


Encoded = Codes[str]
Combined = Codes[dict[str, str]]


def ordered(names: Iterable[str]) -> list[str]:
    """Values in their order: as numbers where all of them are numbers, otherwise as text.

    >>> ordered({"10", "9", "-1"}), ordered({"b", "10", "9"})
    (['-1', '9', '10'], ['10', '9', 'b'])
    """
    given = list(names)
    try:
        return sorted(given, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(given)


def encode(column: pl.Series, name: str, *, labels: bool = False) -> Encoded:
    """Number a column's values from 0, in order; a float NaN is null.

    Args:
        column: The column.
        name: Its name, for errors.
        labels: Whether values whose accents are written in two ways are one.

    >>> encode(pl.Series(["b", None, "a", "b"]), "label").codes.tolist()
    [1, -1, 0, 1]
    >>> encode(pl.Series(["\u00e9", "e\u0301", "b"]), "label", labels=True).codes.tolist()
    [1, 1, 0]
    """
    if column.dtype.is_float():
        if column.is_infinite().any():
            raise MeasureError("an infinite value", where=name, expected="finite numbers", found="inf")
        column = column.fill_nan(None)
        column = column.set(column == 0, 0.0)  # which -0.0 is, too
    elif column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise MeasureError(
            "a column without single values",
            where=name,
            expected="text or numbers of one type",
            found=str(column.dtype),
        )
    elif not column.dtype.is_integer():
        column = column.cast(pl.String)
    distinct = column.unique()
    values: list[Any] = [value for value in distinct.to_list() if value is not None]
    if distinct.dtype.is_float() and all(value.is_integer() and abs(value) < 2**53 for value in values):
        # Integers with gaps arrive as floats (pandas has no other way): 48.0 is the label 48.
        values = list(map(int, values))
    names = list(map(str, values))
    key = composed if labels else str
    place: dict[str, tuple[int, str]] = {}
    for value in ordered(names):
        place.setdefault(key(value), (len(place), value))
    written = pl.Enum(distinct.cast(pl.String).drop_nulls())
    coded = column.cast(pl.String).cast(written).to_physical()
    if column.null_count():
        coded = coded.cast(pl.UInt32).fill_null(len(names))
    table = np.array([*(place[key(value)][0] for value in names), -1], smallest(len(place)))
    return Codes(table[coded.to_numpy()], tuple(value for _, value in place.values()))


def combine(columns: Sequence[tuple[str, Encoded]], height: int) -> Combined:
    """Number the combinations of several columns that occur, in order.

    >>> codes = combine([("a", encode(pl.Series(["x", "x", "y"]), "a")),
    ...                  ("b", encode(pl.Series([2, 1, 1]), "b"))], 3)
    >>> codes.codes.tolist(), codes.values[0]
    ([1, 0, 2], {'a': 'x', 'b': '1'})
    """
    codes: NDArray[Any] = np.zeros(height, np.int8)
    values: list[dict[str, str]] = [{}] if height else []
    for name, column in columns:
        if len(columns) == 1 and not (column.codes < 0).any():
            return Codes(column.codes, tuple({name: value} for value in column.values))
        options = ("", *column.values)
        both = codes.astype(np.int64) * len(options) + column.codes + 1
        distinct = pl.Series(both).unique().sort().to_numpy()
        codes = np.searchsorted(distinct, both).astype(smallest(distinct.size))
        parts = (divmod(pair, len(options)) for pair in distinct.tolist())
        values = [{**values[first], name: options[second]} for first, second in parts]
    return Codes(codes, tuple(values))


def smallest(values: int) -> type[np.signedinteger[Any]]:
    """The integers of the fewest bytes that hold codes below a number, and -1."""
    kinds = (np.int8, np.int16, np.int32)
    return next((kind for kind in kinds if values <= np.iinfo(kind).max), np.int64)


def label_counts(codes: NDArray[Any], labels: int) -> NDArray[np.float64]:
    """How often each label occurs along the last axis.

    Returns:
        Counts, the last axis as long as there are labels.

    >>> label_counts(np.array([[0, 1, 1], [2, -1, 2]]), 3)
    array([[1., 2., 0.],
           [0., 0., 2.]])
    """
    shape = codes.shape[:-1]
    rows = int(np.prod(shape))
    flat = codes.reshape(rows, -1) if codes.size else np.full((rows, 1), -1)
    # A place more in each row takes what has no label.
    place = np.arange(rows)[:, None] * (labels + 1) + 1 + flat
    counts = np.bincount(place.ravel(), minlength=rows * (labels + 1))
    return counts.reshape(*shape, labels + 1)[..., 1:].astype(np.float64)


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
        self._whole: tuple[Gathered, NDArray[np.bool_]] | None = None
        self.schema = read.collect_schema()
        self._height = read.height if isinstance(read, pl.DataFrame) else None
        self._made: dict[Hashable, Any] = {}
        self._cut: OrderedDict[Hashable, list[Any]] = OrderedDict()

    @classmethod
    def of(cls, annotations: Any) -> Gathered:
        """Coded columns of a frame, or the argument itself where it is coded already."""
        return annotations if isinstance(annotations, cls) else cls(annotations)

    @property
    def frame(self) -> pl.DataFrame:
        """The columns as a frame in memory."""
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
            rows = self._lazy.select(pl.len()).collect()
            self._height = int(rows.item())
        return self._height

    def __getitem__(self, name: str) -> pl.Series:
        """A column; of a lazy frame, read anew each time."""
        return self.read([name]).to_series()

    def read(self, names: Iterable[str]) -> pl.DataFrame:
        """Some columns; of a lazy frame, read anew each time."""
        wanted = list(dict.fromkeys(names))
        return self._lazy.select(wanted).collect() if self._frame is None else self._frame.select(wanted)

    def kept(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """What was made under a key before, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        result: _T = self._made[key]
        return result

    def encoded(self, name: str, *, labels: bool = False) -> Encoded:
        """A column as codes (see `encode`); of labels, those written in two ways are one."""

        def make() -> Encoded:
            if self._whole is None:
                return encode(self[name], name, labels=labels)
            whole, rows = self._whole
            codes, values = whole.encoded(name, labels=labels)
            return Codes(codes[rows], values)

        return self.kept(("encoded", name, labels), make)

    def together(self, *names: str) -> Combined:
        """The combinations of some columns, as codes."""

        def make() -> Combined:
            if self._whole is None:
                return combine([(name, self.encoded(name)) for name in names], self.height)
            codes, values = self._whole[0].together(*names)
            return Codes(codes[self._whole[1]], values)

        return self.kept(("together", names), make)

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

    def rows(self, marked: NDArray[np.bool_]) -> Gathered:
        """The rows that are marked, with the codes that they have here: no label is forgotten."""
        part = Gathered(self._lazy.filter(pl.lit(pl.Series(marked))))
        part._whole, part._height = (self, marked), int(marked.sum())
        return part

    def cells(self, key: Hashable, cut: Callable[[], list[_T]]) -> list[_T]:
        """The cells of an arrangement, cut now or before; of too many, those asked for last are kept."""
        if key not in self._cut:
            self._cut[key] = cut()
        self._cut.move_to_end(key)
        size = sum(cell.bytes for cells in self._cut.values() for cell in cells)
        while size > _KEPT and len(self._cut) > 1:
            _, dropped = self._cut.popitem(last=False)
            size -= sum(cell.bytes for cell in dropped)
        return self._cut[key]


def frame_of(annotations: Any, where: str = "annotations") -> pl.DataFrame:
    """The polars frame in a polars or pandas frame, or a mapping of columns."""
    if isinstance(annotations, Gathered):
        return annotations.frame
    return _read(annotations, where).lazy().collect()


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
