"""Agreement in a file of annotations that Quaver did not collect, read as ``quaver import`` reads it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from quaver.agreement.alpha import krippendorff_alpha
from quaver.agreement.chance_agreement import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    intraclass_correlation,
    percent_agreement,
)
from quaver.agreement.coefficient import label_set_of
from quaver.core.arguments import guarded
from quaver.core.label_decisions import Decision, LabelRules, labels_outside
from quaver.core.label_values import cell_labels, set_of
from quaver.core.labels import applies
from quaver.core.records import OF_SETS, Estimate, LabelSet, Level
from quaver.core.rows import Estimates
from quaver.core.vocabularies import check_meeting, do_meet
from quaver.design.items.table_files import read_rows
from quaver.design.items.text_lines import Row
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.estimation.bootstrap import IntervalKind, Resampling
from quaver.estimation.cells import Missing, cells
from quaver.estimation.gathered import frame_of
from quaver.study.imports.cell_options import label_rules
from quaver.study.imports.columns import Table
from quaver.study.imports.field_columns import marked_columns


@guarded
def read_annotations(
    path: str | Path, *, encoding: str = "utf-8", separator: str | None = None, sheet: str | None = None
) -> pl.DataFrame:
    """Read a CSV, TSV, spreadsheet, JSON Lines or Parquet file of labels, every cell as a text.

    White space around a cell is not part of it, and an empty cell is null. ``N/A``, ``None``, ``nan`` and
    the like are text: somebody's model wrote them.

    Args:
        path: The file; its ending says which kind it is.
        encoding: Of a text file.
        separator: Between the cells of CSV and TSV.
        sheet: Of a spreadsheet, where several hold something.

    Returns:
        A row an annotation, with those of the file's columns that hold single values.

    Raises:
        ItemError: The file does not exist or cannot be read.
    """
    rows = read_table(Path(path), encoding, separator, sheet)
    columns: dict[str, list[str | None]] = {}
    for name in rows[0]:
        try:
            columns[name] = _column(rows, name)
        except ItemError:
            continue
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def read_table(
    path: Path,
    encoding: str = "utf-8",
    separator: str | None = None,
    sheet: str | None = None,
    columns: Sequence[str] = (),
    quote: str | None = None,
) -> list[Row]:
    """The rows of a file of labels."""
    if not os.path.isfile(path):
        raise ItemError(
            "there is no such file",
            where=str(path),
            expected="a CSV, TSV, XLSX, ODS, JSON Lines or Parquet file of labels",
        )
    hint = "--{name}={value}"
    rows = read_rows(path, encoding, separator, sheet=sheet, quote=quote, columns=columns, hint=hint)
    if not rows:
        raise ItemError(
            "there are no annotations", where=str(path), expected="a header and rows", found="no row"
        )
    return rows


@guarded
def measure_agreement(
    annotations: Any,
    *,
    item: str | None = None,
    rater: str | Sequence[str] = "rater",
    label: str | Sequence[str] = "label",
    by: Sequence[str] = (),
    labels: LabelSet | Sequence[Any] | None = None,
    unlabelled: Sequence[str] = (),
    label_is: Sequence[str] = (),
    same: Sequence[str] = (),
    distinct: bool = False,
    level: Level | None = None,
    missing: Missing = "drop",
    confidence_level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    group: str | None = None,
    interval: IntervalKind = "jackknife",
    encoding: str = "utf-8",
    separator: str | None = None,
    sheet: str | None = None,
    quote: Literal["none"] | None = None,
) -> Estimates:
    """Krippendorff's alpha, percent agreement, the kappas and Gwet's coefficient of any annotations.

    Args:
        annotations: A long frame, a row an annotation, or the path of a file that holds one; or a wide one,
            with a column of labels for each coder.
        item: Its column of items; by default ``item``, or each row of a wide one.
        rater: Its column, or columns, of raters: coders, paraphrases, repeats.
        label: Its column of labels, or the columns of a wide one, which are the raters; at the level
            ``jaccard`` or ``masi`` also what the names of columns begin with that are a label each, with a
            mark in those that apply.
        by: Columns whose combinations are measured apart.
        labels: The valid labels, in order: others count as missing, and are counted. All that occur, without.
        unlabelled: What stands there where there is no label, beside empty cells and ``NA``, ``None`` …
        label_is: What is a label, although it looks like a missing one: ``NA``.
        same: Texts that are a label, as ``TEXT=LABEL``.
        distinct: Keep labels apart that differ only in capitals, white space, dashes or how a number is
            written.
        level: Level of measurement; nominal, or the label set's.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        confidence_level: Nominal level of the intervals.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        group: Resample the groups of items in this column.
        interval: ``"jackknife"``, ``"bca"`` or ``"percentile"``.
        encoding: Of a text file.
        separator: Between the cells of CSV and TSV.
        sheet: Of a spreadsheet, where several hold something.
        quote: ``"none"`` where quotation marks in a CSV or TSV file are text, and enclose no cells.

    Returns:
        Five estimates for each cell, six where ratings are numbers; they say in ``details["taken"]`` what
        stands for a missing label, and what is taken for one label.

    Raises:
        ItemError: The file cannot be read.
        MeasureError: The frame or an option cannot be used.
        QuaverError: Raters are named beside several columns of labels.

    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2, 3, 3], "rater": ["p", "q"] * 3, "label": list("aaabbb")})
    >>> [(e.measure, round(e.value, 3)) for e in measure_agreement(frame)][:2]
    [('krippendorff_alpha', 0.444), ('percent_agreement', 0.667)]
    """
    names: Sequence[str] = [label] if isinstance(label, str) else list(label)
    if len(names) > 1:
        if rater != "rater":
            raise QuaverError(
                "each of several columns of labels is a rater's",
                where="rater",
                found=f"{rater!r} beside the labels {', '.join(names)}",
                fix="leave the rater out, or name one column of labels",
            )
        item, rater = item or _ROW, _CODER
    at = level or (labels.level if isinstance(labels, LabelSet) else "nominal")
    asked = _Asked(item or "item", rater, tuple(by), label_set_of(labels, at), at, missing, group)
    resampling = Resampling(confidence_level, resamples, seed, interval)
    known = labels.codes if isinstance(labels, LabelSet) else tuple(map(str, labels or ()))
    options = {"unlabelled": unlabelled, "label_is": label_is, "same": same, "distinct": distinct}
    rules = label_rules(options, known, at, is_read=False)
    if not isinstance(annotations, str | Path):
        frame, column = _long(annotations, names)
        frame, taken = _read_frame(frame, column, rules)
        _check_meeting(frame, column, asked, rules, "annotations")
        return Estimates(_with_taken(asked.of(frame, column, resampling), taken))
    with _named_in_errors(path := Path(annotations)):
        rows = read_table(path, encoding, separator, sheet, quote=quote)
        used = {"item": asked.item, "rater": asked.rater, "by": asked.by, "group": asked.group}
        named: dict[str, Any] = {**used, "label": names}
        named = Table(path, [*rows]).naming(named, [*named])
        names, asked = named.pop("label"), replace(asked, **named)
        return Estimates(_of_rows(path, rows, names, rules, asked, resampling))


def _long(frame: Any, labels: Sequence[str]) -> tuple[Any, str]:
    """A frame with one column of labels, and its name: a wide one with a row for each label of a row."""
    if len(labels) == 1:
        return frame, labels[0]
    wide = frame_of(frame)
    for name in labels:
        if name not in wide.columns:
            raise UnknownName("column", name, wide.columns, where="label")
    texts = wide.with_columns(pl.col(labels).cast(pl.String)).with_row_index(_ROW)
    rest = [name for name in texts.columns if name not in labels]
    return texts.unpivot(labels, index=rest, variable_name=_CODER, value_name=_LABEL), _LABEL


def _read_frame(frame: Any, column: str, rules: LabelRules) -> tuple[Any, list[Decision]]:
    """A frame whose texts in a column are labels, as those of a file are, and what was decided about them."""
    read = frame_of(frame)
    if column not in read.columns or read[column].dtype.is_numeric() or rules.level in OF_SETS:
        return frame, []
    texts = read[column].cast(pl.String)
    written = rules.read(dict(texts.drop_nulls().value_counts().iter_rows()))
    meant = {**written.also, **dict.fromkeys(("", *written.missing))}
    if not meant.keys() & set(texts.unique()):
        return frame, list(written.decisions)
    return read.with_columns(pl.col(column).cast(pl.String).replace(meant)), list(written.decisions)


def _of_rows(
    path: Path,
    rows: Sequence[Row],
    names: Sequence[str],
    rules: LabelRules,
    asked: _Asked,
    resampling: Resampling,
) -> list[Estimate]:
    """The coefficients of a file's rows, with what was taken for a label in it."""
    column, taken = _labels(path, rows, names, rules)
    used = asked.columns()
    columns: dict[str, list[str | None]] = {}
    for role, wanted in used.items():
        for name in wanted:
            if len(names) > 1 and name == _CODER:
                columns[name] = [coder for coder in names for _ in rows]
            elif len(names) > 1 and name == _ROW:
                columns[name] = [str(number) for _ in names for number in range(len(rows))]
            elif name not in rows[0]:
                raise UnknownName("column", name, rows[0], where=f"{path.name}: {role}")
            else:
                columns[name] = _column(rows, name) * len(names)
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).with_columns(
        pl.Series(_LABEL, column, pl.String)
    )
    _check_meeting(frame, _LABEL, asked, rules, path.name)
    return _with_taken(asked.of(frame, _LABEL, resampling), taken)


