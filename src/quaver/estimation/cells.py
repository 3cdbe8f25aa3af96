"""From a long frame of annotations to dense arrays of label codes, one for each cell of the data.

Every measure reads its frame here, so every measure accepts the same frames and rejects the same
mistakes, with one `MeasureError` that names the argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.arguments import excerpt
from quaver.core.records import NO_LABEL, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.cell import Arrangement, Cell, Ints
from quaver.estimation.column_roles import ColumnReader, Columns
from quaver.estimation.encoding import Codes, combine, encode

Missing = Literal["drop", "category", "wrong"]
"""What an answer without a label counts as: it is left out, it is one more label, or (for
measures of correctness) it is a wrong answer."""


def checked(missing: Missing, known: Sequence[Missing]) -> Missing:
    """What an answer without a label counts as, where a measure knows that treatment.

    Raises:
        MeasureError: It does not.
    """
    if missing not in known:
        raise MeasureError(
            "unknown treatment", where="missing", expected=" or ".join(known), found=repr(missing)
        )
    return missing


def frame_of(annotations: Any, where: str = "annotations") -> pl.DataFrame:
    """The polars frame in a polars or pandas frame, or a mapping of columns.

    Raises:
        MeasureError: It is none of these, or a column mixes types.
    """
    if isinstance(annotations, pl.DataFrame):
        return annotations
    if isinstance(annotations, pl.LazyFrame):
        return annotations.collect()
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


def cells(
    annotations: Any,
    *,
    raters: Sequence[str],
    within: Sequence[str] = (),
    by: Sequence[str] = (),
    labels: LabelSet | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    missing: Missing = "drop",
    gold: bool = False,
) -> list[Cell]:
    """Arrange annotations as items × strata × raters, a cell at a time.

    Args:
        annotations: The long frame, a row an annotation.
        raters: The roles whose combinations label an item independently: repeats, variants.
        within: The roles whose combinations are strata, where the frame has them and ``by`` does not.
        by: The frame's columns whose combinations are the cells.
        labels: The label set; a label outside it counts as ``not in the label set``, without a label.
        columns: Other names for the frame's columns.
        group: The column whose groups of items are resampled.
        missing: ``"category"`` makes the unanswered a label of their own; otherwise their code is -1.
        gold: Whether true labels are wanted.

    Returns:
        The cells in the order of their values; one, with an empty ``where``, where ``by`` is empty.

    Raises:
        MeasureError: Two annotations stand in one place, there are several evaluators, an item has
            two gold labels or groups, a label is not finite, or a column does not exist.
    """
    frame, by = frame_of(annotations), names_of(by)
    _check_kind("labels", labels, LabelSet, "a label set")
    checked(missing, ("drop", "category"))
    reader = _reader(frame, columns)
    if "evaluator" not in raters:
        reader.one_evaluator(by)
    items = reader.together(["item"], needed=True)
    parts = combine([(name, encode(reader.column(name, "by"), name)) for name in by], frame.height)
    names, label, truth = reader.labels(labels, gold)
    status = reader.status(label)
    if missing == "category":
        names, label = _with_no_label(names, label)
    columns_of = Arrangement(
        items=items,
        names=[" | ".join(value.values()) for value in items.values],
        strata=reader.together([role for role in within if not reader.plays(role, by)]),
        raters=reader.together([role for role in raters if not reader.plays(role, by)]),
        label=label,
        labels=names,
        status=status,
        gold=None if truth is None else _per_item(items, truth, "gold"),
        clusters=_clusters(reader, items, group),
        unit=group or "item",
    )
    rows = _split(parts.codes, len(parts.values))
    if not by and not rows:
        return [columns_of.cell({}, np.zeros(0, np.int64))]
    return [columns_of.cell(dict(parts.values[index]), some) for index, some in rows]


def _with_no_label(
    names: tuple[str, ...], label: NDArray[np.int32]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Labels and codes with a label more, which answers without one have."""
    if NO_LABEL in names:
        raise MeasureError(
            f"a label called {NO_LABEL!r}, which is what answers without a label are called",
            where="annotations['label']",
            expected="another name for it, where missing='category'",
            found=NO_LABEL,
        )
    return (*names, NO_LABEL), np.where(label < 0, len(names), label).astype(np.int32)


def _reader(frame: pl.DataFrame, columns: Columns | None) -> ColumnReader:
    _check_kind("columns", columns, Mapping, "the frame's columns by role: {'label': 'code'}")
    return ColumnReader(frame, dict(columns or {}))


def _clusters(reader: ColumnReader, items: Codes, group: str | None) -> Ints | None:
    """Each item's group."""
    _check_kind("group", group, str, "the name of a column")
    if group is None:
        return None
    return _per_item(items, encode(reader.column(group, "group"), group).codes, f"group {group!r}")


def _check_kind(where: str, given: object, kind: type, expected: str) -> None:
    if given is not None and not isinstance(given, kind):
        raise MeasureError("the wrong kind of value", where=where, expected=expected, found=excerpt(given))


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that make the cells, from a list of them or the name of one.

    Raises:
        MeasureError: They are no names, or one is there twice.
    """
    found = names if isinstance(names, list | tuple | set | frozenset | dict) else (names,)
    if strange := [name for name in found if not isinstance(name, str)]:
        raise MeasureError(
            "not a column's name", where="by", expected="names of columns", found=excerpt(strange[0])
        )
    found = tuple(found)
    if len(set(found)) < len(found):
        raise MeasureError("a column is named twice", where="by", found=", ".join(found))
    return found


def _per_item(items: Codes, codes: Ints, what: str) -> Ints:
    """One code an item, from one a row; -1 for an item that has none."""
    found = np.full(len(items.values), -1, np.int64)
    known = codes >= 0
    found[items.codes[known]] = codes[known]
    clash = known & (found[items.codes] != codes)
    if clash.any():
        item = items.values[int(items.codes[int(np.argmax(clash))])]
        raise MeasureError(
            f"an item with two values of {what}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {' | '.join(item.values())}",
        )
    return found


def _split(codes: Ints, count: int) -> list[tuple[int, Ints]]:
    """The rows of each code, in the order of the codes."""
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(count + 1))
    return [(i, order[edges[i] : edges[i + 1]]) for i in range(count)]
