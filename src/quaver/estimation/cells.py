"""From a long frame of annotations to dense arrays of label codes, one for each cell of the data.

Every measure reads its frame here, so every measure accepts the same frames and rejects the same
mistakes, with one `MeasureError` that names the argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quaver.core.arguments import excerpt
from quaver.core.records import NO_LABEL, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.arrangement import Arrangement, ColumnReader, Columns, split
from quaver.estimation.encoding import Codes, Ints, smallest
from quaver.estimation.gathered import Gathered
from quaver.estimation.statistic import Cell

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
        annotations: The long frame, a row an annotation; or a `Gathered`, which keeps what is cut.
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
    gathered, by = Gathered.of(annotations), names_of(by)
    _check_kind("labels", labels, LabelSet, "a label set")
    checked(missing, ("drop", "category"))
    reader = _reader(gathered, columns)
    if "evaluator" not in raters:
        reader.one_evaluator(by)
    apart, layers = reader.beside(by, raters), reader.beside(by, within)
    roles = tuple(reader.of(role) for role in ("item", "label", "gold", "status"))
    key = (by, apart, layers, roles, labels, missing, group, gold)

    def cut() -> list[Cell]:
        reader.items()
        parts = reader.by(by)
        columns_of = _arrangement(reader, labels, missing, group, gold, layers, apart)
        rows = gathered.kept(("rows", by), lambda: split(parts.codes, len(parts.values)))
        if not by and not rows:
            return [columns_of.cell({}, np.zeros(0, np.int32))]
        return [columns_of.cell(dict(parts.values[index]), some) for index, some in rows]

    return gathered.cells(key, cut)


def _arrangement(
    reader: ColumnReader,
    labels: LabelSet | None,
    missing: Missing,
    group: str | None,
    gold: bool,
    layers: tuple[str, ...],
    apart: tuple[str, ...],
) -> Arrangement:
    """What the cells are cut out of."""
    items = reader.items()
    names, label, truth = reader.labels(labels, gold)
    status = reader.status(labels, gold)
    if missing == "category":
        names, label = _with_no_label(names, label)
    return Arrangement(
        items=items,
        names=reader.gathered.kept(
            ("names", reader.of("item")), lambda: tuple(" | ".join(value.values()) for value in items.values)
        ),
        strata=reader.gathered.together(*layers),
        raters=reader.gathered.together(*apart),
        label=label,
        labels=names,
        status=status,
        gold=None
        if truth is None
        else reader.gathered.kept(
            ("gold", reader.of("item"), reader.of("gold"), labels), lambda: _per_item(items, truth, "gold")
        ),
        clusters=_clusters(reader, items, group),
        unit=group or "item",
    )


def _with_no_label(names: tuple[str, ...], label: NDArray[Any]) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Labels and codes with a label more, which answers without one have."""
    if NO_LABEL in names:
        raise MeasureError(
            f"a label called {NO_LABEL!r}, which is what answers without a label are called",
            where="annotations['label']",
            expected="another name for it, where missing='category'",
            found=NO_LABEL,
        )
    kind = smallest(len(names) + 1)
    return (*names, NO_LABEL), np.where(label < 0, kind(len(names)), label).astype(kind)


def _reader(frame: Gathered, columns: Columns | None) -> ColumnReader:
    _check_kind("columns", columns, Mapping, "the frame's columns by role: {'label': 'code'}")
    return ColumnReader(frame, dict(columns or {}))


def _clusters(reader: ColumnReader, items: Codes, group: str | None) -> Ints | None:
    """Each item's group."""
    _check_kind("group", group, str, "the name of a column")
    if group is None:
        return None
    reader.column(group, "group")
    return _per_item(items, reader.gathered.encoded(group).codes, f"group {group!r}")


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


def _per_item(items: Codes, codes: NDArray[Any], what: str) -> Ints:
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