def _check_meeting(frame: Any, label: str, asked: _Asked, rules: LabelRules, where: str) -> None:
    """See that each rater's labels are for the most part those of the others, where none are given."""
    read = frame_of(frame)
    raters = [asked.rater] if isinstance(asked.rater, str) else list(asked.rater)
    if rules.labels or rules.level in (*_NUMERIC, *OF_SETS) or {label, asked.item, *raters} - {*read.columns}:
        return
    named = read.select(
        pl.col(asked.item), rater=pl.concat_str(raters, separator=", "), label=pl.col(label).cast(pl.String)
    ).drop_nulls()
    by_rater = named.group_by("rater", maintain_order=True).agg(pl.col("label").unique())
    own = {rater: {*labels} for rater, labels in by_rater.iter_rows()}
    raters_of = Counter(text for labels in own.values() for text in labels)
    for rater, labels in own.items():
        others = {text for text, number in raters_of.items() if number > (text in labels)}
        if not do_meet(labels, others):
            is_own = pl.col("rater") == rater
            pairs = named.filter(is_own).join(named.filter(~is_own), on=asked.item)
            together = Counter(pairs.select("label", "label_right").iter_rows())
            beside = "the others" if len(own) > 2 else next(one for one in own if one != rater)
            check_meeting((rater, beside), together, where, "--valid")


def _with_taken(estimates: Sequence[Estimate], taken: Sequence[Decision]) -> list[Estimate]:
    decisions = [(decision.role, decision.column, decision.why) for decision in taken]
    return [replace(one, details={**one.details, "taken": decisions}) for one in estimates]


_COEFFICIENTS = (krippendorff_alpha, percent_agreement, fleiss_kappa, cohen_kappa, gwet_ac)
_NUMERIC = ("interval", "ratio")
_LABEL = "label as read"
_ROW, _CODER = "number of the row", "whose column it is"
"""The items and the raters of a table with a column of labels for each."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of a frame, whatever it was read from."""

    item: str
    rater: str | Sequence[str]
    by: tuple[str, ...]
    labels: LabelSet | None
    level: Level
    missing: Missing
    group: str | None

    def columns(self) -> dict[str, list[str]]:
        """The columns of a file that are wanted beside the labels, by role."""
        raters = [self.rater] if isinstance(self.rater, str) else list(self.rater)
        grouped = [self.group] if self.group else []
        return {"item": [self.item], "rater": raters, "by": list(self.by), "group": grouped}

    def of(self, frame: Any, label: str, resampling: Resampling) -> list[Estimate]:
        """Every coefficient of every cell."""
        found = cells(
            frame,
            raters=("rater",),
            by=self.by,
            labels=self.labels,
            columns={"item": self.item, "rater": self.rater, "label": label},
            group=self.group,
            missing=self.missing,
        )
        rated = [replace(cell, label_set=self.labels) for cell in found]
        asked = (*_COEFFICIENTS, intraclass_correlation) if self.level in _NUMERIC else _COEFFICIENTS
        return [
            coefficient.of(cell, resampling, self.level, self.missing)
            for cell in rated
            for coefficient in asked
        ]


@contextmanager
def _named_in_errors(path: Path) -> Iterator[None]:
    """Where a measure names its argument, an error names the file as well."""
    try:
        yield
    except QuaverError as error:
        if path.name not in (error.where or ""):
            error.where = ": ".join([path.name, *([error.where] if error.where else [])])
        raise


def _column(rows: Sequence[Row], name: str) -> list[str | None]:
    return [row.text(name) or None for row in rows]


def _set_in(cell: Any) -> str:
    """The set that a cell holds, as a label; empty for an empty cell."""
    found = sorted(cell_labels(cell))
    return set_of(found, found) if found or cell not in (None, "") else ""


def _set_of_marks(row: Row, columns: Mapping[str, str]) -> str:
    """The set of the labels whose own columns have a mark; empty where all of these are empty."""
    texts = {label: row.text(name) for label, name in columns.items()}
    given = sorted(label for label, text in texts.items() if applies(text))
    return set_of(given, given) if any(texts.values()) else ""


def _texts(path: Path, rows: Sequence[Row], column: str, *, of_sets: bool) -> list[str]:
    """The labels in the cells of a column, or in those of the columns whose names begin with it."""
    if column in rows[0]:
        return [_set_in(row.get(column)) if of_sets else row.text(column) for row in rows]
    marks = marked_columns(Table(path, [*rows])).get(column, {}) if of_sets else {}
    if not marks:
        raise UnknownName("column", column, rows[0], where=f"{path.name}: label")
    return [_set_of_marks(row, marks) for row in rows]


def _labels(
    path: Path, rows: Sequence[Row], columns: Sequence[str], rules: LabelRules
) -> tuple[list[str | None], list[Decision]]:
    """The labels that cells mean, one column after the other, and what was decided about them."""
    texts = [
        text for column in columns for text in _texts(path, rows, column, of_sets=rules.level in OF_SETS)
    ]
    written = rules.read(Counter(texts))
    nothing = {"", *written.missing}
    # What is outside the label set stays as it is, so that the measure counts it.
    labels = [None if text in nothing else written.also.get(text, text) for text in texts]
    return labels, [*written.decisions, *labels_outside(written.outside)]
